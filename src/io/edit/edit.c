/* Edits opened, locked, settled, undone and closed. append, write, truncate, meta and repair call
 * them through io.h. */
#include "io/edit/edit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/file/draft_name.h"
#include "io/full.h"
#include "io/lock.h"

enum { REOPENED_MAX = 100 }; /* tries to lock a file whose name others keep replacing */

static pthread_mutex_t open_edits_lock = PTHREAD_MUTEX_INITIALIZER;
static struct bpk_edit *open_edits; /* guarded by open_edits_lock */

/* ---- The source ---- */

static int read_committed(void *arg, uint64_t offset, struct bpk_span out, size_t *got,
			  struct bpk_err *err)
{
	struct bpk_edit *edit = arg;
	int rc;

	pthread_rwlock_rdlock(&edit->state_lock);
	if (edit->journal.whole)
		rc = bpk_journal_read_at(&edit->journal, edit->fd, offset, out, got, err);
	else
		rc = bpk_full_read_at(edit->fd, offset, out, got, err);
	pthread_rwlock_unlock(&edit->state_lock);
	return rc;
}

static const struct bpk_source_ops committed_ops = { .read_at = read_committed,
						     .positional = true };

struct bpk_source *bpk_edit_source(const struct bpk_edit *edit)
{
	return edit->source;
}

bool bpk_edit_has_saved(const struct bpk_edit *edit, uint64_t offset, uint64_t size)
{
	uint64_t end = offset + size, gap_end;

	end = bpk_min_u64(end, edit->end);
	return !bpk_regions_gap(&edit->journal.saved, &offset, end, &gap_end);
}

struct bpk_sidecar *bpk_edit_sidecar(const struct bpk_edit *edit)
{
	return edit->sidecar;
}

/* ---- Opening ---- */

static int fail_not_regular(const struct stat *found, struct bpk_err *err)
{
	if (S_ISDIR(found->st_mode))
		return bpk_fail(err, BPK_FAILED, "is a directory");
	return bpk_fail(err, BPK_FAILED, "is not a regular file");
}

/* Open the file and take its writer lock. Returns 1 if meanwhile another file has taken the
 * name. */
static int open_locked(struct bpk_edit *edit, struct bpk_err *err)
{
	int patience = edit->options.wait ? BPK_LOCK_WITHOUT_LIMIT : BPK_LOCK_MOMENT;
	struct stat found;
	bool same;

	if (fstatat(edit->resolved.folder, edit->resolved.name, &found, AT_SYMLINK_NOFOLLOW) == 0 &&
	    !S_ISREG(found.st_mode))
		return fail_not_regular(&found, err);
	edit->fd = bpk_resolved_open(&edit->resolved, O_RDWR);
	if (edit->fd < 0 || fstat(edit->fd, &found) != 0)
		return bpk_fail_errno(err, errno, "cannot open for changing");
	if (!S_ISREG(found.st_mode))
		return fail_not_regular(&found, err);
	if (bpk_lock_need(edit->fd, BPK_LOCK_WRITER, patience, edit->options.no_lock,
			  &bpk_edit_dropped, err) != 0)
		return -1;
	if (bpk_resolved_is(&edit->resolved, edit->fd, &same, err) != 0)
		return -1;
	if (same)
		return 0;
	close(edit->fd);
	edit->fd = -1;
	return 1;
}

static int open_file(struct bpk_edit *edit, struct bpk_err *err)
{
	int rc = 1;

	for (int i = 0; i < REOPENED_MAX && rc > 0; i++)
		rc = open_locked(edit, err);
	if (rc > 0)
		return bpk_fail(err, BPK_FAILED, "another process keeps replacing it");
	return rc;
}

static int find_end(struct bpk_edit *edit, struct bpk_err *err)
{
	struct stat found;

	if (fstat(edit->fd, &found) != 0)
		return bpk_fail_errno(err, errno, "fstat");
	bpk_edit_move_end(edit, (uint64_t)found.st_size);
	return 0;
}

static int is_claimed(const struct bpk_edit *edit, bool *claimed, struct bpk_err *err)
{
	const struct bpk_place place = { .path = edit->resolved.path, .source = edit->source };

	*claimed = true;
	return edit->options.claims == NULL ? 0 : edit->options.claims(&place, claimed, err);
}

/* Open the file's journal if it exists; a journal of another file is a failure. */
static int open_journal(struct bpk_edit *edit, struct bpk_err *err)
{
	struct bpk_err why = { 0 };
	int rc;

	edit->journal.any_file = edit->options.any_journal;
	rc = bpk_journal_open(&edit->journal, edit->fd, &why);
	if (rc > 0)
		return bpk_fail(err, BPK_FAILED, "%s; bpk repair FILE shows the choices", why.text);
	if (rc != 0)
		return bpk_fail_as(err, &why);
	return 0;
}

/* Of a change that keeps the file's time, only one that kept the same is undone. */
static int check_kept(struct bpk_edit *edit, struct bpk_err *err)
{
	const struct bpk_edit_kept *kept = edit->options.kept;
	struct bpk_journal *journal = &edit->journal;
	struct stat found;

	if (kept == NULL || (!journal->has_time && bpk_journal_is_untouched(journal, edit->fd)))
		return 0;
	if (!journal->has_time || journal->time != bpk_journal_time(&kept->time))
		return bpk_fail(err, BPK_FAILED, "another change was interrupted and is pending");
	if (fstat(edit->fd, &found) != 0)
		return bpk_fail_errno(err, errno, "fstat");
	journal->keeps_time = bpk_journal_time(&found.st_mtim) == journal->time ||
			      kept->is_as_then(kept->arg, edit);
	return 0;
}

