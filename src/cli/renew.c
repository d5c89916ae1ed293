/* Parity files are renewed after a change of their archives. Called by edit.c, pack_work.c,
 * convert_work.c and repair.c. */
#include "cli/renew.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "cli/report.h"

/* ---- changes in place ---- */

/* A directory tells nobody which bytes it will write: before a change all is compared, unless it
 * is large and only added to. */
static int check_directory(const struct bpk_renewal *renewal, bool only_adds, struct bpk_err *err)
{
	enum { LARGE = 64 << 20 };

	return only_adds && renewal->files.size > LARGE
		       ? 0
		       : bpk_side_need_whole(renewal->path, NULL, err);
}

/* Listing is work for a directory that has parity alone. If it fails, so does the change. */
int bpk_renewal_begin(struct bpk_renewal *renewal, const char *path, bool only_adds,
		      struct bpk_err *err)
{
	if (bpk_program->team != NULL || bpk_path_is_url(path) || stat(path, &renewal->before) != 0)
		return 0;
	renewal->is_directory = S_ISDIR(renewal->before.st_mode);
	if (S_ISREG(renewal->before.st_mode) || (renewal->is_directory && bpk_side_may_be(path) &&
						 bpk_side_list(path, &renewal->files, NULL) == 0))
		renewal->path = path;
	return renewal->path != NULL && renewal->is_directory
		       ? check_directory(renewal, only_adds, err)
		       : 0;
}

/* Open the parity of a file once. One that cannot be used is reported at the end. */
static int look_once(struct bpk_renewal *renewal, struct bpk_err *err)
{
	struct bpk_err why = { 0 };
	bool there;

	if (renewal->looked || renewal->path == NULL)
		return 0;
	renewal->looked = true;
	renewal->is_current =
		bpk_side_open(&renewal->side, renewal->path, &there, &why) == 0 && there &&
		bpk_side_is_current(&renewal->side, &renewal->before) &&
		bpk_parity_size(renewal->side.parity) == (uint64_t)renewal->before.st_size;
	return bpk_err_pass_memory(&why, err);
}

/* Nothing of range is written yet, nor of the groups that share its cells. */
static int check_range(struct bpk_renewal *renewal, struct bpk_source *committed,
		       struct bpk_parity_range range, struct bpk_err *err)
{
	struct bpk_side *side = &renewal->side;
	bool differs;

	if (look_once(renewal, err) != 0)
		return -1;
	if (!renewal->is_current)
		return 0;
	if (bpk_parity_check(side->parity, committed, range, &renewal->check, &differs, err) != 0)
		return -1;
	if (!differs)
		return 0;
	bpk_parity_scan_clear(&side->scan);
	if (bpk_parity_compare(side->parity, committed, &side->scan, err) != 0)
		return -1;
	renewal->refused = true;
	return bpk_side_fail_damaged(side, renewal->path, err);
}

/* Most writes follow each other. False: it is more than can be noted. */
static bool add_range(struct bpk_renewal *renewal, uint64_t offset, uint64_t size)
{
	enum { MOST = 4096 };
	struct bpk_parity_range *last, *grown;

	last = renewal->count > 0 ? &renewal->written[renewal->count - 1] : NULL;
	if (last != NULL && offset >= last->offset && offset - last->offset <= last->size) {
		last->size = bpk_max_u64(last->size, offset - last->offset + size);
		return true;
	}
	if (renewal->count == MOST)
		return false;
	grown = bpk_alloc_grow(renewal->written, renewal->count, &renewal->room, sizeof *grown,
			       NULL);
	if (grown == NULL)
		return false;
	renewal->written = grown;
	grown[renewal->count++] = (struct bpk_parity_range){ offset, size };
	return true;
}

int bpk_renewal_note(void *arg, struct bpk_source *committed, uint64_t offset, uint64_t size,
		     struct bpk_err *err)
{
	const struct bpk_parity_range range = { offset, size }, whole = { 0, UINT64_MAX };
	struct bpk_renewal *renewal = arg;

	if (renewal->all)
		return 0;
	if (check_range(renewal, committed, range, err) != 0)
		return -1;
	if (size != UINT64_MAX && add_range(renewal, offset, size))
		return 0;
	renewal->all = true;
	return check_range(renewal, committed, whole, err);
}

