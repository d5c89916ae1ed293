/* The common steps of commands that move data: the target's name, the draft, the run, the result.
 * pack, unpack, cat and convert call it. */
#include "cli/job.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/progress.h"
#include "cli/record.h"
#include "cli/report.h"
#include "cli/signal.h"
#include "cli/results.h"
#include "cli/text.h"

/* ---- the output's name ---- */

static bool is_dash(const char *path)
{
	return strcmp(path, "-") == 0;
}

/* True when the result for source goes to standard output. */
static bool goes_to_stdout(const struct bpk_shared *shared, const char *source)
{
	if (shared->output != NULL)
		return is_dash(shared->output);
	return shared->to_stdout || is_dash(source);
}

static int check_removal(const struct bpk_shared *shared, const char *source, struct bpk_err *err)
{
	if (!shared->remove)
		return 0;
	if (is_dash(source))
		return bpk_fail(err, BPK_USAGE,
				"--rm needs a FILE, standard input cannot be removed");
	if (goes_to_stdout(shared, source))
		return bpk_fail(err, BPK_USAGE,
				"--rm needs a result in a file, not on standard output");
	if (shared->no_sync)
		return bpk_fail(err, BPK_USAGE, "--rm needs a synced result, without --no-sync");
	return 0;
}

static int check_one(const struct bpk_shared *shared, const char *source, struct bpk_err *err)
{
	if (shared->json && goes_to_stdout(shared, source))
		return bpk_fail(
			err, BPK_USAGE,
			"--json needs standard output for itself, name a file with --output");
	if (shared->output_dir != NULL && is_dash(source))
		return bpk_fail(
			err, BPK_USAGE,
			"--output-dir needs a FILE, standard input has no name to derive one from");
	return check_removal(shared, source, err);
}

int bpk_output_check(const struct bpk_shared *shared, char **operands, size_t count,
		     struct bpk_err *err)
{
	int ways = shared->to_stdout + (shared->output != NULL) + (shared->output_dir != NULL);

	if (ways > 1)
		return bpk_fail(err, BPK_USAGE,
				"only one of --stdout, --output and --output-dir can be given");
	if (shared->output != NULL && count > 1)
		return bpk_fail(err, BPK_USAGE,
				"--output takes a single source, %zu were given; use --output-dir",
				count);
	if (count == 0)
		return check_one(shared, "-", err);
	for (size_t i = 0; i < count; i++)
		if (check_one(shared, operands[i], err) != 0)
			return -1;
	return 0;
}

/* The derived path itself, or its last part below the output directory. */
static char *move_to_dir(const struct bpk_shared *shared, char *derived, struct bpk_err *err)
{
	const char *slash = derived == NULL ? NULL : strrchr(derived, '/');
	char *moved = NULL;

	if (derived == NULL || shared->output_dir == NULL)
		return derived;
	if (asprintf(&moved, "%s/%s", shared->output_dir, slash != NULL ? slash + 1 : derived) <
	    0) {
		moved = NULL;
		bpk_fail_memory(err, strlen(derived));
	}
	free(derived);
	return moved;
}

int bpk_job_name_target(struct bpk_job *job,
			char *(*derive)(const struct bpk_job *job, const char *source,
					struct bpk_err *err),
			struct bpk_err *err)
{
	const struct bpk_shared *shared = job->shared;
	const char *source = job->in->path;

	if (goes_to_stdout(shared, source)) {
		job->target = bpk_strdup("-", err);
	} else if (shared->output != NULL) {
		job->target = bpk_strdup(shared->output, err);
	} else if (derive == NULL) {
		bpk_fail(err, BPK_BUG, "the result has no name");
	} else {
		job->target_derived = true;
		job->target = move_to_dir(shared, derive(job, source, err), err);
	}
	return job->target != NULL ? 0 : bpk_input_subject(job->in, err);
}

/* ---- writing ---- */

static int target_subject(const struct bpk_job *job, struct bpk_err *err)
{
	return bpk_err_subject(err, "%s", bpk_output_name(job->target));
}

int bpk_output_check_terminal(const struct bpk_shared *shared, const char *target,
			      struct bpk_err *err)
{
	if (!is_dash(target) || shared->force || !isatty(STDOUT_FILENO))
		return 0;
	bpk_fail(err, BPK_FAILED, "is a terminal, binary data go there only with --force");
	return bpk_err_subject(err, "%s", bpk_output_name(target));
}

static bool is_input(void *arg, const struct stat *folder)
{
	const struct stat *input = bpk_input_stat(arg);

	return S_ISDIR(input->st_mode) && bpk_same_file(folder, input);
}

