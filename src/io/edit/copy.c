/* Edits that give the name to another file: drafts of a caller, and copies. edit.c and
 * edit/commit.c call it, and format editors through io/edit.h. */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/file/draft.h"
#include "io/acl.h"
#include "io/edit/edit.h"
#include "io/full.h"
#include "io/lock.h"

static bpk_edit_lost_fn *tell_of_lost;

void bpk_edit_on_lost(bpk_edit_lost_fn *tell)
{
	tell_of_lost = tell;
}

enum { PIECE = 8 << 10 }; /* bytes copied at a time, on the stack */

/* ---- Replacing ---- */

static int open_draft(struct bpk_edit *edit, struct bpk_draft **draft, struct bpk_err *err)
{
	const struct bpk_draft_options options = {
		.overwrite = true,
		.sync = edit->options.sync,
	};

	edit->compares = false;
	return bpk_draft_open_at(edit->resolved.folder, edit->resolved.name, &options, draft, err);
}

/* Duplicate the descriptor of draft and take the writer lock, with which the edit goes on: a
 * process that opens the new file by its name finds it locked. */
static int lock_draft(const struct bpk_draft *draft, int *fd, struct bpk_err *err)
{
	*fd = fcntl(bpk_draft_descriptor(draft), F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	if (*fd < 0)
		return bpk_fail_errno(err, errno, "cannot open its draft again");
	return bpk_lock_need(*fd, BPK_LOCK_WRITER, BPK_LOCK_TRY, true, NULL, err);
}

/* Continue the edit with the file fd, which has the name now. Takes fd. */
static int adopt(struct bpk_edit *edit, int fd, struct bpk_err *err)
{
	struct stat found;

	flock(fd, LOCK_UN); /* the lock of a draft, which it no longer is */
	if (fstat(fd, &found) != 0) {
		edit->broken = true;
		close(fd);
		return bpk_fail_errno(err, errno, "fstat");
	}
	pthread_rwlock_wrlock(&edit->state_lock);
	close(edit->fd);
	edit->fd = fd;
	bpk_edit_move_end(edit, (uint64_t)found.st_size);
	edit->unused = (struct bpk_region){ 0 };
	pthread_rwlock_unlock(&edit->state_lock);
	return 0;
}

/* Keep draft; the old file has no journal any more. */
static int keep(struct bpk_edit *edit, struct bpk_draft *draft, struct bpk_err *err)
{
	bool is_lost = false;
	struct stat like;
	int rc;

	if (fstat(edit->fd, &like) != 0) {
		bpk_draft_drop(draft);
		return bpk_fail_errno(err, errno, "fstat");
	}
	like.st_mode = bpk_acl_mode(edit->fd, like.st_mode);
	like.st_mtim = (struct timespec){ .tv_nsec = UTIME_NOW };
	bpk_draft_set_replaced(draft, edit->fd, edit->compares ? &edit->seen : NULL, &is_lost);
	rc = bpk_draft_keep(draft, &like, err);
	if (rc == 0 && is_lost && tell_of_lost != NULL)
		tell_of_lost(edit->resolved.given);
	return rc;
}

/* Rename draft over the file; takes it. */
static int replace(struct bpk_edit *edit, struct bpk_draft *draft, struct bpk_err *err)
{
	bool same;
	int fd = -1;

	if (bpk_edit_undo(edit, err) != 0 || lock_draft(draft, &fd, err) != 0) {
		bpk_draft_drop(draft);
		goto fail;
	}
	if (keep(edit, draft, err) != 0) {
		if (bpk_resolved_is(&edit->resolved, fd, &same, NULL) != 0 || !same)
			goto fail;
		/* it has the name, but its folder could not be synced */
		edit->broken = true;
		(void)adopt(edit, fd, NULL);
		return -1;
	}
	if (adopt(edit, fd, err) != 0)
		return -1;
	return bpk_resolved_check(&edit->resolved, fd, true, err);
fail:
	if (fd >= 0)
		close(fd);
	return -1;
}

int bpk_edit_check_copy(struct bpk_edit *edit, const struct bpk_draft *draft, struct bpk_err *err)
{
	struct stat new;

	if (bpk_edit_need_one_name(edit, err) != 0)
		return -1;
	if (fstat(edit->fd, &edit->seen) != 0 || fstat(bpk_draft_descriptor(draft), &new) != 0)
		return bpk_fail_errno(err, errno, "fstat");
	/* the owner is given by root */
	if (edit->seen.st_gid != new.st_gid || (edit->seen.st_uid != new.st_uid &&geteuid() != 0))
		return bpk_fail(err, BPK_FAILED, "belongs to another user or group");
	if (!bpk_acl_is_plain(edit->fd))
		return bpk_fail(err, BPK_FAILED, "has an access list, or attributes of users");
	edit->compares = true;
	return 0;
}

int bpk_edit_draft(struct bpk_edit *edit, struct bpk_draft **draft, struct bpk_err *err)
{
	*draft = NULL;
	if (bpk_edit_enter(edit, err) != 0)
		return -1;
	return bpk_edit_leave(edit, open_draft(edit, draft, err));
}

int bpk_edit_replace(struct bpk_edit *edit, struct bpk_draft *draft, struct bpk_err *err)
{
	if (bpk_edit_enter(edit, err) != 0) {
		bpk_draft_drop(draft);
		return -1;
	}
	bpk_edit_drop_copy(edit);
	if (bpk_edit_tell(edit, 0, UINT64_MAX, err) != 0) {
		bpk_draft_drop(draft);
		return bpk_edit_leave(edit, -1);
	}
	return bpk_edit_leave(edit, replace(edit, draft, err));
}

/* ---- Copying ---- */

static int copy_by_hand(int from, int to, uint64_t done, uint64_t size, struct bpk_err *err)
{
	uint8_t piece[PIECE];

	while (done < size) {
		struct bpk_span out = { piece, (size_t)bpk_min_u64(size - done, sizeof piece) };
		size_t got;

		if (bpk_full_read_at(from, done, out, &got, err) != 0)
			return -1;
		if (got < out.size)
			return bpk_fail(err, BPK_FAILED, "became shorter while it was copied");
		if (bpk_full_write_at(to, done, bpk_view_of_span(out), err) != 0)
			return -1;
		done += got;
	}
	return 0;
}

/* Share the blocks if the file system can; otherwise let the kernel copy if it can. */
static int copy_content(int from, int to, uint64_t size, struct bpk_err *err)
{
	uint64_t done = 0;
	ssize_t count;

	if (ioctl(to, FICLONE, from) == 0) {
		if (bpk_full_set_size(to, size) != 0)
			return bpk_fail_errno(err, errno, "set the size");
		return 0;
	}
	do {
		off_t in = (off_t)done, out = (off_t)done;

		count = copy_file_range(from, &in, to, &out,
					(size_t)bpk_min_u64(size - done, 1 << 30), 0);
		if (count > 0)
			done += (uint64_t)count;
	} while (done < size && (count > 0 || (count < 0 && errno == EINTR)));
	return copy_by_hand(from, to, done, size, err);
}

void bpk_edit_drop_copy(struct bpk_edit *edit)
{
	bpk_draft_drop(edit->copy);
	edit->copy = NULL;
}

static int begin_copy(struct bpk_edit *edit, struct bpk_err *err)
{
	if (edit->copy != NULL)
		return 0;
	if (open_draft(edit, &edit->copy, err) != 0)
		return -1;
	if (copy_content(edit->fd, bpk_draft_descriptor(edit->copy), edit->end, err) != 0) {
		bpk_edit_drop_copy(edit);
		return -1;
	}
	return 0;
}

int bpk_edit_write_copy(struct bpk_edit *edit, uint64_t offset, struct bpk_view bytes,
			struct bpk_err *err)
{
	if (begin_copy(edit, err) != 0)
		return -1;
	return bpk_full_write_at(bpk_draft_descriptor(edit->copy), offset, bytes, err);
}

int bpk_edit_sync_copy(struct bpk_edit *edit, struct bpk_err *err)
{
	if (edit->copy == NULL || !edit->options.sync ||
	    bpk_full_sync_data(bpk_draft_descriptor(edit->copy)) == 0)
		return 0;
	bpk_fail_errno(err, errno, "sync");
	edit->broken = true;
	bpk_edit_drop_copy(edit);
	return -1;
}

int bpk_edit_commit_copy(struct bpk_edit *edit, const struct bpk_edit_head *head, uint64_t end,
			 struct bpk_err *err)
{
	struct bpk_draft *copy;

	if (begin_copy(edit, err) != 0)
		return -1;
	if (head != NULL && bpk_full_write_at(bpk_draft_descriptor(edit->copy), head->offset,
					      head->bytes, err) != 0)
		return -1;
	if (bpk_full_set_size(bpk_draft_descriptor(edit->copy), end) != 0)
		return bpk_fail_errno(err, errno, "set the size");
	copy = edit->copy;
	edit->copy = NULL;
	return replace(edit, copy, err);
}
