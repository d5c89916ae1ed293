/*
 * The editor's new metadata. If chunk sizes differ, the metadata list the sizes of the first chunks
 * (sizes.c). A change that cuts off listed chunks shortens the list in the same commit; a change
 * that only adds chunks leaves it alone.
 */
#include "format/bloscpack/editor.h"

bool bpk_bloscpack_is_adding(const struct bpk_bloscpack_editor *e)
{
	return e->mode == BPK_BLOSCPACK_ADDING ||
	       (e->mode == BPK_BLOSCPACK_REWRITING && e->rewrite.adding);
}

/* The number of chunks that keep their sizes and are not the last. */
static uint64_t count_kept(const struct bpk_bloscpack_editor *e)
{
	const struct bpk_bloscpack_added *added = &e->added;

	if (!bpk_bloscpack_is_adding(e))
		return BPK_UNKNOWN;
	if (added->nchunks > 0 || added->cut == 0 || e->rewrite.coming)
		return added->cut;
	return added->cut - 1;
}

bool bpk_bloscpack_text_changes(const struct bpk_bloscpack_editor *e)
{
	return e->metadata.set || e->seal.generation > 0 ||
	       count_kept(e) < e->reader->sizes.runs.nchunks;
}

struct bpk_view bpk_bloscpack_text_user(const struct bpk_bloscpack_editor *e)
{
	const struct bpk_info *info = &e->reader->info;

	if (e->metadata.set)
		return bpk_buf_view(&e->metadata.text);
	return info->metadata.given ? info->metadata.text : bpk_view(NULL, 0);
}

int bpk_bloscpack_text_sizes(const struct bpk_bloscpack_editor *e, struct bpk_sizes *sizes,
			     struct bpk_err *err)
{
	return bpk_sizes_copy(&e->reader->sizes.runs, count_kept(e), sizes, err);
}

int bpk_bloscpack_text_make(const struct bpk_bloscpack_editor *e, struct bpk_buf *text,
			    struct bpk_err *err)
{
	struct bpk_sizes sizes;
	int rc = bpk_bloscpack_text_sizes(e, &sizes, err);

	if (rc == 0)
		rc = bpk_bloscpack_sizes_join(bpk_bloscpack_text_user(e), &sizes, text, err);
	bpk_sizes_clear(&sizes);
	return rc;
}
