/*
 * The writer of chunked directories, whose row is in formats.c: data files as the chunks come; then
 * storage, the attributes, and sizes. Source: chunked directory layouts, "Differences and
 * recommendations".
 */
#include <inttypes.h>
#include <stdlib.h>

#include "format/chunkdir/output.h"
#include "format/chunkdir/seal.h"

enum { DEFAULT_LEVEL = 5 }; /* bcolz's default, recorded if the level of chunks is unknown */

/* Fixed after open, except for the state that put changes. */
struct writer {
	struct bpk_tree *tree;
	struct bpk_chunkdir set;
	struct bpk_buf attributes;
	struct bpk_chunkdir_cparams cparams;
	bool packs; /* options contained the recipe for chunks */
	const struct bpk_checksum *checksum;
	uint64_t announced; /* raw bytes; may be unknown */
	uint64_t raw_size;  /* put so far */
	uint64_t last_raw;  /* of the last chunk */
	struct bpk_chunkdir_output output;
	uint8_t storage_digest[BPK_DIGEST_MAX]; /* SHA-256, for a seal */
	struct bpk_seal_growth seal;
};

/* ---- Opening ---- */

/* The cparams of chunks that are copied. */
static struct bpk_chunkdir_cparams cparams_of(const struct bpk_chunk_header *header)
{
	return (struct bpk_chunkdir_cparams){
		.codec = bpk_codec_format_name(header->codec_format),
		.level = header->memcpyed ? 0 : DEFAULT_LEVEL,
		.filter = bpk_chunkdir_filter(&header->pipeline),
	};
}

static void choose_cparams(struct writer *w, const struct bpk_info *info,
			   const struct bpk_recipe *recipe)
{
	w->cparams = (struct bpk_chunkdir_cparams){ "blosclz", DEFAULT_LEVEL, BPK_FILTER_SHUFFLE };
	w->packs = recipe != NULL;
	if (recipe != NULL)
		w->cparams =
			(struct bpk_chunkdir_cparams){ bpk_codec_name(recipe->codec), recipe->level,
						       bpk_chunkdir_filter(&recipe->pipeline) };
	else if (info->chunks.has_first)
		w->cparams = cparams_of(&info->chunks.first);
}

static int make_meta_folders(struct writer *w, struct bpk_err *err)
{
	struct bpk_buf name = { 0 };
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < (w->set.is_table ? w->set.ncolumns : 1); i++) {
		name.size = 0;
		rc = bpk_buf_printf(&name, err, "%smeta%c", w->set.columns[i].home, '\0');
		if (rc == 0)
			rc = bpk_tree_folder(w->tree, (const char *)name.data, err);
	}
	bpk_buf_clear(&name);
	return rc;
}

static int open_parts(struct writer *w, const struct bpk_info *info,
		      const struct bpk_write_options *options, struct bpk_err *err)
{
	if (bpk_chunkdir_plan(info, options, &w->set, &w->attributes, err) != 0)
		return -1;
	if (info->seal.sealed && w->set.layout != BPK_CHUNKDIR_BLAZE)
		return bpk_fail(err, BPK_USAGE, "a seal needs the layout blaze");
	if (info->seal.sealed)
		w->seal.generation = bpk_max_u64(info->seal.generation, 1);
	w->checksum = w->set.layout == BPK_CHUNKDIR_BCOLZ ? bpk_checksum_find("none")
							  : info->chunks.checksum;
	w->output = (struct bpk_chunkdir_output){ .tree = w->tree,
						  .set = &w->set,
						  .checksum = w->checksum };
	if (w->tree == NULL) /* a shadow seals chunks for another process */
		return 0;
	return make_meta_folders(w, err) != 0 ? -1 : bpk_chunkdir_output_open(&w->output, err);
}

static void writer_close(void *writer)
{
	struct writer *w = writer;

	bpk_chunkdir_output_close(&w->output);
	bpk_chunkdir_clear(&w->set);
	bpk_buf_clear(&w->attributes);
	bpk_seal_growth_clear(&w->seal);
	free(w);
}

static int writer_open(struct bpk_draft *draft, const struct bpk_info *info,
		       const struct bpk_write_options *options, void **writer, struct bpk_err *err)
{
	struct writer *w = bpk_calloc(1, sizeof *w, err);

	*writer = NULL;
	if (w == NULL)
		return -1;
	w->tree = bpk_draft_tree(draft);
	if (w->tree == NULL && !bpk_draft_is_shadow(draft)) {
		bpk_fail(err, BPK_USAGE,
			 "a chunked directory cannot be written to a file or a pipe");
		free(w);
		return -1;
	}
	w->announced = info->raw_size;
	choose_cparams(w, info, options->recipe);
	if (open_parts(w, info, options, err) != 0) {
		writer_close(w);
		return -1;
	}
	*writer = w;
	return 0;
}

/* ---- Chunks ---- */

static bool writer_packs(const void *writer)
{
	return bpk_chunkdir_packs(&((const struct writer *)writer)->set);
}

