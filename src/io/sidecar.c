/* Taking part in another program's lock file. The frame formats call it, and edits and trees when
 * they open. */
#include "io/io.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

#include "io/edit/edit.h"
#include "io/full.h"
#include "io/lock.h"

enum {
	COUNTER_OFFSET = 8, /* of the counter, in the byte order of the machine */
	WHOLE_SIZE = 16,    /* of the file with its counter; it may be empty */
	LONG_TURN = 100,    /* ms of sharing after which readers pause */
	PAUSE = 1000000,    /* ns of such a pause */
	PAUSE_MAX = 1,      /* s that new readers wait for it at most */
};

struct bpk_sidecar {
	int fd; /* fixed after open */

	/* of a writer: belongs to one thread */
	int patience;
	bool no_lock;
	bool taken;
	bool counted;     /* it was taken before, and released with this counter in the file: */
	uint64_t counter; /* the value written last */

	/* of readers */
	pthread_mutex_t lock;
	pthread_cond_t paused;
	unsigned users, pauses; /* guarded by lock: threads that share now; number of pauses */
	bool bare;              /* guarded by lock: no lock is held: impossible, or needless */
	struct timespec since;  /* guarded by lock: the end of the last pause */
};

bool bpk_sidecar_is_name(const char *name)
{
	size_t size = strlen(name), own = sizeof BPK_SIDECAR - 1;

	return size >= own && strcmp(name + size - own, BPK_SIDECAR) == 0;
}

/* ---- Opening ---- */

/* Returns a descriptor, or -1 with errno. */
static int open_file(const char *path, bool is_directory, int flags, struct bpk_err *err)
{
	char *name;
	int fd, errnum;

	if (asprintf(&name, "%s%s" BPK_SIDECAR, path, is_directory ? "/" : "") < 0)
		return bpk_fail_memory(err, strlen(path));
	fd = bpk_full_open(name, flags | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	errnum = errno;
	free(name);
	errno = errnum;
	return fd;
}

/* Takes fd. */
static int wrap(int fd, struct bpk_sidecar **sidecar, struct bpk_err *err)
{
	struct bpk_sidecar *s = bpk_calloc(1, sizeof *s, err);

	if (s == NULL) {
		close(fd);
		return -1;
	}
	s->fd = fd;
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->paused, NULL);
	clock_gettime(CLOCK_MONOTONIC, &s->since);
	*sidecar = s;
	return 0;
}

int bpk_sidecar_open(const char *path, bool is_directory, struct bpk_sidecar **sidecar,
		     struct bpk_err *err)
{
	struct bpk_err why = { 0 };
	int fd = open_file(path, is_directory, O_RDONLY, &why);

	*sidecar = NULL;
	if (why.kind != BPK_OK)
		return bpk_fail_as(err, &why);
	if (fd >= 0)
		return wrap(fd, sidecar, err);
	/* a file that this user may not read cannot be locked; reading goes on without it */
	if (bpk_is_absent(errno) || errno == EACCES)
		return 0;
	return bpk_fail_errno(err, errno, BPK_SIDECAR ": cannot open");
}

/* Check the file: eight bytes of it will be written. */
static int check_file(int fd, struct bpk_err *err)
{
	struct stat found;

	if (fstat(fd, &found) != 0)
		return bpk_fail_errno(err, errno, BPK_SIDECAR ": fstat");
	if (!S_ISREG(found.st_mode))
		return bpk_fail(err, BPK_FAILED, BPK_SIDECAR ": is not a regular file");
	if (found.st_size > WHOLE_SIZE)
		return bpk_fail(err, BPK_FAILED,
				BPK_SIDECAR
				": is not a lock file: it has %jd bytes, expected at most "
				"%d",
				(intmax_t)found.st_size, WHOLE_SIZE);
	return 0;
}

/* *fd is a descriptor, or -1: there is no such file, or options say to ignore it. */
static int open_to_change(const char *path, bool is_directory, bool no_lock, int *fd,
			  struct bpk_err *err)
{
	struct bpk_err why = { 0 };

	*fd = open_file(path, is_directory, O_RDWR, &why);
	if (*fd < 0 && (errno == ENOENT || errno == ENAMETOOLONG) && why.kind == BPK_OK)
		return 0;
	if (*fd < 0 && why.kind == BPK_OK)
		bpk_fail_errno(&why, errno, BPK_SIDECAR ": cannot open");
	if (*fd >= 0 && check_file(*fd, &why) == 0)
		return 0;
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
	return no_lock ? 0 : bpk_fail_as(err, &why);
}

int bpk_sidecar_open_to_change(const char *path, bool is_directory,
			       const struct bpk_edit_options *options, struct bpk_sidecar **sidecar,
			       struct bpk_err *err)
{
	struct bpk_sidecar *s;
	int fd;

	*sidecar = NULL;
	if (!options->sidecar)
		return 0;
	if (open_to_change(path, is_directory, options->no_lock, &fd, err) != 0)
		return -1;
	if (fd < 0)
		return 0;
	if (wrap(fd, &s, err) != 0)
		return -1;
	s->patience = options->wait ? BPK_LOCK_WITHOUT_LIMIT : BPK_LOCK_MOMENT;
	s->no_lock = options->no_lock;
	if (bpk_sidecar_take(s, err) != 0) {
		bpk_sidecar_close(s);
		return -1;
	}
	*sidecar = s;
	return 0;
}

