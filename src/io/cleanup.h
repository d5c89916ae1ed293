/*
 * Inside the room io: objects on disk that must go when a signal ends the process, for
 * bpk_draft_drop_all. One lock guards the list of them, the names of drafts, and the umask while it
 * is read.
 */
#ifndef BPK_IO_CLEANUP_H
#define BPK_IO_CLEANUP_H

#include "io/io.h"

/* Part of the struct that owns it; guarded by the lock. */
struct bpk_cleanup {
	/* Remove the owner's files from disk. The lock is held, and another thread may be
	 * writing. */
	void (*drop)(void *owner);
	void *owner;
	bool listed;
	struct bpk_cleanup *previous, *next;
};

/* Take the lock. Fails without it after bpk_draft_drop_all: nothing may begin or be kept any
 * more. */
int bpk_cleanup_lock(struct bpk_err *err);
void bpk_cleanup_unlock(void);

/* Take the lock in any case, to clean up. */
void bpk_cleanup_lock_always(void);

/* Add cleanup to the list; the lock is held. */
void bpk_cleanup_add(struct bpk_cleanup *cleanup, void (*drop)(void *owner), void *owner);

/* Remove cleanup from the list and call its drop, unless all were dropped already: then its names
 * may belong to another process. Takes the lock. Harmless on one that is not in the list. */
void bpk_cleanup_end(struct bpk_cleanup *cleanup);

/* The umask. Takes the lock. */
mode_t bpk_cleanup_umask(void);

#endif
