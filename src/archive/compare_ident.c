/* Two trees of raw contents compared, and then the bytes under the nodes that differ. Called by bpk
 * cmp --recorded and by bpk verify. */
#include "archive/compare.h"

#include <inttypes.h>
#include <stdlib.h>

enum { READ_AT_ONCE = 1 << 20 };

/* ---- The trees ---- */

void bpk_ident_ranges_clear(struct bpk_ident_ranges *ranges)
{
	free(ranges->all);
	*ranges = (struct bpk_ident_ranges){ 0 };
}

/* Note a range, which may continue the last one. */
static int note_range(struct bpk_ident_ranges *ranges, uint64_t start, uint64_t end,
		      struct bpk_err *err)
{
	size_t count = ranges->count;
	struct bpk_ident_range *all;

	if (count > 0 && ranges->all[count - 1].end == start) {
		ranges->all[count - 1].end = end;
		return 0;
	}
	all = bpk_alloc_grow(ranges->all, count, &ranges->room, sizeof *all, err);
	if (all == NULL)
		return -1;
	ranges->all = all;
	all[ranges->count++] = (struct bpk_ident_range){ start, end };
	return 0;
}

int bpk_ident_compare(struct bpk_ident *a, struct bpk_ident *b, struct bpk_ident_ranges *ranges,
		      struct bpk_err *err)
{
	uint64_t count, start, end;

	if (bpk_ident_coarsen(a, b->level, err) != 0 || bpk_ident_coarsen(b, a->level, err) != 0)
		return -1;
	count = bpk_min_u64(bpk_ident_nodes(a), bpk_ident_nodes(b));
	for (uint64_t i = 0; i <= count; i++) {
		if ((i < count || a->size == b->size) && bpk_ident_same(a, b, i))
			continue;
		bpk_ident_range(a, i, &start, &end);
		end = bpk_min_u64(end, bpk_min_u64(a->size, b->size));
		if (start < end && note_range(ranges, start, end, err) != 0)
			return -1;
	}
	return 0;
}

/* ---- The bytes ---- */

/* A content that can be read at any place. */
struct side {
	const struct bpk_input *in;
	struct bpk_source *source, *view; /* view is owned, or NULL */
	struct bpk_view_limits limits;
	struct bpk_buf bytes;
};

static int open_side(struct side *side, const struct bpk_compare_options *options,
		     struct bpk_err *err)
{
	const struct bpk_view_options viewing = { .nchunks = 2, .limits = &side->limits };
	const struct bpk_input *in = side->in;

	side->limits =
		(struct bpk_view_limits){ .memory = options->limits.memory, .left = BPK_UNKNOWN };
	side->source = in->place.source;
	if (in->format != &bpk_format_raw) {
		if (bpk_view_open(in->format->reader, in->reader, &viewing, &side->view, err) != 0)
			return bpk_input_subject(in, err);
		side->source = side->view;
	}
	if (bpk_source_seekable(side->source))
		return 0;
	bpk_fail(err, BPK_FAILED, "is no archive or file that can be read at any place");
	return bpk_input_subject(in, err);
}

static int read_side(struct side *side, uint64_t offset, size_t size, struct bpk_err *err)
{
	size_t got = 0;

	if (bpk_buf_resize(&side->bytes, size, err) != 0 ||
	    bpk_source_read_at(side->source, offset, bpk_span(side->bytes.data, size), &got, err) !=
		    0)
		return bpk_input_subject(side->in, err);
	if (got == size)
		return 0;
	bpk_fail(err, BPK_FAILED, "changed while it was read");
	return bpk_input_subject(side->in, err);
}

/* Find the first byte of a range that differs. */
static int look(struct side sides[2], const struct bpk_ident_range *range,
		struct bpk_compared *compared, struct bpk_err *err)
{
	for (uint64_t at = range->start; at < range->end && !compared->differ;) {
		size_t size = (size_t)bpk_min_u64(range->end - at, READ_AT_ONCE), i = 0;

		if (read_side(&sides[0], at, size, err) != 0 ||
		    read_side(&sides[1], at, size, err) != 0)
			return -1;
		while (i < size && sides[0].bytes.data[i] == sides[1].bytes.data[i])
			i++;
		if (i < size)
			*compared = (struct bpk_compared){
				.differ = true,
				.offset = at + i,
				.bytes = { sides[0].bytes.data[i], sides[1].bytes.data[i] },
			};
		at += size;
	}
	return 0;
}

/* Of two sizes, the bytes behind the last common node were in no comparison: they may be equal. */
static bool is_unknown(const struct bpk_ident *const trees[2], const struct bpk_ident_range *range)
{
	return trees[0]->size != trees[1]->size &&
	       range->end == bpk_min_u64(trees[0]->size, trees[1]->size);
}

static int look_at_all(struct side sides[2], const struct bpk_ident *const trees[2],
		       const struct bpk_ident_ranges *ranges, struct bpk_compared *compared,
		       struct bpk_err *err)
{
	for (size_t i = 0; i < ranges->count && !compared->differ; i++) {
		if (look(sides, &ranges->all[i], compared, err) != 0)
			return -1;
		if (compared->differ || is_unknown(trees, &ranges->all[i]))
			continue;
		return bpk_fail(err, BPK_CORRUPT,
				"%s, %s: raw bytes %" PRIu64 ":%" PRIu64
				" are equal, and a recorded identity is not that of its content",
				bpk_input_name(sides[0].in->path),
				bpk_input_name(sides[1].in->path), ranges->all[i].start,
				ranges->all[i].end);
	}
	if (!compared->differ && trees[0]->size != trees[1]->size)
		*compared = (struct bpk_compared){
			.differ = true,
			.offset = bpk_min_u64(trees[0]->size, trees[1]->size),
			.ends = { trees[0]->size < trees[1]->size,
				  trees[1]->size < trees[0]->size },
		};
	return 0;
}

int bpk_compare_trees(struct bpk_input *const inputs[2], struct bpk_ident *const trees[2],
		      const struct bpk_compare_options *options, struct bpk_ident_ranges *ranges,
		      struct bpk_compared *compared, struct bpk_err *err)
{
	struct side sides[2] = { { .in = inputs[0] }, { .in = inputs[1] } };
	const struct bpk_ident *const known[2] = { trees[0], trees[1] };
	int rc;

	*compared = (struct bpk_compared){ 0 };
	rc = bpk_ident_compare(trees[0], trees[1], ranges, err);
	for (int i = 0; rc == 0 && ranges->count > 0 && i < 2; i++)
		rc = open_side(&sides[i], options, err);
	if (rc == 0)
		rc = look_at_all(sides, known, ranges, compared, err);
	for (int i = 0; i < 2; i++) {
		bpk_source_close(sides[i].view);
		bpk_buf_clear(&sides[i].bytes);
	}
	return rc;
}
