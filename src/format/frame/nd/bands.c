/*
 * Divides an array into bands, and unpacks a band. Reader, writer and editor of arrays call it.
 */
#include "format/frame/nd/bands.h"

#include <stdlib.h>

/* ---- Dividing an array ---- */

/* Memory for a chunk of a band beside its bytes: its list entry, and the header of a special one.
 * It makes the bands of an array of many tiny chunks smaller. */
enum { CHUNK_COST = 256 };

/* A dimension of the box, and the content of a single index of it. */
struct rank {
	uint64_t chunk, block; /* lengths */
	uint64_t items;        /* of an index */
	uint64_t cost;         /* of an index, in bytes */
	uint64_t chunk_cost;   /* of the chunks that contain an index, in bytes */
};

static struct rank rank_of(const struct bpk_frame_bands *b, size_t dimension)
{
	struct rank rank = { b->nd->chunk_shape[dimension], b->nd->block_shape[dimension], 1, 0,
			     CHUNK_COST };

	for (size_t i = dimension + 1; i < b->box.ndimensions; i++) {
		uint64_t size = b->nd->chunk_shape[i];

		rank.items *= b->box.stop[i] - b->box.start[i];
		if (!bpk_mul_u64(rank.chunk_cost,
				 bpk_div_up(b->box.stop[i], size) - b->box.start[i] / size,
				 &rank.chunk_cost))
			rank.chunk_cost = UINT64_MAX;
	}
	rank.cost = rank.items * b->nd->array.dtype.size;
	return rank;
}

/* Indices of the dimension that fit into a band of at most limit, in whole units; may be 0. */
static uint64_t fitting(const struct rank *rank, uint64_t unit, uint64_t limit)
{
	uint64_t rows = limit / rank->cost;

	rows = bpk_min_u64(rows, limit / rank->chunk_cost * rank->chunk);
	return rows / unit * unit;
}

/* Choose the indices of the dimension for a band. 0: one is too many; only for reading, where
 * chunks may be divided. */
static uint64_t choose_rows(const struct rank *rank, enum bpk_frame_purpose purpose, uint64_t most)
{
	uint64_t rows = bpk_max_u64(fitting(rank, rank->chunk, BPK_FRAME_BAND_LEAST), rank->chunk);

	if (purpose == BPK_FRAME_CHANGING)
		return rank->chunk;
	if (purpose == BPK_FRAME_SAVING)
		rows = rank->chunk;
	if (purpose == BPK_FRAME_WRITING || fitting(rank, rows, most) > 0)
		return rows;
	rows = fitting(rank, rank->block, most);
	return rows > 0 ? rows : fitting(rank, 1, most);
}

/* If a box begins between two boundaries of bands, its first band is shorter, so that the others
 * begin at boundaries. */
static uint64_t rows_of_first(const struct bpk_frame_bands *b, uint64_t rows)
{
	uint64_t chunk = b->nd->chunk_shape[0], block = b->nd->block_shape[0];
	uint64_t unit = rows % chunk == 0 ? chunk : rows % block == 0 ? block : 1;

	return rows - b->box.start[0] % unit;
}

static void settle(struct bpk_frame_bands *b, enum bpk_frame_purpose purpose)
{
	uint64_t most = bpk_frame_band_most(b->nd);

	b->size = b->first = 1;
	for (size_t i = 0; i < b->box.ndimensions; i++) {
		struct rank rank = rank_of(b, i);
		uint64_t rows = choose_rows(&rank, purpose, most);

		if (rows == 0)
			continue;
		b->first = i == 0 ? rows_of_first(b, rows) : rows;
		rows = bpk_min_u64(rows, b->box.stop[i] - b->box.start[i]);
		b->first = bpk_min_u64(b->first, rows) * rank.items;
		b->size = rows * rank.items;
		return;
	}
}

struct bpk_frame_bands bpk_frame_bands_of(const struct bpk_frame_nd *nd,
					  const struct bpk_slice *box,
					  enum bpk_frame_purpose purpose)
{
	struct bpk_frame_bands bands = { .nd = nd, .box = *box };

