/* Inside the room io: writing that leaves long runs of zeros as holes, for draft.c. */
#ifndef BPK_IO_FILE_SPARSE_H
#define BPK_IO_FILE_SPARSE_H

#include "base/base.h"

/*
 * Write bytes at offset of the file fd. A run of zeros of at least 64 KiB, aligned to 64 KiB in the
 * file, is skipped where the file system reports a hole. The file may then stay shorter than offset
 * + bytes.size; the caller sets its length. Any thread.
 */
int bpk_sparse_write_at(int fd, uint64_t offset, struct bpk_view bytes, struct bpk_err *err);

#endif