static int writer_pack(const void *writer, struct bpk_chunk_ctx *ctx,
		       const struct bpk_recipe *recipe, struct bpk_parcel *parcel,
		       struct bpk_err *err)
{
	const struct writer *w = writer;

	return bpk_chunkdir_pack(&w->set, w->checksum, ctx, recipe, parcel, err);
}

static int writer_unpack(const void *writer, struct bpk_chunk_ctx *ctx,
			 const struct bpk_parcel *parcel, struct bpk_span out, struct bpk_err *err)
{
	return bpk_chunkdir_prove(&((const struct writer *)writer)->set, ctx, parcel, out, err);
}

static int writer_seal(const void *writer, struct bpk_parcel *parcel, struct bpk_err *err)
{
	const struct writer *w = writer;

	return bpk_chunkdir_seal(&w->set, w->checksum, parcel, err);
}

/* All chunks but the last must be full. */
static int check_order(const struct writer *w, const struct bpk_parcel *parcel, struct bpk_err *err)
{
	uint64_t full = w->set.chunk_rows * w->set.row_size;

	if (parcel->raw_size <= full && (parcel->number == 0 || w->last_raw == full))
		return 0;
	return bpk_fail(err, BPK_FAILED,
			"chunk %" PRIu64 " of %zu bytes after one of %" PRIu64
			", all but the last must have %" PRIu64,
			parcel->number, parcel->raw_size, w->last_raw, full);
}

/* Take cparams from the first chunk if they were not given. */
static void look_at(struct writer *w, const struct bpk_parcel *parcel)
{
	struct bpk_view chunk = bpk_view(parcel->packed.data, parcel->packed_size);
	struct bpk_chunk_header header;

	if (w->set.has_columns)
		chunk.data += bpk_chunkdir_pieces(&parcel->packed)->piece[0].offset;
	if (bpk_chunk_header_read_plain(chunk, &header, NULL) == 0)
		w->cparams = cparams_of(&header);
}

static int note_leaf(struct writer *w, const struct bpk_parcel *parcel, struct bpk_err *err)
{
	uint8_t leaf[BPK_MERKLE_SIZE];

	if (bpk_chunkdir_seal_leaf(&w->set, w->checksum, parcel, true, leaf, err) != 0)
		return -1;
	return bpk_seal_growth_set(&w->seal, parcel->number, leaf, err);
}

static int writer_put(void *writer, const struct bpk_parcel *parcel, struct bpk_err *err)
{
	struct writer *w = writer;
	uint64_t nchunks = w->announced != BPK_UNKNOWN ? w->set.nchunks : BPK_UNKNOWN;

	/* an empty dataset has no data file, and a stream ends with an empty chunk */
	if (parcel->raw_size == 0)
		return 0;
	if (check_order(w, parcel, err) != 0)
		return -1;
	if (w->raw_size == 0 && !w->packs)
		look_at(w, parcel);
	w->last_raw = parcel->raw_size;
	w->raw_size += parcel->raw_size;
	if (w->seal.generation > 0 && note_leaf(w, parcel, err) != 0)
		return -1;
	return bpk_chunkdir_put(&w->output, nchunks, parcel, err);
}

/* Without digests the sum of sizes is over all bytes; without a size files may be shortened. */
static bool writer_takes_unseen(const void *writer, const struct bpk_parcel *parcel, bool all_there)
{
	const struct writer *w = writer;

	(void)all_there;
	return !w->set.has_columns && w->checksum->size > 0 && w->announced != BPK_UNKNOWN &&
	       parcel->raw_size > 0;
}

/* ---- Finishing ---- */

static int count_rows(struct writer *w, struct bpk_err *err)
{
	struct bpk_chunkdir *set = &w->set;

	if (w->announced != BPK_UNKNOWN && w->raw_size != w->announced)
		return bpk_fail(err, BPK_FAILED,
				"%" PRIu64 " bytes were announced, %" PRIu64 " came", w->announced,
				w->raw_size);
	if (w->announced != BPK_UNKNOWN)
		return 0;
	if (w->raw_size % set->row_size != 0)
		return bpk_fail(err, BPK_FAILED, "%" PRIu64 " bytes are not whole rows of %" PRIu64,
				w->raw_size, set->row_size);
	return bpk_chunkdir_set_rows(set, w->raw_size / set->row_size, err);
}

static int put_text(struct writer *w, const char *folder, const char *name, struct bpk_view text,
		    struct bpk_err *err)
{
	struct bpk_buf path = { 0 };
	int rc = bpk_buf_printf(&path, err, "%s%s%c", folder, name, '\0');

	if (rc == 0)
		rc = bpk_chunkdir_put_file(w->tree, (const char *)path.data, text, err);
	bpk_buf_clear(&path);
	return rc;
}

static int put_storage(struct writer *w, const struct bpk_chunkdir_column *column, uint32_t *crc,
		       struct bpk_err *err)
{
	struct bpk_buf text = { 0 };
	int rc = bpk_chunkdir_storage_print(&w->set, column, &w->cparams, &text, err);

