/* The folders above a path, for commands that must not write into the files that they read; names
 * of files beside others; and numbered names, for the command append. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "io/beneath.h"
#include "io/full.h"
#include "io/link.h"

char *bpk_path_beside(const char *path, const char *suffix, struct bpk_err *err)
{
	size_t size = strlen(path);
	char *name;

	while (size > 1 && path[size - 1] == '/')
		size--;
	if (asprintf(&name, "%.*s%s", (int)size, path, suffix) >= 0)
		return name;
	bpk_fail_memory(err, size);
	return NULL;
}

/* Of the folder that holds path, or -1. Folders are opened to be examined only. */
static int open_parent(const char *path)
{
	const char *slash = strrchr(path, '/');
	char folder[PATH_MAX] = ".";

	if (slash != NULL) /* keep the slash: "/" is a folder, "" is not */
		snprintf(folder, sizeof folder, "%.*s", (int)(slash - path) + 1, path);
	return bpk_full_open(folder, O_PATH | O_DIRECTORY);
}

/* Open the folder above fd, close fd, and replace *found by its stat; -1 at the root. */
static int go_up(int fd, struct stat *found)
{
	int above = bpk_full_openat(fd, "..", O_PATH | O_DIRECTORY, 0);
	struct stat here = *found;

	close(fd);
	if (above < 0)
		return -1;
	if (fstat(above, found) == 0 && !bpk_same_file(found, &here))
		return above;
	close(above);
	return -1;
}

bool bpk_path_lies_in(const char *path, bool follow,
		      bool (*is_it)(void *arg, const struct stat *folder), void *arg)
{
	char real[PATH_MAX];
	struct stat found;
	int fd;

	snprintf(real, sizeof real, "%s", path);
	if (follow && bpk_link_follow_all(path, real, NULL) != 0)
		return false;
	for (size_t size = strlen(real); size > 1 && real[size - 1] == '/'; size--)
		real[size - 1] = '\0';
	fd = open_parent(real);
	if (fd >= 0 && fstat(fd, &found) != 0) {
		close(fd);
		return false;
	}
	for (; fd >= 0; fd = go_up(fd, &found)) {
		if (!is_it(arg, &found))
			continue;
		close(fd);
		return true;
	}
	return false;
}

static int sync_parent(const char *path, struct bpk_err *err)
{
	int fd = open_parent(path), rc = -1;

	/* fsync refuses a descriptor that only examines */
	if (fd >= 0)
		rc = bpk_full_openat(fd, ".", O_RDONLY | O_DIRECTORY, 0);
	if (fd >= 0)
		close(fd);
	if (rc < 0)
		return bpk_fail_errno(err, errno, "open its folder");
	fd = rc;
	rc = bpk_folder_sync(fd) != 0 ? bpk_fail_errno(err, errno, "sync its folder") : 0;
	close(fd);
	return rc;
}

int bpk_path_number(const char *path, const char *suffix, bool sync, char **to, struct bpk_err *err)
{
	int stem = (int)(strlen(path) - strlen(suffix)), rc = -1;
	struct bpk_buf name = { 0 };

	for (uint64_t n = 1; rc != 0; n++) {
		name.size = 0;
		rc = bpk_buf_printf(&name, err, "%.*s.%" PRIu64 "%s%c", stem, path, n, suffix, 0);
		if (rc != 0)
			break;
		rc = renameat2(AT_FDCWD, path, AT_FDCWD, (char *)name.data, RENAME_NOREPLACE);
		if (rc != 0 && errno != EEXIST) {
			bpk_fail_errno(err, errno, "cannot be renamed to %s", (char *)name.data);
			break;
		}
	}
	if (rc == 0 && sync)
		rc = sync_parent(path, err);
	*to = rc == 0 ? (char *)name.data : NULL;
	if (rc != 0)
		bpk_buf_clear(&name);
	return rc == 0 ? 0 : bpk_err_subject(err, "%s", path);
}
