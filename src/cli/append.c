/* bpk append: raw bytes added to an archive. Called by main through the table of commands. */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "cli/edit.h"
#include "cli/gsd.h"
#include "cli/pack.h"
#include "cli/progress.h"
#include "cli/record.h"
#include "cli/report.h"
#include "cli/rotate.h"
#include "cli/signal.h"
#include "cli/transfer.h"

struct append_args {
	struct bpk_args common;
	const char *follow;
	uint64_t pid, idle, commit_interval; /* 0: not given */
	struct bpk_gsd_frame_args frame;
	bool bytes, mend, rotate;
};

enum { COMMIT_INTERVAL = 10 }; /* seconds, when following */

static const struct bpk_opt opt_follow = {
	.name = "follow",
	BPK_OPT_VALUE(OPT_FILE, struct append_args, follow),
	.metavar = "FILE",
	.help = "append new data of FILE while it grows",
	.more = "Creates ARCHIVE if it is missing, and waits for FILE if that is. Ends with --pid, "
		"--idle, SIGTERM or SIGINT, with status 0; SIGUSR1 commits at once.",
};

static const struct bpk_opt opt_pid = {
	.name = "pid",
	BPK_OPT_VALUE(OPT_U64, struct append_args, pid),
	.metavar = "P",
	.help = "with --follow: end when process P has ended",
	.more = "FILE is first read to its end.",
	.min = 1,
	.max = INT32_MAX,
};

static const struct bpk_opt opt_idle = {
	.name = "idle",
	BPK_OPT_VALUE(OPT_U64, struct append_args, idle),
	.metavar = "SECONDS",
	.help = "with --follow: end when FILE has not grown for this time",
	.min = 1,
	.max = INT32_MAX,
};

static const struct bpk_opt opt_rotate = {
	.name = "rotate",
	BPK_OPT_VALUE(OPT_FLAG, struct append_args, rotate),
	.help = "with --follow: go on when another file gets the name FILE",
	.more = "ARCHIVE then gets the rest of the old file, and a number (log.1.blp for log.blp), "
		"and a new ARCHIVE is begun for the new file; also when FILE is cut off and "
		"begun anew.",
};

static const struct bpk_opt opt_commit_interval = {
	.name = "commit-interval",
	BPK_OPT_VALUE(OPT_U64, struct append_args, commit_interval),
	.metavar = "SECONDS",
	.help = "commit new data at least this often",
	.more = "Committed data stays when the command fails or is killed later. By default all "
		"data is committed at the end, and with --follow every 10 seconds.",
	.min = 1,
	.max = INT32_MAX,
};

static const struct bpk_opt opt_mend = {
	.name = "mend",
	BPK_OPT_VALUE(OPT_FLAG, struct append_args, mend),
	.help = "with --follow: correct the archive where FILE differs",
	.more = "The archive's bytes become those of FILE, from the first difference on. By "
		"default a difference is an error, except in the counts that programs update in "
		"the head of a growing file.",
};

static const struct bpk_opt opt_bytes = {
	.name = "bytes",
	BPK_OPT_VALUE(OPT_FLAG, struct append_args, bytes),
	.help = "append GSD and NumPy files as plain bytes",
	.more = "GSD files are otherwise joined frame by frame if ARCHIVE holds one, which keeps "
		"their frames and not their bytes, and .npy files refused if ARCHIVE holds an "
		"array.",
};

static const struct bpk_opt opt_step = {
	.name = "step",
	BPK_OPT_VALUE(OPT_TEXT, struct append_args, frame.step),
	.metavar = "N",
	.help = "of a GSD file's new frame: the simulation's step, configuration/step",
};

static const struct bpk_opt opt_schema = {
	.name = "schema",
	BPK_OPT_VALUE(OPT_TEXT, struct append_args, frame.schema),
	.metavar = "NAME",
	.help = "create a missing GSD file with this schema",
	.more = "An existing file must have this schema.",
};

