/* repair without --repack and --reseal: settle interrupted changes. Called by repair.c. */
#ifndef BPK_CLI_SETTLE_H
#define BPK_CLI_SETTLE_H

#include "cli/edit.h"

enum bpk_settling {
	BPK_SETTLE_LOOK,  /* report a pending change, or an unused journal */
	BPK_SETTLE_VALID, /* and settle it, if it is valid */
	BPK_SETTLE_ANY,   /* also with a journal made for the file's original */
	BPK_SETTLE_DROP,  /* remove the journal or list, and leave the archive as it lies */
};

/* Do so for the archive or raw GSD file at path, and report failures, pending changes and unused
 * journals. */
void bpk_settle(const struct bpk_args *args, const char *path, enum bpk_settling how);

#endif
