/*
 * What packing and unpacking share inside the room: the context, the rule by which a block is split
 * into streams, and what a filter comes to on one block.
 */
#ifndef BPK_CHUNK_BLOCK_H
#define BPK_CHUNK_BLOCK_H

#include "chunk/chunk.h"
#include "chunk/codec/codec.h"
#include "chunk/filter/filter.h"

/* The bits of the flags byte ("flags byte"). */
enum {
	BPK_FLAG_SHUFFLE = 0x01,
	BPK_FLAG_MEMCPYED = 0x02,
	BPK_FLAG_BITSHUFFLE = 0x04,
	BPK_FLAG_DELTA = 0x08,
	BPK_FLAG_NOT_SPLIT = 0x10,
	BPK_FLAG_CODEC_SHIFT = 5,
};

/* "Limits": the largest block size, and what version 2 readers take. */
enum {
	BPK_CHUNK_MAX_BLOCK_SIZE = 536866816,
	BPK_CHUNK_MAX_BLOCK_SIZE_V2 = 715827542,
};

/* The last run of one byte that was packed: planes of zeros come by the thousand. */
struct bpk_packed_run {
	const struct bpk_codec *codec; /* NULL: none yet */
	unsigned level;
	size_t raw_size, packed_size;
	uint8_t byte;
	uint8_t packed[4352]; /* LZ4 needs 4112 for 1 MiB */
};

struct bpk_chunk_ctx {
	struct bpk_codec_ctx *codec;
	const struct bpk_filter_kernels *kernels;
	struct bpk_packed_run run;
	struct bpk_buf filtered; /* one block as its streams have it */
	struct bpk_buf piece;    /* a block or stream of which only a part is wanted */
};

/*
 * "Split rule", version 2: does a full block of block_size bytes hold a stream for each byte of
 * typesize? Readers before 1.11 apply the same numbers and know no flag.
 */
static inline bool bpk_block_may_split(uint32_t block_size, unsigned typesize)
{
	return typesize <= 16 && block_size / typesize >= 128 && block_size % typesize == 0;
}

/* The one filter of a plain pipeline. */
static inline enum bpk_filter bpk_plain_filter(const struct bpk_pipeline *pipeline)
{
	return pipeline->nsteps == 0 ? BPK_FILTER_NONE : (enum bpk_filter)pipeline->steps[0].filter;
}

/*
 * What filter does to one block of size bytes in a version 2 chunk: a byte shuffle of bytes, and a
 * bitshuffle of elements not a multiple of 8, leave it alone ("SHUFFLE", "BITSHUFFLE").
 */
static inline enum bpk_filter bpk_block_filter(enum bpk_filter filter, size_t size,
					       unsigned typesize)
{
	size_t nelems = size / typesize;

	if (nelems == 0 || (filter == BPK_FILTER_SHUFFLE && typesize == 1) ||
	    (filter == BPK_FILTER_BITSHUFFLE && nelems % 8 != 0))
		return BPK_FILTER_NONE;
	return filter;
}

#endif