/* Check that the result does not change the operands, or the results of others. */
static int check_target(const struct bpk_job *job, struct bpk_err *err)
{
	if (bpk_results_check(job->shared, job->target, err) != 0)
		return -1;
	if (!is_dash(job->target) &&
	    bpk_path_lies_in(job->target, !job->target_derived, is_input, job->in))
		return bpk_fail(err, BPK_FAILED, "lies in the source itself");
	return 0;
}

int bpk_job_open_draft(struct bpk_job *job, struct bpk_err *err)
{
	bool directory = job->format != NULL && job->format->is_directory;
	struct stat like;
	const struct bpk_draft_options options = {
		.overwrite = job->shared->force,
		.follow_links = !job->target_derived,
		.sync = !job->shared->no_sync,
		.not_this = bpk_input_stat(job->in),
		.directory = directory,
		.ours = directory ? job->format->owns : NULL,
		.like = bpk_input_like(job->in, &like) ? &like : NULL,
	};

	if (bpk_output_check_terminal(job->shared, job->target, err) != 0)
		return -1;
	bpk_signals_start();
	job->started = bpk_clock();
	if (check_target(job, err) != 0 ||
	    bpk_draft_open(job->target, &options, &job->draft, err) != 0)
		return target_subject(job, err);
	if (job->shared->remove && !directory && !bpk_draft_seekable(job->draft)) {
		bpk_fail(err, BPK_FAILED, "is not a regular file, but the source is to be removed");
		return target_subject(job, err);
	}
	return 0;
}

int bpk_job_start_writer(struct bpk_job *job, const struct bpk_format *format,
			 const struct bpk_info *info, const struct bpk_write_options *options,
			 struct bpk_err *err)
{
	job->format = format;
	if (format->writer->open(job->draft, info, options, &job->writer, err) != 0)
		return target_subject(job, err);
	return 0;
}

static void close_writer(struct bpk_job *job)
{
	if (job->writer != NULL)
		job->format->writer->close(job->writer);
	job->writer = NULL;
}

int bpk_job_finish_writer(struct bpk_job *job, struct bpk_err *err)
{
	int rc = job->format->writer->finish(job->writer, err);

	close_writer(job);
	return rc == 0 ? 0 : target_subject(job, err);
}

static int remove_source(struct bpk_job *job, struct bpk_err *err)
{
	struct bpk_removal *removal = job->removal;

	job->removal = NULL;
	return removal != NULL ? bpk_removal_end(removal, err)
			       : bpk_remove_source(job->in->path, bpk_input_stat(job->in), err);
}

/* Keep the draft, no more public than the input. */
static int keep_draft(const struct bpk_job *job, struct bpk_draft *draft, struct bpk_err *err)
{
	struct stat like = { .st_mode = S_IFREG | 0600,
			     .st_gid = (gid_t)-1,
			     .st_mtim.tv_nsec = UTIME_OMIT };
	bool is_like = bpk_input_like(job->in, &like) || job->is_private;

	if (job->is_private)
		like.st_mode &= ~(mode_t)0177;
	return bpk_draft_keep(draft, is_like ? &like : NULL, err);
}

int bpk_job_keep(struct bpk_job *job, struct bpk_err *err)
{
	struct bpk_draft *draft = job->draft;

	if (bpk_input_unchanged(job->in, err) != 0)
		return -1;
	job->draft = NULL;
	job->piped = bpk_draft_tell(draft);
	if (keep_draft(job, draft, err) != 0 ||
	    bpk_results_add(job->shared, job->target, job->in->path, err) != 0)
		return target_subject(job, err);
	job->seconds = bpk_clock() - job->started;
	if (!job->shared->remove)
		return 0;
	if (job->in->unfinished || bpk_place_remark(&job->in->place) != NULL) {
		bpk_note(bpk_input_name(job->in->path), "is kept, because %s",
			 job->in->unfinished ? "bytes follow its end"
					     : "a journal or list beside it is not used");
		return 0;
	}
	return remove_source(job, err) == 0 ? 0 : bpk_input_subject(job->in, err);
}

void bpk_job_clear(struct bpk_job *job)
{
	close_writer(job);
	bpk_draft_drop(job->draft);
	job->draft = NULL;
	bpk_removal_drop(job->removal);
	job->removal = NULL;
	free(job->target);
	job->target = NULL;
}

/* ---- running ---- */

