/* bpk cat: raw bytes, or a range of them, to standard output. Called by main through the table of
 * commands. */
#include "cli/cat.h"

#include "cli/content.h"
#include "cli/report.h"
#include "cli/seal.h"
#include "cli/side.h"

static const struct bpk_opt opt_bytes = {
	.name = "bytes",
	BPK_OPT_VALUE(OPT_RANGE, struct bpk_cat_args, bytes),
	.metavar = "A:B",
	.help = "only the raw bytes from A up to, not including, B",
	.more = "As in Python: a negative number counts from the end, A or B may be left out, and "
		"the range is cut off at the ends of the data. A and B take K, M, G and T.",
};

static const struct bpk_opt opt_items = {
	.name = "items",
	BPK_OPT_VALUE(OPT_PART, struct bpk_cat_args, items),
	.metavar = "A:B",
	.help = "the same, counted in items; N is a single one",
	.max = 1,
	.more = "An item is an element of the archive's array; without an array it has the "
		"archive's typesize.",
};

static const struct bpk_opt opt_slice = {
	.name = "slice",
	BPK_OPT_VALUE(OPT_SLICE, struct bpk_cat_args, slice),
	.metavar = "A:B,C,...",
	.help = "only a part of an array: a range or an index for each dimension",
	.more = "As in NumPy, in C order: \"0:10,:,3\", \"...,-1\", \"::2\" with a step. Missing "
		"dimensions are whole. "
		"Of arrays in Blosc2's formats only the blocks that the part touches are "
		"unpacked, and without a checksum to test only these are read.",
};

static const struct bpk_opt opt_text = {
	.name = "text",
	BPK_OPT_VALUE(OPT_FLAG, struct bpk_cat_args, rows.text),
	.help = "write the numbers of an array as text, a row a line",
	.more = "A row is one of the last dimension; of an array of one dimension each number is a "
		"line. A number has as few digits as give the same one when they are read back. "
		"Needs an array of integers, floats or complex numbers, which are two numbers "
		"each: that of --name, or the only one.",
};

static const struct bpk_opt opt_number_format = {
	.name = "number-format",
	BPK_OPT_VALUE(OPT_TEXT, struct bpk_cat_args, rows.format),
	.metavar = "FORMAT",
	.help = "with --text: print each number by FORMAT, as %.6g",
	.more = "One conversion of printf(3) by e, f, g, E, F, G, a, A, of integers also by d, i, "
		"x, "
		"X, with flags, width and precision.",
};

static const struct bpk_opt opt_header = {
	.name = "header",
	BPK_OPT_VALUE(OPT_FLAG, struct bpk_cat_args, rows.header),
	.help = "with --text: a line '# NAME TYPE SHAPE' above each array",
};

static const struct bpk_opt opt_native = {
	.name = "native",
	BPK_OPT_VALUE(OPT_FLAG, struct bpk_cat_args, rows.native),
	.help = "write the numbers of an array in this machine's byte order",
};

static const struct bpk_opt opt_prove = {
	.name = "prove",
	BPK_OPT_VALUE(OPT_FLAG, struct bpk_cat_args, prove),
	.help = "write only bytes that the seal of the archive proves",
	.more = "The archive must have a seal (pack --seal) over checksums of SHA-2. A chunk that "
		"is not the sealed one is damage, and none of its bytes are written.",
};

static const struct bpk_opt opt_root = {
	.name = "root",
	BPK_OPT_VALUE(OPT_TEXT, struct bpk_cat_args, root),
	.metavar = "HEX",
	.help = "with --prove: fail unless the root of the seal is HEX",
	.more = "HEX is the root that verify --print-root printed, or its whole line, of which the "
		"root alone counts. Without it a new seal by somebody else "
		"proves as much.",
};

static const struct bpk_opt opt_force = {
	.letter = 'f',
	.name = "force",
	BPK_OPT_VALUE(OPT_FLAG, struct bpk_cat_args, shared.force),
	.help = "write binary data to a terminal",
	.group = GROUP_OUTPUT,
};

static const struct bpk_opt *const rows[] = {
	&opt_bytes,
	&opt_items,
	&opt_slice,
	&bpk_opt_name,
	&bpk_opt_frames,
	&bpk_opt_no_defaults,
	&opt_text,
	&opt_number_format,
	&opt_header,
	&opt_native,
	&opt_prove,
	&opt_root,
	&bpk_opt_format_read,
	&bpk_opt_no_check,
	&bpk_opt_no_marker,
	&bpk_opt_max_output,
	&opt_force,
	BPK_OPTS_REMOTE,
	&bpk_opt_threads,
	&bpk_opt_memory_limit,
	&bpk_opt_quiet,
	&bpk_opt_verbose,
	&bpk_opt_progress,
	&bpk_opt_help,
	NULL,
};

