/* Measures ways to pack on a sample in memory: times, sizes and memory. bpk bench calls it. */
#include "flow/bench.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "flow/bench_sample.h"
#include "flow/pool.h"
#include "flow/work.h"

/*
 * A measure takes the fastest of some rounds. Short ones vary, so they are repeated; the first one
 * also allocates. Long ones count as they are, since a table has a hundred rows.
 */
#define LEAST_SECONDS 0.05 /* of all rounds */
#define LONG_SECONDS  0.5  /* enough, even for fewer than ROUNDS */
#define TICK          1e-9 /* no round takes less */
enum { ROUNDS = 3 };

/* One thread's own. */
struct worker {
	struct bpk_worker pack;
	struct bpk_chunk_ctx *unpack;
	struct bpk_buf out;
	size_t failed; /* index of a chunk; SIZE_MAX: no failure */
	struct bpk_err err;
};

struct run {
	const struct bpk_bench *bench;
	struct bpk_flow flow;
	struct worker *workers; /* one for each thread */
	/* The work on a chunk, the same for all threads. */
	int (*work)(struct run *run, struct worker *worker, struct bpk_bench_chunk *chunk);
	bool reports; /* fixed while threads run */
	atomic_uint entered;
	atomic_size_t next; /* index of the chunk to be claimed */
	atomic_bool stopped;
	atomic_uint_fast64_t raw_done, packed_done;
};

/* ---- The work on a chunk ---- */

/* The first thread reports. */
static void report(struct run *run, const struct worker *worker,
		   const struct bpk_bench_chunk *chunk)
{
	uint64_t raw = atomic_fetch_add(&run->raw_done, chunk->size) + chunk->size;
	uint64_t packed =
		atomic_fetch_add(&run->packed_done, chunk->packed_size) + chunk->packed_size;

	if (worker == run->workers)
		run->bench->progress(run->bench->progress_arg, raw, packed);
}

/* A parcel that borrows its bytes from the sample: these have the room that packing needs. */
static struct bpk_parcel borrow(const struct bpk_bench_sample *sample,
				const struct bpk_bench_chunk *chunk)
{
	struct bpk_span room = bpk_bench_room(sample, chunk);

	return (struct bpk_parcel){
		.number = chunk->number,
		.raw_offset = chunk->raw_offset,
		.packed_offset = BPK_UNKNOWN,
		.raw = { sample->raw.data + chunk->start, chunk->size, chunk->size },
		.packed = { room.data, 0, room.size },
		.raw_size = chunk->size,
		.data_size = chunk->size,
		.want_size = chunk->size,
	};
}

static int pack(struct run *run, struct worker *worker, struct bpk_bench_chunk *chunk)
{
	struct bpk_parcel parcel = borrow(run->bench->sample, chunk);

	if (bpk_work(&worker->pack, &run->flow, &parcel, &worker->err) != 0)
		return -1;
	chunk->packed_size = parcel.packed_size;
	if (run->reports)
		report(run, worker, chunk);
	return 0;
}

static int unpack(struct run *run, struct worker *worker, struct bpk_bench_chunk *chunk)
{
	struct bpk_span room = bpk_bench_room(run->bench->sample, chunk);

	if (bpk_buf_resize(&worker->out, chunk->size, &worker->err) == 0 &&
	    bpk_chunk_decode(worker->unpack, bpk_view(room.data, chunk->packed_size),
			     bpk_span(worker->out.data, chunk->size), &worker->err) == 0)
		return 0;
	return bpk_err_subject(&worker->err, "chunk %" PRIu64, chunk->number);
}

static int prove(struct run *run, struct worker *worker, struct bpk_bench_chunk *chunk)
{
	const uint8_t *raw = run->bench->sample->raw.data + chunk->start;

	if (unpack(run, worker, chunk) != 0)
		return -1;
	if (memcmp(worker->out.data, raw, chunk->size) == 0)
		return 0;
	return bpk_fail(&worker->err, BPK_CORRUPT,
			"chunk %" PRIu64 ": unpacks to other bytes than were packed",
			chunk->number);
}

/* ---- Rounds ---- */

static void loop(void *arg)
{
	struct run *run = arg;
	struct bpk_bench_sample *sample = run->bench->sample;
	struct worker *worker = &run->workers[atomic_fetch_add(&run->entered, 1)];
	size_t i;

	while (!atomic_load(&run->stopped) &&
	       (i = atomic_fetch_add(&run->next, 1)) < sample->nchunks) {
		if (run->work(run, worker, &sample->chunks[i]) == 0)
			continue;
		worker->failed = i;
		atomic_store(&run->stopped, true);
	}
}

/* Work on all chunks once. Fails with the report on the lowest chunk that failed. */
static int go_round(struct run *run,
		    int (*work)(struct run *run, struct worker *worker,
				struct bpk_bench_chunk *chunk),
		    struct bpk_err *err)
{
	const struct worker *failed = NULL;

