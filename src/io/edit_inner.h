/*
 * Inside the room io: what an edit is, for the files that make it.
 */
#ifndef BPK_IO_EDIT_INNER_H
#define BPK_IO_EDIT_INNER_H

#include <pthread.h>
#include <stdatomic.h>

#include "io/journal.h"

struct bpk_edit {
	/* fixed after open */
	struct bpk_edit_options options;
	struct bpk_beside beside;
	struct bpk_source *source; /* the committed content; reads through the edit */
	struct bpk_sidecar *sidecar;

	/* held by every call that changes something, so that bpk_edit_drop_all comes between two */
	pthread_mutex_t busy;

	/* the edit's own thread writes these under busy, and what reads see under state_lock too */
	pthread_rwlock_t state_lock;
	int fd;
	uint64_t end; /* of the committed content */
	struct bpk_journal journal;
	struct bpk_region unused;    /* declared free */
	struct bpk_region unsampled; /* what was so when the journal appeared */
	struct bpk_draft *copy;      /* with options.copy: what is written to; NULL: nothing yet */
	bool dirty;                  /* something was written since the last commit */
	bool unsynced; /* a sync of the file itself failed: what it holds is unknown */
	bool broken;   /* some sync failed */

	/* guarded by the lock of the list */
	struct bpk_edit *previous, *next;
};

/* bpk_edit_drop_all was called; waiting for locks ends then. */
extern atomic_bool bpk_edit_dropped;

/* Around every call that changes something: take busy, or fail because nothing may be changed any
 * more; and give it back, handing on rc. */
int bpk_edit_enter(struct bpk_edit *edit, struct bpk_err *err);
int bpk_edit_leave(struct bpk_edit *edit, int rc);

/* Take the change lock: no reader sees the file until it is dropped. */
int bpk_edit_lock_readers_out(struct bpk_edit *edit, struct bpk_err *err);

/* The committed content ends at end; state_lock is held for writing. */
void bpk_edit_move_end(struct bpk_edit *edit, uint64_t end);

/* Undo what was not committed, in place; busy is held. */
int bpk_edit_undo(struct bpk_edit *edit, struct bpk_err *err);

/* fdatasync when it is wished; a failure breaks the edit. */
int bpk_edit_sync_file(struct bpk_edit *edit, struct bpk_err *err);

/* ---- By copies; busy is held ---- */

int bpk_edit_write_copy(struct bpk_edit *edit, uint64_t offset, struct bpk_view bytes,
			struct bpk_err *err);
int bpk_edit_sync_copy(struct bpk_edit *edit, struct bpk_err *err);
void bpk_edit_drop_copy(struct bpk_edit *edit);
int bpk_edit_commit_copy(struct bpk_edit *edit, const struct bpk_edit_head *head, uint64_t end,
			 struct bpk_err *err);

#endif
