/*
 * The writer of frames, contiguous and sparse, which differ in their store (store.h). Called by
 * repack; its row is in formats.c.
 */
#include <stdlib.h>

#include "format/frame/store.h"
#include "format/frame/output.h"

/* Fixed after open, except for the state that put changes. */
struct writer {
	const struct bpk_frame_store_ops *ops;
	struct bpk_frame_store store;
	uint64_t announced; /* raw bytes; may be unknown */
	struct bpk_frame_output output;
};

static void writer_close(void *writer)
{
	struct writer *w = writer;

	bpk_spool_close(w->store.spool);
	bpk_frame_output_clear(&w->output);
	free(w);
}

static int begin(struct writer *w, const struct bpk_info *info,
		 const struct bpk_write_options *options, struct bpk_err *err)
{
	if (bpk_frame_output_begin(info, options, w->ops->sparse, &w->output, err) != 0)
		return -1;
	w->store.header_size = w->output.header.size;
	w->output.store = w->ops->put;
	w->output.arg = &w->store;
	return w->ops->open != NULL ? w->ops->open(&w->store, err) : 0;
}

static int open_with(const struct bpk_frame_store_ops *ops, struct bpk_draft *draft,
		     const struct bpk_info *info, const struct bpk_write_options *options,
		     void **writer, struct bpk_err *err)
{
	struct writer *w = bpk_calloc(1, sizeof *w, err);

	*writer = NULL;
	if (w == NULL)
		return -1;
	w->ops = ops;
	w->store.draft = draft;
	w->announced = info->raw_size;
	if (begin(w, info, options, err) != 0) {
		writer_close(w);
		return -1;
	}
	*writer = w;
	return 0;
}

static int file_open(struct bpk_draft *draft, const struct bpk_info *info,
		     const struct bpk_write_options *options, void **writer, struct bpk_err *err)
{
	return open_with(&bpk_frame_store_file, draft, info, options, writer, err);
}

static int directory_open(struct bpk_draft *draft, const struct bpk_info *info,
			  const struct bpk_write_options *options, void **writer,
			  struct bpk_err *err)
{
	*writer = NULL;
	if (bpk_draft_tree(draft) == NULL && !bpk_draft_is_shadow(draft))
		return bpk_fail(err, BPK_USAGE,
				"a sparse frame cannot be written to a file or a pipe");
	return open_with(&bpk_frame_store_directory, draft, info, options, writer, err);
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

	return output->has_nd ? bpk_frame_nd_seal(output->checksum, parcel, err)
			      : bpk_parcel_seal(output->checksum, parcel, err);
}

static int writer_put(void *writer, const struct bpk_parcel *parcel, struct bpk_err *err)
{
	struct bpk_frame_output *output = &((struct writer *)writer)->output;

	if (output->has_nd)
		return bpk_frame_nd_put(output, output->nd.chunk_size, parcel, bpk_frame_output_put,
					err);
	return bpk_frame_output_put(output, parcel, err);
}

static bool file_takes_unseen(const void *writer, const struct bpk_parcel *parcel, bool all_there)
{
	const struct writer *w = writer;

	return !w->output.has_nd && bpk_draft_seekable(w->store.draft) &&
	       bpk_frame_output_takes_unseen(&w->output, parcel, all_there);
}

static bool directory_takes_unseen(const void *writer, const struct bpk_parcel *parcel,
				   bool all_there)
{
	const struct writer *w = writer;

	return !w->output.has_nd && bpk_frame_output_takes_unseen(&w->output, parcel, all_there);
}

/* The trailer has them, which is written last. */
static int writer_set_member(void *writer, const char *name, const char *value, bool *fits,
			     struct bpk_err *err)
{
	struct writer *w = writer;
	struct bpk_frame_layers none = { 0 }, made = { 0 };
	struct bpk_buf text = { 0 };
	int rc = bpk_json_set(&text, name, value, err);

	*fits = true;
	if (rc == 0)
		rc = bpk_frame_layers_parse(bpk_buf_view(&text), &none, &made, err);
	if (rc == 0 && (bpk_frame_layers_find(&w->output.layers, name) == NULL || made.count != 1))
		rc = bpk_fail(err, BPK_UNSUPPORTED,
			      "the metadata have no layers, and so none for %s", name);
	if (rc == 0)
		rc = bpk_frame_layers_set(&w->output.layers, name,
					  bpk_buf_view(&made.all[0].content), err);
	bpk_frame_layers_clear(&none);
	bpk_frame_layers_clear(&made);
	bpk_buf_clear(&text);
	return rc;
}

static int writer_finish(void *writer, struct bpk_err *err)
{
	struct writer *w = writer;
	struct bpk_buf head = { 0 }, tail = { 0 };
	uint64_t payload = w->store.payload;
	int rc = bpk_frame_output_check(&w->output, w->announced, err);

	if (rc == 0)
		rc = bpk_frame_output_end(&w->output, w->store.header_size + payload, payload,
					  &head, &tail, err);
	if (rc == 0)
		rc = w->ops->finish(&w->store, bpk_buf_view(&head), bpk_buf_view(&tail), err);
	bpk_buf_clear(&head);
	bpk_buf_clear(&tail);
	return rc;
}

const struct bpk_writer_ops bpk_frame_writer_ops = {
	.open = file_open,
	.packs = writer_packs,
	.pack = writer_pack,
	.unpack = writer_unpack,
	.seal = writer_seal,
	.put = writer_put,
	.takes_unseen = file_takes_unseen,
	.set_member = writer_set_member,
	.finish = writer_finish,
	.close = writer_close,
};

const struct bpk_writer_ops bpk_frame_sparse_writer_ops = {
	.open = directory_open,
	.packs = writer_packs,
	.pack = writer_pack,
	.unpack = writer_unpack,
	.seal = writer_seal,
	.put = writer_put,
	.takes_unseen = directory_takes_unseen,
	.set_member = writer_set_member,
	.finish = writer_finish,
	.close = writer_close,
};
