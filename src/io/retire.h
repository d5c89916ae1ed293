/*
 * Inside the room io: a file that is about to be replaced or removed is put in order first, under
 * its writer's lock, so that no journal of it stays behind for what gets its name.
 */
#ifndef BPK_IO_RETIRE_H
#define BPK_IO_RETIRE_H

#include "io/beside.h"

/*
 * Take the writer lock of the file that beside names. *fd holds it until it is closed; -1: it may
 * not be opened for writing, or is no regular file, so no writer of ours could have changed it
 * either. Without locks in the file system *fd is open all the same. Fails with BPK_FAILED: "is
 * being changed by another process".
 */
int bpk_retire_lock(const struct bpk_beside *beside, int *fd, struct bpk_err *err);

/*
 * Put back what a writer that died left of the file fd, and remove its journal; one that is damaged
 * is removed, since the file goes as well. A journal that is not about this file stays.
 */
int bpk_retire_settle(const struct bpk_beside *beside, int fd, bool sync, struct bpk_err *err);

#endif
