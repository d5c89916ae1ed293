/* Opening an existing directory for changing. New files are staged beside their targets, as drafts,
 * until the commit (commit.c). Editors of datasets call it through io/dir.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "io/acl.h"
#include "io/beneath.h"
#include "io/tree/dir.h"
#include "io/file/draft.h"
#include "io/tree/erase.h"
#include "io/link.h"
#include "io/lock.h"
#include "io/remote.h"
#include "io/tree/changes.h"
#include "io/tree/tree.h"

/* ---- The stage ---- */

int bpk_stage_add(struct bpk_stage *stage, char *name, char *draft, struct bpk_err *err)
{
	struct bpk_staged *files =
		bpk_alloc_grow(stage->files, stage->count, &stage->room, sizeof *files, err);

	if (files != NULL)
		stage->files = files;
	if (name == NULL || files == NULL) {
		free(name);
		free(draft);
		return bpk_fail_memory(err, NAME_MAX);
	}
	files[stage->count++] = (struct bpk_staged){ .name = name, .draft = draft };
	return 0;
}

static void drop_at(struct bpk_stage *stage, size_t i)
{
	struct bpk_staged *file = &stage->files[i];

	free(file->name);
	free(file->draft);
	memmove(file, file + 1, (--stage->count - i) * sizeof *file);
}

void bpk_stage_clear(struct bpk_stage *stage)
{
	while (stage->count > 0)
		drop_at(stage, stage->count - 1);
	free(stage->files);
	*stage = (struct bpk_stage){ 0 };
}

static void unlink_at(int root, const char *name)
{
	const char *base;
	int folder = bpk_beneath_parent(root, name, &base);

	if (folder < 0)
		return;
	unlinkat(folder, base, 0);
	close(folder);
}

/* The name, relative to the root, of base in the folder of name. */
static char *sibling(const char *name, const char *base, struct bpk_err *err)
{
	const char *slash = strrchr(name, '/');
	struct bpk_buf text = { 0 };
	char *found = NULL;

	if (bpk_buf_printf(&text, err, "%.*s%s", slash == NULL ? 0 : (int)(slash - name) + 1, name,
			   base) == 0)
		found = bpk_strdup((const char *)text.data, err);
	bpk_buf_clear(&text);
	return found;
}

/* Make the stage drop the draft too from here on, so that at any moment somebody does. */
static int add_draft(struct bpk_tree *tree, const struct bpk_draft *draft, struct bpk_err *err)
{
	const char *name = bpk_draft_label(draft);
	char *lies = sibling(name, bpk_draft_own_name(draft), err);
	int rc = -1;

	if (lies == NULL || bpk_cleanup_lock(err) != 0) {
		free(lies);
		return -1;
	}
	rc = bpk_stage_add(&tree->stage, strdup(name), lies, err);
	bpk_cleanup_unlock();
	return rc;
}

/* The permissions of the replaced file, but not its time; those of the directory for a new name. */
static const struct stat *like_old(const struct bpk_tree *tree, const char *name,
				   struct stat *found)
{
	int fd;

	if (bpk_beneath_stat(tree->root, name, found) != 0 || !S_ISREG(found->st_mode))
		return bpk_tree_like(tree, found);
	fd = bpk_beneath_open(tree->root, name, O_RDONLY);
	found->st_mode = bpk_acl_mode(fd, found->st_mode);
	found->st_mtim.tv_nsec = UTIME_OMIT;
	if (fd >= 0)
		close(fd);
	return found;
}

static int finish(struct bpk_tree *tree, struct bpk_staged *file, struct bpk_draft *draft,
		  struct bpk_err *err)
{
	struct stat found;

	bpk_changes_give(tree->root, bpk_draft_descriptor(draft));
	if (bpk_draft_finish(draft, like_old(tree, file->name, &found), err) != 0)
		return -1;
	if (bpk_beneath_stat(tree->root, file->draft, &found) != 0)
		return bpk_fail_errno(err, errno, "%s: cannot stat", file->draft);
	file->is = bpk_changes_new(&found);
	return 0;
}

static void unstage_at(struct bpk_tree *tree, size_t i)
{
	bpk_cleanup_lock_always();
	unlink_at(tree->root, tree->stage.files[i].draft);
	drop_at(&tree->stage, i);
	bpk_cleanup_unlock();
}

void bpk_tree_unstage(struct bpk_tree *tree)
{
	unstage_at(tree, tree->stage.count - 1);
}

int bpk_tree_stage_change(struct bpk_tree *tree, struct bpk_draft *draft, struct bpk_err *err)
{
	if (add_draft(tree, draft, err) != 0) {
		bpk_draft_drop(draft);
		return -1;
	}
	if (finish(tree, &tree->stage.files[tree->stage.count - 1], draft, err) == 0)
		return 0;
	bpk_tree_unstage(tree);
	return -1;
}

