/* The run of one process: threads that fetch, work and put, and the limits on their number. It
 * joins the window (the order), the plan (the numbers) and the work on single parcels. Called by
 * team_run.c. */
#include "flow/part.h"

#include <inttypes.h>

#include "flow/memory.h"
#include "flow/mode.h"
#include "flow/plan.h"
#include "flow/pool.h"
#include "flow/threads.h"
#include "flow/twin.h"
#include "flow/window.h"
#include "flow/work.h"

/* One run, shared by its threads. */
struct run {
	const struct bpk_flow *flow; /* fixed */
	bool places;                 /* fixed: workers put their own parcels */
	uint64_t parcel_limit;       /* fixed: bytes that one parcel may take; 0: any */
	uint64_t join_limit;         /* fixed: raw bytes of equal chunks that are unpacked as one */
	uint64_t several;            /* fixed: small chunks that one parcel has */
	struct bpk_window window;
	struct bpk_twins twins;
	/* Raw offset of the next chunk; belongs to the fetch under way. Kept only if fetches are in
	 * order. */
	uint64_t next_offset;
	uint64_t passed; /* raw bytes of the chunks behind the fetched one that need no fetch */
};

/* ---- Damage ---- */

/* Note a chunk that failed, if the run goes on behind damage; piece is the part of it, or
 * BPK_UNKNOWN. False: the failure ends the run. */
static bool note_damage(const struct run *run, const struct bpk_parcel *parcel, uint64_t piece,
			const struct bpk_err *err)
{
	struct bpk_damaged found = { parcel->number, 1, .piece = piece };
	struct bpk_parcel planned = { .number = parcel->number };

	if (run->flow->damage == NULL || err->kind != BPK_CORRUPT)
		return false;
	bpk_plan_parcel(&run->flow->plan, &planned);
	found.start = planned.raw_offset;
	found.end = found.start + planned.raw_size;
	if (found.start == BPK_UNKNOWN) {
		found.start = parcel->raw_offset;
		if (!bpk_add_u64(found.start, parcel->raw_size, &found.end))
			found.end = BPK_UNKNOWN;
	}
	return bpk_damage_note(run->flow, &found, err);
}

/* Behind a chunk that a reader in sequence could not fetch nothing can be found. */
static void note_last(const struct run *run, const struct bpk_parcel *parcel,
		      const struct bpk_err *err)
{
	struct bpk_damaged found = { parcel->number, 1,           run->next_offset,
				     BPK_UNKNOWN,    BPK_UNKNOWN, NULL };

	if (run->flow->damage != NULL && err->kind == BPK_CORRUPT)
		bpk_damage_note(run->flow, &found, err);
}

/* ---- Fetching ---- */

/* The end of the data: the counted bytes, or the reader's own size once it has seen everything,
 * including chunks passed over. */
static uint64_t data_end(const struct run *run)
{
	const struct bpk_flow *flow = run->flow;
	const struct bpk_info *info = flow->in->info == NULL ? NULL : flow->in->info(flow->reader);

	return info != NULL && info->members != BPK_UNKNOWN && info->raw_size != BPK_UNKNOWN
		       ? info->raw_size
		       : run->next_offset;
}

/* Check that the data, whose chunks were counted, hold the range that the plan wants. */
static int judge_range(const struct run *run, struct bpk_err *err)
{
	const struct bpk_plan *plan = &run->flow->plan;
	uint64_t reached;

	if (!run->window.fetch_in_order)
		return 0;
	if (plan->raw_size != BPK_UNKNOWN) {
		if (plan->end != plan->raw_size || run->next_offset == plan->raw_size)
			return 0;
		return bpk_fail(err, BPK_CORRUPT, "unpacks to %" PRIu64 " bytes, expected %" PRIu64,
				run->next_offset, plan->raw_size);
	}
	reached = data_end(run);
	if (plan->end != BPK_UNKNOWN && reached < plan->end)
		return bpk_fail(err, BPK_USAGE,
				"the range ends at byte %" PRIu64 ", the data at byte %" PRIu64,
				plan->end, reached);
	if (reached < plan->start)
		return bpk_fail(err, BPK_USAGE,
				"the range begins at byte %" PRIu64 ", the data ends at %" PRIu64,
				plan->start, reached);
	return 0;
}

