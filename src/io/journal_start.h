/*
 * Inside the room io: what the START of a journal says about the file that it belongs to.
 */
#ifndef BPK_IO_JOURNAL_START_H
#define BPK_IO_JOURNAL_START_H

#include "io/journal.h"

/* A START that is longer is none of ours. */
enum { BPK_JOURNAL_START_MAX = 4096 };

/* Fill journal->start from the file fd, leaving out what lies in unused. */
int bpk_journal_start_make(struct bpk_journal *journal, int fd, const struct bpk_region *unused,
			   struct bpk_err *err);

/* Is the payload in journal->start complete, and about journal->file? 1: it is not, and err says
 * why. Fails with BPK_UNSUPPORTED (of a later version). */
int bpk_journal_start_test(const struct bpk_journal *journal, struct bpk_err *err);

#endif
