/*
 * The run of bpk_flow_run: by this process alone, or divided over a team. Runs without an output,
 * and those whose writer places parcels or is a rank's own, are cut into one slice for each rank;
 * others go in rounds. archive and cli call it.
 */
#include <stdlib.h>

#include "flow/part.h"
#include "flow/team_round.h"

/* Rank 0's message to the others before a run. */
struct start {
	struct bpk_plan plan; /* its pointer means nothing */
	uint64_t round;       /* chunks of a rank in a round; 0: one slice for each */
	uint64_t path_size;   /* of the draft to join; 0: none */
	uint64_t inode;
};

/* ---- Which runs are divided ---- */

/* Chunks are counted, and may be fetched in any order. */
static bool can_divide(const struct bpk_flow *flow)
{
	const struct bpk_plan *plan = &flow->plan;

	return plan->count != BPK_UNKNOWN &&
	       (plan->chunk_size != BPK_UNKNOWN || plan->runs != NULL) &&
	       plan->raw_size != BPK_UNKNOWN && flow->in->positional(flow->reader);
}

bool bpk_flow_is_divided(const struct bpk_flow *flow)
{
	return flow->team != NULL && can_divide(flow);
}

static bool is_same_plan(const struct bpk_plan *a, const struct bpk_plan *b)
{
	return a->first == b->first && a->count == b->count && a->chunk_size == b->chunk_size &&
	       a->raw_size == b->raw_size && a->start == b->start && a->end == b->end &&
	       a->first_offset == b->first_offset;
}

static uint64_t largest_chunk(const struct bpk_plan *plan)
{
	return plan->runs != NULL ? bpk_sizes_largest(plan->runs) : plan->chunk_size;
}

/*
 * The chunks of a rank in a round, by rank 0's threads and memory, which holds two rounds: enough
 * for its threads, and for the exchange to cost little; all rounds of a run nearly alike.
 */
static uint64_t round_size(const struct bpk_flow *flow)
{
	enum { BYTES = 16 << 20, MOST = 4096 };
	uint64_t chunk = bpk_max_u64(largest_chunk(&flow->plan), 1), limit = flow->limits.memory;
	uint64_t size = bpk_max_u64(bpk_min_u64(BYTES / chunk, MOST), 2 * flow->limits.threads + 1);
	uint64_t all, rounds;

	if (limit > 0)
		size = bpk_max_u64(bpk_min_u64(size, limit / 8 / chunk), 1);
	all = size * flow->team->size;
	rounds = bpk_max_u64(bpk_div_up(flow->plan.count, all), 1);
	return bpk_max_u64(bpk_div_up(flow->plan.count, rounds * flow->team->size), 1);
}

/* ---- Slices ---- */

static bool places(const struct bpk_flow *flow)
{
	return flow->out != NULL && flow->out->places != NULL && flow->out->places(flow->writer);
}

/* True if each rank keeps to its slice, whatever becomes of the others'. */
static bool is_apart(const struct bpk_flow *flow)
{
	return flow->out == NULL || flow->out->is_of_rank;
}

static void add_result(struct bpk_flow_result *sum, const struct bpk_flow_result *more)
{
	sum->nchunks += more->nchunks;
	sum->raw_size += more->raw_size;
	sum->packed_size += more->packed_size;
	sum->ntwins += more->ntwins;
}

/* True if a part of a slice failed by damage alone, behind which the run goes on. */
static bool goes_on(const struct bpk_flow *flow, const struct bpk_err *err)
{
	return flow->damage != NULL && err->kind == BPK_CORRUPT &&
	       flow->damage->stop.kind == BPK_OK;
}

/* This rank's slice, in steps, between which it may be stopped. */
static int run_slice(const struct bpk_flow *flow, struct bpk_flow_result *result, uint64_t *failed,
		     struct bpk_err *err)
{
	enum { STEP = 256 << 20 };
	const struct bpk_team *team = flow->team;
	uint64_t count = flow->plan.count, first = flow->plan.first;
	uint64_t at = first + count / team->size * team->rank +
		      bpk_min_u64(count % team->size, team->rank);
	uint64_t end = at + count / team->size + (team->rank < count % team->size);
	uint64_t step = bpk_max_u64(
		STEP / bpk_max_u64(largest_chunk(&flow->plan), 1) * flow->limits.threads, 1);
	struct bpk_flow part = *flow;
	int rc = 0;

	for (; at < end; at += part.plan.count) {
		struct bpk_flow_result done;

		*failed = at;
		if (team->stop != NULL && team->stop(team->arg, err) != 0)
			return flow->damage == NULL ? -1
						    : bpk_damage_end(flow->damage, failed, err);
		part.plan.first = at;
		part.plan.count = bpk_min_u64(step, end - at);
		part.progress = NULL;
		rc = bpk_flow_run_part(&part, &done, failed, err);
		if (rc != 0 && !goes_on(flow, err))
			return -1;
		add_result(result, &done);
		if (flow->progress != NULL && team->rank == 0)
			flow->progress(flow->progress_arg, result->raw_size * team->size,
				       result->packed_size * team->size);
	}
	return rc;
}

