/* Sources made of other sources: slices and concatenations. Called by archive, pack and chunked
 * directories. */
#include "io/file/source.h"

#include <inttypes.h>
#include <stdlib.h>

/* ---- A slice ---- */

struct slice {
	struct bpk_source *whole;
	uint64_t offset;
};

static int slice_read_at(void *arg, uint64_t offset, struct bpk_span out, size_t *got,
			 struct bpk_err *err)
{
	const struct slice *slice = arg;

	return bpk_source_read_at(slice->whole, slice->offset + offset, out, got, err);
}

static const struct bpk_source_ops slice_ops = {
	.read_at = slice_read_at,
	.close = free,
	.positional = true,
};

static int slice_hold(void *arg, struct bpk_err *err)
{
	struct slice *slice = arg;

	return bpk_source_hold(slice->whole, err);
}

static void slice_release(void *arg)
{
	struct slice *slice = arg;

	bpk_source_release(slice->whole);
}

static bool slice_in_change(void *arg)
{
	struct slice *slice = arg;

	return bpk_source_in_change(slice->whole);
}

static bool slice_pending(void *arg)
{
	struct slice *slice = arg;

	return bpk_source_pending(slice->whole);
}

static const struct bpk_source_holds slice_holds = {
	.hold = slice_hold,
	.release = slice_release,
	.in_change = slice_in_change,
	.pending = slice_pending,
};

int bpk_source_slice(struct bpk_source *whole, uint64_t offset, uint64_t size,
		     struct bpk_source **source, struct bpk_err *err)
{
	uint64_t end = bpk_source_size(whole);
	struct slice *slice;

	*source = NULL;
	if (!bpk_source_seekable(whole))
		return bpk_fail(err, BPK_BUG, "a slice of a pipe");
	if (offset > end || size > end - offset)
		return bpk_fail(err, BPK_CORRUPT,
				"%" PRIu64 " bytes are needed at %" PRIu64
				", the end is at %" PRIu64,
				size, offset, end);
	slice = bpk_calloc(1, sizeof *slice, err);
	if (slice == NULL)
		return -1;
	*slice = (struct slice){ whole, offset };
	if (bpk_source_of(&slice_ops, slice, size, source, err) != 0) {
		free(slice);
		return -1;
	}
	(*source)->holds = &slice_holds;
	return 0;
}

/* ---- A join ---- */

struct join {
	size_t nparts;  /* fixed after open */
	size_t current; /* of a sequential read: the number of the current part */
	struct part {
		struct bpk_source *source;
		uint64_t start; /* of its bytes in the whole, where all sizes are known */
		uint64_t size;
	} parts[];
};

/* The number of the last part that begins at or before offset; parts[0] begins at 0. */
static size_t find_part(const struct join *join, uint64_t offset)
{
	return bpk_find_last(&join->parts[0].start, sizeof *join->parts, join->nparts, offset);
}

static int join_read_at(void *arg, uint64_t offset, struct bpk_span out, size_t *got,
			struct bpk_err *err)
{
	const struct join *join = arg;

	*got = 0;
	for (size_t i = find_part(join, offset); i < join->nparts && *got < out.size; i++) {
		const struct part *part = &join->parts[i];
		uint64_t from = offset + *got - part->start;
		size_t want, more;

		if (from >= part->size)
			continue;
		want = (size_t)bpk_min_u64(out.size - *got, part->size - from);
		if (bpk_source_read_at(part->source, from, bpk_span(out.data + *got, want), &more,
				       err) != 0)
			return -1;
		*got += more;
		if (more < want)
			break; /* it shrank; the following parts are not where they should be */
	}
	return 0;
}

static int join_read(void *arg, uint64_t offset, struct bpk_span out, size_t *got,
		     struct bpk_err *err)
{
	struct join *join = arg;

	(void)offset; /* parts are read to their ends, in sequence */
	*got = 0;
	while (*got < out.size && join->current < join->nparts) {
		struct bpk_span rest = bpk_span(out.data + *got, out.size - *got);
		size_t more;

		if (bpk_source_read(join->parts[join->current].source, rest, &more, err) != 0)
			return -1;
		*got += more;
		if (more < rest.size)
			join->current++;
	}
	return 0;
}

static const struct bpk_source_ops join_ops = {
	.read_at = join_read_at,
	.close = free,
	.positional = true,
};

static const struct bpk_source_ops join_stream_ops = { .read_at = join_read, .close = free };

static void release_first(struct join *join, size_t count)
{
	while (count-- > 0)
		bpk_source_release(join->parts[count].source);
}

static int join_hold(void *arg, struct bpk_err *err)
{
	struct join *join = arg;

	for (size_t i = 0; i < join->nparts; i++) {
		if (bpk_source_hold(join->parts[i].source, err) != 0) {
			release_first(join, i);
			return -1;
		}
	}
	return 0;
}

static void join_release(void *arg)
{
	struct join *join = arg;

	release_first(join, join->nparts);
}

static bool join_in_change(void *arg)
{
	struct join *join = arg;
	bool in_change = false;

	for (size_t i = 0; i < join->nparts && !in_change; i++)
		in_change = bpk_source_in_change(join->parts[i].source);
	return in_change;
}

static bool join_pending(void *arg)
{
	struct join *join = arg;
	bool pending = false;

	for (size_t i = 0; i < join->nparts && !pending; i++)
		pending = bpk_source_pending(join->parts[i].source);
	return pending;
}

static const struct bpk_source_holds join_holds = {
	.hold = join_hold,
	.release = join_release,
	.in_change = join_in_change,
	.pending = join_pending,
};

/* Fill in the parts. The total size is unknown if any part's size is. */
static int gather(struct join *join, struct bpk_source *const *parts, bool *seekable,
		  uint64_t *size, struct bpk_err *err)
{
	*seekable = true;
	*size = 0;
	for (size_t i = 0; i < join->nparts; i++) {
		uint64_t own = bpk_source_size(parts[i]);

		join->parts[i] = (struct part){ parts[i], *size, own };
		*seekable = *seekable && bpk_source_seekable(parts[i]);
		if (*size == BPK_UNKNOWN || own == BPK_UNKNOWN)
			*size = BPK_UNKNOWN;
		else if (!bpk_add_u64(*size, own, size) || *size == BPK_UNKNOWN)
			return bpk_fail(err, BPK_LIMIT, "more than 2^64 bytes in all");
	}
	return 0;
}

int bpk_source_join(struct bpk_source *const *parts, size_t nparts, struct bpk_source **source,
		    struct bpk_err *err)
{
	struct join *join = bpk_calloc(1, sizeof *join + nparts * sizeof *join->parts, err);
	bool seekable;
	uint64_t size;

	*source = NULL;
	if (join == NULL)
		return -1;
	join->nparts = nparts;
	if (gather(join, parts, &seekable, &size, err) != 0 ||
	    bpk_source_of(seekable ? &join_ops : &join_stream_ops, join, size, source, err) != 0) {
		free(join);
		return -1;
	}
	(*source)->holds = &join_holds;
	return 0;
}
