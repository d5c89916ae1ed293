/*
 * The geometry of arrays in multidimensional chunks: reads, writes and chooses it. Called by
 * readers, writers and editors of frames. Source: the Blosc2 frame format, "b2nd metalayer".
 */
#include "format/frame/nd/nd.h"

#include <inttypes.h>

enum {
	MAX_BLOCK_SIZE = 536866816, /* "Validation checklist": accepted by every reader */
	LAST_WEIGHT = 4,            /* see dimension_to_cut */
};

void bpk_frame_nd_clear(struct bpk_frame_nd *nd)
{
	bpk_array_clear(&nd->array);
	*nd = (struct bpk_frame_nd){ 0 };
}

/* ---- Values that follow from the shapes ---- */

static int fail_dimension(struct bpk_err *err, enum bpk_kind kind, const struct bpk_frame_nd *nd,
			  size_t i)
{
	return bpk_fail(err, kind,
			"dimension %zu of the array has shape %" PRIu64 ", chunk shape %" PRIu64
			" and block shape %" PRIu64
			", expected blocks of 1 or more and no larger than chunks",
			i, nd->array.shape[i], nd->chunk_shape[i], nd->block_shape[i]);
}

/* True if the chunk and block lengths of a dimension are valid. If the shape is 0 there are no
 * chunks, and the lengths may also be 0. */
static bool is_dimension_sound(const struct bpk_frame_nd *nd, size_t i)
{
	uint64_t chunk = nd->chunk_shape[i], block = nd->block_shape[i];

	if (chunk > INT32_MAX || block > chunk)
		return false;
	return block > 0 || nd->array.shape[i] == 0;
}

static void derive_dimension(struct bpk_frame_nd *nd, size_t i)
{
	uint64_t chunk = nd->chunk_shape[i], block = nd->block_shape[i];

	nd->grid[i] = chunk == 0 ? 0 : bpk_div_up(nd->array.shape[i], chunk);
	nd->extended[i] = block == 0 ? chunk : bpk_div_up(chunk, block) * block;
}

/* A product over the dimensions, times first; false above limit. */
static bool product(uint64_t first, const uint64_t *factors, size_t count, uint64_t limit,
		    uint64_t *out)
{
	*out = first;
	for (size_t i = 0; i < count; i++)
		if (factors[i] == 0) {
			*out = 0;
			return true;
		}
	for (size_t i = 0; i < count; i++)
		if (!bpk_mul_u64(*out, factors[i], out) || *out > limit)
			return false;
	return *out <= limit;
}

/* Compute all values that follow from the array and the shapes. kind is the error for shapes that
 * do not fit: damage, or the caller's mistake. */
static int derive(struct bpk_frame_nd *nd, enum bpk_kind kind, struct bpk_err *err)
{
	size_t count = nd->array.ndimensions;
	uint64_t item_size = nd->array.dtype.size;

	for (size_t i = 0; i < count; i++) {
		if (!is_dimension_sound(nd, i))
			return fail_dimension(err, kind, nd, i);
		derive_dimension(nd, i);
	}
	if (!product(item_size, nd->extended, count, BPK_CHUNK_MAX_RAW_SIZE_EXTENDED,
		     &nd->chunk_size))
		return bpk_fail(err, kind, "chunks of the array's shape have more than %d bytes",
				BPK_CHUNK_MAX_RAW_SIZE_EXTENDED);
	if (!product(item_size, nd->block_shape, count, MAX_BLOCK_SIZE, &nd->block_size))
		return bpk_fail(err, kind, "blocks of the array's shape have more than %d bytes",
				MAX_BLOCK_SIZE);
	if (!product(1, nd->grid, count, BPK_FRAME_MAX_CHUNKS, &nd->nchunks))
		return bpk_fail(err, kind, "the array's shape needs more than %d chunks",
				BPK_FRAME_MAX_CHUNKS);
	return 0;
}

