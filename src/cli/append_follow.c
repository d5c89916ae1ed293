/* Follows a growing file: waits for it, creates its archive, and numbers the archive when another
 * file gets the name. Called by append.c. */
#include "cli/append.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>

#include "cli/pack.h"
#include "cli/report.h"
#include "cli/signal.h"
#include "cli/transfer.h"

/* ---- a new archive ---- */

/* The format that pack would write under this name. */
static int find_format(const struct bpk_append_args *args, const char *path,
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
 * It was a regular file, and is opened only if it is still one, since a FIFO would wait. */
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
static int create_archive(const struct bpk_append_args *args, const char *path, struct bpk_err *err)
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
	bpk_pack_one(&pack, nothing);
	return 0;
}

/* Wait for the file to follow, and create an archive that is missing. *ended: a signal came first,
 * or the archive could not be created, which is reported. */
static int prepare(const struct bpk_append_args *args, const char *path, bool *ended,
		   struct bpk_err *err)
{
	const struct bpk_follow_options options = bpk_append_options(args);
	bool waits = bpk_append_is_missing(args->follow);

	*ended = false;
	bpk_signals_start();
	if (waits && args->pid == 0 && args->idle == 0 && !args->common.shared.quiet)
		bpk_note(args->follow, "does not exist yet; waiting for it");
	if (bpk_archive_await(args->follow, &options, ended, err) != 0)
		return -1;
	if (!*ended && bpk_append_is_missing(args->follow))
		return bpk_fail(err, BPK_FAILED, "%s: cannot open: it did not appear",
				args->follow);
	if (*ended || !bpk_append_is_missing(path))
		return 0;
	if (create_archive(args, path, err) != 0)
		return -1;
	*ended = bpk_append_is_missing(path);
	return 0;
}

/* ---- the run ---- */

static void told(int sig)
{
	if (sig == SIGUSR1)
		bpk_archive_ask_commit();
	else
		bpk_archive_ask_end();
}

/* Give the archive at path the next free number, "log.1.blp" for "log.blp". It is closed. */
static int number_archive(const struct bpk_append_args *args, const char *path, struct bpk_err *err)
{
	char *name = bpk_strdup(path, err), *to = NULL;
	const char *suffix;
	int rc = -1;

	if (name == NULL)
		return -1;
	for (size_t size = strlen(name); size > 1 && name[size - 1] == '/'; size--)
		name[size - 1] = '\0';
	suffix = bpk_format_suffix(name);
	rc = bpk_path_number(name, suffix != NULL ? suffix : "", !args->common.shared.no_sync, &to,
			     err);
	if (rc == 0 && !args->common.shared.quiet)
		bpk_note(args->follow, "is another file now; %s has the bytes of the one before",
			 to);
	free(to);
	free(name);
	return rc;
}

void bpk_append_follow(const struct bpk_append_args *args, const struct bpk_append_job *job)
{
	struct bpk_err err = { 0 };
	bool ended = false, goes_on = true;
	const char *asks = args->rotate ? "--rotate" : args->mend ? "--mend" : NULL;

	bpk_signals_tell(told);
	if (asks != NULL && bpk_path_is_url(job->path)) {
		bpk_fail(&err, BPK_FAILED,
			 "%s: an archive in a store is not renamed, nor changed in place, as %s "
			 "asks",
			 job->path, asks);
		goes_on = false;
	}
	while (goes_on) {
		if (prepare(args, job->path, &ended, &err) != 0)
			break;
		goes_on = !ended && bpk_append_once(args, job);
		if (goes_on && number_archive(args, job->path, &err) != 0)
			break;
	}
	if (err.kind != BPK_OK)
		bpk_report(NULL, &err);
}
