/* The folders on the way to a result, made where they are missing: a tree that is written beside
 * another one. Called by cli through io.h. */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/acl.h"
#include "io/beneath.h"
#include "io/cleanup.h"
#include "io/full.h"
#include "io/io.h"

/* The permissions of the folder whose path is the first size bytes of source. False: it has
 * none. */
static bool look_at(const char *source, size_t size, struct stat *like)
{
	char *path = strndup(source, size);
	int fd = path == NULL ? -1 : bpk_full_open(path, O_RDONLY | O_DIRECTORY);
	bool is_seen = fd >= 0 && fstat(fd, like) == 0;

	if (is_seen)
		like->st_mode = bpk_acl_mode(fd, like->st_mode);
	if (fd >= 0)
		close(fd);
	free(path);
	return is_seen;
}

/* The folder was made private. like: its permissions at most; NULL: those of any new folder. */
static void set_mode(int parent, int fd, const struct stat *like)
{
	struct stat found;
	mode_t mode = 0777;

	if (fstat(fd, &found) != 0)
		return;
	if (like != NULL)
		mode = bpk_acl_like(fd, found.st_gid, like, true) | 0700;
	mode &= ~bpk_cleanup_umask();
	mode |= found.st_mode & S_ISGID;
	bpk_acl_set_mode(fd, parent, mode, like == NULL);
}

/* Open the folder part, or make it. -1 with errno. */
static int go_down(int parent, const char *part, const char *source, size_t size, bool sync)
{
	int fd = bpk_beneath_folder(parent, part);
	bool is_url = bpk_path_is_url(source);
	struct stat like;

	if (fd >= 0 || errno != ENOENT)
		return fd;
	if (!is_url && !look_at(source, size, &like))
		like = (struct stat){ .st_mode = S_IFDIR | 0700 };
	if (mkdirat(parent, part, 0700) != 0)
		return errno == EEXIST ? bpk_beneath_folder(parent, part) : -1;
	fd = bpk_beneath_folder(parent, part);
	if (fd < 0)
		return -1;
	set_mode(parent, fd, is_url ? NULL : &like);
	if (!sync || bpk_folder_sync(parent) == 0)
		return fd;
	close(fd);
	return -1;
}

/* Make the folder root in its own, which is there. -1 with errno. */
static int make_root(const char *root, const char *source, size_t below, bool sync)
{
	char *folder = strdup(root), *part = strdup(root);
	int parent = -1, fd = -1, saved;

	if (folder != NULL && part != NULL)
		parent = bpk_folder_open(dirname(folder));
	if (parent >= 0)
		fd = go_down(parent, basename(part), source, below, sync);
	saved = errno;
	if (parent >= 0)
		close(parent);
	free(folder);
	free(part);
	errno = saved;
	return fd;
}

int bpk_folders_make(const char *root, const char *name, const char *source, size_t below,
		     bool sync, struct bpk_err *err)
{
	int folder = bpk_folder_open(root), next;
	char part[NAME_MAX + 1];

	if (folder < 0 && errno == ENOENT)
		folder = make_root(root, source, below, sync);
	if (folder < 0)
		return bpk_fail_errno(err, errno, "folder %s cannot be opened", root);
	for (size_t at = 0, size; name[at + (size = strcspn(name + at, "/"))] == '/';
	     at += size + 1) {
		if (size == 0)
			continue;
		snprintf(part, sizeof part, "%.*s", (int)size, name + at);
		next = go_down(folder, part, source, below + at + size, sync);
		if (next < 0) {
			bpk_fail_errno(err, errno, "folder %.*s cannot be made", (int)(at + size),
				       name);
			close(folder);
			return -1;
		}
		close(folder);
		folder = next;
	}
	close(folder);
	return 0;
}
