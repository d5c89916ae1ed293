/* Files in memory, which take the output of commands. Called by child.c and share_catch.c. For the
 * main thread alone. */
#ifndef BPK_CLI_MEMORY_H
#define BPK_CLI_MEMORY_H

#include "base/base.h"

/* Open an empty one. Returns its descriptor, or -1 with BPK_FAILED. */
int bpk_memory_open(struct bpk_err *err);

/* Append all that was written to it, at most that many bytes. Fails with BPK_LIMIT if there are
 * more. */
int bpk_memory_append(int file, uint64_t most, struct bpk_buf *bytes, struct bpk_err *err);

#endif