void bpk_sidecar_close(struct bpk_sidecar *s)
{
	if (s == NULL)
		return;
	close(s->fd); /* releases the locks */
	pthread_cond_destroy(&s->paused);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

/* ---- The lock ---- */

static enum bpk_locked lock_file(const struct bpk_sidecar *s, int operation)
{
	int rc;

	do
		rc = flock(s->fd, operation | LOCK_NB);
	while (rc != 0 && errno == EINTR);
	return bpk_lock_outcome(rc);
}

static void unlock_file(const struct bpk_sidecar *s)
{
	(void)flock(s->fd, LOCK_UN);
}

/* ---- Reading ---- */

/* A writer of bpk holds the writer lock on it too: readers need not wait for that one. */
static enum bpk_locked attempt_share(void *arg)
{
	struct bpk_sidecar *s = arg;
	enum bpk_locked locked = lock_file(s, LOCK_SH);

	s->bare = locked != BPK_LOCK_TAKEN;
	if (locked == BPK_LOCK_BUSY && !bpk_lock_has_writer(s->fd))
		return BPK_LOCK_BUSY;
	return BPK_LOCK_TAKEN;
}

static void wait_for_pause(struct bpk_sidecar *s)
{
	unsigned seen = s->pauses;
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += PAUSE_MAX;
	while (s->pauses == seen && pthread_cond_timedwait(&s->paused, &s->lock, &until) == 0)
		continue;
}

static int share(struct bpk_sidecar *s, struct bpk_err *err)
{
	const struct bpk_lock_attempt attempt = { attempt_share, s, s->fd, NULL };
	enum bpk_locked locked;

	if (s->users > 0 && bpk_lock_since(&s->since) >= LONG_TURN)
		wait_for_pause(s);
	if (s->users > 0 && !s->bare)
		return 0;
	locked = bpk_lock_try(&attempt, BPK_LOCK_LONG, NULL);
	return bpk_lock_judge(locked, BPK_LOCK_SEEN, true, NULL, err);
}

int bpk_sidecar_share(struct bpk_sidecar *s, struct bpk_err *err)
{
	int rc;

	if (s == NULL)
		return 0;
	pthread_mutex_lock(&s->lock);
	rc = share(s, err);
	s->users += rc == 0;
	pthread_mutex_unlock(&s->lock);
	return rc;
}

/* A process that waits for the lock polls or is woken, and needs a moment to take it. */
static void pause_sharing(struct bpk_sidecar *s)
{
	const struct timespec moment = { .tv_nsec = PAUSE };

	nanosleep(&moment, NULL);
	clock_gettime(CLOCK_MONOTONIC, &s->since);
	s->pauses++;
	pthread_cond_broadcast(&s->paused);
}

void bpk_sidecar_release(struct bpk_sidecar *s)
{
	if (s == NULL)
		return;
	pthread_mutex_lock(&s->lock);
	if (--s->users == 0) {
		if (!s->bare)
			unlock_file(s);
		if (bpk_lock_since(&s->since) >= LONG_TURN)
			pause_sharing(s);
	}
	pthread_mutex_unlock(&s->lock);
}

/* ---- Changing ---- */

static enum bpk_locked attempt_take(void *arg)
{
	return lock_file(arg, LOCK_EX);
}

/* The counter tells other programs that their knowledge of the archive is out of date, and tells us
 * too. */
static int count_change(struct bpk_sidecar *s, struct bpk_err *err)
{
	uint64_t counter = 0;
	struct bpk_span in_file = bpk_span(&counter, sizeof counter);
	size_t got;

	if (bpk_full_read_at(s->fd, COUNTER_OFFSET, in_file, &got, err) != 0)
		return bpk_err_subject(err, BPK_SIDECAR);
	if (got < sizeof counter)
		counter = 0;
	if (s->counted && counter != s->counter)
		return bpk_fail(err, BPK_FAILED, "was changed by another program meanwhile");
	s->counter = counter + 1;
	if (bpk_full_write_at(s->fd, COUNTER_OFFSET, bpk_view(&s->counter, sizeof s->counter),
			      err) != 0)
		return bpk_err_subject(err, BPK_SIDECAR);
	s->counted = true;
	return 0;
}

int bpk_sidecar_take(struct bpk_sidecar *s, struct bpk_err *err)
{
	struct bpk_lock_attempt attempt = { .once = attempt_take, .arg = s };
	enum bpk_locked locked;

	if (s == NULL || s->taken)
		return 0;
	attempt.fd = s->fd;
	locked = bpk_lock_try(&attempt, s->patience, &bpk_edit_dropped);
	if (bpk_lock_judge(locked, BPK_LOCK_WRITER, s->no_lock, &bpk_edit_dropped, err) != 0)
		return -1;
	s->taken = true;
	if (count_change(s, err) != 0) {
		bpk_sidecar_give(s);
		return -1;
	}
	/* tells readers of bpk not to wait; without it they wait a little */
	(void)bpk_lock_take(s->fd, BPK_LOCK_WRITER, BPK_LOCK_TRY, NULL);
	return 0;
}

void bpk_sidecar_give(struct bpk_sidecar *s)
{
	if (s == NULL || !s->taken)
		return;
	bpk_lock_drop(s->fd, BPK_LOCK_WRITER);
	unlock_file(s);
	s->taken = false;
}