	bands.items = bpk_frame_box_items(box);
	if (bands.items == 0)
		return bands;
	settle(&bands, purpose);
	bands.first = bpk_min_u64(bands.first, bands.items);
	bands.count = 1 + bpk_div_up(bands.items - bands.first, bands.size);
	return bands;
}

uint64_t bpk_frame_band_items(const struct bpk_frame_bands *bands, uint64_t number, uint64_t *first)
{
	*first = number == 0 ? 0 : bands->first + (number - 1) * bands->size;
	if (number == 0)
		return bands->first;
	return bpk_min_u64(bands->size, bands->items - *first);
}

/* ---- A band in memory ---- */

int bpk_frame_band_begin(struct bpk_buf *packed, uint64_t room, struct bpk_err *err)
{
	struct bpk_frame_band *band;
	uint64_t size;

	if (!bpk_mul_u64(room, sizeof band->chunk[0], &size) ||
	    !bpk_add_u64(size, sizeof *band, &size) || size > SIZE_MAX)
		return bpk_fail_memory(err, UINT64_MAX);
	if (bpk_buf_resize(packed, (size_t)size, err) != 0)
		return -1;
	band = bpk_frame_band(packed);
	band->count = 0;
	return 0;
}

/* ---- Unpacking ---- */

/* True if a range of the chunk costs more than the array's blocks in it. */
static bool comes_whole(const struct bpk_frame_nd *nd, const struct bpk_chunk_header *chunk)
{
	return !chunk->memcpyed &&
	       (chunk->prediction.size > 0 || chunk->block_size != nd->block_size ||
		chunk->block_size % chunk->typesize != 0);
}

uint64_t bpk_frame_band_memory(const struct bpk_frame_nd *nd, const struct bpk_chunk_header *chunk)
{
	if (chunk->special != BPK_SPECIAL_NONE)
		return nd->array.dtype.size;
	return bpk_chunk_decode_memory(chunk,
				       comes_whole(nd, chunk) ? nd->chunk_size : nd->block_size);
}

struct unpacking {
	const struct bpk_frame_nd *nd;
	const struct bpk_frame_pieces *pieces;
	struct bpk_chunk_ctx *ctx;
	struct bpk_view chunk;
	uint64_t number;      /* of the chunk */
	uint64_t first, next; /* blocks first to next - 1 will be unpacked together ... */
	uint64_t start, stop; /* ... these bytes of the chunk */
	bool whole;           /* first is 0: blocks that are not wanted are unpacked, too */
	struct bpk_buf scratch;
	uint8_t *out;
};

static int decode(const struct unpacking *u, uint64_t start, struct bpk_span out,
		  struct bpk_err *err)
{
	if (out.size == u->nd->chunk_size)
		return bpk_chunk_decode(u->ctx, u->chunk, out, err);
	return bpk_chunk_decode_range(u->ctx, u->chunk, start, out, err);
}

/* Unpack bytes of the chunk to scratch. */
static int decode_beside(struct unpacking *u, uint64_t start, uint64_t size, struct bpk_err *err)
{
	if (bpk_buf_resize(&u->scratch, (size_t)size, err) != 0)
		return -1;
	return decode(u, start, bpk_span(u->scratch.data, u->scratch.size), err);
}

/* Unpack the collected blocks, and copy them to their places. */
static int flush(struct unpacking *u, struct bpk_err *err)
{
	if (u->first == u->next)
		return 0;
	if (decode_beside(u, u->start, u->stop - u->start, err) != 0)
		return -1;
	for (uint64_t i = u->first; i < u->next; i++) {
		uint64_t start = i * u->nd->block_size, skipped = 0;

		if (u->start > start)
			skipped = u->start - start;
		bpk_frame_nd_scatter(u->nd, u->number, i, u->pieces,
				     u->scratch.data + (start + skipped - u->start), skipped,
				     u->out);
	}
	u->first = u->next;
	return 0;
}

enum { SMALL = 64 << 10 }; /* bytes that cost as much as another call, at most */

