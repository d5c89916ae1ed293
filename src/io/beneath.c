/*
 * Opening files below a folder without following a link, and folders to work in. dir.c, the trees
 * and tar extraction call it.
 */
#include "io/beneath.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "io/full.h"

bool bpk_is_missing(int errnum)
{
	return errnum == ENOENT || errnum == ENOTDIR || errnum == ELOOP;
}

bool bpk_is_absent(int errnum)
{
	return bpk_is_missing(errnum) || errnum == ENAMETOOLONG;
}

int bpk_path_look(const char *path, struct stat *found, bool *there, struct bpk_err *err)
{
	*there = stat(path, found) == 0;
	if (!*there && !bpk_is_missing(errno))
		return bpk_fail_errno(err, errno, "cannot stat");
	return 0;
}

enum { SAFE = O_CLOEXEC | O_NOCTTY | O_NOFOLLOW | O_NONBLOCK };

static int open_at_once(int root, const char *name, int flags)
{
	struct open_how how = {
		.flags = (uint64_t)flags,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
	};
	int fd;

	do
		fd = (int)syscall(SYS_openat2, root, name, &how, sizeof how);
	while (fd < 0 && errno == EINTR);
	return fd;
}

static int open_part_by_part(int root, const char *name, int flags)
{
	char part[NAME_MAX + 1];
	int folder = root, next;

	for (;;) {
		size_t size = strcspn(name, "/");

		if (name[size] == '\0')
			break;
		snprintf(part, sizeof part, "%.*s", (int)size, name);
		next = bpk_full_openat(folder, part, O_PATH | O_DIRECTORY | O_NOFOLLOW, 0);
		if (folder != root)
			close(folder);
		if (next < 0)
			return -1;
		folder = next;
		name += size + 1;
	}
	next = bpk_full_openat(folder, name, flags, 0);
	if (folder != root)
		close(folder);
	return next;
}

int bpk_beneath_open(int root, const char *name, int flags)
{
	int fd;

	flags |= (flags & O_PATH) != 0 ? O_CLOEXEC | O_NOFOLLOW : SAFE;
	if (*name == '\0')
		name = ".";
	fd = open_at_once(root, name, flags);
	/* a seccomp filter may answer EPERM to a system call that it does not know */
	if (fd < 0 && (errno == ENOSYS || errno == EPERM))
		fd = open_part_by_part(root, name, flags);
	return fd;
}

int bpk_beneath_stat(int root, const char *name, struct stat *found)
{
	int fd, rc;

	/* one part leads nowhere else, and costs one call */
	if (*name != '\0' && strchr(name, '/') == NULL && strcmp(name, "..") != 0)
		return fstatat(root, name, found, AT_SYMLINK_NOFOLLOW);
	fd = bpk_beneath_open(root, name, O_PATH);
	if (fd < 0)
		return -1;
	rc = fstat(fd, found);
	close(fd);
	return rc;
}

int bpk_beneath_folder(int root, const char *name)
{
	int fd = bpk_beneath_open(root, name, O_RDONLY | O_DIRECTORY);

	if (fd < 0 && errno == EACCES)
		fd = bpk_beneath_open(root, name, O_PATH | O_DIRECTORY);
	return fd;
}

int bpk_beneath_parent(int root, const char *name, const char **base)
{
	const char *slash = strrchr(name, '/');
	char parent[PATH_MAX] = "";

	*base = slash == NULL ? name : slash + 1;
	if (slash != NULL)
		snprintf(parent, sizeof parent, "%.*s", (int)(slash - name), name);
	return bpk_beneath_folder(root, parent);
}

int bpk_folder_open(const char *path)
{
	int fd = bpk_full_open(path, O_RDONLY | O_DIRECTORY);

	if (fd < 0 && errno == EACCES)
		fd = bpk_full_open(path, O_PATH | O_DIRECTORY);
	return fd;
}

int bpk_folder_sync(int folder)
{
	if (bpk_full_sync(folder) != 0 && errno != EBADF && errno != EINVAL && errno != ENOTSUP)
		return -1;
	return 0;
}

static bool same_time(struct timespec a, struct timespec b)
{
	return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

int bpk_fail_changed(struct bpk_err *err)
{
	return bpk_fail(err, BPK_FAILED, "changed while it was read");
}

bool bpk_is_still(const struct stat *now, const struct stat *seen)
{
	return bpk_same_file(now, seen) && now->st_size == seen->st_size &&
	       same_time(now->st_mtim, seen->st_mtim) && same_time(now->st_ctim, seen->st_ctim);
}

bool bpk_is_timely(int fd)
{
	struct statfs found;

	if (fstatfs(fd, &found) != 0)
		return false;
	switch (found.f_type) {
	case BTRFS_SUPER_MAGIC:
	case EXT4_SUPER_MAGIC:
	case TMPFS_MAGIC:
	case XFS_SUPER_MAGIC:
		return true;
	default:
		return false;
	}
}

/* A tick is at most 10 ms, or 2 s where times have no fractions. */
bool bpk_is_settled(const struct stat *found, const struct timespec *now)
{
	enum { TICK = 100 * 1000 * 1000, LONG_TICK = 3 };
	struct timespec latest = found->st_ctim;

	latest.tv_sec += latest.tv_nsec == 0 ? LONG_TICK : (latest.tv_nsec + TICK) / 1000000000;
	latest.tv_nsec = (latest.tv_nsec + TICK) % 1000000000;
	return bpk_time_is_before(&latest, now);
}
