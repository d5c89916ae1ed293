/*
 * Edits: a regular file changed in place, all or nothing. A part of the room's door.
 *
 * Whatever instant the process or the machine dies, the file is as it was last committed, or can
 * be put back: any byte below the committed end is saved in an undo journal, and the journal
 * synced, before it is written over. The journal lies beside the file, as .NAME.bpkj; its removal
 * is the commit. What was added behind the end is cut off when it is put back. Where nothing that
 * a reader can reach is written over (new bytes behind the end, bytes declared free), there is no
 * journal, and one small write of the head is the commit.
 *
 *      write, write, write      behind the end: straight; below it: saved first
 *      commit                   sync; head in ONE write within a sector; sync; journal unlinked
 *
 * Two locks (open file description locks on bytes far behind any file's end): the writer lock is
 * held from open to close and excludes writers only; the change lock is exclusive while bytes are
 * saved and while a commit takes place, and shared by readers for one fetch (bpk_source_hold). A
 * thread that holds such a source of the very file that it edits would wait for itself.
 */
#ifndef BPK_IO_EDIT_H
#define BPK_IO_EDIT_H

#include "io/io.h"

/* One thread's own. */
struct bpk_edit;

struct bpk_edit_options {
	bool wait;    /* until another writer has ended; else fail after a moment */
	bool no_lock; /* go on where the file system has no locks */
	bool sync;    /* fdatasync file, journal and folder */
	bool sidecar; /* another program's lock counts too (io/sidecar.h): it is taken at open,
			 behind ours, and it is the caller's to give and take from there on */
	/* Does place, a file or a directory as it was last committed, hold what the caller knows
	 * how to change? Asked before anything that a writer left there is settled. NULL: yes. */
	int (*claims)(const struct bpk_place *place, bool *claimed, struct bpk_err *err);
	bool (*owns)(const char *name); /* of a directory: is the file of that name, from the root,
					   a part of it? NULL: yes */
	bool any_journal; /* settle also what was left for a file that this is a copy of: by the
			     user's word, for what was restored */
	bool copy; /* leave the file alone, write a copy of it, and put that in its place at each
			 commit: safe for every other reader at any instant, but breaks hard
			 links */
};

/*
 * Open the regular file that path names (through links) for changing: take the writer lock, and put
 * back what a writer that died left behind.
 * Fails with BPK_FAILED: missing, no regular file, no permission, "is being changed by another
 * process", no locks here, a journal that is not about this file ("its journal NAME is not used:
 * ..."), not what claims wants; or with BPK_CORRUPT when a journal is damaged, or someone else has
 * written to the file since: nothing is touched then.
 */
int bpk_edit_open(const char *path, const struct bpk_edit_options *options, struct bpk_edit **edit,
		  struct bpk_err *err);

/*
 * Remove the journal of the file, or the list of changes of the directory, that path names,
 * whatever it is (but no folder), under the writer lock; the archive stays as it lies. *dropped:
 * there was one.
 */
int bpk_journal_drop(const char *path, const struct bpk_edit_options *options, bool *dropped,
		     struct bpk_err *err);

/* Undo what was not committed, unlock, free. NULL is harmless. */
void bpk_edit_close(struct bpk_edit *edit);

/* Owned by the edit; NULL: none is there, or it does not count. */
struct bpk_sidecar *bpk_edit_sidecar(const struct bpk_edit *edit);

/* The file as it was last committed, whatever was written since; seekable, owned by the edit. Any
 * thread may read it at offsets while the edit's own thread writes. */
struct bpk_source *bpk_edit_source(const struct bpk_edit *edit);

/*
 * Say where the committed content ends (at open: the file's size), so that what lies behind is free
 * to be written over. To be called before the first write.
 */
void bpk_edit_set_end(struct bpk_edit *edit, uint64_t end);

/* Say that size bytes at offset, below the end, hold nothing that a reader can reach (spare
 * offset entries): writing there needs no journal. One such region at a time, until the next
 * commit; size 0: none. A journal that is there already lets go only of what was free when it
 * appeared. */
void bpk_edit_set_free(struct bpk_edit *edit, uint64_t offset, uint64_t size);

/* Have a journal even when nothing is written over: for a format whose readers would see new bytes
 * behind the end. */
int bpk_edit_need_journal(struct bpk_edit *edit, struct bpk_err *err);

/* Save size bytes at offset in one step, which single writes would save piece by piece, each with
 * a sync. A file with several hard links fails here with BPK_FAILED: its journal would be found
 * under one name only. */
int bpk_edit_save(struct bpk_edit *edit, uint64_t offset, uint64_t size, struct bpk_err *err);

int bpk_edit_write_at(struct bpk_edit *edit, uint64_t offset, struct bpk_view bytes,
		      struct bpk_err *err);

/* Read back what was written, as it will be once it is committed. The edit's own thread. */
int bpk_edit_read_at(struct bpk_edit *edit, uint64_t offset, struct bpk_span out,
		     struct bpk_err *err);

/* What was written so far is on disk before anything that comes next. */
int bpk_edit_sync(struct bpk_edit *edit, struct bpk_err *err);

/*
 * Make everything written so far the committed content, which ends at end. head (NULL: none) is
 * written last, in one write that must not cross a multiple of 512 bytes; its bytes should have
 * been written to in no other way since the last commit. Failing, it leaves the content as it
 * was, on disk or by way of the journal, and says so; after a failed sync nothing is believed any
 * more and every further call fails. Afterwards more may be written and committed.
 *
 * Where there was a journal and nothing between end and the old end was left unsaved (so when the
 * content grew, or its tail was given to bpk_edit_save), the file ends at end; else what lies
 * behind end stays until it is trimmed or written over.
 */
struct bpk_edit_head {
	uint64_t offset;
	struct bpk_view bytes; /* at most 512 */
};

int bpk_edit_commit(struct bpk_edit *edit, const struct bpk_edit_head *head, uint64_t end,
		    struct bpk_err *err);

/* Undo what was written since the last commit; what lies behind the end is cut off. */
int bpk_edit_rollback(struct bpk_edit *edit, struct bpk_err *err);

/* Cut off what lies behind the committed end; nothing may have been written since the commit. */
int bpk_edit_trim(struct bpk_edit *edit, struct bpk_err *err);

/*
 * Where a change does not fit in place: begin a draft that will replace the file, and put it
 * there (takes draft; sync, rename, mode of the file that was there). The edit, its lock and its
 * source go on with the new file, whose content is committed as it is. What was written into the
 * old one since the last commit is forgotten.
 */
int bpk_edit_draft(struct bpk_edit *edit, struct bpk_draft **draft, struct bpk_err *err);
int bpk_edit_replace(struct bpk_edit *edit, struct bpk_draft *draft, struct bpk_err *err);

/* For the end of the process by a signal: undo what is not committed in all edits now open, and
 * let nothing be written or committed from here on (a commit that has begun is waited for). Any
 * thread. */
void bpk_edit_drop_all(void);

#endif
