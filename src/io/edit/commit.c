/* Committing an edit: through a journal, by one write of the head, or by a copy; and trimming.
 * Formats' editors call it. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>

#include "io/edit/edit.h"
#include "io/full.h"
#include "io/lock.h"
#include "io/mutant.h"

enum { SECTOR = 512 }; /* bytes that a disk writes whole or not at all */

static int check(const struct bpk_edit_head *head, struct bpk_err *err)
{
	uint64_t from = head->offset % SECTOR;

	if (head->offset > INT64_MAX - SECTOR || head->bytes.size > SECTOR - from)
		return bpk_fail(err, BPK_BUG, "a head of %zu bytes at %" PRIu64 " crosses a sector",
				head->bytes.size, head->offset);
	return 0;
}

static int check_name(const struct bpk_edit *edit, bool committed, struct bpk_err *err)
{
	return bpk_resolved_check(&edit->resolved, edit->fd, committed, err);
}

/* ---- Through a journal ---- */

static int announce(struct bpk_edit *edit, const struct bpk_edit_head *head, struct bpk_err *err)
{
	const struct bpk_journal_next next = { head->offset, head->bytes };
	uint64_t end = bpk_min_u64(head->offset + head->bytes.size, edit->end);
	const struct bpk_region saves[2] = {
		{ head->offset, end > head->offset ? end - head->offset : 0, 0 },
	};
	int rc;

	pthread_rwlock_wrlock(&edit->state_lock);
	rc = bpk_journal_save(&edit->journal, edit->fd, saves, &next, edit->options.sync,
			      &edit->broken, err);
	pthread_rwlock_unlock(&edit->state_lock);
	return rc;
}

/* Cut off the tail if it was saved and can be restored; otherwise it stays, behind the content. */
static int cut_tail(struct bpk_edit *edit, uint64_t end, struct bpk_err *err)
{
	uint64_t at = end, gap_end;
	struct stat found;

	if (fstat(edit->fd, &found) != 0)
		return bpk_fail_errno(err, errno, "fstat");
	if ((uint64_t)found.st_size <= end ||
	    bpk_regions_gap(&edit->journal.saved, &at, edit->end, &gap_end))
		return 0;
	if (bpk_full_set_size(edit->fd, end) != 0)
		return bpk_fail_errno(err, errno, "set the size");
	return 0;
}

/* No reader looks. Unlinking the journal is the commit; if the file cannot be synced before that,
 * the caller undoes everything. */
static int finish_journal(struct bpk_edit *edit, const struct bpk_edit_head *head, uint64_t end,
			  struct bpk_err *err)
{
	if (head != NULL && bpk_full_write_at(edit->fd, head->offset, head->bytes, err) != 0)
		return -1;
	if (cut_tail(edit, end, err) != 0)
		return -1;
	bpk_journal_set_time(&edit->journal, edit->fd);
	if (!bpk_is_mutant(BPK_MUTANT_UNLINK_BEFORE_SYNC) && bpk_edit_sync_file(edit, err) != 0)
		return -1;
	if (bpk_journal_unlink(&edit->journal, err) != 0)
		return -1;
	return edit->options.sync ? bpk_journal_sync_folder(&edit->journal, err) : 0;
}

/* ---- Without a journal ---- */

struct old_head {
	uint8_t bytes[SECTOR];
	size_t size;
};

static int keep_old_head(const struct bpk_edit *edit, const struct bpk_edit_head *head,
			 struct old_head *old, struct bpk_err *err)
{
	old->size = 0;
	if (head == NULL)
		return 0;
	return bpk_full_read_at(edit->fd, head->offset, bpk_span(old->bytes, head->bytes.size),
				&old->size, err);
}

static int write_head(struct bpk_edit *edit, const struct bpk_edit_head *head,
		      const struct old_head *old, struct bpk_err *err)
{
	if (bpk_full_write_at(edit->fd, head->offset, head->bytes, err) == 0 &&
	    bpk_edit_sync_file(edit, err) == 0)
		return 0;
	/* try to restore the old head; on disk it is the old one or the new one in any case */
	(void)bpk_full_write_at(edit->fd, head->offset, bpk_view(old->bytes, old->size), NULL);
	if (edit->options.sync && !edit->unsynced)
		(void)bpk_edit_sync_file(edit, NULL);
	return -1;
}

/* ---- Both ---- */

static void start_next_change(struct bpk_edit *edit, uint64_t end)
{
	bpk_journal_close(&edit->journal);
	bpk_edit_move_end(edit, end);
	edit->unused = (struct bpk_region){ 0 };
	edit->dirty = false;
}

static int switch_over(struct bpk_edit *edit, const struct bpk_edit_head *head, uint64_t end,
		       const struct old_head *old, struct bpk_err *err)
{
	int rc = 0;

	pthread_rwlock_wrlock(&edit->state_lock);
	if (edit->journal.fd >= 0)
		rc = finish_journal(edit, head, end, err);
	else if (head != NULL)
		rc = write_head(edit, head, old, err);
	if (rc == 0)
		start_next_change(edit, end);
	pthread_rwlock_unlock(&edit->state_lock);
	return rc;
}

