/* Inside the room io: removing a directory file by file. Only files known to be ours are removed,
 * and no link is followed. For trees, --rm and draft_name.c. */
#ifndef BPK_IO_TREE_ERASE_H
#define BPK_IO_TREE_ERASE_H

#include <limits.h>

#include "io/io.h"

/* True if a leftover of a dead writer may be removed: it belongs to the folder's owner or to us. */
bool bpk_erase_may(uid_t owner, const struct stat *found);

/* An entry below a folder that is not ours, and a digest of the files that are. */
struct bpk_stranger {
	char name[PATH_MAX]; /* relative to the folder; empty: all entries are ours */

	/* A digest of names, inodes, sizes and times of all files except locks, lists and drafts,
	 * whatever their order. */
	uint64_t seen;
};

/*
 * Examine everything below folder and report the first stranger. Ours are folders and locks, lists
 * and drafts that belong to folder's owner or to the user, and other regular files that ours
 * accepts (NULL: all of them). Fails with errno's line when a folder cannot be read.
 */
int bpk_erase_vet(int folder, bool (*ours)(const char *name), struct bpk_stranger *stranger,
		  struct bpk_err *err);

/*
 * Remove the files that vet counts as ours, and the folders left empty, except folder itself. A
 * file that another process removes at the same time is no failure.
 */
int bpk_erase_below(int folder, bool (*ours)(const char *name), struct bpk_stranger *stranger,
		    struct bpk_err *err);

/*
 * The same, and then remove the folder itself, which is open as folder and has that name in parent.
 * It stays if it holds a stranger. A writer that finds it locked may leave another lock in it,
 * which is removed, too.
 */
int bpk_erase_folder(int parent, const char *name, int folder, bool (*ours)(const char *name),
		     struct bpk_stranger *stranger, struct bpk_err *err);

/* Remove the drafts of files below folder that no living process holds and that belong to folder's
 * owner or to the user. Entries that cannot be examined are skipped. */
void bpk_erase_drafts(int folder);

#endif
