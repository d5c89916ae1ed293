/* Appends to an archive once, and prints the result. Called by append.c and append_follow.c. */
#include "cli/append.h"

#include <inttypes.h>

#include "cli/record.h"
#include "cli/report.h"

enum { COMMIT_INTERVAL = 10 }; /* seconds, when following */

struct bpk_follow_options bpk_append_options(const struct bpk_append_args *args)
{
	return (struct bpk_follow_options){
		.interval = (double)(args->commit_interval != 0 ? args->commit_interval
								: COMMIT_INTERVAL),
		.idle = (double)args->idle,
		.pid = args->pid,
		.rotates = args->rotate,
	};
}

/* ---- frames ---- */

static int is_following_frames(struct bpk_archive *archive, const struct bpk_append_args *args,
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

/* Count the operands that hold a GSD file. *maybe: some may, or should by their names; standard
 * input is not looked at. */
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
		*maybe = *maybe || is_gsd || bpk_ends_with(names[i], ".gsd") ||
			 strcmp(names[i], "-") == 0;
	}
	return 0;
}

/* Frames are joined where the archive and each of the files hold a GSD file. */
static int is_joining(struct bpk_archive *archive, const struct bpk_append_args *args,
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

static void tell_joined(const struct bpk_edited *edited, const struct bpk_append_args *args,
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

/* ---- raw bytes ---- */

static void tell_left_out(const struct bpk_archive *archive, const struct bpk_append_args *args,
			  const struct bpk_rounds *done)
{
	if (done->left_out > 0 && !args->common.shared.quiet)
		bpk_note(archive->path,
			 "the last %" PRIu64 " bytes of %s are not a whole row of %" PRIu64
			 " and are left out",
			 done->left_out, args->follow, bpk_archive_info(archive)->array.row_size);
}

static void tell_result(const struct bpk_edited *edited, const struct bpk_append_args *args,
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

static int append(struct bpk_archive *archive, const struct bpk_append_args *args,
		  char *const *names, size_t count, struct bpk_rounds *done, struct bpk_err *err)
{
	const struct bpk_follow_options options = bpk_append_options(args);

	if (args->follow != NULL)
		return bpk_archive_follow(archive, args->follow, args->mend, &options, done, err);
	if (args->commit_interval != 0)
		return bpk_archive_append_rounds(archive, names, count, options.interval, done,
						 err);
	return bpk_archive_append_files(archive, names, count, done, err);
}

static int join(struct bpk_archive *archive, const struct bpk_append_args *args, char *const *names,
		size_t count, struct bpk_joined *joined, struct bpk_err *err)
{
	const struct bpk_follow_options options = bpk_append_options(args);

	if (args->follow != NULL)
		return bpk_archive_join_follow(archive, args->follow, &options, joined, err);
	return bpk_archive_join(archive, names, count, joined, err);
}

/* ---- the run ---- */

bool bpk_append_is_missing(const char *path)
{
	struct stat found;
	bool there = true;

	if (bpk_path_is_url(path) || strchr(path, ':') != NULL || strcmp(path, "-") == 0)
		return false;
	return bpk_path_look(path, &found, &there, NULL) == 0 && !there;
}

static int open_archive(struct bpk_edited *edited, const struct bpk_append_args *args,
			const char *path, struct bpk_err *err)
{
	int rc = bpk_edited_open(edited, &args->common, path, !args->mend, err);

	edited->archive.options.any_bytes = args->bytes;
	if (rc == 0 || err->kind != BPK_FAILED || !bpk_append_is_missing(path))
		return rc;
	return bpk_fail(err, BPK_FAILED, "%s: does not exist; create it with bpk pack", path);
}

/* As bpk_append_once, with room for the archive. */
static bool append_open(const struct bpk_append_args *args, const struct bpk_append_job *job,
			struct bpk_edited *edited)
{
	double started = bpk_clock();
	struct bpk_rounds done = { 0 };
	struct bpk_joined joined = { 0 };
	struct bpk_err err = { 0 };
	bool joining = false;

	if (open_archive(edited, args, job->path, &err) != 0 ||
	    is_joining(&edited->archive, args, job->names, job->count, &joining, &err) != 0)
		bpk_edited_report(job->path, &err);
	else if (joining ? join(&edited->archive, args, job->names, job->count, &joined, &err) != 0
			 : append(&edited->archive, args, job->names, job->count, &done, &err) != 0)
		bpk_edited_report(job->path, &err);
	else if (joining)
		tell_joined(edited, args, &joined, bpk_clock() - started);
	else
		tell_result(edited, args, &done, bpk_clock() - started);
	return done.is_replaced;
}

bool bpk_append_once(const struct bpk_append_args *args, const struct bpk_append_job *job)
{
	struct bpk_edited edited = { 0 };
	bool is_rotated = append_open(args, job, &edited);

	bpk_edited_close(&edited);
	return is_rotated;
}
