/*
 * Inside the feed: its input without its rounds. Bytes are read that are there, and more are waited
 * for.
 */
#ifndef BPK_ARCHIVE_FEED_INPUT_H
#define BPK_ARCHIVE_FEED_INPUT_H

#include <stdatomic.h>

#include "archive/feed.h"

/* A commit is requested (bpk_archive_ask_commit). */
extern atomic_bool bpk_feed_commit_asked;

/* The name of the current file in messages; and a report of a failed call on it. Returns -1. */
const char *bpk_feed_name(const struct bpk_feed *feed);
int bpk_feed_fail(const struct bpk_feed *feed, int errnum, const char *what, struct bpk_err *err);

/* Read bytes without waiting; *got is 0 when no byte is there. Sets ended behind the last byte, and
 * end as soon as it is known. */
int bpk_feed_read(struct bpk_feed *feed, struct bpk_span out, size_t *got, struct bpk_err *err);

/* Wait until something may have changed, or until time (0: without limit). */
int bpk_feed_wait(struct bpk_feed *feed, double time, struct bpk_err *err);

/* The size of the growing file, in whole units. Fails with BPK_FAILED when it shrank. */
int bpk_feed_measure(const struct bpk_feed *feed, uint64_t *size, struct bpk_err *err);

/* Read the growing file's first bytes into head, size of them at most. The bytes that they count
 * are read after them. */
int bpk_feed_read_head(struct bpk_feed *feed, uint64_t size, struct bpk_err *err);

#endif
