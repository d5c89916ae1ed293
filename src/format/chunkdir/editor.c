/*
 * The editor of chunked directories; its row is in formats.c. Data files are never overwritten: a
 * changed one is replaced by a new file, with the remaining chunks copied unchanged, and so is
 * sizes. All of them get their names in one step (bpk_tree_commit); if files are only added, the
 * rename of sizes alone commits. The files are renamed in an order that is harmless to readers that
 * do not know such steps: while sizes records fewer rows than exist, they see the old rows. So
 * sizes comes last if rows are added, and first if rows are removed. Source: chunked directory
 * layouts, "Write order".
 */
#include "format/chunkdir/editor.h"

#include <inttypes.h>
#include <stdlib.h>

/* In a store its replacement is the commit; a table of bcolz has none of its own. */
static const char PIVOT[] = "meta/sizes";

/* ---- Opening ---- */

static void close_reader(struct bpk_chunkdir_editor *e)
{
	if (e->reader != NULL)
		bpk_chunkdir_reader_ops.close(e->reader);
	e->reader = NULL;
	bpk_chunkdir_clear(&e->set);
}

/* Load the committed state, without a pending change. */
static int load(struct bpk_chunkdir_editor *e, struct bpk_err *err)
{
	struct bpk_read_options options = { 0 };

	e->place = (struct bpk_place){ .path = e->path,
				       .is_directory = true,
				       .directory = bpk_tree_dir(e->tree) };
	if (bpk_chunkdir_reader_ops.open(&e->place, &options, &e->reader, err) != 0) {
		e->reader = NULL;
		return -1;
	}
	if (bpk_chunkdir_load(e->place.directory, false, &e->set, err) != 0)
		return -1;
	e->info = *bpk_chunkdir_reader_ops.info(e->reader);
	e->info.chunks.size = bpk_chunkdir_full(e);
	e->info.array.row_size = e->set.row_size;
	e->cut.made = e->changed = e->attributes.changed = e->reseal.needed = false;
	e->next = e->added = 0;
	e->cut.old_nchunks = e->set.nchunks;
	return 0;
}

/* The checksum for new chunks: that of the existing ones. */
static const struct bpk_checksum *checksum_of(const struct bpk_chunkdir_editor *e)
{
	if (e->set.layout != BPK_CHUNKDIR_BLAZE)
		return bpk_checksum_find("none");
	return e->info.chunks.count > 0 ? e->info.chunks.checksum : bpk_checksum_find("crc32");
}

static int begin(struct bpk_chunkdir_editor *e, struct bpk_err *err)
{
	e->output = (struct bpk_chunkdir_output){ .tree = e->tree,
						  .set = &e->set,
						  .checksum = checksum_of(e) };
	e->old = bpk_calloc(e->set.ncolumns, sizeof *e->old, err);
	return e->old == NULL ? -1 : 0;
}

static void end(struct bpk_chunkdir_editor *e)
{
	for (size_t i = 0; e->old != NULL && i < e->set.ncolumns; i++)
		bpk_chunkdir_old_close(&e->old[i]);
	free(e->old);
	e->old = NULL;
	bpk_chunkdir_output_close(&e->output);
	bpk_buf_clear(&e->attributes.text);
	bpk_seal_growth_clear(&e->seal);
}

static void editor_close(void *editor)
{
	struct bpk_chunkdir_editor *e = editor;

	end(e);
	close_reader(e);
	bpk_tree_close(e->tree);
	bpk_tree_close(e->table);
	free(e);
}

static int claims(const struct bpk_place *place, bool *claimed, struct bpk_err *err)
{
	bool is_table = false;

	if (bpk_path_is_url(place->path) &&
	    bpk_dir_has(place->directory, "__rootdirs__", BPK_ENTRY_FILE, &is_table, err) != 0)
		return -1;
	if (is_table)
		return bpk_chunkdir_fail_in_store(err);
	return bpk_format_holds(place, bpk_chunkdir_probe, claimed, err);
}

static int editor_open(const char *path, const struct bpk_editor_options *options, void **editor,
		       struct bpk_err *err)
{
	struct bpk_chunkdir_editor *e = bpk_calloc(1, sizeof *e, err);
	struct bpk_edit_options with = options->edit;
	bool is_url = bpk_path_is_url(path);

