/*
 * The reader of chunked directories, whose row is in formats.c: finds chunks by their numbers, in
 * files that are opened on demand ("Reading algorithm").
 */
#include "format/chunkdir/seal.h"

#include "format/bloscpack/bloscpack.h"

#include <inttypes.h>
#include <stdlib.h>

enum {
	/* most chunks to walk over, at each fetch, in a file without usable offsets */
	LONGEST_WALK = 4096,
	/* most attempts to read meta files that keep changing */
	MOST_LOADS = 100,
};

static const struct bpk_reader_ops *const blp = &bpk_bloscpack_reader_ops;

/* ---- One chunk of a column ---- */

int bpk_chunkdir_check_size(const struct bpk_chunkdir *set,
			    const struct bpk_chunkdir_column *column, uint64_t number,
			    const struct bpk_parcel *parcel, struct bpk_err *err)
{
	uint64_t need = bpk_chunkdir_chunk_size(set, column, number);
	uint64_t most = column->chunk_rows * set->row_items * column->item_size;
	bool last = number == column->nchunks - 1;

	if (parcel->raw_size == need ||
	    (last && parcel->raw_size > need && parcel->raw_size <= most))
		return 0;
	bpk_fail(err, BPK_CORRUPT, "it unpacks to %zu bytes, sizes and storage say %s%" PRIu64,
		 parcel->raw_size, last ? "at least " : "", need);
	return bpk_chunkdir_subject(set, column, number, parcel->packed_offset, err);
}

static int bring_from(const struct bpk_chunkdir_file *file, uint64_t position,
		      struct bpk_parcel *parcel, struct bpk_err *err)
{
	int rc;

	if (!file->positional && position > LONGEST_WALK)
		return bpk_fail(err, BPK_UNSUPPORTED,
				"chunk %" PRIu64 " cannot be found without usable offsets",
				position);
	parcel->number = position;
	rc = blp->fetch(file->reader, parcel, err);
	if (rc > 0)
		return bpk_fail(err, BPK_CORRUPT,
				"ends before chunk %" PRIu64 ", which sizes and storage ask for",
				position);
	return rc;
}

int bpk_chunkdir_bring(const struct bpk_chunkdir_reader *r, size_t column_number, uint64_t number,
		       struct bpk_parcel *parcel, const struct bpk_checksum **checksum,
		       struct bpk_err *err)
{
	const struct bpk_chunkdir_column *column = &r->set.columns[column_number];
	uint64_t dataset_number = parcel->number;
	struct bpk_chunkdir_file *file;
	int rc;

	if (bpk_chunkdir_file_open(r->files, column_number, bpk_chunkdir_superchunk(column, number),
				   &file, err) != 0)
		return -1;
	rc = bring_from(file, bpk_chunkdir_position(column, number), parcel, err);
	parcel->number = dataset_number;
	if (rc != 0)
		bpk_err_subject(err, "%s", file->name);
	*checksum = file->info->chunks.checksum;
	bpk_chunkdir_file_close(r->files, file);
	return rc == 0 ? bpk_chunkdir_check_size(&r->set, column, number, parcel, err) : -1;
}

/* ---- Parcels of an array ---- */

/* The digest is followed by its number, since files may use different checksums. */
static int fetch_chunk(const struct bpk_chunkdir_reader *r, struct bpk_parcel *parcel,
		       struct bpk_err *err)
{
	const struct bpk_checksum *checksum;
	uint8_t id;

	if (bpk_chunkdir_bring(r, 0, parcel->number, parcel, &checksum, err) != 0)
		return -1;
	id = (uint8_t)bpk_checksum_number(checksum);
	if (bpk_buf_append(&parcel->packed, bpk_view(&id, 1), err) != 0)
		return -1;
	parcel->data_size = bpk_min_size(
		parcel->raw_size,
		(size_t)bpk_chunkdir_chunk_size(&r->set, r->set.columns, parcel->number));
	return 0;
}

static int check_chunk(const struct bpk_chunkdir_reader *r, const struct bpk_parcel *parcel,
		       struct bpk_err *err)
{
	const struct bpk_buf *packed = &parcel->packed;

	if (bpk_checksum_check(bpk_chunkdir_checksum_of(parcel),
			       bpk_view(packed->data, parcel->packed_size),
			       packed->data + parcel->packed_size, err) == 0)
		return 0;
	return bpk_chunkdir_subject(&r->set, r->set.columns, parcel->number, parcel->packed_offset,
				    err);
}

/* ---- Parcels of records ---- */

/* The rows first to end - 1 of a parcel. */
struct rows {
	uint64_t first, end;
};

static struct rows rows_of(const struct bpk_chunkdir *set, uint64_t number)
{
	uint64_t first = number * set->chunk_rows;

