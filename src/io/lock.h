/*
 * Inside the room io: the two locks of a file, or of a directory's .lock file: open file
 * description locks on single bytes, far behind the end of any file. They belong to the
 * descriptor (and its duplicates), so they end with the process, and closing another descriptor
 * of the file leaves them.
 *
 * The writer lock excludes writers. The change lock is shared by readers for one fetch and taken
 * exclusively for the moments in which what they see changes. A third byte, the gate in front of
 * the change lock, is passed through by readers and kept by who waits for them: so a writer gets
 * its turn however many readers come and go.
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
	BPK_LOCK_SEEN,   /* the change lock, shared; a descriptor open for reading will do */
};

/* How long to wait, in milliseconds. */
enum {
	BPK_LOCK_TRY = 0,
	BPK_LOCK_MOMENT = 300,     /* for another writer */
	BPK_LOCK_LONG = 60 * 1000, /* for a fetch or a commit to end: more than any takes */
	BPK_LOCK_WITHOUT_LIMIT = -1,
};

enum bpk_locked {
	BPK_LOCK_TAKEN,
	BPK_LOCK_BUSY,   /* another holds it, and patience has ended */
	BPK_LOCK_ABSENT, /* the file system has no such locks */
	BPK_LOCK_FAILED, /* errno says why */
};

/* Of a locking call's result, and errno. */
enum bpk_locked bpk_lock_outcome(int rc);

/* Take a lock. stop (NULL: nothing does) ends the waiting as BPK_LOCK_BUSY when it turns true. */
enum bpk_locked bpk_lock_take(int fd, enum bpk_lock lock, int patience, const atomic_bool *stop);

/*
 * The same for those who cannot do without: fails with BPK_FAILED, in a line about the file: "is
 * being changed by another process", or that there are no locks here, which no_lock makes good.
 */
int bpk_lock_need(int fd, enum bpk_lock lock, int patience, bool no_lock, const atomic_bool *stop,
		  struct bpk_err *err);

/* How to take a lock of any kind. */
struct bpk_lock_attempt {
	enum bpk_locked (*once)(void *arg);
	void *arg;
	int fd;                     /* of the file that is locked */
	const struct flock *wanted; /* what is asked for there; NULL: a lock of another kind */
};

/* The two halves of that, for locks of another kind: try until it is not busy any more, or patience
 * ends, telling of it after a second (bpk_on_wait); and what comes of that. lock says what for, in
 * the line. */
enum bpk_locked bpk_lock_try(const struct bpk_lock_attempt *attempt, int patience,
			     const atomic_bool *stop);
int bpk_lock_judge(enum bpk_locked locked, enum bpk_lock lock, bool no_lock,
		   const atomic_bool *stop, struct bpk_err *err);

/* Milliseconds since start, which CLOCK_MONOTONIC gave. */
long bpk_lock_since(const struct timespec *start);

/* Give it back; harmless when it is not held. */
void bpk_lock_drop(int fd, enum bpk_lock lock);

/* Another descriptor than fd holds the writer lock; or waits for all readers to let go. */
bool bpk_lock_has_writer(int fd);
bool bpk_lock_is_wanted(int fd);

#endif
