/*
 * Inside the room io: files below a folder, never through a link and never outside of it. Names
 * were checked (io/dir_ops.h); "" is the folder itself.
 */
#ifndef BPK_IO_BENEATH_H
#define BPK_IO_BENEATH_H

#include "io/io.h"

/*
 * openat with openat2's RESOLVE_BENEATH, RESOLVE_NO_SYMLINKS and RESOLVE_NO_MAGICLINKS, or where
 * that is not known, part by part with O_NOFOLLOW. O_CLOEXEC, O_NOCTTY, O_NOFOLLOW and O_NONBLOCK
 * are added, so that a FIFO put there in between holds nobody; O_CREAT is not for it.
 * Returns a descriptor, or -1 with errno (a link: ELOOP, or ENOTDIR on the way).
 */
int bpk_beneath_open(int root, const char *name, int flags);

/* fstat without opening what is there; 0, or -1 with errno. */
int bpk_beneath_stat(int root, const char *name, struct stat *found);

/* A folder for work in it: for reading and syncing where that is allowed. */
int bpk_beneath_folder(int root, const char *name);

/* The folder that name lies in, likewise; *base points into name, to its last part. */
int bpk_beneath_parent(int root, const char *name, const char **base);

/* The folder that path names, through links, likewise. */
int bpk_folder_open(const char *path);

/* Sync a folder; one that was not to be opened for reading, or cannot be synced at all, is left to
 * the file system. 0, or -1 with errno. */
int bpk_folder_sync(int folder);

/* The same file, which nobody has written to or renamed since. */
bool bpk_is_still(const struct stat *now, const struct stat *seen);

#endif
