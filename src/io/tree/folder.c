/*
 * Directories in the file system, the first kind. bpk_dir_open and bpk_dir_of_folder make them.
 *
 * While a list of changes exists (changes.h), names are read through it. No lock is needed for
 * that: the list appears in one step, so a reader that looks for it before each name sees all of a
 * change from then on, and a draft opened while the list exists is the one that it names.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "io/acl.h"
#include "io/beneath.h"
#include "io/tree/dir.h"
#include "io/tree/generation.h"
#include "io/lock.h"
#include "io/tree/dir_entries.h"
#include "io/tree/changes.h"
#include "io/file/source.h"

/* tries to open one name while writers keep replacing the list */
enum { TRIES_MAX = 1000 };

struct folder {
	/* fixed after open */
	int root;
	char *path;   /* as it was opened; NULL: by descriptor */
	bool pending; /* at open there was a list, and no writer */

	pthread_mutex_t lock;
	struct bpk_changes list; /* guarded by lock: the list read last */
};

static bool is_missing(int errnum)
{
	return errnum == ENOENT || errnum == ENOTDIR;
}

static enum bpk_entry entry_of(mode_t mode)
{
	if (S_ISREG(mode))
		return BPK_ENTRY_FILE;
	return S_ISDIR(mode) ? BPK_ENTRY_DIRECTORY : BPK_ENTRY_OTHER;
}

/* ---- Through the list of changes ---- */

/* Where the content of a name lies. */
struct location {
	bool removed;
	bool is_draft;
	char draft[PATH_MAX]; /* set when is_draft */
	struct stat list;     /* set when is_draft: of the list that names the draft */
};

static int find_location(struct folder *folder, const char *name, struct location *location,
			 struct bpk_err *err)
{
	const struct bpk_change *change;
	int rc;

	location->removed = location->is_draft = false;
	pthread_mutex_lock(&folder->lock);
	rc = bpk_changes_refresh(folder->root, &folder->list, err);
	change = rc == 0 ? bpk_changes_find(&folder->list, name) : NULL;
	if (change != NULL && change->draft == NULL) {
		location->removed = true;
	} else if (change != NULL) {
		location->is_draft = true;
		location->list = folder->list.seen;
		snprintf(location->draft, sizeof location->draft, "%s", change->draft);
	}
	pthread_mutex_unlock(&folder->lock);
	return rc;
}

/* True if the list that named the draft is still in place; otherwise the caller must start
 * again. */
static bool location_stands(const struct folder *folder, const struct location *location)
{
	return !location->is_draft || bpk_changes_stands(folder->root, &location->list);
}

static int fail_restless(struct bpk_err *err)
{
	return bpk_fail(err, BPK_FAILED, "is being changed all the time");
}

/* ---- What is missing ---- */

static int folder_is_replaced(const void *dir, bool *replaced, struct bpk_err *err)
{
	const struct folder *folder = dir;
	struct stat now, own;
	bool there;

	*replaced = false;
	if (folder->path == NULL)
		return 0;
	if (bpk_path_look(folder->path, &now, &there, err) != 0)
		return -1;
	if (fstat(folder->root, &own) != 0)
		return bpk_fail_errno(err, errno, "fstat");
	*replaced = !there || !bpk_same_file(&now, &own);
	return 0;
}

/* A name is missing. That says nothing about a directory that was replaced: its files are being
 * removed, one by one. */
static int check_here(const struct folder *folder, struct bpk_err *err)
{
	bool replaced;

	if (folder_is_replaced(folder, &replaced, err) != 0)
		return -1;
	return replaced ? bpk_fail_changed(err) : 0;
}

static int fail_missing(const struct folder *folder, const char *line, struct bpk_err *err)
{
	return check_here(folder, err) == 0 ? bpk_fail(err, BPK_CORRUPT, "%s", line) : -1;
}

/* ---- Examining and opening ---- */

/* Returns 0, or -1 with errno. */
static int stat_by(const struct folder *folder, const char *name, struct location *location,
		   struct stat *found)
{
	if (location->is_draft) {
		if (bpk_beneath_stat(folder->root, location->draft, found) == 0)
			return 0;
		if (!is_missing(errno))
			return -1;
		location->is_draft = false; /* it was renamed to its final name */
	}
	return bpk_beneath_stat(folder->root, name, found);
}

static int tell(const struct stat *found, enum bpk_entry *entry, uint64_t *size)
{
	*entry = entry_of(found->st_mode);
	if (*entry == BPK_ENTRY_FILE)
		*size = (uint64_t)found->st_size;
	return 0;
}

static int folder_look(void *dir, const char *name, enum bpk_entry *entry, uint64_t *size,
		       struct bpk_err *err)
{
	struct folder *folder = dir;
	struct stat found;
	struct location location;

