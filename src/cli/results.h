/*
 * Files that a command of several operands must not write over: its own results, and the operands
 * that have no whole result yet. They are known by device and inode, whatever their spelling.
 * Called by pack and unpack. For the main thread alone.
 */
#ifndef BPK_CLI_RESULTS_H
#define BPK_CLI_RESULTS_H

#include "cli/command.h"

/*
 * Call one for every operand, for "-" without operands, as bpk_input_each does, for commands
 * that write a result for each. shared is the one that their transfers have; meanwhile its results
 * are set where there are several operands.
 */
void bpk_results_each(struct bpk_shared *shared, char **operands, size_t count,
		      void (*one)(void *arg, const char *path), void *arg);

/*
 * May the current operand's result be written to target, which need not be there? "-": standard
 * output, which takes any number of results. Fails with BPK_FAILED: it is a result of this command,
 * or one of its operands, or lies in one, the current one excepted; the line does not name target.
 * All three functions do nothing where shared has no results.
 */
int bpk_results_check(const struct bpk_shared *shared, const char *target, struct bpk_err *err);

/* The result of source, which is borrowed, was kept as target. Fails with BPK_FAILED where it is
 * not there any more, or BPK_NO_MEMORY. */
int bpk_results_add(const struct bpk_shared *shared, const char *target, const char *source,
		    struct bpk_err *err);

/* The current operand has its whole result: later ones may write over it. */
void bpk_results_release(const struct bpk_shared *shared);

#endif
