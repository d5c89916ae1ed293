/*
 * Edits: a regular file changed in place, all or nothing. A part of the room's door.
 *
 * Whenever the process or the machine dies, the file holds its last committed content or can be
 * restored to it: before a byte below the committed end is overwritten, it is saved in an undo
 * journal, the new byte is announced there, and the journal is synced. The journal lies beside
 * the file, as .NAME.bpkj; its removal is the commit. A restore cuts off the bytes added behind
 * the end. A change that overwrites nothing a reader can reach (new bytes behind the end, bytes
 * declared free) needs no journal: one small write of the head is the commit.
 *
 *      write, write, write      behind the end: direct; below it: saved first
 *      commit                   sync; head in ONE write within a sector; sync; journal unlinked
 *
 * There are two locks (open file description locks on bytes far behind the end of any file). The
 * writer lock is held from open to close and excludes other writers only. The change lock is
 * exclusive while bytes are saved and during a commit, and readers share it for one fetch
 * (bpk_source_hold). A thread that holds a source of the file that it edits would wait for itself.
 */
#ifndef BPK_IO_EDIT_H
#define BPK_IO_EDIT_H

#include "io/io.h"

/* Belongs to one thread. */
struct bpk_edit;

/*
 * A change that brings back the content at the time of its last change: the file keeps that
 * time, whether the change is committed or undone, or is undone by the next such change after its
 * process died. is_as_then tells that one, of the file as it was committed, whether nobody else has
 * written to it since; false: it gets a new time. It may call bpk_edit_has_saved.
 */
struct bpk_edit_kept {
	struct timespec time;
	bool (*is_as_then)(void *arg, const struct bpk_edit *edit);
	void *arg;
};

struct bpk_edit_options {
	bool wait;    /* for another writer to end; otherwise fail after a moment */
	bool no_lock; /* go on where the file system has no locks */
	bool sync;    /* fdatasync file, journal and folder */

	/* Another program's lock counts too (io/sidecar.h). Open takes it, after ours; then the
	 * caller releases and takes it. */
	bool sidecar;

	/* True in *claimed if the caller can change place, a file or directory as last committed.
	 * Called before leftovers of another writer are settled. NULL: yes. */
	int (*claims)(const struct bpk_place *place, bool *claimed, struct bpk_err *err);

	/* For a directory: true if the file of that name, relative to the root, belongs to it.
	 * NULL: yes. */
	bool (*owns)(const char *name);

	/* The file whose replacement commits a change of a directory in a store; NULL: such a
	 * directory is not changed. Borrowed for as long as the directory is open. */
	const char *pivot;

	/* Of such a directory: the format numbers its files, so that two writers give the same
	 * names. */
	bool shares_names;

	/* Also settle a journal that was made for another file that this one is a copy of. Only
	 * when the user says so, for restored files. */
	bool any_journal;

	/* Called before each run of bytes is written, committed later or not, and with UINT64_MAX
	 * bytes before a file is replaced; by the thread of the edit. committed is the source of
	 * the edit. A failure is that of the write. NULL: nobody asks. */
	int (*writes)(void *arg, struct bpk_source *committed, uint64_t offset, uint64_t size,
		      struct bpk_err *err);
	void *writes_arg;

	/* The change keeps the file's time, and so has a journal (bpk_edit_need_journal). Open
	 * fails with BPK_FAILED if a change of another kind is pending. NULL: it does not. */
	const struct bpk_edit_kept *kept;

	/* Write a copy of the file and rename it into place at each commit, instead of changing the
	 * file: safe for every other reader at any instant, but breaks hard links. */
	bool copy;
};

/*
 * Open the regular file path (through links) for changing: take the writer lock, and undo the
 * change of a writer that died. Fails with BPK_FAILED: missing, no regular file, no permission, "is
 * being changed by another process", no locks here, a journal of another file ("its journal NAME is
 * not used: ..."), rejected by claims. Fails with BPK_CORRUPT when a journal is damaged, or when
 * another program has written to the file since; nothing is changed then.
 */
int bpk_edit_open(const char *path, const struct bpk_edit_options *options, struct bpk_edit **edit,
		  struct bpk_err *err);

/*
 * Set the function that reports a file that was changed in a copy, which took its place without all
 * its attributes of users or its access list. The thread of the edit calls it once a commit, with
 * the caller's path. NULL, as at first: nothing is reported.
 */
typedef void bpk_edit_lost_fn(const char *path);
void bpk_edit_on_lost(bpk_edit_lost_fn *tell);

/*
 * Remove the journal of the file path, or the list of changes of the directory path, under the
 * writer lock. It may be of any kind but a folder. The archive is left unchanged. *dropped is true
 * if there was one.
 */
int bpk_journal_drop(const char *path, const struct bpk_edit_options *options, bool *dropped,
		     struct bpk_err *err);

/* Undo uncommitted changes, unlock, free. NULL is harmless. */
void bpk_edit_close(struct bpk_edit *edit);

/*
 * The lock of another program, owned by the edit; NULL if there is no such lock or it is ignored.
 */
struct bpk_sidecar *bpk_edit_sidecar(const struct bpk_edit *edit);

