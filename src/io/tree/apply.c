/* Comparing a list of changes with the files, and carrying it out. Every step may have been done
 * already. tree/changes.c, change.c and commit.c call it. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "io/acl.h"
#include "io/beneath.h"
#include "io/cleanup.h"
#include "io/tree/dir.h"
#include "io/full.h"
#include "io/lock.h"
#include "io/tree/changes.h"

static const char *base_of(const char *name)
{
	const char *slash = strrchr(name, '/');

	return slash == NULL ? name : slash + 1;
}

/* ---- Which state a file is in ---- */

/* Nanoseconds since 1970, modulo 2^64. */
static uint64_t number_of(struct timespec time)
{
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

struct bpk_new_file bpk_changes_new(const struct stat *found)
{
	return (struct bpk_new_file){ (uint64_t)found->st_ino, (uint64_t)found->st_size,
				      number_of(found->st_mtim) };
}

struct bpk_old_file bpk_changes_old(const struct stat *found)
{
	return (struct bpk_old_file){ (uint64_t)found->st_ino, number_of(found->st_ctim) };
}

/* A name at this moment. */
struct glance {
	bool is_there, is_file;
	struct bpk_new_file is;
	struct bpk_old_file was;
};

static int look(int folder, const char *name, struct glance *glance, struct bpk_err *err)
{
	struct stat found;

	*glance = (struct glance){ 0 };
	if (name == NULL)
		return 0;
	if (fstatat(folder, base_of(name), &found, AT_SYMLINK_NOFOLLOW) != 0)
		return bpk_is_missing(errno) ? 0
					     : bpk_fail_errno(err, errno, "%s: cannot stat", name);
	glance->is_there = true;
	glance->is_file = S_ISREG(found.st_mode);
	glance->is = bpk_changes_new(&found);
	glance->was = bpk_changes_old(&found);
	return 0;
}

static bool is_new(const struct glance *now, const struct bpk_change *change, bool any)
{
	if (!now->is_file || now->is.size != change->is.size)
		return false;
	return any || (now->is.inode == change->is.inode && now->is.mtime == change->is.mtime);
}

static bool is_old(const struct glance *now, const struct bpk_change *change, bool any)
{
	if (!now->is_there)
		return any || change->was.inode == 0;
	if (!now->is_file)
		return false;
	return any || (now->was.inode == change->was.inode && now->was.ctime == change->was.ctime);
}

enum step { STEP_DUE, STEP_DONE, STEP_STRANGE };

/* What a change has come to. */
struct standing {
	enum step step;
	bool is_begun; /* it was carried out, whatever was written there since */
};

/* The draft was looked at first: a living writer may rename it in between. */
static enum step judge(const struct glance *draft, const struct glance *now,
		       const struct bpk_change *change, bool any)
{
	if (change->draft == NULL && !now->is_there)
		return STEP_DONE;
	if (change->draft != NULL && draft->is_there && !is_new(draft, change, any))
		return STEP_STRANGE;
	if ((change->draft == NULL || draft->is_there) && is_old(now, change, any))
		return STEP_DUE;
	return change->draft != NULL && is_new(now, change, any) ? STEP_DONE : STEP_STRANGE;
}

static bool is_begun(const struct glance *draft, const struct glance *now,
		     const struct bpk_change *change)
{
	if (change->draft == NULL)
		return !now->is_there && change->was.inode != 0;
	return !draft->is_there && !is_old(now, change, false);
}

static int stand(int folder, const struct bpk_change *change, bool any, struct standing *standing,
		 struct bpk_err *err)
{
	struct glance draft, now;

	if (look(folder, change->draft, &draft, err) != 0 ||
	    look(folder, change->name, &now, err) != 0)
		return -1;
	standing->step = judge(&draft, &now, change, any);
	standing->is_begun = is_begun(&draft, &now, change);
	return 0;
}

static int open_folder(int root, const char *name, struct bpk_err *err)
{
	const char *base;
	int folder = bpk_beneath_parent(root, name, &base);

	return folder < 0 ? bpk_fail_errno(err, errno, "%s: cannot open its folder", name) : folder;
}

/* The same for a change whose folder may be missing. */
static int stand_below(int root, const struct bpk_change *change, bool any,
		       struct standing *standing, struct bpk_err *err)
{
	const char *base;
	int folder = bpk_beneath_parent(root, change->name, &base), rc;

	*standing = (struct standing){ .step = STEP_STRANGE };
	if (folder < 0)
		return bpk_is_missing(errno)
			       ? 0
			       : bpk_fail_errno(err, errno, "%s: cannot open its folder",
						change->name);
	rc = stand(folder, change, any, standing, err);
	close(folder);
	return rc;
}

int bpk_changes_check(int root, const struct bpk_changes *list, const char **strange, bool *begun,
		      struct bpk_err *err)
{
	*strange = NULL;
	*begun = false;
	for (size_t i = 0; i < list->count; i++) {
		const struct bpk_change *change = &list->changes[i];
		struct standing standing;

		if (stand_below(root, change, list->any_root, &standing, err) != 0)
			return -1;
		if (standing.step == STEP_STRANGE && *strange == NULL)
			*strange = change->name;
		*begun = *begun || standing.is_begun;
	}
	return 0;
}

/* ---- Carrying out ---- */

static int apply_in(int folder, const struct bpk_change *change, bool any, struct bpk_err *err)
{
	const char *base = base_of(change->name);
	struct standing standing;

	if (stand(folder, change, any, &standing, err) != 0)
		return -1;
	if (standing.step == STEP_DONE)
		return 0;
	if (standing.step == STEP_STRANGE)
		return bpk_fail(err, BPK_CORRUPT, "%s: was changed since the list was made",
				change->name);
	if (change->draft == NULL && unlinkat(folder, base, 0) != 0 && errno != ENOENT)
		return bpk_fail_errno(err, errno, "%s: cannot be removed", change->name);
	if (change->draft != NULL && renameat(folder, base_of(change->draft), folder, base) != 0)
		return bpk_fail_errno(err, errno, "%s: cannot be replaced", change->name);
	return 0;
}

int bpk_changes_apply_one(int root, const struct bpk_change *change, bool any, struct bpk_err *err)
{
	int folder = open_folder(root, change->name, err), rc;

	if (folder < 0)
		return -1;
	rc = apply_in(folder, change, any, err);
	close(folder);
	return rc;
}

int bpk_changes_sync_one(int root, const char *name, struct bpk_err *err)
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

int bpk_changes_sync(int root, const struct bpk_changes *list, struct bpk_err *err)
{
	/* sorted by name, a folder's names are adjacent, or separated by those of a folder inside
	 * it */
	for (size_t i = 0; i < list->count; i++) {
		const char *name = list->by_name[i]->name;

		if (i + 1 < list->count && same_folder(name, list->by_name[i + 1]->name))
			continue;
		if (bpk_changes_sync_one(root, name, err) != 0)
			return -1;
	}
	return 0;
}

int bpk_changes_apply(int root, const struct bpk_changes *list, bool sync, struct bpk_err *err)
{
	for (size_t i = 0; i < list->count; i++)
		if (bpk_changes_apply_one(root, &list->changes[i], list->any_root, err) != 0)
			return -1;
	if (sync && bpk_changes_sync(root, list, err) != 0)
		return -1;
	if (unlinkat(root, BPK_DIR_LIST, 0) != 0 && errno != ENOENT)
		return bpk_fail_errno(err, errno, BPK_DIR_LIST ": cannot be removed");
	if (sync && bpk_folder_sync(root) != 0)
		return bpk_fail_errno(err, errno, BPK_DIR_LIST ": sync its folder");
	return 0;
}

void bpk_changes_give(int root, int fd)
{
	struct stat owner;

	if (geteuid() == 0 && fstat(root, &owner) == 0 && owner.st_uid != 0)
		bpk_acl_give(fd, owner.st_uid);
}

/* Who may open the lock can keep writers waiting: those who may read or write the files, no more.
 * Its owner can always write to it, since a file of mode 444 is replaced, too. */
static void narrow_lock(int root, int fd, const struct stat *like)
{
	struct stat found;
	mode_t mode;

	bpk_changes_give(root, fd);
	if (like == NULL || fstat(fd, &found) != 0)
		return;
	mode = bpk_acl_like(fd, found.st_gid, like, false) & 0666 & ~bpk_cleanup_umask();
	bpk_acl_set_mode(fd, root, mode | 0600, false);
}

/* Create the lock; another process may do so first. */
static int create_lock(int root, int flags, const struct stat *like)
{
	int fd = bpk_full_openat(root, BPK_DIR_LOCK, flags | O_EXCL, 0600);

	if (fd < 0 && errno == EEXIST)
		return bpk_full_openat(root, BPK_DIR_LOCK, flags & ~O_CREAT, 0);
	if (fd >= 0)
		narrow_lock(root, fd, like);
	return fd;
}

int bpk_changes_open_lock(int root, int flags, const struct stat *like)
{
	struct stat found;

	flags |= O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
	if (fstatat(root, BPK_DIR_LOCK, &found, AT_SYMLINK_NOFOLLOW) == 0) {
		if (!S_ISREG(found.st_mode)) {
			errno = EINVAL;
			return -1;
		}
	} else if (errno != ENOENT) {
		return -1;
	}
	return (flags & O_CREAT) != 0 ? create_lock(root, flags, like)
				      : bpk_full_openat(root, BPK_DIR_LOCK, flags, 0);
}

bool bpk_changes_has_writer(int root)
{
	int lock = bpk_changes_open_lock(root, O_RDONLY, NULL);
	bool alive = lock >= 0 && bpk_lock_has_writer(lock);

	if (lock >= 0)
		close(lock);
	return alive;
}
