/*
 * Inside the room io: wrong orders of commits, for tests of the tests. A program that is compiled
 * with BPK_MUTANTS has the fault whose number is in the variable BPK_MUTANT; any other has none.
 * tests/fault/teeth.sh holds that the sweeps notice each of them.
 */
#ifndef BPK_IO_MUTANT_H
#define BPK_IO_MUTANT_H

#include <stdbool.h>
#include <stdlib.h>

enum bpk_mutant {
	BPK_MUTANT_HEAD_BEFORE_SYNC = 1,    /* a head refers to bytes that are not on the disk */
	BPK_MUTANT_NO_JOURNAL = 2,          /* bytes are overwritten that nobody saved */
	BPK_MUTANT_JOURNAL_UNSYNCED = 3,    /* ... or whose journal is not on the disk */
	BPK_MUTANT_UNLINK_BEFORE_SYNC = 4,  /* a journal goes while its file is not on the disk */
	BPK_MUTANT_PIVOT_FIRST = 5,         /* a directory's index names files without a name */
	BPK_MUTANT_NAME_BEFORE_CONTENT = 6, /* a result gets its name and is not on the disk */
};

static inline bool bpk_is_mutant(enum bpk_mutant mutant)
{
#ifdef BPK_MUTANTS
	const char *text = getenv("BPK_MUTANT");

	return text != NULL && atoi(text) == (int)mutant;
#else
	(void)mutant;
	return false;
#endif
}

#endif