/* Does the head in the file equal the one that was there before? */
static bool has_old_head(const struct bpk_edit *edit, const struct bpk_edit_head *head,
			 const struct old_head *old)
{
	uint8_t bytes[SECTOR];
	size_t got;

	return head == NULL || (bpk_full_read_at(edit->fd, head->offset, bpk_span(bytes, old->size),
						 &got, NULL) == 0 &&
				got == old->size && memcmp(bytes, old->bytes, got) == 0);
}

/* The content of a file that could not be put back. A journal without its name is not used by
 * anyone: the commit had taken place. */
static const char *content_left(const struct bpk_edit *edit, const struct bpk_edit_head *head,
				const struct old_head *old)
{
	const struct bpk_journal *journal = &edit->journal;
	struct stat found;

	if (journal->fd < 0)
		return has_old_head(edit, head, old) ? "the old content is there"
						     : "the new content is there";
	if (fstatat(journal->resolved->folder, journal->resolved->journal, &found,
		    AT_SYMLINK_NOFOLLOW) == 0)
		return "the old content is there, through its journal";
	return edit->restored ? "the old content is there"
			      : "the new content is there, unless bpk verify finds damage";
}

/* Undo everything; if that fails too, add its message, and say which content is there. */
static int give_up(struct bpk_edit *edit, const struct bpk_edit_head *head,
		   const struct old_head *old, struct bpk_err *err)
{
	struct bpk_err second = { 0 };

	if (bpk_edit_undo(edit, &second) != 0 && err != NULL)
		bpk_fail(err, err->kind, "%s; nor could it be put back: %s; %s", err->text,
			 second.text, content_left(edit, head, old));
	return -1;
}

static int commit_in_place(struct bpk_edit *edit, const struct bpk_edit_head *head, uint64_t end,
			   struct bpk_err *err)
{
	struct old_head old;
	int rc;

	if (keep_old_head(edit, head, &old, err) != 0)
		return -1;
	if (!bpk_is_mutant(BPK_MUTANT_HEAD_BEFORE_SYNC) && bpk_edit_sync_file(edit, err) != 0)
		return give_up(edit, head, &old, err);
	if (edit->journal.fd >= 0 && head != NULL && announce(edit, head, err) != 0)
		return -1;
	if (bpk_edit_lock_readers_out(edit, err) != 0)
		return -1;
	edit->dirty = true;
	rc = check_name(edit, false, err);
	if (rc == 0)
		rc = switch_over(edit, head, end, &old, err);
	if (rc != 0)
		give_up(edit, head, &old, err);
	bpk_lock_drop(edit->fd, BPK_LOCK_CHANGE);
	/* the name may have been given to another file since the first look */
	return rc == 0 ? check_name(edit, true, err) : -1;
}

int bpk_edit_commit(struct bpk_edit *edit, const struct bpk_edit_head *head, uint64_t end,
		    struct bpk_err *err)
{
	if (head != NULL && check(head, err) != 0)
		return -1;
	if (bpk_edit_enter(edit, err) != 0)
		return -1;
	if (head == NULL && end == edit->end && !edit->dirty && edit->copy == NULL)
		return bpk_edit_leave(edit, check_name(edit, false, err));
	if (head != NULL && bpk_edit_tell(edit, head->offset, head->bytes.size, err) != 0)
		return bpk_edit_leave(edit, -1);
	return bpk_edit_leave(edit, (edit->options.copy ? bpk_edit_commit_copy
							: commit_in_place)(edit, head, end, err));
}

static int trim_in_place(struct bpk_edit *edit, struct bpk_err *err)
{
	int rc = 0;

	if (bpk_edit_lock_readers_out(edit, err) != 0)
		return -1;
	if (bpk_full_set_size(edit->fd, edit->end) != 0)
		rc = bpk_fail_errno(err, errno, "set the size");
	else
		rc = bpk_edit_sync_file(edit, err);
	bpk_lock_drop(edit->fd, BPK_LOCK_CHANGE);
	return rc == 0 ? check_name(edit, true, err) : -1;
}

static int trim(struct bpk_edit *edit, struct bpk_err *err)
{
	struct stat found;

	if (edit->dirty || edit->copy != NULL)
		return bpk_fail(err, BPK_BUG, "uncommitted bytes would be cut off");
	if (fstat(edit->fd, &found) != 0)
		return bpk_fail_errno(err, errno, "fstat");
	if ((uint64_t)found.st_size <= edit->end)
		return 0;
	if (edit->options.copy)
		return bpk_edit_commit_copy(edit, NULL, edit->end, err);
	return trim_in_place(edit, err);
}

int bpk_edit_fail_committed(struct bpk_err *err)
{
	return bpk_err_subject(err, "is committed, but must be completed by the next change");
}

int bpk_edit_fail_reread(struct bpk_err *err)
{
	return bpk_err_subject(err, "is committed; reading it again failed");
}

int bpk_edit_trim(struct bpk_edit *edit, struct bpk_err *err)
{
	if (bpk_edit_enter(edit, err) != 0)
		return -1;
	return bpk_edit_leave(edit, trim(edit, err));
}
