/*
 * Damaged copies of one archive, made into one archive. Called by repair.c. For the main thread
 * alone.
 */
#ifndef BPK_CLI_MERGE_H
#define BPK_CLI_MERGE_H

#include "cli/edit.h"

/*
 * Write the union of the copies at paths to --output; without that print the intact and lost ranges
 * of its raw bytes. If chunks are lost in all copies nothing is written without fill, which puts
 * zeros for them or leaves them out, or from, a file of the raw data, or NULL. Reports failures,
 * and lost chunks with the status of damage.
 */
void bpk_merge_files(const struct bpk_args *args, char *const *paths, size_t count,
		     enum bpk_fill fill, const char *from);

#endif
