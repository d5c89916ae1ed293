/* Removing a journal or a list of changes at the user's word. bpk repair calls it. */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "io/beneath.h"
#include "io/edit/resolved.h"
#include "io/tree/dir.h"
#include "io/link.h"
#include "io/lock.h"
#include "io/tree/changes.h"

/* lock is a descriptor of the archive, or -1. */
static int drop(int folder, const char *name, int lock, const struct bpk_edit_options *options,
		bool *dropped, struct bpk_err *err)
{
	int patience = options->wait ? BPK_LOCK_WITHOUT_LIMIT : BPK_LOCK_MOMENT;

	if (lock >= 0 &&
	    bpk_lock_need(lock, BPK_LOCK_WRITER, patience, options->no_lock, NULL, err) != 0)
		return -1;
	*dropped = unlinkat(folder, name, 0) == 0;
	if (!*dropped && errno != ENOENT)
		return bpk_fail_errno(err, errno, "cannot remove %s", name);
	if (*dropped && options->sync && bpk_folder_sync(folder) != 0)
		return bpk_fail_errno(err, errno, "sync its folder");
	return 0;
}

static int drop_list(const char *path, const struct bpk_edit_options *options, bool *dropped,
		     struct bpk_err *err)
{
	int root = bpk_link_open_folder(path, err), lock = -1, rc;

	if (root < 0)
		return -1;
	lock = bpk_changes_open_lock(root, O_RDWR, NULL);
	if (lock < 0 && errno != ENOENT) /* without .lock nobody has ever changed it */
		rc = bpk_fail_errno(err, errno, BPK_DIR_LOCK ": cannot be opened");
	else
		rc = drop(root, BPK_DIR_LIST, lock, options, dropped, err);
	if (lock >= 0)
		close(lock);
	close(root);
	return rc;
}

int bpk_journal_drop(const char *path, const struct bpk_edit_options *options, bool *dropped,
		     struct bpk_err *err)
{
	struct bpk_resolved resolved;
	struct stat found;
	int fd, rc;

	*dropped = false;
	if (stat(path, &found) != 0)
		return bpk_fail_errno(err, errno, "cannot open");
	if (S_ISDIR(found.st_mode))
		return drop_list(path, options, dropped, err);
	if (!S_ISREG(found.st_mode))
		return bpk_fail(err, BPK_FAILED, "is not a regular file");
	if (bpk_resolved_find_to_change(path, &resolved, err) != 0)
		return -1;
	fd = bpk_resolved_open(&resolved, O_RDWR);
	if (fd < 0)
		rc = bpk_fail_errno(err, errno, "cannot open for changing");
	else
		rc = drop(resolved.folder, resolved.journal, fd, options, dropped, err);
	if (fd >= 0)
		close(fd);
	bpk_resolved_clear(&resolved);
	return rc;
}