	*editor = NULL;
	if (e == NULL)
		return -1;
	e->path = path;
	with.claims = claims;
	with.owns = bpk_chunkdir_owns;
	with.pivot = PIVOT;
	with.shares_names = true;
	if ((!is_url && bpk_chunkdir_lock_table(e, &with, err) != 0) ||
	    bpk_tree_open(path, &with, &e->tree, err) != 0 || load(e, err) != 0 ||
	    (is_url && e->set.layout == BPK_CHUNKDIR_BCOLZ &&
	     bpk_chunkdir_refuse_column(e, err) != 0) ||
	    begin(e, err) != 0) {
		editor_close(e);
		return -1;
	}
	*editor = e;
	return 0;
}

static const struct bpk_info *editor_info(const void *editor)
{
	return &((const struct bpk_chunkdir_editor *)editor)->info;
}

static void *editor_reader(void *editor)
{
	return ((struct bpk_chunkdir_editor *)editor)->reader;
}

/* ---- The seal ---- */

static int recall(void *arg, struct bpk_buf *all, struct bpk_err *err)
{
	struct bpk_chunkdir_editor *e = arg;

	return bpk_chunkdir_seal_walk(e->reader, all, err);
}

static int find_leaf(void *arg, uint64_t number, uint8_t leaf[BPK_MERKLE_SIZE], struct bpk_err *err)
{
	return bpk_chunkdir_seal_find(((struct bpk_chunkdir_editor *)arg)->reader, number, leaf,
				      err);
}

/* Before a change: continue the seal, which must be right. */
static int begin_seal(struct bpk_chunkdir_editor *e, struct bpk_err *err)
{
	const struct bpk_seal *seal = &e->set.seal;
	uint64_t next;

	if (e->seal.generation > 0 || (!seal->marked && !seal->recorded))
		return 0;
	if (bpk_tree_is_remote(e->tree))
		return bpk_fail(err, BPK_UNSUPPORTED,
				"has a seal, which is not renewed in a store; bpk convert FILE "
				"NEW makes a local copy");
	if (bpk_chunkdir_seal_check(e->reader, err) != 0 || bpk_seal_next(seal, &next, err) != 0)
		return -1;
	e->seal = (struct bpk_seal_growth){
		.generation = next,
		.old = seal,
		.base = *seal->tree,
		.recall = recall,
		.find = find_leaf,
		.arg = e,
	};
	return 0;
}

static int note_leaf(struct bpk_chunkdir_editor *e, const struct bpk_parcel *parcel,
		     struct bpk_err *err)
{
	uint8_t leaf[BPK_MERKLE_SIZE];

	if (e->seal.generation == 0)
		return 0;
	if (bpk_chunkdir_seal_leaf(&e->set, e->output.checksum, parcel, true, leaf, err) != 0)
		return -1;
	return bpk_seal_growth_set(&e->seal, parcel->number, leaf, err);
}

/* ---- Chunks ---- */

static int check_changeable(const struct bpk_chunkdir_editor *e, struct bpk_err *err)
{
	if (e->set.layout == BPK_CHUNKDIR_BLZ)
		return bpk_fail(err, BPK_UNSUPPORTED, "the layout BLZ can only be read");
	if (e->set.mixed_chunks)
		return bpk_fail(err, BPK_UNSUPPORTED,
				"columns whose chunks differ in rows cannot be changed in place; "
				"a copy made by convert can");
	if (bpk_dtype_is_opaque(&e->set.array.dtype))
		return bpk_fail(err, BPK_UNSUPPORTED, "Python objects can only be read");
	if (e->set.row_size == 0)
		return bpk_fail(err, BPK_UNSUPPORTED, "rows without bytes cannot be changed");
	return 0;
}

