/* Keeping a draft: its length, mode and time, its bytes on the disk, and then its name. Called by
 * archive and cli through io.h, by copies of edits, trees and tar extraction. */
#include "io/file/draft_inner.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "io/acl.h"
#include "io/beneath.h"
#include "io/full.h"
#include "io/mutant.h"
#include "io/file/draft_name.h"
#include "io/file/retire.h"

/* Set the final length: a hole at the end was never written. */
static int finish_length(const struct bpk_draft *draft, uint64_t size, struct bpk_err *err)
{
	if (size < draft->end && bpk_full_set_size(draft->fd, draft->end) != 0)
		return bpk_fail_errno(err, errno, "set the size");
	return 0;
}

/*
 * A file system without modes or times refuses them. The result then stays at least as private as
 * the draft was, which is no reason to discard it.
 */
static void finish_mode(int fd, int folder, gid_t group, const struct stat *like, mode_t umask)
{
	struct timespec times[2] = { { .tv_nsec = UTIME_OMIT }, { .tv_nsec = UTIME_OMIT } };
	mode_t mode = 0666;

	if (like != NULL) {
		mode = bpk_acl_like(fd, group, like, false);
		times[1] = like->st_mtim;
	}
	bpk_acl_set_mode(fd, folder, mode & ~umask, like == NULL);
	(void)futimens(fd, times);
}

/* A disk reports late errors at fsync, a network file system or a quota at close. */
static int flush(int fd, bool sync, struct bpk_err *err)
{
	int copy;

	if (sync && !bpk_is_mutant(BPK_MUTANT_NAME_BEFORE_CONTENT) && bpk_full_sync(fd) != 0)
		return bpk_fail_errno(err, errno, "sync");
	copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (copy < 0 || (close(copy) != 0 && errno != EINTR))
		return bpk_fail_errno(err, errno, "close");
	return 0;
}

/* Returns 0 when the name was given, 1 when it is taken, -1 otherwise. */
static int give_new_name(struct bpk_draft *draft, struct bpk_err *err)
{
	const char *name = draft->target.name;
	int folder = draft->target.folder;
	int rc;

	if (draft->draft_name == NULL) {
		rc = bpk_link_nameless(draft->fd, folder, name);
	} else {
		rc = renameat2(folder, draft->draft_name, folder, name, RENAME_NOREPLACE);
		/* without renameat2 (NFS) link: it does not replace either */
		if (rc != 0 && (errno == EINVAL || errno == ENOSYS || errno == ENOTSUP)) {
			rc = linkat(folder, draft->draft_name, folder, name, 0);
			if (rc == 0)
				unlinkat(folder, draft->draft_name, 0);
		}
	}
	if (rc == 0)
		return 0;
	if (errno == EEXIST)
		return 1;
	return bpk_fail_errno(err, errno, "cannot name the result");
}

static int link_draft(struct bpk_draft *draft, struct bpk_err *err)
{
	return draft->draft_name != NULL ? 0
					 : bpk_draft_link(draft->target.folder, draft->target.name,
							  draft->fd, &draft->draft_name, err);
}

/* Replace the target; if it is a file, its writer lock is held. */
static int replace_locked(struct bpk_draft *draft, struct bpk_err *err)
{
	const char *name = draft->target.name;
	int folder = draft->target.folder;

	if (link_draft(draft, err) != 0)
		return -1;
	if (renameat(folder, draft->draft_name, folder, name) != 0)
		return bpk_fail_errno(err, errno, "cannot replace it");
	return 0;
}

/* Check that no other program changed the file that the draft replaces: fd, or -1 for the one that
 * has the name. An exchange of names sets its ctime. */
static int check_seen(const struct bpk_draft *draft, int fd, bool is_exchanged, struct bpk_err *err)
{
	struct stat now;

	if (!draft->compares)
		return 0;
	if (fd >= 0 ? fstat(fd, &now) != 0
		    : fstatat(draft->target.folder, draft->target.name, &now,
			      AT_SYMLINK_NOFOLLOW) != 0)
		return bpk_fail_errno(err, errno, "stat");
	if (is_exchanged)
		now.st_ctim = draft->seen.st_ctim;
	if (!bpk_is_still(&now, &draft->seen))
		return bpk_fail(err, BPK_FAILED, "was changed by another program meanwhile");
	return 0;
}

/* Undo the change of a writer that died in the old file before the new one gets the name, so that a
 * journal never lies beside a file that it is not about. */
