/* The map of a damaged archive: which of its chunks and raw bytes are intact, guessed or lost.
 * Called by salvage.c and merge.c. */
#include <inttypes.h>
#include <stdio.h>

#include "cli/record.h"
#include "cli/report.h"
#include "cli/salvage_job.h"

/* Neighbours of one fate. */
struct run {
	uint64_t first, end;
	enum fate { LOST, GUESSED, UNPROVEN, INTACT } fate;
};

typedef void run_fn(const struct bpk_salvage_job *job, const struct run *run, void *arg);

/* The raw bytes of a run; false: an array's are not in the order of its chunks, or sizes before
 * them are unknown, and *start or *stop is BPK_UNKNOWN. */
static bool find_range(const struct bpk_salvage_job *job, const struct run *run, uint64_t *start,
		       uint64_t *stop)
{
	const struct bpk_info *info = job->in.info;

	if (job->is_whole) {
		*start = 0;
		*stop = info->raw_size;
		return info->raw_size != BPK_UNKNOWN &&
		       (info->array.chunk_shape == NULL || info->array.type == NULL ||
			info->array.type->ndimensions <= 1);
	}
	if (job->starts == NULL && job->found.chunk_size == 0) {
		*start = *stop = BPK_UNKNOWN;
		return false;
	}
	*start = bpk_salvage_start(job, run->first);
	*stop = run->end == job->found.nchunks ? bpk_salvage_raw_size(job)
					       : bpk_salvage_start(job, run->end);
	return !job->found.shaped && !job->found.maybe_array && *start != BPK_UNKNOWN &&
	       *stop != BPK_UNKNOWN;
}

static void show(const struct bpk_salvage_job *job, const struct run *run, void *arg)
{
	const char *const fates[] = {
		[LOST] = "lost",
		[GUESSED] = "guessed",
		[UNPROVEN] = "intact, but not certain",
		[INTACT] = bpk_salvage_is_certain(job) ? "intact" : "intact, but not certain",
	};
	uint64_t start, stop;
	bool has_range = find_range(job, run, &start, &stop);

	(void)arg;
	printf("%s: %s %" PRIu64 ":%" PRIu64 " are %s%s\n", bpk_input_name(job->in.path),
	       has_range ? "raw bytes" : "chunks", has_range ? start : run->first,
	       has_range ? stop : run->end, fates[run->fate],
	       start == BPK_UNKNOWN || stop == BPK_UNKNOWN ? ", at unknown raw bytes" : "");
}

/* arg: the fate of a list. */
static void record(const struct bpk_salvage_job *job, const struct run *run, void *arg)
{
	uint64_t start, stop;
	bool has_range = find_range(job, run, &start, &stop);

	if (run->fate != *(const enum fate *)arg)
		return;
	bpk_record_item_begin();
	bpk_record_u64("chunk", run->first);
	bpk_record_u64("nchunks", run->end - run->first);
	bpk_record_u64("start", has_range ? start : BPK_UNKNOWN);
	bpk_record_u64("end", has_range ? stop : BPK_UNKNOWN);
	bpk_record_item_end();
}

static void add_run(const struct bpk_salvage_job *job, const struct run *run, run_fn *add,
		    void *arg)
{
	if (run->first < run->end)
		add(job, run, arg);
}

/* Runs of lost chunks, guessed, unproven and intact ones, in their order. */
static void walk_runs(const struct bpk_salvage_job *job, run_fn *add, void *arg)
{
	const struct bpk_salvage *found = &job->found;
	struct run run = { .fate = INTACT }; /* under way */

	if (job->is_whole)
		run.end = job->in.info->chunks.count;
	for (size_t i = 0; i < found->count; i++) {
		const struct bpk_saved *saved = &found->all[i];
		enum fate fate = saved->guessed ? GUESSED : saved->unproven ? UNPROVEN : INTACT;

		if (!saved->intact)
			continue;
		if (saved->number > run.end || fate != run.fate) {
			add_run(job, &run, add, arg);
			add_run(job, &(struct run){ run.end, saved->number, LOST }, add, arg);
			run.first = saved->number;
		}
		run.fate = fate;
		run.end = saved->number + 1;
	}
	add_run(job, &run, add, arg);
	add_run(job, &(struct run){ run.end, found->nchunks, LOST }, add, arg);
}

static void record_map(const struct bpk_salvage_job *job)
{
	static const char *const names[] = {
		[LOST] = "lost", [GUESSED] = "restored", [UNPROVEN] = "unproven", [INTACT] = "good"
	};
	const struct bpk_salvage *found = &job->found;

	bpk_record_begin(job->shared->command, job->in.path);
	bpk_record_u64("nchunks", job->is_whole ? job->in.info->chunks.count : found->nchunks);
	bpk_record_u64("nlost", job->lost);
	bpk_record_u64("nrestored", job->guessed);
	bpk_record_bool("certain", bpk_salvage_is_certain(job) && found->nunproven == 0);
	for (enum fate fate = LOST; fate <= INTACT; fate++) {
		bpk_record_list_begin(names[fate]);
		walk_runs(job, record, &fate);
		bpk_record_list_end();
	}
	bpk_record_end();
}

void bpk_salvage_map(struct bpk_salvage_job *job)
{
	job->is_mapped = true;
	if (job->shared->json)
		return;
	walk_runs(job, show, NULL);
	bpk_flush_results();
}

void bpk_salvage_record(const struct bpk_salvage_job *job)
{
	if (job->shared->json && job->is_mapped)
		record_map(job);
}
