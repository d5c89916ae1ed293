/* Locking the datasets in which files are extracted. A list of changes names their files, so that
 * one that is pending would meet others: such a dataset is refused. extract.c calls it. */
#include "io/tar/hold.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/beneath.h"
#include "io/lock.h"
#include "io/tree/dir.h"
#include "io/tree/changes.h"

struct hold {
	struct stat seen; /* of the lock */
	int fd;
	bool is_used; /* by the current file */
};

static struct hold *first(const struct bpk_tar_holds *holds, size_t *count)
{
	*count = holds->locks.size / sizeof(struct hold);
	return (struct hold *)(void *)holds->locks.data;
}

/* Release the locks that the current file does not use. */
static void sweep(struct bpk_tar_holds *holds)
{
	size_t count, kept = 0;
	struct hold *all = first(holds, &count);

	for (size_t i = 0; i < count; i++) {
		if (all[i].is_used)
			all[kept++] = all[i];
		else
			close(all[i].fd);
	}
	holds->locks.size = kept * sizeof *all;
}

static void unmark(struct bpk_tar_holds *holds)
{
	size_t count;
	struct hold *all = first(holds, &count);

	for (size_t i = 0; i < count; i++)
		all[i].is_used = false;
}

/* Mark the lock if it is held already. */
static bool is_held(const struct bpk_tar_holds *holds, const struct stat *found)
{
	size_t count;
	struct hold *all = first(holds, &count);

	for (size_t i = 0; i < count; i++)
		if (bpk_same_file(&all[i].seen, found))
			return all[i].is_used = true;
	return false;
}

/* Takes fd, an open lock. */
static int take(struct bpk_tar_holds *holds, int fd, struct bpk_err *err)
{
	struct hold hold = { .fd = fd, .is_used = true };
	int rc = -1;

	if (fstat(fd, &hold.seen) != 0) {
		bpk_fail_errno(err, errno, BPK_DIR_LOCK ": fstat");
	} else if (is_held(holds, &hold.seen)) {
		close(fd);
		return 0;
	} else if (bpk_lock_need(fd, BPK_LOCK_WRITER, BPK_LOCK_MOMENT, true, NULL, err) == 0) {
		rc = bpk_buf_append(&holds->locks, bpk_view(&hold, sizeof hold), err);
	}
	if (rc != 0)
		close(fd);
	return rc;
}

/* Fail if the folder has a list of changes of its owner. Nobody obeys a list of anybody else. */
static int check_list(int folder, struct bpk_err *err)
{
	struct stat list, own;

	if (fstatat(folder, BPK_DIR_LIST, &list, AT_SYMLINK_NOFOLLOW) != 0)
		return bpk_is_missing(errno) ? 0
					     : bpk_fail_errno(err, errno, "%s: stat", BPK_DIR_LIST);
	if (fstat(folder, &own) != 0)
		return bpk_fail_errno(err, errno, "fstat");
	if (list.st_uid != own.st_uid)
		return 0;
	return bpk_fail(err, BPK_FAILED,
			"has a pending change, listed in %s, which bpk repair settles; nothing is "
			"extracted into it",
			BPK_DIR_LIST);
}

static int hold_folder(struct bpk_tar_holds *holds, int folder, struct bpk_err *err)
{
	int lock = bpk_changes_open_lock(folder, O_RDWR, NULL);

	if (lock >= 0 && take(holds, lock, err) != 0)
		return -1;
	if (lock < 0 && bpk_changes_has_writer(folder)) /* one that we may not lock */
		return bpk_fail(err, BPK_FAILED, "is being changed by another process");
	return check_list(folder, err);
}

/* A folder that is missing holds nothing yet. */
static int hold_one(struct bpk_tar_holds *holds, int root, const char *path, struct bpk_err *err)
{
	int folder = bpk_beneath_open(root, path, O_RDONLY | O_DIRECTORY), rc;

	if (folder < 0)
		return 0;
	rc = hold_folder(holds, folder, err);
	close(folder);
	return rc == 0 ? 0 : bpk_err_subject(err, "%s", *path == '\0' ? "." : path);
}

int bpk_tar_hold(struct bpk_tar_holds *holds, int root, const char *name, struct bpk_err *err)
{
	char path[PATH_MAX] = "";
	int rc;

	unmark(holds);
	rc = hold_one(holds, root, path, err);
	for (const char *slash = name; rc == 0 && (slash = strchr(slash, '/')) != NULL; slash++) {
		snprintf(path, sizeof path, "%.*s", (int)(slash - name), name);
		rc = hold_one(holds, root, path, err);
	}
	sweep(holds);
	return rc;
}

void bpk_tar_holds_clear(struct bpk_tar_holds *holds)
{
	unmark(holds);
	sweep(holds);
	bpk_buf_clear(&holds->locks);
}