static int replace_file(struct bpk_draft *draft, struct bpk_err *err)
{
	struct bpk_resolved old = bpk_resolved_in(draft->target.folder, draft->target.name);
	int fd = -1, rc;

	rc = bpk_retire_lock(&old, &fd, err);
	if (rc == 0)
		rc = bpk_retire_settle(&old, fd, draft->sync, err);
	if (rc == 0)
		rc = check_seen(draft, fd, false, err);
	if (rc == 0)
		rc = replace_locked(draft, err);
	if (fd >= 0)
		close(fd);
	return rc;
}

static void forget_name(struct bpk_draft *draft)
{
	free(draft->draft_name);
	draft->draft_name = NULL;
}

static int exchange(const struct bpk_draft *draft)
{
	int folder = draft->target.folder;

	return renameat2(folder, draft->draft_name, folder, draft->target.name, RENAME_EXCHANGE);
}

/* The draft's name holds what the target was. Remove it if it is the file that the draft replaces;
 * another file, or one that was changed, gets its name back. */
static int remove_exchanged(struct bpk_draft *draft, struct bpk_err *err)
{
	struct bpk_resolved was = bpk_resolved_in(draft->target.folder, draft->draft_name);

	if (bpk_resolved_check(&was, draft->replaces, false, err) == 0 &&
	    check_seen(draft, draft->replaces, true, err) == 0) {
		/* the next change removes it in any case */
		if (unlinkat(draft->target.folder, draft->draft_name, 0) != 0)
			unlinkat(draft->target.folder, draft->draft_name, 0);
		return 0;
	}
	if (exchange(draft) == 0)
		return -1;
	bpk_fail_errno(err, errno, "was replaced by another file, which is now %s",
		       draft->draft_name);
	forget_name(draft);
	return -1;
}

/* Replace the file that the caller has locked and settled, and no other. The names are exchanged,
 * which shows the file that had the name at that moment. */
static int replace_own(struct bpk_draft *draft, struct bpk_err *err)
{
	struct bpk_resolved own = bpk_resolved_in(draft->target.folder, draft->target.name);
	int errnum;

	if (link_draft(draft, err) != 0 ||
	    bpk_resolved_check(&own, draft->replaces, false, err) != 0 ||
	    check_seen(draft, draft->replaces, false, err) != 0)
		return -1;
	if (exchange(draft) == 0)
		return remove_exchanged(draft, err);
	errnum = errno;
	/* an exchange needs both names */
	if (bpk_resolved_check(&own, draft->replaces, false, err) != 0)
		return -1;
	if (errnum == EINVAL || errnum == ENOSYS || errnum == ENOTSUP)
		return replace_locked(draft, err);
	return bpk_fail_errno(err, errnum, "cannot replace it");
}

static int replace(struct bpk_draft *draft, struct bpk_err *err)
{
	struct stat found;

	if (draft->replaces >= 0)
		return replace_own(draft, err);
	/* it was a file when the target was examined; a device created since is no target */
	if (fstatat(draft->target.folder, draft->target.name, &found, AT_SYMLINK_NOFOLLOW) != 0 ||
	    S_ISLNK(found.st_mode))
		return replace_locked(draft, err);
	if (!S_ISREG(found.st_mode))
		return bpk_fail(err, BPK_FAILED, "is no longer a regular file");
	return replace_file(draft, err);
}

static int sync_folder(int folder, struct bpk_err *err)
{
	if (bpk_folder_sync(folder) != 0)
		return bpk_fail_errno(err, errno, "sync its folder");
	return 0;
}

/* Give the draft its target's name; the cleanup lock is held. *replaced: the name was taken. */
static int commit(struct bpk_draft *draft, bool *replaced, struct bpk_err *err)
{
	/* a name that was removed meanwhile must not come back */
	int taken = draft->replaces >= 0 ? 1 : give_new_name(draft, err);

	if (taken < 0)
		return -1;
	*replaced = taken > 0;
	if (*replaced && !draft->overwrite)
		return bpk_fail(err, BPK_FAILED, "already exists");
	if (*replaced && replace(draft, err) != 0)
		return -1;
	forget_name(draft);
	return 0;
}

