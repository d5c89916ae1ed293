/* Inside the room io: the locks of the datasets in which files of a tar are extracted. For
 * extract.c. */
#ifndef BPK_IO_TAR_HOLD_H
#define BPK_IO_TAR_HOLD_H

#include "base/base.h"

/* The locks held. Valid when zeroed. Belongs to one thread. */
struct bpk_tar_holds {
	struct bpk_buf locks; /* of struct hold */
};

/*
 * Before the file name below the open folder root is written: take the writer lock of each dataset
 * that holds it, which is every folder on its way, root included, that has a .lock, and release
 * all others. No lock is created, since a folder may hold anything. Fails with BPK_FAILED: "is
 * being changed by another process", or the folder has a pending list of changes.
 */
int bpk_tar_hold(struct bpk_tar_holds *holds, int root, const char *name, struct bpk_err *err);

/* Release all. */
void bpk_tar_holds_clear(struct bpk_tar_holds *holds);

#endif
