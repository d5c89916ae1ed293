/*
 * bpk verify: small archives beside each other. Each is verified in silence by one thread. Where
 * there is more to tell than that it is whole, and where it cannot be begun so, the file is left to
 * its turn, and verified as any other. Called by verify_tree.c.
 */
#include <stdlib.h>

#include "cli/operands.h"
#include "cli/side.h"
#include "cli/signal.h"
#include "cli/verify.h"

struct job {
	struct bpk_input in;
	bool well; /* whole, and without a remark that is printed */
};

struct course {
	const struct bpk_verify_args *args;
	const struct bpk_verify_turns *turns;
	struct bpk_limits each; /* of a job */
	struct job *jobs;
};

/* Open a small archive without a remark, and without parity and identity, which are tested with
 * it. */
static bool open_small(const struct course *course, struct bpk_input *in, const char *path)
{
	const struct bpk_shared *shared = &course->args->shared;
	struct bpk_err why = { 0 };

	return !bpk_side_is(path) && bpk_operand_look(in, path, shared->format) &&
	       in->format != NULL && !bpk_side_has(path) &&
	       bpk_input_start(in, shared, shared->chunk_limit, &why) == 0 &&
	       in->info->raw_size <= BPK_SMALL_INPUT && !bpk_ident_is_recorded(in->info);
}

static bool begin(void *arg, size_t number, unsigned place)
{
	const struct course *course = arg;
	const char *path = course->turns->begin(course->turns->arg, number);
	struct job *job = &course->jobs[place];

	*job = (struct job){ .well = false };
	if (path != NULL && open_small(course, &job->in, path))
		return true;
	bpk_input_close(&job->in);
	return false;
}

static void count_remark(void *arg, const char *line)
{
	bool *has = arg;

	(void)line;
	*has = true;
}

static void work(void *arg, unsigned place)
{
	const struct course *course = arg;
	struct job *job = &course->jobs[place];
	struct bpk_flow_result result;
	struct bpk_flow flow = {
		.plan = bpk_plan_all(job->in.info),
		.in = job->in.format->reader,
		.reader = job->in.reader,
		.check = true,
		.decode = !course->args->quick,
		.pace = course->args->shared.pace,
		.limits = course->each,
	};
	struct bpk_err why = { 0 }; /* is found again in the turn */
	bool has_remark = false;

	job->well = bpk_flow_run(&flow, &result, &why) == 0 &&
		    bpk_input_audit(&job->in, count_remark, &has_remark, &why) == 0 &&
		    !(has_remark && course->args->shared.verbose > 0) &&
		    bpk_input_unchanged(&job->in, &why) == 0 && !job->in.info->pending;
}

static void end(void *arg, size_t number, unsigned place)
{
	const struct course *course = arg;
	struct job *job = &course->jobs[place];

	if (job->well) {
		bpk_verify_well(course->args, &job->in);
		course->turns->end(course->turns->arg, number);
	}
	bpk_input_close(&job->in);
	if (!job->well)
		course->turns->alone(course->turns->arg, number);
}

static void alone(void *arg, size_t number)
{
	const struct course *course = arg;

	course->turns->alone(course->turns->arg, number);
}

static bool run_beside(const struct bpk_verify_args *args, const struct bpk_verify_turns *turns)
{
	struct course course = { args, turns, bpk_shared_limits(&args->shared), NULL };
	struct bpk_line line = { .count = turns->count,
				 .begin = begin,
				 .work = work,
				 .end = end,
				 .alone = alone,
				 .arg = &course };
	bool is_run;

	/* other results than a verdict are printed in the turns alone */
	if (args->shared.json || args->print_root || args->root != NULL || args->anchors != NULL ||
	    args->identity || args->parity || args->min_generation > 0 || bpk_program->team != NULL)
		return false;
	bpk_operands_set_threads(&args->shared, &line);
	if (line.threads < 2)
		return false;
	course.each.threads = 1;
	bpk_signals_start(); /* before the first thread */
	course.jobs = bpk_calloc(line.nplaces, sizeof *course.jobs, NULL);
	is_run = course.jobs != NULL && bpk_line_run(&line, NULL) == 0;
	free(course.jobs);
	return is_run;
}

void bpk_verify_take_turns(const struct bpk_verify_args *args, const struct bpk_verify_turns *turns)
{
	if (turns->count > 1 && run_beside(args, turns))
		return;
	for (size_t i = 0; i < turns->count; i++) {
		turns->begin(turns->arg, i);
		turns->alone(turns->arg, i);
	}
}
