/*
 * Arrays in chunks of several dimensions, inside the room: which chunks and blocks a part of an
 * array lies in, and moving items between C order and blocks. Source: the Blosc2 frame format,
 * "b2nd metalayer".
 *
 *     array    boxes of items, told in its indices; a box lies in C order in memory
 *     chunk    a cell of the grid that chunk_shape makes, counted in C order
 *     block    a cell of the grid that block_shape makes in a chunk, which is so rounded up to
 *              whole blocks; padding is zero
 */
#ifndef BPK_FORMAT_FRAME_ND_H
#define BPK_FORMAT_FRAME_ND_H

#include "format/frame/frame.h"

/* How large bands are: see bands.h. */
enum {
	BPK_FRAME_BAND_LEAST = 1 << 20,
	BPK_FRAME_BAND_WISHED = 16 << 20, /* at most, where we choose the shape of chunks */
	BPK_FRAME_BAND_MOST = 64 << 20,
};

/* What bands (bands.h) are for says how large they are. */
enum bpk_frame_purpose {
	BPK_FRAME_READING,
	BPK_FRAME_WRITING,  /* each is to hold whole chunks, as large as that may be */
	BPK_FRAME_CHANGING, /* each is to be a row of the grid of chunks */
};

/* A box of items whose bytes in C order are one run of those of a larger box. */
struct bpk_frame_piece {
	struct bpk_slice box; /* in the array */
	uint64_t offset;      /* bytes of the run that lie before it */
};

enum { BPK_FRAME_MAX_PIECES = 2 * BPK_FRAME_MAX_DIMENSIONS + 1 };

/* A run of items in the C order of some box, as boxes. */
struct bpk_frame_pieces {
	size_t count; /* ascending */
	struct bpk_frame_piece piece[BPK_FRAME_MAX_PIECES];
};

/* Room for the pieces of any run: 17 KiB, too much for a thread's stack. For free(); NULL: no
 * memory. */
struct bpk_frame_pieces *bpk_frame_pieces_new(struct bpk_err *err);

/* How many items a box holds. */
uint64_t bpk_frame_box_items(const struct bpk_slice *box);

/* What two boxes have in common; false when that is nothing. */
bool bpk_frame_box_meet(const struct bpk_slice *a, const struct bpk_slice *b,
			struct bpk_slice *out);

/* All of an array, as a box. */
struct bpk_slice bpk_frame_nd_whole(const struct bpk_frame_nd *nd);

/* Cut the items first .. first + count, in the C order of box, into pieces. They lie in the box. */
void bpk_frame_nd_cut(const struct bpk_frame_nd *nd, const struct bpk_slice *box, uint64_t first,
		      uint64_t count, struct bpk_frame_pieces *pieces);

/* Called for a chunk, or a block of one, by its number in C order; non-zero ends the walk. */
typedef int bpk_frame_cell_fn(void *arg, uint64_t number, struct bpk_err *err);

/* Every chunk that has items of pieces, ascending. Returns 0, or what visit returned. */
int bpk_frame_nd_each_chunk(const struct bpk_frame_nd *nd, const struct bpk_frame_pieces *pieces,
			    bpk_frame_cell_fn *visit, void *arg, struct bpk_err *err);

/* Every block of chunk number that has. */
int bpk_frame_nd_each_block(const struct bpk_frame_nd *nd, uint64_t number,
			    const struct bpk_frame_pieces *pieces, bpk_frame_cell_fn *visit,
			    void *arg, struct bpk_err *err);

/* Copy what a block of a chunk has of pieces: from bytes, nd->block_size of them, into run. */
void bpk_frame_nd_scatter(const struct bpk_frame_nd *nd, uint64_t chunk, uint64_t block,
			  const struct bpk_frame_pieces *pieces, const uint8_t *bytes,
			  uint8_t *run);

/* The other way: fill a whole chunk, nd->chunk_size bytes, out of run; all else of it is zero. */
void bpk_frame_nd_gather(const struct bpk_frame_nd *nd, uint64_t chunk,
			 const struct bpk_frame_pieces *pieces, const uint8_t *run, uint8_t *bytes);

/*
 * Do the bytes of piece in this chunk lie in it in the same order, one run of them? Then *start is
 * where in the chunk, *offset where in the run of pieces, and *size how many: they need not go
 * through a buffer.
 */
bool bpk_frame_nd_is_straight(const struct bpk_frame_nd *nd, uint64_t chunk,
			      const struct bpk_frame_piece *piece, uint64_t *start,
			      uint64_t *offset, uint64_t *size);

#endif
