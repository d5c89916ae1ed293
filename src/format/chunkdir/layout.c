/*
 * Computes the columns of a dataset, and the chunks and files that its rows need. No input or
 * output; load.c and plan.c call it.
 */
#include "format/chunkdir/meta.h"

#include <inttypes.h>
#include <stdlib.h>

enum {
	/* Longest parcel of a table whose columns differ in chunk length, in chunks of the shortest
	 * such column: bounds the pieces of a parcel. */
	LONGEST_PARCEL = 64,
};

void bpk_chunkdir_clear(struct bpk_chunkdir *set)
{
	for (size_t i = 0; i < set->ncolumns; i++) {
		free(set->columns[i].name);
		free(set->columns[i].home);
		free(set->columns[i].folder);
	}
	free(set->columns);
	bpk_array_clear(&set->array);
	bpk_buf_clear(&set->attributes.text);
	bpk_buf_clear(&set->record);
	bpk_seal_clear(&set->seal);
	*set = (struct bpk_chunkdir){ 0 };
}

/* ---- Columns ---- */

/* Join three texts; freed by free(). */
static char *join(const char *a, const char *b, const char *c, struct bpk_err *err)
{
	struct bpk_buf text = { 0 };
	char *joined = NULL;

	if (bpk_buf_printf(&text, err, "%s%s%s", a, b, c) == 0 &&
	    bpk_buf_append(&text, bpk_view("", 1), err) == 0)
		joined = bpk_strdup((const char *)text.data, err);
	bpk_buf_clear(&text);
	return joined;
}

/* Append a column to set, which takes its texts and has room for it. */
static int add_column(struct bpk_chunkdir *set, const struct bpk_chunkdir_column *column)
{
	if (column->name == NULL || column->home == NULL || column->folder == NULL)
		return -1;
	set->columns[set->ncolumns++] = *column;
	return 0;
}

static void free_column(struct bpk_chunkdir_column *column)
{
	free(column->name);
	free(column->home);
	free(column->folder);
}

static bool is_leaf(const struct bpk_chunkdir *set, const struct bpk_dtype *dtype)
{
	return dtype->nfields == 0 || dtype->ndimensions > 0 || set->is_table;
}

static size_t count_leaves(const struct bpk_chunkdir *set, const struct bpk_dtype *record)
{
	size_t count = 0;

	for (size_t i = 0; i < record->nfields; i++) {
		const struct bpk_dtype *field = &record->fields[i].dtype;

		count += is_leaf(set, field) ? 1 : count_leaves(set, field);
	}
	return count;
}

/* Add the columns of a record's fields: its dtype and offset are those of parent, and so are the
 * beginnings of their names and folders, which end in "." and "/" unless empty. */
static int add_fields(struct bpk_chunkdir *set, const struct bpk_chunkdir_column *parent,
		      unsigned depth, struct bpk_err *err);

static int add_field(struct bpk_chunkdir *set, const struct bpk_chunkdir_column *parent,
		     const struct bpk_field *field, unsigned depth, struct bpk_err *err)
{
	bool leaf = is_leaf(set, &field->dtype);
	struct bpk_chunkdir_column column = { .dtype = &field->dtype,
					      .item_offset = parent->item_offset + field->offset,
					      .item_size = field->dtype.size };
	int rc = -1;

	if (!bpk_chunkdir_is_safe_name(field->name))
		return bpk_fail(err, BPK_UNSUPPORTED,
				"column \"%s\" has a name that is not valid for a folder",
				field->name);
	column.name = join(parent->name, field->name, leaf ? "" : ".", err);
	column.home = set->is_table ? join(field->name, "/", "", err) : bpk_strdup("", err);
	column.folder = set->is_table ? join(field->name, "/data", "", err)
				      : join(parent->folder, field->name, leaf ? "" : "/", err);
	if (leaf && add_column(set, &column) == 0)
		return 0;
	if (!leaf && column.name != NULL && column.folder != NULL)
		rc = add_fields(set, &column, depth + 1, err);
	free_column(&column);
	return rc;
}