/* The data end before chunk number: check that the plan ends there. */
static int judge_end(const struct run *run, uint64_t number, struct bpk_err *err)
{
	const struct bpk_flow *flow = run->flow;
	const struct bpk_plan *plan = &flow->plan;
	bool short_of_chunks = plan->count != BPK_UNKNOWN && number - plan->first < plan->count;

	/* a range of unknown data was planned by its own end */
	if ((!short_of_chunks || plan->raw_size == BPK_UNKNOWN) && judge_range(run, err) != 0)
		return -1;
	if (!short_of_chunks)
		return 0;
	return bpk_fail(err, flow->packing != NULL ? BPK_FAILED : BPK_CORRUPT,
			"ends before chunk %" PRIu64 ", %" PRIu64 " chunks were expected", number,
			(plan->first + plan->count));
}

/* Test chunks of sizes unknown in advance against the memory limit one by one; chunks that are
 * split count by their pieces. */
static int judge_memory(const struct run *run, const struct bpk_parcel *parcel, uint64_t raw_size,
			struct bpk_err *err)
{
	uint64_t needed = bpk_memory_of_parcel(run->flow, raw_size);

	if (run->parcel_limit == 0 || needed <= run->parcel_limit)
		return 0;
	return bpk_fail(err, BPK_LIMIT,
			"chunk %" PRIu64 " needs %" PRIu64
			" bytes of memory, the limit leaves it %" PRIu64,
			parcel->number, needed, run->parcel_limit);
}

/* Set the wanted bytes of a parcel that may stand for several equal chunks. */
static void want_all(const struct bpk_plan *plan, struct bpk_parcel *parcel)
{
	size_t one = parcel->data_size;

	parcel->data_size *= 1 + parcel->again; /* no more than join allowed */
	bpk_plan_want(plan, parcel);
	parcel->data_size = one;
}

/*
 * Bring one parcel. Returns 1 if no chunk has its number. last is set if no chunk behind it is
 * wanted.
 */
static int fetch(struct run *run, struct bpk_parcel *parcel, bool *last, struct bpk_err *err)
{
	const struct bpk_flow *flow = run->flow;
	const struct bpk_plan *plan = &flow->plan;
	uint64_t planned, offset;
	int rc;

	bpk_plan_parcel(plan, parcel);
	planned = parcel->raw_size;
	offset = parcel->raw_offset;
	if (parcel->again > 0) {
		parcel->want_start = 0;
		parcel->want_size = SIZE_MAX;
	}
	rc = flow->in->fetch(flow->reader, parcel, err);
	if (rc < 0 && run->window.fetch_in_order)
		note_last(run, parcel, err);
	if (rc < 0)
		return -1;
	/* the plan may have it from the headers of all chunks, which the reader has not read */
	if (parcel->raw_offset == BPK_UNKNOWN)
		parcel->raw_offset = offset;
	/* an empty pipe is packed as one empty chunk, like an empty file */
	if (rc > 0 && (parcel->number > 0 || flow->packing == NULL || plan->count != BPK_UNKNOWN))
		return judge_end(run, parcel->number, err) != 0 ? -1 : 1;
	*last = rc > 0;
	if (bpk_plan_judge(plan, parcel, planned, err) != 0)
		return -1;
	if (!run->window.splits && judge_memory(run, parcel, parcel->raw_size, err) != 0)
		return -1;
	if (run->window.fetch_in_order) {
		parcel->raw_offset = run->next_offset;
		run->next_offset += (1 + parcel->again) * parcel->data_size + run->passed;
		run->passed = 0;
		if (plan->count == BPK_UNKNOWN && run->next_offset >= plan->end)
			*last = true;
	}
	want_all(plan, parcel);
	return parcel->number + 1 + parcel->again - plan->first == plan->count
		       ? judge_range(run, err)
		       : 0;
}

