/* The input of a feed: files and pipes that are read, and a growing file that is watched. Called by
 * feed.c, follow.c, join_follow.c and the command append. */
#include "archive/feed_input.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
	LOOK_EVERY = 1000, /* milliseconds: some file systems report no changes */
	REST = 20,         /* milliseconds between two looks at a busy file */
	MISSING = 200,     /* milliseconds between two looks for a missing file */
};

enum { ASKED, PROCESS, CHANGES, INPUT };

/* ---- asking ---- */

atomic_bool bpk_feed_commit_asked;
static atomic_bool end_asked;

/* An eventfd that requests write to; it does not block. The lock is held during the write, so that
 * its number cannot have become another file's. */
static pthread_mutex_t bell_lock = PTHREAD_MUTEX_INITIALIZER;
static int bell = -1;

static void ring(void)
{
	uint64_t one = 1;
	ssize_t n = 0;

	pthread_mutex_lock(&bell_lock);
	if (bell >= 0)
		n = write(bell, &one, sizeof one);
	pthread_mutex_unlock(&bell_lock);
	(void)n; /* a failed write means that a request is pending already */
}

static void set_bell(int fd)
{
	pthread_mutex_lock(&bell_lock);
	bell = fd;
	pthread_mutex_unlock(&bell_lock);
}

void bpk_archive_ask_commit(void)
{
	atomic_store(&bpk_feed_commit_asked, true);
	ring();
}

void bpk_archive_ask_end(void)
{
	atomic_store(&end_asked, true);
	ring();
}

/* ---- the files ---- */

const char *bpk_feed_name(const struct bpk_feed *feed)
{
	return bpk_input_name(feed->path);
}

int bpk_feed_fail(const struct bpk_feed *feed, int errnum, const char *what, struct bpk_err *err)
{
	bpk_fail_errno(err, errnum, "%s", what);
	return bpk_err_subject(err, "%s", bpk_feed_name(feed));
}

static int open_current(struct bpk_feed *feed, struct bpk_err *err)
{
	bool is_stdin = strcmp(feed->path, "-") == 0;
	int wait = feed->follows ? O_NONBLOCK : 0; /* for the writer of a FIFO */

	feed->fd = is_stdin ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1)
			    : open(feed->path, O_RDONLY | O_CLOEXEC | O_NOCTTY | wait);
	if (feed->fd < 0 || fstat(feed->fd, &feed->seen) != 0)
		return bpk_feed_fail(feed, errno, "cannot open", err);
	feed->watches[INPUT] = (struct pollfd){ .fd = feed->fd, .events = POLLIN };
	if (!S_ISDIR(feed->seen.st_mode))
		return 0;
	bpk_fail(err, BPK_FAILED, "%s: is a directory, expected a file", bpk_feed_name(feed));
	return -1;
}

static void start(struct bpk_feed *feed, const char *path, const struct bpk_feed_options *options)
{
	*feed = (struct bpk_feed){
		.options = *options,
		.path = path,
		.fd = -1,
		.position = options->start,
		.end = BPK_UNKNOWN,
	};
	feed->round.due = feed->grown = bpk_clock();
	for (size_t i = 0; i <= INPUT; i++)
		feed->watches[i] = (struct pollfd){ .fd = -1, .events = POLLIN };
}

int bpk_feed_open(struct bpk_feed *feed, char *const *paths, size_t count,
		  const struct bpk_feed_options *options, struct bpk_err *err)
{
	start(feed, paths[0], options);
	feed->paths.next = paths + 1;
	feed->paths.left = count - 1;
	return open_current(feed, err);
}

/* Where the kernel or the file system cannot watch, only time makes us look. */
static void watch_changes(struct bpk_feed *feed)
{
	int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);

	if (fd >= 0 &&
	    inotify_add_watch(fd, feed->path,
			      IN_MODIFY | IN_ATTRIB | IN_MOVE_SELF | IN_DELETE_SELF) < 0) {
		close(fd);
		fd = -1;
	}
	feed->watches[CHANGES].fd = fd;
}

static int fail_irregular(const char *path, struct bpk_err *err)
{
	return bpk_fail(err, BPK_FAILED,
			"%s: is not a regular file; only regular files can be followed", path);
}

static int watch_for_end(struct bpk_feed *feed, struct bpk_err *err)
{
	feed->follows = true;
	feed->watches[ASKED].fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (feed->watches[ASKED].fd < 0)
		return bpk_feed_fail(feed, errno, "eventfd", err);
	set_bell(feed->watches[ASKED].fd);
#ifdef SYS_pidfd_open
	if (feed->options.end.pid != 0)
		feed->watches[PROCESS].fd =
			(int)syscall(SYS_pidfd_open, (pid_t)feed->options.end.pid, 0);
#endif
	return 0;
}

int bpk_feed_follow(struct bpk_feed *feed, const char *path, const struct bpk_feed_options *options,
		    struct bpk_err *err)
{
	start(feed, path, options);
	if (watch_for_end(feed, err) != 0)
		return -1;
	watch_changes(feed);
	if (open_current(feed, err) != 0)
		return -1;
	feed->watches[INPUT].fd = -1; /* a regular file is always ready */
	return S_ISREG(feed->seen.st_mode) ? 0 : fail_irregular(path, err);
}
static void close_watches(struct bpk_feed *feed)
{
	set_bell(-1);
	for (size_t i = 0; i < INPUT; i++)
		if (feed->watches[i].fd >= 0)
			close(feed->watches[i].fd);
}

