/*
 * Inside the room io: objects on disk that must go when a signal ends the process, for
 * bpk_draft_drop_all. One lock guards the list of them, the names of drafts, and the umask while it
 * is read.
 */
#ifndef BPK_IO_LIVE_H
#define BPK_IO_LIVE_H

#include "io/io.h"

/* Part of the struct that owns it; guarded by the lock. */
struct bpk_live {
	/* Remove the owner's files from disk. The lock is held, and another thread may be
	 * writing. */
	void (*drop)(void *owner);
	void *owner;
	bool listed;
	struct bpk_live *previous, *next;
};

/* Take the lock. Fails without it after bpk_draft_drop_all: nothing may begin or be kept any
 * more. */
int bpk_live_enter(struct bpk_err *err);
void bpk_live_leave(void);

/* Take the lock in any case, to clean up. */
void bpk_live_hold(void);

/* Add live to the list; the lock is held. */
void bpk_live_add(struct bpk_live *live, void (*drop)(void *owner), void *owner);

/* Remove live from the list and call its drop, unless all were dropped already: then its names may
 * belong to another process. Takes the lock. Harmless on one that is not in the list. */
void bpk_live_end(struct bpk_live *live);

/* The umask. Takes the lock. */
mode_t bpk_live_umask(void);

#endif
