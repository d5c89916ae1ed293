/* Following links to files that a command writes. target.c, resolved.c and the functions that open
 * trees call it. */
#include "io/link.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "io/full.h"

/* Check whether a writer may follow the link fd, which lies in the folder of path. */
static int judge(const char *path, int fd, struct bpk_err *err)
{
	const char *slash = strrchr(path, '/');
	struct stat link, folder;
	char parent[PATH_MAX] = ".";

	if (slash != NULL)
		snprintf(parent, sizeof parent, "%.*s", (int)(slash - path) + 1, path);
	if (fstat(fd, &link) != 0 || stat(parent, &folder) != 0)
		return bpk_fail_errno(err, errno, "cannot look at the link");
	if ((folder.st_mode & (S_ISVTX | S_IWOTH)) != (S_ISVTX | S_IWOTH) ||
	    link.st_uid == geteuid() || link.st_uid == folder.st_uid)
		return 0;
	return bpk_fail(err, BPK_FAILED,
			"is a link of another user in a folder that everyone may write to");
}

static int read_link(const char *path, char goal[PATH_MAX], struct bpk_err *err)
{
	int fd = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	ssize_t length = -1;
	int rc = -1;

	if (fd < 0)
		return bpk_fail_errno(err, errno, "cannot read the link");
	if (judge(path, fd, err) != 0)
		goto out;
	length = readlinkat(fd, "", goal, PATH_MAX - 1);
	if (length < 0) {
		bpk_fail_errno(err, errno, "cannot read the link");
		goto out;
	}
	goal[length] = '\0';
	rc = 0;
out:
	close(fd);
	return rc;
}

/* The target of a link may be relative to the link's own folder. */
int bpk_link_follow(char path[PATH_MAX], struct bpk_err *err)
{
	char goal[PATH_MAX];
	char *slash = strrchr(path, '/');
	size_t size, kept;

	if (read_link(path, goal, err) != 0)
		return -1;
	size = strlen(goal);
	kept = goal[0] == '/' || slash == NULL ? 0 : (size_t)(slash - path) + 1;
	if (size >= PATH_MAX - kept)
		return bpk_fail_errno(err, ENAMETOOLONG, "cannot follow the link");
	memcpy(path + kept, goal, size + 1);
	return 0;
}

int bpk_link_follow_all(const char *path, char real[PATH_MAX], struct bpk_err *err)
{
	struct stat found;

	if (strlen(path) >= PATH_MAX)
		return bpk_fail_errno(err, ENAMETOOLONG, "cannot open");
	memcpy(real, path, strlen(path) + 1);
	for (int links = 0; links <= BPK_LINKS_MAX; links++) {
		if (lstat(real, &found) != 0 || !S_ISLNK(found.st_mode))
			return 0;
		if (bpk_link_follow(real, err) != 0)
			return -1;
	}
	return bpk_fail_errno(err, ELOOP, "cannot follow the link");
}

int bpk_link_open_folder(const char *path, struct bpk_err *err)
{
	char named[PATH_MAX], real[PATH_MAX];
	size_t size = strlen(path);
	int fd;

	while (size > 1 && path[size - 1] == '/') /* a trailing slash makes the kernel follow */
		size--;
	snprintf(named, sizeof named, "%.*s", (int)bpk_min_size(size, PATH_MAX), path);
	if (size >= sizeof named)
		return bpk_fail_errno(err, ENAMETOOLONG, "cannot open");
	if (bpk_link_follow_all(named, real, err) != 0)
		return -1;
	fd = bpk_full_open(real, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
	return fd >= 0 ? fd : bpk_fail_errno(err, errno, "cannot open");
}
