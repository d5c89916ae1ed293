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
	BPK_FLAG_EXTENDED = 0x05, /* both: the header has 16 bytes more */
	BPK_FLAG_DELTA = 0x08,
	BPK_FLAG_NOT_SPLIT = 0x10,
	BPK_FLAG_CODEC_SHIFT = 5,
};

/* "Stream encoding": the token behind the negative size of a run. */
enum { BPK_TOKEN_RUN = 0x01 };

/* "Limits": the largest block size that version 2 readers take. */
enum { BPK_CHUNK_MAX_BLOCK_SIZE_V2 = 715827542 };

/* The last run of one byte that was packed: planes of zeros come by the thousand. */
struct bpk_packed_run {
	const struct bpk_codec *codec; /* NULL: none yet */
	unsigned level;
	size_t raw_size, packed_size;
	uint8_t byte;
	uint8_t packed[4352]; /* LZ4 needs 4112 for 1 MiB */
};

/* A plane of one byte repeated, kept from block to block: runs of zeros come by the thousand. */
struct bpk_kept_plane {
	struct bpk_buf bytes; /* its size: how many are value */
	uint8_t value;
};

struct bpk_chunk_ctx {
	struct bpk_codec_ctx *codec;
	const struct bpk_filter_kernels *kernels;
	uint32_t typesize; /* the container's; 0: not told */
	struct bpk_packed_run run;
	struct bpk_buf filtered;  /* one block as its streams have it */
	struct bpk_buf piece;     /* a block or stream of which only a part is wanted */
	struct bpk_buf room;      /* what filters work in: BPK_FILTER_ROOM bytes */
	struct bpk_buf stages[2]; /* a block between two of its filters */
	struct bpk_buf reference; /* block 0, where others lean on it and nobody asked for it */
	struct bpk_kept_plane kept[2]; /* of zeros, and of another byte */
	struct bpk_buf samples;        /* to train a dictionary of */
	struct bpk_buf dictionary;     /* for packing */
	struct bpk_buf trial;          /* a chunk packed with it */
	struct bpk_buf predicted;      /* what a prediction leaves of a chunk, or more of a chunk
					* than is wanted, on the way back from it */
	struct bpk_buf history;        /* the numbers that a prediction leans on */
};

/* What the container, or else the chunk, calls the typesize: the width that bytedelta asks for. */
static inline uint32_t bpk_chunk_width(const struct bpk_chunk_ctx *ctx, unsigned typesize)
{
	return ctx->typesize > 0 ? ctx->typesize : typesize;
}

/*
 * "Split rule", version 2: does a full block of block_size bytes hold a stream for each byte of
 * typesize? Readers before 1.11 apply the same numbers and know no flag.
 */
static inline bool bpk_block_may_split(uint32_t block_size, unsigned typesize)
{
	return typesize <= 16 && block_size / typesize >= 128 && block_size % typesize == 0;
}

/*
 * Some writers of Blosc2 3.0 to 3.3 packed whole elements and told a block size that is none ("A B2
 * 3.0 - 3.3 writer defect"): may this be such a chunk? Its blocks then have
 * bpk_block_size_adjusted bytes, if it cannot be read as it says.
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
