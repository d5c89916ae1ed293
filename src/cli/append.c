/* bpk append: raw bytes added to an archive. Called by main through the table of commands. */
#include <stdio.h>
#include <unistd.h>

#include "cli/append.h"
#include "cli/progress.h"
#include "cli/record.h"
#include "cli/report.h"

static const struct bpk_opt opt_follow = {
	.name = "follow",
	BPK_OPT_VALUE(OPT_FILE, struct bpk_append_args, follow),
	.metavar = "FILE",
	.help = "append new data of FILE while it grows",
	.more = "Creates ARCHIVE if it is missing, and waits for FILE if that is. Ends with --pid, "
		"--idle, SIGTERM or SIGINT, with status 0; SIGUSR1 commits at once.",
};

static const struct bpk_opt opt_pid = {
	.name = "pid",
	BPK_OPT_VALUE(OPT_U64, struct bpk_append_args, pid),
	.metavar = "P",
	.help = "with --follow: end when process P has ended",
	.more = "FILE is first read to its end.",
	.min = 1,
	.max = INT32_MAX,
};

static const struct bpk_opt opt_idle = {
	.name = "idle",
	BPK_OPT_VALUE(OPT_U64, struct bpk_append_args, idle),
	.metavar = "SECONDS",
	.help = "with --follow: end when FILE has not grown for this time",
	.min = 1,
	.max = INT32_MAX,
};

static const struct bpk_opt opt_rotate = {
	.name = "rotate",
	BPK_OPT_VALUE(OPT_FLAG, struct bpk_append_args, rotate),
	.help = "with --follow: go on when another file gets the name FILE",
	.more = "ARCHIVE then gets the rest of the old file, and a number (log.1.blp for log.blp), "
		"and a new ARCHIVE is begun for the new file; also when FILE is cut off and "
		"begun anew.",
};

static const struct bpk_opt opt_commit_interval = {
	.name = "commit-interval",
	BPK_OPT_VALUE(OPT_U64, struct bpk_append_args, commit_interval),
	.metavar = "SECONDS",
	.help = "commit new data at least this often",
	.more = "Committed data stays when the command fails or is killed later. By default all "
		"data is committed at the end, and with --follow every 10 seconds.",
	.min = 1,
	.max = INT32_MAX,
};

static const struct bpk_opt opt_mend = {
	.name = "mend",
	BPK_OPT_VALUE(OPT_FLAG, struct bpk_append_args, mend),
	.help = "with --follow: correct the archive where FILE differs",
	.more = "The archive's bytes become those of FILE, from the first difference on. By "
		"default a difference is an error, except in the counts that programs update in "
		"the head of a growing file.",
};

static const struct bpk_opt opt_bytes = {
	.name = "bytes",
	BPK_OPT_VALUE(OPT_FLAG, struct bpk_append_args, bytes),
	.help = "append GSD and NumPy files as plain bytes",
	.more = "GSD files are otherwise joined frame by frame if ARCHIVE holds one, which keeps "
		"their frames and not their bytes, and .npy files refused if ARCHIVE holds an "
		"array.",
};

static const struct bpk_opt opt_step = {
	.name = "step",
	BPK_OPT_VALUE(OPT_TEXT, struct bpk_append_args, frame.step),
	.metavar = "N",
	.help = "of a GSD file's new frame: the simulation's step, configuration/step",
};

static const struct bpk_opt opt_schema = {
	.name = "schema",
	BPK_OPT_VALUE(OPT_TEXT, struct bpk_append_args, frame.schema),
	.metavar = "NAME",
	.help = "create a missing GSD file with this schema",
	.more = "An existing file must have this schema.",
};

static const struct bpk_opt opt_schema_version = {
	.name = "schema-version",
	BPK_OPT_VALUE(OPT_TEXT, struct bpk_append_args, frame.schema_version),
	.metavar = "M.m",
	.help = "version of the schema; default 1.4 for hoomd, else 1.0",
};

static const struct bpk_opt opt_application = {
	.name = "application",
	BPK_OPT_VALUE(OPT_TEXT, struct bpk_append_args, frame.application),
	.metavar = "TEXT",
	.help = "name of the program that writes a new GSD file",
};

static const struct bpk_opt *const rows[] = {
	&opt_follow,
	&opt_pid,
	&opt_idle,
	&opt_rotate,
	&opt_commit_interval,
	&opt_mend,
	&opt_bytes,
	&opt_step,
	&opt_schema,
	&opt_schema_version,
	&opt_application,
	&bpk_opt_format_read,
	&bpk_opt_digits,
	&bpk_opt_level_of_archive,
	&bpk_opt_codec_of_archive,
	&bpk_opt_filter,
	&bpk_opt_lossy,
	&bpk_opt_dictionary,
	&bpk_opt_typesize,
	&bpk_opt_block_size,
	&bpk_opt_slack,
	&bpk_opt_append_space,
	BPK_OPTS_CHANGE,
	BPK_OPTS_REMOTE,
	BPK_OPTS_RUN,
	NULL,
};

