/* Inside the room io: a regular file by its folder and its name there, with all links resolved, and
 * the names beside it. */
#ifndef BPK_IO_EDIT_RESOLVED_H
#define BPK_IO_EDIT_RESOLVED_H

#include <limits.h>

#include "io/io.h"

/* Caller storage; for bpk_resolved_clear. */
struct bpk_resolved {
	char *path;  /* of a file to be changed: absolute, without links */
	char *given; /* of a file to be changed: its path as the caller has it */
	const char *name;
	int folder; /* may be open with O_PATH only, when it cannot be read */
	char journal[NAME_MAX + 1];
};

/* True for .NAME.bpkj, without a folder in front. */
bool bpk_resolved_is_journal_name(const char *name);

/*
 * Find path; *found is the stat of the name that it leads to, never of a link, and all zero if the
 * name is gone meanwhile. Fails with BPK_FAILED, "cannot open: ...". Returns 1 instead of -1 when
 * path leads nowhere, or when its real path is too long or not accessible to this process, as the
 * path of a descriptor can be. The real path is looked for only if the last part of path is a link.
 */
int bpk_resolved_find(const char *path, struct bpk_resolved *resolved, struct stat *found,
		      struct bpk_err *err);

/* The same for a file to be changed: links are followed as io/link.h allows. Returns -1 for any
 * failure. */
int bpk_resolved_find_to_change(const char *path, struct bpk_resolved *resolved,
				struct bpk_err *err);
void bpk_resolved_clear(struct bpk_resolved *resolved);

/* The file name in an open folder. Both are borrowed; the result needs no clear. */
struct bpk_resolved bpk_resolved_in(int folder, const char *name);

/* Open the file itself, which may be no regular file. Returns -1 with errno. */
int bpk_resolved_open(const struct bpk_resolved *resolved, int flags);

/* *same is true if the name leads to the file fd. */
int bpk_resolved_is(const struct bpk_resolved *resolved, int fd, bool *same, struct bpk_err *err);

/*
 * Check, at the commit of a change of the file fd, that the name leads to it. Fails with
 * BPK_FAILED: "was replaced by another file while it was changed; ...". The line says where the
 * change is; committed is true if it is in the file fd, and then no failure to look counts.
 */
int bpk_resolved_check(const struct bpk_resolved *resolved, int fd, bool committed,
		       struct bpk_err *err);

/* *there is true if the journal's name exists, as a file of any kind; *found is its stat. */
int bpk_resolved_has_journal(const struct bpk_resolved *resolved, struct stat *found, bool *there,
			     struct bpk_err *err);

#endif
