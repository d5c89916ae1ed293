/*
 * A file of the cache: some following blocks of one version of a remote file, each with its digest.
 * Called by cache.c.
 *
 * The file never changes its version: for another one, it is removed and made anew. So those who
 * still have it open go on with theirs, and bytes of two versions never meet. Blocks have fixed
 * places, and several processes may write them at once: they write the same bytes, and a block that
 * is read before it is complete has another digest.
 */
#ifndef BPK_IO_REMOTE_SEGMENT_H
#define BPK_IO_REMOTE_SEGMENT_H

#include "io/remote/answer.h"

enum {
	BPK_SEGMENT_BLOCK = 16 << 10,
	BPK_SEGMENT_BLOCKS = 256, /* of a segment */
	BPK_SEGMENT_ROW = 8,      /* bytes of a block's row in the table */
	BPK_SEGMENT_KEY = 16,     /* bytes that stand for a URL */
	BPK_SEGMENT_NAME = 64,    /* bytes of the longest name, with its end */
};

/* The version of a file that a segment is part of. */
struct bpk_segment_id {
	uint8_t key[BPK_SEGMENT_KEY];
	char version[BPK_ANSWER_TEXT]; /* a strong ETag */
	uint64_t total;                /* bytes of the remote file */
};

/* Caller storage; one thread's own. fd is -1 where there is none. */
struct bpk_segment {
	int fd;
	uint64_t number; /* of the remote file's segments; BPK_UNKNOWN: none was looked up */
	uint32_t seed;   /* of digests: that of the head */
	uint8_t table[BPK_SEGMENT_BLOCKS * BPK_SEGMENT_ROW];
};

/* The name of a segment, and whether a name is that of any. */
void bpk_segment_name(const uint8_t key[BPK_SEGMENT_KEY], uint64_t number,
		      char name[BPK_SEGMENT_NAME]);
bool bpk_segment_is_name(const char *name);

/*
 * Open a segment of the folder, of any version if that of id is "": then version and size become
 * those of the segment. False if there is none, or no sound one of this user's. In any case
 * segment->number is set, and a segment that was open there is closed.
 */
bool bpk_segment_open(int folder, struct bpk_segment_id *id, uint64_t number,
		      struct bpk_segment *segment);

/* Make an empty one of the number that was looked up, in place of anything that has its name. Fails
 * with BPK_FAILED; it stays closed, too, if another process makes it just now. */
int bpk_segment_make(int folder, const struct bpk_segment_id *id, struct bpk_segment *segment,
		     struct bpk_err *err);

void bpk_segment_close(struct bpk_segment *segment);

/* True if the open segment still has its name. */
bool bpk_segment_is_listed(const struct bpk_segment *segment);

/* True if the table lists the block; n counts within the segment. */
bool bpk_segment_has(const struct bpk_segment *segment, size_t n);

/* Read block n, of which out has the size. False if its bytes are not those of its digest; then it
 * is no longer listed. */
bool bpk_segment_read(struct bpk_segment *segment, size_t n, struct bpk_span out);

/* Write blocks from n on, the last one perhaps shorter: the remote file ends there. Fails with
 * BPK_FAILED. */
int bpk_segment_write(struct bpk_segment *segment, size_t n, struct bpk_view bytes,
		      struct bpk_err *err);

#endif
