/*
 * Inside the room io: the generation of a directory, a number in its .lock file. It rises with
 * every commit that changes committed content, and stays when a commit only adds. A reader that
 * finds the same number at its end as at its beginning has read one state, although files are
 * replaced one by one. Eight bytes, little-endian; without them, or without the file, the number is
 * 0.
 */
#ifndef BPK_IO_TREE_GENERATION_H
#define BPK_IO_TREE_GENERATION_H

#include <stdatomic.h>

#include "base/base.h"

/*
 * Read the generation of the directory root. Waits for a commit in progress. A .lock that cannot be
 * opened counts as missing, and is not created. Fails with BPK_FAILED: it cannot be read, or a
 * writer has held its lock for a minute.
 */
int bpk_generation_read(int root, uint64_t *generation, struct bpk_err *err);

/*
 * Raise the generation in the file lock, durably if sync is set, and exclude its readers until
 * bpk_generation_settled; the commit takes place in between. The caller holds the writer lock. stop
 * ends the wait for readers. Fails with BPK_FAILED, and then excludes nobody.
 */
int bpk_generation_raise(int lock, bool sync, bool no_lock, const atomic_bool *stop,
			 struct bpk_err *err);
void bpk_generation_settled(int lock);

#endif
