/*
 * Files that a command of several operands must not write over: its own results, and the operands
 * that have no whole result yet. They are known by device and inode, whatever their spelling.
 * Called by pack and unpack. For the main thread alone.
 */
#ifndef BPK_CLI_RESULTS_H
#define BPK_CLI_RESULTS_H

#include "cli/command.h"
#include "cli/tree.h"

/* Raw bytes that a file beside others may have, and memory that packing one may take. */
enum { BPK_BESIDE_MOST = 1 << 20, BPK_BESIDE_MEMORY = 48 << 20 };

/*
 * How small files are done beside each other. begin and end are called in the order of the
 * operands, as one is, and work between them, by any thread.
 */
struct bpk_beside {
	size_t size; /* of a job */
	/* Begin a job at place, which is not initialized, with the arg of one. It must lead to a
	 * new file beside path, and prints nothing. False: one is to do it, and nothing is held. */
	bool (*begin)(void *arg, void *place, const char *path);
	void (*work)(void *place);
	void (*end)(void *place); /* reports a failure of the work, too */
};

struct bpk_each {
	void (*one)(void *arg, const char *path);
	const struct bpk_beside *beside; /* NULL: one does all */
	void *arg;
};

/*
 * Call each->one for every operand, in their order, for commands that write a result for each.
 * shared is the one that their transfers have; meanwhile its member below is the operand's, and its
 * results are set where there are several operands. Small regular files are done beside each other
 * if threads and memory allow it, to the same results and messages.
 */
void bpk_results_each(struct bpk_shared *shared, const struct bpk_files *operands,
		      const struct bpk_each *each);

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
