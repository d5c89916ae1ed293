/*
 * Reading while a writer is active; called by load.c, audit.c and reader.c. Every file shows one
 * committed state, but two files may show different ones. So apparent damage is examined again:
 * each change of ours has a new sizes, which readers see no later than its other files, so damage
 * found with the old sizes is real. Fetched chunks need no such test: files are replaced, never
 * overwritten, and open files stay the old ones.
 */
#include "format/chunkdir/meta.h"

uint64_t bpk_chunkdir_concurrent_add(uint64_t seen, struct bpk_view text)
{
	return seen * 31 + bpk_chunkdir_crc(text) + 1; /* + 1: one more file always changes seen */
}

/* True if text, a file sizes, differs from its state at open only by more rows. */
static bool has_grown(const struct bpk_chunkdir_reader *r, uint64_t row_size, struct bpk_view text)
{
	struct bpk_chunkdir_sizes now = { 0 };
	uint64_t nbytes;

	if (bpk_chunkdir_sizes_parse(text, r->options.no_check, &now, NULL) != 0)
		return false;
	return now.shape[0] > r->set.rows && bpk_mul_u64(now.shape[0], row_size, &nbytes) &&
	       now.nbytes == nbytes;
}

/* Read the current sizes of all columns; *seen is their state, *grown: all have more rows. */
static int look_again(const struct bpk_chunkdir_reader *r, uint64_t *seen, bool *grown)
{
	size_t count = r->set.is_table ? r->set.ncolumns : 1;
	struct bpk_buf path = { 0 }, text = { 0 };
	int rc = 0;

	*seen = 0;
	*grown = true;
	for (size_t i = 0; rc == 0 && i < count; i++) {
		const struct bpk_chunkdir_column *column = &r->set.columns[i];
		uint64_t row_size = r->set.is_table ? column->item_size : r->set.row_size;

		rc = bpk_chunkdir_path(column->home, "meta/sizes", &path, NULL);
		if (rc == 0)
			rc = bpk_chunkdir_read(r->dir, (const char *)path.data,
					       BPK_CHUNKDIR_MAX_JSON, &text, NULL);
		if (rc != 0)
			break;
		*seen = bpk_chunkdir_concurrent_add(*seen, bpk_buf_view(&text));
		*grown = *grown && has_grown(r, row_size, bpk_buf_view(&text));
	}
	bpk_buf_clear(&path);
	bpk_buf_clear(&text);
	return rc;
}

bool bpk_chunkdir_concurrent_judge(const struct bpk_chunkdir_reader *r, struct bpk_err *err)
{
	uint64_t seen;
	bool grown;

	if (err->kind != BPK_CORRUPT || look_again(r, &seen, &grown) != 0 ||
	    seen == r->set.sizes_seen)
		return false;
	bpk_fail_changed(err);
	return grown;
}