	return (struct rows){ first, first + bpk_min_u64(set->chunk_rows, set->rows - first) };
}

/* The first and the last chunk of a column that hold some of these rows. */
static uint64_t first_chunk(const struct bpk_chunkdir_column *column, struct rows rows)
{
	return rows.first / column->chunk_rows;
}

static uint64_t last_chunk(const struct bpk_chunkdir_column *column, struct rows rows)
{
	return (rows.end - 1) / column->chunk_rows;
}

static size_t count_pieces(const struct bpk_chunkdir *set, struct rows rows)
{
	uint64_t count = 0;

	for (size_t i = 0; i < set->ncolumns; i++)
		count += last_chunk(&set->columns[i], rows) - first_chunk(&set->columns[i], rows) +
			 1;
	return (size_t)count;
}

/* Describe the items of the parcel that a chunk of a column holds. */
static struct bpk_chunkdir_piece describe_piece(const struct bpk_chunkdir *set, uint32_t column,
						uint64_t chunk, struct rows rows)
{
	const struct bpk_chunkdir_column *c = &set->columns[column];
	uint64_t start = chunk * c->chunk_rows;
	uint64_t from = bpk_max_u64(start, rows.first);
	uint64_t to = bpk_min_u64(start + bpk_min_u64(c->chunk_rows, set->rows - start), rows.end);

	return (struct bpk_chunkdir_piece){
		.column = column,
		.number = chunk,
		.skip = (size_t)((from - start) * set->row_items * c->item_size),
		.item = (size_t)((from - rows.first) * set->row_items),
		.nitems = (size_t)((to - from) * set->row_items),
	};
}

/* Append one chunk to packed; the parcel's other buffer serves as scratch. */
static int add_piece(const struct bpk_chunkdir_reader *r, struct bpk_chunkdir_piece piece,
		     size_t index, struct bpk_parcel *parcel, struct bpk_err *err)
{
	struct bpk_parcel chunk = { .want_size = SIZE_MAX, .packed = parcel->raw };
	int rc = bpk_chunkdir_bring(r, piece.column, piece.number, &chunk, &piece.checksum, err);

	parcel->raw = chunk.packed;
	parcel->raw.size = 0;
	if (rc != 0)
		return -1;
	piece.offset = parcel->packed.size;
	piece.size = chunk.packed_size;
	piece.raw_size = chunk.raw_size;
	piece.file_offset = chunk.packed_offset;
	if (bpk_buf_append(&parcel->packed, bpk_view(chunk.packed.data, chunk.packed.size), err) !=
	    0)
		return -1;
	bpk_chunkdir_pieces(&parcel->packed)->piece[index] = piece;
	return 0;
}

static int fetch_records(const struct bpk_chunkdir_reader *r, struct bpk_parcel *parcel,
			 struct bpk_err *err)
{
	struct rows rows = rows_of(&r->set, parcel->number);
	size_t index = 0;

	if (bpk_chunkdir_pieces_begin(&parcel->packed, count_pieces(&r->set, rows), err) != 0)
		return -1;
	for (size_t i = 0; i < r->set.ncolumns; i++) {
		const struct bpk_chunkdir_column *column = &r->set.columns[i];

		for (uint64_t n = first_chunk(column, rows); n <= last_chunk(column, rows); n++)
			if (add_piece(r, describe_piece(&r->set, (uint32_t)i, n, rows), index++,
				      parcel, err) != 0)
				return -1;
	}
	parcel->packed_offset = BPK_UNKNOWN;
	parcel->packed_size = parcel->packed.size;
	parcel->raw_size = (size_t)((rows.end - rows.first) * r->set.row_size);
	return 0;
}

static int check_records(const struct bpk_chunkdir_reader *r, const struct bpk_parcel *parcel,
			 struct bpk_err *err)
{
	const struct bpk_chunkdir_pieces *pieces = bpk_chunkdir_pieces(&parcel->packed);

	for (size_t i = 0; i < pieces->npieces; i++) {
		const struct bpk_chunkdir_piece *piece = &pieces->piece[i];
		const uint8_t *chunk = parcel->packed.data + piece->offset;

		if (bpk_checksum_check(piece->checksum, bpk_view(chunk, piece->size),
				       chunk + piece->size, err) != 0)
			return bpk_chunkdir_subject(&r->set, &r->set.columns[piece->column],
						    piece->number, piece->file_offset, err);
	}
	return 0;
}

/* ---- The operations ---- */

/* Files opened before rows were added may lack the wanted chunk; files opened by name now have all
 * old rows. True if the step that failed with *err can be repeated. */
static bool begin_again(struct bpk_chunkdir_reader *r, struct bpk_err *err)
{
	if (!bpk_chunkdir_concurrent_judge(r, err))
		return false;
	bpk_chunkdir_files_drop(r->files);
	*err = (struct bpk_err){ 0 };
	return true;
}

