/*
 * Data that keep coming: files and pipes read one after the other, or one file that is still
 * growing. They are handed on in rounds, at the end of each of which what came is committed.
 */
#ifndef BPK_ARCHIVE_FEED_H
#define BPK_ARCHIVE_FEED_H

#include <poll.h>
#include <sys/stat.h>

#include "archive/archive.h"

struct bpk_feed_options {
	struct bpk_follow_options end;
	uint64_t chunk_size; /* raw bytes that fill a chunk */

	/* of a growing file */
	uint64_t start; /* bytes of it that are passed over */
	uint64_t unit;  /* bytes are taken in whole units of this many; 0: as they come */
};

/* Caller storage, valid when zeroed; for bpk_feed_close. One thread's at a time. */
struct bpk_feed {
	struct bpk_feed_options options;
	const char *path;  /* what is read, borrowed as the next; NULL: closed */
	char *const *next; /* what will be read after it */
	size_t left;       /* how many */
	bool follows;      /* the one file grows */

	int fd;                   /* of the current file */
	struct stat seen;         /* when it was opened */
	struct pollfd watches[4]; /* asked, the process, changes of the file; the input itself */

	uint64_t position;    /* bytes handed on; of a growing file with those passed over */
	uint64_t end;         /* where a growing file will be left; unknown: not yet */
	uint64_t rest;        /* bytes behind that, which are no whole unit */
	double grown;         /* when the last byte came */
	struct bpk_buf ahead; /* read, and not yet handed on */
	bool ended;           /* nothing more will come */

	/* the round */
	double due;           /* when it should end */
	uint64_t limit;       /* position at which it ends; unknown: not yet said */
	uint64_t chunk_start; /* position at which its first chunk begins */
	bool over;

	/* The growing file's first bytes, at most a chunk of them, as they were before the last
	 * byte of the round was read; fresh only when that round reached the file's end. */
	struct bpk_buf head;
	bool head_fresh;
	struct timespec head_time; /* when the file was last changed, then */
};

/* Read paths ("-": standard input) one after the other. Errors name the file, here and below. */
int bpk_feed_open(struct bpk_feed *feed, char *const *paths, size_t count,
		  const struct bpk_feed_options *options, struct bpk_err *err);

/* Read the file path, which is still growing. */
int bpk_feed_follow(struct bpk_feed *feed, const char *path, const struct bpk_feed_options *options,
		    struct bpk_err *err);

void bpk_feed_close(struct bpk_feed *feed);

/*
 * Begin a round: wait for its first byte. short_size bytes stand already in the chunk that will be
 * filled first. *more is false when nothing more will come. A round may also begin without a byte,
 * with a fresh head: when a growing file was changed, but did not grow. Fails with BPK_FAILED when
 * the growing file was removed, or another took its place, once all of it was handed on.
 */
int bpk_feed_begin(struct bpk_feed *feed, uint64_t short_size, bool *more, struct bpk_err *err);

/* The bytes of this round, in sequence. They stay with feed. */
int bpk_feed_source(struct bpk_feed *feed, struct bpk_source **source, struct bpk_err *err);

/* Did the round bring bytes? Known at its beginning. */
bool bpk_feed_has_bytes(const struct bpk_feed *feed);

#endif
