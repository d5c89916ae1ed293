/* Writing to a file that is changed in place: overwritten bytes are saved first. Format editors
 * call it through io/edit.h. */
#include <errno.h>

#include "io/file/draft.h"
#include "io/edit/edit.h"
#include "io/full.h"
#include "io/lock.h"
#include "io/mutant.h"

/* ---- Saving ---- */

int bpk_edit_lock_readers_out(struct bpk_edit *edit, struct bpk_err *err)
{
	int patience = edit->options.wait ? BPK_LOCK_WITHOUT_LIMIT : BPK_LOCK_LONG;

	return bpk_lock_need(edit->fd, BPK_LOCK_CHANGE, patience, true, &bpk_edit_dropped, err);
}

static int create_journal(struct bpk_edit *edit, struct bpk_err *err)
{
	const struct bpk_edit_kept *kept = edit->options.kept;

	if (edit->journal.fd >= 0)
		return 0;
	if (bpk_edit_need_one_name(edit, err) != 0 ||
	    bpk_journal_create(&edit->journal, edit->fd, edit->end, &edit->unused,
			       kept != NULL ? &kept->time : NULL, err) != 0)
		return -1;
	edit->unsampled = edit->unused;
	return 0;
}

/* Remove a journal that never became complete: it protects nothing. */
static void remove_unfinished(struct bpk_edit *edit)
{
	if (edit->journal.fd < 0 || edit->journal.whole)
		return;
	(void)bpk_journal_unlink(&edit->journal, NULL);
	bpk_journal_close(&edit->journal);
}

/* Create a journal if necessary, save these bytes in it, and announce next. The change lock is
 * held; state_lock keeps out reads. */
static int save_alone(struct bpk_edit *edit, const struct bpk_region saves[2],
		      const struct bpk_journal_next *next, struct bpk_err *err)
{
	int rc;

	pthread_rwlock_wrlock(&edit->state_lock);
	rc = create_journal(edit, err);
	if (rc == 0)
		rc = bpk_journal_save(&edit->journal, edit->fd, saves, next, edit->options.sync,
				      &edit->broken, err);
	if (rc != 0)
		remove_unfinished(edit);
	else
		edit->dirty = true;
	pthread_rwlock_unlock(&edit->state_lock);
	return rc;
}

static int save(struct bpk_edit *edit, const struct bpk_region saves[2],
		const struct bpk_journal_next *next, struct bpk_err *err)
{
	int rc;

	if (bpk_edit_lock_readers_out(edit, err) != 0)
		return -1;
	rc = save_alone(edit, saves, next, err);
	bpk_lock_drop(edit->fd, BPK_LOCK_CHANGE);
	return rc;
}

/* The bytes from offset to end that lie below the end of the content, without those at its
 * beginning that are saved already. Size 0: all are. */
static struct bpk_region missing(const struct bpk_edit *edit, uint64_t offset, uint64_t end)
{
	uint64_t gap_end;

	end = bpk_min_u64(end, edit->end);
	if (!bpk_regions_gap(&edit->journal.saved, &offset, end, &gap_end))
		return (struct bpk_region){ 0 };
	return (struct bpk_region){ offset, end - offset, 0 };
}

/* The region that needs no saving: free now, and not sampled by the journal's START. */
static struct bpk_region unsaved(const struct bpk_edit *edit)
{
	const struct bpk_region *a = &edit->unused, *b = &edit->unsampled;
	uint64_t start, end;

	if (edit->journal.fd < 0)
		return *a;
	start = bpk_max_u64(a->offset, b->offset);
	end = bpk_min_u64(a->offset + a->size, b->offset + b->size);
	return (struct bpk_region){ start, end > start ? end - start : 0, 0 };
}

/* True if saved bytes are among size bytes at offset. */
static bool has_saved(const struct bpk_edit *edit, uint64_t offset, size_t size)
{
	const struct bpk_region *region = bpk_regions_from(&edit->journal.saved, offset);

	return size > 0 && region != NULL && region->offset < offset + size;
}

/* Before bytes are written at offset: save the bytes that they overwrite, and at least at_least
 * bytes from offset on; announce them where they overwrite saved bytes. All in one step. */
static int protect(struct bpk_edit *edit, uint64_t offset, struct bpk_view bytes, uint64_t at_least,
		   struct bpk_err *err)
{
	const struct bpk_journal_next next = { offset, bytes };
	const struct bpk_region hole = unsaved(edit);
	uint64_t end = offset + bpk_max_u64(bytes.size, at_least),
		 hole_end = hole.offset + hole.size;
	struct bpk_region saves[2] = { { 0 } };

