/*
 * Arrays of several dimensions as they are read and written, inside the room: parcels are bands,
 * runs of the array's bytes in C order that several chunks hold together.
 *
 * A band is what one row of the grid of chunks holds, chunk_shape[0] rows, or several such rows
 * where they are small (up to BPK_FRAME_BAND_LEAST bytes). Where that is more than
 * BPK_FRAME_BAND_MOST bytes and bands are read, it is cut finer, so that memory stays bounded: to
 * rows of blocks, to single rows, and then in the next dimension in the same way. What is cut finer
 * than chunks is fetched once for each band, what is cut finer than blocks unpacked once for each.
 * What is changed has bands of a single row of the grid, so that as little as possible is packed
 * anew.
 */
#ifndef BPK_FORMAT_FRAME_BANDS_H
#define BPK_FORMAT_FRAME_BANDS_H

#include "format/frame/nd.h"
#include "format/frame/reader.h"

/* How a box of an array is cut into bands. Plain values; fixed once made. */
struct bpk_frame_bands {
	const struct bpk_frame_nd *nd; /* borrowed */
	struct bpk_slice box;
	uint64_t items; /* in all */
	uint64_t first; /* items of the first band, fewer where the box begins within a chunk */
	uint64_t size;  /* of every other one but the last */
	uint64_t count;
};

/* Cut box, which lies in the array. */
struct bpk_frame_bands bpk_frame_bands_of(const struct bpk_frame_nd *nd,
					  const struct bpk_slice *box,
					  enum bpk_frame_purpose purpose);

/* The items of band number, below count: *first is counted in the box. */
uint64_t bpk_frame_band_items(const struct bpk_frame_bands *bands, uint64_t number,
			      uint64_t *first);

/*
 * Read reader's array, or options.slice of it, in C order from now on, unless it has none or chunks
 * are to come as they lie: sets bands (for free()), and the sizes in info. BPK_USAGE: there is no
 * array that could be sliced, or the slice leaves it; else what is wrong with the array.
 */
int bpk_frame_bands_begin(struct bpk_frame_reader *reader, struct bpk_err *err);

/* Let the bands of reader, which has some of a whole array, be those that are changed. */
void bpk_frame_bands_for_changing(struct bpk_frame_reader *reader);

/* The operations of a reader that has bands, as bpk_reader_ops has them. */
int bpk_frame_bands_fetch(struct bpk_frame_reader *reader, struct bpk_parcel *parcel,
			  struct bpk_err *err);
int bpk_frame_bands_check(const struct bpk_frame_reader *reader, const struct bpk_parcel *parcel,
			  struct bpk_err *err);
int bpk_frame_bands_unpack(const struct bpk_frame_reader *reader, struct bpk_chunk_ctx *ctx,
			   const struct bpk_parcel *parcel, struct bpk_span out,
			   struct bpk_err *err);
int bpk_frame_bands_locate(struct bpk_frame_reader *reader, uint64_t number,
			   struct bpk_where *where, struct bpk_err *err);

/* ---- A band in memory ---- */

/* What packed holds of a band: this header, and then the chunks, each with its seal. */
struct bpk_frame_band_chunk {
	uint64_t number;    /* of the chunk in the frame */
	size_t offset;      /* in packed */
	size_t packed_size; /* of the chunk itself ... */
	size_t size;        /* ... and with its seal */
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

/*
 * Unpack the items first .. first + count of a box out of a band's chunks, of which those that hold
 * none of them are passed over, into out, just as many bytes. Fails as bpk_chunk_decode; *failed is
 * the number of the chunk then. Any thread.
 */
int bpk_frame_band_unpack(const struct bpk_frame_nd *nd, const struct bpk_slice *box,
			  uint64_t first, uint64_t count, struct bpk_chunk_ctx *ctx,
			  const struct bpk_buf *packed, struct bpk_span out, uint64_t *failed,
			  struct bpk_err *err);

#endif