	run->work = work;
	run->entered = 0;
	run->next = 0;
	bpk_pool_run(run->bench->threads, loop, run);
	if (!run->stopped)
		return 0;
	for (const struct worker *w = run->workers; w < run->workers + run->bench->threads; w++)
		if (w->failed != SIZE_MAX && (failed == NULL || w->failed < failed->failed))
			failed = w;
	*err = failed->err;
	return -1;
}

/* The seconds of the fastest round. */
static int measure(struct run *run,
		   int (*work)(struct run *run, struct worker *worker,
			       struct bpk_bench_chunk *chunk),
		   double *seconds, struct bpk_err *err)
{
	double total = 0;

	for (unsigned rounds = 0;
	     total < LEAST_SECONDS || (rounds < ROUNDS && total < LONG_SECONDS); rounds++) {
		double started = bpk_clock(), taken;

		if (go_round(run, work, err) != 0)
			return -1;
		taken = bpk_clock() - started;
		taken = taken > TICK ? taken : TICK;
		*seconds = rounds == 0 || taken < *seconds ? taken : *seconds;
		total += taken;
		run->reports = false;
	}
	return 0;
}

/* ---- A row ---- */

static uint64_t packing_memory(const struct bpk_worker *worker)
{
	return bpk_chunk_ctx_memory(worker->ctx) + worker->race.sample.capacity +
	       worker->race.packed.capacity + worker->race.differences.capacity;
}

static void add_up(const struct run *run, struct bpk_bench_row *row)
{
	const struct bpk_bench_sample *sample = run->bench->sample;

	row->raw_size = sample->raw.size;
	row->packed_size = row->pack_memory = row->unpack_memory = 0;
	for (size_t i = 0; i < sample->nchunks; i++)
		row->packed_size += sample->chunks[i].packed_size;
	for (struct worker *w = run->workers; w < run->workers + run->bench->threads; w++) {
		row->pack_memory = bpk_max_u64(row->pack_memory, packing_memory(&w->pack));
		row->unpack_memory =
			bpk_max_u64(row->unpack_memory, bpk_chunk_ctx_memory(w->unpack));
	}
}

/* Contexts are new, so that their memory is that of this row. */
static int make_worker(struct worker *worker, struct bpk_err *err)
{
	worker->failed = SIZE_MAX;
	worker->pack.ctx = worker->pack.race.ctx = bpk_chunk_ctx_make(err);
	worker->unpack = worker->pack.ctx == NULL ? NULL : bpk_chunk_ctx_make(err);
	return worker->unpack == NULL ? -1 : 0;
}

static void clear_worker(struct worker *worker)
{
	bpk_worker_clear(&worker->pack);
	bpk_chunk_ctx_free(worker->unpack);
	bpk_buf_clear(&worker->out);
}

int bpk_bench_run(const struct bpk_bench *bench, struct bpk_bench_row *row, struct bpk_err *err)
{
	struct run run = {
		.bench = bench,
		.flow = { .plan = bench->sample->plan, .packing = bench->packing },
		.workers = bpk_calloc(bench->threads, sizeof *run.workers, err),
		.reports = bench->progress != NULL,
	};
	int rc = run.workers == NULL ? -1 : 0;

	for (unsigned i = 0; rc == 0 && i < bench->threads; i++)
		rc = make_worker(&run.workers[i], err);
	if (rc == 0)
		rc = measure(&run, pack, &row->pack_seconds, err);
	if (rc == 0)
		rc = go_round(&run, prove, err);
	if (rc == 0)
		rc = measure(&run, unpack, &row->unpack_seconds, err);
	if (rc == 0)
		add_up(&run, row);
	for (unsigned i = 0; run.workers != NULL && i < bench->threads; i++)
		clear_worker(&run.workers[i]);
	free(run.workers);
	return rc;
}

/* ---- Fronts ---- */

/* True if a is at least as good as b in both, and better in one. */
static bool dominates(const struct bpk_bench_row *a, double a_seconds,
		      const struct bpk_bench_row *b, double b_seconds)
{
	double a_ratio = (double)a->raw_size / (double)a->packed_size;
	double b_ratio = (double)b->raw_size / (double)b->packed_size;
	double a_rate = (double)a->raw_size / a_seconds, b_rate = (double)b->raw_size / b_seconds;

	return a_ratio >= b_ratio && a_rate >= b_rate && (a_ratio > b_ratio || a_rate > b_rate);
}

void bpk_bench_fronts(struct bpk_bench_row *rows, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct bpk_bench_row *row = &rows[i];

		row->on_pack_front = row->on_unpack_front = true;
		for (size_t k = 0; k < count; k++) {
			const struct bpk_bench_row *other = &rows[k];

			if (dominates(other, other->pack_seconds, row, row->pack_seconds))
				row->on_pack_front = false;
			if (dominates(other, other->unpack_seconds, row, row->unpack_seconds))
				row->on_unpack_front = false;
		}
	}
}
