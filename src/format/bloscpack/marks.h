/*
 * Inside bloscpack: a record of the chunks that a reader has read. At the end it shows whether all
 * of them come from one state of the file, even if a writer of ours changed the file in place
 * meanwhile. A chunk's hash covers its sizes and its digest, or its bytes if it has no digest. 64
 * chunks share one sum of hashes, so a chunk costs at most two bytes if chunks are read in order.
 * The file is read again only if it has changed.
 */
#ifndef BPK_FORMAT_BLOSCPACK_MARKS_H
#define BPK_FORMAT_BLOSCPACK_MARKS_H

#include "format/format.h"

struct bpk_bloscpack_reader;

/* A record of up to 64 neighbouring chunks, or of a part of one chunk. */
struct bpk_bloscpack_mark {
	uint64_t first; /* a multiple of 64 */
	uint64_t seen;  /* bit i: chunk first + i; 0: the entry is free */
	uint64_t hash;  /* the sum of their hashes */
	/* The wanted part, if its bytes make the hash. Size UINT32_MAX: the last chunk, which may
	 * grow. Both 0: whole chunks. */
	uint32_t start, size;
};

/* Shared by a reader and its copies. */
struct bpk_bloscpack_marks {
	/* fixed after open */
	bool restless;          /* a writer was at work when the reader was opened */
	struct timespec opened; /* by the system's clock */

	struct bpk_mutex lock;          /* of the members below */
	struct bpk_bloscpack_mark *all; /* a hash table by first chunk and part */
	size_t count, room;             /* room is a power of two */

	/* The last chunk, if an append may replace it by one with more data. */
	struct bpk_buf last;          /* packed */
	size_t last_start, last_size; /* its raw bytes that were wanted; 0: not fetched yet */
};

/* Called at open while the source is held; *marks is NULL if the source cannot change. Fails with
 * BPK_NO_MEMORY. Freed by bpk_bloscpack_marks_free, which accepts NULL. */
int bpk_bloscpack_marks_new(struct bpk_source *source, struct bpk_bloscpack_marks **marks,
			    struct bpk_err *err);
void bpk_bloscpack_marks_free(struct bpk_bloscpack_marks *marks);

/* Record the last chunk at open, while the source is held, for the test of chunks that are read
 * after another command has made the file longer. Damage is left to the fetch. Fails as a read
 * does. */
int bpk_bloscpack_marks_pin(struct bpk_bloscpack_reader *reader, struct bpk_err *err);

/* Record a fetched parcel, or a chunk whose sizes and digest were read. Any thread. Fails with
 * BPK_NO_MEMORY. */
int bpk_bloscpack_marks_fetched(struct bpk_bloscpack_reader *reader,
				const struct bpk_parcel *parcel, struct bpk_err *err);
int bpk_bloscpack_marks_located(struct bpk_bloscpack_reader *reader, uint64_t number,
				const struct bpk_where *where, struct bpk_err *err);

/* bpk_reader_ops.unchanged */
int bpk_bloscpack_unchanged(void *reader, bool failed, struct bpk_err *err);

#endif
