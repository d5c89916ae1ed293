/*
 * A guess at the one byte of a chunk that was damaged, by the chunk's digest. For the salvage calls
 * of the inner folders of format.
 */
#ifndef BPK_FORMAT_GUESS_H
#define BPK_FORMAT_GUESS_H

#include "checksum/checksum.h"
#include "chunk/chunk.h"

enum { BPK_GUESS_BUDGET = 1 << 30 }; /* for all chunks of a file */

struct bpk_guess {
	uint32_t at;
	uint8_t byte;
	/* Candidates with which the chunk unpacks; one: at and byte, which are those of the chunk
	 * as it is if its digest is damaged. */
	unsigned count;
	bool too_large; /* the chunk is, to try all bits of it */
};

/* True if the budget, which is for cryptographic digests, allows a chunk of this size. */
bool bpk_guess_allows(const struct bpk_checksum *checksum, uint64_t size, uint64_t budget);

/*
 * Look for the bytes of which one makes the chunk match digest, and unpack. crc32 and adler32 tell
 * the place; 255 n / 2^32 of the places of n bytes match a crc32 by chance. For another digest all
 * bytes are tried, or all bits, if budget, in bytes that are digested, allows it.
 */
int bpk_guess_byte(struct bpk_chunk_ctx *ctx, const struct bpk_checksum *checksum,
		   struct bpk_span chunk, const uint8_t *digest, uint64_t *budget,
		   struct bpk_guess *guess, struct bpk_err *err);

#endif
