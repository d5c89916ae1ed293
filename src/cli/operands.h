/*
 * A command for each of its operands. Called by pack and unpack, and for small files by sum and
 * verify. For the main thread alone.
 */
#ifndef BPK_CLI_OPERANDS_H
#define BPK_CLI_OPERANDS_H

#include "cli/command.h"
#include "cli/results.h"
#include "cli/tree.h"

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
void bpk_operands_run(struct bpk_shared *shared, const struct bpk_files *operands,
		      const struct bpk_each *each);

/* Bytes that a file has, packed and raw, which is small for a command that only reads. */
enum { BPK_SMALL_INPUT = 4 << 20 };

/* For commands that read small files beside each other and write none: look at a regular file of
 * this machine that is small, and has nothing to be noted of, as bpk_input_look does; false leaves
 * it to a turn of its own. in is to be closed in any case. */
bool bpk_operand_look(struct bpk_input *in, const char *path, const struct bpk_format *format);

/* And the threads and places that limits leave to the jobs of a line. */
void bpk_operands_set_threads(const struct bpk_shared *shared, struct bpk_line *line);

#endif
