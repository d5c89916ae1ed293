/*
 * Data that keep coming: files and pipes, concatenated, or one file that is still growing. They are
 * handed on in rounds; follow.c and join_follow.c commit at the end of each round.
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
	uint64_t start; /* its first bytes, that are not read */
	uint64_t unit;  /* bytes are read in whole units of this size; 0: as they come */
};

/* Caller storage, valid when zeroed; for bpk_feed_close. One thread's at a time. */
struct bpk_feed {
	struct bpk_feed_options options;
	const char *path; /* of the current file, borrowed; NULL: closed */
	struct {
		char *const *next;
		size_t left; /* their number */
	} paths;             /* after it, borrowed */
	bool follows;        /* the one file grows */
	bool is_replaced;    /* it rotates, and another file has its name, or it was cut off */
	bool is_cut;         /* it rotates, and is shorter than its bytes that were read */

	int fd;                   /* of the current file */
	struct stat seen;         /* when it was opened */
	struct pollfd watches[4]; /* requests, the process, changes of the file, the input */

	uint64_t position; /* in the input, behind the bytes handed on */
	uint64_t end;  /* of a growing file, where it is left; BPK_UNKNOWN before that is decided */
	uint64_t rest; /* bytes behind end, less than a unit */
	double grown;  /* when the last byte came */
	struct bpk_buf ahead; /* read, and not yet handed on */
	bool ended;           /* no more bytes will come */

	struct {
		double due;           /* time at which it should end */
		uint64_t limit;       /* position at which it ends; BPK_UNKNOWN before it is due */
		uint64_t chunk_start; /* position at which its first chunk begins */
		bool over;
	} round;

	/* The growing file's first bytes, a chunk at most, read before the last byte of the
	 * round. */
	struct {
		struct bpk_buf bytes;
		bool fresh;           /* that round reached the file's end */
		struct timespec time; /* the file's mtime at that time */
	} head;
};

/* Read paths ("-": standard input), concatenated. Errors name the file, here and below. */
int bpk_feed_open(struct bpk_feed *feed, char *const *paths, size_t count,
		  const struct bpk_feed_options *options, struct bpk_err *err);

/* Read the file path, which is still growing. */
int bpk_feed_follow(struct bpk_feed *feed, const char *path, const struct bpk_feed_options *options,
		    struct bpk_err *err);

void bpk_feed_close(struct bpk_feed *feed);

/*
 * Begin a round: wait for its first byte. The chunk that is filled first has short_size bytes
 * already. *more is false when no more bytes will come. A round may also begin without a byte, with
 * a fresh head, when a growing file was changed without growing. Fails with BPK_FAILED when the
 * growing file was removed or replaced, once all of it was handed on.
 */
int bpk_feed_begin(struct bpk_feed *feed, uint64_t short_size, bool *more, struct bpk_err *err);

/* True if the growing file rotates and was cut off, to be begun anew. The bytes that were read
 * before are the last. */
bool bpk_feed_was_cut(struct bpk_feed *feed);

/* A source of the bytes of this round, in sequence; valid as long as feed is open. */
int bpk_feed_source(struct bpk_feed *feed, struct bpk_source **source, struct bpk_err *err);

/* True if the round has bytes. Known at its beginning. */
bool bpk_feed_has_bytes(const struct bpk_feed *feed);

#endif
