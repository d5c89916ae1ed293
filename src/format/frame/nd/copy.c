/*
 * Copies items between the C order of a box and the blocks of a chunk. Called by bands.c,
 * nd/reader.c and nd/writer.c.
 *
 *     array 3 x 5, chunks 2 x 4, blocks 2 x 2         chunk 0: block 0, block 1
 *
 *         1  2 | 3  4 | 5                                 1 2 6 7   3 4 8 9
 *         6  7 | 8  9 | 10
 *        -------------+---                            chunk 3: block 0, block 1
 *        11 12 |13 14 | 15                                15 0 0 0  0 0 0 0
 *
 * A run of bytes is given as boxes (nd/cut.c). The intersection of each with a block is again a
 * box, which is copied in the longest runs that are contiguous on both sides.
 */
#include "format/frame/nd/nd.h"

/* ---- Cells that intersect pieces ---- */

/* A grid of cells over a part of the array. */
struct cells {
	struct bpk_slice part;
	const uint64_t *size;                     /* of a cell, in each dimension */
	uint64_t count[BPK_FRAME_MAX_DIMENSIONS]; /* of cells */
};

static struct cells chunks_of(const struct bpk_frame_nd *nd)
{
	struct cells cells = { .part = bpk_frame_nd_whole(nd), .size = nd->chunk_shape };

	memcpy(cells.count, nd->grid, sizeof cells.count);
	return cells;
}

/* The blocks of a chunk; the part does not cover blocks of padding only. */
static struct cells blocks_of(const struct bpk_frame_nd *nd, uint64_t chunk)
{
	struct cells cells = { .part = { .ndimensions = nd->array.ndimensions },
			       .size = nd->block_shape };

	for (size_t i = nd->array.ndimensions; i-- > 0;) {
		cells.part.start[i] = chunk % nd->grid[i] * nd->chunk_shape[i];
		cells.part.stop[i] =
			bpk_min_u64(cells.part.start[i] + nd->chunk_shape[i], nd->array.shape[i]);
		cells.count[i] = nd->extended[i] / nd->block_shape[i];
		chunk /= nd->grid[i];
	}
	return cells;
}

/* The items of the cell at the given coordinates. Only the array's own dimensions are set: a slice
 * has room for many, and cells may be tiny. */
static void box_at(const struct cells *cells, const uint64_t *at, struct bpk_slice *box)
{
	box->ndimensions = cells->part.ndimensions;
	for (size_t i = 0; i < box->ndimensions; i++) {
		box->start[i] = cells->part.start[i] + at[i] * cells->size[i];
		box->stop[i] = bpk_min_u64(box->start[i] + cells->size[i], cells->part.stop[i]);
	}
}

static uint64_t number_of(const struct cells *cells, const uint64_t *at)
{
	uint64_t number = 0;

	for (size_t i = 0; i < cells->part.ndimensions; i++)
		number = number * cells->count[i] + at[i];
	return number;
}

static void coordinates_of(const struct cells *cells, uint64_t number, uint64_t *at)
{
	for (size_t i = cells->part.ndimensions; i-- > 0;) {
		at[i] = number % cells->count[i];
		number /= cells->count[i];
	}
}

/* Advance to the next coordinates in C order, from low to high inclusive; false after the last. */
static bool step(size_t count, const uint64_t *low, const uint64_t *high, uint64_t *at)
{
	for (size_t i = count; i-- > 0;) {
		if (at[i] < high[i]) {
			at[i]++;
			return true;
		}
		at[i] = low[i];
	}
	return false;
}

/* The range of cells that contains all pieces; false if it is empty. */
static bool bounds_of(const struct cells *cells, const struct bpk_frame_pieces *pieces,
		      uint64_t *low, uint64_t *high)
{
	struct bpk_slice in, all = { 0 };
	bool any = false;

	for (size_t k = 0; k < pieces->count; k++) {
		if (!bpk_frame_box_meet(&pieces->piece[k].box, &cells->part, &in))
			continue;
		for (size_t i = 0; i < in.ndimensions; i++) {
			all.start[i] = any ? bpk_min_u64(all.start[i], in.start[i]) : in.start[i];
			all.stop[i] = any ? bpk_max_u64(all.stop[i], in.stop[i]) : in.stop[i];
		}
		any = true;
	}
	for (size_t i = 0; any && i < cells->part.ndimensions; i++) {
		low[i] = (all.start[i] - cells->part.start[i]) / cells->size[i];
		high[i] = (all.stop[i] - 1 - cells->part.start[i]) / cells->size[i];
	}
	return any;
}

