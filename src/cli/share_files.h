/*
 * Files that the ranks of a team share: the way each is done, its messages on their way to rank 0,
 * and their order. Called by share.c.
 */
#ifndef BPK_CLI_SHARE_FILES_H
#define BPK_CLI_SHARE_FILES_H

#include "cli/command.h"
#include "cli/state.h"
#include "cli/tree.h"

enum bpk_share_files_way {
	BPK_SHARE_PASSED,  /* it was done before */
	BPK_SHARE_DIVIDED, /* by all ranks together */
	BPK_SHARE_WHOLE,   /* by one rank */
};

struct bpk_share_files_job {
	uint64_t size;
	uint32_t way;
};

struct bpk_share_files {
	struct bpk_team *team;
	struct bpk_file *operands;
	size_t count;
	void (*one)(void *arg, size_t number);
	void *arg;
	struct bpk_state *state;

	struct bpk_share_files_job *jobs;
	size_t *order; /* of those done whole, the largest first */
	size_t nwhole;

	/* rank 0's */
	struct bpk_buf *said; /* the messages about each; no data: it is not done */
	size_t printed;       /* operands whose messages are printed */
	size_t ndone, npassed;
	size_t nnoted; /* done since the state was written */
};

/* Decide the way of each operand, on rank 0, and tell it to all. Fails with BPK_NO_MEMORY. */
int bpk_share_files_plan(struct bpk_share_files *files, const struct bpk_shared *shared,
			 struct bpk_err *err);

/* Do one operand here, and keep or send the messages. */
void bpk_share_files_do(struct bpk_share_files *files, size_t number);

/* Do those that are done whole, each by the rank that asks for it. Returns when all have ended. */
void bpk_share_files_hand_out(struct bpk_share_files *files);

void bpk_share_files_clear(struct bpk_share_files *files);

#endif
