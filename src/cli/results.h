/*
 * Files that a command of several operands must not write over: its own results, and the operands
 * that have no whole result yet. They are known by device and inode, whatever their spelling.
 * For the main thread alone.
 */
#ifndef BPK_CLI_RESULTS_H
#define BPK_CLI_RESULTS_H

#include "cli/command.h"
#include "cli/tree.h"

/* Raw bytes that a small file has, at most. */
enum { BPK_SMALL_FILE = 1 << 20 };

/* Take the operands of a command, in their order; their paths are borrowed until it is closed. The
 * caller closes it; NULL is no error there. Fails with BPK_NO_MEMORY. */
struct bpk_results *bpk_results_open(const struct bpk_files *operands, struct bpk_err *err);
void bpk_results_close(struct bpk_results *results);

/* The calls that follow are about this operand, until the next such call. */
void bpk_results_go_to(struct bpk_results *results, size_t number);

/* The operand was a small regular file, and no other operand was the same one. */
bool bpk_results_is_small(const struct bpk_results *results, size_t number);

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
