/*
 * Plans a dataset to be written: its layout, the array in sizes and storage, rows of a chunk and
 * chunks of a file, from the elements and chunks in info. Called by writer.c. Source: chunked
 * directory layouts, "Differences and recommendations"; the rules stand at
 * bpk_chunkdir_attributes_make.
 */
#include <inttypes.h>

#include "format/chunkdir/output.h"

enum {
	SUPERCHUNK_SIZE = 16 << 20,   /* raw bytes of a data file, up to MOST_FILES files */
	MOST_FILES = 10000,           /* above it, data files become larger */
	DEFAULT_CHUNK_SIZE = 1 << 20, /* of a dataset without a known chunk size */
};

/* ---- How elements are stored ---- */

/* How info's array is stored; typed is false if it is stored as bytes. */
struct shape_up {
	bool typed;
	bool flat;
	bool with_shape; /* the attributes hold the true shape */
};

static uint64_t inner_items(const struct bpk_array *array)
{
	uint64_t items = 1;

	/* the product with the first dimension was tested when the array was made; if that
		 * dimension is 0, the array is empty and stored flat, so a wrapped product is
		 * harmless */
	for (size_t i = 1; i < array->ndimensions; i++)
		items *= array->shape[i];
	return items;
}

/* True if chunks hold whole items, either packed here or copied. */
static bool is_kept_typed(const struct bpk_info *info, bool packs)
{
	const struct bpk_array *array = info->array.type;

	if (array == NULL || array->dtype.size == 0 ||
	    (info->raw_size != BPK_UNKNOWN && info->raw_size != array->size))
		return false;
	if (packs)
		return true;
	return info->chunks.size % array->dtype.size == 0 &&
	       (array->dtype.nfields == 0 || info->directory.ncolumns > 0);
}

static struct shape_up shape_up(const struct bpk_info *info, uint64_t chunk_size, bool packs)
{
	struct shape_up s = { .typed = is_kept_typed(info, packs) };
	const struct bpk_array *array = info->array.type;
	uint64_t inner;

	if (!s.typed)
		return s;
	inner = inner_items(array);
	s.flat = array->ndimensions == 0 ||
		 (array->ndimensions > 1 &&
		  (array->fortran || array->size == 0 || array->dtype.nfields > 0 ||
		   chunk_size / array->dtype.size % inner != 0));
	s.with_shape = s.flat || array->fortran ||
		       (array->dtype.scalar.kind == 'u' && array->dtype.size == 1 &&
			array->ndimensions == 1);
	return s;
}

/* Set set->array, which is empty, to the array in sizes and storage. */
static int store_array(struct bpk_chunkdir *set, const struct bpk_info *info,
		       const struct shape_up *s, struct bpk_err *err)
{
	uint64_t size = info->raw_size == BPK_UNKNOWN ? 0 : info->raw_size, items;
	struct bpk_array *array = &set->array;

	if (!s->typed)
		return bpk_dtype_parse(bpk_view("|u1", 3), &array->dtype, err) != 0
			       ? -1
			       : bpk_array_set_shape(array, &size, 1, err);
	if (bpk_array_copy(info->array.type, array, err) != 0)
		return -1;
	items = array->size / array->dtype.size;
	return s->flat ? bpk_array_set_shape(array, &items, 1, err) : 0;
}

static int check_chunk_size(const struct bpk_info *info, const struct shape_up *s,
			    uint64_t chunk_size, struct bpk_err *err)
{
	uint64_t item_size = s->typed ? info->array.type->dtype.size : 1;

	if (info->chunks.size == BPK_UNKNOWN)
		return bpk_fail(
			err, BPK_UNSUPPORTED,
			"chunks of differing sizes cannot be stored in a chunked directory");
	if (chunk_size > BPK_CHUNKDIR_MAX_SPAN)
		return bpk_fail(err, BPK_LIMIT,
				"chunks of %" PRIu64 " bytes, 1 to %d are possible in a chunked "
				"directory",
				chunk_size, BPK_CHUNKDIR_MAX_SPAN);
	if (chunk_size % item_size != 0)
		return bpk_fail(err, BPK_USAGE,
				"chunks of %" PRIu64 " bytes do not hold whole items of %" PRIu64,
				chunk_size, item_size);
	return 0;
}

