/*
 * Arrays in multidimensional chunks, inside the room: the chunks and blocks that contain a part of
 * an array, and copies between C order and blocks. Source: the Blosc2 frame format, "b2nd
 * metalayer".
 *
 *     array    boxes of items, given by their indices; a box is in C order in memory
 *     chunk    a cell of the grid with cells of chunk_shape, counted in C order
 *     block    a cell of the grid with cells of block_shape in a chunk, which is extended to whole
 *              blocks; padding is zero
 */
#ifndef BPK_FORMAT_FRAME_ND_ND_H
#define BPK_FORMAT_FRAME_ND_ND_H

#include "format/frame/frame.h"

/* Sizes of bands (bands.h), in bytes. */
enum {
	BPK_FRAME_BAND_LEAST = 1 << 20,   /* small rows of chunks are combined up to this size */
	BPK_FRAME_BAND_WISHED = 16 << 20, /* limit if bpk chooses the shape of chunks */
	BPK_FRAME_BAND_MOST = 64 << 20,   /* limit for reading: larger rows of chunks are divided */
};

/* The purpose of bands (bands.h) decides their size. */
enum bpk_frame_purpose {
	BPK_FRAME_READING,
	BPK_FRAME_SAVING,   /* the same, of no more than one row of the grid of chunks */
	BPK_FRAME_WRITING,  /* each holds whole chunks, however large */
	BPK_FRAME_CHANGING, /* each is one row of the grid of chunks */
};

/* A box of items whose bytes in C order are contiguous in those of a larger box. */
struct bpk_frame_piece {
	struct bpk_slice box; /* in the array */
	uint64_t offset;      /* bytes of the run that precede it */
};

enum { BPK_FRAME_MAX_PIECES = 2 * BPK_FRAME_MAX_DIMENSIONS + 1 };

/* A run of items in the C order of some box, divided into boxes. */
struct bpk_frame_pieces {
	size_t count; /* ascending */
	struct bpk_frame_piece piece[BPK_FRAME_MAX_PIECES];
};

/* Allocate the pieces of any run: 17 KiB, too much for a thread's stack. Freed by free(); NULL: no
 * memory. */
struct bpk_frame_pieces *bpk_frame_pieces_new(struct bpk_err *err);

/* The number of items in a box. */
uint64_t bpk_frame_box_items(const struct bpk_slice *box);

/* The intersection of two boxes; false if it is empty. */
bool bpk_frame_box_meet(const struct bpk_slice *a, const struct bpk_slice *b,
			struct bpk_slice *out);

/* The whole array, as a box. */
struct bpk_slice bpk_frame_nd_whole(const struct bpk_frame_nd *nd);

/* Cut count items from first on, in the C order of box, into pieces. The items lie in the box. */
void bpk_frame_nd_cut(const struct bpk_frame_nd *nd, const struct bpk_slice *box, uint64_t first,
		      uint64_t count, struct bpk_frame_pieces *pieces);

/* Called for a chunk, or a block of one, by its number in C order; a result other than 0 ends the
 * walk. */
typedef int bpk_frame_cell_fn(void *arg, uint64_t number, struct bpk_err *err);

/* Visit every chunk that has items of pieces, ascending. Returns 0, or the result that ended it. */
int bpk_frame_nd_each_chunk(const struct bpk_frame_nd *nd, const struct bpk_frame_pieces *pieces,
			    bpk_frame_cell_fn *visit, void *arg, struct bpk_err *err);

/* Visit every such block of chunk number. */
int bpk_frame_nd_each_block(const struct bpk_frame_nd *nd, uint64_t number,
			    const struct bpk_frame_pieces *pieces, bpk_frame_cell_fn *visit,
			    void *arg, struct bpk_err *err);

/* The bytes of a block, *start to *stop - 1, that contain its items of pieces, which it has. */
void bpk_frame_nd_block_range(const struct bpk_frame_nd *nd, uint64_t chunk, uint64_t block,
			      const struct bpk_frame_pieces *pieces, uint64_t *start,
			      uint64_t *stop);

/* Copy the items of pieces in a block of a chunk into run. bytes are those of the block from start
 * on, at least to the end of its range. */
void bpk_frame_nd_scatter(const struct bpk_frame_nd *nd, uint64_t chunk, uint64_t block,
			  const struct bpk_frame_pieces *pieces, const uint8_t *bytes,
			  uint64_t start, uint8_t *run);

/* Set all items of pieces in a chunk to one item, which has the array's item size. */
void bpk_frame_nd_fill(const struct bpk_frame_nd *nd, uint64_t chunk,
		       const struct bpk_frame_pieces *pieces, const uint8_t *item, uint8_t *run);

/* The reverse of scatter: fill a whole chunk, nd->chunk_size bytes, from run, and all its other
 * bytes with 0. */
void bpk_frame_nd_gather(const struct bpk_frame_nd *nd, uint64_t chunk,
			 const struct bpk_frame_pieces *pieces, const uint8_t *run, uint8_t *bytes);

/*
 * True if the bytes of piece in this chunk are contiguous there, in the same order: they need no
 * intermediate buffer. *start is their offset in the chunk, *offset that in the run of pieces, and
 * *size their number.
 */
bool bpk_frame_nd_is_straight(const struct bpk_frame_nd *nd, uint64_t chunk,
			      const struct bpk_frame_piece *piece, uint64_t *start,
			      uint64_t *offset, uint64_t *size);

#endif
