/*
 * Stores a contiguous frame: chunks as they come, then the index and the trailer, and last the
 * header, since it has the total size. On a pipe, which cannot return to the header, the chunks are
 * copied from a temporary file. The writer calls it.
 */
#include "format/frame/store.h"

static int file_open(struct bpk_frame_store *s, struct bpk_err *err)
{
	return bpk_draft_seekable(s->draft) ? 0 : bpk_spool_open(&s->spool, err);
}

static int file_put(void *arg, struct bpk_view chunk, uint64_t *entry, struct bpk_err *err)
{
	struct bpk_frame_store *s = arg;

	*entry = s->payload;
	s->payload += chunk.size;
	if (s->spool != NULL)
		return bpk_spool_write(s->spool, chunk, err);
	return bpk_draft_write_at(s->draft, s->header_size + *entry, chunk, err);
}

static int write_placed(const struct bpk_frame_store *s, struct bpk_view head, struct bpk_view tail,
			struct bpk_err *err)
{
	uint64_t payload_end = s->header_size + s->payload;

	if (bpk_draft_write_at(s->draft, payload_end, tail, err) != 0 ||
	    bpk_draft_set_size(s->draft, payload_end + tail.size, err) != 0)
		return -1;
	return bpk_draft_write_at(s->draft, 0, head, err);
}

static int write_in_turn(const struct bpk_frame_store *s, struct bpk_view head,
			 struct bpk_view tail, struct bpk_err *err)
{
	if (bpk_draft_write(s->draft, head, err) != 0 ||
	    bpk_spool_drain(s->spool, s->draft, err) != 0)
		return -1;
	return bpk_draft_write(s->draft, tail, err);
}

static int file_finish(struct bpk_frame_store *s, struct bpk_view head, struct bpk_view tail,
		       struct bpk_err *err)
{
	return (s->spool != NULL ? write_in_turn : write_placed)(s, head, tail, err);
}

const struct bpk_frame_store_ops bpk_frame_store_file = {
	.open = file_open,
	.put = file_put,
	.finish = file_finish,
};
