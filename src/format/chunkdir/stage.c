/*
 * Stages the files of a commit for the editor, in an order that is harmless to readers that see
 * every single rename: sizes last if rows are added, first if rows are removed.
 */
#include "format/chunkdir/editor.h"

#include <inttypes.h>

#include "format/chunkdir/meta.h"

int bpk_chunkdir_need_output(struct bpk_chunkdir_editor *e, struct bpk_err *err)
{
	return e->output.tracks != NULL ? 0 : bpk_chunkdir_output_open(&e->output, err);
}

uint64_t bpk_chunkdir_new_raw_size(const struct bpk_chunkdir_editor *e)
{
	if (!e->cut.made)
		return e->info.raw_size;
	if (e->cut.kept == e->cut.old_nchunks)
		return e->info.raw_size + e->added;
	return e->cut.kept * bpk_chunkdir_full(e) + e->added;
}

/* A cut without new chunks may lie inside a file. */
static int end_at_cut(struct bpk_chunkdir_editor *e, struct bpk_err *err)
{
	if (!e->cut.made || e->added > 0 || e->cut.kept == e->set.nchunks)
		return 0;
	for (size_t i = 0; i < e->set.ncolumns; i++) {
		if (bpk_chunkdir_position(&e->set.columns[i], e->cut.kept) == 0)
			continue;
		if (bpk_chunkdir_reach(e, i, e->cut.kept, e->cut.kept, err) != 0)
			return -1;
		bpk_chunkdir_old_close(&e->old[i]);
	}
	return 0;
}

static int end_files(struct bpk_chunkdir_editor *e, struct bpk_err *err)
{
	if (end_at_cut(e, err) != 0)
		return -1;
	for (size_t i = 0; i < e->set.ncolumns; i++)
		if (!e->cut.made && e->output.tracks[i].file.draft != NULL &&
		    bpk_chunkdir_complete(e, i, err) != 0)
			return -1;
	return bpk_chunkdir_output_end(&e->output, err);
}

/* Remove committed files from number on, and unused ones after them. */
static int remove_files(struct bpk_chunkdir_editor *e, size_t column, uint64_t number,
			struct bpk_err *err)
{
	const struct bpk_chunkdir_column *c = &e->set.columns[column];
	struct bpk_buf name = { 0 };
	enum bpk_entry entry = BPK_ENTRY_FILE;
	uint64_t size;
	int rc = 0;

	for (; rc == 0 && entry == BPK_ENTRY_FILE; number++) {
		name.size = 0;
		rc = bpk_chunkdir_file_name(&e->set, c, number, &name, err);
		if (rc == 0)
			rc = bpk_dir_look(e->place.directory, (const char *)name.data, &entry,
					  &size, err);
		if (rc == 0 && entry == BPK_ENTRY_FILE)
			rc = bpk_tree_remove(e->tree, (const char *)name.data, err);
	}
	bpk_buf_clear(&name);
	return rc;
}

/* Subtract the contribution of committed files from number on to digest and size. */
static int subtract_files(struct bpk_chunkdir_editor *e, size_t column, uint64_t number,
			  struct bpk_err *err)
{
	struct bpk_chunkdir_old old = { 0 };
	int rc = 0;

	for (; rc == 0 && number < e->set.columns[column].nfiles; number++) {
		rc = bpk_chunkdir_old_open(e, column, number, &old, err);
		if (rc == 0)
			rc = bpk_chunkdir_old_subtract(e, column, number, &old, err);
		bpk_chunkdir_old_close(&old);
	}
	return rc;
}

/* The committed sizes of name; in a store its file may be a reservation by now. */
static int read_sizes(struct bpk_chunkdir_editor *e, const char *name,
		      struct bpk_chunkdir_sizes *sizes, struct bpk_err *err)
{
	struct bpk_buf text = { 0 };
	int rc = 0;

	*sizes = e->set.sizes;
	if (e->set.is_table) {
		rc = bpk_chunkdir_read(e->place.directory, name, BPK_CHUNKDIR_MAX_JSON, &text, err);
		if (rc == 0)
			rc = bpk_chunkdir_sizes_parse(bpk_buf_view(&text), false, sizes, err);
		bpk_buf_clear(&text);
	}
	if (sizes->cbytes == BPK_UNKNOWN)
		sizes->cbytes = 0;
	return rc;
}

/*
 * The new digests would hide damage in a last chunk that was recompressed or copied, so its old
 * share must be as sizes has it. A truncation below it drops it unseen.
 */
static int check_last(const struct bpk_chunkdir_editor *e, size_t first, size_t n,
		      const struct bpk_chunkdir_digests *digests, struct bpk_err *err)
{
	uint64_t last[BPK_CHUNKDIR_WAYS] = { 0 };

	if (!digests->given || e->output.tracks == NULL ||
	    (e->cut.made && e->next <= bpk_chunkdir_full_chunks(e)))
		return 0;
	for (size_t i = first; i < first + n; i++) {
		if (!e->output.tracks[i].took_last)
			return 0;
		for (size_t way = 0; way < BPK_CHUNKDIR_WAYS; way++)
			last[way] += e->output.tracks[i].old_last[way];
	}
	for (size_t way = 0; way < BPK_CHUNKDIR_WAYS; way++)
		if (last[way] == digests->last)
			return 0;
	return bpk_fail(err, BPK_CORRUPT, "%smeta/sizes: its digests do not match the last chunk",
			e->set.columns[first].home);
}

