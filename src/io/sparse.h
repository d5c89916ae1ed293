/*
 * Inside the room io: writing that leaves long runs of zeros as holes.
 */
#ifndef BPK_IO_SPARSE_H
#define BPK_IO_SPARSE_H

#include "base/base.h"

/*
 * Make the file fd hold bytes at offset. A run of zeros of at least 64 KiB, on such a boundary of
 * the file, is left out where the file system says that nothing lies there yet. The file may then
 * stay shorter than offset + bytes.size; the caller sees to its length. Any thread.
 */
int bpk_sparse_write_at(int fd, uint64_t offset, struct bpk_view bytes, struct bpk_err *err);

#endif