/* The chunk size; without one, the largest multiple of an item up to the default, at least one. */
static uint64_t choose_chunk_size(const struct bpk_info *info)
{
	uint64_t item = info->array.type != NULL ? bpk_max_u64(1, info->array.type->dtype.size) : 1;

	if (info->chunks.size > 0)
		return info->chunks.size;
	return bpk_max_u64(item, DEFAULT_CHUNK_SIZE - DEFAULT_CHUNK_SIZE % item);
}

/* ---- Size of the data files ---- */

/* Chunks of a file: as many as fill the superchunk size in the column with the widest items, and
 * more if there would be too many files. */
static uint64_t superchunk_chunks(const struct bpk_chunkdir *set, uint64_t superchunk_size)
{
	uint64_t widest = 1, chunks;

	if (set->layout == BPK_CHUNKDIR_BCOLZ)
		return 1; /* "carray" */
	for (size_t i = 0; i < set->ncolumns; i++)
		widest = bpk_max_u64(widest, set->columns[i].item_size);
	widest *= set->row_items;
	if (superchunk_size > 0)
		return bpk_max_u64(1, superchunk_size / (set->chunk_rows * widest));
	chunks = bpk_max_u64(1, SUPERCHUNK_SIZE / (set->chunk_rows * widest));
	return bpk_max_u64(chunks, bpk_div_up(set->nchunks, MOST_FILES / set->ncolumns + 1));
}

static int check_bcolz(const struct bpk_chunkdir *set, struct bpk_err *err)
{
	for (size_t i = 0; i < set->ncolumns; i++)
		if (set->has_columns && set->columns[i].dtype->nfields > 0)
			return bpk_fail(err, BPK_UNSUPPORTED,
					"column %s is a record itself, which bcolz tables cannot "
					"hold; the layout blaze can",
					set->columns[i].name);
	return 0;
}

static int lay_out(struct bpk_chunkdir *set, const struct bpk_write_options *options,
		   struct bpk_err *err)
{
	uint64_t chunks;

	if (bpk_chunkdir_lay_out(set, 1, err) != 0)
		return -1;
	if (set->layout == BPK_CHUNKDIR_BCOLZ && check_bcolz(set, err) != 0)
		return -1;
	chunks = superchunk_chunks(set, options->superchunk_size);
	for (size_t i = 0; i < set->ncolumns; i++)
		set->columns[i].superchunk_chunks = chunks;
	return bpk_chunkdir_set_rows(set, set->rows, err);
}

/* ---- The plan ---- */

static int choose_layout(const char *name, enum bpk_chunkdir_layout *layout, struct bpk_err *err)
{
	*layout = BPK_CHUNKDIR_BLAZE;
	if (name == NULL || strcmp(name, "blaze") == 0)
		return 0;
	*layout = BPK_CHUNKDIR_BCOLZ;
	return strcmp(name, "bcolz") == 0
		       ? 0
		       : bpk_fail(err, BPK_USAGE, "no layout \"%s\", expected blaze or bcolz",
				  name);
}

int bpk_chunkdir_plan(const struct bpk_info *info, const struct bpk_write_options *options,
		      struct bpk_chunkdir *set, struct bpk_buf *attributes, struct bpk_err *err)
{
	uint64_t chunk_size = choose_chunk_size(info);
	struct shape_up s = shape_up(info, chunk_size, options->recipe != NULL);
	struct bpk_view metadata = { 0 };

	if (info->metadata.given)
		metadata = info->metadata.text;
	if (choose_layout(options->layout, &set->layout, err) != 0 ||
	    check_chunk_size(info, &s, chunk_size, err) != 0 ||
	    bpk_chunkdir_attributes_make(s.typed ? info->array.type : NULL, s.with_shape, metadata,
					 attributes, err) != 0 ||
	    bpk_buf_printf(attributes, err, "\n") != 0 || store_array(set, info, &s, err) != 0)
		return -1;
	set->chunk_rows = chunk_size / set->array.dtype.size / inner_items(&set->array);
	return lay_out(set, options, err);
}