/* ---- Chunks that are equal, or small ---- */

/* If a run only proves that chunks are sound, a chunk equal to an earlier one needs no second look.
 * These chunks do not decide where the data end: audit adds up all sizes. */
static uint64_t pass(void *arg, uint64_t number, uint64_t *raw_size)
{
	struct run *run = arg;
	const struct bpk_flow *flow = run->flow;
	uint64_t first, count = flow->in->repeats(flow->reader, number, &first, raw_size);

	count = bpk_min_u64(count, run->window.end - number);
	if (run->window.fetch_in_order && count > 0)
		run->passed += *raw_size;
	return count;
}

/*
 * Count the chunks after number that join its parcel: equal ones, or else small ones. A file of
 * some hundred bytes may hold a million equal chunks in a row, and each parcel costs a microsecond
 * or more. Joined chunks unpack to join_limit bytes at most; chunks that are copied are limited in
 * number only, for progress.
 */
static uint64_t join(void *arg, uint64_t number, bool *several)
{
	enum { MOST = 4096 };
	struct run *run = arg;
	const struct bpk_flow *flow = run->flow;
	uint64_t left = run->window.end - number - 1, count = 0, size = 0, most;

	if (bpk_mode_puts_chunks(flow))
		count = bpk_plan_alike(flow->in, flow->reader, number, &size);
	most = flow->decode && size > 0 ? run->join_limit / size : MOST;
	*several = count == 0 && run->several > 1;
	if (*several)
		count = most = run->several;
	return most > 0 ? bpk_min_u64(bpk_min_u64(count, left), most - 1) : 0;
}

/*
 * The number of chunks that are brought together if they are small: a turn and its locks cost more
 * than to unpack one of them. As a parcel they are less than io's stretches (io.h), from which
 * threads beside each other read.
 */
static uint64_t count_several(const struct run *run)
{
	enum { MOST = 256, BYTES = 16 << 10, SMALL = 512 };
	const struct bpk_flow *flow = run->flow;
	const struct bpk_plan *plan = &flow->plan;

	if (plan->count == BPK_UNKNOWN || plan->chunk_size == 0 || plan->chunk_size > SMALL ||
	    run->window.fetch_in_order)
		return 0;
	if (!bpk_mode_only_proves(flow) && !(bpk_mode_puts_chunks(flow) && flow->decode))
		return 0;
	return bpk_min_u64(MOST, bpk_min_u64(run->join_limit, BYTES) / plan->chunk_size);
}

/* ---- The loop that every thread runs ---- */

/* Find the size of a chunk's pieces, 0 for a chunk that is unpacked at once, and test that memory
 * has room for them. */
static int divide(struct run *run, struct bpk_worker *worker, const struct bpk_parcel *parcel,
		  size_t *piece, struct bpk_err *err)
{
	*piece = 0;
	if (!run->window.splits)
		return 0;
	if (bpk_work_piece_size(worker, run->flow, parcel, piece, err) != 0)
		return -1;
	return judge_memory(run, parcel, *piece > 0 ? *piece : parcel->raw_size, err);
}

/* Divide the chunk, and test its seal. That of a chunk with pieces is tested with the first of
 * them. A damaged chunk fails by its seal. */
static int examine(struct run *run, struct bpk_worker *worker, const struct bpk_parcel *parcel,
		   size_t *piece, struct bpk_err *err)
{
	struct bpk_err why = { 0 };
	int rc = divide(run, worker, parcel, piece, &why);

	if (rc == 0 && *piece > 0)
		return 0;
	if (bpk_work_check(run->flow, parcel, err) != 0)
		return -1;
	if (rc != 0)
		*err = why;
	return rc;
}

/* Hand the parcel to the writer, whose chunks may begin before the plan's. Packed chunks are put
 * one by one. */