	if (hole.size == 0 || end <= hole.offset || offset >= hole_end) {
		saves[0] = missing(edit, offset, end);
	} else {
		saves[0] = missing(edit, offset, bpk_max_u64(hole.offset, offset));
		saves[1] = missing(edit, hole_end, bpk_max_u64(hole_end, end));
	}
	if (saves[0].size == 0 && saves[1].size == 0 && !has_saved(edit, offset, bytes.size))
		return 0;
	return save(edit, saves, &next, err);
}

int bpk_edit_need_journal(struct bpk_edit *edit, struct bpk_err *err)
{
	const struct bpk_region none[2] = { { 0 } };
	const struct bpk_journal_next no_bytes = { 0 };

	if (bpk_edit_enter(edit, err) != 0)
		return -1;
	if (edit->options.copy || edit->journal.fd >= 0)
		return bpk_edit_leave(edit, 0);
	return bpk_edit_leave(edit, save(edit, none, &no_bytes, err));
}

int bpk_edit_save(struct bpk_edit *edit, uint64_t offset, uint64_t size, struct bpk_err *err)
{
	return bpk_edit_write_saving(edit, offset, bpk_view(NULL, 0), size, err);
}

/* ---- Writing ---- */

/*
 * The first bytes behind the content reach the disk before any others. After a power cut, which may
 * keep any sectors of the rest, they show that an append was interrupted; otherwise the rest might
 * be another archive. A journal shows it, too.
 */
static int write_first(struct bpk_edit *edit, uint64_t offset, struct bpk_view bytes,
		       struct bpk_err *err)
{
	const struct bpk_view first =
		bpk_view(bytes.data, bpk_min_size(bytes.size, BPK_EDIT_FIRST));

	if (edit->dirty || edit->journal.fd >= 0 || offset != edit->end || bytes.size == 0)
		return 0;
	edit->dirty = true;
	if (bpk_full_write_at(edit->fd, offset, first, err) != 0)
		return -1;
	return bpk_edit_sync_file(edit, err);
}

static int write_in_place(struct bpk_edit *edit, uint64_t offset, struct bpk_view bytes,
			  uint64_t at_least, struct bpk_err *err)
{
	if (!bpk_is_mutant(BPK_MUTANT_NO_JOURNAL) &&
	    protect(edit, offset, bytes, at_least, err) != 0)
		return -1;
	if (write_first(edit, offset, bytes, err) != 0)
		return -1;
	edit->dirty = edit->dirty || bytes.size > 0;
	return bpk_full_write_at(edit->fd, offset, bytes, err);
}

int bpk_edit_write_saving(struct bpk_edit *edit, uint64_t offset, struct bpk_view bytes,
			  uint64_t at_least, struct bpk_err *err)
{
	int rc;

	if (offset > INT64_MAX || bpk_max_u64(bytes.size, at_least) > INT64_MAX - offset)
		return bpk_fail_errno(err, EFBIG, "write");
	if (bpk_edit_enter(edit, err) != 0)
		return -1;
	if (bpk_edit_tell(edit, offset, bytes.size, err) != 0)
		rc = -1;
	else if (!edit->options.copy)
		rc = write_in_place(edit, offset, bytes, at_least, err);
	else
		rc = bytes.size > 0 ? bpk_edit_write_copy(edit, offset, bytes, err) : 0;
	return bpk_edit_leave(edit, rc);
}

int bpk_edit_write_at(struct bpk_edit *edit, uint64_t offset, struct bpk_view bytes,
		      struct bpk_err *err)
{
	return bpk_edit_write_saving(edit, offset, bytes, 0, err);
}

int bpk_edit_read_at(struct bpk_edit *edit, uint64_t offset, struct bpk_span out,
		     struct bpk_err *err)
{
	size_t got;

	if (edit->copy != NULL)
		return bpk_draft_read_at(edit->copy, offset, out, err);
	if (bpk_full_read_at(edit->fd, offset, out, &got, err) != 0)
		return -1;
	if (got < out.size)
		return bpk_fail(err, BPK_BUG, "%zu bytes are read back that were never written",
				out.size - got);
	return 0;
}

int bpk_edit_sync(struct bpk_edit *edit, struct bpk_err *err)
{
	if (bpk_edit_enter(edit, err) != 0)
		return -1;
	return bpk_edit_leave(edit, edit->options.copy ? bpk_edit_sync_copy(edit, err)
						       : bpk_edit_sync_file(edit, err));
}
