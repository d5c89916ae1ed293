/*
 * Inside the room io: a directory removed file by file, only what is known to be ours, and never
 * through a link.
 */
#ifndef BPK_IO_ERASE_H
#define BPK_IO_ERASE_H

#include <limits.h>

#include "io/io.h"

/* May what a writer that died left be removed, in a folder of that owner: is it theirs or ours? */
bool bpk_erase_may(uid_t owner, const struct stat *found);

/* Something below a folder that is not ours. */
struct bpk_stranger {
	char name[PATH_MAX]; /* from the folder; empty: there is none */
	uint64_t seen; /* of a vetting: a digest of names, inodes, sizes and times of all files but
			  locks, lists and drafts; the order in which they are met is no matter */
};

/*
 * Look at everything below folder: folders and locks are ours, so are lists and drafts that belong
 * to folder's owner or to the user, and other regular files when ours says so (NULL: all of them);
 * nothing else is. Fails with errno's line when a folder cannot be read.
 */
int bpk_erase_vet(int folder, bool (*ours)(const char *name), struct bpk_stranger *stranger,
		  struct bpk_err *err);

/*
 * Remove what vet finds to be ours, and the folders that this leaves empty, but folder itself. What
 * goes away at the same time by another's hand is no failure.
 */
int bpk_erase_below(int folder, bool (*ours)(const char *name), struct bpk_stranger *stranger,
		    struct bpk_err *err);

/* Remove the drafts of files below folder that no living process holds, and that belong to folder's
 * owner or to the user; what cannot be looked at is left out. */
void bpk_erase_drafts(int folder);

#endif