static const struct bpk_opt opt_schema_version = {
	.name = "schema-version",
	BPK_OPT_VALUE(OPT_TEXT, struct append_args, frame.schema_version),
	.metavar = "M.m",
	.help = "version of the schema; default 1.4 for hoomd, else 1.0",
};

static const struct bpk_opt opt_application = {
	.name = "application",
	BPK_OPT_VALUE(OPT_TEXT, struct append_args, frame.application),
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

static const struct append_args defaults = { .common = BPK_ARGS_DEFAULTS };

/* ---- frames ---- */

static int is_following_frames(struct bpk_archive *archive, const struct append_args *args,
			       bool *joining, struct bpk_err *err)
{
	bool is_gsd;

	if (bpk_path_is_gsd(args->follow, &is_gsd, err) != 0)
		return -1;
	if (!is_gsd)
		return 0;
	if (bpk_archive_is_gsd(archive, joining, err) != 0)
		return -1;
	if (*joining && args->mend)
		return bpk_fail(err, BPK_FAILED,
				"%s: is followed frame by frame, and frames stay; cut them off "
				"with bpk truncate, or follow bytes with --bytes",
				args->follow);
	if (*joining && args->rotate)
		return bpk_fail(err, BPK_FAILED,
				"%s: is followed frame by frame, without --rotate; --bytes follows "
				"its bytes",
				args->follow);
	return 0;
}

/* Count the operands that hold a GSD file, and those that may: standard input is not looked at. */
static int count_gsd(char *const *names, size_t count, size_t *found, bool *maybe,
		     struct bpk_err *err)
{
	bool is_gsd;

	*found = 0;
	*maybe = false;
	for (size_t i = 0; i < count; i++) {
		if (bpk_format_of_suffix(names[i]) != NULL)
			return bpk_fail(err, BPK_FAILED,
					"%s: is an archive by its name; append what bpk cat "
					"prints of it, or name --bytes",
					names[i]);
		if (bpk_path_is_gsd(names[i], &is_gsd, err) != 0)
			return -1;
		*found += is_gsd;
		*maybe = *maybe || is_gsd || strcmp(names[i], "-") == 0;
	}
	return 0;
}

/* Frames are joined where the archive and each of the files hold a GSD file. */
static int is_joining(struct bpk_archive *archive, const struct append_args *args,
		      char *const *names, size_t count, bool *joining, struct bpk_err *err)
{
	size_t found;
	bool maybe;

	*joining = false;
	if (args->bytes)
		return 0;
	if (args->follow != NULL)
		return is_following_frames(archive, args, joining, err);
	if (count_gsd(names, count, &found, &maybe, err) != 0)
		return -1;
	if (!maybe)
		return 0;
	if (bpk_archive_is_gsd(archive, joining, err) != 0)
		return -1;
	if (*joining && found < count)
		return bpk_fail(err, BPK_FAILED,
				"%s: holds a GSD file, and only %zu of %zu inputs are named GSD "
				"files; --bytes appends bytes",
				archive->path, found, count);
	if (*joining && bpk_path_is_url(archive->path))
		return bpk_fail(err, BPK_FAILED,
				"%s: holds a GSD file, and frames are not joined in a store; "
				"--bytes appends bytes",
				archive->path);
	if (*joining && args->commit_interval != 0)
		return bpk_fail(err, BPK_FAILED,
				"%s: frames are joined at once, without --commit-interval",
				archive->path);
	return 0;
}

static void tell_joined(const struct bpk_edited *edited, const struct append_args *args,
			const struct bpk_joined *joined, double seconds)
{
	const struct bpk_shared *shared = &args->common.shared;
	const struct bpk_archive *archive = &edited->archive;

	if (joined->torn && !shared->quiet)
		bpk_note(args->follow, "its last frame is torn, and left out");
	if (shared->verbose)
		bpk_note(archive->path, "%" PRIu64 " frames appended, now %" PRIu64 ", %.3f s, %s",
			 joined->appended_frames, joined->nframes, seconds,
			 bpk_edited_how(edited, "rewritten, since it had no room for more"));
	if (!shared->json)
		return;
	bpk_record_begin("append", archive->path);
	bpk_record_u64("appended_frames", joined->appended_frames);
	bpk_record_u64("nframes", joined->nframes);
	bpk_record_u64("commits", joined->commits);
	bpk_record_u64("raw_size", bpk_archive_info(archive)->raw_size);
	bpk_record_u64("nchunks", bpk_archive_info(archive)->chunks.count);
	bpk_record_bool("rewritten", archive->rewritten);
	bpk_record_seconds("seconds", seconds);
	bpk_record_end();
}

/* ---- the command ---- */

static bool is_about_frame(const struct bpk_gsd_frame_args *frame)
{
	return frame->step != NULL || frame->schema != NULL || frame->schema_version != NULL ||
	       frame->application != NULL;
}

static int check_usage(const struct append_args *args, char *const *names, size_t count,
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

static void tell_left_out(const struct bpk_archive *archive, const struct append_args *args,
			  const struct bpk_rounds *done)
{
	if (done->left_out > 0 && !args->common.shared.quiet)
		bpk_note(archive->path,
			 "the last %" PRIu64 " bytes of %s are not a whole row of %" PRIu64
			 " and are left out",
			 done->left_out, args->follow, bpk_archive_info(archive)->array.row_size);
}

static void tell_result(const struct bpk_edited *edited, const struct append_args *args,
			const struct bpk_rounds *done, double seconds)
{
	const struct bpk_shared *shared = &args->common.shared;
	const struct bpk_archive *archive = &edited->archive;
	const struct bpk_info *info = bpk_archive_info(archive);

	tell_left_out(archive, args, done);
	bpk_edited_tell_shape(edited);
	if (shared->verbose)
		bpk_note(archive->path,
			 "%" PRIu64 " bytes appended, now %" PRIu64 " in %" PRIu64
			 " chunks, %.3f s, %s",
			 done->appended, info->raw_size, info->chunks.count, seconds,
			 bpk_edited_how(edited, "rewritten, since it had no room for more"));
	if (shared->verbose && done->mended > 0)
		bpk_note(archive->path, "%" PRIu64 " changed bytes rewritten", done->mended);
	if (!shared->json)
		return;
	bpk_record_begin("append", archive->path);
	bpk_record_u64("appended", done->appended);
	bpk_record_u64("commits", done->commits);
	bpk_record_u64("mended", done->mended);
	bpk_record_u64("raw_size", info->raw_size);
	bpk_record_u64("nchunks", info->chunks.count);
	bpk_record_bool("rewritten", archive->rewritten);
	bpk_record_seconds("seconds", seconds);
	bpk_record_end();
}

static struct bpk_follow_options follow_options(const struct append_args *args)
{
	return (struct bpk_follow_options){
		.interval = (double)(args->commit_interval != 0 ? args->commit_interval
								: COMMIT_INTERVAL),
		.idle = (double)args->idle,
		.pid = args->pid,
		.rotates = args->rotate,
	};
}

static int append(struct bpk_archive *archive, const struct append_args *args, char *const *names,
		  size_t count, struct bpk_rounds *done, struct bpk_err *err)
{
	const struct bpk_follow_options options = follow_options(args);

	if (args->follow != NULL)
		return bpk_archive_follow(archive, args->follow, args->mend, &options, done, err);
	if (args->commit_interval != 0)
		return bpk_archive_append_rounds(archive, names, count, options.interval, done,
						 err);
	return bpk_archive_append_files(archive, names, count, done, err);
}

static int join(struct bpk_archive *archive, const struct append_args *args, char *const *names,
		size_t count, struct bpk_joined *joined, struct bpk_err *err)
{
	const struct bpk_follow_options options = follow_options(args);

	if (args->follow != NULL)
		return bpk_archive_join_follow(archive, args->follow, &options, joined, err);
	return bpk_archive_join(archive, names, count, joined, err);
}

static void run_frame(const struct append_args *args, char **operands, size_t count)
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

/* True if path, which is no URL and no member of a tar, does not exist. */
static bool is_missing(const char *path)
{
	struct stat found;
	bool there = true;

	if (bpk_path_is_url(path) || strchr(path, ':') != NULL || strcmp(path, "-") == 0)
		return false;
	return bpk_path_look(path, &found, &there, NULL) == 0 && !there;
}

static int open_archive(struct bpk_edited *edited, const struct append_args *args, const char *path,
			struct bpk_err *err)
{
	int rc = bpk_edited_open(edited, &args->common, path, !args->mend, err);

	edited->archive.options.any_bytes = args->bytes;
	if (rc == 0 || err->kind != BPK_FAILED || !is_missing(path))
		return rc;
	bpk_fail(err, BPK_FAILED, "does not exist; create it with bpk pack");
	return bpk_err_subject(err, "%s", path);
}

/* ---- a new archive ---- */

/* The format that pack would write under this name. */
static int find_format(const struct append_args *args, const char *path,
		       const struct bpk_format **format, struct bpk_err *err)
{
	*format = args->common.shared.format;
	if (*format == NULL)
		*format = bpk_format_of_suffix(path);
	if (*format == NULL && bpk_output_suffix(path) != NULL)
		return bpk_output_fail_suffix(path, err);
	if (*format == NULL)
		*format = bpk_formats[0];
	if ((*format)->writer != NULL && (*format)->editor != NULL)
		return 0;
	return bpk_fail(err, BPK_FAILED, "%s: cannot be created in format %s", path,
			(*format)->name);
}

/* The permissions that the file to follow gives; under an access list those of its mode give more.
 * Whatever is no regular file is refused later, and is not opened, since a FIFO would wait. */
static int look_at_followed(const char *path, struct stat *like, struct bpk_err *err)
{
	struct bpk_source *source;

	if (stat(path, like) != 0)
		return bpk_fail_errno(err, errno, "%s: cannot open", path);
	if (S_ISREG(like->st_mode)) {
		if (bpk_source_open(path, &source, err) != 0)
			return bpk_err_subject(err, "%s", path);
		*like = *bpk_source_stat(source);
		bpk_source_close(source);
	}
	like->st_mtim.tv_nsec = UTIME_OMIT;
	return 0;
}

/* Pack nothing: an archive that append fills, no more public than the file it follows. */
static int create_archive(const struct append_args *args, const char *path, struct bpk_err *err)
{
	static const char nothing[] = "/dev/null";
	struct bpk_pack_args own = { .common = args->common, .stream_size = BPK_UNKNOWN };
	struct bpk_shared *shared = &own.common.shared;
	struct bpk_pack pack = { .args = &own };
	struct stat like;

	if (look_at_followed(args->follow, &like, err) != 0)
		return -1;
	pack.like = &like;
	if (find_format(args, path, &pack.format, err) != 0)
		return -1;
	if (bpk_encoding_check(&args->common.encoding, pack.format, err) != 0)
		return bpk_err_subject(err, "%s", path);
	shared->output = path;
	shared->quiet = true;
	shared->verbose = 0;
	shared->json = false;
	shared->format = NULL;
	bpk_signals_start();
	bpk_pack_one(&pack, nothing);
	return 0;
}

/* Wait for the file to follow, and create an archive that is missing. *ended: a signal came first,
 * or the archive could not be created, which is reported. */
static int prepare(const struct append_args *args, const char *path, bool *ended,
		   struct bpk_err *err)
{
	const struct bpk_follow_options options = follow_options(args);
	bool waits = is_missing(args->follow);

	*ended = false;
	bpk_signals_start();
	if (waits && args->pid == 0 && args->idle == 0 && !args->common.shared.quiet)
		bpk_note(args->follow, "does not exist yet; waiting for it");
	if (waits && bpk_archive_await(args->follow, &options, ended, err) != 0)
		return -1;
	if (!*ended && is_missing(args->follow))
		return bpk_fail(err, BPK_FAILED, "%s: cannot open: it did not appear",
				args->follow);
	if (*ended || !is_missing(path))
		return 0;
	if (create_archive(args, path, err) != 0)
		return -1;
	*ended = is_missing(path);
	return 0;
}

static void told(int sig)
{
	if (sig == SIGUSR1)
		bpk_archive_ask_commit();
	else
		bpk_archive_ask_end();
}

/* An archive and its inputs. */
struct job {
	const char *path;
	char *const *names;
	size_t count;
};

/* Append to the archive. Returns true if the file that it follows was rotated. */
static bool append_open(const struct append_args *args, const struct job *job,
			struct bpk_edited *edited)
{
	double started = bpk_clock();
	struct bpk_rounds done = { 0 };
	struct bpk_joined joined = { 0 };
	struct bpk_err err = { 0 };
	bool joining = false;

	if (open_archive(edited, args, job->path, &err) != 0 ||
	    is_joining(&edited->archive, args, job->names, job->count, &joining, &err) != 0)
		bpk_report(NULL, &err);
	else if (joining ? join(&edited->archive, args, job->names, job->count, &joined, &err) != 0
			 : append(&edited->archive, args, job->names, job->count, &done, &err) != 0)
		bpk_report(NULL, &err);
	else if (joining)
		tell_joined(edited, args, &joined, bpk_clock() - started);
	else
		tell_result(edited, args, &done, bpk_clock() - started);
	return done.is_replaced;
}

static bool append_once(const struct append_args *args, const struct job *job)
{
	struct bpk_edited edited = { 0 };
	bool is_rotated = append_open(args, job, &edited);

	bpk_edited_close(&edited);
	return is_rotated;
}

/* Follow the file, and the files that get its name after it. */
static void follow(const struct append_args *args, const struct job *job)
{
	struct bpk_err err = { 0 };
	bool ended = false, goes_on = true;

	bpk_signals_tell(told);
	if (args->rotate && bpk_path_is_url(job->path)) {
		bpk_fail(&err, BPK_FAILED,
			 "%s: archives in a store are not renamed, as --rotate asks", job->path);
		goes_on = false;
	}
	while (goes_on) {
		if (prepare(args, job->path, &ended, &err) != 0)
			break;
		goes_on = !ended && append_once(args, job);
		if (goes_on &&
		    bpk_rotate_archive(&args->common, job->path, args->follow, &err) != 0)
			break;
	}
	if (err.kind != BPK_OK)
		bpk_report(NULL, &err);
}

static void append_to(const struct append_args *args, char **operands, size_t count)
{
	static char dash[] = "-";
	static char *const only_dash[] = { dash };
	bool from_stdin = count == 1 && args->follow == NULL, frame = false;
	const struct job job = {
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
		follow(args, &job);
	else
		(void)append_once(args, &job);
}

static void run_append(void *arg, char **operands, size_t count)
{
	const struct append_args *args = arg;

	append_to(args, operands, count);
	bpk_record_settle(&args->common.shared, count > 0 ? operands[0] : NULL);
}

const struct bpk_command bpk_command_append = {
	.name = "append",
	.synopsis = "[OPTION]... ARCHIVE [FILE]...",
	.summary = "add raw data to an archive, or a frame to a GSD file",
	.description =
		"Packs each FILE, or standard input, behind the content of ARCHIVE, with the "
		"settings of the archive. All data is added, or none. With --follow it packs a "
		"growing file, while others read the archive. GSD files appended to an archive of "
		"one keep their frames, not their bytes, unless --bytes is given. If ARCHIVE is a "
		"raw GSD file, each "
		"operand is NAME=FILE.npy, and all of them are one frame.",
	.operands = OPERANDS_ARCHIVE_FIRST,
	.options = rows,
	.args_size = sizeof(struct append_args),
	.defaults = &defaults,
	.run = run_append,
};