void bpk_tree_withdraw(struct bpk_tree *tree, const char *name)
{
	/* a file that was sent can only be removed later */
	if (tree->ops != NULL)
		(void)tree->ops->remove(tree->owner, name, NULL);
	for (size_t i = tree->stage.count; i > 0; i--)
		if (strcmp(tree->stage.files[i - 1].name, name) == 0)
			unstage_at(tree, i - 1);
}

int bpk_tree_remove(struct bpk_tree *tree, const char *name, struct bpk_err *err)
{
	if (tree->is_new)
		return bpk_fail(err, BPK_BUG, "remove from a new directory");
	if (bpk_tree_check_name(name, err) != 0)
		return -1;
	if (tree->ops != NULL)
		return tree->ops->remove(tree->owner, name, err);
	return bpk_stage_add(&tree->removed, strdup(name), NULL, err);
}

/* ---- Closing ---- */

static void remove_folder(int root, const char *name)
{
	const char *base;
	int parent = bpk_beneath_parent(root, name, &base);

	if (parent < 0)
		return;
	unlinkat(parent, base, AT_REMOVEDIR); /* refused unless it is empty */
	close(parent);
}

/* The cleanup lock is held. */
static void drop_stage(void *owner)
{
	const struct bpk_tree *tree = owner;

	for (size_t i = 0; i < tree->stage.count; i++)
		unlink_at(tree->root, tree->stage.files[i].draft);
	for (size_t i = tree->folders.count; i > 0; i--)
		remove_folder(tree->root, tree->folders.all[i - 1]);
}

void bpk_tree_close(struct bpk_tree *tree)
{
	if (tree == NULL)
		return;
	if (tree->ops != NULL) {
		tree->ops->close(tree->owner);
		return;
	}
	bpk_cleanup_end(&tree->cleanup);
	bpk_stage_clear(&tree->stage);
	bpk_stage_clear(&tree->removed);
	bpk_names_clear(&tree->folders);
	bpk_dir_close(tree->dir);
	if (tree->root >= 0)
		close(tree->root);
	if (tree->lock >= 0)
		close(tree->lock);
	bpk_sidecar_close(tree->sidecar);
	free(tree->path);
	free(tree);
}

struct bpk_sidecar *bpk_tree_sidecar(const struct bpk_tree *tree)
{
	return tree->sidecar;
}

struct bpk_dir *bpk_tree_dir(struct bpk_tree *tree)
{
	return tree->dir;
}

bool bpk_tree_is_remote(const struct bpk_tree *tree)
{
	return tree->ops != NULL;
}

int bpk_tree_take(struct bpk_tree *tree, const char *name, struct bpk_view reservation,
		  struct bpk_err *err)
{
	if (tree->ops == NULL)
		return 0;
	return bpk_tree_check_name(name, err) != 0
		       ? -1
		       : tree->ops->take(tree->owner, name, reservation, err);
}

/* ---- Opening ---- */

/* Open the directory as last committed, through a descriptor of its own. */
static int open_committed(const struct bpk_tree *tree, const struct bpk_edit_options *options,
			  struct bpk_dir **dir, struct bpk_err *err)
{
	int root = fcntl(tree->root, F_DUPFD_CLOEXEC, 0);

	*dir = NULL;
	if (root < 0)
		return bpk_fail_errno(err, errno, "cannot open");
	return bpk_dir_of_folder(root, options->owns, dir, err);
}

/* The permissions of the files of dir: of those that the claim has read, and the pivot. A table of
 * columns has no pivot in its root. */
static struct stat like_files(struct bpk_dir *dir, const char *pivot)
{
	struct bpk_source *source = NULL;

	if (pivot != NULL && bpk_dir_source(dir, pivot, &source, NULL) == 0)
		bpk_source_close(source);
	return bpk_dir_like(dir);
}

/* A directory that is no dataset must not be changed at all. like: the permissions of its files. */
static int check_claim(const struct bpk_tree *tree, const struct bpk_edit_options *options,
		       const char *path, struct stat *like, struct bpk_err *err)
{
	struct bpk_place place = { .path = path, .is_directory = true };
	bool claimed = false;
	int rc;

	if (options->claims == NULL)
		return 0;
	if (open_committed(tree, options, &place.directory, err) != 0)
		return -1;
	rc = options->claims(&place, &claimed, err);
	*like = like_files(place.directory, options->pivot);
	bpk_place_close(&place);
	if (rc != 0)
		return -1;
	return claimed ? 0 : bpk_fail(err, BPK_FAILED, "is no longer a dataset of that format");
}

static int open_root(struct bpk_tree *tree, const char *path,
		     const struct bpk_edit_options *options, struct bpk_err *err)
{
	struct stat like = { .st_mode = S_IFREG | 0600, .st_uid = (uid_t)-1, .st_gid = (gid_t)-1 };

	tree->root = bpk_link_open_folder(path, err);
	if (tree->root < 0 || check_claim(tree, options, path, &like, err) != 0)
		return -1;
	tree->lock = bpk_changes_open_lock(tree->root, O_RDWR | O_CREAT, &like);
	if (tree->lock < 0 && errno == EINVAL)
		return bpk_fail(err, BPK_FAILED, BPK_DIR_LOCK ": is not a regular file");
	if (tree->lock < 0)
		return bpk_fail_errno(err, errno, BPK_DIR_LOCK ": cannot be created or opened");
	return 0;
}

