/* bpk cmp: the unpacked contents of two inputs compared. Called by main through the table of
 * commands. */
#include "cli/cmp.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "cli/progress.h"
#include "cli/report.h"
#include "cli/signal.h"

static const struct bpk_opt opt_tolerance = {
	.name = "tolerance",
	BPK_OPT_VALUE(OPT_TEXT, struct bpk_cmp_args, tolerance_text),
	.metavar = "ABS[,REL]",
	.help = "numbers a and b are equal if |a-b| is at most ABS + REL*|b|",
	.more = "As numpy.allclose; but a NaN equals another. Without --name all arrays of a "
		"simulation file are compared, and nothing else in it; or the array that an "
		"archive "
		"records, or --dtype gives. Arrays that are no numbers must be equal.",
};

static const struct bpk_opt opt_dtype = {
	.name = "dtype",
	BPK_OPT_VALUE(OPT_TEXT, struct bpk_cmp_args, dtype_text),
	.metavar = "TYPE",
	.help = "with --tolerance: the data are numbers of NumPy's TYPE",
};

static const struct bpk_opt opt_quiet = {
	.letter = 'q',
	.name = "quiet",
	BPK_OPT_VALUE(OPT_FLAG, struct bpk_cmp_args, shared.quiet),
	.help = "print errors only; the status tells",
	.group = GROUP_RUN,
};

static const struct bpk_opt *const rows[] = {
	&bpk_opt_name,
	&bpk_opt_frames,
	&bpk_opt_no_defaults,
	&opt_tolerance,
	&opt_dtype,
	&bpk_opt_recursive,
	&bpk_opt_include,
	&bpk_opt_exclude,
	&bpk_opt_shard,
	&bpk_opt_no_marker,
	BPK_OPTS_REMOTE,
	&bpk_opt_threads,
	&bpk_opt_memory_limit,
	&opt_quiet,
	&bpk_opt_verbose,
	&bpk_opt_progress,
	&bpk_opt_json,
	&bpk_opt_help,
	NULL,
};

static const struct bpk_cmp_args defaults;

/* ---- two inputs ---- */

/* An archive, or else the bytes of a file or a pipe. */
static int open_input(const struct bpk_cmp_args *args, struct bpk_input *in, const char *path,
		      struct bpk_err *err)
{
	const struct bpk_shared *shared = &args->shared;

	if (bpk_input_find(in, path, shared, err) != 0)
		return -1;
	if (in->format == NULL && !in->place.is_directory && bpk_format_of_suffix(path) == NULL)
		in->format = &bpk_format_raw;
	return bpk_input_start(in, shared, shared->chunk_limit, err);
}

static int compare_contents(struct bpk_cmp *cmp, struct bpk_err *err)
{
	struct bpk_input *const inputs[2] = { &cmp->in[0], &cmp->in[1] };
	const struct bpk_shared *shared = &cmp->args->shared;
	struct bpk_progress progress;
	const struct bpk_compare_options options = {
		.limits = bpk_shared_limits(shared),
		.progress = bpk_progress_update,
		.progress_arg = &progress,
	};
	struct bpk_compared compared;
	int rc;

	bpk_progress_start(&progress, shared->progress, shared->quiet, inputs[0]->path,
			   inputs[0]->info->raw_size);
	rc = bpk_compare(inputs, &options, &compared, err);
	bpk_progress_hide();
	if (rc != 0)
		return -1;
	if (shared->verbose > 1)
		bpk_note(NULL,
			 "%" PRIu64 " chunks compared, %" PRIu64 " of them as they are packed",
			 compared.nchunks, compared.ntwins);
	if (!compared.differ)
		return 0;
	if (bpk_cmp_note_bytes(cmp, &compared, err) != 0)
		return -1;
	if (!compared.ends[0] && !compared.ends[1])
		bpk_cmp_locate(cmp);
	return 0;
}

/* All was of one state, and of what was read to its end, all is accounted for. */
static int settle(struct bpk_cmp *cmp, struct bpk_err *err)
{
	bool whole =
		!cmp->differ && cmp->offset == BPK_UNKNOWN && cmp->args->shared.pick.name == NULL;

	for (int i = 0; i < 2; i++) {
		struct bpk_input *in = &cmp->in[i];

		if (in->format == &bpk_format_raw) {
			if (bpk_source_unchanged(in->place.source, err) != 0)
				return bpk_input_subject(in, err);
			continue;
		}
		if (whole && bpk_input_account(in, err) != 0)
			return -1;
		if (bpk_input_unchanged(in, err) != 0)
			return -1;
	}
	return 0;
}