static int put_numbered(const struct bpk_flow *flow, const struct bpk_parcel *parcel,
			struct bpk_err *err)
{
	struct bpk_parcel numbered = *parcel;
	uint64_t more = flow->decode ? 0 : parcel->again;
	int rc;

	numbered.number += flow->first_number;
	rc = flow->out->put(flow->writer, &numbered, err);
	while (rc == 0 && more-- > 0) {
		numbered.number++;
		numbered.raw_offset += parcel->raw_size;
		rc = flow->out->put(flow->writer, &numbered, err);
	}
	return rc;
}

static uint64_t piece_of(const struct bpk_item *item)
{
	return item->of != NULL ? item->rank.piece : BPK_UNKNOWN;
}

/* End the work on an item, with rc and err: it is put, or waits for its turn. */
static void hand_on(struct run *run, struct bpk_item *item, enum bpk_turn turn, int rc,
		    struct bpk_err *err)
{
	struct bpk_window *window = &run->window;
	bool passed_over = bpk_work_passes_over(&item->parcel);

	if (rc == 0 && run->places && !passed_over)
		rc = put_numbered(run->flow, &item->parcel, err);
	if (rc != 0 && note_damage(run, &item->parcel, piece_of(item), err))
		bpk_window_done(window, item, turn, false);
	else if (rc != 0)
		bpk_window_fail(window, item, turn, err);
	else if (window->put_in_order)
		bpk_window_worked(window, item);
	else
		bpk_window_done(window, item, turn, !passed_over);
}

/* The first piece has the lowest rank, so that a wrong seal is the error of its chunk, though other
 * threads unpack the chunk meanwhile. */
static void bring_piece(struct run *run, struct bpk_worker *worker, struct bpk_item *item)
{
	const struct bpk_parcel *chunk = &item->of->parcel;
	struct bpk_err err = { 0 };
	int rc = item->rank.piece == 0 ? bpk_work_check(run->flow, chunk, &err) : 0;

	if (rc == 0)
		rc = bpk_work_piece(worker, run->flow, chunk, &item->parcel, &err);
	bpk_window_unpacked(&run->window, item);
	hand_on(run, item, BPK_TURN_PIECE, rc, &err);
}

static void help(struct run *run, struct bpk_worker *worker, struct bpk_item *item, uint32_t part)
{
	const struct bpk_shared_work *work = item->share.work;

	bpk_worker_ready(worker, NULL);
	work->part(work->of, worker->ctx, part);
	bpk_window_helped(&run->window, item);
}

/* ---- Bringing and putting ---- */

/* One parcel from its reader to where it is put or waits for its turn. */
static void bring(struct run *run, struct bpk_worker *worker, struct bpk_item *item)
{
	const struct bpk_flow *flow = run->flow;
	struct bpk_window *window = &run->window;
	struct bpk_err err = { 0 };
	bool last = false;
	size_t piece = 0;
	int rc = fetch(run, &item->parcel, &last, &err);

	if (rc > 0) {
		bpk_window_ended(window, item);
		return;
	}
	if (rc < 0 && window->fetch_in_order) {
		bpk_window_fail(window, item, BPK_TURN_FETCH, &err);
		return;
	}
	if (rc == 0 && (window->fetch_in_order || last))
		bpk_window_fetched(window, item, last);
	if (rc == 0)
		bpk_pace_wait(flow->pace, item->parcel.packed.size);
	if (rc == 0 && bpk_twin_holds(&run->twins, worker, flow, &item->parcel)) {
		item->parcel.want_size = 0; /* it is passed over */
		if (window->splits)
			bpk_window_decided(window, item);
		hand_on(run, item, BPK_TURN_FETCH, 0, &err);
		return;
	}
	if (rc == 0)
		rc = examine(run, worker, &item->parcel, &piece, &err);
	if (rc == 0 && piece > 0) {
		bpk_window_split(window, item, piece);
		bring_piece(run, worker, item);
		return;
	}
	if (rc == 0 && window->splits)
		bpk_window_decided(window, item);
	if (rc == 0)
		rc = bpk_work(worker, flow, &item->parcel, &err);
	hand_on(run, item, BPK_TURN_FETCH, rc, &err);
}