static int run_slices(const struct bpk_flow *flow, struct bpk_flow_result *result,
		      struct bpk_err *err)
{
	struct bpk_team *team = flow->team;
	struct bpk_err own = { 0 };
	uint64_t failed = 0, others;
	int rc = run_slice(flow, result, &failed, &own);

	others = team->total(team->arg, team->rank > 0 ? result->raw_size : 0);
	if (team->rank == 0 && places(flow) && flow->out->placed_by_others != NULL)
		flow->out->placed_by_others(flow->writer, others);
	rc = bpk_team_agree_at(team, rc, failed, &own);
	if (flow->damage != NULL) {
		struct bpk_err lowest = { 0 };

		failed = BPK_UNKNOWN;
		bpk_damage_gather(team, flow->damage);
		if (team->rank == 0 && bpk_damage_end(flow->damage, &failed, &lowest) != 0)
			own = lowest;
	}
	if (rc != 0 && err != NULL)
		*err = own;
	return rc;
}

/* ---- Setting up ---- */

/* Tell, or learn, how the run is divided; path is that of the draft. */
static void share_start(const struct bpk_flow *flow, struct start *start, struct bpk_buf *path)
{
	struct bpk_team *team = flow->team;
	struct bpk_err err = { 0 };

	if (team->rank == 0) {
		*start = (struct start){ .plan = flow->plan };
		if (flow->draft != NULL && bpk_draft_whereabouts(flow->draft, path, &start->inode))
			start->path_size = path->size;
		if (!is_apart(flow) && (!places(flow) || start->path_size == 0))
			start->round = round_size(flow);
	}
	team->broadcast(team->arg, 0, start, sizeof *start);
	if (bpk_buf_resize(path, (size_t)bpk_max_u64(start->path_size, 1), &err) != 0)
		team->abort(team->arg, EXIT_FAILURE, &err);
	team->broadcast(team->arg, 0, path->data, (size_t)start->path_size);
}

static int prepare(const struct bpk_flow *flow, const struct start *start,
		   const struct bpk_buf *path, struct bpk_err *err)
{
	if (!is_same_plan(&flow->plan, &start->plan))
		return bpk_fail(err, BPK_FAILED,
				"its input is of another size than that of rank 0");
	if (start->round == 0 && !is_apart(flow) && !places(flow))
		return bpk_fail(err, BPK_FAILED, "the result cannot be written by several ranks");
	if (flow->team->rank == 0 || start->path_size == 0)
		return 0;
	return bpk_draft_join(flow->draft, (const char *)path->data, start->inode, err);
}

static int divide(const struct bpk_flow *flow, struct bpk_flow_result *result, struct bpk_err *err)
{
	struct bpk_team *team = flow->team;
	struct bpk_buf path = { 0 };
	struct start start;
	int rc;

	if (team->rank == 0 && bpk_flow_check(flow, err) != 0)
		return -1;
	if (bpk_team_meet(team, BPK_TEAM_RUN, 0, err) != 0)
		return -1;
	share_start(flow, &start, &path);
	rc = prepare(flow, &start, &path, err);
	if (rc != 0 && team->rank > 0)
		bpk_err_subject(err, "rank %u", team->rank);
	rc = bpk_team_agree(team, rc, err);
	if (rc == 0 && start.round == 0)
		rc = run_slices(flow, result, err);
	else if (rc == 0)
		rc = bpk_team_rounds(flow, start.round, start.path_size > 0, result, err);
	bpk_buf_clear(&path);
	if (rc != 0)
		return -1;
	/* all bytes must be on the disk before rank 0 gives them a name */
	rc = team->rank > 0 && start.path_size > 0 ? bpk_draft_flush(flow->draft, err) : 0;
	if (bpk_team_agree(team, rc, err) != 0)
		return -1;
	result->nchunks = team->total(team->arg, result->nchunks);
	result->raw_size = team->total(team->arg, result->raw_size);
	result->packed_size = team->total(team->arg, result->packed_size);
	result->ntwins = team->total(team->arg, result->ntwins);
	return 0;
}

int bpk_flow_run(const struct bpk_flow *flow, struct bpk_flow_result *result, struct bpk_err *err)
{
	const struct bpk_team *team = flow->team;
	uint64_t failed;
	struct bpk_err own = { 0 };
	int rc;

	if (team == NULL || (team->rank == 0 && !can_divide(flow)))
		return bpk_flow_run_part(flow, result, &failed, err);
	*result = (struct bpk_flow_result){ 0 };
	if (!can_divide(flow))
		return bpk_fail(err, BPK_FAILED, "has no part in this run");
	rc = divide(flow, result, &own);
	if (rc != 0 && err != NULL)
		*err = own;
	return rc != 0 || team->rank == 0 ? rc : bpk_fail(err, BPK_FAILED, "did its part");
}