/* Without the cleanup lock: other drafts go on meanwhile, and this one has its name. */
static int sync_name(const struct bpk_draft *draft, bool replaced, struct bpk_err *err)
{
	if (!draft->sync || sync_folder(draft->target.folder, err) == 0)
		return 0;
	/* a replaced file is gone; a new name can be removed again */
	if (replaced)
		return bpk_err_subject(err, "is replaced, but a power cut may undo that");
	unlinkat(draft->target.folder, draft->target.name, 0);
	return -1;
}

/* Give the draft owner, mode, attributes and list, before it has its name. A file that takes the
 * place of another is that file changed, so no umask narrows what it had. */
static void finish_rights(struct bpk_draft *draft, gid_t group, const struct stat *like)
{
	int heir_of = draft->replaces >= 0 ? draft->replaces : draft->heir_of;
	mode_t umask = draft->replaces >= 0 ? 0 : bpk_cleanup_umask();
	bool is_whole = heir_of < 0 || bpk_draft_copy_attributes(heir_of, draft->fd);

	finish_mode(draft->fd, draft->target.folder, group, like, umask);
	/* the last step: a change of the mode would change the list */
	if (heir_of >= 0 && like != NULL && bpk_acl_copy(heir_of, draft->fd, like, umask) != 0)
		is_whole = false;
	if (!is_whole && draft->is_lost != NULL)
		*draft->is_lost = true;
}

/* Complete everything but the name. */
static int finish(struct bpk_draft *draft, const struct stat *like, struct bpk_err *err)
{
	const struct timespec times[2] = { { .tv_nsec = UTIME_OMIT }, draft->time };
	struct stat found;

	if (fstat(draft->fd, &found) != 0)
		return bpk_fail_errno(err, errno, "fstat");
	if (finish_length(draft, (uint64_t)found.st_size, err) != 0)
		return -1;
	finish_rights(draft, found.st_gid, like);
	if (draft->has_time)
		(void)futimens(draft->fd, times);
	return flush(draft->fd, draft->sync, err);
}

static int keep_file(struct bpk_draft *draft, const struct stat *like, struct bpk_err *err)
{
	bool replaced;
	int rc;

	if (finish(draft, like, err) != 0)
		return -1;
	if (bpk_cleanup_lock(err) != 0)
		return -1;
	rc = commit(draft, &replaced, err);
	bpk_cleanup_unlock();
	return rc == 0 ? sync_name(draft, replaced, err) : -1;
}

/* Leave the position of a seekable standard output after our bytes, for the next writer. */
static int keep_direct(struct bpk_draft *draft, struct bpk_err *err)
{
	struct stat found;
	bool is_disk;

	if (draft->seekable && lseek(draft->fd, (off_t)(draft->start + draft->end), SEEK_SET) < 0)
		return bpk_fail_errno(err, errno, "seek");
	is_disk =
		fstat(draft->fd, &found) == 0 && (S_ISREG(found.st_mode) || S_ISBLK(found.st_mode));
	return flush(draft->fd, draft->sync && is_disk, err);
}

static int keep_part(struct bpk_draft *draft, const struct stat *like, struct bpk_err *err)
{
	const struct bpk_draft_ops *ops = draft->ops;

	draft->ops = NULL; /* so that the drop below does not drop the owner */
	return ops->keep(draft->owner, like, err);
}

int bpk_draft_keep(struct bpk_draft *draft, const struct stat *like, struct bpk_err *err)
{
	int rc;

	if (draft->ops != NULL)
		rc = keep_part(draft, like, err);
	else
		rc = draft->is_file ? keep_file(draft, like, err) : keep_direct(draft, err);
	bpk_draft_drop(draft); /* removes nothing that was kept: its own name is gone */
	return rc;
}

/* Forget the draft's name on disk, so that dropping leaves the file there. */
static int leave_name(struct bpk_draft *draft, struct bpk_err *err)
{
	if (bpk_cleanup_lock(err) != 0)
		return -1;
	forget_name(draft);
	bpk_cleanup_unlock();
	return 0;
}

void bpk_draft_keep_time(struct bpk_draft *draft, struct timespec time)
{
	draft->has_time = true;
	draft->time = time;
}

void bpk_draft_begin_sync(struct bpk_draft *draft)
{
	if (draft->sync)
		bpk_full_begin_sync(draft->fd, draft->run, 0);
}

int bpk_draft_finish(struct bpk_draft *draft, const struct stat *like, struct bpk_err *err)
{
	int rc = finish(draft, like, err);

	if (rc == 0)
		rc = leave_name(draft, err);
	bpk_draft_drop(draft);
	return rc;
}
