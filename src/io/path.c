/* The folders above a path. Commands call it that must not write into what they read. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "io/full.h"
#include "io/link.h"

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