static const struct bpk_cat_args defaults;

/* ---- one file ---- */

/* True if the range does not depend on the end of the data. */
static bool has_end(const struct bpk_opt_range *range)
{
	return range->given && range->has_end && range->start >= 0 && range->end >= 0;
}

static int open_input(const struct bpk_cat_args *args, struct bpk_input *in, const char *path,
		      struct bpk_err *err)
{
	struct bpk_shared shared = args->shared;
	int rc;

	shared.outline = has_end(&args->bytes) || has_end(&args->items);
	rc = (bpk_cat_wants_arrays(args) ? bpk_input_open_any : bpk_input_open)(in, path, &shared,
										err);

	return rc == 0 && args->slice.given ? bpk_input_complete(in, err) : rc;
}

static void cat_one(void *arg, const char *path)
{
	const struct bpk_cat_args *args = arg;
	struct bpk_input in = { 0 };
	struct bpk_transfer transfer = { .shared = &args->shared, .in = &in };
	struct bpk_err err = { 0 };

	if (open_input(args, &in, path, &err) != 0 ||
	    bpk_transfer_name_target(&transfer, NULL, &err) != 0 ||
	    bpk_transfer_open_draft(&transfer, &err) != 0 ||
	    bpk_cat_write(args, &transfer, &err) != 0 || bpk_transfer_keep(&transfer, &err) != 0) {
		bpk_input_judge(&in, &err);
		bpk_side_advise(&in, &err);
		bpk_report(NULL, &err);
	}
	bpk_transfer_clear(&transfer);
	bpk_input_close(&in);
}

/* The option that asks for a part of the data; NULL: no such option. */
static const char *part_of(const struct bpk_cat_args *args)
{
	if (args->bytes.given)
		return "--bytes";
	return args->items.given ? "--items" : NULL;
}

static int check_usage(const struct bpk_cat_args *args, struct bpk_err *err)
{
	if (args->bytes.given + args->items.given + args->slice.given > 1)
		return bpk_fail(err, BPK_USAGE,
				"only one of --bytes, --items and --slice can be given");
	if (args->bytes.given && bpk_cat_converts(args))
		return bpk_fail(err, BPK_USAGE, "only one of --bytes and %s can be given",
				args->rows.text ? "--text" : "--native");
	if (args->prove && args->shared.no_check)
		return bpk_fail(err, BPK_USAGE, "only one of --prove and --no-check can be given");
	if (args->root != NULL && !args->prove)
		return bpk_fail(err, BPK_USAGE, "--root needs --prove");
	if (bpk_seal_check_root(args->root, err) != 0 || bpk_rows_check(&args->rows, err) != 0)
		return -1;
	return bpk_pick_check(&args->shared.pick, part_of(args), err);
}

/* True if the run fetches and checks all chunks, and an audit follows. */
static bool audits(const struct bpk_cat_args *args)
{
	return !args->bytes.given && !args->items.given && !bpk_cat_wants_arrays(args) &&
	       !args->prove && !args->shared.no_check;
}

static void run_cat(void *arg, char **operands, size_t count)
{
	struct bpk_cat_args *args = arg;
	struct bpk_err err = { 0 };

	args->shared.to_stdout = true;
	args->shared.audits = audits(args);
	args->shared.force = args->shared.force || args->rows.text;
	if (check_usage(args, &err) != 0)
		bpk_report("cat", &err);
	bpk_input_each(operands, count, cat_one, args);
}

const struct bpk_command bpk_command_cat = {
	.name = "cat",
	.synopsis = "[OPTION]... [FILE]...",
	.summary = "write raw bytes, or a range of them, to standard output",
	.description =
		"Unpacks each FILE, or standard input, to standard output. With a range only the "
		"chunks it touches are read and checked, and only the blocks it needs are "
		"unpacked. With --name it writes one array of a simulation file, packed or not.",
	.operands = OPERANDS_CONTENT,
	.reads = true,
	.options = rows,
	.args_size = sizeof(struct bpk_cat_args),
	.defaults = &defaults,
	.run = run_cat,
};
