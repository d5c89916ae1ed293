/*
 * The parity files beside archives: made, and compared. Called by parity.c, and by the commands
 * that verify, mend and change archives. For the main thread alone. Errors name the file that they
 * are about.
 */
#ifndef BPK_CLI_SIDE_H
#define BPK_CLI_SIDE_H

#include "cli/command.h"
#include "parity/parity.h"

/* The path of the parity file of the archive at path, through a link, for free(); NULL with
 * BPK_NO_MEMORY. */
char *bpk_side_name(const char *path, struct bpk_err *err);

struct bpk_side_options {
	unsigned share;                         /* hundredths of a percent */
	bool force;                             /* replace any file of its name */
	bool sync;                              /* file and folder */
	const struct bpk_parity_change *change; /* of an append; or NULL */
	const struct stat *seen;                /* the archive that is meant; or NULL */
};

/* Write the parity file name for the archive at path, a file: beside it, then in the place of an old
 * one. *size is that of the archive. */
int bpk_side_make(const char *path, const char *name, const struct bpk_side_options *options,
		  uint64_t *size, struct bpk_err *err);

#endif
