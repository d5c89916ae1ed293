/*
 * Teams: one run, divided over processes that make the same calls, each with threads of its own. A
 * part of the room's door; cli makes the calls, and mpi, or a test, brings the messages.
 *
 * A rank is one of the processes. Rank 0 decides: it alone opens results, keeps them and reports.
 * Where the ranks must agree they meet, and a rank that could not come so far lets the meeting fail
 * on all of them. Every rank ends a piece of work, such as a file, with bpk_team_end, so that no
 * rank waits for another that has given up.
 *
 *     rank 0    open ── meet ── [ round ]... ── finish, keep ── end
 *     others    open ── meet ── [ round ]... ────────────────── end
 *
 * A round is a window of consecutive chunks for each rank. Their parcels are put in the order of
 * numbers by rank 0's writer, so the result does not depend on the number of ranks. Chunks that the
 * writer takes unseen stay where they are, and each rank writes its own into the draft.
 */
#ifndef BPK_FLOW_TEAM_H
#define BPK_FLOW_TEAM_H

#include "flow/flow.h"

/*
 * The messages of a team. All but arg, rank and size are calls of the main thread alone; they
 * cannot fail, since a process whose messages fail must end all the others. The calls of the first
 * group are made by all ranks, in the same order.
 */
struct bpk_team {
	unsigned rank, size;
	void *arg;

	/* Copy bytes of rank from to all others. */
	void (*broadcast)(void *arg, unsigned from, void *bytes, size_t size);
	/* The least value of all ranks, each at most INT64_MAX or BPK_UNKNOWN; and the sum. */
	uint64_t (*minimum)(void *arg, uint64_t value);
	uint64_t (*total)(void *arg, uint64_t value);

	/* Messages between two ranks, in order. Both know the size. */
	void (*send)(void *arg, unsigned to, const void *bytes, size_t size);
	void (*receive)(void *arg, unsigned from, void *bytes, size_t size);

	/* A counter of the team: returns its value, from 0 on, and adds 1. Any rank, at any
	 * time. */
	uint64_t (*take)(void *arg);
	/* Send a message to rank 0 without waiting for it; bytes are copied. */
	void (*post)(void *arg, struct bpk_view bytes);
	/* rank 0: take a message that was posted; false: none is there. With waits one will
	 * come. */
	bool (*collect)(void *arg, bool waits, struct bpk_buf *message);

	/* End all ranks, at once: this one cannot take part any more. Does not return. err may be
	 * NULL: it was reported. */
	void (*abort)(void *arg, int status, const struct bpk_err *err);

	/* Fails with BPK_PARTIAL when the run should end early; asked between rounds. NULL:
	 * never. */
	int (*stop)(void *arg, struct bpk_err *err);

	bool ended; /* rank 0 ended this piece of work */
};

/* The steps at which a team meets. */
enum bpk_team_step {
	BPK_TEAM_END = 1,
	BPK_TEAM_CHOICE,
	BPK_TEAM_RUN,
};

/*
 * Meet at a step. rank 0 comes only if all is well; others with rc and err, and later meetings of
 * this piece of work fail for them. Fails with the failure of the lowest rank that has one.
 */
int bpk_team_meet(struct bpk_team *team, enum bpk_team_step step, int rc, struct bpk_err *err);

/* The rank that has the lowest number, the first of several; size if all have BPK_UNKNOWN. All
 * ranks call it together. */
unsigned bpk_team_lowest(const struct bpk_team *team, uint64_t number);

/* Fail on all ranks if rc is a failure on any: with the failure of the lowest such rank, or with
 * numbers, of the rank with the lowest one. */
int bpk_team_agree(struct bpk_team *team, int rc, struct bpk_err *err);
int bpk_team_agree_at(struct bpk_team *team, int rc, uint64_t number, struct bpk_err *err);

/* The end of a piece of work. On rank 0 it lets the others go. Those take part in the meetings
 * until then, as ranks that failed with why. */
void bpk_team_end(struct bpk_team *team, const struct bpk_err *why);

/*
 * Meet, and give rank 0's choice to all ranks. cuts and predictions may be NULL, on all ranks
 * alike. Other ranks hand in empty ones, for bpk_cuts_clear; they get no lines in why.
 */
int bpk_team_share_choice(struct bpk_team *team, struct bpk_choice *choice, struct bpk_cuts *cuts,
			  struct bpk_predictions *predictions, struct bpk_err *err);

#endif
