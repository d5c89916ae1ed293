/*
 * Inside the room io: a regular file by its real path, after all links, and what lies beside it.
 */
#ifndef BPK_IO_BESIDE_H
#define BPK_IO_BESIDE_H

#include <limits.h>

#include "io/io.h"

/* Caller storage; for bpk_beside_clear. */
struct bpk_beside {
	char *path; /* absolute, without links */
	const char *name;
	int folder; /* may be open with O_PATH only, when it cannot be read */
	char journal[NAME_MAX + 1];
};

/* True of .NAME.bpkj, without a folder in front. */
bool bpk_beside_is_journal(const char *name);

/* Find path. Fails with BPK_FAILED: "cannot open: ...". */
int bpk_beside_find(const char *path, struct bpk_beside *beside, struct bpk_err *err);
void bpk_beside_clear(struct bpk_beside *beside);

/* Open the file itself; -1 with errno. It may be no regular file. */
int bpk_beside_open(const struct bpk_beside *beside, int flags);

/* The name leads to the file fd. */
bool bpk_beside_is(const struct bpk_beside *beside, int fd);

/* Is a journal there? Its stat; a file of another kind of that name counts. */
bool bpk_beside_has_journal(const struct bpk_beside *beside, struct stat *found);

#endif