static int note_other_state(const struct bpk_renewal *renewal)
{
	char word[BPK_WORD_TEXT];

	bpk_note(renewal->path,
		 "its parity was of another state before this change, and stays so; bpk parity %s "
		 "renews it",
		 bpk_shell_word(renewal->path, word));
	return 0;
}

static int renew_file(const struct bpk_renewal *renewal, const struct bpk_shared *shared,
		      struct bpk_side *side, struct bpk_err *err)
{
	const struct bpk_parity_change change = {
		.old = side->parity,
		.written = renewal->written,
		.count = renewal->count,
	};
	const struct bpk_side_options options = {
		.share = bpk_parity_share(side->parity),
		.sync = !shared->no_sync,
		.change = renewal->all ? NULL : &change,
	};
	const struct bpk_edit_options lock = { .no_lock = true, .sync = true };
	struct bpk_edit *edit = NULL;
	uint64_t size;
	int rc;

	if (!bpk_side_is_current(side, &renewal->before) ||
	    bpk_parity_size(side->parity) != (uint64_t)renewal->before.st_size)
		return note_other_state(renewal);
	/* no other change begins meanwhile, and verify does not call the old parity stale */
	if (bpk_edit_open(renewal->path, &lock, &edit, err) != 0)
		return bpk_err_subject(err, "%s", renewal->path);
	rc = bpk_side_make(renewal->path, side->name, &options, &size, err);
	bpk_edit_close(edit);
	return rc;
}

/* Carry the list of files on, and compute the groups whose bytes differ. Many changes leave extents
 * behind that no file fits: then a list without them follows, which needs the first one to find
 * damage. */
static int follow(const struct bpk_renewal *renewal, const struct bpk_parity_files *now,
		  struct bpk_side_options *options, const struct bpk_side *side,
		  struct bpk_err *err)
{
	enum { SPARE = 4 << 20 };
	struct bpk_parity_range *written = NULL;
	struct bpk_parity_change change = { .old = side->parity };
	struct bpk_parity_files next;
	uint64_t size;
	int rc;

	if (bpk_parity_files_follow(bpk_parity_files(side->parity), now, &next, &written,
				    &change.count, err) != 0)
		return -1;
	change.written = written;
	options->change = &change;
	options->files = &next;
	rc = bpk_side_make(renewal->path, side->name, options, &size, err);
	options->change = NULL;
	options->files = NULL;
	if (rc == 0 && next.size / 2 > now->size && next.size - now->size > SPARE)
		rc = bpk_side_make(renewal->path, side->name, options, &size, err);
	bpk_parity_files_clear(&next);
	free(written);
	return rc;
}

/* True if parity with this list is that of the directory as it was before the change, but for files
 * that an interrupted change has added. */
static bool covers(const struct bpk_parity_files *list, const struct bpk_parity_files *before)
{
	struct bpk_parity_drift drift = bpk_parity_files_drift(list, before);

	return drift.missing + drift.resized + drift.newer == 0;
}

/* True if no file was written: a folder that cannot be written to is not locked for that. */
static bool is_as_before(const struct bpk_renewal *renewal)
{
	struct bpk_parity_files now;
	bool same = bpk_side_list(renewal->path, &now, NULL) == 0 &&
		    bpk_parity_files_same(&renewal->files, &now);

	bpk_parity_files_clear(&now);
	return same;
}

static int renew_directory(const struct bpk_renewal *renewal, const struct bpk_shared *shared,
			   struct bpk_side *side, struct bpk_err *err)
{
	const struct bpk_edit_options lock = { .no_lock = true,
					       .sync = true,
					       .owns = bpk_format_owns };
	struct bpk_side_options options = {
		.share = bpk_parity_share(side->parity),
		.sync = !shared->no_sync,
	};
	struct bpk_parity_files now = { 0 };
	struct bpk_tree *tree = NULL;
	int rc;

	if (is_as_before(renewal))
		return 0;
	rc = bpk_tree_open(renewal->path, &lock, &tree, err);
	if (rc == 0)
		rc = bpk_parity_files_list(bpk_tree_dir(tree), bpk_format_owns, &now, err);
	if (rc != 0)
		bpk_err_subject(err, "%s", renewal->path);
	else if (bpk_parity_files_same(&renewal->files, &now))
		rc = 0; /* nothing was written */
	else if (!covers(bpk_parity_files(side->parity), &renewal->files))
		rc = note_other_state(renewal);
	else
		rc = follow(renewal, &now, &options, side, err);
	bpk_parity_files_clear(&now);
	bpk_tree_close(tree);
	return rc;
}