static int editor_cut(void *editor, uint64_t nchunks, struct bpk_err *err)
{
	struct bpk_chunkdir_editor *e = editor;

	if (check_changeable(e, err) != 0 || begin_seal(e, err) != 0)
		return -1;
	if (e->grows_with_table)
		return bpk_fail(err, BPK_FAILED,
				"is a column of a table of bcolz, whose columns have the same "
				"rows; change the table");
	if (e->changed || nchunks > e->set.nchunks)
		return bpk_fail(err, BPK_BUG, "cut to %" PRIu64 " of %" PRIu64 " chunks%s", nchunks,
				e->set.nchunks, e->changed ? " after another change" : "");
	e->cut.made = e->changed = true;
	e->cut.kept = e->next = nchunks;
	e->cut.expected = BPK_UNKNOWN;
	e->last_raw = nchunks == e->set.nchunks && nchunks > 0 ? e->info.chunks.last_size
							       : bpk_chunkdir_full(e);
	return bpk_seal_growth_cut(&e->seal, nchunks, err);
}

/* With the number of chunks known, a new superchunk gets its final size and is not moved later. */
static void editor_announce(void *editor, uint64_t nchunks)
{
	struct bpk_chunkdir_editor *e = editor;

	if (!bpk_add_u64(e->cut.kept, nchunks, &e->cut.expected))
		e->cut.expected = BPK_UNKNOWN;
}

static int check_turn(const struct bpk_chunkdir_editor *e, const struct bpk_parcel *parcel,
		      struct bpk_err *err)
{
	uint64_t full = bpk_chunkdir_full(e), expected = full;
	bool good;

	if (e->cut.made) {
		good = parcel->number == e->next && parcel->number < e->cut.expected &&
		       e->last_raw == full && parcel->raw_size <= full;
	} else {
		if (parcel->number + 1 == e->set.nchunks)
			expected = e->info.chunks.last_size;
		good = parcel->number >= e->next && parcel->number < e->set.nchunks &&
		       parcel->raw_size == expected;
	}
	return good ? 0
		    : bpk_fail(err, BPK_BUG,
			       "chunk %" PRIu64 " of %zu bytes is put, expected number %" PRIu64
			       " and %" PRIu64 " bytes",
			       parcel->number, parcel->raw_size, e->next, expected);
}

static int editor_put(void *editor, const struct bpk_parcel *parcel, struct bpk_err *err)
{
	struct bpk_chunkdir_editor *e = editor;
	uint64_t nchunks = e->cut.made ? e->cut.expected : e->set.nchunks;

	if (parcel->raw_size == 0)
		return 0;
	if (check_changeable(e, err) != 0 || begin_seal(e, err) != 0 ||
	    check_turn(e, parcel, err) != 0 || bpk_chunkdir_need_output(e, err) != 0 ||
	    note_leaf(e, parcel, err) != 0)
		return -1;
	e->changed = true;
	for (size_t i = 0; i < e->set.ncolumns; i++)
		if (bpk_chunkdir_reach(e, i, parcel->number, nchunks, err) != 0)
			return -1;
	if (bpk_chunkdir_put(&e->output, nchunks, parcel, err) != 0)
		return -1;
	for (size_t i = 0; i < e->set.ncolumns; i++)
		if (e->output.tracks[i].file.draft == NULL)
			bpk_chunkdir_old_close(&e->old[i]);
	e->next = parcel->number + 1;
	e->last_raw = parcel->raw_size;
	e->added += parcel->raw_size;
	return 0;
}

static bool editor_packs(const void *editor)
{
	return bpk_chunkdir_packs(&((const struct bpk_chunkdir_editor *)editor)->set);
}

static int editor_pack(const void *editor, struct bpk_chunk_ctx *ctx,
		       const struct bpk_recipe *recipe, struct bpk_parcel *parcel,
		       struct bpk_err *err)
{
	const struct bpk_chunkdir_editor *e = editor;

	return bpk_chunkdir_pack(&e->set, e->output.checksum, ctx, recipe, parcel, err);
}

static int editor_unpack(const void *editor, struct bpk_chunk_ctx *ctx,
			 const struct bpk_parcel *parcel, struct bpk_span out, struct bpk_err *err)
{
	return bpk_chunkdir_prove(&((const struct bpk_chunkdir_editor *)editor)->set, ctx, parcel,
				  out, err);
}

static int editor_seal(const void *editor, struct bpk_parcel *parcel, struct bpk_err *err)
{
	const struct bpk_chunkdir_editor *e = editor;

	return bpk_chunkdir_seal(&e->set, e->output.checksum, parcel, err);
}

/* ---- Metadata ---- */

