/* Inside the room io: files below a folder, never through a link and never outside of it. The names
 * have been checked (io/tree/dir.h); "" is the folder itself. */
#ifndef BPK_IO_BENEATH_H
#define BPK_IO_BENEATH_H

#include "io/io.h"

/*
 * Open name with openat2's RESOLVE_BENEATH, RESOLVE_NO_SYMLINKS and RESOLVE_NO_MAGICLINKS; without
 * openat2 part by part with O_NOFOLLOW. Adds O_CLOEXEC, O_NOCTTY, O_NOFOLLOW and O_NONBLOCK, so
 * that a FIFO created meanwhile blocks nobody. Not for O_CREAT. Returns a descriptor, or -1 with
 * errno (a link: ELOOP, or ENOTDIR for one on the way).
 */
int bpk_beneath_open(int root, const char *name, int flags);

/* fstat without opening the file itself. Returns 0, or -1 with errno. */
int bpk_beneath_stat(int root, const char *name, struct stat *found);

/* Open a folder for work in it, for reading and syncing if that is allowed. */
int bpk_beneath_folder(int root, const char *name);

/* Open the folder that holds name in the same way; *base points to the last part of name. */
int bpk_beneath_parent(int root, const char *name, const char **base);

/* True on file systems where a write has changed the file's times before its bytes can be read, for
 * every process, by CLOCK_REALTIME_COARSE. Network file systems keep times for seconds. */
bool bpk_is_timely(int fd);

/* Open the folder path, through links, in the same way. */
int bpk_folder_open(const char *path);

/* Sync a folder. Success for a folder that could not be opened for reading or cannot be synced at
 * all. Returns 0, or -1 with errno. */
int bpk_folder_sync(int folder);

#endif
