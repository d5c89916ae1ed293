/* repair without --repack, --finish and --reseal: recover from interrupted changes. Called by
 * repair.c. */
#ifndef BPK_CLI_RECOVER_H
#define BPK_CLI_RECOVER_H

#include "cli/edit.h"

enum bpk_recovery {
	BPK_RECOVER_LOOK,  /* report a pending change, or an unused journal */
	BPK_RECOVER_VALID, /* and roll it back, or carry it out, if it is valid */
	BPK_RECOVER_ANY,   /* also with a journal made for the file's original */
	BPK_RECOVER_DROP,  /* remove the journal or list, and leave the archive as it lies */
};

/* Do so for the archive or raw GSD file at path, and report failures, pending changes and unused
 * journals. */
void bpk_recover(const struct bpk_args *args, const char *path, enum bpk_recovery how);

#endif
