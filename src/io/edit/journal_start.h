/* Inside the room io: the payload of a journal's START, which identifies the file. For the other
 * journal files. */
#ifndef BPK_IO_EDIT_JOURNAL_START_H
#define BPK_IO_EDIT_JOURNAL_START_H

#include "io/edit/journal.h"

/* A longer START was not written by bpk. */
enum { BPK_JOURNAL_START_MAX = 4096 };

/* Fill journal->start from the file fd, without the bytes in unused. */
int bpk_journal_start_make(struct bpk_journal *journal, int fd, const struct bpk_region *unused,
			   struct bpk_err *err);

/* Check that the payload in journal->start is complete and about journal->file. Returns 1 if it is
 * not; err then says why. Fails with BPK_UNSUPPORTED (a later version). */
int bpk_journal_start_test(const struct bpk_journal *journal, struct bpk_err *err);

/*
 * A sample of a truncated START, whose payload has present bytes left at position: the bytes left
 * of it, their offset in the file, and their place in the journal. False when no more samples are
 * left, or the START is not about journal->file.
 */
bool bpk_journal_start_sample(const struct bpk_journal *journal, uint64_t position,
			      uint64_t present, uint64_t old_size, size_t number,
			      struct bpk_region *sample);

#endif
