/*
 * Declarations shared by encoder and decoder of chunks: the context, the split rule, and the effect
 * of a filter on one block.
 */
#ifndef BPK_CHUNK_BLOCK_H
#define BPK_CHUNK_BLOCK_H

#include "chunk/chunk.h"
#include "chunk/codec/codec.h"
#include "chunk/filter/filter.h"

/* Bits of the flags byte ("flags byte"). */
enum {
	BPK_FLAG_SHUFFLE = 0x01,
	BPK_FLAG_MEMCPYED = 0x02,
	BPK_FLAG_BITSHUFFLE = 0x04,
	BPK_FLAG_EXTENDED = 0x05, /* both shuffle bits: the header has 16 more bytes */
	BPK_FLAG_DELTA = 0x08,
	BPK_FLAG_NOT_SPLIT = 0x10,
	BPK_FLAG_CODEC_SHIFT = 5,
};

/* "Stream encoding": the token after the negative size of a run. */
enum { BPK_TOKEN_RUN = 0x01 };

/* "Limits": the largest block size accepted by version 2 readers. */
enum { BPK_CHUNK_MAX_BLOCK_SIZE_V2 = 715827542 };

/* The most recently encoded run of one byte. Byte planes of zeros are frequent. */
struct bpk_packed_run {
	const struct bpk_codec *codec; /* NULL before the first run */
	unsigned level;
	size_t raw_size, packed_size;
	uint8_t byte;
	uint8_t packed[4352]; /* LZ4 needs 4112 for 1 MiB */
};

/* A plane of one repeated byte, kept from block to block. Runs of zeros are frequent. */
struct bpk_kept_plane {
	struct bpk_buf bytes; /* its size is the number of bytes set to value */
	uint8_t value;
};

struct bpk_chunk_ctx {
	struct bpk_codec_ctx *codec;
	const struct bpk_filter_kernels *kernels;
	uint32_t typesize; /* the container's typesize; 0: unknown */
	struct bpk_packed_run run;
	struct bpk_buf filtered;  /* one filtered block, in the layout of its streams */
	struct bpk_buf piece;     /* a whole block or stream, when the caller asked for a part */
	struct bpk_buf room;      /* working memory of filters: BPK_FILTER_ROOM bytes */
	struct bpk_buf stages[2]; /* a block between two filters */
	/* block 0, if other blocks need it and the caller did not ask for it */
	struct bpk_buf reference;
	struct bpk_kept_plane kept[2]; /* a plane of zeros, and one of another byte */
	struct bpk_buf samples;        /* training data of a dictionary */
	struct bpk_buf dictionary;     /* the dictionary for encoding */
	struct bpk_buf trial;          /* the chunk encoded with the dictionary */
	/* differences left by a prediction; when decoding, more of the chunk than the caller
	 * wants */
	struct bpk_buf predicted;
	struct bpk_buf history; /* earlier numbers that a prediction uses */

	/* while it is kept for the next caller (ctx.c): the one kept before it, its memory */
	struct bpk_chunk_ctx *before;
	uint64_t memory;
};

/* The container's typesize, or the chunk's if that is unknown: bytedelta needs this width. */
static inline uint32_t bpk_chunk_width(const struct bpk_chunk_ctx *ctx, unsigned typesize)
{
	return ctx->typesize > 0 ? ctx->typesize : typesize;
}

/*
 * "Split rule", version 2: true if a full block of block_size bytes holds one stream per byte of
 * typesize. Readers before 1.11 apply the same numbers without the flag.
 */
static inline bool bpk_block_may_split(uint32_t block_size, unsigned typesize)
{
	return typesize <= 16 && block_size / typesize >= 128 && block_size % typesize == 0;
}

/*
 * True if the block size may be wrong. Some writers of Blosc2 3.0 to 3.3 cut blocks at whole
 * elements but stored a block size that is not a multiple of the typesize ("A B2 3.0 - 3.3 writer
 * defect"). The real blocks then have bpk_block_size_adjusted bytes.
 */
static inline bool bpk_block_size_is_doubtful(const struct bpk_chunk_header *header)
{
	return header->version == 5 && !header->variable_blocks &&
	       header->block_size > header->typesize && header->block_size % header->typesize != 0;
}

static inline uint32_t bpk_block_size_adjusted(const struct bpk_chunk_header *header)
{
	return header->block_size - header->block_size % header->typesize;
}

static inline bool bpk_pipeline_has(const struct bpk_pipeline *pipeline, enum bpk_filter filter)
{
	for (unsigned i = 0; i < pipeline->nsteps; i++)
		if (pipeline->steps[i].filter == filter)
			return true;
	return false;
}

/* The only filter of a plain pipeline. */
static inline enum bpk_filter bpk_plain_filter(const struct bpk_pipeline *pipeline)
{
	return pipeline->nsteps == 0 ? BPK_FILTER_NONE : (enum bpk_filter)pipeline->steps[0].filter;
}

/*
 * The effective filter for one block of size bytes in a version 2 chunk. A byte shuffle of single
 * bytes and a bitshuffle of a number of elements that is not a multiple of 8 leave the block
 * unchanged ("SHUFFLE", "BITSHUFFLE").
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
