/*
 * Unpacking around damage: all intact chunks at their places, and something else in place of the
 * others. Called by unpack.c. For the main thread alone. Errors name the input.
 */
#ifndef BPK_CLI_UNPACK_FILL_H
#define BPK_CLI_UNPACK_FILL_H

#include "cli/transfer.h"

/* Fails with BPK_USAGE if NaN is to be filled in, and the archive records no type that has it. */
int bpk_fill_check(const struct bpk_input *in, enum bpk_fill how, struct bpk_err *err);

/*
 * Run flow, which unpacks all of the input into the transfer's writer. That writer puts its bytes
 * in order; the input can be read twice. It is read once to find the damage. Every lost range, and
 * damage outside of chunks, is reported, with the status of damage, and the result holds the intact
 * chunks and the bytes that stand for the others. Fails with BPK_REPAIRABLE, without a result, if a
 * parity file restores all of the damage.
 */
int bpk_fill_run(struct bpk_transfer *transfer, enum bpk_fill how, struct bpk_flow *flow,
		 struct bpk_err *err);

#endif