void bpk_feed_close(struct bpk_feed *feed)
{
	if (feed->path == NULL)
		return;
	close_watches(feed);
	/* a request is about the following that it ended, and not about the next, unless the file's
	 * rotation ended it first */
	if (!feed->options.end.rotates)
		atomic_store(&end_asked, false);
	atomic_store(&bpk_feed_commit_asked, false);
	if (feed->fd >= 0)
		close(feed->fd);
	bpk_buf_clear(&feed->ahead);
	bpk_buf_clear(&feed->head.bytes);
	feed->path = NULL;
}

/* ---- reading ---- */

static bool is_gone(const struct bpk_feed *feed)
{
	struct pollfd watch = feed->watches[PROCESS];

	if (feed->options.end.pid == 0)
		return false;
	if (watch.fd >= 0)
		return poll(&watch, 1, 0) > 0;
	return getpgid((pid_t)feed->options.end.pid) < 0 && errno == ESRCH;
}

bool bpk_feed_was_cut(struct bpk_feed *feed)
{
	uint64_t read = feed->position + feed->ahead.size;
	struct stat now;

	if (!feed->follows || !feed->options.end.rotates || feed->is_cut)
		return feed->is_cut;
	if (fstat(feed->fd, &now) != 0 || (uint64_t)now.st_size >= read)
		return false;
	feed->is_cut = feed->is_replaced = feed->ended = true;
	feed->end = read;
	return true;
}

/* Also *rest, the bytes behind the last whole unit. */
static int measure(const struct bpk_feed *feed, uint64_t *size, uint64_t *rest, struct bpk_err *err)
{
	struct stat now;

	if (fstat(feed->fd, &now) != 0)
		return bpk_feed_fail(feed, errno, "fstat", err);
	*rest = (uint64_t)now.st_size % bpk_max_u64(feed->options.unit, 1);
	*size = (uint64_t)now.st_size - *rest;
	if (*size >= feed->position)
		return 0;
	return bpk_fail(err, BPK_FAILED, "%s: shrank to %" PRIu64 " bytes, %" PRIu64 " were read",
			feed->path, (uint64_t)now.st_size, feed->position);
}

int bpk_feed_measure(const struct bpk_feed *feed, uint64_t *size, struct bpk_err *err)
{
	uint64_t rest;

	return measure(feed, size, &rest, err);
}

int bpk_feed_read_head(struct bpk_feed *feed, uint64_t size, struct bpk_err *err)
{
	size_t want = (size_t)bpk_min_u64(size, feed->options.chunk_size), done = 0;
	struct stat now;
	ssize_t n = 1;

	if (fstat(feed->fd, &now) != 0)
		return bpk_feed_fail(feed, errno, "fstat", err);
	feed->head.time = now.st_mtim;
	if (bpk_buf_resize(&feed->head.bytes, want, err) != 0)
		return bpk_err_subject(err, "%s", bpk_feed_name(feed));
	for (; done < want && n > 0; done += (size_t)n) {
		n = pread(feed->fd, feed->head.bytes.data + done, want - done, (off_t)done);
		if (n < 0 && errno != EINTR)
			return bpk_feed_fail(feed, errno, "read", err);
		n = n < 0 ? 0 : n;
	}
	feed->head.fresh = done == want;
	return 0;
}

/* A file without its name is written on, until another one has it. */
static bool is_replaced(struct bpk_feed *feed)
{
	struct stat now;

	if (feed->options.end.rotates && stat(feed->path, &now) == 0)
		feed->is_replaced = !bpk_same_file(&now, &feed->seen);
	return feed->is_replaced;
}

/* True if a request, the process, idleness or another file under the name ends the following. */
static bool is_to_end(struct bpk_feed *feed)
{
	double idle = feed->options.end.idle;

	return is_replaced(feed) || atomic_load(&end_asked) || is_gone(feed) ||
	       (idle != 0 && bpk_clock() - feed->grown >= idle);
}

/* When the following ends, the file's size is its end. */
static int look_for_end(struct bpk_feed *feed, struct bpk_err *err)
{
	uint64_t size;

	if (feed->end != BPK_UNKNOWN || !is_to_end(feed))
		return 0;
	if (bpk_feed_measure(feed, &size, err) != 0 || bpk_feed_read_head(feed, size, err) != 0)
		return -1;
	return measure(feed, &feed->end, &feed->rest, err);
}

