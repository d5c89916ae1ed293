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
 */
#ifndef BPK_IO_JOURNAL_H
#define BPK_IO_JOURNAL_H

#include "io/beside.h"
#include "io/edit.h"
#include "io/regions.h"

/* Caller storage, for bpk_journal_close. One thread's at a time; reading the file through it may be
 * done by many, as long as none changes it. */
struct bpk_journal {
	const struct bpk_beside *beside;
	int fd;            /* -1: there is none */
	bool whole;        /* its start is there, so the rest of this may be believed */
	uint64_t old_size; /* of the file as it was */
	uint64_t end;      /* of the records that are whole */
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
 * Open the journal that is there and read it; with one open already, read what was added. whole
 * stays false when it was never finished. Fails with BPK_CORRUPT (damaged, or not one of ours),
 * with BPK_UNSUPPORTED (of a later version) or BPK_FAILED (may not be read, or belongs to a
 * stranger).
 */
int bpk_journal_open(struct bpk_journal *journal, struct bpk_err *err);
int bpk_journal_load(struct bpk_journal *journal, struct bpk_err *err);

/* Does it belong to the file fd as that is now? If not, BPK_CORRUPT. */
int bpk_journal_check(const struct bpk_journal *journal, int fd, struct bpk_err *err);

/* Read the file fd as it was: less than out.size only at its end. */
int bpk_journal_read_at(const struct bpk_journal *journal, int fd, uint64_t offset,
			struct bpk_span out, size_t *got, struct bpk_err *err);

/* Write into the file fd what was saved, and give it its old size. */
int bpk_journal_put_back(const struct bpk_journal *journal, int fd, struct bpk_err *err);

/*
 * Put back what a writer that died has left of the file fd, if anything; the caller holds the
 * writer lock. Fails, as above, with nothing done that would not be done again the next time.
 */
int bpk_journal_recover(const struct bpk_beside *beside, int fd, bool sync, struct bpk_err *err);

#endif