static int fetch(const struct bpk_chunkdir_reader *r, struct bpk_parcel *parcel,
		 struct bpk_err *err)
{
	return (r->set.has_columns ? fetch_records : fetch_chunk)(r, parcel, err);
}

static int reader_fetch(void *reader, struct bpk_parcel *parcel, struct bpk_err *err)
{
	struct bpk_chunkdir_reader *r = reader;
	struct bpk_err found = { 0 };
	int rc;

	if (bpk_dtype_is_opaque(&r->set.array.dtype))
		return bpk_fail(err, BPK_UNSUPPORTED,
				"its elements are Python objects (dtype object), which bpk does "
				"not unpack");
	if (parcel->number >= r->set.nchunks)
		return 1;
	rc = fetch(r, parcel, &found);
	if (rc != 0 && begin_again(r, &found)) {
		rc = fetch(r, parcel, &found);
		if (rc != 0)
			bpk_chunkdir_concurrent_judge(r, &found);
	}
	if (rc != 0) {
		if (err != NULL)
			*err = found;
		return -1;
	}
	parcel->raw_offset = parcel->number * r->set.chunk_rows * r->set.row_size;
	return bpk_chunkdir_seal_test(r, parcel, err);
}

static int reader_check(const void *reader, const struct bpk_parcel *parcel, struct bpk_err *err)
{
	const struct bpk_chunkdir_reader *r = reader;

	if ((r->set.has_columns ? check_records : check_chunk)(r, parcel, err) != 0)
		return -1;
	return bpk_chunkdir_seal_bring(r, parcel, err);
}

static bool reader_unpacks(const void *reader)
{
	return ((const struct bpk_chunkdir_reader *)reader)->set.has_columns;
}

static int reader_unpack(const void *reader, struct bpk_chunk_ctx *ctx,
			 const struct bpk_parcel *parcel, struct bpk_span out, struct bpk_err *err)
{
	const struct bpk_chunkdir_reader *r = reader;

	return bpk_chunkdir_unpack(&r->set, ctx, parcel, out, err);
}

static int reader_subject(const void *reader, const struct bpk_parcel *parcel, struct bpk_err *err)
{
	const struct bpk_chunkdir_reader *r = reader;

	return bpk_chunkdir_subject(&r->set, r->set.columns, parcel->number, parcel->packed_offset,
				    err);
}

static int locate_in_column(struct bpk_chunkdir_reader *r, size_t column_number, uint64_t number,
			    struct bpk_where *where, struct bpk_err *err)
{
	const struct bpk_chunkdir_column *column = &r->set.columns[column_number];
	struct bpk_chunkdir_file *file;
	int rc;

	if (bpk_chunkdir_file_open(r->files, column_number, bpk_chunkdir_superchunk(column, number),
				   &file, err) != 0)
		return -1;
	rc = blp->locate(file->reader, bpk_chunkdir_position(column, number), where, err);
	if (rc > 0)
		rc = bpk_fail(err, BPK_CORRUPT, "ends before chunk %" PRIu64,
			      bpk_chunkdir_position(column, number));
	if (rc != 0)
		bpk_err_subject(err, "%s", file->name);
	else if (strlen(file->name) < sizeof where->file)
		memcpy(where->file, file->name, strlen(file->name) + 1);
	bpk_chunkdir_file_close(r->files, file);
	return rc;
}

/* For records: the position of the first piece, and the sizes of all pieces together. */
static int locate(struct bpk_chunkdir_reader *r, uint64_t number, struct bpk_where *where,
		  struct bpk_err *err)
{
	struct rows rows = rows_of(&r->set, number);
	uint64_t packed_size = 0;
	struct bpk_where piece;

	for (size_t i = r->set.ncolumns; i-- > 0;)
		for (uint64_t n = last_chunk(&r->set.columns[i], rows) + 1;
		     n-- > first_chunk(&r->set.columns[i], rows);) {
			if (locate_in_column(r, i, n, &piece, err) != 0)
				return -1;
			packed_size += piece.header.packed_size;
		}
	*where = piece;
	where->raw_offset = number * r->set.chunk_rows * r->set.row_size;
	if (!r->set.has_columns)
		return 0;
	where->file[0] = '\0';
	where->header.packed_size = (uint32_t)bpk_min_u64(packed_size, UINT32_MAX);
	where->header.raw_size = (uint32_t)((rows.end - rows.first) * r->set.row_size);
	return 0;
}

static int reader_locate(void *reader, uint64_t number, struct bpk_where *where,
			 struct bpk_err *err)
{
	struct bpk_chunkdir_reader *r = reader;
	struct bpk_err found = { 0 };
	int rc;