/* True if the bytes from start on are unpacked with those before: they are close, and all together
 * are less than a band. */
static bool joins(const struct unpacking *u, uint64_t number, uint64_t start)
{
	return number == u->next && start - u->stop <= SMALL &&
	       u->stop - u->start < bpk_frame_band_most(u->nd);
}

/* Blocks are unpacked together if they are contiguous. Of a large one only the part that is wanted
 * is unpacked: a run of one byte costs nothing else. */
static int add_block(void *arg, uint64_t number, struct bpk_err *err)
{
	struct unpacking *u = arg;
	uint64_t size = u->nd->block_size, start = 0, stop = size;

	if (!u->whole && size > SMALL)
		bpk_frame_nd_block_range(u->nd, u->number, number, u->pieces, &start, &stop);
	start += number * size;
	if (!u->whole && (u->first == u->next || !joins(u, number, start))) {
		if (flush(u, err) != 0)
			return -1;
		u->first = number;
		u->start = start;
	}
	u->next = number + 1;
	u->stop = number * size + stop;
	return 0;
}

static int unpack_blocks(struct unpacking *u, bool whole, struct bpk_err *err)
{
	u->first = u->next = u->start = u->stop = 0;
	u->whole = whole;
	if (bpk_frame_nd_each_block(u->nd, u->number, u->pieces, add_block, u, err) != 0)
		return -1;
	return flush(u, err);
}

/* All items of a special chunk are equal: its blocks need no look, however many there are. */
static int unpack_special(struct unpacking *u, size_t period, struct bpk_err *err)
{
	size_t size = u->nd->array.dtype.size;

	if (size % period != 0)
		return bpk_fail(err, BPK_UNSUPPORTED,
				"it repeats a value of %zu bytes, the array has items of %zu",
				period, size);
	if (decode_beside(u, 0, size, err) != 0)
		return -1;
	bpk_frame_nd_fill(u->nd, u->number, u->pieces, u->scratch.data, u->out);
	return 0;
}

static int unpack_chunk(struct unpacking *u, struct bpk_err *err)
{
	uint64_t start, offset, size;
	struct bpk_chunk_header header;

	if (u->pieces->count == 1 &&
	    bpk_frame_nd_is_straight(u->nd, u->number, &u->pieces->piece[0], &start, &offset,
				     &size))
		return decode(u, start, bpk_span(u->out + offset, (size_t)size), err);
	if (bpk_chunk_header_read(u->chunk, &header, err) != 0)
		return -1;
	if (header.special != BPK_SPECIAL_NONE)
		return unpack_special(u, bpk_frame_period(&header), err);
	return unpack_blocks(u, comes_whole(u->nd, &header), err);
}

static struct bpk_view chunk_of(const struct bpk_buf *packed, size_t i)
{
	const struct bpk_frame_band_chunk *chunk = &bpk_frame_band(packed)->chunk[i];

	return bpk_view(packed->data + chunk->offset, chunk->packed_size);
}

int bpk_frame_band_unpack(const struct bpk_frame_nd *nd, const struct bpk_slice *box,
			  uint64_t first, uint64_t count, struct bpk_chunk_ctx *ctx,
			  const struct bpk_buf *packed, struct bpk_span out, uint64_t *failed,
			  struct bpk_err *err)
{
	const struct bpk_frame_band *band = bpk_frame_band(packed);
	struct bpk_frame_pieces *pieces = bpk_frame_pieces_new(err);
	struct unpacking u = { .nd = nd, .pieces = pieces, .ctx = ctx, .out = out.data };
	int rc = 0;

	if (pieces == NULL)
		return -1;
	bpk_frame_nd_cut(nd, box, first, count, pieces);
	for (size_t i = 0; rc == 0 && i < band->count; i++) {
		u.number = band->chunk[i].number;
		u.chunk = chunk_of(packed, i);
		rc = unpack_chunk(&u, err);
		if (rc != 0)
			*failed = u.number;
	}
	bpk_buf_clear(&u.scratch);
	free(pieces);
	return rc;
}
