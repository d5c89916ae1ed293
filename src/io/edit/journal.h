/*
 * Inside the room io: the undo journal of a file, .NAME.bpkj beside it. It holds the old content of
 * overwritten bytes, to restore the file or to read its old state.
 *
 *      START TIME | SAVED ... NEXT MARK | SAVED ... NEXT MARK | NEXT MARK
 *       '--- synced before --^ the MARK is written; after the MARK the file is overwritten
 *
 * TIME is in journals of changes that keep the file's time alone.
 *
 * (record.h describes the records.) An incomplete record counts as missing, unless a MARK behind
 * it proves that it was complete: then the journal is damaged, and nothing is changed.
 *
 * Saved bytes are overwritten only by the bytes of a NEXT. So each sector of them is the old one,
 * or the one after some NEXT, or the beginning of one and the end of the other where a write was
 * interrupted. Anything else was written by another program.
 *
 * A journal is valid for one open file: it belongs to that file's owner, was made for that device
 * and inode, and nobody else has written to the file since. A journal that is not about this file
 * (it was made for the original of a copy or for an earlier file of that name, or belongs to a
 * stranger) is ignored, and the file is read as it is. A journal that is about this file but
 * damaged, or that contradicts it, is a failure, because the file may be half changed.
 */
#ifndef BPK_IO_EDIT_JOURNAL_H
#define BPK_IO_EDIT_JOURNAL_H

#include "io/edit/resolved.h"
#include "io/edit.h"
#include "io/identity.h"
#include "io/edit/regions.h"

/* Caller storage, for bpk_journal_close. Belongs to one thread at a time; several threads may read
 * the file through it while nobody changes it. */
struct bpk_journal {
	const struct bpk_resolved *resolved;
	int fd;                   /* -1: there is no journal */
	bool any_file;            /* accept a journal of another file, as the user wishes */
	struct bpk_identity file; /* the file that it must be about */
	bool whole;               /* START was read; the members below are valid */
	uint64_t old_size;        /* of the file before the change */
	uint64_t end;             /* of the complete records */
	bool has_time;            /* TIME was read or written */
	uint64_t time;            /* the offset of TIME */
	bool keeps_time;          /* set by its user: put_back gives the file that time again */
	struct bpk_regions saved;
	struct bpk_buf start; /* the payload of START: samples of the file */
	struct bpk_buf next;  /* of a journal that was read: a bpk_region for each NEXT, in order */
};

/* Bytes that are about to be written at offset. */
struct bpk_journal_next {
	uint64_t offset;
	struct bpk_view bytes;
};

void bpk_journal_init(struct bpk_journal *journal, const struct bpk_resolved *resolved);

/* Release it, leaving the journal's file on disk. Harmless without a journal. */
void bpk_journal_close(struct bpk_journal *journal);

/* ---- Writing ---- */

/*
 * Begin a journal of the file fd, whose content ends at old_size. The bytes in unused are
 * unreachable for readers and are left out of the samples. The change keeps time; NULL: it does
 * not. Not durable before bpk_journal_save. Fails with BPK_FAILED; no journal exists then.
 */
int bpk_journal_create(struct bpk_journal *journal, int fd, uint64_t old_size,
		       const struct bpk_region *unused, const struct timespec *time,
		       struct bpk_err *err);

/*
 * Save the bytes of the file fd in both regions of saves that were not saved before, announce next,
 * and make all that durable if sync is set. A region of size 0, and no bytes in next, are nothing.
 * After a failure nothing of it counts; *unsynced is true if a sync has failed.
 */
int bpk_journal_save(struct bpk_journal *journal, int fd, const struct bpk_region saves[2],
		     const struct bpk_journal_next *next, bool sync, bool *unsynced,
		     struct bpk_err *err);

/* Unlink the journal if it still exists. It can be read until it is closed. */
int bpk_journal_unlink(struct bpk_journal *journal, struct bpk_err *err);
int bpk_journal_sync_folder(struct bpk_journal *journal, struct bpk_err *err);

/* ---- Reading ---- */

/*
 * open finds the journal of the file fd and reads it; load reads records added to an open journal.
 * whole stays false when the journal was never finished, so that the file is unchanged; journal->fd
 * stays -1 when there is no journal. Returns 1 if the journal is not about the file; err then says
 * so ("its journal NAME is not used: ..."). Fails with BPK_CORRUPT (damaged), BPK_UNSUPPORTED (a
 * later version) or BPK_FAILED (unreadable).
 */
int bpk_journal_open(struct bpk_journal *journal, int fd, struct bpk_err *err);
int bpk_journal_load(struct bpk_journal *journal, struct bpk_err *err);

/* Fill err with the line that says why the journal is not used. Returns 1. */
int bpk_journal_refuse(const struct bpk_journal *journal, struct bpk_err *err, const char *why);

/* Check that the file fd still has its old content outside the saved regions; otherwise
 * BPK_CORRUPT. */
int bpk_journal_check(const struct bpk_journal *journal, int fd, struct bpk_err *err);

/* Check that the saved regions of the file fd hold the old bytes or announced ones; otherwise
 * BPK_CORRUPT. Of no use while a writer is at work, whose writes may be seen half done. */
int bpk_journal_check_saved(const struct bpk_journal *journal, int fd, struct bpk_err *err);

/* Read the old content of the file fd; fewer bytes than out.size only at its end. */
int bpk_journal_read_at(const struct bpk_journal *journal, int fd, uint64_t offset,
			struct bpk_span out, size_t *got, struct bpk_err *err);

/* Fill err with the line that says that the file's byte at offset fits neither state. Returns
 * -1. */
int bpk_journal_fail_stranger(const struct bpk_journal *journal, uint64_t offset,
			      struct bpk_err *err);

/* ---- Times ---- */

/* A time as TIME has it. */
uint64_t bpk_journal_time(const struct timespec *time);

/* With keeps_time: give the file fd the time of before. A file system without times has none to
 * keep. */
void bpk_journal_set_time(const struct bpk_journal *journal, int fd);

/* fdatasync of the file fd, with that time if it is kept. Returns 0, or -1 with errno. */
int bpk_journal_sync_file(const struct bpk_journal *journal, int fd);

/* ---- Restoring; the caller holds the writer lock ---- */

/* Write the saved bytes back into the file fd and restore its size. Every record is tested again
 * before the first byte is written. */
int bpk_journal_put_back(const struct bpk_journal *journal, int fd, struct bpk_err *err);

/* True if the change of a journal that was read has written nothing, as far as that is certain:
 * bytes below the old end are announced before, and others make the file longer. Then nothing is
 * put back, and the file keeps its time. */
bool bpk_journal_is_untouched(const struct bpk_journal *journal, int fd);

/* Restore the file fd by the open journal of a writer that died, and remove the journal. After a
 * failure the next call can repeat everything. */
int bpk_journal_settle(struct bpk_journal *journal, int fd, bool sync, struct bpk_err *err);

#endif