static const struct bpk_append_args defaults = { .common = BPK_ARGS_DEFAULTS };

static bool is_about_frame(const struct bpk_gsd_frame_args *frame)
{
	return frame->step != NULL || frame->schema != NULL || frame->schema_version != NULL ||
	       frame->application != NULL;
}

static int check_usage(const struct bpk_append_args *args, char *const *names, size_t count,
		       struct bpk_err *err)
{
	if (is_about_frame(&args->frame))
		return bpk_fail(err, BPK_USAGE,
				"--step, --schema, --schema-version and --application are about "
				"frames of a GSD file, which the first operand is not");

	if (args->follow != NULL && count > 0)
		return bpk_fail(err, BPK_USAGE, "--follow takes no other FILE");
	if (args->follow != NULL && strcmp(args->follow, "-") == 0)
		return bpk_fail(
			err, BPK_USAGE,
			"--follow needs a FILE; without --follow, append reads standard input");
	if (args->follow != NULL && args->common.encoding.lossy)
		return bpk_fail(err, BPK_USAGE,
				"--follow compares what there is with FILE, which --lossy changes");
	if (args->follow == NULL &&
	    (args->pid != 0 || args->idle != 0 || args->mend || args->rotate))
		return bpk_fail(err, BPK_USAGE, "--pid, --idle, --mend and --rotate need --follow");
	if (args->rotate && args->mend)
		return bpk_fail(err, BPK_USAGE,
				"only one of --mend and --rotate may be given: a file that differs "
				"is mended, or another one");
	for (size_t i = 0; i < count; i++)
		if (strcmp(names[i], "-") == 0 && isatty(STDIN_FILENO))
			return bpk_fail(err, BPK_USAGE,
					"standard input is a terminal, name a FILE");
	return bpk_input_check_operands(names, count, err);
}

static void run_frame(const struct bpk_append_args *args, char **operands, size_t count)
{
	struct bpk_err err = { 0 };

	if (args->follow != NULL || args->commit_interval != 0 || args->pid != 0 ||
	    args->idle != 0) {
		bpk_fail(&err, BPK_USAGE, "a frame of a GSD file is appended at once, without %s",
			 args->commit_interval != 0 ? "--commit-interval" : "--follow");
		bpk_report("append", &err);
	}
	bpk_gsd_append(operands[0], &args->common, &args->frame, operands + 1, count - 1);
}

static void append_to(const struct bpk_append_args *args, char **operands, size_t count)
{
	static char dash[] = "-";
	static char *const only_dash[] = { dash };
	bool from_stdin = count == 1 && args->follow == NULL, frame = false;
	const struct bpk_append_job job = {
		.path = operands[0],
		.names = from_stdin ? only_dash : operands + 1,
		.count = from_stdin ? 1 : count - (count > 0),
	};
	struct bpk_err err = { 0 };

	if (count > 0 && bpk_gsd_append_wants(operands[0], &args->frame, &frame, &err) != 0) {
		bpk_report(NULL, &err);
		return;
	}
	if (frame) {
		run_frame(args, operands, count);
		return;
	}
	if (count == 0)
		bpk_fail(&err, BPK_USAGE, "needs an ARCHIVE");
	if (count == 0 || check_usage(args, job.names, job.count, &err) != 0)
		bpk_report("append", &err);
	if (args->follow != NULL)
		bpk_append_follow(args, &job);
	else
		(void)bpk_append_once(args, &job);
}

static void run_append(void *arg, char **operands, size_t count)
{
	const struct bpk_append_args *args = arg;

	append_to(args, operands, count);
	bpk_record_settle(&args->common.shared, count > 0 ? operands[0] : NULL);
}

const struct bpk_command bpk_command_append = {
	.name = "append",
	.synopsis = "[OPTION]... ARCHIVE [FILE]...",
	.summary = "add raw data to an archive, or a frame to a GSD file",
	.description =
		"Packs each FILE, or standard input, behind the content of ARCHIVE, with the "
		"settings of the archive. All data is added, or none. ARCHIVE may be a directory "
		"in a store: s3://BUCKET/NAME/. With --follow it packs a growing file, while "
		"others read the archive. GSD files appended to an archive of "
		"one keep their frames, not their bytes, unless --bytes is given. If ARCHIVE is a "
		"raw GSD file, each "
		"operand is NAME=FILE.npy, and all of them are one frame.",
	.operands = OPERANDS_ARCHIVE_FIRST,
	.options = rows,
	.args_size = sizeof(struct bpk_append_args),
	.defaults = &defaults,
	.run = run_append,
};