static int add_fields(struct bpk_chunkdir *set, const struct bpk_chunkdir_column *parent,
		      unsigned depth, struct bpk_err *err)
{
	if (depth > BPK_CHUNKDIR_MAX_DEPTH)
		return bpk_fail(err, BPK_LIMIT, "columns lie more than %d deep",
				BPK_CHUNKDIR_MAX_DEPTH);
	for (size_t i = 0; i < parent->dtype->nfields; i++)
		if (add_field(set, parent, &parent->dtype->fields[i], depth, err) != 0)
			return -1;
	return 0;
}

/* Add the array itself as the only column. */
static int add_whole(struct bpk_chunkdir *set, struct bpk_err *err)
{
	struct bpk_chunkdir_column column = { .name = bpk_strdup("", err),
					      .home = bpk_strdup("", err),
					      .folder = bpk_strdup("data", err),
					      .dtype = &set->array.dtype,
					      .item_size = set->array.dtype.size };

	if (add_column(set, &column) == 0)
		return 0;
	free_column(&column);
	return -1;
}

int bpk_chunkdir_add_columns(struct bpk_chunkdir *set, struct bpk_err *err)
{
	size_t room = set->has_columns ? count_leaves(set, &set->array.dtype) : 1;
	char name[] = "", folder[] = "data/";
	const struct bpk_chunkdir_column root = { .name = name,
						  .folder = folder,
						  .dtype = &set->array.dtype };

	set->columns = bpk_calloc(room, sizeof *set->columns, err);
	if (set->columns == NULL)
		return -1;
	if (set->has_columns)
		return add_fields(set, &root, 1, err);
	return add_whole(set, err);
}

/* ---- Counts ---- */

/* Compute the items and bytes of a row. */
static int count_row(struct bpk_chunkdir *set, struct bpk_err *err)
{
	set->row_items = 1;
	for (size_t i = 1; i < set->array.ndimensions; i++)
		if (!bpk_mul_u64(set->row_items, set->array.shape[i], &set->row_items))
			return bpk_fail(err, BPK_LIMIT, "a row has 2^64 items or more");
	if (!bpk_mul_u64(set->row_items, set->array.dtype.size, &set->row_size) ||
	    set->row_size > INT64_MAX)
		return bpk_fail(err, BPK_LIMIT, "a row has 2^63 bytes or more");
	return 0;
}

static int check_chunk_rows(const struct bpk_chunkdir *set,
			    const struct bpk_chunkdir_column *column, struct bpk_err *err)
{
	uint64_t size;

	if (bpk_mul_u64(set->row_items, column->item_size, &size) &&
	    bpk_mul_u64(size, column->chunk_rows, &size) && size <= BPK_CHUNKDIR_MAX_SPAN)
		return 0;
	return bpk_fail(err, BPK_LIMIT,
			"chunks of %" PRIu64 " rows of %" PRIu64 " items of %" PRIu64
			" bytes, at most %d bytes are accepted",
			column->chunk_rows, set->row_items, column->item_size,
			BPK_CHUNKDIR_MAX_SPAN);
}

/* Choose the rows of a parcel: those of the longest chunk, within the limits on pieces and
 * bytes. */
static void choose_parcel(struct bpk_chunkdir *set)
{
	uint64_t least = UINT64_MAX, most = 0, rows;

	for (size_t i = 0; i < set->ncolumns; i++) {
		least = bpk_min_u64(least, set->columns[i].chunk_rows);
		most = bpk_max_u64(most, set->columns[i].chunk_rows);
	}
	rows = most;
	if (most / LONGEST_PARCEL > least)
		rows = least * LONGEST_PARCEL;
	if (set->row_size > 0)
		rows = bpk_min_u64(rows, bpk_max_u64(BPK_CHUNKDIR_MAX_SPAN / set->row_size, 1));
	set->chunk_rows = rows;
	set->mixed_chunks = least != rows || most != rows;
}

