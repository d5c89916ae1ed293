/*
 * The writer of contiguous frames: chunks as they come, then the index and the trailer, and last
 * the header, since it has the total size. On a pipe, which cannot return to the header, the chunks
 * are copied from a temporary file.
 */
#include "format/frame/writer.h"

#include <stdlib.h>

/* Fixed after open, except for the state that put changes. */
struct writer {
	struct bpk_draft *draft;
	struct bpk_spool *spool; /* NULL: the draft seeks */
	uint64_t announced;      /* raw bytes; may be unknown */
	uint64_t payload;        /* bytes of chunks so far */
	struct bpk_frame_output output;
};

static int store(void *arg, struct bpk_view chunk, uint64_t *entry, struct bpk_err *err)
{
	struct writer *w = arg;

	*entry = w->payload;
	w->payload += chunk.size;
	if (w->spool != NULL)
		return bpk_spool_write(w->spool, chunk, err);
	return bpk_draft_write_at(w->draft, w->output.header.size + *entry, chunk, err);
}

static void writer_close(void *writer)
{
	struct writer *w = writer;

	bpk_spool_close(w->spool);
	bpk_frame_output_clear(&w->output);
	free(w);
}

static int writer_open(struct bpk_draft *draft, const struct bpk_info *info,
		       const struct bpk_write_options *options, void **writer, struct bpk_err *err)
{
	struct writer *w = bpk_calloc(1, sizeof *w, err);

	*writer = NULL;
	if (w == NULL)
		return -1;
	w->draft = draft;
	w->announced = info->raw_size;
	if (bpk_frame_output_begin(info, options, false, &w->output, err) != 0 ||
	    (!bpk_draft_seekable(draft) && bpk_spool_open(&w->spool, err) != 0)) {
		writer_close(w);
		return -1;
	}
	w->output.store = store;
	w->output.arg = w;
	*writer = w;
	return 0;
}

static const struct bpk_frame_output *output_of(const void *writer)
{
	return &((const struct writer *)writer)->output;
}

static bool writer_packs(const void *writer)
{
	return output_of(writer)->has_nd;
}

static int writer_pack(const void *writer, struct bpk_chunk_ctx *ctx,
		       const struct bpk_recipe *recipe, struct bpk_parcel *parcel,
		       struct bpk_err *err)
{
	struct bpk_frame_packing packing = bpk_frame_packing_of(output_of(writer));

	return bpk_frame_nd_pack(&packing, ctx, recipe, parcel, err);
}

static int writer_unpack(const void *writer, struct bpk_chunk_ctx *ctx,
			 const struct bpk_parcel *parcel, struct bpk_span out, struct bpk_err *err)
{
	struct bpk_frame_packing packing = bpk_frame_packing_of(output_of(writer));

	return bpk_frame_nd_prove(&packing, ctx, parcel, out, err);
}

static int writer_seal(const void *writer, struct bpk_parcel *parcel, struct bpk_err *err)
{
	const struct bpk_frame_output *output = output_of(writer);

	return (output->has_nd ? bpk_frame_nd_seal : bpk_parcel_seal)(output->checksum, parcel,
								      err);
}

static int writer_put(void *writer, const struct bpk_parcel *parcel, struct bpk_err *err)
{
	struct bpk_frame_output *output = &((struct writer *)writer)->output;

	if (output->has_nd)
		return bpk_frame_nd_put(output, output->nd.chunk_size, parcel, bpk_frame_output_put,
					err);
	return bpk_frame_output_put(output, parcel, err);
}

static int write_placed(const struct writer *w, uint64_t payload_end, struct bpk_view head,
			struct bpk_view tail, struct bpk_err *err)
{
	if (bpk_draft_write_at(w->draft, payload_end, tail, err) != 0 ||
	    bpk_draft_set_size(w->draft, payload_end + tail.size, err) != 0)
		return -1;
	return bpk_draft_write_at(w->draft, 0, head, err);
}

static int write_in_turn(const struct writer *w, struct bpk_view head, struct bpk_view tail,
			 struct bpk_err *err)
{
	if (bpk_draft_write(w->draft, head, err) != 0 ||
	    bpk_spool_drain(w->spool, w->draft, err) != 0)
		return -1;
	return bpk_draft_write(w->draft, tail, err);
}

static int writer_finish(void *writer, struct bpk_err *err)
{
	struct writer *w = writer;
	struct bpk_buf head = { 0 }, tail = { 0 };
	uint64_t payload_end = w->output.header.size + w->payload;
	int rc = bpk_frame_output_check(&w->output, w->announced, err);

	if (rc == 0)
		rc = bpk_frame_output_end(&w->output, payload_end, w->payload, &head, &tail, err);
	if (rc == 0)
		rc = w->spool != NULL
			     ? write_in_turn(w, bpk_buf_view(&head), bpk_buf_view(&tail), err)
			     : write_placed(w, payload_end, bpk_buf_view(&head),
					    bpk_buf_view(&tail), err);
	bpk_buf_clear(&head);
	bpk_buf_clear(&tail);
	return rc;
}

const struct bpk_writer_ops bpk_frame_writer_ops = {
	.open = writer_open,
	.packs = writer_packs,
	.pack = writer_pack,
	.unpack = writer_unpack,
	.seal = writer_seal,
	.put = writer_put,
	.finish = writer_finish,
	.close = writer_close,
};
