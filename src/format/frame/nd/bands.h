/*
 * Reading and writing multidimensional arrays, inside the room: parcels are bands, runs of the
 * array's bytes in C order that several chunks hold together.
 *
 * A band is one row of the grid of chunks, chunk_shape[0] rows of the array, or several such rows
 * if they are small (up to BPK_FRAME_BAND_LEAST bytes). If a row has more than BPK_FRAME_BAND_MOST
 * bytes and bands are read, it is divided, so that memory stays bounded: into rows of blocks, into
 * single rows, and then in the next dimension in the same way. A chunk is fetched for each band
 * that has a part of it, and a block is unpacked for each band. For changes, a band is a single row
 * of the grid, so that as little as possible is recompressed.
 */
#ifndef BPK_FORMAT_FRAME_ND_BANDS_H
#define BPK_FORMAT_FRAME_ND_BANDS_H

#include "format/frame/nd/nd.h"
#include "format/frame/reader.h"

/* The division of a box of an array into bands. Plain values; fixed once made. */
struct bpk_frame_bands {
	const struct bpk_frame_nd *nd; /* borrowed */
	struct bpk_slice box;
	uint64_t items; /* in all */
	uint64_t first; /* items of the first band, fewer if the box begins within a chunk */
	uint64_t size;  /* items of every other band but the last */
	uint64_t count;
};

/* Divide box, which lies in the array. */
struct bpk_frame_bands bpk_frame_bands_of(const struct bpk_frame_nd *nd,
					  const struct bpk_slice *box,
					  enum bpk_frame_purpose purpose);

/* The most bytes of a band that is read, unless one item has more. */
static inline uint64_t bpk_frame_band_most(const struct bpk_frame_nd *nd)
{
	return nd->band_most > 0 ? nd->band_most : BPK_FRAME_BAND_MOST;
}

/* The number of items of a band, below count; *first is the first one, counted in the box. */
uint64_t bpk_frame_band_items(const struct bpk_frame_bands *bands, uint64_t number,
			      uint64_t *first);

/*
 * Prepare reader to read its array in C order, unless it has no array or chunks are read as stored.
 * Sets bands (freed by free()), and the sizes in info. Fails with the array's damage.
 */
int bpk_frame_bands_begin(struct bpk_frame_reader *reader, struct bpk_err *err);

/* bpk_reader_ops.narrow */
int bpk_frame_bands_narrow(void *reader, const struct bpk_slice *slice, struct bpk_err *err);

/* Replace the bands of reader, which cover a whole array, by those for changing it. */
void bpk_frame_bands_for_changing(struct bpk_frame_reader *reader);

/* bpk_reader_ops of a reader that has bands. */
int bpk_frame_bands_fetch(struct bpk_frame_reader *reader, struct bpk_parcel *parcel,
			  struct bpk_err *err);
int bpk_frame_bands_check(const struct bpk_frame_reader *reader, const struct bpk_parcel *parcel,
			  struct bpk_err *err);
int bpk_frame_bands_unpack(const void *reader, struct bpk_chunk_ctx *ctx,
			   const struct bpk_parcel *parcel, struct bpk_span out,
			   struct bpk_err *err);
int bpk_frame_bands_locate(struct bpk_frame_reader *reader, uint64_t number,
			   struct bpk_where *where, struct bpk_err *err);

/* ---- A band in memory ---- */

/* The content of a band's packed: this header, and then the chunks, each with its seal. */
struct bpk_frame_band_chunk {
	uint64_t number;    /* of the chunk in the frame */
	size_t offset;      /* in packed */
	size_t packed_size; /* of the chunk itself ... */
	size_t size;        /* ... and including its seal */
};

struct bpk_frame_band {
	size_t count;
	struct bpk_frame_band_chunk chunk[];
};

static inline struct bpk_frame_band *bpk_frame_band(const struct bpk_buf *packed)
{
	void *start = packed->data; /* aligned for anything */

	return start;
}

/* Make packed an empty band with room for that many chunks. */
int bpk_frame_band_begin(struct bpk_buf *packed, uint64_t room, struct bpk_err *err);

/* The memory that unpacking a chunk of the array takes beside the band and its packed bytes, apart
 * from buffers of the size of a band. */
uint64_t bpk_frame_band_memory(const struct bpk_frame_nd *nd, const struct bpk_chunk_header *chunk);

/*
 * Unpack count items from first on of a box from a band's chunks into out, which has exactly their
 * size. Chunks without such items are skipped. Fails like bpk_chunk_decode; *failed is then the
 * number of the chunk. Any thread.
 */
int bpk_frame_band_unpack(const struct bpk_frame_nd *nd, const struct bpk_slice *box,
			  uint64_t first, uint64_t count, struct bpk_chunk_ctx *ctx,
			  const struct bpk_buf *packed, struct bpk_span out, uint64_t *failed,
			  struct bpk_err *err);

#endif