/* Compute chunks and files for the number of rows. */
static void count_chunks(struct bpk_chunkdir *set)
{
	uint64_t rows = set->row_size == 0 ? 0 : set->rows;

	set->nchunks = bpk_div_up(rows, set->chunk_rows);
	for (size_t i = 0; i < set->ncolumns; i++) {
		struct bpk_chunkdir_column *column = &set->columns[i];

		column->nchunks = bpk_div_up(rows, column->chunk_rows);
		column->nfiles = bpk_div_up(column->nchunks, column->superchunk_chunks);
	}
}

int bpk_chunkdir_count(struct bpk_chunkdir *set, struct bpk_err *err)
{
	if (count_row(set, err) != 0)
		return -1;
	for (size_t i = 0; i < set->ncolumns; i++)
		if (check_chunk_rows(set, &set->columns[i], err) != 0)
			return -1;
	choose_parcel(set);
	if (set->row_size > BPK_CHUNKDIR_MAX_SPAN)
		return bpk_fail(err, BPK_LIMIT,
				"rows of %" PRIu64 " bytes, at most %d are accepted", set->row_size,
				BPK_CHUNKDIR_MAX_SPAN);
	set->rows = set->array.shape[0];
	count_chunks(set);
	return 0;
}

int bpk_chunkdir_set_rows(struct bpk_chunkdir *set, uint64_t rows, struct bpk_err *err)
{
	uint64_t shape[BPK_ARRAY_MAX_DIMENSIONS];

	memcpy(shape, set->array.shape, sizeof shape);
	shape[0] = rows;
	if (bpk_array_set_shape(&set->array, shape, set->array.ndimensions, err) != 0)
		return -1;
	set->rows = set->sizes.shape[0] = rows;
	set->sizes.nbytes = set->array.size;
	count_chunks(set);
	return 0;
}

uint64_t bpk_chunkdir_chunk_size(const struct bpk_chunkdir *set,
				 const struct bpk_chunkdir_column *column, uint64_t chunk)
{
	uint64_t rows;

	if (chunk >= column->nchunks)
		return 0;
	/* chunk * chunk_rows < rows, since chunk < nchunks */
	rows = bpk_min_u64(column->chunk_rows, set->rows - chunk * column->chunk_rows);
	return rows * set->row_items * column->item_size;
}

int bpk_chunkdir_lay_out(struct bpk_chunkdir *set, uint64_t superchunk_chunks, struct bpk_err *err)
{
	bool record = set->array.dtype.nfields > 0 && set->array.dtype.ndimensions == 0;

	if (bpk_dtype_is_opaque(&set->array.dtype))
		return bpk_fail(err, BPK_UNSUPPORTED, "elements are Python objects");
	if (set->array.ndimensions == 0)
		return bpk_fail(err, BPK_UNSUPPORTED, "an array without dimensions has no rows");
	set->has_columns = record;
	set->is_table = record && set->layout != BPK_CHUNKDIR_BLAZE;
	set->attributes.name = set->layout == BPK_CHUNKDIR_BLAZE ? "meta/attributes" : "__attrs__";
	if (bpk_chunkdir_add_columns(set, err) != 0)
		return -1;
	for (size_t i = 0; i < set->ncolumns; i++) {
		set->columns[i].chunk_rows = set->chunk_rows;
		set->columns[i].superchunk_chunks =
			set->layout == BPK_CHUNKDIR_BLAZE ? superchunk_chunks : 1;
	}
	if (bpk_chunkdir_count(set, err) != 0)
		return -1;
	if (set->mixed_chunks)
		return bpk_fail(err, BPK_LIMIT, "chunks of records have more than %d bytes",
				BPK_CHUNKDIR_MAX_SPAN);
	set->sizes.ndimensions = set->array.ndimensions;
	memcpy(set->sizes.shape, set->array.shape, sizeof set->sizes.shape);
	set->sizes.nbytes = set->array.size;
	return 0;
}
