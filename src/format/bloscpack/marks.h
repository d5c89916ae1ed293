/*
 * Inside bloscpack: what a reader remembers of the chunks that it brought, so that it can tell at
 * its end whether they were all of one state of the file, though a writer of ours changed it in
 * place meanwhile. A chunk's hash is that of its sizes and its digest, or of its bytes where there
 * is no digest; 64 chunks share one sum of hashes, so a chunk costs two bytes at most where chunks
 * are read in order. Nothing is read again unless the file has changed.
 */
#ifndef BPK_FORMAT_BLOSCPACK_MARKS_H
#define BPK_FORMAT_BLOSCPACK_MARKS_H

#include "format/format.h"

struct bpk_bloscpack_reader;

/* What was brought of up to 64 neighbouring chunks, or of a part of one chunk. */
struct bpk_bloscpack_mark {
	uint64_t first; /* a multiple of 64 */
	uint64_t seen;  /* bit i: chunk first + i; 0: the entry is free */
	uint64_t hash;  /* the sum of their hashes */
	/* the part that was wanted, where its bytes make the hash; size UINT32_MAX: the last chunk,
	 * which may grow; both 0: whole chunks */
	uint32_t start, size;
};

/* Shared by a reader and its copies. */
struct bpk_bloscpack_marks {
	/* fixed after open */
	bool restless;          /* a writer was at work when the reader was opened */
	struct timespec opened; /* by the system's clock */

	struct bpk_mutex lock;          /* of all that follows */
	struct bpk_bloscpack_mark *all; /* a hash table by first chunk and part */
	size_t count, room;             /* room is a power of two */

	/* The last chunk, where an append may pack it with more in it. */
	struct bpk_buf last;          /* packed */
	size_t last_start, last_size; /* raw bytes of it that were wanted; 0: none yet */
};

/* At open, the source held; *marks is NULL where the source cannot change. Fails with
 * BPK_NO_MEMORY. For bpk_bloscpack_marks_free, which takes NULL. */
int bpk_bloscpack_marks_new(struct bpk_source *source, struct bpk_bloscpack_marks **marks,
			    struct bpk_err *err);
void bpk_bloscpack_marks_free(struct bpk_bloscpack_marks *marks);

/* A parcel was fetched, or a chunk's sizes and digest were read. Any thread. Fails with
 * BPK_NO_MEMORY. */
int bpk_bloscpack_marks_fetched(struct bpk_bloscpack_reader *reader,
				const struct bpk_parcel *parcel, struct bpk_err *err);
int bpk_bloscpack_marks_located(struct bpk_bloscpack_reader *reader, uint64_t number,
				const struct bpk_where *where, struct bpk_err *err);

/* bpk_reader_ops.settle */
int bpk_bloscpack_settle(void *reader, bool failed, struct bpk_err *err);

#endif