/* Bring the next chunk of an item of several, and add it to the item's parcel. */
static int bring_one(struct run *run, struct bpk_worker *worker, struct bpk_item *item,
		     struct bpk_err *err)
{
	struct bpk_parcel *all = &item->parcel, *one = &worker->one;
	bool last, first = one->number == all->number;

	if (fetch(run, one, &last, err) != 0)
		return -1;
	bpk_pace_wait(run->flow->pace, one->packed.size);
	if (bpk_work_check(run->flow, one, err) != 0 ||
	    bpk_work(worker, run->flow, one, err) != 0 ||
	    (run->flow->out != NULL &&
	     bpk_buf_append(&all->raw, bpk_buf_view(&one->raw), err) != 0))
		return -1;
	if (first)
		all->raw_offset = one->raw_offset;
	all->want_size += one->want_size;
	item->packed_size += one->packed.size;
	return 0;
}

/* Several small chunks as one parcel. If one of them fails, those before it are put. */
static void bring_several(struct run *run, struct bpk_worker *worker, struct bpk_item *item)
{
	struct bpk_parcel *all = &item->parcel, *one = &worker->one;
	uint64_t end = all->number + 1 + all->again;
	struct bpk_err err = { 0 };
	int rc = 0;

	item->packed_size = 0;
	all->raw.size = all->packed.size = all->packed_size = all->want_start = all->want_size = 0;
	for (one->number = all->number; rc == 0 && one->number < end; one->number += rc == 0) {
		rc = bring_one(run, worker, item, &err);
		if (rc != 0 && note_damage(run, one, BPK_UNKNOWN, &err))
			rc = 0;
	}
	if (rc != 0 && one->number > all->number) {
		all->again = one->number - all->number - 1;
		bpk_window_cut(&run->window, one->number, &err);
		rc = 0;
	}
	all->raw_size = all->data_size = all->want_size;
	hand_on(run, item, BPK_TURN_FETCH, rc, &err);
}

static void put(struct run *run, struct bpk_item *item)
{
	struct bpk_err err = { 0 };
	bool passed_over = bpk_work_passes_over(&item->parcel);

	if (!passed_over && put_numbered(run->flow, &item->parcel, &err) != 0)
		bpk_window_fail(&run->window, item, BPK_TURN_PUT, &err);
	else
		bpk_window_done(&run->window, item, BPK_TURN_PUT, !passed_over);
}

static void run_loop(void *arg)
{
	struct run *run = arg;
	const struct bpk_flow *flow = run->flow;
	struct bpk_worker worker = { 0 };
	struct bpk_item *item;
	enum bpk_turn turn;
	uint32_t part;

	while ((turn = bpk_window_turn(&run->window, &item, &part)) != BPK_TURN_OVER) {
		if (turn == BPK_TURN_PUT)
			put(run, item);
		else if (turn == BPK_TURN_PIECE)
			bring_piece(run, &worker, item);
		else if (turn == BPK_TURN_HELP)
			help(run, &worker, item, part);
		else if (item->several)
			bring_several(run, &worker, item);
		else
			bring(run, &worker, item);
		if (flow->progress != NULL)
			bpk_window_report(&run->window, flow->progress, flow->progress_arg);
	}
	bpk_worker_clear(&worker);
}

/* ---- Setting up ---- */

/* Most raw bytes of equal chunks in a parcel: those of the smallest chunks that pack makes. */
enum { JOINED = 256 << 10 };

/* BPK_UNKNOWN if sizes differ and are unknown. */
static uint64_t largest_chunk(const struct bpk_plan *plan)
{
	return plan->runs != NULL ? bpk_sizes_largest(plan->runs) : plan->chunk_size;
}

/* An archive of some hundred bytes may claim 2^28 equal chunks. They are put one by one, and the
 * memory for the new index follows their number. */
