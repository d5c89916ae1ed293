/*
 * Inside the room io: what is on disk and must go when a signal ends the process, for
 * bpk_draft_drop_all. One lock keeps its list, names of drafts and the umask.
 */
#ifndef BPK_IO_LIVE_H
#define BPK_IO_LIVE_H

#include "io/io.h"

/* In the struct that owns it; guarded by the lock. */
struct bpk_live {
	/* Remove what owner has on disk; the lock is held, and another thread may be writing. */
	void (*drop)(void *owner);
	void *owner;
	bool listed;
	struct bpk_live *previous, *next;
};

/* Take the lock; fails, without it, when all were dropped: nothing begins or is kept any more. */
int bpk_live_enter(struct bpk_err *err);
void bpk_live_leave(void);

/* Take it all the same, to put things in order. */
void bpk_live_hold(void);

/* Have it dropped with all others from here on; the lock is held. */
void bpk_live_add(struct bpk_live *live, void (*drop)(void *owner), void *owner);

/* Drop it now, unless all were dropped already: then the names may be another process's. The lock
 * is not held. Harmless on one that is not in the list. */
void bpk_live_end(struct bpk_live *live);

/* The umask; the lock is not held. */
mode_t bpk_live_umask(void);

#endif
