/* Directories being written, new or changed: folders and files made in them. tree/new.c, change.c
 * and commit.c call it, and writers of datasets through io/dir.h. */
#include "io/tree/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "io/acl.h"
#include "io/beneath.h"
#include "io/tree/dir.h"
#include "io/file/draft.h"
#include "io/file/hidden.h"
#include "io/full.h"

/* ---- Lists of names ---- */

int bpk_names_add(struct bpk_names *names, char *name, struct bpk_err *err)
{
	char **all;

	if (name == NULL)
		return bpk_fail_memory(err, NAME_MAX);
	all = bpk_alloc_grow(names->all, names->count, &names->room, sizeof *all, err);
	if (all == NULL) {
		free(name);
		return -1;
	}
	names->all = all;
	all[names->count++] = name;
	return 0;
}

void bpk_names_clear(struct bpk_names *names)
{
	for (size_t i = 0; i < names->count; i++)
		free(names->all[i]);
	free(names->all);
	*names = (struct bpk_names){ 0 };
}

/* ---- Folders ---- */

int bpk_tree_check_name(const char *name, struct bpk_err *err)
{
	if (bpk_dir_check_name(name, err) != 0)
		return -1;
	if (bpk_hidden_is_name(name))
		return bpk_fail(err, BPK_CORRUPT, "the name \"%s\" is one that bpk needs", name);
	return 0;
}

/* A file system without modes leaves a folder as private as it is. */
static void set_mode(int fd, const struct stat *like)
{
	struct stat found;
	mode_t mode = 0777;

	if (fstat(fd, &found) != 0)
		return;
	if (like != NULL)
		mode = bpk_acl_like(fd, found.st_gid, like, true);
	mode &= ~bpk_cleanup_umask();
	mode |= found.st_mode & S_ISGID;
	bpk_acl_set_mode(fd, fd, mode, like == NULL);
	bpk_acl_drop_default(fd);
}

const struct stat *bpk_tree_like(const struct bpk_tree *tree, struct stat *like)
{
	*like = tree->dir != NULL ? bpk_dir_like(tree->dir) : tree->like;
	return tree->dir != NULL || tree->has_like ? like : NULL;
}

int bpk_tree_finish_folder(const struct bpk_tree *tree, const char *name, const struct stat *like,
			   struct bpk_err *err)
{
	int fd = bpk_beneath_folder(tree->root, name), errnum;

	if (fd < 0)
		return bpk_fail_errno(err, errno, "%s: cannot be opened to be synced", name);
	set_mode(fd, like);
	if (!tree->sync || bpk_folder_sync(fd) == 0) {
		close(fd);
		return 0;
	}
	errnum = errno;
	close(fd);
	return bpk_fail_errno(err, errnum, "%s: sync", name);
}

/* Create the folder name, which does not exist, in one that does; the cleanup lock is held. */
static int make_folder(struct bpk_tree *tree, const char *name, struct bpk_err *err)
{
	const char *base;
	int parent, rc;

	parent = bpk_beneath_parent(tree->root, name, &base);
	if (parent < 0)
		return bpk_fail_errno(err, errno, "%s: cannot open its folder", name);
	rc = mkdirat(parent, base, 0700);
	if (rc != 0 && errno != EEXIST)
		bpk_fail_errno(err, errno, "%s: cannot be created", name);
	else if (rc != 0)
		rc = bpk_fail(err, BPK_CORRUPT, "%s: is not a directory", name);
	else
		rc = bpk_names_add(&tree->folders, strdup(name), err);
	close(parent);
	return rc;
}

static int have_folder(struct bpk_tree *tree, const char *name, struct bpk_err *err)
{
	struct stat found, like;
	int rc = bpk_beneath_stat(tree->root, name, &found);

	if (rc != 0 && !bpk_is_missing(errno))
		return bpk_fail_errno(err, errno, "%s: cannot stat", name);
	if (rc == 0 && S_ISDIR(found.st_mode))
		return 0;
	if (bpk_tree_check_name(name, err) != 0 || bpk_cleanup_lock(err) != 0)
		return -1;
	rc = make_folder(tree, name, err);
	bpk_cleanup_unlock();
	if (rc == 0 && !tree->is_new)
		rc = bpk_tree_finish_folder(tree, name, bpk_tree_like(tree, &like), err);
	return rc;
}

int bpk_tree_folder(struct bpk_tree *tree, const char *name, struct bpk_err *err)
{
	char part[PATH_MAX];

	if (bpk_dir_check_name(name, err) != 0)
		return -1;
	if (tree->ops != NULL) /* names alone make folders */
		return 0;
	for (size_t end = 0;; end++) {
		end += strcspn(name + end, "/");
		memcpy(part, name, end);
		part[end] = '\0';
		if (have_folder(tree, part, err) != 0)
			return -1;
		if (name[end] == '\0')
			return 0;
	}
}

int bpk_tree_folder_of(struct bpk_tree *tree, const char *name, struct bpk_err *err)
{
	const char *slash = strrchr(name, '/');
	char *folder;
	int rc;

	if (slash == NULL)
		return 0;
	folder = strndup(name, (size_t)(slash - name));
	if (folder == NULL)
		return bpk_fail_memory(err, (uint64_t)(slash - name));
	rc = bpk_tree_folder(tree, folder, err);
	free(folder);
	return rc;
}

bool bpk_tree_keeps_folders(const struct bpk_tree *tree)
{
	return tree->ops == NULL;
}

/* ---- Files ---- */

int bpk_tree_draft(struct bpk_tree *tree, const char *name, struct bpk_draft **draft,
		   struct bpk_err *err)
{
	const char *base;
	int parent, rc;

	*draft = NULL;
	if (bpk_tree_check_name(name, err) != 0)
		return -1;
	if (tree->ops != NULL)
		return tree->ops->draft(tree->owner, name, draft, err);
	parent = bpk_beneath_parent(tree->root, name, &base);
	if (parent < 0)
		return bpk_fail_errno(err, errno, "%s: cannot open its folder", name);
	rc = bpk_draft_open_part(parent, name, tree->is_new, tree->sync, draft, err);
	close(parent);
	if (rc != 0)
		return bpk_err_subject(err, "%s", name);
	bpk_draft_share_withholding(*draft, &tree->withholding);
	return 0;
}
