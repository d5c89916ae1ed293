/*
 * Inside the room chunk: what the files that pack a chunk share. encode.c is the door: checks,
 * block sizes, headers; encode_block.c makes streams of blocks, encode_variable.c blocks of
 * variable length; encode_special.c knows the chunks that are a header alone; encode_dictionary.c
 * tries whether a dictionary pays.
 */
#ifndef BPK_CHUNK_ENCODE_H
#define BPK_CHUNK_ENCODE_H

#include "chunk/fields.h"

/*
 * One call's work. Streams are written one behind the other in block order, so that the bytes do
 * not depend on who packs them.
 */
struct bpk_encoding {
	struct bpk_chunk_ctx *ctx;
	const struct bpk_recipe *recipe;
	struct bpk_pipeline pipeline; /* the recipe's; bytedelta says its width */
	struct bpk_view raw;   /* what is cut into blocks: with a prediction what that left */
	struct bpk_view plain; /* the raw bytes */
	struct bpk_prediction prediction; /* in force; size 0: none */
	uint8_t *out;
	size_t end;  /* of the room in out: "Writer profiles" grants raw size and header */
	size_t used; /* of out */
	uint32_t header_size;
	uint32_t block_size;   /* of blocks of variable length, without sizes: all but the last */
	uint32_t nblocks;      /* of variable length; 0: they are not */
	const uint32_t *sizes; /* of theirs, NULL: block_size */
	struct bpk_view dictionary; /* in force; size 0: none */
	bool split;
	bool planes;  /* streams are byte planes */
	bool slow;    /* the codec takes longer over noise than to recognise it */
	bool entropy; /* it codes frequent bytes in fewer bits */
};

/* What a step came to; a chunk that outgrows its room is stored. */
enum bpk_outcome { BPK_ENCODE_FAILED = -1, BPK_ENCODE_DONE = 0, BPK_ENCODE_OUTGROWN = 1 };

/* Less than 1/128 is no gain: a raw stream costs no reader a call of the codec. */
static inline size_t bpk_encode_paying(size_t raw_size)
{
	return raw_size - 1 - raw_size / 128;
}

/* ---- encode_block.c ---- */

/* Scratch for bpk_encode_filter on blocks of at most block_size bytes. BPK_NO_MEMORY. */
int bpk_encode_reserve(struct bpk_encoding *e, size_t block_size, struct bpk_err *err);

/*
 * A block of the raw bytes as its streams have it: itself, or filtered into scratch that stands
 * until the next call. reference is what delta leans on, NULL for none.
 */
struct bpk_view bpk_encode_filter(struct bpk_encoding *e, struct bpk_view block,
				  const uint8_t *reference);

/* Pack a stream to at most room bytes; 0 when it is better stored. */
int bpk_encode_pack(struct bpk_encoding *e, struct bpk_view stream, uint8_t *to, size_t room,
		    size_t *packed_size, struct bpk_err *err);

/*
 * Block starts, dictionary and blocks, behind the header. e->used is then the size of the chunk.
 */
enum bpk_outcome bpk_encode_blocks(struct bpk_encoding *e, struct bpk_err *err);

/* Leave room for the block starts and write the dictionary behind them: where the blocks begin. */
enum bpk_outcome bpk_encode_begin_blocks(struct bpk_encoding *e, uint64_t nblocks);

/* ---- encode_variable.c ---- */

/* The same for blocks of variable length. */
enum bpk_outcome bpk_encode_variable(struct bpk_encoding *e, struct bpk_err *err);

/* ---- encode_dictionary.c ---- */

/*
 * The chunk has been packed to e->used bytes, or has outgrown its room (outcome): pack it once more
 * with a dictionary, and keep that if it is smaller. e->dictionary says whether it was.
 */
enum bpk_outcome bpk_encode_with_dictionary(struct bpk_encoding *e, enum bpk_outcome outcome,
					    struct bpk_err *err);

/* ---- encode.c ---- */

/* The header; packed_size is the whole chunk's. flags and flags31 are the bytes 2 and 31. */
void bpk_encode_header(const struct bpk_encoding *e, unsigned flags, unsigned flags31,
		       size_t packed_size);

/* Blocks of either kind. */
enum bpk_outcome bpk_encode_all(struct bpk_encoding *e, struct bpk_err *err);

/* Byte 2 of a chunk that has blocks. */
unsigned bpk_encode_flags(const struct bpk_encoding *e);

/* ---- encode_special.c ---- */

/*
 * When the raw bytes are one item over and over: write the special chunk that says so, and return
 * its size; else 0. Reads no further than to the first byte that differs.
 */
size_t bpk_encode_special(const struct bpk_encoding *e);

#endif
