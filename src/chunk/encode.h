/*
 * Internal to the encoder. encode.c has the entry points: checks, block sizes, headers.
 * encode_block.c makes streams of blocks, encode_parts.c lets several threads do that,
 * encode_variable.c makes variable-length blocks, encode_special.c special chunks;
 * encode_dictionary.c tries a dictionary.
 */
#ifndef BPK_CHUNK_ENCODE_H
#define BPK_CHUNK_ENCODE_H

#include "chunk/fields.h"

/*
 * The state of one call. Streams are appended in block order, so that the output does not depend on
 * the caller's threads.
 */
struct bpk_encoding {
	struct bpk_chunk_ctx *ctx;
	const struct bpk_recipe *recipe;
	struct bpk_pipeline pipeline; /* the recipe's, with the width of bytedelta filled in */
	/* the input of the blocks: the raw bytes, or the output of the prediction */
	struct bpk_view raw;
	struct bpk_view plain;            /* the raw bytes */
	struct bpk_prediction prediction; /* in force; size 0: no prediction */
	uint8_t *out;
	size_t end;  /* limit of used: "Writer profiles" allow raw size and header */
	size_t used; /* bytes written to out */
	uint32_t header_size;
	uint32_t block_size;        /* for variable-length blocks without sizes: all but the last */
	uint32_t nblocks;           /* of variable length; 0: blocks have one size */
	const uint32_t *sizes;      /* of variable-length blocks; NULL: block_size */
	struct bpk_view dictionary; /* in force; size 0: no dictionary */
	bool split;
	bool planes; /* streams are byte planes */
	bool slow;   /* the codec takes longer to compress noise than stream_kind.c to detect it */
	const struct bpk_sharing *sharing; /* NULL: this thread encodes all blocks */
	size_t room;                       /* of out; more than end if blocks are shared */
	struct {
		uint32_t nblocks; /* in each part but the last */
		size_t first;     /* offset of the first part's room in out */
		size_t block;     /* room for a block */
	} parts;
};

/* The result of a step. A chunk that outgrows its room is stored. */
enum bpk_outcome { BPK_ENCODE_FAILED = -1, BPK_ENCODE_DONE = 0, BPK_ENCODE_OUTGROWN = 1 };

/* The largest size that is worth packing: saving less than 1/128 is not worth a call of the
 * decoder. */
static inline size_t bpk_encode_paying(size_t raw_size)
{
	return raw_size - 1 - raw_size / 128;
}

/* ---- encode_block.c ---- */

/* Reserve scratch for bpk_encode_filter on blocks of at most block_size bytes. BPK_NO_MEMORY. */
int bpk_encode_reserve(struct bpk_encoding *e, size_t block_size, struct bpk_err *err);

/*
 * A block in the layout of its streams: the block itself, or filtered into scratch that is valid
 * until the next call. reference is block 0 for delta; NULL for block 0 itself.
 */
struct bpk_view bpk_encode_filter(struct bpk_encoding *e, struct bpk_view block,
				  const uint8_t *reference);

/* Compress a stream to at most room bytes; *packed_size is 0 if it should be stored. */
int bpk_encode_pack(struct bpk_encoding *e, struct bpk_view stream, uint8_t *to, size_t room,
		    size_t *packed_size, struct bpk_err *err);

/* Write blocks first .. end - 1 and their starts. Scratch was reserved. */
enum bpk_outcome bpk_encode_some(struct bpk_encoding *e, uint32_t first, uint32_t end,
				 struct bpk_err *err);

/* Reserve the block starts and write the dictionary or prediction after them; blocks follow
 * there. */
enum bpk_outcome bpk_encode_begin_blocks(struct bpk_encoding *e, uint64_t nblocks);

/* ---- encode_parts.c ---- */

/*
 * Write block starts, dictionary and blocks after the header. e->used becomes the size of the
 * chunk.
 */
enum bpk_outcome bpk_encode_blocks(struct bpk_encoding *e, struct bpk_err *err);

/* ---- encode_variable.c ---- */

/* The same for variable-length blocks. */
enum bpk_outcome bpk_encode_variable(struct bpk_encoding *e, struct bpk_err *err);

/* ---- encode_dictionary.c ---- */

/*
 * Encode the chunk again with a dictionary and keep the result if it is smaller. outcome is the
 * result of the first attempt: the chunk has e->used bytes, or has outgrown its room. e->dictionary
 * is set if the dictionary was kept.
 */
enum bpk_outcome bpk_encode_with_dictionary(struct bpk_encoding *e, enum bpk_outcome outcome,
					    struct bpk_err *err);

/* ---- encode.c ---- */

/* Write the header. packed_size is the size of the whole chunk; flags and flags31 are bytes 2 and
 * 31. */
void bpk_encode_header(const struct bpk_encoding *e, unsigned flags, unsigned flags31,
		       size_t packed_size);

/* Encode blocks of either kind. */
enum bpk_outcome bpk_encode_all(struct bpk_encoding *e, struct bpk_err *err);

/* Byte 2 of a chunk with blocks. */
unsigned bpk_encode_flags(const struct bpk_encoding *e);

/* ---- encode_special.c ---- */

/*
 * If the raw bytes are one repeated item, write a special chunk and return its size; else return 0.
 * Reads only up to the first byte that differs.
 */
size_t bpk_encode_special(const struct bpk_encoding *e);

#endif
