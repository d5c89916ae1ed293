/*
 * Chunks that are found without an archive's header or index: shown, and put into a new archive.
 * Called by repair.c. For the main thread alone.
 */
#ifndef BPK_CLI_SALVAGE_H
#define BPK_CLI_SALVAGE_H

#include "cli/edit.h"

/* True if the file at path is one whose chunks can be searched for, and needs that: it cannot be
 * opened as an archive; with applies also if it is damaged, unless heals, and it has a parity file
 * that may restore it. */
bool bpk_salvage_takes(const struct bpk_args *args, const char *path, bool applies, bool heals);

/* Print the intact and lost ranges of raw bytes of the file at path; with applies write the intact
 * chunks as a new archive to --output, with fill in place of others, or chunks packed from the raw
 * data at path from, if that is not NULL. Reports failures, and lost
 * chunks with the status of damage. */
void bpk_salvage_file(const struct bpk_args *args, const char *path, enum bpk_fill fill,
		      const char *from, bool applies);

#endif
