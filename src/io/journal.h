/*
 * Inside the room io: the undo journal of a file, .NAME.bpkj beside it. It holds what bytes of
 * the file were before they were written over, so that the file can be put back, or be read as it
 * was.
 *
 *      START | SAVED SAVED ... MARK | SAVED ... MARK | HEAD_NEXT MARK
 *            '--- synced before ----^ the MARK is written, then what was saved is written over
 *
 * (io/record.h has the records.) A record that is not whole counts as not there, unless a MARK
 * behind it says that it was: then the journal is damaged, and nothing is touched.
 *
 * A journal is valid for one open file: it belongs to that file's owner, was made for that device
 * and inode, and nobody else has written to the file since. Of the others some are not about this
 * file (a copy, a file that took the name, a stranger's): they are left alone, and the file is read
 * as it lies. One that is about it, but is damaged or contradicts it, is a failure, since the file
 * may be changed by half.
 */
#ifndef BPK_IO_JOURNAL_H
#define BPK_IO_JOURNAL_H

#include "io/beside.h"
#include "io/edit.h"
#include "io/identity.h"
#include "io/regions.h"

/* Caller storage, for bpk_journal_close. One thread's at a time; reading the file through it may be
 * done by many, as long as none changes it. */
struct bpk_journal {
	const struct bpk_beside *beside;
	int fd;                   /* -1: there is none */
	bool any_file;            /* use one that was made for another file, as the user wishes */
	struct bpk_identity file; /* which it must be about */
	bool whole;               /* its start is there, so the rest of this may be believed */
	uint64_t old_size;        /* of the file as it was */
	uint64_t end;             /* of the records that are whole */
	struct bpk_regions saved;
	struct bpk_buf start; /* the payload of START: what the file must look like */
	bool announces;       /* the commit had begun to write head */
	uint64_t head_offset;
	struct bpk_buf head;
};

void bpk_journal_init(struct bpk_journal *journal, const struct bpk_beside *beside);

/* Forget it, leaving the file where it is. Harmless when there is none. */
void bpk_journal_close(struct bpk_journal *journal);

/* ---- Writing ---- */

/*
 * Begin a journal of the file fd, whose content ends at old_size and which holds nothing that
 * matters in unused. Fails with BPK_FAILED; then none is there. bpk_journal_save makes it
 * durable.
 */
int bpk_journal_create(struct bpk_journal *journal, int fd, uint64_t old_size,
		       const struct bpk_region *unused, struct bpk_err *err);

/*
 * Save size bytes of the file fd at offset, as far as they were not saved before, announce head
 * (NULL: none), and make all that durable (sync). After a failure nothing of it counts; *unsynced
 * tells that a sync has failed.
 */
int bpk_journal_save(struct bpk_journal *journal, int fd, uint64_t offset, uint64_t size,
		     const struct bpk_edit_head *head, bool sync, bool *unsynced,
		     struct bpk_err *err);

/* Unlink it, if it is still there, and sync its folder. It may still be read until it is closed. */
int bpk_journal_unlink(struct bpk_journal *journal, struct bpk_err *err);
int bpk_journal_sync_folder(struct bpk_journal *journal, struct bpk_err *err);

/* ---- Reading ---- */

/*
 * Open the journal that is there for the file fd, if one is, and read it; with one open already,
 * read what was added. whole stays false when it was never finished, and the file untouched; fd
 * stays -1 where there is none. 1: it is not about the file, and err says so in a line ("its
 * journal NAME is not used: ..."). Fails with BPK_CORRUPT (damaged), BPK_UNSUPPORTED (of a later
 * version) or BPK_FAILED (may not be read).
 */
int bpk_journal_open(struct bpk_journal *journal, int fd, struct bpk_err *err);
int bpk_journal_load(struct bpk_journal *journal, struct bpk_err *err);

/* The line that says why it is not used. Returns 1. */
int bpk_journal_refuse(const struct bpk_journal *journal, struct bpk_err *err, const char *why);

/* Does the file fd hold what it did, but for what was saved? If not, BPK_CORRUPT. */
int bpk_journal_check(const struct bpk_journal *journal, int fd, struct bpk_err *err);

/* Read the file fd as it was: less than out.size only at its end. */
int bpk_journal_read_at(const struct bpk_journal *journal, int fd, uint64_t offset,
			struct bpk_span out, size_t *got, struct bpk_err *err);

/* ---- Putting back; the caller holds the writer lock ---- */

/* Write into the file fd what was saved, and give it its old size. Every record is tested again
 * before the first byte is written. */
int bpk_journal_put_back(const struct bpk_journal *journal, int fd, struct bpk_err *err);

/* Put back what a writer that died has left of the file fd, by the journal that is open, and remove
 * that. Fails with nothing done that would not be done again the next time. */
int bpk_journal_settle(struct bpk_journal *journal, int fd, bool sync, struct bpk_err *err);

#endif
