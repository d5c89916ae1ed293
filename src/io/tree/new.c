/*
 * New directories, and the choice between a new file and a new directory; archive, cli and writers
 * of datasets call it through io.h and io/dir.h. A new name is given by a rename that replaces
 * nothing. To replace a directory the two names are exchanged in one step; the old directory, which
 * then has the draft's name, is removed file by file of ours.
 *
 * A file system that cannot exchange names (NFS, some FUSE) has the old directory renamed for a
 * moment, to .NAME.bpk-old. Nothing of that name is ever removed: if the process is killed then,
 * the target is missing, and the next command on it renames the old one back.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "io/beneath.h"
#include "io/file/draft.h"
#include "io/tree/dir.h"
#include "io/tree/erase.h"
#include "io/full.h"
#include "io/lock.h"
#include "io/file/draft_name.h"
#include "io/tree/changes.h"
#include "io/file/target.h"
#include "io/tree/tree.h"

enum { REOPENED_MAX = 20 }; /* tries to lock a directory whose name others keep replacing */

struct new_tree {
	struct bpk_tree tree; /* root is the draft's, and locked */
	struct bpk_target target;
	bool overwrite;
	bool (*ours)(const char *name);
	struct bpk_cleanup cleanup;
	char *draft_name; /* guarded by the cleanup lock: in target.folder; NULL: dropped or kept */
};

/* ---- Dropping ---- */

/* The cleanup lock is held. Only we created files in the draft. */
static void drop_folder(void *owner)
{
	const struct new_tree *new = owner;
	struct bpk_stranger stranger;

	if (new->draft_name != NULL && bpk_erase_below(new->tree.root, NULL, &stranger, NULL) == 0)
		unlinkat(new->target.folder, new->draft_name, AT_REMOVEDIR);
}

static void new_tree_free(struct new_tree *new)
{
	bpk_tree_drop_files(&new->tree);
	bpk_cleanup_end(&new->cleanup);
	if (new->tree.root >= 0)
		close(new->tree.root);
	bpk_target_clear(&new->target);
	bpk_names_clear(&new->tree.folders);
	free(new->draft_name);
	free(new);
}

static void new_tree_drop(void *owner)
{
	new_tree_free(owner);
}

/* ---- The old directory ---- */

