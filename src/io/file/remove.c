/* Removing an input file after its result was kept, for --rm. Called by cli/transfer.c. */
#include "io/io.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "io/beneath.h"
#include "io/full.h"
#include "io/file/retire.h"

/* Remove the file under its lock fd (-1: it could not be locked). A link or another file in its
 * place has another inode, and a writer leaves other times. */
static int remove_locked(const struct bpk_resolved *resolved, int fd, const struct stat *seen,
			 struct bpk_err *err)
{
	struct stat now;

	if (fstatat(resolved->folder, resolved->name, &now, AT_SYMLINK_NOFOLLOW) != 0)
		return bpk_fail_errno(err, errno, "cannot be removed");
	if (S_ISLNK(now.st_mode))
		return bpk_fail(err, BPK_FAILED, "is not removed: it is a symbolic link");
	if (!S_ISREG(now.st_mode) || !bpk_is_still(&now, seen))
		return bpk_fail(err, BPK_FAILED, "is not removed: it was changed meanwhile");
	if (bpk_retire_settle(resolved, fd, true, err) != 0)
		return -1;
	if (unlinkat(resolved->folder, resolved->name, 0) != 0)
		return bpk_fail_errno(err, errno, "cannot be removed");
	if (bpk_full_sync(resolved->folder) != 0 && errno != EINVAL && errno != ENOTSUP)
		return bpk_fail_errno(err, errno, "sync its folder");
	return 0;
}

static int remove_from(int folder, const char *name, const struct stat *seen, struct bpk_err *err)
{
	struct bpk_resolved resolved = bpk_resolved_in(folder, name);
	int fd, rc;

	if (bpk_retire_lock(&resolved, &fd, err) != 0)
		return bpk_err_subject(err, "is not removed");
	rc = remove_locked(&resolved, fd, seen, err);
	if (fd >= 0)
		close(fd);
	return rc;
}

int bpk_remove_source(const char *path, const struct stat *seen, struct bpk_err *err)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash == NULL ? path : slash + 1;
	char parent[PATH_MAX] = ".";
	int folder, rc;

	if (strlen(path) >= sizeof parent)
		return bpk_fail_errno(err, ENAMETOOLONG, "cannot be removed");
	if (slash != NULL)
		snprintf(parent, sizeof parent, "%.*s", (int)(name - path), path);
	folder = bpk_full_open(parent, O_RDONLY | O_DIRECTORY);
	if (folder < 0)
		return bpk_fail_errno(err, errno, "cannot open its folder");
	rc = remove_from(folder, name, seen, err);
	close(folder);
	return rc;
}
