/*
 * The operands of a command, shared by the ranks of a team (flow/team.h). Large ones are divided
 * over all ranks, one after another; of the others each rank takes the next, the largest first.
 * rank 0 prints all that the ranks have to say, in the order of the operands. Called by the
 * commands of bpk-mpi; for the main thread alone.
 */
#ifndef BPK_CLI_SHARE_H
#define BPK_CLI_SHARE_H

#include "cli/tree.h"

/* Set the options of the whole command, before it runs: argv are its arguments. Fails with
 * BPK_FAILED if the state cannot be read, or is of another command. */
int bpk_share_begin(const struct bpk_main_args *args, int argc, char **argv, struct bpk_err *err);

/* The end of the program, which may have shared no work. */
void bpk_share_end(void);

/* The team that now works on one operand together; NULL: this process has an operand for itself. */
struct bpk_team *bpk_share_team(void);

/* True if the operands of the command are shared. */
bool bpk_share_is_asked(void);

/* True if this process prints results, and counts the work that ranks do together. */
bool bpk_share_leads(void);

/* True for a rank but 0 that works with the others on one operand. */
bool bpk_share_assists(void);

/* Make *count the sum of that of all ranks, which call it together. */
void bpk_share_total(uint64_t *count);

/* Call one for the number of each operand, of which there are some, on the ranks that work on it.
 * In the end the command's tally is that of all ranks. Ends all of them if they found different
 * operands. False, without a call, if the program is not shared. */
bool bpk_share_each(const struct bpk_shared *shared, const struct bpk_files *operands,
		    void (*one)(void *arg, size_t number), void *arg);

#endif
