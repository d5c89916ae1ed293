/* The rounds of a feed: when one is due and where it ends. feed_input.c reads its files;
 * follow.c and join_follow.c commit at the end of each round. */
#include "archive/feed_input.h"

#include <errno.h>
#include <unistd.h>

enum {
	AHEAD = 64 << 10,
	BACKLOG = 64 << 20, /* bytes that a round still takes when it is due */
};

/* The round is due: it ends with the bytes that the file has now, or, where their number is unknown
 * or too large, with the end of a chunk. */
static int set_limit(struct bpk_feed *feed, struct bpk_err *err)
{
	uint64_t chunk = feed->options.chunk_size, size;
	uint64_t filled = (feed->position - feed->round.chunk_start) % chunk;

	atomic_store(&bpk_feed_commit_asked, false);
	feed->round.limit = feed->position + (filled > 0 ? chunk - filled : 0);
	if (!feed->follows)
		return 0;
	if (bpk_feed_was_cut(feed)) {
		feed->round.limit = feed->end;
		return 0;
	}
	if (bpk_feed_measure(feed, &size, err) != 0)
		return -1;
	size = bpk_min_u64(size, feed->end);
	if (size - feed->position > BACKLOG)
		return 0;
	/* when the end is known, the head was read already */
	feed->round.limit = size;
	if (feed->end != BPK_UNKNOWN)
		return 0;
	if (bpk_feed_read_head(feed, size, err) != 0)
		return -1;
	return bpk_feed_measure(feed, &feed->round.limit, err);
}

static bool is_due(const struct bpk_feed *feed)
{
	return atomic_load(&bpk_feed_commit_asked) || bpk_clock() >= feed->round.due;
}

static size_t drain_ahead(struct bpk_feed *feed, struct bpk_span out)
{
	size_t n = bpk_min_size(feed->ahead.size, out.size);

	bpk_copy(out.data, feed->ahead.data, n);
	if (n < feed->ahead.size)
		memmove(feed->ahead.data, feed->ahead.data + n, feed->ahead.size - n);
	feed->ahead.size -= n;
	return n;
}

/* Read some bytes of the round, or find its end. */
static int read_some(struct bpk_feed *feed, struct bpk_span out, size_t *got, struct bpk_err *err)
{
	*got = 0;
	if (feed->round.limit == BPK_UNKNOWN && is_due(feed) && set_limit(feed, err) != 0)
		return -1;
	out.size = (size_t)bpk_min_u64(out.size, feed->round.limit - feed->position);
	feed->round.over = out.size == 0;
	if (feed->round.over)
		return 0;
	*got = drain_ahead(feed, out);
	if (*got == 0 && bpk_feed_read(feed, out, got, err) != 0)
		return -1;
	feed->position += *got;
	if (*got > 0)
		return 0;
	feed->round.over = feed->ended || feed->round.limit != BPK_UNKNOWN;
	return feed->round.over ? 0 : bpk_feed_wait(feed, feed->round.due, err);
}

static int round_read_at(void *arg, uint64_t offset, struct bpk_span out, size_t *got,
			 struct bpk_err *err)
{
	struct bpk_feed *feed = arg;
	size_t n;

	(void)offset; /* the flow reads in sequence */
	*got = 0;
	while (*got < out.size && !feed->round.over) {
		if (read_some(feed, bpk_span(out.data + *got, out.size - *got), &n, err) != 0)
			return -1;
		*got += n;
	}
	return 0;
}

int bpk_feed_source(struct bpk_feed *feed, struct bpk_source **source, struct bpk_err *err)
{
	static const struct bpk_source_ops ops = { .read_at = round_read_at };

	return bpk_source_of(&ops, feed, BPK_UNKNOWN, source, err);
}

bool bpk_feed_has_bytes(const struct bpk_feed *feed)
{
	return feed->ahead.size > 0;
}

/* Read the bytes that are there, unless ahead has some already. */
static int look_ahead(struct bpk_feed *feed, struct bpk_err *err)
{
	size_t got;

	if (feed->ahead.size > 0)
		return 0;
	if (bpk_buf_reserve(&feed->ahead, AHEAD, err) != 0)
		return bpk_err_subject(err, "%s", bpk_feed_name(feed));
	if (bpk_feed_read(feed, bpk_buf_room(&feed->ahead), &got, err) != 0)
		return -1;
	feed->ahead.size = got;
	return 0;
}

/* Fails where the growing file was removed or replaced; one that rotates ends then. */
static int same_file(const struct bpk_feed *feed, struct bpk_err *err)
{
	struct stat now;

	if (!feed->follows || feed->options.end.rotates)
		return 0;
	if (stat(feed->path, &now) != 0)
		return bpk_feed_fail(feed, errno, "cannot be followed any more", err);
	if (bpk_same_file(&now, &feed->seen))
		return 0;
	return bpk_fail(err, BPK_FAILED, "%s: was replaced by another file, which is not followed",
			feed->path);
}

/* When the round is due, look whether the file was changed without growing. */
static int look_at_head(struct bpk_feed *feed, bool *changed, struct bpk_err *err)
{
	struct stat now;
	uint64_t size;
	bool asked;

	*changed = false;
	if (!feed->follows || !is_due(feed) || bpk_feed_was_cut(feed))
		return 0;
	asked = atomic_exchange(&bpk_feed_commit_asked, false);
	feed->round.due = bpk_clock() + feed->options.end.interval;
	if (fstat(feed->fd, &now) != 0)
		return bpk_feed_fail(feed, errno, "fstat", err);
	/* the request is about the newest bytes too: their round is due at once */
	if (asked && (uint64_t)now.st_size > feed->position)
		bpk_archive_ask_commit();
	*changed = now.st_mtim.tv_sec != feed->head.time.tv_sec ||
		   now.st_mtim.tv_nsec != feed->head.time.tv_nsec;
	if (!*changed)
		return 0;
	if (bpk_feed_measure(feed, &size, err) != 0)
		return -1;
	if (bpk_feed_read_head(feed, bpk_min_u64(size, feed->position), err) != 0 ||
	    bpk_feed_measure(feed, &size, err) != 0)
		return -1;
	/* a head that counts bytes which came just now belongs to their round */
	feed->head.fresh = feed->head.fresh && size == feed->position;
	*changed = feed->head.fresh;
	return 0;
}

int bpk_feed_begin(struct bpk_feed *feed, uint64_t short_size, bool *more, struct bpk_err *err)
{
	feed->round.limit = BPK_UNKNOWN;
	feed->round.over = false;
	feed->head.fresh = feed->head.fresh && feed->end != BPK_UNKNOWN;
	feed->round.chunk_start = feed->position - short_size;
	feed->round.due = bpk_clock() + feed->options.end.interval;
	for (;;) {
		if (look_ahead(feed, err) != 0)
			return -1;
		*more = feed->ahead.size > 0;
		if (*more || feed->ended)
			break;
		if (same_file(feed, err) != 0 || look_at_head(feed, more, err) != 0)
			return -1;
		if (*more)
			return 0;
		if (bpk_feed_wait(feed, feed->follows ? feed->round.due : 0, err) != 0)
			return -1;
	}
	feed->round.due = bpk_clock() + feed->options.end.interval;
	return 0;
}