	for (int i = 0; i < TRIES_MAX; i++) {
		if (find_location(folder, name, &location, err) != 0)
			return -1;
		if (location.removed)
			return 0;
		if (stat_by(folder, name, &location, &found) == 0) {
			if (location_stands(folder, &location))
				return tell(&found, entry, size);
		} else if (errno == ELOOP) {
			*entry = BPK_ENTRY_OTHER; /* a link leads there */
			return 0;
		} else {
			return is_missing(errno) ? check_here(folder, err)
						 : bpk_fail_errno(err, errno, "cannot stat");
		}
	}
	return fail_restless(err);
}

/* Open a regular file. Other files are not opened, except one that takes its place at this moment.
 * Returns a descriptor, or -1 with errno: EINVAL if it is no regular file. */
static int open_file(int root, const char *name)
{
	struct stat found;
	int fd;

	if (bpk_beneath_stat(root, name, &found) != 0)
		return -1;
	fd = S_ISREG(found.st_mode) ? bpk_beneath_open(root, name, O_RDONLY) : -1;
	if (fd < 0 && S_ISREG(found.st_mode))
		return -1;
	if (fd >= 0 && fstat(fd, &found) != 0) {
		int errnum = errno;

		close(fd);
		errno = errnum;
		return -1;
	}
	if (fd >= 0 && S_ISREG(found.st_mode))
		return fd;
	if (fd >= 0)
		close(fd);
	errno = EINVAL;
	return -1;
}

static int open_by(const struct folder *folder, const char *name, struct location *location)
{
	if (location->is_draft) {
		int fd = open_file(folder->root, location->draft);

		if (fd >= 0 || !is_missing(errno))
			return fd;
		location->is_draft = false; /* it was renamed to its final name */
	}
	return open_file(folder->root, name);
}

static int fail_open(const struct folder *folder, int errnum, struct bpk_err *err)
{
	if (is_missing(errnum))
		return fail_missing(folder, "is missing", err);
	if (errnum == ELOOP)
		return bpk_fail(err, BPK_CORRUPT, "is or lies behind a symbolic link");
	if (errnum == EINVAL)
		return bpk_fail(err, BPK_CORRUPT, "is not a regular file");
	return bpk_fail_errno(err, errnum, "cannot open");
}

static int folder_source(void *dir, const char *name, struct bpk_source **source,
			 struct bpk_err *err)
{
	struct folder *folder = dir;
	struct location location;
	int fd;

	for (int i = 0; i < TRIES_MAX; i++) {
		if (find_location(folder, name, &location, err) != 0)
			return -1;
		if (location.removed)
			return fail_open(folder, ENOENT, err);
		fd = open_by(folder, name, &location);
		if (fd < 0)
			return fail_open(folder, errno, err);
		if (location_stands(folder, &location)) {
			if (bpk_source_of_descriptor(fd, source, err) != 0)
				return -1;
			(*source)->is_draft = location.is_draft;
			return 0;
		}
		close(fd);
	}
	return fail_restless(err);
}

/* O_NONBLOCK opens no FIFO that waits, and a file of another kind is never read. */
static int folder_source_as_named(void *dir, const char *name, struct bpk_source **source)
{
	const struct folder *folder = dir;
	int fd = bpk_beneath_open(folder->root, name, O_RDONLY);

	*source = NULL;
	if (fd < 0)
		return -1;
	return bpk_source_of_regular(fd, source, NULL);
}

static int folder_is_quick(void *dir, bool *quick, struct bpk_err *err)
{
	struct folder *folder = dir;
	int rc;

	pthread_mutex_lock(&folder->lock);
	rc = bpk_changes_refresh(folder->root, &folder->list, err);
	*quick = rc == 0 && folder->list.count == 0 && bpk_is_timely(folder->root);
	pthread_mutex_unlock(&folder->lock);
	return rc;
}

static int folder_stat(void *dir, const char *name, struct stat *found, struct bpk_err *err)
{
	const struct folder *folder = dir;
	int fd = bpk_beneath_folder(folder->root, name);
	int rc = fd < 0 ? -1 : fstat(fd, found), errnum = errno;

	if (rc == 0)
		found->st_mode = bpk_acl_mode(fd, found->st_mode);
	else if (!is_missing(errnum) || check_here(folder, err) == 0)
		bpk_fail_errno(err, errnum, "cannot stat");
	if (fd >= 0)
		close(fd);
	return rc;
}

static int folder_is_current(void *dir, const char *name, const struct bpk_source *source,
			     bool *current, struct bpk_err *err)
{
	struct folder *folder = dir;
	struct stat found;
	struct location location;

	*current = false;
	if (find_location(folder, name, &location, err) != 0)
		return -1;
	if (location.removed)
		return 0;
	if (stat_by(folder, name, &location, &found) == 0)
		*current =
			location_stands(folder, &location) && bpk_same_file(&found, &source->stat);
	else if (!is_missing(errno) && errno != ELOOP)
		return bpk_fail_errno(err, errno, "cannot stat");
	return 0;
}

static bool folder_has_writer(const void *dir)
{
	return bpk_changes_has_writer(((const struct folder *)dir)->root);
}

/* ---- Listing ---- */

