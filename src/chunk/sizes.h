/*
 * The sizes of an archive's chunks, if they differ: runs of chunks of one size. Formats build them,
 * flow reads them.
 */
#ifndef BPK_CHUNK_SIZES_H
#define BPK_CHUNK_SIZES_H

#include "base/base.h"

/* Consecutive chunks of one size, up to the next run; or one of them. */
struct bpk_sized {
	uint64_t first;      /* number of its first chunk */
	uint64_t raw_offset; /* its offset in the archive's raw bytes */
	uint32_t size;       /* raw bytes of each */
	uint32_t kind;       /* how they are packed; 0 if all are packed alike */
};

/* The sizes of nchunks chunks with raw_size bytes in total. Caller storage, valid when zeroed; once
 * complete, any thread may read it. */
struct bpk_sizes {
	size_t count, room;
	struct bpk_sized *all;
	uint64_t nchunks;
	uint64_t raw_size;
};

/* Append nchunks chunks of one size and kind. Fails with BPK_CORRUPT if the total exceeds any file,
 * and BPK_NO_MEMORY. */
int bpk_sizes_add(struct bpk_sizes *runs, uint64_t nchunks, uint32_t size, uint32_t kind,
		  struct bpk_err *err);

/* Copy the first chunks, at most most, all as kind 0. runs may be NULL: no chunks. */
int bpk_sizes_copy(const struct bpk_sizes *runs, uint64_t most, struct bpk_sizes *copy,
		   struct bpk_err *err);
void bpk_sizes_clear(struct bpk_sizes *runs);

/* Find the chunk by number, or by a raw byte inside it; false if there is no such chunk, or runs is
 * NULL. */
bool bpk_sizes_chunk(const struct bpk_sizes *runs, uint64_t number, struct bpk_sized *chunk);
bool bpk_sizes_seek(const struct bpk_sizes *runs, uint64_t raw_offset, struct bpk_sized *chunk);

/* Raw bytes of the largest chunk; 0 without chunks. */
uint32_t bpk_sizes_largest(const struct bpk_sizes *runs);

#endif
