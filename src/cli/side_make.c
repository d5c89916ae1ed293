/* The parity file beside an archive is written: the door is side.h. Called by protect.c and
 * renew.c. */
#include "cli/side.h"

#include <time.h>

#include "cli/signal.h"

/* A file of that name that is no parity is somebody's. */
static int check_old(const char *name, bool force, struct bpk_err *err)
{
	bool there, ours;

	if (bpk_parity_look(name, &there, &ours, err) != 0)
		return bpk_err_subject(err, "%s", name);
	if (!there || ours || force)
		return 0;
	return bpk_fail(err, BPK_FAILED, "%s: exists, and is no parity file; --force replaces it",
			name);
}

/* ---- the bytes of an archive ---- */

struct subject {
	struct bpk_dir *dir; /* NULL: a file */
	struct bpk_source *source;
	const struct bpk_parity_files *files;
	struct bpk_parity_files listed; /* unless the caller has a list */
};

static void close_subject(struct subject *subject)
{
	bpk_source_close(subject->source);
	bpk_dir_close(subject->dir);
	bpk_parity_files_clear(&subject->listed);
}

static int open_subject(const char *path, const struct bpk_side_options *options,
			struct subject *subject, struct bpk_err *err)
{
	struct stat found;

	if (stat(path, &found) != 0 || !S_ISDIR(found.st_mode))
		return bpk_source_open(path, &subject->source, err);
	if (bpk_dir_open(path, bpk_format_owns, &subject->dir, err) != 0)
		return -1;
	subject->files = options->files;
	if (subject->files == NULL) {
		if (bpk_parity_files_list(subject->dir, bpk_format_owns, &subject->listed, err) !=
		    0)
			return -1;
		subject->files = &subject->listed;
	}
	return bpk_parity_files_source(subject->dir, subject->files, false, &subject->source, err);
}

/* The archive that was verified is the one that is read now. */
static int check_seen(const struct bpk_source *source, const struct stat *seen, struct bpk_err *err)
{
	return seen == NULL || bpk_is_still(bpk_source_stat(source), seen) ? 0
									   : bpk_fail_changed(err);
}

/* Nobody has changed it since. */
static int check_same(const struct subject *subject, struct bpk_err *err)
{
	return subject->dir == NULL ? bpk_source_unchanged(subject->source, err)
				    : bpk_parity_files_unchanged(subject->dir, bpk_format_owns,
								 subject->files, err);
}

/* ---- made ---- */

/* The time of the last change. */
static struct timespec last_change(const struct subject *subject)
{
	return subject->files == NULL ? bpk_source_stat(subject->source)->st_ctim
				      : bpk_parity_files_last(subject->files);
}

/* Healing in place trusts the archive's time: let a tick of the file system's clock pass, so that a
 * later write gives the archive another one. */
static void await_tick(const struct timespec *changed)
{
	enum { TICK = 12 * 1000 * 1000 };
	const struct timespec pause = { .tv_nsec = TICK };
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	if (now.tv_sec - changed->tv_sec <= 1 &&
	    (now.tv_sec - changed->tv_sec) * 1000000000LL + now.tv_nsec - changed->tv_nsec < TICK)
		nanosleep(&pause, NULL);
}

static int fill(const struct subject *subject, const struct bpk_side_options *options,
		struct bpk_draft *draft, struct bpk_err *err)
{
	const struct timespec changed = last_change(subject);
	struct bpk_err why = { 0 };
	int rc;

	await_tick(&changed);
	if (subject->dir == NULL && check_seen(subject->source, options->seen, err) != 0)
		return -1;
	rc = bpk_parity_make(subject->source, subject->files, options->share, options->change,
			     draft, err);
	/* one that another command has cut meanwhile is not damaged */
	if (check_same(subject, &why) != 0)
		return bpk_fail_as(err, &why);
	return rc != 0 && err->kind != BPK_CORRUPT ? bpk_err_subject(err, "making its parity file")
						   : rc;
}

/* Give the draft its name, with the permissions of the archive. */
static int keep(const struct subject *subject, struct bpk_draft *draft, struct bpk_err *err)
{
	struct stat like = subject->dir != NULL ? bpk_dir_like(subject->dir)
						: *bpk_source_stat(subject->source);

	return bpk_draft_keep(draft, &like, err);
}

int bpk_side_make(const char *path, const char *name, const struct bpk_side_options *options,
		  uint64_t *size, struct bpk_err *err)
{
	const struct bpk_draft_options how = { .overwrite = true, .sync = options->sync };
	struct subject subject = { 0 };
	struct bpk_draft *draft = NULL;
	int rc = check_old(name, options->force, err);

	if (rc != 0)
		return -1;
	bpk_signals_start();
	if (open_subject(path, options, &subject, err) != 0)
		rc = bpk_err_subject(err, "%s", path);
	else if (bpk_draft_open(name, &how, &draft, err) != 0)
		rc = bpk_err_subject(err, "%s", name);
	else if (fill(&subject, options, draft, err) != 0)
		rc = bpk_err_subject(err, "%s", path);
	if (rc == 0 && keep(&subject, draft, err) != 0)
		rc = bpk_err_subject(err, "%s", name);
	else if (rc != 0)
		bpk_draft_drop(draft);
	*size = rc == 0 ? bpk_source_size(subject.source) : 0;
	close_subject(&subject);
	return rc;
}
