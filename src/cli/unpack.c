/* bpk unpack: archives in, raw files out. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/command.h"
#include "cli/content.h"
#include "cli/job.h"
#include "cli/record.h"
#include "cli/report.h"
#include "cli/results.h"

struct unpack_args {
	struct bpk_shared shared;
	bool keep_broken;
	bool bare;
};

static const struct bpk_opt opt_raw = {
	.name = "raw",
	BPK_OPT_VALUE(OPT_FLAG, struct unpack_args, bare),
	.help = "write an array's bytes alone, for any name of the result",
	.more = "By default an array unpacked to a name ending in .npy becomes a NumPy file.",
};

static const struct bpk_opt opt_keep_broken = {
	.name = "keep-broken",
	BPK_OPT_VALUE(OPT_FLAG, struct unpack_args, keep_broken),
	.help = "keep the data before damage as NAME.partial",
	.more = "By default a damaged archive leaves no file. The status is that of damage either "
		"way.",
	.group = GROUP_OUTPUT,
};

static const struct bpk_opt *const rows[] = {
	&bpk_opt_name,        &bpk_opt_frames,     &bpk_opt_no_defaults,
	&bpk_opt_format_read, &bpk_opt_max_output, &opt_raw,
	&bpk_opt_no_check,    &bpk_opt_no_marker,  &bpk_opt_stdout,
	&bpk_opt_output,      &bpk_opt_output_dir, &opt_keep_broken,
	&bpk_opt_force,       &bpk_opt_keep,       &bpk_opt_rm,
	&bpk_opt_no_sync,     &bpk_opt_threads,    &bpk_opt_memory_limit,
	&bpk_opt_quiet,       &bpk_opt_verbose,    &bpk_opt_progress,
	&bpk_opt_json,        &bpk_opt_help,       NULL,
};

static const struct unpack_args defaults;

/* ---- the work ---- */

static char *strip_suffix(const struct bpk_job *job, const char *source, struct bpk_err *err)
{
	char *target = bpk_strdup(source, err);
	const char *suffix;
	size_t size, folder;

	if (target == NULL)
		return NULL;
	/* a directory may be written with a slash behind it */
	for (size = strlen(target); size > 0 && target[size - 1] == '/'; size--)
		target[size - 1] = '\0';
	suffix = bpk_format_suffix(target);
	folder = size > 0 && strrchr(target, '/') ? (size_t)(strrchr(target, '/') + 1 - target) : 0;
	if (suffix != NULL && !job->in->place.is_member && size - strlen(suffix) > folder) {
		target[size - strlen(suffix)] = '\0';
		return target;
	}
	free(target);
	bpk_fail(err, BPK_PARTIAL, "%s, skipped; name the result with --output or --stdout",
		 job->in->place.is_member ? "is a member of a tar" : "has no suffix to strip");
	return NULL;
}

/* As it ends, or did before it got NAME.partial. */
static bool is_npy_name(const char *name)
{
	return bpk_ends_with(name, ".npy") || bpk_ends_with(name, ".npy.partial");
}

static int fail_size(const struct bpk_array *array, uint64_t raw_size, struct bpk_err *err)
{
	return bpk_fail(err, BPK_FAILED,
			"unpacks to %" PRIu64 " bytes, its metadata record an array of %" PRIu64
			"; --raw gives "
			"the bytes",
			raw_size, array->size);
}

/* Metadata of an array that does not fit make no NumPy file; other metadata are no matter. */
static int check_no_array(const struct bpk_info *info, struct bpk_err *err)
{
	struct bpk_array array = { 0 };
	bool is_array = false;
	int rc = 0;

	if (!info->metadata.given ||
	    bpk_array_from_metadata(info->metadata.text, &array, &is_array, NULL, NULL) != 0)
		return 0;
	if (is_array)
		rc = fail_size(&array, info->raw_size, err);
	bpk_array_clear(&array);
	return rc;
}

/* The header that makes a NumPy file of an array, if the target's name asks for one. */
static int make_head(const struct unpack_args *args, const struct bpk_job *job,
		     struct bpk_buf *head, struct bpk_err *err)
{
	const struct bpk_info *info = job->in->info;
	struct bpk_err why = { 0 };
	int rc = 0;

	if (args->bare || !is_npy_name(job->target))
		return 0;
	if (bpk_input_complete(job->in, err) != 0)
		return -1;
	if (info->array.type == NULL)
		rc = check_no_array(info, err);
	else if (bpk_npy_head(info->array.type, head, &why) != 0)
		rc = bpk_fail(err, why.kind, "%s; --raw gives the bytes", why.text);
	return rc == 0 ? 0 : bpk_input_subject(job->in, err);
}

