/*
 * The file of --resume: which operands are done. Rank 0 alone has one.
 *
 *     bpk-mpi state 1 CRC        of the command and its options, 8 hexadecimal digits
 *     SIZE SECONDS.NANOSECONDS PATH
 *
 * PATH is percent-encoded. The file is replaced as a whole.
 */
#ifndef BPK_CLI_STATE_H
#define BPK_CLI_STATE_H

#include "base/base.h"

/* Valid when zeroed. */
struct bpk_state {
	const char *path; /* NULL: no state is kept */
	uint32_t command;
	struct bpk_buf lines; /* that were read, each ended by a NUL */
	void *tree;           /* of them */
	struct bpk_buf done;  /* lines that were added */
};

/* Read the state at path, which need not exist, for the command of argv. Fails with BPK_FAILED. */
int bpk_state_open(struct bpk_state *state, const char *path, int argc, char **argv,
		   struct bpk_err *err);

/* True if the operand was done, and is the same now. */
bool bpk_state_is_done(const struct bpk_state *state, const char *operand);

/* Note that it is done. Fails with BPK_NO_MEMORY. */
int bpk_state_add(struct bpk_state *state, const char *operand, struct bpk_err *err);

/* Write the state, if operands were added. Fails with BPK_FAILED; the line names the file. */
int bpk_state_keep(const struct bpk_state *state, struct bpk_err *err);

void bpk_state_clear(struct bpk_state *state);

#endif
