/* The state of an edit: who may change it, its end, and the undoing of changes in place. The other
 * edit*.c files call it. */
#include "io/edit/edit.h"

#include <errno.h>
#include <sys/stat.h>

#include "io/full.h"
#include "io/file/source.h"

atomic_bool bpk_edit_dropped;

/* ---- Calls that change something ---- */

int bpk_edit_enter(struct bpk_edit *edit, struct bpk_err *err)
{
	pthread_mutex_lock(&edit->busy);
	if (!bpk_edit_dropped && !edit->broken)
		return 0;
	pthread_mutex_unlock(&edit->busy);
	if (bpk_edit_dropped)
		return bpk_fail(err, BPK_FAILED, "interrupted");
	return bpk_fail(err, BPK_FAILED, "accepts no more changes: an earlier sync failed");
}

int bpk_edit_leave(struct bpk_edit *edit, int rc)
{
	pthread_mutex_unlock(&edit->busy);
	return rc;
}

int bpk_edit_sync_file(struct bpk_edit *edit, struct bpk_err *err)
{
	if (!edit->options.sync || bpk_journal_sync_file(&edit->journal, edit->fd) == 0)
		return 0;
	edit->broken = edit->unsynced = true;
	return bpk_fail_errno(err, errno, "sync");
}

void bpk_edit_move_end(struct bpk_edit *edit, uint64_t end)
{
	edit->end = end;
	edit->source->size = end;
}

void bpk_edit_set_end(struct bpk_edit *edit, uint64_t end)
{
	pthread_mutex_lock(&edit->busy);
	pthread_rwlock_wrlock(&edit->state_lock);
	bpk_edit_move_end(edit, bpk_min_u64(end, edit->end));
	pthread_rwlock_unlock(&edit->state_lock);
	pthread_mutex_unlock(&edit->busy);
}

void bpk_edit_set_free(struct bpk_edit *edit, uint64_t offset, uint64_t size)
{
	offset = bpk_min_u64(offset, edit->end);
	edit->unused = (struct bpk_region){ offset, bpk_min_u64(size, edit->end - offset), 0 };
}

/* ---- Undoing ---- */

/* The file's state on disk is unknown after a failed sync, so its journal stays for the next
 * writer. */
static int fail_unsynced(struct bpk_edit *edit, struct bpk_err *err)
{
	return bpk_fail(err, BPK_FAILED,
			"may not be restored on disk: its journal %s stays for the next change",
			edit->resolved.journal);
}

static int undo_by_journal(struct bpk_edit *edit, struct bpk_err *err)
{
	edit->restored = bpk_journal_put_back(&edit->journal, edit->fd, err) == 0;
	if (!edit->restored)
		return -1;
	if (edit->unsynced ||
	    (edit->options.sync && bpk_journal_sync_file(&edit->journal, edit->fd) != 0)) {
		edit->broken = edit->unsynced = true;
		return fail_unsynced(edit, err);
	}
	if (bpk_journal_unlink(&edit->journal, err) != 0)
		return -1;
	if (edit->options.sync && bpk_journal_sync_folder(&edit->journal, err) != 0) {
		edit->broken = true; /* the journal may come back: no harm, it is obeyed already */
		return -1;
	}
	return 0;
}

static int undo_without(struct bpk_edit *edit, struct bpk_err *err)
{
	struct stat found;

	if (fstat(edit->fd, &found) != 0)
		return bpk_fail_errno(err, errno, "fstat");
	if ((uint64_t)found.st_size > edit->end && bpk_full_set_size(edit->fd, edit->end) != 0)
		return bpk_fail_errno(err, errno, "set the size");
	return 0;
}

int bpk_edit_undo(struct bpk_edit *edit, struct bpk_err *err)
{
	int rc;

	if (!edit->dirty)
		return 0;
	rc = edit->journal.fd >= 0 ? undo_by_journal(edit, err) : undo_without(edit, err);
	if (rc != 0)
		return -1;
	pthread_rwlock_wrlock(&edit->state_lock);
	bpk_journal_close(&edit->journal);
	pthread_rwlock_unlock(&edit->state_lock);
	edit->dirty = false;
	return 0;
}

int bpk_edit_need_one_name(const struct bpk_edit *edit, struct bpk_err *err)
{
	struct stat found;

	if (fstat(edit->fd, &found) != 0)
		return bpk_fail_errno(err, errno, "fstat");
	if (found.st_nlink > 1)
		return bpk_fail(
			err, BPK_FAILED,
			"has %lu hard links, but the journal would protect only one of them;"
			" --copy changes a copy",
			(unsigned long)found.st_nlink);
	return 0;
}
