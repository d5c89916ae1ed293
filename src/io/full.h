/*
 * Inside the room io: reads and writes that continue until they are done. They repeat after short
 * counts and EINTR, and wait with poll when a descriptor that others made non-blocking returns
 * EAGAIN. Reads and writes fail with "read: REASON" or "write: REASON", the others with errno. Any
 * thread.
 */
#ifndef BPK_IO_FULL_H
#define BPK_IO_FULL_H

#include "io/io.h"

/* Fill out, or less at the end of the file; *got is the number of bytes read. */
int bpk_full_read(int fd, struct bpk_span out, size_t *got, struct bpk_err *err);

/* The same at an offset; an offset too large for any file is past the end. */
int bpk_full_read_at(int fd, uint64_t offset, struct bpk_span out, size_t *got,
		     struct bpk_err *err);

int bpk_full_write(int fd, struct bpk_view bytes, struct bpk_err *err);
int bpk_full_write_at(int fd, uint64_t offset, struct bpk_view bytes, struct bpk_err *err);

/* open, openat (both with O_CLOEXEC) and ftruncate, repeated after EINTR. */
int bpk_full_open(const char *path, int flags);
int bpk_full_openat(int folder, const char *name, int flags, mode_t mode);
int bpk_full_set_size(int fd, uint64_t size);

/* fsync and fdatasync, repeated after EINTR; after any other failure a repeat proves nothing.
 * Return 0, or -1 with errno. */
int bpk_full_sync(int fd);
int bpk_full_sync_data(int fd);

/* Start writing size bytes (0: all) from offset to the disk, without waiting. A hint: only a sync
 * tells whether they arrived. */
void bpk_full_begin_sync(int fd, uint64_t offset, uint64_t size);

#endif