/* The file as last committed, whatever was written since; seekable, owned by the edit. Any thread
 * may read it at offsets while the thread of the edit writes. */
struct bpk_source *bpk_edit_source(const struct bpk_edit *edit);

/*
 * Set the end of the committed content (at open: the file's size), so that bytes behind it may be
 * overwritten. Call it before the first write.
 */
void bpk_edit_set_end(struct bpk_edit *edit, uint64_t end);

/*
 * Declare that no reader can reach size bytes at offset, below the end (spare offset entries), so
 * that writing there needs no journal. One region at a time, until the next commit; size 0 ends it.
 * A journal that exists already excludes only the region that was free when it was created.
 */
void bpk_edit_set_free(struct bpk_edit *edit, uint64_t offset, uint64_t size);

/* Create a journal even when nothing is overwritten: for a format whose readers would see new bytes
 * behind the end. */
int bpk_edit_need_journal(struct bpk_edit *edit, struct bpk_err *err);

/* Save size bytes at offset. A file with several hard links fails here with BPK_FAILED: its journal
 * would be found under one name only. */
int bpk_edit_save(struct bpk_edit *edit, uint64_t offset, uint64_t size, struct bpk_err *err);

/* True if all of size bytes at offset that lie below the end of the content are saved. */
bool bpk_edit_has_saved(const struct bpk_edit *edit, uint64_t offset, uint64_t size);

/*
 * Write bytes at offset. Below the end of the committed content the old bytes are saved and the new
 * ones announced in the journal before, with one sync for each call. Of the first bytes behind the
 * end BPK_EDIT_FIRST, or all if they are fewer, are synced before the others are written: so after
 * a power cut at any moment the file ends there, or has some of these bytes and no others, or all
 * of them with anything behind. Not with a journal, which says the same.
 */
enum { BPK_EDIT_FIRST = 32 };

int bpk_edit_write_at(struct bpk_edit *edit, uint64_t offset, struct bpk_view bytes,
		      struct bpk_err *err);

/* The same, and save at_least bytes at offset in the same step: those that later writes will
 * overwrite. */
int bpk_edit_write_saving(struct bpk_edit *edit, uint64_t offset, struct bpk_view bytes,
			  uint64_t at_least, struct bpk_err *err);

/* Read back the content as it will be after the commit. The edit's own thread. */
int bpk_edit_read_at(struct bpk_edit *edit, uint64_t offset, struct bpk_span out,
		     struct bpk_err *err);

/* Return when everything written so far is on disk. */
int bpk_edit_sync(struct bpk_edit *edit, struct bpk_err *err);

/*
 * Commit everything written so far; the content then ends at end. head (may be NULL) is written
 * last, in one write that must not cross a multiple of 512 bytes. A failure leaves the old
 * content, on disk or by way of the journal, and says so. After a failed sync the state on disk
 * is unknown and every further call fails. After a commit more may be written and committed.
 * The name is compared before the commit and after it: if another file has it by now, the call
 * fails and says in which file the change is.
 *
 * The file ends at end if there was a journal and all bytes between end and the old end were saved:
 * always when the content grew, otherwise when its tail was passed to bpk_edit_save. Without that
 * the bytes behind end stay until they are trimmed or overwritten.
 */
struct bpk_edit_head {
	uint64_t offset;
	struct bpk_view bytes; /* at most 512 */
};

int bpk_edit_commit(struct bpk_edit *edit, const struct bpk_edit_head *head, uint64_t end,
		    struct bpk_err *err);

/* Undo everything written since the last commit and cut off the bytes behind the end. */
int bpk_edit_rollback(struct bpk_edit *edit, struct bpk_err *err);

/* Cut off the bytes behind the committed end. Nothing may have been written since the commit. */
int bpk_edit_trim(struct bpk_edit *edit, struct bpk_err *err);

/*
 * For a change that does not fit in place: begin a draft that will replace the file, and rename it
 * into place (takes draft; sync, rename, mode of the old file). The edit, its lock and its source
 * go on with the new file, whose content counts as committed. Uncommitted writes to the old file
 * are discarded.
 */
int bpk_edit_draft(struct bpk_edit *edit, struct bpk_draft **draft, struct bpk_err *err);
int bpk_edit_replace(struct bpk_edit *edit, struct bpk_draft *draft, struct bpk_err *err);

/*
 * For a copy that the caller can do without: check that draft can take the place of the file
 * unnoticed, and let bpk_edit_replace fail if another program changes the file meanwhile. Fails
 * with BPK_FAILED if the file has several hard links, an access list or attributes of users, or an
 * owner or a group that the draft does not get.
 */
int bpk_edit_check_copy(struct bpk_edit *edit, const struct bpk_draft *draft, struct bpk_err *err);

/* A step after a commit failed: say in err that the change is committed. Returns -1. */
int bpk_edit_fail_committed(struct bpk_err *err);

/* The same for reading the archive again after a commit. */
int bpk_edit_fail_reread(struct bpk_err *err);

/* For a process that a signal ends: undo the uncommitted changes of all open edits, and refuse
 * writes and commits from here on. Waits for a commit that has begun. Any thread. */
void bpk_edit_drop_all(void);

#endif
