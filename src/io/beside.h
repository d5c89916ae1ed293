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

/* Find path. Fails with BPK_FAILED, "cannot open: ...", and returns 1 instead of -1 when the path
 * leads nowhere, or the real path is too long or out of reach of this process, as that of a
 * descriptor or of the present folder can be. */
int bpk_beside_find(const char *path, struct bpk_beside *beside, struct bpk_err *err);

/* The same for a file that is changed: its links are followed as io/link.h allows. Returns -1 for
 * any failure. */
int bpk_beside_find_to_change(const char *path, struct bpk_beside *beside, struct bpk_err *err);
void bpk_beside_clear(struct bpk_beside *beside);

/* The file name in an open folder; both are borrowed, and nothing is to be cleared. */
struct bpk_beside bpk_beside_in(int folder, const char *name);

/* Open the file itself; -1 with errno. It may be no regular file. */
int bpk_beside_open(const struct bpk_beside *beside, int flags);

/* Does the name lead to the file fd? */
int bpk_beside_is(const struct bpk_beside *beside, int fd, bool *same, struct bpk_err *err);

/* Is a journal there? Its stat; a file of another kind of that name counts. */
int bpk_beside_has_journal(const struct bpk_beside *beside, struct stat *found, bool *there,
			   struct bpk_err *err);

#endif
