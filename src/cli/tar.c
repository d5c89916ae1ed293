/* bpk tar: its options, and which of its three works is asked for. Called by main through the table
 * of commands. */
#include "cli/tar.h"

#include "cli/report.h"
#include "cli/transfer.h"

static const struct bpk_opt opt_list = {
	.letter = 't',
	.name = "list",
	BPK_OPT_VALUE(OPT_FLAG, struct bpk_tar_args, list),
	.help = "list the members of a tar",
	.more = "With -v as tar(1) does: kind and permissions, owner, size, time.",
};

static const struct bpk_opt opt_extract = {
	.letter = 'x',
	.name = "extract",
	BPK_OPT_VALUE(OPT_FLAG, struct bpk_tar_args, extract),
	.help = "extract the members of a tar",
	.more = "Nothing is ever written outside the directory: members that lead outside are "
		"left out, with a line and status 4.",
};

static const struct bpk_opt opt_file = {
	.letter = 'f',
	.name = "file",
	BPK_OPT_VALUE(OPT_FILE, struct bpk_tar_args, file),
	.metavar = "TAR",
	.help = "write, list or extract TAR; - is standard output or input",
};

static const struct bpk_opt opt_directory = {
	.letter = 'C',
	.name = "directory",
	BPK_OPT_VALUE(OPT_DIRECTORY, struct bpk_tar_args, directory),
	.metavar = "DIR",
	.help = "extract below DIR instead of the current directory",
	.more = "The directory must exist.",
};

static const struct bpk_opt opt_raw = {
	.name = "raw",
	BPK_OPT_VALUE(OPT_FLAG, struct bpk_tar_args, raw),
	.help = "store the raw content of the datasets",
	.more = "Each is unpacked on its way into the tar, under its name without the suffix of "
		"its format.",
};

static const struct bpk_opt opt_date = {
	.name = "date",
	BPK_OPT_VALUE(OPT_U64, struct bpk_tar_args, date),
	.metavar = "SECONDS",
	.help = "store this time, no owner and plain permissions with all members",
	.more = "Seconds since 1970. Equal contents then give equal bytes on every machine.",
	.environment = "SOURCE_DATE_EPOCH",
	.max = INT64_C(253402300799), /* the year 9999 */
};

static const struct bpk_opt opt_output = {
	.letter = 'o',
	.name = "output",
	BPK_OPT_VALUE(OPT_FILE, struct bpk_tar_args, shared.output),
	.metavar = "TAR",
	.help = "write to TAR; - is standard output",
	.more = "A suffix other than .tar is refused, since the tar is not compressed.",
	.group = GROUP_OUTPUT,
};

static const struct bpk_opt opt_force = {
	.name = "force",
	BPK_OPT_VALUE(OPT_FLAG, struct bpk_tar_args, shared.force),
	.help = "replace existing files; write a tar to a terminal",
	.more = "The letter names the tar here, as in tar(1).",
	.group = GROUP_OUTPUT,
};

static const struct bpk_opt *const rows[] = {
	&opt_list,  &opt_extract,      &opt_file,          &opt_directory,      &opt_raw,
	&opt_date,  &bpk_opt_no_check, &bpk_opt_no_marker, &bpk_opt_max_output, &opt_output,
	&opt_force, &bpk_opt_no_sync,  BPK_OPTS_REMOTE,    BPK_OPTS_RUN,        NULL,
};

static const struct bpk_tar_args defaults = { .date = BPK_UNKNOWN };

/* ---- the work ---- */

static int check_reading(const struct bpk_tar_args *args, size_t count, struct bpk_err *err)
{
	if (args->list && args->extract)
		return bpk_fail(err, BPK_USAGE, "only one of --list and --extract can be given");
	if (args->shared.output != NULL || args->raw)
		return bpk_fail(err, BPK_USAGE, "--output and --raw are for writing a tar");
	if (args->list && args->directory != NULL)
		return bpk_fail(err, BPK_USAGE, "--directory is for --extract");
	if (count + (args->file != NULL) > 1)
		return bpk_fail(err, BPK_USAGE, "reads a single tar, %zu were named",
				count + (args->file != NULL));
	return 0;
}

static int check_writing(const struct bpk_tar_args *args, char **operands, size_t count,
			 const char *tar, struct bpk_err *err)
{
	const char *suffix = bpk_output_suffix(tar);

	if (count == 0)
		return bpk_fail(err, BPK_USAGE, "no DATASET to store, expected at least one");
	if (args->directory != NULL)
		return bpk_fail(err, BPK_USAGE, "--directory is for --extract");
	if (args->file != NULL && args->shared.output != NULL)
		return bpk_fail(err, BPK_USAGE, "only one of --file and --output can be given");
	if (suffix != NULL && strcmp(suffix, ".tar") != 0)
		return bpk_fail(err, BPK_USAGE,
				"the suffix of %s is not .tar, and the tar is not compressed", tar);
	if (args->shared.json && strcmp(tar, "-") == 0)
		return bpk_fail(err, BPK_USAGE,
				"--json needs standard output for itself, name a file with "
				"--output");
	for (size_t i = 0; i < count; i++)
		if (strcmp(operands[i], "-") == 0)
			return bpk_fail(err, BPK_USAGE,
					"standard input has no name and no size for a tar, name "
					"a DATASET");
	return 0;
}

static void run_tar(void *arg, char **operands, size_t count)
{
	const struct bpk_tar_args *args = arg;
	bool reads = args->list || args->extract;
	const char *tar = args->file != NULL ? args->file : "-";
	struct bpk_err err = { 0 };

	if (reads && count > 0)
		tar = operands[0];
	else if (!reads && args->shared.output != NULL)
		tar = args->shared.output;
	if ((reads ? check_reading(args, count, &err)
		   : check_writing(args, operands, count, tar, &err)) != 0)
		bpk_report("tar", &err);
	if (args->list)
		bpk_tar_show(args, tar);
	else if (args->extract)
		bpk_tar_extract_one(args, tar);
	else
		bpk_tar_store(args, operands, count, tar);
}

static const struct bpk_foreign foreign[] = {
	{ 'c', "create", "a tar is written by tar -f TAR DATASET..." },
	{ 0 },
};

const struct bpk_command bpk_command_tar = {
	.name = "tar",
	.synopsis = "[OPTION]... DATASET...\n"
		    "-t [OPTION]... [TAR]...\n"
		    "-x [OPTION]... [TAR]...",
	.summary = "store datasets, packed or raw, in a tar; list or extract one",
	.description =
		"Writes a tar of each DATASET, an archive in a file or a directory, to standard "
		"output. With -t it lists a tar, with -x it extracts one: TAR is then the operand, "
		"the file of -f, or standard input.",
	.operands = OPERANDS_ARCHIVES,
	.options = rows,
	.foreign = foreign,
	.args_size = sizeof(struct bpk_tar_args),
	.defaults = &defaults,
	.run = run_tar,
};