/* The last part of name if it lies directly in folder; otherwise NULL. */
static const char *part_in(const char *folder, const char *name)
{
	size_t size = strlen(folder);

	if (size > 0) {
		if (strncmp(name, folder, size) != 0 || name[size] != '/')
			return NULL;
		name += size + 1;
	}
	return strchr(name, '/') == NULL ? name : NULL;
}

/* Of equal names the last entry counts, so the list overrides the folder. */
static int add_changes(const struct bpk_changes *list, const char *name,
		       struct bpk_dir_entries *entries, struct bpk_err *err)
{
	for (size_t i = 0; i < list->count; i++) {
		const struct bpk_change *change = &list->changes[i];
		const char *part = part_in(name, change->name);
		enum bpk_entry entry = change->draft == NULL ? BPK_ENTRY_NONE : BPK_ENTRY_FILE;

		if (part != NULL && bpk_dir_entries_add(entries, part, entry, err) != 0)
			return -1;
	}
	return 0;
}

static int folder_list(void *dir, const char *name, struct bpk_dir_entries *entries,
		       struct bpk_err *err)
{
	struct folder *folder = dir;
	int fd = bpk_beneath_open(folder->root, name, O_RDONLY | O_DIRECTORY), rc;

	if (fd < 0 && bpk_is_missing(errno))
		return fail_missing(folder, "is not a directory", err);
	if (fd < 0)
		return bpk_fail_errno(err, errno, "cannot be listed");
	/* read the list first: the names in it are found in their old or new state, which are the
	 * same in a listing */
	pthread_mutex_lock(&folder->lock);
	rc = bpk_changes_refresh(folder->root, &folder->list, err);
	if (rc != 0)
		close(fd);
	if (rc == 0)
		rc = bpk_dir_entries_read(entries, fd, err);
	if (rc == 0)
		rc = add_changes(&folder->list, name, entries, err);
	pthread_mutex_unlock(&folder->lock);
	return rc;
}

/* ---- The directory ---- */

static bool folder_pending(const void *dir)
{
	const struct folder *folder = dir;

	return folder->pending;
}

static const char *folder_remark(const void *dir)
{
	const struct bpk_err *refused = &((const struct folder *)dir)->list.refused;

	return refused->kind != BPK_OK ? refused->text : NULL;
}

static bool folder_is_torn(const void *dir)
{
	return ((const struct folder *)dir)->list.refused.kind == BPK_CORRUPT;
}

static int folder_generation(void *dir, uint64_t *generation, struct bpk_err *err)
{
	const struct folder *folder = dir;

	return bpk_generation_read(folder->root, generation, err);
}

static void folder_close(void *dir)
{
	struct folder *folder = dir;

	close(folder->root);
	free(folder->path);
	bpk_changes_clear(&folder->list);
	pthread_mutex_destroy(&folder->lock);
	free(folder);
}

static const struct bpk_dir_ops folder_ops = {
	.look = folder_look,
	.source = folder_source,
	.source_as_named = folder_source_as_named,
	.is_quick = folder_is_quick,
	.stat = folder_stat,
	.is_current = folder_is_current,
	.has_writer = folder_has_writer,
	.list = folder_list,
	.pending = folder_pending,
	.remark = folder_remark,
	.is_torn = folder_is_torn,
	.generation = folder_generation,
	.is_replaced = folder_is_replaced,
	.close = folder_close,
};

/* True if the list was left behind. A writer that is done removes it before it gives the lock
 * back. */
static bool is_left_over(int root)
{
	return !bpk_changes_has_writer(root) &&
	       faccessat(root, BPK_DIR_LIST, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* Takes root; path may be NULL. */
static int open_folder(int root, const char *path, bool (*owns)(const char *name),
		       struct bpk_dir **dir, struct bpk_err *err)
{
	struct folder *folder = bpk_calloc(1, sizeof *folder, err);

	*dir = NULL;
	if (folder == NULL) {
		close(root);
		return -1;
	}
	folder->root = root;
	folder->list.owns = owns;
	folder->list.is_reader = true;
	pthread_mutex_init(&folder->lock, NULL);
	if (path != NULL)
		folder->path = bpk_strdup(path, err);
	if ((path != NULL && folder->path == NULL) ||
	    bpk_changes_refresh(root, &folder->list, err) != 0) {
		folder_close(folder);
		return -1;
	}
	folder->pending = folder->list.count > 0 && is_left_over(root);
	return bpk_dir_of(&folder_ops, folder, dir, err);
}

int bpk_dir_of_folder(int root, bool (*owns)(const char *name), struct bpk_dir **dir,
		      struct bpk_err *err)
{
	return open_folder(root, NULL, owns, dir, err);
}

int bpk_dir_open(const char *path, bool (*owns)(const char *name), struct bpk_dir **dir,
		 struct bpk_err *err)
{
	int root = bpk_folder_open(path);

	*dir = NULL;
	if (root < 0)
		return bpk_fail_errno(err, errno, "cannot open");
	return open_folder(root, path, owns, dir, err);
}