/* ---- Reading the metalayer ---- */

static int take_shape(struct bpk_cursor *cursor, size_t count, uint8_t marker, const char *what,
		      uint64_t *shape, struct bpk_err *err)
{
	uint8_t list = bpk_cursor_u8(cursor);

	if (list != 0x90 + count)
		return bpk_fail(err, BPK_CORRUPT, "the %s begins with byte %02x, expected %02zx",
				what, list, 0x90 + count);
	for (size_t i = 0; i < count; i++) {
		uint8_t kind = bpk_cursor_u8(cursor);
		int64_t value = marker == 0xd3 ? (int64_t)bpk_cursor_be64(cursor)
					       : (int32_t)bpk_cursor_be32(cursor);

		if (!cursor->bad && kind != marker)
			return bpk_fail(err, BPK_CORRUPT,
					"dimension %zu of the %s begins with byte %02x, expected "
					"%02x",
					i, what, kind, marker);
		if (value < 0)
			return bpk_fail(err, BPK_CORRUPT,
					"dimension %zu of the %s is %" PRId64
					", expected 0 or more",
					i, what, value);
		shape[i] = (uint64_t)value;
	}
	return 0;
}

/* A type for bytes of unknown meaning. */
static struct bpk_dtype untyped(uint32_t typesize)
{
	return (struct bpk_dtype){
		.scalar = { .kind = 'V', .byte_order = '|', .item_size = typesize },
		.size = typesize
	};
}

/*
 * Set the type from the text, unless that is not a type of ours or its size differs from the
 * elements'. Other programs write any text there and never read it, so the data are valid without.
 */
static int read_type(struct bpk_view text, uint32_t typesize, struct bpk_frame_nd *nd,
		     struct bpk_err *err)
{
	struct bpk_dtype *dtype = &nd->array.dtype;
	struct bpk_err found = { 0 };

	if (bpk_dtype_parse(text, dtype, &found) == 0) {
		if (dtype->size == typesize && !bpk_dtype_is_opaque(dtype))
			return 0;
		bpk_dtype_clear(dtype);
	} else if (found.kind == BPK_NO_MEMORY) {
		if (err != NULL)
			*err = found;
		return -1;
	}
	nd->unknown_type = true;
	*dtype = untyped(typesize);
	return 0;
}

/* Parse the type after the shapes; the older metalayer has no type. */
static int take_type(struct bpk_cursor *cursor, bool older, uint32_t typesize,
		     struct bpk_frame_nd *nd, struct bpk_err *err)
{
	uint8_t format, marker;
	uint32_t size;

	if (older) {
		nd->unknown_type = true;
		nd->array.dtype = untyped(typesize);
		return 0;
	}
	format = bpk_cursor_u8(cursor);
	marker = bpk_cursor_u8(cursor);
	size = bpk_cursor_be32(cursor);
	if (cursor->bad)
		return 0; /* the caller reports it */
	if (marker != 0xdb)
		return bpk_fail(err, BPK_CORRUPT,
				"the array's type begins with byte %02x, expected db", marker);
	if (bpk_cursor_take(cursor, size) == NULL)
		return 0;
	/* type formats other than NumPy's are unknown */
	return read_type(bpk_view(cursor->next - size, format == 0 ? size : 0), typesize, nd, err);
}

static int take_all(struct bpk_cursor *cursor, bool older, uint32_t typesize,
		    struct bpk_frame_nd *nd, struct bpk_err *err)
{
	uint8_t entries = bpk_cursor_u8(cursor), version = bpk_cursor_u8(cursor);
	uint8_t count = bpk_cursor_u8(cursor);
	uint64_t shape[BPK_FRAME_MAX_DIMENSIONS];

