/*
 * The operands of a command, shared by the ranks of a team (flow/team.h). Large ones are divided
 * over all ranks, one after another; of the others each rank takes the next, the largest first.
 * rank 0 prints all that the ranks have to say, in the order of the operands. Called by the
 * commands of bpk-mpi; for the main thread alone.
 */
#ifndef BPK_CLI_SHARE_H
#define BPK_CLI_SHARE_H

#include "cli/command.h"

/* Set the options of the whole command, before it runs: argv are its arguments. Fails with
 * BPK_FAILED if the state cannot be read, or is of another command. */
int bpk_share_begin(const struct bpk_main_args *args, int argc, char **argv, struct bpk_err *err);

/* The end of the program, which may have shared no work. */
void bpk_share_end(void);

/* The team that now works on one operand together; NULL: this process has an operand for itself. */
struct bpk_team *bpk_share_team(void);

/* Call one for the number of each operand, on the ranks that work on it. False, without a call, if
 * the program is not shared. */
bool bpk_share_each(const struct bpk_shared *shared, char **operands, size_t count,
		    void (*one)(void *arg, size_t number), void *arg);

#endif
