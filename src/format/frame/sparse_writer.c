/*
 * The writer of sparse frames: a file for each stored chunk, and last chunks.b2frame, which names
 * the files that are the frame ("Sparse frame").
 */
#include <inttypes.h>
#include <stdlib.h>

#include "format/frame/reader.h"
#include "format/frame/writer.h"

/* Fixed after open, except for the state that put changes. */
struct writer {
	struct bpk_tree *tree;
	uint64_t announced; /* raw bytes; may be unknown */
	uint64_t nfiles;    /* ids given so far, without gaps: c-blosc2 needs small ids */
	uint64_t payload;   /* bytes of chunks so far */
	struct bpk_frame_output output;
};

int bpk_frame_put_file(struct bpk_tree *tree, const char *name, struct bpk_view first,
		       struct bpk_view second, struct bpk_err *err)
{
	struct bpk_draft *draft;

	if (bpk_tree_draft(tree, name, &draft, err) != 0)
		return -1;
	if (bpk_draft_write(draft, first, err) != 0 || bpk_draft_write(draft, second, err) != 0) {
		bpk_draft_drop(draft);
		return bpk_err_subject(err, "%s", name);
	}
	return bpk_tree_stage(tree, draft, err);
}

static int store(void *arg, struct bpk_view chunk, uint64_t *entry, struct bpk_err *err)
{
	struct writer *w = arg;
	char name[BPK_FRAME_FILE_NAME];

	*entry = w->nfiles++;
	w->payload += chunk.size;
	bpk_frame_file_name((uint32_t)*entry, name);
	return bpk_frame_put_file(w->tree, name, chunk, bpk_view(NULL, 0), err);
}

static void writer_close(void *writer)
{
	struct writer *w = writer;

	bpk_frame_output_clear(&w->output);
	free(w);
}

static int writer_open(struct bpk_draft *draft, const struct bpk_info *info,
		       const struct bpk_write_options *options, void **writer, struct bpk_err *err)
{
	struct writer *w;

	*writer = NULL;
	if (bpk_draft_tree(draft) == NULL)
		return bpk_fail(err, BPK_USAGE,
				"a sparse frame cannot be written to a file or a pipe");
	w = bpk_calloc(1, sizeof *w, err);
	if (w == NULL)
		return -1;
	w->tree = bpk_draft_tree(draft);
	w->announced = info->raw_size;
	if (bpk_frame_output_begin(info, options, true, &w->output, err) != 0) {
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

static int writer_finish(void *writer, struct bpk_err *err)
{
	struct writer *w = writer;
	struct bpk_buf head = { 0 }, tail = { 0 };
	int rc = bpk_frame_output_check(&w->output, w->announced, err);

	if (rc == 0)
		rc = bpk_frame_output_end(&w->output, BPK_UNKNOWN, w->payload, &head, &tail, err);
	if (rc == 0)
		rc = bpk_frame_put_file(w->tree, BPK_FRAME_SPARSE_INDEX, bpk_buf_view(&head),
					bpk_buf_view(&tail), err);
	bpk_buf_clear(&head);
	bpk_buf_clear(&tail);
	return rc;
}

const struct bpk_writer_ops bpk_frame_sparse_writer_ops = {
	.open = writer_open,
	.packs = writer_packs,
	.pack = writer_pack,
	.unpack = writer_unpack,
	.seal = writer_seal,
	.put = writer_put,
	.finish = writer_finish,
	.close = writer_close,
};
