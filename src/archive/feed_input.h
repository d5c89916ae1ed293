/*
 * Where a feed's bytes come from, without its rounds: taking what is there, and waiting for more;
 * inside the feed alone.
 */
#ifndef BPK_ARCHIVE_FEED_INPUT_H
#define BPK_ARCHIVE_FEED_INPUT_H

#include <stdatomic.h>

#include "archive/feed.h"

/* Someone wants what came to be committed now. */
extern atomic_bool bpk_feed_commit_asked;

/* What is read, for messages; and a failed call on it. Returns -1. */
const char *bpk_feed_name(const struct bpk_feed *feed);
int bpk_feed_fail(const struct bpk_feed *feed, int errnum, const char *what, struct bpk_err *err);

/* What comes without waiting; *got is 0 when nothing does. Sets ended behind the last byte, and end
 * as soon as that is known. */
int bpk_feed_take(struct bpk_feed *feed, struct bpk_span out, size_t *got, struct bpk_err *err);

/* Wait until something may have changed, or until time (0: none). */
int bpk_feed_wait(struct bpk_feed *feed, double time, struct bpk_err *err);

/* How large the growing file is, in whole units. Fails with BPK_FAILED when it shrank. */
int bpk_feed_measure(const struct bpk_feed *feed, uint64_t *size, struct bpk_err *err);

/* Keep the growing file's first bytes, of size at most, as they are now: what is read after them is
 * what they tell of. */
int bpk_feed_read_head(struct bpk_feed *feed, uint64_t size, struct bpk_err *err);

#endif
