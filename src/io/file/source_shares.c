/* Reads of all bytes or none, and large reads of a file that several threads share. Called by io
 * and by the formats. */
#include "io/file/source.h"

#include <inttypes.h>

/* Bytes of a part, and the least that is divided. */
enum { PART = 1 << 20, LARGE = 8 << 20 };

struct reading {
	struct bpk_source *source;
	uint64_t offset;
	struct bpk_span out;
	struct bpk_mutex lock;
	/* guarded by lock: the lowest part that is not complete, and its result */
	uint32_t broken; /* UINT32_MAX: all are complete */
	size_t got;
	int rc;
	struct bpk_err err;
};

static void read_part(struct reading *r, uint32_t part)
{
	size_t start = (size_t)part * PART, got;
	struct bpk_span out =
		bpk_span(r->out.data + start, bpk_min_size(PART, r->out.size - start));
	struct bpk_err err = { 0 };
	int rc = bpk_source_read_at(r->source, r->offset + start, out, &got, &err);

	if (rc == 0 && got == out.size)
		return;
	bpk_mutex_lock(&r->lock);
	if (part < r->broken) {
		r->broken = part;
		r->got = start + got;
		r->rc = rc;
		r->err = err;
	}
	bpk_mutex_unlock(&r->lock);
}

static void help(void *of, void *scratch, uint32_t part)
{
	(void)scratch;
	read_part(of, part);
}

int bpk_source_read_shared_at(struct bpk_source *source, uint64_t offset, struct bpk_span out,
			      const struct bpk_sharing *sharing, size_t *got, struct bpk_err *err)
{
	struct reading r = { .source = source,
			     .offset = offset,
			     .out = out,
			     .broken = UINT32_MAX,
			     .got = out.size };
	const struct bpk_shared_work work = { &r, help };

	if (sharing == NULL || out.size < LARGE || source->nature != BPK_SOURCE_SEEKABLE ||
	    source->ops != NULL)
		return bpk_source_read_at(source, offset, out, got, err);
	bpk_mutex_init(&r.lock);
	sharing->offer(sharing->arg, &work, (uint32_t)bpk_div_up(out.size, PART));
	for (uint32_t part = 0; sharing->take(sharing->arg); part++)
		read_part(&r, part);
	bpk_mutex_clear(&r.lock);
	*got = r.got;
	if (r.rc != 0 && err != NULL)
		*err = r.err;
	return r.rc;
}

int bpk_source_need_shared_at(struct bpk_source *source, uint64_t offset, struct bpk_span out,
			      const struct bpk_sharing *sharing, struct bpk_err *err)
{
	size_t got;

	if (bpk_source_read_shared_at(source, offset, out, sharing, &got, err) != 0)
		return -1;
	if (got < out.size)
		return bpk_fail(err, BPK_CORRUPT,
				"ends %zu bytes early: %zu bytes are needed at %" PRIu64,
				out.size - got, out.size, offset);
	return 0;
}

int bpk_source_need_at(struct bpk_source *source, uint64_t offset, struct bpk_span out,
		       struct bpk_err *err)
{
	return bpk_source_need_shared_at(source, offset, out, NULL, err);
}