static int editor_set_metadata(void *editor, struct bpk_view text, struct bpk_err *err)
{
	struct bpk_chunkdir_editor *e = editor;
	struct bpk_chunkdir_attributes described = { 0 };
	int rc = -1;

	bpk_buf_clear(&e->attributes.text);
	if (begin_seal(e, err) != 0)
		return -1;
	if (e->set.attributes.damage.kind != BPK_OK)
		return bpk_fail_as(err, &e->set.attributes.damage);
	if (bpk_chunkdir_attributes_read(&e->set.array, bpk_chunkdir_keeps_bytes(&e->set),
					 bpk_buf_view(&e->set.attributes.text), &described,
					 err) == 0 &&
	    bpk_chunkdir_attributes_make(described.has_array ? &described.array : NULL,
					 described.has_numpy, text, &e->attributes.text, err) == 0)
		rc = bpk_buf_printf(&e->attributes.text, err, "\n");
	e->attributes.changed = rc == 0;
	bpk_chunkdir_attributes_clear(&described);
	return rc;
}

/* ---- Committing ---- */

/*
 * True if the rename of sizes alone is the commit: files renamed before it must hold all rows of
 * the old sizes, and files renamed or removed after it all rows of the new one.
 */
static bool is_pivotal(const struct bpk_chunkdir_editor *e)
{
	bool was_open = e->info.chunks.last_size < bpk_chunkdir_full(e);
	/* a digest of the last chunk is of one state alone, and so is a seal; in a store files get
	 * their names one by one */
	bool may_repack = !e->set.sizes.digests.given || bpk_tree_is_remote(e->tree);

	if (!e->changed || !e->cut.made || e->attributes.changed || e->set.is_table ||
	    e->seal.generation > 0)
		return false;
	if (bpk_chunkdir_new_raw_size(e) < e->info.raw_size)
		return e->next <= e->cut.kept + may_repack;
	return e->cut.kept == e->cut.old_nchunks ||
	       (e->cut.kept + 1 == e->cut.old_nchunks && was_open && may_repack);
}

/* True if the old rows stay the same in the new state. A short last chunk may have been
 * recompressed with more rows; attributes are read at open. */
static bool only_adds(const struct bpk_chunkdir_editor *e)
{
	if (!e->changed)
		return true;
	return e->cut.made && e->cut.kept + 1 >= e->cut.old_nchunks &&
	       bpk_chunkdir_new_raw_size(e) >= e->info.raw_size;
}

static int editor_commit(void *editor, struct bpk_err *err)
{
	struct bpk_chunkdir_editor *e = editor;

	if (e->cut.made && e->added == 0 && e->cut.kept == e->cut.old_nchunks)
		e->cut.made = e->changed = false; /* every chunk was kept */
	if (!e->changed && !e->attributes.changed && !e->reseal.needed)
		return 0;
	if ((e->reseal.needed && bpk_chunkdir_reseal_stage(e, err) != 0) ||
	    (e->changed && bpk_chunkdir_stage_data(e, err) != 0) ||
	    (e->attributes.changed && bpk_chunkdir_stage_attributes(e, err) != 0) ||
	    (e->reseal.needed && bpk_chunkdir_stage_sizes(e, err) != 0))
		return -1;
	if (only_adds(e))
		bpk_tree_only_adds(e->tree);
	if (bpk_tree_commit(e->tree, is_pivotal(e) ? PIVOT : NULL, err) != 0)
		return -1;
	end(e);
	close_reader(e);
	return load(e, err) == 0 && begin(e, err) == 0 ? 0 : bpk_edit_fail_reread(err);
}

static const struct bpk_writer_ops appender = {
	.packs = editor_packs,
	.pack = editor_pack,
	.unpack = editor_unpack,
	.seal = editor_seal,
	.put = editor_put,
};

const struct bpk_editor_ops bpk_chunkdir_editor_ops = {
	.open = editor_open,
	.info = editor_info,
	.reader = editor_reader,
	.reads = &bpk_chunkdir_reader_ops,
	.cut = editor_cut,
	.announce = editor_announce,
	.appender = &appender,
	.set_metadata = editor_set_metadata,
	.reseal = bpk_chunkdir_reseal,
	.commit = editor_commit,
	.close = editor_close,
};