	if (number >= r->set.nchunks)
		return 1;
	rc = locate(r, number, where, &found);
	if (rc != 0 && begin_again(r, &found)) {
		rc = locate(r, number, where, &found);
		if (rc != 0)
			bpk_chunkdir_concurrent_judge(r, &found);
	}
	if (rc != 0 && err != NULL)
		*err = found;
	return rc;
}

static const struct bpk_info *reader_info(const void *reader)
{
	return &((const struct bpk_chunkdir_reader *)reader)->info;
}

static bool reader_positional(const void *reader)
{
	(void)reader;
	return true;
}

/* ---- Opening ---- */

/*
 * Load the meta files. sizes may be of another state than the files read after it, so apparent
 * damage counts only if it is found again with the same sizes.
 */
static int load(struct bpk_chunkdir_reader *r, struct bpk_err *err)
{
	uint64_t seen = 0;

	for (int i = 0; i < MOST_LOADS; i++) {
		struct bpk_err found = { 0 };
		int rc = bpk_chunkdir_load(r->dir, r->options.no_check, &r->set, &found);
		bool damaged = (rc != 0 ? &found : &r->set.attributes.damage)->kind == BPK_CORRUPT;

		if (!damaged || (i > 0 && seen == r->set.sizes_seen)) {
			if (rc != 0 && err != NULL)
				*err = found;
			return rc;
		}
		seen = r->set.sizes_seen;
		bpk_chunkdir_clear(&r->set);
	}
	return bpk_fail_changed(err);
}

/* The source stays open, to tell later who has changed the file. */
static int open_sizes(struct bpk_chunkdir_reader *r, struct bpk_err *err)
{
	const char *home = r->set.is_table ? r->set.columns[0].home : "";
	struct bpk_buf name = { 0 };
	int rc;

	if (r->moment.fixed)
		return 0;
	rc = bpk_chunkdir_path(home, "meta/sizes", &name, err);
	if (rc == 0)
		r->sizes_name = bpk_strdup((const char *)name.data, err);
	bpk_buf_clear(&name);
	return r->sizes_name == NULL ? -1 : bpk_dir_source(r->dir, r->sizes_name, &r->sizes, err);
}

static void reader_close(void *reader)
{
	struct bpk_chunkdir_reader *r = reader;

	if (r == NULL)
		return;
	bpk_seal_leaves_free(r->leaves);
	bpk_seal_proof_free(r->proof);
	bpk_chunkdir_files_free(r->files);
	bpk_source_close(r->sizes);
	free(r->sizes_name);
	bpk_chunkdir_attributes_clear(&r->described);
	bpk_chunkdir_clear(&r->set);
	free(r);
}

static int reader_open(struct bpk_place *place, const struct bpk_read_options *options,
		       void **reader, struct bpk_err *err)
{
	struct bpk_chunkdir_reader *r;

	*reader = NULL;
	if (place->directory == NULL)
		return bpk_fail(err, BPK_CORRUPT, "a file, expected a directory");
	r = bpk_calloc(1, sizeof *r, err);
	if (r == NULL)
		return -1;
	r->dir = place->directory;
	r->options = *options;
	if (bpk_dir_generation(r->dir, &r->generation, err) != 0)
		goto failed;
	bpk_dir_begin(r->dir, &r->moment);
	if (load(r, err) != 0 || open_sizes(r, err) != 0 ||
	    bpk_dir_begun(r->dir, &r->moment, err) != 0)
		goto failed;
	r->files = bpk_chunkdir_files_new(r->dir, &r->set, &r->moment, &r->options, err);
	if (r->files == NULL || bpk_chunkdir_fill_info(r, err) != 0)
		goto failed;
	if (options->audits && r->set.seal.tree != NULL &&
	    bpk_seal_leaves_new(NULL, NULL, &r->leaves, err) != 0)
		goto failed;
	*reader = r;
	return 0;
failed:
	reader_close(r);
	return -1;
}

static int reader_unchanged(void *reader, bool failed, struct bpk_err *err)
{
	const struct bpk_chunkdir_reader *r = reader;

	return bpk_dir_settle(r->dir, r->generation, failed, err) != 0
		       ? -1
		       : bpk_chunkdir_files_settle(r->files, r->sizes, r->sizes_name, err);
}

const struct bpk_reader_ops bpk_chunkdir_reader_ops = {
	.open = reader_open,
	.info = reader_info,
	.positional = reader_positional,
	.fetch = reader_fetch,
	.check = reader_check,
	.unpacks = reader_unpacks,
	.unpack = reader_unpack,
	.subject = reader_subject,
	.locate = reader_locate,
	.audit = bpk_chunkdir_audit,
	.prove = bpk_chunkdir_seal_prove,
	.refutes = bpk_chunkdir_seal_refutes,
	.unchanged = reader_unchanged,
	.close = reader_close,
};
