/*
 * Inside the room io: reads and writes that go on until they are done. They loop over short counts
 * and EINTR, and wait with poll where a descriptor that others made non-blocking says EAGAIN.
 * Reads and writes fail with "read: REASON" or "write: REASON", the others with errno. Any thread.
 */
#ifndef BPK_IO_FULL_H
#define BPK_IO_FULL_H

#include "io/io.h"

/* Fill out, less only at the end of file; *got says how far. */
int bpk_full_read(int fd, struct bpk_span out, size_t *got, struct bpk_err *err);

/* The same at an offset; one that no file can have is past the end. */
int bpk_full_read_at(int fd, uint64_t offset, struct bpk_span out, size_t *got,
		     struct bpk_err *err);

int bpk_full_write(int fd, struct bpk_view bytes, struct bpk_err *err);
int bpk_full_write_at(int fd, uint64_t offset, struct bpk_view bytes, struct bpk_err *err);

/* open (with O_CLOEXEC) and ftruncate, made again when a signal cut them short. */
int bpk_full_open(const char *path, int flags);
int bpk_full_set_size(int fd, uint64_t size);

/* fsync and fdatasync, begun again when a signal cut them short; no other failure of them may be
 * tried again. They return 0, or -1 with errno. */
int bpk_full_sync(int fd);
int bpk_full_sync_data(int fd);

/* Let size bytes (0: all) from offset be on their way to the disk, without waiting until they are
 * there. A hint: only a sync tells whether they are. */
void bpk_full_begin_sync(int fd, uint64_t offset, uint64_t size);

#endif
