/* Another program that is run with fixed arguments and no shell. Called by signature.c. For the
 * main thread alone. */
#ifndef BPK_CLI_CHILD_H
#define BPK_CLI_CHILD_H

#include "base/base.h"

/* How a program ended. Caller storage, valid when zeroed; for bpk_child_clear. */
struct bpk_child {
	int status;               /* its exit status; -1: a signal ended it */
	struct bpk_buf out, said; /* standard output and standard error */
};

/*
 * Run argv[0], found by PATH, with input as its standard input, and extra as descriptor 3, which
 * /dev/fd/3 names. Both are read from the start. Fails with BPK_UNSUPPORTED if there is no such
 * program, and with BPK_LIMIT if it writes more than 64 KiB.
 */
int bpk_child_run(const char *const *argv, struct bpk_view input, struct bpk_view extra,
		  struct bpk_child *child, struct bpk_err *err);
void bpk_child_clear(struct bpk_child *child);

/* Print the last line that it said, or its status, into line. */
void bpk_child_last_line(const struct bpk_child *child, char line[BPK_ERR_TEXT]);

#endif
