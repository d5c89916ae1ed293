/*
 * The sizes of an archive's chunks, where they differ: runs of chunks of one size.
 */
#ifndef BPK_CHUNK_SIZES_H
#define BPK_CHUNK_SIZES_H

#include "base/base.h"

/* Consecutive chunks of one size, up to where the next run begins; or one of them. */
struct bpk_sized {
	uint64_t first;      /* number of its first chunk */
	uint64_t raw_offset; /* where that begins in the whole */
	uint32_t size;       /* raw bytes of each */
	uint32_t kind;       /* how they are packed; 0 where all are packed alike */
};

/* The sizes of nchunks chunks, which have raw_size bytes in all. Caller storage, valid when zeroed;
 * any thread may ask it once it is made. */
struct bpk_sizes {
	size_t count, room;
	struct bpk_sized *all;
	uint64_t nchunks;
	uint64_t raw_size;
};

/* nchunks more of one size and kind. Fails with BPK_CORRUPT when they are more than any file can
 * hold, and BPK_NO_MEMORY. */
int bpk_sizes_add(struct bpk_sizes *runs, uint64_t nchunks, uint32_t size, uint32_t kind,
		  struct bpk_err *err);

/* The first of them, most at most, all of kind 0; of NULL none. */
int bpk_sizes_copy(const struct bpk_sizes *runs, uint64_t most, struct bpk_sizes *copy,
		   struct bpk_err *err);
void bpk_sizes_clear(struct bpk_sizes *runs);

/* The one chunk of that number, or that holds that raw byte; false when it is none of these, or
 * runs is NULL. */
bool bpk_sizes_chunk(const struct bpk_sizes *runs, uint64_t number, struct bpk_sized *chunk);
bool bpk_sizes_seek(const struct bpk_sizes *runs, uint64_t raw_offset, struct bpk_sized *chunk);

/* Raw bytes of the largest; 0 when there are none. */
uint32_t bpk_sizes_largest(const struct bpk_sizes *runs);

#endif
