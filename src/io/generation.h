/*
 * Inside the room io: the generation of a directory, a number in its .lock file. It rises with
 * every commit that changes what was committed before, and stays when a commit only adds. So a
 * reader that finds the same number at its end as at its beginning has read one state of it,
 * though its files are replaced one by one. Eight bytes, little-endian; without them, or without
 * the file, the number is 0.
 */
#ifndef BPK_IO_GENERATION_H
#define BPK_IO_GENERATION_H

#include <stdatomic.h>

#include "base/base.h"

/*
 * The generation of the directory root. Waits for a commit that is under way. A .lock that cannot
 * be opened counts as none, and none is made. Fails with BPK_FAILED: it cannot be read, or a writer
 * has not let go of it for a minute.
 */
int bpk_generation_read(int root, uint64_t *generation, struct bpk_err *err);

/*
 * Raise the generation in the file lock, durably where sync says so, and keep readers of it out
 * until bpk_generation_settled: then the commit comes. The writer lock is held. Fails with
 * BPK_FAILED, and keeps nobody out then. stop ends the waiting for readers.
 */
int bpk_generation_raise(int lock, bool sync, bool no_lock, const atomic_bool *stop,
			 struct bpk_err *err);
void bpk_generation_settled(int lock);

#endif