static int compare(struct bpk_cmp *cmp, const char *a, const char *b, struct bpk_err *err)
{
	const struct bpk_cmp_args *args = cmp->args;
	bool arrays = args->shared.pick.name != NULL || args->tolerance.given;

	bpk_signals_start();
	if (open_input(args, &cmp->in[0], a, err) != 0 ||
	    open_input(args, &cmp->in[1], b, err) != 0)
		return -1;
	if ((arrays ? bpk_cmp_arrays(cmp, err) : compare_contents(cmp, err)) != 0)
		return -1;
	return settle(cmp, err);
}

int bpk_cmp_files(const struct bpk_cmp_args *args, const char *a, const char *b)
{
	struct bpk_cmp cmp = { .args = args,
			       .in = { { .path = a }, { .path = b } },
			       .offset = BPK_UNKNOWN,
			       .item = BPK_UNKNOWN,
			       .frame = BPK_UNKNOWN,
			       .largest = args->tolerance.given ? 0 : -1 };
	struct bpk_err err = { 0 };
	int rc;

	compare(&cmp, a, b, &err);
	cmp.in[0].path = a;
	cmp.in[1].path = b;
	bpk_cmp_show(&cmp, &err);
	if (err.kind != BPK_OK)
		bpk_report(NULL, &err);
	rc = err.kind != BPK_OK ? -1 : cmp.differ;
	bpk_input_close(&cmp.in[0]);
	bpk_input_close(&cmp.in[1]);
	free(cmp.line);
	free(cmp.name);
	return rc;
}

/* ---- usage ---- */

/* A number that is not negative; *rest is behind it. */
static bool parse_number(const char *text, double *value, char **rest)
{
	*value = strtod(text, rest);
	return *rest != text && isfinite(*value) && *value >= 0;
}

static int parse_tolerance(struct bpk_cmp_args *args, struct bpk_err *err)
{
	struct bpk_tolerance *tolerance = &args->tolerance;
	const char *text = args->tolerance_text;
	char *rest;
	bool good;

	if (text == NULL)
		return args->dtype_text == NULL
			       ? 0
			       : bpk_fail(err, BPK_USAGE, "--dtype needs --tolerance");
	good = parse_number(text, &tolerance->absolute, &rest);
	if (good && *rest == ',')
		good = parse_number(rest + 1, &tolerance->relative, &rest);
	if (!good || *rest != '\0')
		return bpk_fail(err, BPK_USAGE,
				"--tolerance: '%s' is not a tolerance, expected ABS or ABS,REL",
				text);
	tolerance->given = true;
	return 0;
}

static int parse_dtype(struct bpk_cmp_args *args, struct bpk_err *err)
{
	const char *text = args->dtype_text;

	if (text == NULL)
		return 0;
	if (args->shared.pick.name != NULL)
		return bpk_fail(err, BPK_USAGE, "only one of --name and --dtype can be given");
	if (bpk_dtype_parse(bpk_view(text, strlen(text)), &args->dtype, err) != 0)
		return bpk_err_subject(err, "--dtype");
	return bpk_is_number(&args->dtype)
		       ? 0
		       : bpk_fail(err, BPK_USAGE, "--dtype: '%s' is not a type of numbers", text);
}

static int check_usage(struct bpk_cmp_args *args, char **operands, size_t count,
		       struct bpk_err *err)
{
	const struct bpk_tree_args *tree = &args->shared.tree;

	if (count != 2)
		return bpk_fail(err, BPK_USAGE, "needs two operands, %zu were given", count);
	if (bpk_input_check_operands(operands, count, err) != 0 ||
	    bpk_pick_check(&args->shared.pick, NULL, err) != 0)
		return -1;
	if (!tree->recursive &&
	    (tree->share.count > 0 || tree->include.count > 0 || tree->exclude.count > 0))
		return bpk_fail(err, BPK_USAGE,
				"--shard, --include and --exclude need --recursive");
	return parse_tolerance(args, err) != 0 ? -1 : parse_dtype(args, err);
}

static void run_cmp(void *arg, char **operands, size_t count)
{
	struct bpk_cmp_args *args = arg;
	struct bpk_err err = { 0 };

	if (check_usage(args, operands, count, &err) != 0)
		bpk_report("cmp", &err);
	else if (args->shared.tree.recursive)
		bpk_cmp_trees(args, operands[0], operands[1]);
	else
		bpk_cmp_files(args, operands[0], operands[1]);
	bpk_dtype_clear(&args->dtype);
}

const struct bpk_command bpk_command_cmp = {
	.name = "cmp",
	.synopsis = "[OPTION]... A B",
	.summary = "compare the unpacked data of two archives or files",
	.description =
		"Compares the unpacked content of A and B, archives of any format or raw files. "
		"Silent with status 0 if they are equal; else prints the first difference, and the "
		"status is 5. Bytes and items are counted from 0. Chunks that are packed alike are "
		"not unpacked.",
	.operands = OPERANDS_TREES,
	.options = rows,
	.args_size = sizeof(struct bpk_cmp_args),
	.defaults = &defaults,
	.run = run_cmp,
};