/* Read the bytes that the growing file has. */
static int take_growth(struct bpk_feed *feed, struct bpk_span out, size_t *got, struct bpk_err *err)
{
	uint64_t at = feed->position + feed->ahead.size, end, size;
	ssize_t n;

	if (bpk_feed_was_cut(feed))
		return 0;
	if (look_for_end(feed, err) != 0)
		return -1;
	end = feed->end;
	if (end == BPK_UNKNOWN && feed->options.unit > 1 && bpk_feed_measure(feed, &end, err) != 0)
		return -1;
	if (end != BPK_UNKNOWN)
		out.size = (size_t)bpk_min_u64(out.size, end - bpk_min_u64(end, at));
	n = pread(feed->fd, out.data, out.size, (off_t)at);
	if (n < 0)
		return errno == EINTR ? 0 : bpk_feed_fail(feed, errno, "read", err);
	*got = (size_t)n;
	if (n > 0)
		feed->grown = bpk_clock();
	else if (bpk_feed_measure(feed, &size, err) != 0)
		return -1;
	feed->ended = feed->end != BPK_UNKNOWN && at + *got >= feed->end;
	return 0;
}

static int next_file(struct bpk_feed *feed, struct bpk_err *err)
{
	struct stat now;

	if (S_ISREG(feed->seen.st_mode) &&
	    (fstat(feed->fd, &now) != 0 || now.st_size != feed->seen.st_size ||
	     now.st_mtim.tv_sec != feed->seen.st_mtim.tv_sec ||
	     now.st_mtim.tv_nsec != feed->seen.st_mtim.tv_nsec))
		return bpk_fail(err, BPK_FAILED, "%s: changed while it was read",
				bpk_feed_name(feed));
	close(feed->fd);
	feed->fd = feed->watches[INPUT].fd = -1;
	feed->ended = feed->paths.left == 0;
	if (feed->ended)
		return 0;
	feed->path = *feed->paths.next++;
	feed->paths.left--;
	return open_current(feed, err);
}

/* Read the bytes of files and pipes that come without waiting. */
static int take_input(struct bpk_feed *feed, struct bpk_span out, size_t *got, struct bpk_err *err)
{
	ssize_t n;

	while (!feed->ended && poll(&feed->watches[INPUT], 1, 0) > 0) {
		n = read(feed->fd, out.data, out.size);
		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			return 0;
		if (n < 0)
			return bpk_feed_fail(feed, errno, "read", err);
		*got = (size_t)n;
		if (n > 0)
			return 0;
		if (next_file(feed, err) != 0)
			return -1;
	}
	return 0;
}

int bpk_feed_read(struct bpk_feed *feed, struct bpk_span out, size_t *got, struct bpk_err *err)
{
	*got = 0;
	if (feed->ended)
		return 0;
	return feed->follows ? take_growth(feed, out, got, err) : take_input(feed, out, got, err);
}

/* ---- waiting ---- */

static void stop_the_bell(struct bpk_feed *feed)
{
	uint64_t count;
	char events[4096];

	if (feed->watches[ASKED].revents != 0 &&
	    read(feed->watches[ASKED].fd, &count, sizeof count) < 0)
		return;
	while (feed->watches[CHANGES].revents != 0 &&
	       read(feed->watches[CHANGES].fd, events, sizeof events) > 0)
		continue;
}

/* Milliseconds until time, from 0 to most; most when time is 0. */
static int until(double time, int most)
{
	double left = (time - bpk_clock()) * 1000;

	if (time == 0 || left > most)
		return most;
	return left < 0 ? 0 : (int)left + 1;
}

int bpk_feed_wait(struct bpk_feed *feed, double time, struct bpk_err *err)
{
	double idle = feed->options.end.idle == 0 ? 0 : feed->grown + feed->options.end.idle;
	int timeout = until(time, feed->follows ? until(idle, LOOK_EVERY) : INT32_MAX);

	if (feed->follows && poll(feed->watches, CHANGES, timeout < REST ? timeout : REST) > 0)
		timeout = 0;
	if (poll(feed->watches, INPUT + 1, time == 0 && !feed->follows ? -1 : timeout) < 0 &&
	    errno != EINTR)
		return bpk_feed_fail(feed, errno, "poll", err);
	stop_the_bell(feed);
	return 0;
}

/* ---- waiting for a file ---- */

/* Where the file cannot be looked at, opening it says why. */
static bool is_missing(const char *path)
{
	struct stat found;
	bool there;

	return bpk_path_look(path, &found, &there, NULL) == 0 && !there;
}

static int await_missing(const char *path, const struct bpk_follow_options *options,
			 struct bpk_err *err)
{
	const struct bpk_feed_options feed_options = { .end = *options };
	struct bpk_feed feed;
	int rc;

	start(&feed, path, &feed_options);
	rc = watch_for_end(&feed, err);
	while (rc == 0 && is_missing(path) && !is_to_end(&feed))
		rc = bpk_feed_wait(&feed, bpk_clock() + MISSING / 1000.0, err);
	close_watches(&feed);
	return rc;
}

int bpk_archive_await(const char *path, const struct bpk_follow_options *options, bool *asked,
		      struct bpk_err *err)
{
	struct stat found;
	int rc = is_missing(path) ? await_missing(path, options, err) : 0;

	*asked = is_missing(path) && atomic_load(&end_asked);
	/* to open a FIFO would wait for its writer */
	if (rc == 0 && stat(path, &found) == 0 && !S_ISREG(found.st_mode))
		return fail_irregular(path, err);
	return rc;
}
