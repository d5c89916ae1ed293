/* bpk cmp: the unpacked contents of two inputs compared. Called by main through the table of
 * commands. */
#include "cli/cmp.h"

#include <math.h>
#include <stdlib.h>

#include "cli/report.h"
#include "cli/share.h"

static const struct bpk_opt opt_tolerance = {
	.name = "tolerance",
	BPK_OPT_VALUE(OPT_TEXT, struct bpk_cmp_args, tolerance_text),
	.metavar = "ABS[,REL]",
	.help = "numbers a and b are equal if |a-b| is at most ABS + REL*|b|",
	.more = "As numpy.allclose; but a NaN equals another. Without --name all arrays of a "
		"simulation file are compared, and nothing else in it; or the array that an "
		"archive "
		"records, or --dtype gives. Arrays that are no numbers must be equal. With -r "
		"files "
		"without arrays are compared byte by byte.",
};

static const struct bpk_opt opt_recorded = {
	.name = "recorded",
	BPK_OPT_VALUE(OPT_FLAG, struct bpk_cmp_args, recorded),
	.help = "believe the identities that A and B record, and read only what differs in them",
	.more = "pack --identity records them; one that records none is read. -v lists the ranges. "
		"Without this option a record counts for nothing, and bytes are compared.",
};

static const struct bpk_opt opt_dtype = {
	.name = "dtype",
	BPK_OPT_VALUE(OPT_TEXT, struct bpk_cmp_args, dtype_text),
	.metavar = "TYPE",
	.help = "with --tolerance: the data are numbers of NumPy's TYPE",
	.more = "With -r only of files in which no arrays are known.",
};

static const struct bpk_opt opt_quiet = {
	.letter = 'q',
	.name = "quiet",
	BPK_OPT_VALUE(OPT_FLAG, struct bpk_cmp_args, shared.quiet),
	.help = "print errors only; the status tells",
	.group = GROUP_RUN,
};

static const struct bpk_opt *const rows[] = {
	&bpk_opt_name,     &bpk_opt_frames,       &bpk_opt_no_defaults, &opt_tolerance,
	&opt_dtype,        &opt_recorded,         &bpk_opt_recursive,   &bpk_opt_include,
	&bpk_opt_exclude,  &bpk_opt_shard,        &bpk_opt_no_marker,   BPK_OPTS_REMOTE,
	&bpk_opt_threads,  &bpk_opt_memory_limit, &opt_quiet,           &bpk_opt_verbose,
	&bpk_opt_progress, &bpk_opt_json,         &bpk_opt_help,        NULL,
};

static const struct bpk_cmp_args defaults;

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
		return bpk_fail(err, BPK_USAGE, "needs two operands, not %zu", count);
	if (bpk_input_check_operands(operands, count, err) != 0 ||
	    bpk_pick_check(&args->shared.pick, NULL, err) != 0)
		return -1;
	if (args->recorded && (args->tolerance_text != NULL || args->shared.pick.name != NULL))
		return bpk_fail(err, BPK_USAGE,
				"--recorded compares whole contents, without --name and "
				"--tolerance");
	if (args->recorded && bpk_program->team != NULL)
		return bpk_fail(err, BPK_USAGE, "--recorded is bpk's alone, not bpk-mpi's");
	if (!tree->recursive &&
	    (tree->share.count > 0 || tree->include.count > 0 || tree->exclude.count > 0))
		return bpk_fail(err, BPK_USAGE,
				"--shard, --include and --exclude need --recursive");
	return parse_tolerance(args, err) != 0 ? -1 : parse_dtype(args, err);
}

struct pair_of_operands {
	const struct bpk_cmp_args *args;
	char **operands;
};

static void compare_operands(void *arg, size_t number)
{
	const struct pair_of_operands *pair = arg;

	(void)number;
	bpk_cmp_files(pair->args, pair->operands[0], pair->operands[1]);
}

/* Two operands of bpk-mpi are one pair, which all ranks compare. */
static void compare_two(struct bpk_cmp_args *args, char **operands)
{
	struct pair_of_operands pair = { args, operands };
	struct bpk_file file = { .path = operands[0] };
	const struct bpk_files files = { .all = &file, .count = 1 };

	if (!bpk_share_each(&args->shared, &files, compare_operands, &pair))
		compare_operands(&pair, 0);
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
		compare_two(args, operands);
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
	.operands = OPERANDS_FILES,
	.reads = true,
	.options = rows,
	.args_size = sizeof(struct bpk_cmp_args),
	.defaults = &defaults,
	.run = run_cmp,
};