/* The change itself is committed, unless it failed before it wrote: bpk_side_make let a tick pass
 * after the last change, so that the time of a file tells. */
static void report_stale(const struct bpk_renewal *renewal, struct bpk_err *err)
{
	struct bpk_err plain = *err;
	struct stat now;

	if (!renewal->is_directory && stat(renewal->path, &now) == 0 &&
	    bpk_is_still(&now, &renewal->before))
		return;
	bpk_fail(err, plain.kind, "%s; the change is committed, and the parity is stale now",
		 plain.text);
	bpk_report(NULL, err);
}

/* A change that was refused is undone, unless rounds before it were committed. Healing needs the
 * time of a file that has the content of then, and its damage alone. */
static bool is_undone(struct bpk_renewal *renewal)
{
	struct timespec times[2] = { { .tv_nsec = UTIME_OMIT }, renewal->before.st_mtim };
	struct bpk_side *side = &renewal->side;
	uint64_t bad = side->scan.bad;
	struct stat now;

	if (!renewal->refused)
		return false;
	if (stat(renewal->path, &now) != 0 || !bpk_same_file(&now, &renewal->before) ||
	    now.st_size != renewal->before.st_size ||
	    bpk_side_compare(side, renewal->path, NULL) != 0 || side->scan.bad != bad)
		return false;
	if (!bpk_side_is_current(side, &now))
		(void)utimensat(AT_FDCWD, renewal->path, times, 0);
	return true;
}

void bpk_renewal_end(struct bpk_renewal *renewal, const struct bpk_shared *shared)
{
	struct bpk_err err = { 0 };
	struct bpk_side side = { 0 };
	bool there = false;
	int rc = 0;

	if (renewal->path != NULL && !is_undone(renewal) &&
	    (renewal->count > 0 || renewal->all || renewal->is_directory)) {
		rc = bpk_side_open(&side, renewal->path, &there, &err);
		if (rc == 0 && there)
			rc = renewal->is_directory ? renew_directory(renewal, shared, &side, &err)
						   : renew_file(renewal, shared, &side, &err);
		if (rc != 0)
			report_stale(renewal, &err);
		bpk_side_clear(&side);
	}
	bpk_parity_files_clear(&renewal->files);
	bpk_parity_check_clear(&renewal->check);
	bpk_side_clear(&renewal->side);
	free(renewal->written);
	*renewal = (struct bpk_renewal){ 0 };
}

/* ---- new archives ---- */

/* The share of the parity file of a replaced archive; 0: there is none, or none that can be used,
 * which is said. Fails where that cannot be found out. */
static int share_of_old(const char *path, unsigned *share, struct bpk_err *err)
{
	struct bpk_side side;
	bool there;
	int rc = bpk_side_open(&side, path, &there, err);

	*share = rc == 0 && there ? bpk_parity_share(side.parity) : 0;
	bpk_side_clear(&side);
	if (rc == 0 || (err->kind != BPK_CORRUPT && err->kind != BPK_UNSUPPORTED))
		return rc;
	bpk_note(NULL, "%s; it is no parity of the new archive", err->text);
	*err = (struct bpk_err){ 0 };
	return 0;
}

int bpk_renew_whole(const struct bpk_shared *shared, const char *path, unsigned share,
		    struct bpk_err *err)
{
	struct bpk_side_options options = {
		.share = share,
		.force = shared->force,
		.sync = !shared->no_sync,
	};
	struct stat found;
	uint64_t size;
	char *name;
	int rc;

	if (bpk_program->team != NULL || path == NULL || strcmp(path, "-") == 0 ||
	    bpk_path_is_url(path) || stat(path, &found) != 0 ||
	    (!S_ISREG(found.st_mode) && !S_ISDIR(found.st_mode)))
		return 0;
	if (share == 0 && !bpk_side_may_be(path))
		return 0;
	if (share == 0 && share_of_old(path, &options.share, err) != 0)
		return -1;
	if (options.share == 0)
		return 0;
	name = bpk_side_name(path, err);
	rc = name == NULL ? -1 : bpk_side_make(path, name, &options, &size, err);
	free(name);
	return rc;
}