static bool meets_any(const struct bpk_slice *box, const struct bpk_frame_pieces *pieces)
{
	struct bpk_slice in;

	for (size_t k = 0; k < pieces->count; k++)
		if (bpk_frame_box_meet(box, &pieces->piece[k].box, &in))
			return true;
	return false;
}

static int each_cell(const struct cells *cells, const struct bpk_frame_pieces *pieces,
		     bpk_frame_cell_fn *visit, void *arg, struct bpk_err *err)
{
	uint64_t low[BPK_FRAME_MAX_DIMENSIONS], high[BPK_FRAME_MAX_DIMENSIONS];
	uint64_t at[BPK_FRAME_MAX_DIMENSIONS];

	if (!bounds_of(cells, pieces, low, high))
		return 0;
	memcpy(at, low, sizeof at);
	do {
		struct bpk_slice box;
		int rc;

		box_at(cells, at, &box);
		rc = meets_any(&box, pieces) ? visit(arg, number_of(cells, at), err) : 0;
		if (rc != 0)
			return rc;
	} while (step(cells->part.ndimensions, low, high, at));
	return 0;
}

int bpk_frame_nd_each_chunk(const struct bpk_frame_nd *nd, const struct bpk_frame_pieces *pieces,
			    bpk_frame_cell_fn *visit, void *arg, struct bpk_err *err)
{
	struct cells cells = chunks_of(nd);

	return each_cell(&cells, pieces, visit, arg, err);
}

int bpk_frame_nd_each_block(const struct bpk_frame_nd *nd, uint64_t number,
			    const struct bpk_frame_pieces *pieces, bpk_frame_cell_fn *visit,
			    void *arg, struct bpk_err *err)
{
	struct cells cells = blocks_of(nd, number);

	return each_cell(&cells, pieces, visit, arg, err);
}

/* ---- Copying a box ---- */

/* One side of a copy: a box in memory, as steps in bytes from index to index. */
struct side {
	size_t start;
	size_t step[BPK_FRAME_MAX_DIMENSIONS];
};

/* The position of box in the memory of a larger box, which has shape items in each dimension from
 * origin on. */
static struct side side_of(const struct bpk_slice *box, const uint64_t *origin,
			   const uint64_t *shape, uint64_t item_size)
{
	struct side side = { 0 };
	size_t bytes = item_size;

	for (size_t i = box->ndimensions; i-- > 0;) {
		side.step[i] = bytes;
		side.start += (box->start[i] - origin[i]) * bytes;
		bytes *= shape[i];
	}
	return side;
}

static void copy_runs(uint8_t *to, size_t to_step, const uint8_t *from, size_t from_step,
		      uint64_t count, size_t run)
{
#define COPY_RUNS(size)                                                                            \
	case size:                                                                                 \
		for (uint64_t i = 0; i < count; i++)                                               \
			memcpy(to + i * to_step, from + i * from_step, size);                      \
		break
	switch (run) {
		COPY_RUNS(1);
		COPY_RUNS(2);
		COPY_RUNS(4);
		COPY_RUNS(8);
		COPY_RUNS(16);
		COPY_RUNS(32);
	default:
		for (uint64_t i = 0; i < count; i++)
			memcpy(to + i * to_step, from + i * from_step, run);
	}
#undef COPY_RUNS
}

/* A copy under way; innermost dimensions that are contiguous on both sides are merged into run. */
struct copy {
	size_t count; /* remaining dimensions; the last one is a row of runs */
	size_t run;
	uint64_t extent[BPK_FRAME_MAX_DIMENSIONS], at[BPK_FRAME_MAX_DIMENSIONS];
	size_t to, from; /* start of the next row */
};

static struct copy begin_copy(const struct bpk_slice *box, size_t item_size, const struct side *to,
			      const struct side *from)
{
	struct copy copy = {
		.count = box->ndimensions, .run = item_size, .to = to->start, .from = from->start
	};

	for (size_t i = 0; i < copy.count; i++)
		copy.extent[i] = box->stop[i] - box->start[i];
	for (; copy.count > 0; copy.count--) {
		size_t i = copy.count - 1;

		if (copy.extent[i] > 1 && (to->step[i] != copy.run || from->step[i] != copy.run))
			break;
		copy.run *= copy.extent[i];
	}
	return copy;
}