/* Undo the change of a writer that died, after the caller has accepted the file as last committed.
 * All steps use one descriptor. */
static int settle(struct bpk_edit *edit, struct bpk_err *err)
{
	struct bpk_journal *journal = &edit->journal;
	bool claimed;

	/* a copy that was killed may have left the old file under a draft's name */
	bpk_draft_clean(edit->resolved.folder, edit->resolved.name);
	if (open_journal(edit, err) != 0 || find_end(edit, err) != 0)
		return -1;
	if (journal->fd < 0)
		return 0;
	if (journal->whole && (bpk_journal_check(journal, edit->fd, err) != 0 ||
			       bpk_journal_check_saved(journal, edit->fd, err) != 0))
		return -1;
	if (journal->whole)
		bpk_edit_move_end(edit, journal->old_size);
	if (is_claimed(edit, &claimed, err) != 0)
		return -1;
	if (!claimed)
		return bpk_fail(err, BPK_FAILED,
				"is no longer an archive of that format, and its"
				" journal %s is left alone",
				edit->resolved.journal);
	if ((journal->whole && check_kept(edit, err) != 0) ||
	    bpk_journal_settle(journal, edit->fd, edit->options.sync, err) != 0)
		return -1;
	bpk_journal_close(journal);
	journal->any_file = false;
	return find_end(edit, err);
}

/* Many threads read: a writer must not have to wait for a moment without readers. */
static void init_locks(struct bpk_edit *edit)
{
	pthread_rwlockattr_t attr;

	pthread_mutex_init(&edit->busy, NULL);
	pthread_rwlockattr_init(&attr);
	pthread_rwlockattr_setkind_np(&attr, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	pthread_rwlock_init(&edit->state_lock, &attr);
	pthread_rwlockattr_destroy(&attr);
}

static void enlist(struct bpk_edit *edit)
{
	pthread_mutex_lock(&open_edits_lock);
	edit->next = open_edits;
	if (open_edits != NULL)
		open_edits->previous = edit;
	open_edits = edit;
	pthread_mutex_unlock(&open_edits_lock);
}

static void delist(struct bpk_edit *edit)
{
	pthread_mutex_lock(&open_edits_lock);
	if (edit->previous != NULL)
		edit->previous->next = edit->next;
	else if (open_edits == edit)
		open_edits = edit->next;
	if (edit->next != NULL)
		edit->next->previous = edit->previous;
	pthread_mutex_unlock(&open_edits_lock);
}

static void release(struct bpk_edit *edit)
{
	bpk_source_close(edit->source);
	bpk_edit_drop_copy(edit);
	bpk_journal_close(&edit->journal);
	if (edit->fd >= 0)
		close(edit->fd); /* releases the locks */
	bpk_sidecar_close(edit->sidecar);
	bpk_resolved_clear(&edit->resolved);
	pthread_rwlock_destroy(&edit->state_lock);
	pthread_mutex_destroy(&edit->busy);
	free(edit);
}

int bpk_edit_open(const char *path, const struct bpk_edit_options *options, struct bpk_edit **edit,
		  struct bpk_err *err)
{
	struct bpk_edit *e = bpk_calloc(1, sizeof *e, err);

	*edit = NULL;
	if (e == NULL)
		return -1;
	e->options = *options;
	e->fd = -1;
	e->resolved.folder = -1;
	init_locks(e);
	bpk_journal_init(&e->journal, &e->resolved);
	if (bpk_resolved_find_to_change(path, &e->resolved, err) != 0 || open_file(e, err) != 0 ||
	    bpk_sidecar_open_to_change(path, false, options, &e->sidecar, err) != 0 ||
	    bpk_source_of(&committed_ops, e, 0, &e->source, err) != 0 || settle(e, err) != 0) {
		release(e);
		return -1;
	}
	enlist(e);
	*edit = e;
	return 0;
}

/* ---- Undoing ---- */

static int roll_back(struct bpk_edit *edit, struct bpk_err *err)
{
	bpk_edit_drop_copy(edit);
	return bpk_edit_undo(edit, err);
}

int bpk_edit_rollback(struct bpk_edit *edit, struct bpk_err *err)
{
	if (bpk_edit_enter(edit, err) != 0)
		return -1;
	return bpk_edit_leave(edit, roll_back(edit, err));
}

void bpk_edit_close(struct bpk_edit *edit)
{
	if (edit == NULL)
		return;
	delist(edit); /* waits for bpk_edit_drop_all, which has then undone everything */
	if (!bpk_edit_dropped)
		(void)roll_back(edit, NULL);
	release(edit);
}

void bpk_edit_drop_all(void)
{
	pthread_mutex_lock(&open_edits_lock);
	atomic_store(&bpk_edit_dropped, true);
	for (struct bpk_edit *edit = open_edits; edit != NULL; edit = edit->next) {
		pthread_mutex_lock(&edit->busy);
		(void)bpk_edit_undo(edit, NULL);
		pthread_mutex_unlock(&edit->busy);
	}
	pthread_mutex_unlock(&open_edits_lock);
}
