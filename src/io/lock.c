/* Locks on bytes of a file, with waiting. Sources, edits, trees and sidecars call it. */
#include "io/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "io/io.h"

/* Bytes that no file reaches. Every system with 64-bit offsets can lock them. */
#define WRITER_BYTE ((off_t)1 << 62)
#define GATE_BYTE   (WRITER_BYTE + 1)
#define CHANGE_BYTE (WRITER_BYTE + 2) /* next to the gate: one call takes both */

enum {
	FIRST_NAP = 50 * 1000,         /* ns between the first two tries */
	LONGEST_NAP = 2 * 1000 * 1000, /* ns between later tries */
	TELL_AFTER = 1000, /* ms until a wait is reported; commits and fetches take less */
};

enum bpk_locked bpk_lock_outcome(int rc)
{
	if (rc == 0)
		return BPK_LOCK_TAKEN;
	switch (errno) {
	case EAGAIN:
	case EACCES:
		return BPK_LOCK_BUSY;
	case EINVAL:
	case ENOLCK:
	case ENOSYS:
	case EOPNOTSUPP:
		return BPK_LOCK_ABSENT;
	default:
		return BPK_LOCK_FAILED;
	}
}

/* A lock on bytes of a file. */
struct request {
	int fd;
	struct flock flock;
};

static enum bpk_locked attempt_set(void *arg)
{
	struct request *request = arg;
	int rc;

	do
		rc = fcntl(request->fd, F_OFD_SETLK, &request->flock);
	while (rc != 0 && errno == EINTR);
	return bpk_lock_outcome(rc);
}

static struct request request_of(int fd, short type, off_t start, off_t size)
{
	return (struct request){
		.fd = fd,
		.flock = { .l_type = type, .l_whence = SEEK_SET, .l_start = start, .l_len = size },
	};
}

static void unset(int fd, off_t start, off_t size)
{
	struct request request = request_of(fd, F_UNLCK, start, size);

	(void)attempt_set(&request);
}

long bpk_lock_since(const struct timespec *start)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (now.tv_sec - start->tv_sec) * 1000 + (now.tv_nsec - start->tv_nsec) / 1000000;
}

/* ---- Waiting ---- */

static _Atomic(bpk_wait_fn *) tell_of_wait;

void bpk_on_wait(bpk_wait_fn *tell)
{
	tell_of_wait = tell;
}

/* A process that holds a lock for so long is stopped, or is another program. Locks of open file
 * descriptions, such as ours, name no process. */
static void tell_waiting(int fd, const struct flock *wanted)
{
	bpk_wait_fn *tell = tell_of_wait;
	struct flock holder = wanted != NULL ? *wanted : (struct flock){ .l_pid = -1 };
	char link[sizeof "/proc/self/fd/" + 16], path[PATH_MAX], who[48] = "another process";
	ssize_t size;

	if (tell == NULL)
		return;
	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	size = readlink(link, path, sizeof path - 1);
	path[size > 0 ? size : 0] = '\0';
	if (wanted != NULL && fcntl(fd, F_OFD_GETLK, &holder) == 0 && holder.l_type != F_UNLCK &&
	    holder.l_pid > 0)
		snprintf(who, sizeof who, "process %ld", (long)holder.l_pid);
	tell(path[0] != '\0' ? path : NULL, who);
}

/*
 * Polls instead of calling F_OFD_SETLKW: no other thread could end that call, and on some network
 * file systems it is no fairer.
 */
enum bpk_locked bpk_lock_try(const struct bpk_lock_attempt *attempt, int patience,
			     const atomic_bool *stop)
{
	struct timespec nap = { .tv_nsec = FIRST_NAP };
	struct timespec start;
	enum bpk_locked locked = attempt->once(attempt->arg);
	bool told = false;

	if (locked != BPK_LOCK_BUSY || patience == BPK_LOCK_TRY)
		return locked;
	clock_gettime(CLOCK_MONOTONIC, &start);
	while (locked == BPK_LOCK_BUSY && (patience < 0 || bpk_lock_since(&start) < patience) &&
	       (stop == NULL || !atomic_load(stop))) {
		if (!told && bpk_lock_since(&start) >= TELL_AFTER) {
			told = true;
			tell_waiting(attempt->fd, attempt->wanted);
		}
		nanosleep(&nap, NULL);
		if (nap.tv_nsec < LONGEST_NAP)
			nap.tv_nsec *= 2;
		locked = attempt->once(attempt->arg);
	}
	return locked;
}

