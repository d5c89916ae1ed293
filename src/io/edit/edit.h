/* Inside the room io: the members of an edit, for the files of edit/, sidecar.c and
 * tree/commit.c. */
#ifndef BPK_IO_EDIT_EDIT_H
#define BPK_IO_EDIT_EDIT_H

#include <pthread.h>
#include <stdatomic.h>

#include "io/edit/journal.h"

struct bpk_edit {
	/* fixed after open */
	struct bpk_edit_options options;
	struct bpk_resolved resolved;
	struct bpk_source *source; /* the committed content; reads through the edit */
	struct bpk_sidecar *sidecar;

	/* held by every call that changes something, so that bpk_edit_drop_all runs between two of
	 * them */
	pthread_mutex_t busy;

	/* the edit's own thread writes these under busy; members that reads use, under state_lock
	 * too */
	pthread_rwlock_t state_lock;
	int fd;
	uint64_t end; /* of the committed content */
	struct bpk_journal journal;
	struct bpk_region unused;    /* declared free */
	struct bpk_region unsampled; /* the value of unused when the journal was created */
	struct bpk_draft *copy;      /* with options.copy: the new file; NULL: not begun */
	bool compares;               /* a draft replaces the file only as it is in seen */
	struct stat seen;
	bool dirty;    /* something was written since the last commit */
	bool restored; /* the last undoing put every saved byte back */
	bool unsynced; /* a sync of the file itself failed: its state on disk is unknown */
	bool broken;   /* some sync failed */

	/* guarded by the lock of the list */
	struct bpk_edit *previous, *next;
};

/* bpk_edit_drop_all was called; waits for locks then end. */
extern atomic_bool bpk_edit_dropped;

/* Around every call that changes something: enter takes busy, or fails because nothing may be
 * changed any more; leave releases it and returns rc. */
int bpk_edit_enter(struct bpk_edit *edit, struct bpk_err *err);
int bpk_edit_leave(struct bpk_edit *edit, int rc);

/* Tell the caller of bytes that will be written, which it may refuse. */
static inline int bpk_edit_tell(const struct bpk_edit *edit, uint64_t offset, uint64_t size,
				struct bpk_err *err)
{
	const struct bpk_edit_options *options = &edit->options;

	if (options->writes == NULL || size == 0)
		return 0;
	return options->writes(options->writes_arg, edit->source, offset, size, err);
}

/* Take the change lock: no reader sees the file until it is released. */
int bpk_edit_lock_readers_out(struct bpk_edit *edit, struct bpk_err *err);

/* Set the end of the committed content; state_lock is held for writing. */
void bpk_edit_move_end(struct bpk_edit *edit, uint64_t end);

/* Fails with BPK_FAILED if the file has several hard links. */
int bpk_edit_need_one_name(const struct bpk_edit *edit, struct bpk_err *err);

/* Undo uncommitted changes in place; busy is held. */
int bpk_edit_undo(struct bpk_edit *edit, struct bpk_err *err);

/* Call fdatasync if options.sync is set; a failure breaks the edit. */
int bpk_edit_sync_file(struct bpk_edit *edit, struct bpk_err *err);

/* ---- With options.copy; busy is held ---- */

int bpk_edit_write_copy(struct bpk_edit *edit, uint64_t offset, struct bpk_view bytes,
			struct bpk_err *err);
int bpk_edit_sync_copy(struct bpk_edit *edit, struct bpk_err *err);
void bpk_edit_drop_copy(struct bpk_edit *edit);
int bpk_edit_commit_copy(struct bpk_edit *edit, const struct bpk_edit_head *head, uint64_t end,
			 struct bpk_err *err);

#endif