	if (entries != (older ? 0x95 : 0x97))
		return bpk_fail(err, BPK_CORRUPT, "begins with byte %02x, expected %02x", entries,
				older ? 0x95 : 0x97);
	if (version != 0)
		return bpk_fail(err, BPK_UNSUPPORTED, "is of version %u, expected 0", version);
	if (count > BPK_FRAME_MAX_DIMENSIONS)
		return bpk_fail(err, BPK_CORRUPT, "array has %u dimensions, at most %d are allowed",
				count, BPK_FRAME_MAX_DIMENSIONS);
	if (take_shape(cursor, count, 0xd3, "array's shape", shape, err) != 0 ||
	    take_shape(cursor, count, 0xd2, "chunk shape", nd->chunk_shape, err) != 0 ||
	    take_shape(cursor, count, 0xd2, "block shape", nd->block_shape, err) != 0 ||
	    take_type(cursor, older, typesize, nd, err) != 0)
		return -1;
	if (cursor->bad || cursor->left > 0)
		return bpk_fail(err, BPK_CORRUPT, "has %s bytes than its fields need",
				cursor->bad ? "less" : "more");
	return bpk_array_set_shape(&nd->array, shape, count, err);
}

int bpk_frame_nd_read(struct bpk_view content, bool older, uint32_t typesize,
		      struct bpk_frame_nd *nd, struct bpk_err *err)
{
	struct bpk_cursor cursor = bpk_cursor(content);

	*nd = (struct bpk_frame_nd){ 0 };
	if (take_all(&cursor, older, typesize, nd, err) == 0 && derive(nd, BPK_CORRUPT, err) == 0)
		return 0;
	bpk_frame_nd_clear(nd);
	return bpk_err_subject(err, "metalayer %s", older ? BPK_FRAME_CATERVA : BPK_FRAME_B2ND);
}

/* ---- Writing the metalayer ---- */

static int put_shape(const uint64_t *shape, size_t count, bool wide, struct bpk_buf *out,
		     struct bpk_err *err)
{
	uint8_t bytes[1 + BPK_FRAME_MAX_DIMENSIONS * 9], *p = bytes;

	*p++ = (uint8_t)(0x90 + count);
	for (size_t i = 0; i < count; i++) {
		*p++ = wide ? 0xd3 : 0xd2;
		if (wide)
			bpk_put_be64(p, shape[i]);
		else
			bpk_put_be32(p, (uint32_t)shape[i]);
		p += wide ? 8 : 4;
	}
	return bpk_buf_append(out, bpk_view(bytes, (size_t)(p - bytes)), err);
}

static int put_type(const struct bpk_dtype *dtype, struct bpk_buf *out, struct bpk_err *err)
{
	const uint8_t head[6] = { 0x00, 0xdb };
	size_t start = out->size + sizeof head;

	if (bpk_buf_append(out, bpk_view(head, sizeof head), err) != 0 ||
	    bpk_dtype_print(dtype, out, err) != 0)
		return -1;
	bpk_put_be32(out->data + start - 4, (uint32_t)(out->size - start));
	return 0;
}

int bpk_frame_nd_write(const struct bpk_frame_nd *nd, struct bpk_buf *out, struct bpk_err *err)
{
	size_t count = nd->array.ndimensions;
	uint8_t head[3] = { 0x97, 0x00, (uint8_t)count };

	if (bpk_buf_append(out, bpk_view(head, sizeof head), err) != 0 ||
	    put_shape(nd->array.shape, count, true, out, err) != 0 ||
	    put_shape(nd->chunk_shape, count, false, out, err) != 0 ||
	    put_shape(nd->block_shape, count, false, out, err) != 0)
		return -1;
	return put_type(&nd->array.dtype, out, err);
}

/* ---- Rows ---- */

uint64_t bpk_frame_nd_row_size(const struct bpk_frame_nd *nd)
{
	uint64_t size;

	if (nd->array.ndimensions == 0)
		return 0;
	return product(nd->array.dtype.size, nd->array.shape + 1, nd->array.ndimensions - 1,
		       INT64_MAX, &size)
		       ? size
		       : BPK_UNKNOWN;
}

