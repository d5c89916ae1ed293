/*
 * Inside the room io: the two locks of a file, or of a directory's .lock file. They are open file
 * description locks on single bytes, far behind the end of any file. They belong to the descriptor
 * (and its duplicates): they end with the process, and closing another descriptor of the file does
 * not release them.
 *
 * The writer lock excludes writers. The change lock is shared by readers for one fetch, and taken
 * exclusively while their view of the file changes. A third byte, the gate in front of the change
 * lock, is passed by readers and kept by a writer that waits for them, so that a writer gets its
 * turn however many readers come and go.
 */
#ifndef BPK_IO_LOCK_H
#define BPK_IO_LOCK_H

#include <fcntl.h>
#include <stdatomic.h>
#include <time.h>

#include "base/base.h"

enum bpk_lock {
	BPK_LOCK_WRITER, /* exclusive; needs a descriptor open for writing */
	BPK_LOCK_CHANGE, /* exclusive; the same */
	BPK_LOCK_SEEN,   /* the change lock, shared; a descriptor open for reading suffices */
};

/* How long to wait, in milliseconds. */
enum {
	BPK_LOCK_TRY = 0,
	BPK_LOCK_MOMENT = 300,     /* for another writer */
	BPK_LOCK_LONG = 60 * 1000, /* for a fetch or a commit: longer than any takes */
	BPK_LOCK_WITHOUT_LIMIT = -1,
};

enum bpk_locked {
	BPK_LOCK_TAKEN,
	BPK_LOCK_BUSY,   /* still held by another when the wait ended */
	BPK_LOCK_ABSENT, /* the file system has no such locks */
	BPK_LOCK_FAILED, /* errno is set */
};

/* Convert the result of a locking call, and errno. */
enum bpk_locked bpk_lock_outcome(int rc);

/* Take a lock. When *stop turns true the wait ends with BPK_LOCK_BUSY; stop may be NULL. */
enum bpk_locked bpk_lock_take(int fd, enum bpk_lock lock, int patience, const atomic_bool *stop);

/*
 * Take a lock or fail with BPK_FAILED and a line about the file: "is being changed by another
 * process", or that the file system has no locks. no_lock turns the latter into success.
 */
int bpk_lock_need(int fd, enum bpk_lock lock, int patience, bool no_lock, const atomic_bool *stop,
		  struct bpk_err *err);

/* A way to take a lock of any kind. */
struct bpk_lock_attempt {
	enum bpk_locked (*once)(void *arg);
	void *arg;
	int fd;                     /* of the file that is locked */
	const struct flock *wanted; /* the lock requested there; NULL: a lock of another kind */
};

/*
 * The two halves of bpk_lock_need, for locks of another kind. try repeats until the lock is not
 * busy or the patience ends, and reports the wait after a second (bpk_on_wait). judge converts the
 * result; lock selects the message.
 */
enum bpk_locked bpk_lock_try(const struct bpk_lock_attempt *attempt, int patience,
			     const atomic_bool *stop);
int bpk_lock_judge(enum bpk_locked locked, enum bpk_lock lock, bool no_lock,
		   const atomic_bool *stop, struct bpk_err *err);

/* Milliseconds since start, a CLOCK_MONOTONIC time. */
long bpk_lock_since(const struct timespec *start);

/* Release a lock; harmless when it is not held. */
void bpk_lock_drop(int fd, enum bpk_lock lock);

/* True if another descriptor than fd holds the writer lock; or waits for all readers to finish. */
bool bpk_lock_has_writer(int fd);
bool bpk_lock_is_wanted(int fd);

#endif