/* stat, or fstatat with a folder; *same is false, too, when the name does not exist. */
static int leads_to(int folder, const char *name, int flags, int fd, bool *same,
		    struct bpk_err *err)
{
	struct stat named, opened;

	*same = false;
	if (fstat(fd, &opened) != 0)
		return bpk_fail_errno(err, errno, "fstat");
	if (fstatat(folder, name, &named, flags) != 0)
		return bpk_is_missing(errno) ? 0 : bpk_fail_errno(err, errno, "stat");
	*same = bpk_same_file(&named, &opened);
	return 0;
}

int bpk_tree_is_current(const struct bpk_tree *tree, bool *current, struct bpk_err *err)
{
	int rc = leads_to(AT_FDCWD, tree->path, 0, tree->root, current, err);

	if (rc == 0 && *current)
		rc = leads_to(tree->root, BPK_DIR_LOCK, AT_SYMLINK_NOFOLLOW, tree->lock, current,
			      err);
	return rc;
}

/* A directory that is replaced loses its files, and so may fail to open. */
static int open_current(struct bpk_tree *tree, const struct bpk_edit_options *options,
			struct bpk_err *err)
{
	int patience = options->wait ? BPK_LOCK_WITHOUT_LIMIT : BPK_LOCK_MOMENT;
	bool current = true;

	if (open_root(tree, tree->path, options, err) != 0) {
		if (tree->root >= 0)
			(void)leads_to(AT_FDCWD, tree->path, 0, tree->root, &current, NULL);
		return current ? -1 : 1;
	}
	if (bpk_lock_need(tree->lock, BPK_LOCK_WRITER, patience, options->no_lock, NULL, err) !=
		    0 ||
	    bpk_tree_is_current(tree, &current, err) != 0)
		return -1;
	return current ? 0 : 1;
}

static int lock_root(struct bpk_tree *tree, const struct bpk_edit_options *options,
		     struct bpk_err *err)
{
	struct bpk_err why = { 0 };
	int rc;

	while ((rc = open_current(tree, options, &why)) > 0) {
		if (tree->lock >= 0)
			close(tree->lock);
		close(tree->root);
		tree->lock = tree->root = -1;
	}
	return rc == 0 ? 0 : bpk_fail_as(err, &why);
}

/* Carry out an existing list of changes; the lock is held. */
static int settle(const struct bpk_tree *tree, const struct bpk_edit_options *options,
		  const char *path, struct bpk_err *err)
{
	struct bpk_changes list = { .owns = options->owns, .any_root = options->any_journal };
	struct stat like;
	int rc = bpk_changes_refresh(tree->root, &list, err);

	if (rc == 0 && list.refused.kind != BPK_OK)
		rc = bpk_fail(err, list.refused.kind, "%s; bpk repair DIR shows the choices",
			      list.refused.text);
	/* the list may be newer than the check */
	if (rc == 0 && list.count > 0)
		rc = check_claim(tree, options, path, &like, err);
	if (rc == 0 && list.count > 0)
		rc = bpk_changes_apply(tree->root, &list, true, err);
	bpk_changes_clear(&list);
	return rc;
}

static int open_tree(struct bpk_tree *tree, const char *path,
		     const struct bpk_edit_options *options, struct bpk_err *err)
{
	if (lock_root(tree, options, err) != 0 ||
	    bpk_sidecar_open_to_change(path, true, options, &tree->sidecar, err) != 0 ||
	    settle(tree, options, path, err) != 0)
		return -1;
	bpk_erase_drafts(tree->root); /* no list names them any more */
	if (open_committed(tree, options, &tree->dir, err) != 0 || bpk_cleanup_lock(err) != 0)
		return -1;
	bpk_cleanup_add(&tree->cleanup, drop_stage, tree);
	bpk_cleanup_unlock();
	return 0;
}

int bpk_tree_open(const char *path, const struct bpk_edit_options *options, struct bpk_tree **tree,
		  struct bpk_err *err)
{
	if (bpk_path_is_url(path))
		return bpk_remote_tree_open(path, options, tree, err);
	*tree = bpk_calloc(1, sizeof **tree, err);
	if (*tree == NULL)
		return -1;
	(*tree)->root = (*tree)->lock = -1;
	(*tree)->sync = options->sync;
	(*tree)->no_lock = options->no_lock;
	(*tree)->path = bpk_strdup(path, err);
	if ((*tree)->path != NULL && open_tree(*tree, path, options, err) == 0)
		return 0;
	bpk_tree_close(*tree);
	*tree = NULL;
	return -1;
}