/* Advance to the next row; false after the last. */
static bool next_row(struct copy *copy, const struct side *to, const struct side *from)
{
	for (size_t i = copy->count - 1; i-- > 0;) {
		copy->to += to->step[i];
		copy->from += from->step[i];
		if (++copy->at[i] < copy->extent[i])
			return true;
		copy->to -= copy->extent[i] * to->step[i];
		copy->from -= copy->extent[i] * from->step[i];
		copy->at[i] = 0;
	}
	return false;
}

static void copy_box(const struct bpk_slice *box, size_t item_size, uint8_t *to,
		     const struct side *to_side, const uint8_t *from, const struct side *from_side)
{
	struct copy copy = begin_copy(box, item_size, to_side, from_side);
	size_t i = copy.count - 1;

	if (copy.count == 0) {
		memcpy(to + copy.to, from + copy.from, copy.run);
		return;
	}
	do
		copy_runs(to + copy.to, to_side->step[i], from + copy.from, from_side->step[i],
			  copy.extent[i], copy.run);
	while (next_row(&copy, to_side, from_side));
}

/* Fill a box with copies of item. */
static void fill_box(const struct bpk_slice *box, struct bpk_view item, uint8_t *to,
		     const struct side *side)
{
	struct copy copy = begin_copy(box, item.size, side, side);
	uint8_t *first = to + copy.to;
	size_t i = copy.count - 1;

	bpk_bytes_repeat(item, 0, bpk_span(first, copy.run));
	if (copy.count == 0)
		return;
	/* the last dimension has a second run, or it would have been merged */
	copy_runs(first + side->step[i], side->step[i], first, 0, copy.extent[i] - 1, copy.run);
	while (next_row(&copy, side, side))
		copy_runs(to + copy.to, side->step[i], first, 0, copy.extent[i], copy.run);
}

/* ---- Blocks ---- */

/* The items of the array in a block. */
static void block_box(const struct cells *blocks, uint64_t number, struct bpk_slice *box)
{
	uint64_t at[BPK_FRAME_MAX_DIMENSIONS];

	coordinates_of(blocks, number, at);
	box_at(blocks, at, box);
}

/* The position of box, which lies in piece, in the run of that piece. */
static struct side side_in_run(const struct bpk_frame_nd *nd, const struct bpk_slice *box,
			       const struct bpk_frame_piece *piece)
{
	uint64_t shape[BPK_FRAME_MAX_DIMENSIONS];
	struct side side;

	for (size_t i = 0; i < box->ndimensions; i++)
		shape[i] = piece->box.stop[i] - piece->box.start[i];
	side = side_of(box, piece->box.start, shape, nd->array.dtype.size);
	side.start += piece->offset;
	return side;
}

void bpk_frame_nd_block_range(const struct bpk_frame_nd *nd, uint64_t chunk, uint64_t block,
			      const struct bpk_frame_pieces *pieces, uint64_t *start,
			      uint64_t *stop)
{
	struct cells blocks = blocks_of(nd, chunk);
	uint64_t item_size = nd->array.dtype.size;
	struct bpk_slice box, in;

	block_box(&blocks, block, &box);
	*start = nd->block_size;
	*stop = 0;
	for (size_t k = 0; k < pieces->count; k++) {
		struct side side;
		uint64_t last;

		if (!bpk_frame_box_meet(&box, &pieces->piece[k].box, &in))
			continue;
		side = side_of(&in, box.start, nd->block_shape, item_size);
		last = side.start;
		for (size_t i = 0; i < in.ndimensions; i++)
			last += (in.stop[i] - in.start[i] - 1) * side.step[i];
		*start = bpk_min_u64(*start, side.start);
		*stop = bpk_max_u64(*stop, last + item_size);
	}
}

void bpk_frame_nd_scatter(const struct bpk_frame_nd *nd, uint64_t chunk, uint64_t block,
			  const struct bpk_frame_pieces *pieces, const uint8_t *bytes,
			  uint64_t start, uint8_t *run)
{
	struct cells blocks = blocks_of(nd, chunk);
	size_t item_size = nd->array.dtype.size;
	struct bpk_slice box, in;

	block_box(&blocks, block, &box);
	for (size_t k = 0; k < pieces->count; k++) {
		struct side from, to;

		if (!bpk_frame_box_meet(&box, &pieces->piece[k].box, &in))
			continue;
		from = side_of(&in, box.start, nd->block_shape, item_size);
		from.start -= start;
		to = side_in_run(nd, &in, &pieces->piece[k]);
		copy_box(&in, item_size, run, &to, bytes, &from);
	}
}