static int check_repeated(const struct bpk_flow *flow, struct bpk_err *err)
{
	enum { MOST = 1 << 24 };
	uint64_t size, more;

	if (flow->out == NULL || flow->out->seal == NULL || flow->plan.count == BPK_UNKNOWN ||
	    flow->plan.count <= MOST)
		return 0;
	more = bpk_plan_alike(flow->in, flow->reader, flow->plan.first, &size);
	if (more < MOST)
		return 0;
	return bpk_fail(err, BPK_LIMIT,
			"has %" PRIu64
			" equal chunks in a row, at most %d are put into another archive",
			more + 1, MOST);
}

int bpk_flow_check(const struct bpk_flow *flow, struct bpk_err *err)
{
	uint64_t size = flow->plan.chunk_size;

	if (size != BPK_UNKNOWN && size > BPK_CHUNK_MAX_RAW_SIZE)
		return bpk_fail(err, BPK_LIMIT,
				"chunks of %" PRIu64 " bytes, at most %d are possible", size,
				BPK_CHUNK_MAX_RAW_SIZE);
	return check_repeated(flow, err);
}

/* The failure of the run, of which the threads have ended. */
static int end_run(struct run *run, uint64_t *failed, struct bpk_err *err)
{
	struct bpk_window *window = &run->window;
	struct bpk_damage *damage = run->flow->damage;
	int rc = window->failed.number == BPK_UNKNOWN ? 0 : -1;

	*failed = window->failed.number;
	if (damage != NULL && window->pass != NULL)
		bpk_damage_note_repeats(run->flow, window->end);
	if (damage != NULL)
		rc = bpk_damage_end(damage, failed, &window->err);
	if (rc != 0 && err != NULL)
		*err = window->err;
	return rc;
}

int bpk_flow_run_part(const struct bpk_flow *flow, struct bpk_flow_result *result, uint64_t *failed,
		      struct bpk_err *err)
{
	const struct bpk_plan *plan = &flow->plan;
	struct run run = { .flow = flow, .next_offset = bpk_plan_first_offset(plan) };
	bool put_in_order;
	unsigned threads;
	int rc;

	*result = (struct bpk_flow_result){ 0 };
	*failed = plan->first;
	if (plan->count == 0)
		return 0;
	run.places =
		flow->out != NULL && flow->out->places != NULL && flow->out->places(flow->writer);
	put_in_order = flow->out != NULL && !run.places;
	if (bpk_flow_check(flow, err) != 0 ||
	    bpk_threads_limit(flow, put_in_order, &threads, &run.parcel_limit, err) != 0)
		return -1;
	if (bpk_window_init(&run.window, bpk_threads_parcels(flow, threads, put_in_order),
			    plan->first, plan->count, err) != 0)
		return -1;
	run.window.put_in_order = put_in_order;
	run.window.splits = bpk_work_may_split(flow, largest_chunk(plan));
	run.window.shares =
		threads > 1 && (run.window.splits || bpk_work_may_share(flow, largest_chunk(plan)));
	/* if sizes differ and are unknown, offsets are counted from chunk to chunk */
	run.window.fetch_in_order = (plan->chunk_size == BPK_UNKNOWN && plan->runs == NULL) ||
				    !flow->in->positional(flow->reader);
	run.window.pass = flow->in->repeats != NULL && bpk_mode_only_proves(flow) ? pass : NULL;
	run.join_limit = run.parcel_limit == 0 ? JOINED : bpk_min_u64(JOINED, run.parcel_limit / 2);
	run.several = count_several(&run);
	run.window.join = bpk_mode_puts_chunks(flow) || run.several > 0 ? join : NULL;
	run.window.pass_arg = run.window.join_arg = &run;
	bpk_pool_run(threads, run_loop, &run);
	*result = run.window.done;
	result->ntwins = atomic_load(&run.twins.hits);
	rc = end_run(&run, failed, err);
	bpk_window_clear(&run.window);
	return rc;
}
