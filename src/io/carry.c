/* Carrying out a list of changes. Every step may have been done already. change.c and commit.c call
 * it. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "io/beneath.h"
#include "io/dir_ops.h"
#include "io/redo.h"

static const char *base_of(const char *name)
{
	const char *slash = strrchr(name, '/');

	return slash == NULL ? name : slash + 1;
}

static bool is_file_of(const struct stat *found, uint64_t size)
{
	return S_ISREG(found->st_mode) && (uint64_t)found->st_size == size;
}

/* The draft is gone: check that it was renamed. */
static int check_renamed(int folder, const struct bpk_change *change, struct bpk_err *err)
{
	struct stat found;
	bool there = fstatat(folder, base_of(change->name), &found, AT_SYMLINK_NOFOLLOW) == 0;

	if (!there && !bpk_is_missing(errno))
		return bpk_fail_errno(err, errno, "%s: cannot be looked at", change->name);
	if (there && is_file_of(&found, change->size))
		return 0;
	return bpk_fail(err, BPK_CORRUPT, "%s: is neither there nor renamed to %s", change->draft,
			change->name);
}

static int rename_in(int folder, const struct bpk_change *change, struct bpk_err *err)
{
	const char *draft = base_of(change->draft), *base = base_of(change->name);
	struct stat found;

	if (fstatat(folder, draft, &found, AT_SYMLINK_NOFOLLOW) != 0) {
		if (errno != ENOENT)
			return bpk_fail_errno(err, errno, "%s: cannot be looked at", change->draft);
		return check_renamed(folder, change, err);
	}
	if (!is_file_of(&found, change->size))
		return bpk_fail(err, BPK_CORRUPT, "%s: is no file of %" PRIu64 " bytes",
				change->draft, change->size);
	if (renameat(folder, draft, folder, base) != 0)
		return bpk_fail_errno(err, errno, "%s: cannot be replaced", change->name);
	return 0;
}

static int remove_in(int folder, const struct bpk_change *change, struct bpk_err *err)
{
	const char *base = base_of(change->name);
	struct stat found;

	if (fstatat(folder, base, &found, AT_SYMLINK_NOFOLLOW) != 0) {
		if (errno == ENOENT)
			return 0;
		return bpk_fail_errno(err, errno, "%s: cannot be looked at", change->name);
	}
	if (!S_ISREG(found.st_mode))
		return bpk_fail(err, BPK_CORRUPT, "%s: is no regular file", change->name);
	if (unlinkat(folder, base, 0) != 0 && errno != ENOENT)
		return bpk_fail_errno(err, errno, "%s: cannot be removed", change->name);
	return 0;
}

static int open_folder(int root, const char *name, struct bpk_err *err)
{
	const char *base;
	int folder = bpk_beneath_parent(root, name, &base);

	return folder < 0 ? bpk_fail_errno(err, errno, "%s: cannot open its folder", name) : folder;
}

int bpk_redo_apply(int root, const struct bpk_change *change, struct bpk_err *err)
{
	int folder = open_folder(root, change->name, err), rc;

	if (folder < 0)
		return -1;
	if (change->draft == NULL)
		rc = remove_in(folder, change, err);
	else
		rc = rename_in(folder, change, err);
	close(folder);
	return rc;
}

int bpk_redo_sync_one(int root, const char *name, struct bpk_err *err)
{
	int folder = open_folder(root, name, err), rc;

	if (folder < 0)
		return -1;
	rc = bpk_folder_sync(folder);
	if (rc != 0)
		bpk_fail_errno(err, errno, "%s: sync its folder", name);
	close(folder);
	return rc;
}

static bool same_folder(const char *a, const char *b)
{
	size_t size = (size_t)(base_of(a) - a);

	return size == (size_t)(base_of(b) - b) && memcmp(a, b, size) == 0;
}

int bpk_redo_sync(int root, const struct bpk_redo *redo, struct bpk_err *err)
{
	/* sorted by name, a folder's names are adjacent, or separated by those of a folder inside
	 * it */
	for (size_t i = 0; i < redo->count; i++) {
		const char *name = redo->by_name[i]->name;

		if (i + 1 < redo->count && same_folder(name, redo->by_name[i + 1]->name))
			continue;
		if (bpk_redo_sync_one(root, name, err) != 0)
			return -1;
	}
	return 0;
}

int bpk_redo_carry_out(int root, const struct bpk_redo *redo, bool sync, struct bpk_err *err)
{
	for (size_t i = 0; i < redo->count; i++)
		if (bpk_redo_apply(root, &redo->changes[i], err) != 0)
			return -1;
	if (sync && bpk_redo_sync(root, redo, err) != 0)
		return -1;
	if (unlinkat(root, BPK_DIR_LIST, 0) != 0 && errno != ENOENT)
		return bpk_fail_errno(err, errno, BPK_DIR_LIST ": cannot be removed");
	if (sync && bpk_folder_sync(root) != 0)
		return bpk_fail_errno(err, errno, BPK_DIR_LIST ": sync its folder");
	return 0;
}

int bpk_redo_open_lock(int root, int flags)
{
	struct stat found;
	int fd;

	flags |= O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
	if (fstatat(root, BPK_DIR_LOCK, &found, AT_SYMLINK_NOFOLLOW) == 0) {
		if (!S_ISREG(found.st_mode)) {
			errno = EINVAL;
			return -1;
		}
	} else if (errno != ENOENT) {
		return -1;
	}
	do
		fd = openat(root, BPK_DIR_LOCK, flags, 0666);
	while (fd < 0 && errno == EINTR);
	return fd;
}