static int open_old(const struct new_tree *new)
{
	return bpk_full_openat(new->target.folder, new->target.name,
			       O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
}

static int fail_open_old(struct bpk_err *err)
{
	return bpk_fail_errno(err, errno, "cannot be opened to be replaced");
}

/* Check that all of the directory old may be removed. */
static int vet(int old, bool (*ours)(const char *name), struct bpk_err *err)
{
	struct bpk_stranger stranger;

	if (bpk_erase_vet(old, ours, &stranger, err) != 0)
		return -1;
	if (stranger.name[0] != '\0')
		return bpk_fail(err, BPK_FAILED,
				"is not replaced: it holds %s, which is no part of a dataset",
				stranger.name);
	return 0;
}

/* True if name in the target's folder leads to the directory fd. */
static bool leads_to(const struct new_tree *new, const char *name, int fd)
{
	struct stat named, opened;

	return fstatat(new->target.folder, name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
	       fstat(fd, &opened) == 0 && bpk_same_file(&named, &opened);
}

/* A directory without a lock that we could take: nobody like us can change it, but its owner may be
 * changing it now. */
static int check_unlocked(int old, int errnum, struct bpk_err *err)
{
	if (errnum != EACCES && errnum != EPERM && errnum != EROFS && errnum != EINVAL)
		return bpk_fail_errno(err, errnum, BPK_DIR_LOCK ": cannot be created or opened");
	if (bpk_changes_has_writer(old))
		return bpk_fail(err, BPK_FAILED, "is being changed by another process");
	return 0;
}

/* Lock out the writers of the old directory, so that no change of it is lost: those at work, and
 * those that begin. The caller closes *lock. Returns 1 if another directory has taken the name. */
static int lock_old(const struct new_tree *new, int old, int *lock, struct bpk_err *err)
{
	struct stat named, opened;
	int errnum;

	*lock = bpk_changes_open_lock(old, O_RDWR | O_CREAT, NULL);
	errnum = errno;
	if (*lock >= 0 &&
	    bpk_lock_need(*lock, BPK_LOCK_WRITER, BPK_LOCK_MOMENT, true, NULL, err) != 0)
		return -1;
	if (!leads_to(new, new->target.name, old))
		return 1;
	if (*lock < 0)
		return check_unlocked(old, errnum, err);
	return fstatat(old, BPK_DIR_LOCK, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
			       fstat(*lock, &opened) == 0 && bpk_same_file(&named, &opened)
		       ? 0
		       : 1;
}

static int vet_existing(const struct new_tree *new, struct bpk_err *err)
{
	struct stat found;
	int old, rc;

	if (fstatat(new->target.folder, new->target.name, &found, AT_SYMLINK_NOFOLLOW) != 0)
		return 0;
	if (!new->overwrite) /* renamed back just now, or created meanwhile */
		return bpk_fail(err, BPK_FAILED, "already exists");
	old = open_old(new);
	if (old < 0)
		return fail_open_old(err);
	rc = vet(old, new->ours, err);
	close(old);
	return rc;
}

static int say_rest(const struct bpk_stranger *stranger, const char *name, struct bpk_err *err)
{
	return bpk_fail(err, BPK_FAILED,
			"is written, but %s was added to the old one meanwhile and stays in %s",
			stranger->name, name);
}

/* Remove the old directory, which has the draft's name now; the new one is in its place. */
static int remove_old(const struct new_tree *new, int old, struct bpk_err *err)
{
	const char *name = new->draft_name;
	struct bpk_stranger stranger;

	if (bpk_erase_folder(new->target.folder, name, old, new->ours, &stranger, err) != 0)
		return bpk_err_subject(err, "is written, but the old one stays in %s", name);
	if (stranger.name[0] != '\0')
		return say_rest(&stranger, name, err);
	return 0;
}

/* ---- Names ---- */

static bool is_unknown(int errnum)
{
	return errnum == EINVAL || errnum == ENOSYS || errnum == ENOTSUP;
}

/* Returns 0 when the name was given, 1 when it is taken, -1 otherwise. */
static int give_new_name(const struct new_tree *new, struct bpk_err *err)
{
	const struct bpk_target *target = &new->target;
	struct stat found;
	int rc = renameat2(target->folder, new->draft_name, target->folder, target->name,
			   RENAME_NOREPLACE);

	if (rc != 0 && is_unknown(errno)) {
		if (fstatat(target->folder, target->name, &found, AT_SYMLINK_NOFOLLOW) == 0)
			return 1;
		/* renaming a folder can replace only an empty folder */
		rc = renameat(target->folder, new->draft_name, target->folder, target->name);
	}
	if (rc == 0)
		return 0;
	if (errno == EEXIST || errno == ENOTEMPTY || errno == ENOTDIR)
		return 1;
	return bpk_fail_errno(err, errno, "cannot name the result");
}

static void spell_aside(char text[NAME_MAX + 1], const char *name)
{
	snprintf(text, NAME_MAX + 1, ".%.*s.bpk-old", NAME_MAX - 9, name);
}

/* Do not drop the draft any more: it was kept, or the name belongs to the old directory. */
static void forget_draft(struct new_tree *new)
{
	free(new->draft_name);
	new->draft_name = NULL;
}

/* Exchange the two names in three steps, where one step is not possible. */
static int exchange_by_three(struct new_tree *new, struct bpk_err *err)
{
	const char *name = new->target.name, *draft_name = new->draft_name;
	int folder = new->target.folder, errnum;
	char aside[NAME_MAX + 1];

	spell_aside(aside, name);
	if (renameat(folder, name, folder, aside) != 0)
		return bpk_fail_errno(err, errno, "cannot be put aside as %s", aside);
	if (renameat(folder, draft_name, folder, name) != 0) {
		errnum = errno;
		if (renameat(folder, aside, folder, name) != 0)
			return bpk_fail_errno(err, errnum, "cannot be replaced, and is now %s",
					      aside);
		return bpk_fail_errno(err, errnum, "cannot be replaced");
	}
	if (renameat(folder, aside, folder, draft_name) == 0)
		return 0;
	bpk_fail_errno(err, errno, "is written, but the old one stays in %s", aside);
	forget_draft(new);
	return -1;
}

/* Give the target its name again, if a process was killed between those steps. */
static void put_back(const struct bpk_target *target)
{
	char aside[NAME_MAX + 1];
	struct stat found, folder;

	spell_aside(aside, target->name);
	if (fstatat(target->folder, target->name, &found, AT_SYMLINK_NOFOLLOW) == 0 ||
	    errno != ENOENT)
		return;
	if (fstatat(target->folder, aside, &found, AT_SYMLINK_NOFOLLOW) == 0 &&
	    fstat(target->folder, &folder) == 0 && S_ISDIR(found.st_mode) &&
	    bpk_erase_may(folder.st_uid, &found))
		(void)renameat(target->folder, aside, target->folder, target->name);
}

/* Returns 1 if the target was removed. */
static int exchange(struct new_tree *new, struct bpk_err *err)
{
	const struct bpk_target *target = &new->target;

	if (renameat2(target->folder, new->draft_name, target->folder, target->name,
		      RENAME_EXCHANGE) == 0)
		return 0;
	if (is_unknown(errno))
		return exchange_by_three(new, err);
	if (errno == ENOENT)
		return 1;
	return bpk_fail_errno(err, errno, "cannot be replaced");
}

/* The draft's name holds a directory that is not locked: it gets its name back. Returns 1. */
static int give_back(struct new_tree *new, struct bpk_err *err)
{
	if (exchange(new, NULL) == 0)
		return 1;
	bpk_fail(err, BPK_FAILED, "is written, but another one, which had the name, stays in %s",
		 new->draft_name);
	forget_draft(new);
	return -1;
}

/* Exchange the new directory for the directory old, which is ours and locked. Returns 1 if another
 * one has taken the name. */
static int replace_old(struct new_tree *new, int old, struct bpk_err *err)
{
	int rc;

	if (vet(old, new->ours, err) != 0)
		return -1;
	(void)bpk_draft_lock(old); /* it gets the name of a draft: nobody else may remove it */
	rc = exchange(new, err);
	if (rc != 0)
		return rc;
	if (!leads_to(new, new->draft_name, old))
		return give_back(new, err);
	if (new->tree.sync && bpk_folder_sync(new->target.folder) != 0) {
		bpk_fail_errno(err, errno, "sync its folder");
		/* the state after a power cut is unknown: prefer the old one */
		if (exchange(new, NULL) == 0)
			return -1;
		bpk_err_subject(err, "is written, but the old one stays in %s", new->draft_name);
		forget_draft(new);
		return -1;
	}
	rc = remove_old(new, old, err);
	forget_draft(new);
	return rc;
}

static int replace(struct new_tree *new, struct bpk_err *err)
{
	int old = open_old(new), lock = -1, rc;

	if (old < 0 && errno == ENOENT)
		return 1;
	if (old < 0)
		return fail_open_old(err);
	rc = lock_old(new, old, &lock, err);
	if (rc == 0)
		rc = replace_old(new, old, err);
	if (lock >= 0)
		close(lock);
	close(old);
	return rc;
}

/* ---- Keeping ---- */

/* Finish every folder, inner ones first, so that no name is on disk before its folder is. No folder
 * gives more than like does. */
static int finish_folders(const struct new_tree *new, const struct stat *like, struct bpk_err *err)
{
	const struct bpk_names *folders = &new->tree.folders;

	for (size_t i = folders->count; i > 0; i--)
		if (bpk_tree_finish_folder(&new->tree, folders->all[i - 1], like, err) != 0)
			return -1;
	return bpk_tree_finish_folder(&new->tree, "", like, err);
}

/* The new name may not survive a power cut: turn the directory back into a draft, in one step, or
 * leave it whole. */
static int take_back(struct new_tree *new, struct bpk_err *err)
{
	const struct bpk_target *target = &new->target;

	if (renameat(target->folder, target->name, target->folder, new->draft_name) == 0)
		return -1;
	forget_draft(new);
	return bpk_err_subject(err, "is written, but may be gone after a power cut");
}

/* The name was free. */
static int settle_name(struct new_tree *new, struct bpk_err *err)
{
	if (new->tree.sync && bpk_folder_sync(new->target.folder) != 0) {
		bpk_fail_errno(err, errno, "sync its folder");
		return take_back(new, err);
	}
	forget_draft(new);
	return 0;
}

/* Returns 1 if another directory has taken the name meanwhile. */
static int commit_once(struct new_tree *new, struct bpk_err *err)
{
	int taken = give_new_name(new, err);

	if (taken < 0)
		return -1;
	if (taken > 0 && !new->overwrite)
		return bpk_fail(err, BPK_FAILED, "already exists");
	return taken > 0 ? replace(new, err) : settle_name(new, err);
}

/* Give the draft its target's name; the cleanup lock is held. */
static int commit(struct new_tree *new, struct bpk_err *err)
{
	int rc = 1;

	for (int i = 0; i < REOPENED_MAX && rc > 0; i++)
		rc = commit_once(new, err);
	if (rc > 0)
		return bpk_fail(err, BPK_FAILED, "another process keeps replacing it");
	return rc;
}

static int new_tree_keep(void *owner, const struct stat *like, struct bpk_err *err)
{
	struct new_tree *new = owner;
	int rc = bpk_tree_finish_files(&new->tree, err);

	if (rc == 0)
		rc = finish_folders(new, like, err);
	if (rc == 0)
		rc = bpk_cleanup_lock(err);
	if (rc == 0) {
		rc = commit(new, err);
		bpk_cleanup_unlock();
	}
	new_tree_free(new);
	return rc;
}

static struct bpk_tree *new_tree_tree(void *owner)
{
	struct new_tree *new = owner;

	return &new->tree;
}

static const struct bpk_draft_ops new_tree_ops = { .keep = new_tree_keep,
						   .drop = new_tree_drop,
						   .tree = new_tree_tree };

/* ---- Opening ---- */

/* The cleanup lock is held. */
static int create(struct new_tree *new, struct bpk_err *err)
{
	const struct bpk_target *target = &new->target;

	bpk_draft_clean_folders(target->folder, target->name, new->ours);
	return bpk_draft_create_folder(target->folder, target->name, &new->tree.root,
				       &new->draft_name, err);
}

static int open_new(const char *target, const struct bpk_draft_options *options,
		    struct new_tree *new, struct bpk_err *err)
{
	int rc;

	if (options->ours == NULL)
		return bpk_fail(err, BPK_BUG, "a directory without a function that owns its files");
	if (bpk_target_find(target, options, &new->target, err) != 0)
		return -1;
	put_back(&new->target);
	if (vet_existing(new, err) != 0 || bpk_cleanup_lock(err) != 0)
		return -1;
	rc = create(new, err);
	if (rc == 0)
		bpk_cleanup_add(&new->cleanup, drop_folder, new);
	bpk_cleanup_unlock();
	return rc;
}

static int open_directory(const char *target, const struct bpk_draft_options *options,
			  struct bpk_draft **draft, struct bpk_err *err)
{
	struct new_tree *new = bpk_calloc(1, sizeof *new, err);
	bool is_named;

	*draft = NULL;
	if (new == NULL)
		return -1;
	new->target = (struct bpk_target){ .folder = -1, .fd = -1 };
	new->tree = (struct bpk_tree){ .root = -1, .sync = options->sync, .is_new = true };
	if (options->like != NULL) {
		new->tree.has_like = true;
		new->tree.like = *options->like;
		new->tree.like.st_mtim.tv_nsec = UTIME_OMIT;
	}
	new->overwrite = options->overwrite;
	new->ours = options->ours;
	if (open_new(target, options, new, err) != 0 ||
	    bpk_draft_of_ops(&new_tree_ops, new, draft, err) != 0) {
		new_tree_free(new);
		return -1;
	}
	/* others could not open files that are complete, and read-only */
	is_named = options->named && (!new->tree.has_like || new->tree.like.st_mode &S_IWUSR);
	bpk_draft_set_folder(*draft, new->tree.root, is_named, options->sync,
			     &new->tree.withholding);
	return 0;
}

int bpk_draft_open(const char *target, const struct bpk_draft_options *options,
		   struct bpk_draft **draft, struct bpk_err *err)
{
	if (bpk_path_is_url(target))
		return bpk_remote_draft(target, options, draft, err);
	return (options->directory ? open_directory : bpk_draft_open_file)(target, options, draft,
									   err);
}
