/* bpk sum: digests of raw contents. Called by main through the table of commands. */
#include "cli/sum.h"

#include <stdlib.h>

#include "cli/report.h"
#include "cli/transfer.h"

static const struct bpk_opt opt_check = {
	.letter = 'c',
	.name = "check",
	BPK_OPT_VALUE(OPT_FLAG, struct bpk_sum_args, check),
	.help = "read lines of digests from each FILE, and check the contents that they name",
	.more = "For each line it prints the name and OK, FAILED, or FAILED open or read. Where no "
		"file has the name, an archive of it is taken: the name with the suffix of a "
		"format behind it.",
};

static const struct bpk_opt opt_tree = {
	.name = "tree",
	BPK_OPT_VALUE(OPT_FLAG, struct bpk_sum_args, tree),
	.help = "print the root of a tree of SHA-256 over leaves of 1 MiB, found by all threads",
	.more = "As RFC 6962 builds it. The line is marked SHA256-TREE, and --check knows it.",
};

static const struct bpk_opt opt_recorded = {
	.name = "recorded",
	BPK_OPT_VALUE(OPT_FLAG, struct bpk_sum_args, recorded),
	.help = "with --tree: print the root that the archive records, and read no data",
	.more = "It is the word of the archive, which pack --identity put there; bpk-verify(1) "
		"tests it. An archive without it is a failure, status 1.",
};

static const struct bpk_opt opt_ignore_missing = {
	.name = "ignore-missing",
	BPK_OPT_VALUE(OPT_FLAG, struct bpk_sum_args, ignore_missing),
	.help = "with --check: pass over names without a file",
};

static const struct bpk_opt opt_strict = {
	.name = "strict",
	BPK_OPT_VALUE(OPT_FLAG, struct bpk_sum_args, strict),
	.help = "with --check: a malformed line is a failure, status 1",
};

static const struct bpk_opt opt_quiet = {
	.letter = 'q',
	.name = "quiet",
	BPK_OPT_VALUE(OPT_FLAG, struct bpk_sum_args, shared.quiet),
	.help = "with --check: do not print OK, nor notes",
	.group = GROUP_RUN,
};

static const struct bpk_opt *const rows[] = {
	&opt_check,
	&opt_tree,
	&opt_recorded,
	&opt_ignore_missing,
	&opt_strict,
	&bpk_opt_no_marker,
	BPK_OPTS_REMOTE,
	&bpk_opt_threads,
	&bpk_opt_memory_limit,
	&opt_quiet,
	&bpk_opt_verbose,
	&bpk_opt_progress,
	&bpk_opt_help,
	NULL,
};

static const struct bpk_sum_args defaults = { .shared.audits = true };

static int check_usage(const struct bpk_sum_args *args, char **operands, size_t count,
		       struct bpk_err *err)
{
	if (args->check && args->tree)
		return bpk_fail(err, BPK_USAGE,
				"only one of --check and --tree can be given; a list says of each "
				"line which digest it has");
	if (args->recorded && !args->tree)
		return bpk_fail(err, BPK_USAGE, "--recorded needs --tree");
	if (!args->check && (args->ignore_missing || args->strict))
		return bpk_fail(err, BPK_USAGE, "--ignore-missing and --strict need --check");
	return bpk_input_check_operands(operands, count, err);
}

static void sum_operands(const struct bpk_sum_args *args, char **operands, size_t count)
{
	struct bpk_err err = { 0 };
	struct bpk_sum_entry *entries = bpk_calloc(count, sizeof *entries, &err);

	if (entries == NULL) {
		bpk_report(NULL, &err);
		return;
	}
	for (size_t i = 0; i < count; i++)
		entries[i] = (struct bpk_sum_entry){ .name = operands[i], .tree = args->tree };
	bpk_sum_entries(args, entries, count, NULL);
	free(entries);
}

static void run_sum(void *arg, char **operands, size_t count)
{
	char dash[] = "-", *standard_input[] = { dash };
	const struct bpk_sum_args *args = arg;
	struct bpk_err err = { 0 };

	if (check_usage(args, operands, count, &err) != 0) {
		bpk_report("sum", &err);
		return;
	}
	if (count == 0) {
		operands = standard_input;
		count = 1;
	}
	if (!args->check)
		sum_operands(args, operands, count);
	for (size_t i = 0; args->check && i < count; i++)
		bpk_sum_check_list(args, operands[i]);
}

static const struct bpk_foreign foreign[] = {
	{ 'b', "binary", "every FILE is read as binary data" },
	{ ' ', "tag",
	  "lines have the form of sha256sum without --tag, for sum -c and sha256sum -c" },
	{ 0 },
};

const struct bpk_command bpk_command_sum = {
	.name = "sum",
	.synopsis = "[OPTION]... [FILE]...\n[OPTION]... --check [FILE]...",
	.summary = "print or check SHA-256 digests of unpacked data",
	.description =
		"Prints the SHA-256 digest of the unpacked content of each FILE, an archive of any "
		"format or a raw file, in sha256sum's form: of an archive the line is that of the "
		"file it was made of, but for the name. A damaged archive has no line.",
	.operands = OPERANDS_FILES,
	.reads = true,
	.options = rows,
	.foreign = foreign,
	.args_size = sizeof(struct bpk_sum_args),
	.defaults = &defaults,
	.run = run_sum,
};