/* Of a stream it is known only now. */
static int check_array(const struct bpk_job *job, struct bpk_view head, struct bpk_err *err)
{
	const struct bpk_array *array = job->in->info->array.type;

	if (head.size == 0 || job->result.raw_size == array->size)
		return 0;
	fail_size(array, job->result.raw_size, err);
	return bpk_input_subject(job->in, err);
}

static int unpack_behind(const struct unpack_args *args, struct bpk_job *job, struct bpk_view head,
			 struct bpk_err *err)
{
	struct bpk_info info = *job->in->info;
	const struct bpk_write_options options = {
		.head = head,
		.mark = bpk_view(bpk_npy_magic, BPK_NPY_MAGIC_SIZE),
	};
	struct bpk_flow flow = { .check = !args->shared.no_check, .decode = true };

	flow.plan = bpk_plan_all(job->in->info);
	if (bpk_job_bound(job, &flow.plan, err) != 0)
		return -1;
	job->may_end_early = flow.plan.end != flow.plan.raw_size;
	info.raw_size = flow.plan.raw_size;
	if (bpk_job_start_writer(job, &bpk_format_raw, &info, &options, err) != 0)
		return -1;
	if (bpk_job_run(job, &flow, err) != 0)
		return -1;
	if (bpk_job_check_bound(job, err) != 0 || check_array(job, head, err) != 0 ||
	    bpk_input_account(job->in, err) != 0)
		return -1;
	return bpk_job_finish_writer(job, err);
}

static int unpack_into_draft(const struct unpack_args *args, struct bpk_job *job,
			     struct bpk_err *err)
{
	struct bpk_buf head = { 0 };
	int rc = make_head(args, job, &head, err);

	if (rc == 0)
		rc = unpack_behind(args, job, bpk_buf_view(&head), err);
	bpk_buf_clear(&head);
	return rc;
}

static void tell_result(const struct bpk_job *job)
{
	uint64_t packed_size = job->in->info->stored_size;

	if (packed_size == BPK_UNKNOWN)
		packed_size = job->result.packed_size;
	if (job->shared->verbose)
		bpk_job_note_result(job, packed_size);
	if (!job->shared->json)
		return;
	bpk_record_begin("unpack", job->in->path);
	bpk_job_record_result(job, packed_size);
	bpk_record_end();
}

/* A directory that is to be removed is looked at before anything in it is read. */
static int open_input(const struct unpack_args *args, const char *path, struct bpk_job *job,
		      struct bpk_err *err)
{
	struct bpk_input *in = job->in;

	if (bpk_input_find(in, path, &args->shared, err) != 0)
		return -1;
	if (job->shared->remove && in->place.is_directory && in->format != NULL &&
	    bpk_removal_begin(path, in->format->owns, &job->removal, err) != 0)
		return bpk_input_subject(in, err);
	return bpk_input_start(in, &args->shared, args->shared.memory_limit, err);
}

/* Open path again and unpack it; job is left for the caller to look at and to clear. */
static int open_and_unpack(const struct unpack_args *args, const char *path, struct bpk_job *job,
			   struct bpk_err *err)
{
	if (open_input(args, path, job, err) != 0)
		return -1;
	if (job->target == NULL && bpk_job_name_target(job, strip_suffix, err) != 0)
		return -1;
	if (bpk_job_open_draft(job, err) != 0)
		return -1;
	return unpack_into_draft(args, job, err);
}

/*
 * The draft was to become the target, so the data before the damage is unpacked once more, as
 * NAME.partial, for nobody but its owner, whatever the archive's mode.
 */
static void keep_broken(const struct unpack_args *args, const char *path, const char *target)
{
	struct bpk_shared shared = args->shared;
	struct bpk_input in = { 0 };
	struct bpk_job job = {
		.shared = &shared, .in = &in, .target_derived = true, .is_private = true
	};
	struct bpk_err err = { 0 };
	int rc = asprintf(&job.target, "%s.partial", target);

	shared.remove = false;
	if (rc < 0)
		job.target = NULL;
	else if (open_and_unpack(args, path, &job, &err) != 0 && job.draft != NULL &&
		 err.kind == BPK_CORRUPT) {
		if (bpk_job_keep(&job, &err) == 0)
			bpk_note(job.target, "holds what came before the damage");
		else
			bpk_report(NULL, &err);
	} else {
		bpk_report(NULL, &err);
	}
	bpk_job_clear(&job);
	bpk_input_close(&in);
}

/* ---- arrays by name ---- */

