/* Inside the room io: a file is settled before it is replaced or removed, under its writer lock, so
 * that its journal does not outlive it and meet a new file of that name. For draft_keep.c and
 * remove.c. */
#ifndef BPK_IO_FILE_RETIRE_H
#define BPK_IO_FILE_RETIRE_H

#include "io/edit/resolved.h"

/*
 * Take the writer lock of the file that resolved names. *fd holds it until it is closed. It is -1
 * when the file cannot be opened for writing or is no regular file; then no writer of bpk could
 * have changed it either. In a file system without locks *fd is open, too. Fails with
 * BPK_FAILED: "is being changed by another process".
 */
int bpk_retire_lock(const struct bpk_resolved *resolved, int *fd, struct bpk_err *err);

/* Undo the change of a writer that died in the file fd, and remove its journal. A damaged journal
 * is removed too, because the file goes as well. A journal of another file stays. */
int bpk_retire_settle(const struct bpk_resolved *resolved, int fd, bool sync, struct bpk_err *err);

#endif