void bpk_frame_nd_fill(const struct bpk_frame_nd *nd, uint64_t chunk,
		       const struct bpk_frame_pieces *pieces, const uint8_t *item, uint8_t *run)
{
	struct cells blocks = blocks_of(nd, chunk);
	struct bpk_slice in;

	for (size_t k = 0; k < pieces->count; k++) {
		struct side to;

		if (!bpk_frame_box_meet(&blocks.part, &pieces->piece[k].box, &in))
			continue;
		to = side_in_run(nd, &in, &pieces->piece[k]);
		fill_box(&in, bpk_view(item, nd->array.dtype.size), run, &to);
	}
}

static void gather_block(const struct bpk_frame_nd *nd, const struct bpk_slice *box,
			 const struct bpk_frame_pieces *pieces, const uint8_t *run, uint8_t *bytes)
{
	size_t item_size = nd->array.dtype.size;
	struct bpk_slice in;

	for (size_t k = 0; k < pieces->count; k++) {
		struct side from, to;

		if (!bpk_frame_box_meet(box, &pieces->piece[k].box, &in))
			continue;
		from = side_in_run(nd, &in, &pieces->piece[k]);
		to = side_of(&in, box->start, nd->block_shape, item_size);
		copy_box(&in, item_size, bytes, &to, run, &from);
	}
}

/* True if one piece covers the whole block. */
static bool is_full(const struct bpk_frame_nd *nd, const struct bpk_slice *box,
		    const struct bpk_frame_pieces *pieces)
{
	struct bpk_slice in;

	for (size_t k = 0; k < pieces->count; k++)
		if (bpk_frame_box_meet(box, &pieces->piece[k].box, &in))
			return bpk_frame_box_items(&in) * nd->array.dtype.size == nd->block_size;
	return false;
}

void bpk_frame_nd_gather(const struct bpk_frame_nd *nd, uint64_t chunk,
			 const struct bpk_frame_pieces *pieces, const uint8_t *run, uint8_t *bytes)
{
	struct cells blocks = blocks_of(nd, chunk);
	uint64_t nblocks = nd->chunk_size / nd->block_size;

	for (uint64_t number = 0; number < nblocks; number++) {
		uint8_t *block = bytes + number * nd->block_size;
		struct bpk_slice box;

		block_box(&blocks, number, &box);
		if (!is_full(nd, &box, pieces))
			memset(block, 0, nd->block_size);
		gather_block(nd, &box, pieces, run, block);
	}
}

/* ---- Bytes of a chunk in C order ---- */

/*
 * True if the chunk's own bytes are in C order: after the first dimension with more than one block,
 * or more than one item in a block, all blocks are as long as the chunk, and before it the chunk
 * has one item. *along is that dimension.
 */
static bool is_linear(const struct bpk_frame_nd *nd, size_t *along)
{
	size_t count = nd->array.ndimensions;

	for (*along = 0; *along + 1 < count && nd->extended[*along] == 1;)
		++*along;
	for (size_t i = *along + 1; i < count; i++)
		if (nd->block_shape[i] != nd->extended[i])
			return false;
	return count > 0;
}

bool bpk_frame_nd_is_straight(const struct bpk_frame_nd *nd, uint64_t chunk,
			      const struct bpk_frame_piece *piece, uint64_t *start,
			      uint64_t *offset, uint64_t *size)
{
	struct cells blocks = blocks_of(nd, chunk);
	uint64_t inner = nd->array.dtype.size;
	struct bpk_slice in;
	size_t along;

	if (!is_linear(nd, &along) || !bpk_frame_box_meet(&blocks.part, &piece->box, &in))
		return false;
	for (size_t i = along + 1; i < in.ndimensions; i++) {
		/* the whole chunk, without padding, and the whole piece */
		if (in.stop[i] - in.start[i] != nd->extended[i] ||
		    piece->box.stop[i] - piece->box.start[i] != nd->extended[i])
			return false;
		inner *= nd->extended[i];
	}
	*start = (in.start[along] - blocks.part.start[along]) * inner;
	*offset = side_in_run(nd, &in, piece).start;
	*size = (in.stop[along] - in.start[along]) * inner;
	return true;
}