static int save(const struct unpack_args *args, struct bpk_job *job, uint64_t *count,
		struct bpk_err *err)
{
	struct bpk_content content;
	int rc;

	if (bpk_content_look(job->in, &args->shared, &content, err) != 0)
		return -1;
	rc = bpk_content_save(&content, &args->shared.pick, args->shared.max_output, job, count,
			      err);
	rc = bpk_content_unchanged(&content, rc, err);
	bpk_content_close(&content);
	return rc;
}

static void record_saved(const struct bpk_job *job, uint64_t count)
{
	bpk_record_begin("unpack", job->in->path);
	bpk_record_text("output", strcmp(job->target, "-") == 0 ? NULL : job->target);
	bpk_record_text("name", job->shared->pick.name);
	bpk_record_u64("arrays", count);
	bpk_record_end();
}

static void unpack_named(const struct unpack_args *args, const char *path)
{
	struct bpk_input in = { 0 };
	struct bpk_job job = { .shared = &args->shared, .in = &in };
	struct bpk_err err = { 0 };
	uint64_t count = 0;

	if (bpk_input_open_any(&in, path, &args->shared, &err) != 0 ||
	    bpk_job_name_target(&job, NULL, &err) != 0 || bpk_job_open_draft(&job, &err) != 0 ||
	    save(args, &job, &count, &err) != 0 || bpk_job_keep(&job, &err) != 0) {
		bpk_input_judge(&in, &err);
		bpk_report(NULL, &err);
	} else if (args->shared.json)
		record_saved(&job, count);
	bpk_job_clear(&job);
	bpk_input_close(&in);
}

/* ---- one file ---- */

static void unpack_one(void *arg, const char *path)
{
	const struct unpack_args *args = arg;
	struct bpk_input in = { 0 };
	struct bpk_job job = { .shared = &args->shared, .in = &in };
	struct bpk_err err = { 0 };
	bool broken;
	int rc;

	if (args->shared.pick.name != NULL) {
		unpack_named(args, path);
		return;
	}
	rc = open_and_unpack(args, path, &job, &err);
	broken = rc != 0 && err.kind == BPK_CORRUPT && job.draft != NULL;
	if (rc == 0)
		rc = bpk_job_keep(&job, &err);
	if (rc == 0) {
		if (!in.unfinished)
			bpk_results_release(&args->shared);
		tell_result(&job);
	} else {
		bpk_report(NULL, &err);
	}
	if (broken && args->keep_broken && strcmp(job.target, "-") != 0)
		keep_broken(args, path, job.target);
	bpk_job_clear(&job);
	bpk_input_close(&in);
}

static int check_usage(const struct unpack_args *args, char **operands, size_t count,
		       struct bpk_err *err)
{
	const struct bpk_pick *pick = &args->shared.pick;

	if (bpk_output_check(&args->shared, operands, count, err) != 0 ||
	    bpk_pick_check(pick, args->keep_broken ? "--keep-broken" : NULL, err) != 0 ||
	    bpk_pick_check(pick, args->shared.remove ? "--rm" : NULL, err) != 0)
		return -1;
	if (pick->name != NULL && args->shared.output == NULL && !args->shared.to_stdout)
		return bpk_fail(err, BPK_USAGE, "--name needs --output FILE.npy or --stdout");
	if (args->keep_broken && args->shared.output != NULL &&
	    (count == 0 || strcmp(operands[0], "-") == 0))
		return bpk_fail(err, BPK_USAGE,
				"--keep-broken needs a FILE, since it reads a damaged one twice");
	return 0;
}

static void run_unpack(void *arg, char **operands, size_t count)
{
	struct unpack_args *args = arg;
	struct bpk_err err = { 0 };

	if (check_usage(args, operands, count, &err) != 0)
		bpk_report("unpack", &err);
	bpk_results_each(&args->shared, operands, count, unpack_one, args);
}

const struct bpk_command bpk_command_unpack = {
	.name = "unpack",
	.synopsis = "[OPTION]... [FILE]...",
	.summary = "restore the raw data of archives",
	.description =
		"Unpacks each FILE.blp into FILE beside it and keeps FILE.blp. The format is "
		"recognised by content. Without FILE, or with -, unpacks standard input to "
		"standard output. With --name writes one array of a simulation file, packed or "
		"not, as a NumPy file, with an axis in front for several frames; a result whose "
		"name ends in .npz has a member for each frame.",
	.operands = OPERANDS_ARCHIVES,
	.options = rows,
	.args_size = sizeof(struct unpack_args),
	.defaults = &defaults,
	.run = run_unpack,
};