int bpk_job_bound(const struct bpk_job *job, struct bpk_plan *plan, struct bpk_err *err)
{
	uint64_t limit = job->shared->max_output, size = job->in->info->raw_size, end;

	if (limit == BPK_UNKNOWN)
		return 0;
	if (plan->end != BPK_UNKNOWN)
		size = plan->end - plan->start;
	else if (bpk_add_u64(plan->start, limit, &end) && end < BPK_UNKNOWN - 1)
		plan->end = end + 1;
	if (size <= limit || size == BPK_UNKNOWN)
		return 0;
	bpk_fail(err, BPK_LIMIT, "unpacks to %" PRIu64 " bytes, --max-output allows %" PRIu64, size,
		 limit);
	return bpk_input_subject(job->in, err);
}

int bpk_job_check_bound(const struct bpk_job *job, struct bpk_err *err)
{
	if (job->result.raw_size <= job->shared->max_output)
		return 0;
	bpk_fail(err, BPK_LIMIT,
		 "unpacks to more than the %" PRIu64 " bytes that --max-output allows",
		 job->shared->max_output);
	return bpk_input_subject(job->in, err);
}

/* A failure to read or write may be either side's; all else is about the source. */
static int run_subject(const struct bpk_job *job, struct bpk_err *err)
{
	if (job->target == NULL || err->kind != BPK_FAILED)
		return bpk_input_subject(job->in, err);
	return bpk_err_subject(err, "%s -> %s", bpk_input_name(job->in->path),
			       bpk_output_name(job->target));
}

unsigned bpk_job_threads(const struct bpk_shared *shared)
{
	return shared->threads > 0 ? (unsigned)shared->threads : bpk_cpu_count();
}

struct bpk_limits bpk_job_limits(const struct bpk_shared *shared)
{
	return (struct bpk_limits){ .threads = bpk_job_threads(shared),
				    .memory = shared->memory_limit,
				    .memory_is_default = !shared->memory_given };
}

int bpk_job_run(struct bpk_job *job, struct bpk_flow *flow, struct bpk_err *err)
{
	const struct bpk_shared *shared = job->shared;
	struct bpk_progress progress;
	uint64_t total = flow->plan.end;
	int rc;

	if (total != BPK_UNKNOWN)
		total -= bpk_min_u64(total, flow->plan.start);
	flow->in = job->in->format->reader;
	flow->reader = job->in->reader;
	flow->out = job->writer != NULL ? job->format->writer : NULL;
	flow->writer = job->writer;
	flow->limits = bpk_job_limits(shared);
	flow->progress = bpk_progress_update;
	flow->progress_arg = &progress;
	bpk_signals_start();
	bpk_progress_start(&progress, shared->progress, shared->quiet, job->in->path, total);
	rc = bpk_flow_run(flow, &job->result, err);
	bpk_progress_hide();
	if (rc != 0 && err->kind == BPK_USAGE && job->may_end_early)
		rc = 0; /* all that is there was put */
	if (rc == 0)
		return 0;
	run_subject(job, err);
	return bpk_input_judge(job->in, err);
}

/* ---- results ---- */

void bpk_job_note_unknown_size(const struct bpk_job *job, uint64_t raw_size, const char *advice)
{
	if (raw_size != BPK_UNKNOWN || job->format->is_directory || job->format->tells_size ||
	    bpk_draft_seekable(job->draft) || job->shared->quiet)
		return;
	bpk_note(bpk_output_name(job->target),
		 "its header cannot say how much follows, older Bloscpack readers stop there; %s",
		 advice);
}

uint64_t bpk_job_output_size(const struct bpk_job *job)
{
	struct stat found;

	if (job->piped > 0)
		return job->piped;
	if (!is_dash(job->target) && stat(job->target, &found) == 0 && S_ISREG(found.st_mode))
		return (uint64_t)found.st_size;
	return job->result.packed_size;
}

void bpk_job_note_result(const struct bpk_job *job, uint64_t packed_size)
{
	uint64_t raw_size = job->result.raw_size;
	char ratio[BPK_SIZE_TEXT];
	double rate = job->seconds > 0 ? (double)raw_size / job->seconds / 1e6 : 0;

	bpk_note(bpk_input_name(job->in->path),
		 "%" PRIu64 " bytes raw, %" PRIu64 " packed, ratio %s, %.3f s, %.0f MB/s, to %s",
		 raw_size, packed_size, bpk_ratio_text(raw_size, packed_size, ratio), job->seconds,
		 rate, bpk_output_name(job->target));
}

void bpk_job_record_result(const struct bpk_job *job, uint64_t packed_size)
{
	bpk_record_text("output", job->target);
	bpk_record_u64("raw_size", job->result.raw_size);
	bpk_record_u64("packed_size", packed_size);
	bpk_record_u64("nchunks", job->result.nchunks);
	bpk_record_seconds("seconds", job->seconds);
}