static enum bpk_locked wait_to_set(int fd, short type, off_t start, off_t size, int patience,
				   const atomic_bool *stop)
{
	struct request request = request_of(fd, type, start, size);
	const struct bpk_lock_attempt attempt = { attempt_set, &request, fd, &request.flock };

	return bpk_lock_try(&attempt, patience, stop);
}

enum bpk_locked bpk_lock_take(int fd, enum bpk_lock lock, int patience, const atomic_bool *stop)
{
	enum bpk_locked locked;

	switch (lock) {
	case BPK_LOCK_WRITER:
		return wait_to_set(fd, F_WRLCK, WRITER_BYTE, 1, patience, stop);
	case BPK_LOCK_SEEN:
		locked = wait_to_set(fd, F_RDLCK, GATE_BYTE, 2, patience, stop);
		if (locked == BPK_LOCK_TAKEN)
			unset(fd, GATE_BYTE, 1);
		return locked;
	case BPK_LOCK_CHANGE:
		locked = wait_to_set(fd, F_WRLCK, GATE_BYTE, 1, patience, stop);
		if (locked == BPK_LOCK_TAKEN)
			locked = wait_to_set(fd, F_WRLCK, CHANGE_BYTE, 1, patience, stop);
		if (locked != BPK_LOCK_TAKEN)
			bpk_lock_drop(fd, lock);
		return locked;
	}
	return BPK_LOCK_FAILED;
}

static int fail_busy(enum bpk_lock lock, const atomic_bool *stop, struct bpk_err *err)
{
	if (stop != NULL && atomic_load(stop))
		return bpk_fail(err, BPK_FAILED, "interrupted");
	switch (lock) {
	case BPK_LOCK_CHANGE:
		return bpk_fail(err, BPK_FAILED,
				"cannot be changed: a reader has held its lock for a minute");
	case BPK_LOCK_SEEN:
		return bpk_fail(err, BPK_FAILED,
				"cannot be read: a writer has held its lock for a minute");
	case BPK_LOCK_WRITER:
		break;
	}
	return bpk_fail(err, BPK_FAILED, "is being changed by another process");
}

int bpk_lock_judge(enum bpk_locked locked, enum bpk_lock lock, bool no_lock,
		   const atomic_bool *stop, struct bpk_err *err)
{
	switch (locked) {
	case BPK_LOCK_TAKEN:
		return 0;
	case BPK_LOCK_BUSY:
		return fail_busy(lock, stop, err);
	case BPK_LOCK_ABSENT:
		if (no_lock)
			return 0;
		return bpk_fail_errno(err, errno,
				      "cannot be locked here (--no-lock goes on without)");
	case BPK_LOCK_FAILED:
		break;
	}
	return bpk_fail_errno(err, errno, "lock");
}

int bpk_lock_need(int fd, enum bpk_lock lock, int patience, bool no_lock, const atomic_bool *stop,
		  struct bpk_err *err)
{
	return bpk_lock_judge(bpk_lock_take(fd, lock, patience, stop), lock, no_lock, stop, err);
}

void bpk_lock_drop(int fd, enum bpk_lock lock)
{
	int errnum = errno;

	if (lock == BPK_LOCK_WRITER)
		unset(fd, WRITER_BYTE, 1);
	else
		unset(fd, GATE_BYTE, 2);
	errno = errnum;
}

static bool is_set(int fd, off_t start)
{
	/* a shared lock does not conflict with other shared locks */
	struct flock found = {
		.l_type = F_RDLCK, .l_whence = SEEK_SET, .l_start = start, .l_len = 1
	};

	return fcntl(fd, F_OFD_GETLK, &found) == 0 && found.l_type != F_UNLCK;
}

bool bpk_lock_has_writer(int fd)
{
	return is_set(fd, WRITER_BYTE);
}

bool bpk_lock_is_wanted(int fd)
{
	return is_set(fd, GATE_BYTE);
}