int bpk_frame_nd_set_rows(struct bpk_frame_nd *nd, uint64_t rows, struct bpk_err *err)
{
	uint64_t shape[BPK_ARRAY_MAX_DIMENSIONS];

	memcpy(shape, nd->array.shape, sizeof shape);
	shape[0] = rows;
	if (bpk_array_set_shape(&nd->array, shape, nd->array.ndimensions, err) != 0)
		return -1;
	return derive(nd, BPK_LIMIT, err);
}

void bpk_frame_nd_write_rows(uint64_t rows, struct bpk_buf *content)
{
	enum { AT = 5 }; /* after the list's head, version, dimensions, the shape's head, d3 */

	bpk_put_be64(content->data + AT, rows);
}

/* ---- Choosing shapes ---- */

/* The dimension to be cut next: the longest one, and of equal ones the slowest. The last dimension,
 * in which items are contiguous, counts a fourth of its length: long runs of it compress and copy
 * well. */
static size_t dimension_to_cut(const uint64_t *shape, size_t count)
{
	uint64_t longest = 0;
	size_t found = 0;

	for (size_t i = 0; i < count; i++) {
		uint64_t length = i + 1 < count ? shape[i] : bpk_div_up(shape[i], LAST_WEIGHT);

		if (length > longest || (length == longest && shape[found] == 1)) {
			longest = length;
			found = i;
		}
	}
	return found;
}

/*
 * Halve dimensions of shape, the longest first, until it has at most size bytes. Chunks and blocks
 * are then about equally long in every direction, four times as long in the last, and a slice in
 * any direction meets few of them. Halves are rounded up, so that the parts cover the whole with
 * little padding.
 */
static void choose_shape(uint64_t item_size, uint64_t size, size_t count, uint64_t *shape)
{
	uint64_t bytes;

	while (!product(item_size, shape, count, size, &bytes)) {
		size_t i = dimension_to_cut(shape, count);

		if (count == 0 || shape[i] <= 1)
			return;
		shape[i] = bpk_div_up(shape[i], 2);
	}
}

/* Limit the size of a band, which is in memory as a whole when it is packed and contains all chunks
 * of the same rows: if rows are long, chunks get few of them. */
static void limit_band(struct bpk_frame_nd *nd, uint64_t size)
{
	uint64_t limit = bpk_max_u64(size, BPK_FRAME_BAND_WISHED), row_size;

	if (nd->array.ndimensions == 0)
		return;
	if (!product(nd->array.dtype.size, nd->chunk_shape + 1, nd->array.ndimensions - 1, limit,
		     &row_size))
		row_size = limit;
	nd->chunk_shape[0] = bpk_min_u64(nd->chunk_shape[0], bpk_max_u64(limit / row_size, 1));
}

/* A dimension of length 0 will grow: its chunks are chosen as for a long one. */
static void choose_chunks(struct bpk_frame_nd *nd, uint64_t size)
{
	size_t count = nd->array.ndimensions;

	for (size_t i = 0; i < count; i++) {
		uint64_t length = nd->array.shape[i];

		nd->chunk_shape[i] = length == 0 ? bpk_max_u64(size / nd->array.dtype.size, 1)
						 : bpk_min_u64(length, INT32_MAX);
	}
	limit_band(nd, size);
	choose_shape(nd->array.dtype.size, bpk_min_u64(size, BPK_CHUNK_MAX_RAW_SIZE_EXTENDED),
		     count, nd->chunk_shape);
}

static void choose_blocks(struct bpk_frame_nd *nd, uint64_t size)
{
	size_t count = nd->array.ndimensions;

	memcpy(nd->block_shape, nd->chunk_shape, sizeof nd->block_shape);
	choose_shape(nd->array.dtype.size, bpk_min_u64(size, MAX_BLOCK_SIZE), count,
		     nd->block_shape);
}

