/*
 * Chunks that are found without an archive's header or index: shown, and put into a new archive.
 * Called by repair.c. For the main thread alone.
 */
#ifndef BPK_CLI_SALVAGE_H
#define BPK_CLI_SALVAGE_H

#include "cli/edit.h"

/* The options of repair. */
struct bpk_salvage_how {
	enum bpk_fill fill;
	const char *from; /* path of raw data, or NULL */
	bool applies, guesses;
	bool without_parity; /* its parity file does not suffice */
};

/*
 * False, and nothing is done, unless the archive at path is one whose chunks can be searched for,
 * and needs that: it cannot be opened, or is damaged, which is tested by reading all of it. Without
 * applies one with a journal beside it is not read; with applies nothing is done if fill and from
 * are not given, and it has a parity file that may restore it, unless that lacks changes and no
 * chunk is lost.
 * Otherwise print the intact and lost ranges of its raw bytes; with applies write the intact chunks
 * as a new archive to --output, with fill in place of others (but not if parity restores them), or
 * chunks packed from the raw data of from. With guesses, chunks with one damaged byte count as
 * intact, and the status is that of damage. Reports failures, and lost chunks with that status.
 */
bool bpk_salvage_file(const struct bpk_args *args, const char *path,
		      const struct bpk_salvage_how *how);

#endif
