/*
 * Stores a sparse frame: a file for each chunk, and last chunks.b2frame, which names the files that
 * are the frame ("Sparse frame"). The writer, the editor and repack call it.
 */
#include "format/frame/names.h"
#include "format/frame/store.h"

int bpk_frame_store_stage(struct bpk_tree *tree, const char *name, struct bpk_view first,
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

/* Ids have no gaps: c-blosc2 needs small ones. */
static int directory_put(void *arg, struct bpk_view chunk, uint64_t *entry, struct bpk_err *err)
{
	struct bpk_frame_store *s = arg;
	char name[BPK_FRAME_FILE_NAME];

	*entry = s->nfiles++;
	s->payload += chunk.size;
	bpk_frame_file_name((uint32_t)*entry, name);
	return bpk_frame_store_stage(bpk_draft_tree(s->draft), name, chunk, bpk_view(NULL, 0), err);
}

static int directory_finish(struct bpk_frame_store *s, struct bpk_view head, struct bpk_view tail,
			    struct bpk_err *err)
{
	return bpk_frame_store_stage(bpk_draft_tree(s->draft), BPK_FRAME_SPARSE_INDEX, head, tail,
				     err);
}

const struct bpk_frame_store_ops bpk_frame_store_directory = {
	.sparse = true,
	.put = directory_put,
	.finish = directory_finish,
};