/* Round chosen chunks to whole blocks, if the array is long enough. */
static void fit_chunks(struct bpk_frame_nd *nd)
{
	for (size_t i = 0; i < nd->array.ndimensions; i++) {
		uint64_t block = nd->block_shape[i], length = nd->array.shape[i];
		uint64_t whole = block == 0 ? 0 : bpk_div_up(nd->chunk_shape[i], block) * block;

		if (length > 0)
			whole = bpk_max_u64(bpk_min_u64(whole, length), block);
		nd->chunk_shape[i] = whole;
		derive_dimension(nd, i);
	}
}

/* Bytes of a chunk, with its padding, for one index of dimension number; UINT64_MAX: too many. */
static uint64_t index_size(const struct bpk_frame_nd *nd, size_t number)
{
	uint64_t size = nd->array.dtype.size;

	for (size_t i = 0; i < nd->array.ndimensions; i++)
		if (i != number && !bpk_mul_u64(size, bpk_max_u64(nd->extended[i], 1), &size))
			return UINT64_MAX;
	return size;
}

/* Keep at most length indices of dimension number in a chunk, in whole blocks, at least one. */
static void limit_length(struct bpk_frame_nd *nd, size_t number, uint64_t length)
{
	uint64_t block = bpk_max_u64(nd->block_shape[number], 1);

	length = bpk_max_u64(length / block, 1) * block;
	if (length < nd->extended[number])
		nd->chunk_shape[number] = bpk_min_u64(nd->chunk_shape[number], length);
	derive_dimension(nd, number);
}

/* Whole blocks may have made chunks, or the bands of an array with long rows, too large. */
static void limit_chunks(struct bpk_frame_nd *nd)
{
	uint64_t row_size = bpk_frame_nd_row_size(nd);

	if (row_size > 0)
		limit_length(nd, 0, BPK_CHUNK_MAX_RAW_SIZE / row_size);
	for (size_t i = 0; i < nd->array.ndimensions; i++)
		limit_length(nd, i, BPK_CHUNK_MAX_RAW_SIZE_EXTENDED / index_size(nd, i));
}

/* Take the shapes that are given, and choose the others. */
static void copy_given(struct bpk_frame_nd *nd, const uint64_t *chunk_shape,
		       const uint64_t *block_shape, uint64_t chunk_size, uint64_t block_size)
{
	size_t size = nd->array.ndimensions * sizeof *chunk_shape;

	if (chunk_shape != NULL)
		bpk_copy(nd->chunk_shape, chunk_shape, size);
	else
		choose_chunks(nd, chunk_size);
	if (block_shape != NULL)
		bpk_copy(nd->block_shape, block_shape, size);
	else
		choose_blocks(nd, block_size);
	if (chunk_shape == NULL) {
		fit_chunks(nd);
		limit_chunks(nd);
	}
}

int bpk_frame_nd_make(const struct bpk_array *array, const uint64_t *chunk_shape,
		      const uint64_t *block_shape, uint64_t chunk_size, uint64_t block_size,
		      struct bpk_frame_nd *nd, struct bpk_err *err)
{
	*nd = (struct bpk_frame_nd){ 0 };
	if (array->ndimensions > BPK_FRAME_MAX_DIMENSIONS)
		return bpk_fail(err, BPK_UNSUPPORTED,
				"array has %zu dimensions, frames have at most %d",
				array->ndimensions, BPK_FRAME_MAX_DIMENSIONS);
	if (array->fortran)
		return bpk_fail(
			err, BPK_UNSUPPORTED,
			"array is in Fortran order, Blosc2 frames hold arrays in C order; bpk cat "
			"--slice ... writes it in C order");
	if (bpk_array_copy(array, &nd->array, err) != 0)
		return -1;
	copy_given(nd, chunk_shape, block_shape, chunk_size, block_size);
	if (derive(nd, BPK_USAGE, err) == 0)
		return 0;
	bpk_frame_nd_clear(nd);
	return -1;
}