static int put_seal(struct bpk_chunkdir_editor *e, const struct bpk_chunkdir_sizes *sizes,
		    struct bpk_buf *text, struct bpk_err *err)
{
	const struct bpk_chunkdir_sealed_facts facts = {
		.sizes = sizes,
		.storage = e->set.storage_digest,
		.attributes = bpk_buf_view(e->attributes.changed ? &e->attributes.text
								 : &e->set.attributes.text),
		.checksum = e->output.checksum,
		.generation = e->seal.generation,
	};
	struct bpk_seal_tree tree;

	return bpk_seal_growth_tree(&e->seal, &tree, err) != 0
		       ? -1
		       : bpk_chunkdir_seal_put(&facts, &tree, text, err);
}

/* Write the sizes of n columns from first on: all columns, or one of a bcolz table. */
static int put_sizes(struct bpk_chunkdir_editor *e, size_t first, size_t n, struct bpk_err *err)
{
	const struct bpk_chunkdir_column *c = &e->set.columns[first];
	struct bpk_chunkdir_sizes sizes = { 0 };
	struct bpk_buf name = { 0 }, text = { 0 };
	uint64_t last = 0;
	int rc = bpk_buf_printf(&name, err, "%smeta/sizes%c", c->home, '\0');

	if (rc == 0)
		rc = read_sizes(e, (const char *)name.data, &sizes, err);
	if (rc == 0)
		rc = check_last(e, first, n, &sizes.digests, err);
	if (e->reseal.needed)
		sizes.digests = e->reseal.digests;
	bpk_chunkdir_size_up(&e->set, c, &sizes);
	for (size_t i = first; e->output.tracks != NULL && i < first + n; i++) {
		sizes.cbytes += e->output.tracks[i].size;
		sizes.digests.data += e->output.tracks[i].data;
		last += e->output.tracks[i].last;
	}
	if (e->cut.made || (e->changed && e->output.tracks[first].has_last))
		sizes.digests.last = last;
	if (sizes.cbytes > INT64_MAX) /* negative, because bcolz recorded too little */
		sizes.cbytes = 0;
	if (e->attributes.changed && sizes.digests.has_attributes)
		sizes.digests.attributes = bpk_chunkdir_crc(bpk_buf_view(&e->attributes.text));
	if (rc == 0)
		rc = bpk_chunkdir_sizes_print(&sizes, &text, err);
	if (rc == 0 && e->seal.generation > 0)
		rc = put_seal(e, &sizes, &text, err);
	if (rc == 0)
		rc = bpk_chunkdir_put_file(e->tree, (const char *)name.data, bpk_buf_view(&text),
					   err);
	bpk_buf_clear(&name);
	bpk_buf_clear(&text);
	return rc;
}

static int put_all_sizes(struct bpk_chunkdir_editor *e, struct bpk_err *err)
{
	if (!e->set.is_table)
		return put_sizes(e, 0, e->set.ncolumns, err);
	for (size_t i = 0; i < e->set.ncolumns; i++)
		if (put_sizes(e, i, 1, err) != 0)
			return -1;
	return 0;
}

/* Fewer rows: sizes is renamed before anything is removed. */
static int stage_shrunk(struct bpk_chunkdir_editor *e, struct bpk_err *err)
{
	uint64_t nchunks = e->next;

	for (size_t i = 0; i < e->set.ncolumns; i++) {
		uint64_t number = bpk_div_up(nchunks, e->set.columns[i].superchunk_chunks);

		if (subtract_files(e, i, number, err) != 0)
			return -1;
	}
	if (bpk_chunkdir_set_rows(&e->set, bpk_chunkdir_new_raw_size(e) / e->set.row_size, err) !=
		    0 ||
	    put_all_sizes(e, err) != 0 || bpk_chunkdir_output_release(&e->output, err) != 0)
		return -1;
	for (size_t i = 0; i < e->set.ncolumns; i++)
		if (remove_files(e, i, bpk_div_up(nchunks, e->set.columns[i].superchunk_chunks),
				 err) != 0)
			return -1;
	return 0;
}

static int stage_grown(struct bpk_chunkdir_editor *e, uint64_t raw_size, struct bpk_err *err)
{
	if (bpk_chunkdir_output_release(&e->output, err) != 0 ||
	    bpk_chunkdir_set_rows(&e->set, raw_size / e->set.row_size, err) != 0)
		return -1;
	return put_all_sizes(e, err);
}

int bpk_chunkdir_stage_data(struct bpk_chunkdir_editor *e, struct bpk_err *err)
{
	uint64_t raw_size = bpk_chunkdir_new_raw_size(e);

	if (raw_size % e->set.row_size != 0)
		return bpk_fail(err, BPK_FAILED, "%" PRIu64 " bytes are not whole rows of %" PRIu64,
				raw_size, e->set.row_size);
	if (bpk_chunkdir_need_output(e, err) != 0 || end_files(e, err) != 0)
		return -1;
	return raw_size < e->info.raw_size ? stage_shrunk(e, err) : stage_grown(e, raw_size, err);
}

int bpk_chunkdir_stage_attributes(struct bpk_chunkdir_editor *e, struct bpk_err *err)
{
	bool covered = !e->set.is_table && e->set.sizes.digests.has_attributes;

	if (bpk_chunkdir_put_file(e->tree, e->set.attributes.name,
				  bpk_buf_view(&e->attributes.text), err) != 0)
		return -1;
	return covered && !e->changed && !e->reseal.needed ? put_all_sizes(e, err) : 0;
}

int bpk_chunkdir_stage_sizes(struct bpk_chunkdir_editor *e, struct bpk_err *err)
{
	return e->changed ? 0 : put_all_sizes(e, err);
}