	if (rc == 0 && w->seal.generation > 0)
		rc = bpk_chunkdir_seal_mark(&text, err);
	if (rc == 0 && w->seal.generation > 0)
		rc = bpk_checksum_compute(bpk_checksum_find("sha256"), bpk_buf_view(&text),
					  w->storage_digest, err);
	*crc = bpk_chunkdir_crc(bpk_buf_view(&text));
	if (rc == 0)
		rc = put_text(w, column->home, "meta/storage", bpk_buf_view(&text), err);
	bpk_buf_clear(&text);
	return rc;
}

static int put_seal(struct writer *w, const struct bpk_chunkdir_sizes *sizes, struct bpk_buf *text,
		    struct bpk_err *err)
{
	const struct bpk_chunkdir_sealed_facts facts = {
		.sizes = sizes,
		.storage = w->storage_digest,
		.attributes = bpk_buf_view(&w->attributes),
		.checksum = w->checksum,
		.generation = w->seal.generation,
	};
	struct bpk_seal_tree tree;

	return bpk_seal_growth_tree(&w->seal, &tree, err) != 0
		       ? -1
		       : bpk_chunkdir_seal_put(&facts, &tree, text, err);
}

static int put_sizes(struct writer *w, const struct bpk_chunkdir_column *column,
		     struct bpk_chunkdir_sizes *sizes, struct bpk_err *err)
{
	struct bpk_buf text = { 0 };
	int rc;

	bpk_chunkdir_size_up(&w->set, column, sizes);
	rc = bpk_chunkdir_sizes_print(sizes, &text, err);
	if (rc == 0 && w->seal.generation > 0)
		rc = put_seal(w, sizes, &text, err);
	if (rc == 0)
		rc = put_text(w, column->home, "meta/sizes", bpk_buf_view(&text), err);
	bpk_buf_clear(&text);
	return rc;
}

/* Write the meta files of the dataset, or of a column of a bcolz table. */
static int put_meta(struct writer *w, size_t column, bool all, struct bpk_err *err)
{
	bool blaze = w->set.layout == BPK_CHUNKDIR_BLAZE;
	struct bpk_chunkdir_sizes sizes = { .digests = { .given = true, .has_attributes = blaze } };
	const struct bpk_chunkdir_column *c = &w->set.columns[column];

	for (size_t i = all ? 0 : column; i < (all ? w->set.ncolumns : column + 1); i++) {
		sizes.cbytes += w->output.tracks[i].size;
		sizes.digests.data += w->output.tracks[i].data;
		sizes.digests.last += w->output.tracks[i].last;
	}
	if (blaze)
		sizes.digests.attributes = bpk_chunkdir_crc(bpk_buf_view(&w->attributes));
	return put_storage(w, c, &sizes.digests.storage, err) != 0 ||
			       (w->set.is_table &&
				put_text(w, c->home, "__attrs__", bpk_view("{}\n", 3), err) != 0)
		       ? -1
		       : put_sizes(w, c, &sizes, err);
}

static int put_table(struct writer *w, struct bpk_err *err)
{
	struct bpk_buf names = { 0 };
	int rc = bpk_chunkdir_rootdirs_print(&w->set, &names, err);

	for (size_t i = 0; rc == 0 && i < w->set.ncolumns; i++)
		rc = put_meta(w, i, false, err);
	if (rc == 0)
		rc = put_text(w, "", "__rootdirs__", bpk_buf_view(&names), err);
	bpk_buf_clear(&names);
	return rc;
}

/* The attributes are written last. Metadata that are wrapped in one of them have no members. */
static int writer_set_member(void *writer, const char *name, const char *value, bool *fits,
			     struct bpk_err *err)
{
	struct writer *w = writer;

	*fits = true;
	if (bpk_json_member(bpk_buf_view(&w->attributes), name).size == 0)
		return bpk_fail(err, BPK_UNSUPPORTED,
				"metadata with names of the format's own leave no place for %s",
				name);
	return bpk_json_set(&w->attributes, name, value, err);
}

static int writer_finish(void *writer, struct bpk_err *err)
{
	struct writer *w = writer;

	if (w->raw_size == 0 && !bpk_tree_keeps_folders(w->tree))
		return bpk_fail(err, BPK_UNSUPPORTED,
				"a chunked directory without data needs an empty folder, which a "
				"store does not have; write a sparse frame, or a file");
	if (count_rows(w, err) != 0 || bpk_chunkdir_output_end(&w->output, err) != 0)
		return -1;
	if (put_text(w, "", w->set.attributes.name, bpk_buf_view(&w->attributes), err) != 0)
		return -1;
	return w->set.is_table ? put_table(w, err) : put_meta(w, 0, true, err);
}

const struct bpk_writer_ops bpk_chunkdir_writer_ops = {
	.open = writer_open,
	.packs = writer_packs,
	.pack = writer_pack,
	.unpack = writer_unpack,
	.seal = writer_seal,
	.put = writer_put,
	.takes_unseen = writer_takes_unseen,
	.set_member = writer_set_member,
	.finish = writer_finish,
	.close = writer_close,
};
