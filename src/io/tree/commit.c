/*
 * Committing the staged changes of a directory, for editors of datasets. The commit is this step:
 *
 *     one file                      its rename
 *     a pivot, nothing after it     its rename, after all others are renamed and synced
 *     everything else               the rename of the list (changes.h), which has the pivot and the
 *                                   files after it, or all files
 *
 * Every step that can fail is tried before the commit. Later steps that fail or are cut short are
 * left to the next writer, and readers of bpk see them as done.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "io/beneath.h"
#include "io/tree/dir.h"
#include "io/file/draft.h"
#include "io/mutant.h"
#include "io/edit/edit.h"
#include "io/tree/generation.h"
#include "io/tree/changes.h"
#include "io/tree/tree.h"

/* ---- Lists ---- */

static void add_changes(struct bpk_changes *list, const struct bpk_staged *files, size_t count)
{
	for (size_t i = 0; i < count; i++)
		list->changes[list->count++] = (struct bpk_change){
			.name = files[i].name,
			.draft = files[i].draft,
			.is = files[i].is,
			.was = files[i].was,
		};
}

/* Make the list of count files and nremoved removals, which keep their names. For
 * bpk_changes_clear. */
static int make_list(const struct bpk_staged *files, size_t count, const struct bpk_staged *removed,
		     size_t nremoved, struct bpk_changes *list, struct bpk_err *err)
{
	*list = (struct bpk_changes){ 0 };
	list->changes = bpk_calloc(count + nremoved, sizeof list->changes[0], err);
	if (list->changes == NULL)
		return -1;
	add_changes(list, files, count);
	add_changes(list, removed, nremoved);
	return bpk_changes_sort(list, err);
}

/* A list must belong to the directory's owner, or nobody would obey it; so root changes its
 * owner. */
static int give_to_owner(const struct bpk_draft *draft, uid_t owner, struct bpk_err *err)
{
	int fd = bpk_draft_descriptor(draft);
	struct stat own;

	if (fstat(fd, &own) != 0)
		return bpk_fail_errno(err, errno, "a list of changes: fstat");
	if (own.st_uid == owner || fchown(fd, owner, (gid_t)-1) == 0)
		return 0;
	return bpk_fail(err, BPK_FAILED,
			"belongs to user %lu, and its list of changes, which several changed files"
			" need, would not",
			(unsigned long)owner);
}

/* Write list as a draft for the list, and stage it, so that it is dropped with the others. */
static int stage_list(struct bpk_tree *tree, struct bpk_changes *list, struct bpk_err *err)
{
	struct bpk_buf text = { 0 };
	struct bpk_draft *draft;
	int rc = bpk_identity_of(tree->root, &list->root, err);

	if (rc == 0)
		rc = bpk_changes_encode(list, &text, err);
	if (rc == 0)
		rc = bpk_draft_open_part(tree->root, BPK_DIR_LIST, false, tree->sync, &draft, err);
	if (rc == 0) {
		rc = give_to_owner(draft, list->root.owner, err);
		if (rc == 0)
			rc = bpk_draft_write(draft, bpk_buf_view(&text), err);
		if (rc == 0)
			rc = bpk_tree_stage_change(tree, draft, err);
		else
			bpk_draft_drop(draft);
	}
	bpk_buf_clear(&text);
	return rc;
}

/* ---- Before the commit ---- */

/* Check that the names could be given, and record which files they are now. */
static int check_files(const struct bpk_tree *tree, struct bpk_stage *stage, struct bpk_err *err)
{
	for (size_t i = 0; i < stage->count; i++) {
		struct bpk_staged *file = &stage->files[i];
		struct stat found;

		file->was = (struct bpk_old_file){ 0 };
		if (bpk_beneath_stat(tree->root, file->name, &found) == 0) {
			if (!S_ISREG(found.st_mode))
				return bpk_fail(err, BPK_FAILED, "%s: is not a regular file",
						file->name);
			file->was = bpk_changes_old(&found);
		} else if (errno != ENOENT) {
			return bpk_fail_errno(err, errno, "%s: cannot be replaced", file->name);
		}
	}
	return 0;
}

static bool replaces_nothing(const struct bpk_staged *file)
{
	return file->was.inode == 0;
}

static void take_back_one(int root, const struct bpk_staged *file)
{
	const char *slash = strrchr(file->draft, '/'), *base;
	const char *draft = slash == NULL ? file->draft : slash + 1;
	int folder = bpk_beneath_parent(root, file->name, &base);

	if (folder < 0)
		return;
	/* refused if the draft still exists: then the file was never renamed */
	(void)renameat2(folder, base, folder, draft, RENAME_NOREPLACE);
	close(folder);
}

/* Turn those of the first count files that replaced nothing back into drafts, to be dropped. */
static void take_back(const struct bpk_tree *tree, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (replaces_nothing(&tree->stage.files[i]))
			take_back_one(tree->root, &tree->stage.files[i]);
}

static int sync_names(const struct bpk_tree *tree, size_t from, size_t count, struct bpk_err *err)
{
	struct bpk_changes list;
	int rc = make_list(tree->stage.files + from, count, NULL, 0, &list, err);

	if (rc == 0 && tree->sync)
		rc = bpk_changes_sync(tree->root, &list, err);
	bpk_changes_clear(&list);
	return rc;
}

static int rename_one(const struct bpk_tree *tree, size_t i, struct bpk_err *err)
{
	const struct bpk_staged *file = &tree->stage.files[i];
	const struct bpk_change change = { file->name, file->draft, file->is, file->was };

	return bpk_changes_apply_one(tree->root, &change, false, err);
}

/* Sync the new folders and their names. */
static int sync_made(const struct bpk_tree *tree, struct bpk_err *err)
{
	for (size_t i = 0; tree->sync && i < tree->folders.count; i++)
		if (bpk_changes_sync_one(tree->root, tree->folders.all[i], err) != 0)
			return -1;
	return 0;
}

/* Rename and sync the first count files. */
static int rename_first(const struct bpk_tree *tree, size_t count, struct bpk_err *err)
{
	for (size_t i = 0; i < count; i++)
		if (rename_one(tree, i, err) != 0)
			goto fail;
	if (sync_names(tree, 0, count, err) == 0)
		return 0;
fail:
	take_back(tree, count);
	return -1;
}

/* ---- The commit ---- */

static void forget_stage(struct bpk_tree *tree)
{
	bpk_stage_clear(&tree->stage);
	bpk_stage_clear(&tree->removed);
	bpk_names_clear(&tree->folders);
}

/* Replace nothing: a file of that name was made by somebody else. */
static int rename_new(int folder, const char *from, const char *to)
{
	if (renameat2(folder, from, folder, to, RENAME_NOREPLACE) == 0)
		return 0;
	if (errno != EINVAL && errno != ENOSYS && errno != ENOTSUP)
		return -1;
	return renameat(folder, from, folder, to);
}

/* Give the list, the file staged last, its name. */
static int commit_list(struct bpk_tree *tree, struct bpk_err *err)
{
	const char *draft = tree->stage.files[tree->stage.count - 1].draft;

	if (rename_new(tree->root, draft, BPK_DIR_LIST) != 0)
		return bpk_fail_errno(err, errno, BPK_DIR_LIST ": cannot be created");
	if (!tree->sync || bpk_folder_sync(tree->root) == 0)
		return 0;
	bpk_fail_errno(err, errno, BPK_DIR_LIST ": sync its folder");
	/* the drafts may be dropped only when the list is gone, also after a power cut */
	tree->is_stuck = unlinkat(tree->root, BPK_DIR_LIST, 0) != 0 && errno != ENOENT;
	if (!tree->is_stuck && bpk_folder_sync(tree->root) != 0)
		forget_stage(tree);
	return -1;
}

/* Rename the files before the list's files, commit the list, carry it out. */
static int commit_by_list(struct bpk_tree *tree, size_t first, const struct bpk_changes *list,
			  struct bpk_err *err)
{
	if (rename_first(tree, first, err) != 0)
		return -1;
	if (commit_list(tree, err) != 0 && !tree->is_stuck) {
		take_back(tree, bpk_min_size(first, tree->stage.count));
		return -1;
	}
	if (!tree->is_stuck)
		tree->is_stuck = bpk_changes_apply(tree->root, list, tree->sync, err) != 0;
	if (!tree->is_stuck)
		return 0;
	return bpk_edit_fail_committed(err);
}

/* The list is staged. */
static int commit_staged(struct bpk_tree *tree, size_t first, const struct bpk_changes *list,
			 struct bpk_err *err)
{
	int rc;

	if (bpk_cleanup_lock(err) != 0)
		return -1;
	rc = commit_by_list(tree, first, list, err);
	if (rc == 0 || tree->is_stuck)
		forget_stage(tree);
	bpk_cleanup_unlock();
	return rc;
}

static int commit_from(struct bpk_tree *tree, size_t first, struct bpk_err *err)
{
	const struct bpk_stage *stage = &tree->stage, *removed = &tree->removed;
	struct bpk_changes list;
	int rc = make_list(stage->files + first, stage->count - first, removed->files,
			   removed->count, &list, err);

	/* a list on disk must not name a draft that is not on disk */
	if (rc == 0)
		rc = sync_names(tree, first, stage->count - first, err);
	if (rc == 0)
		rc = stage_list(tree, &list, err);
	if (rc == 0) {
		rc = commit_staged(tree, first, &list, err);
		if (rc != 0 && tree->stage.count > 0)
			bpk_tree_unstage(tree);
	}
	bpk_changes_clear(&list);
	return rc;
}

/* Rename all files in turn; the last rename is the commit. The cleanup lock is held. */
static int rename_all(struct bpk_tree *tree, struct bpk_err *err)
{
	size_t last = tree->stage.count - 1;

	if (!bpk_is_mutant(BPK_MUTANT_PIVOT_FIRST) && rename_first(tree, last, err) != 0)
		return -1;
	if (rename_one(tree, last, err) != 0) {
		take_back(tree, last);
		return -1;
	}
	if (bpk_is_mutant(BPK_MUTANT_PIVOT_FIRST) && rename_first(tree, last, err) != 0)
		return -1;
	if (sync_names(tree, last, 1, err) == 0) {
		forget_stage(tree);
		return 0;
	}
	/* a replaced file is gone, and the new one needs the others; otherwise undo everything */
	if (replaces_nothing(&tree->stage.files[last])) {
		take_back(tree, last + 1);
		return -1;
	}
	forget_stage(tree);
	return bpk_err_subject(err, "is committed, but a power cut may undo that");
}

static int commit_by_rename(struct bpk_tree *tree, struct bpk_err *err)
{
	int rc;

	if (bpk_cleanup_lock(err) != 0)
		return -1;
	rc = rename_all(tree, err);
	bpk_cleanup_unlock();
	return rc;
}

/* The number of pivot in the stage; count when it is not staged. */
static size_t find_pivot(const struct bpk_tree *tree, const char *pivot)
{
	size_t i = 0;

	while (i < tree->stage.count && strcmp(tree->stage.files[i].name, pivot) != 0)
		i++;
	return i;
}

void bpk_tree_only_adds(struct bpk_tree *tree)
{
	tree->only_adds = true;
}

/* There is at least one change. */
static int commit_changes(struct bpk_tree *tree, size_t first, struct bpk_err *err)
{
	if (tree->removed.count == 0 && first == tree->stage.count - 1)
		return commit_by_rename(tree, err);
	return commit_from(tree, first, err);
}

/* Check, at the commit, that the directory has its name. What is committed does not fail because
 * the name cannot be looked at. */
static int check_name(const struct bpk_tree *tree, bool committed, struct bpk_err *err)
{
	struct stat found;
	bool current;

	if (bpk_tree_is_current(tree, &current, committed ? NULL : err) != 0)
		return committed ? 0 : -1;
	if (current)
		return 0;
	if (stat(tree->path, &found) == 0)
		return bpk_fail(err, BPK_FAILED,
				"was replaced by another directory while it was changed; %s",
				committed ? "the change is in the old one, not in the new one"
					  : "nothing was changed in the new one");
	return bpk_fail(err, BPK_FAILED, "was removed or renamed while it was changed; %s",
			committed ? "the directory without this name has the change"
				  : "the change was not completed");
}

/* The name may be given to another directory between the first look and the commit. */
static int commit_named(struct bpk_tree *tree, size_t first, struct bpk_err *err)
{
	if (check_name(tree, false, err) != 0 || commit_changes(tree, first, err) != 0)
		return -1;
	return check_name(tree, true, err);
}

/* A reader that has read the generation before this commit has seen the old state only. */
static int commit_generation(struct bpk_tree *tree, size_t first, struct bpk_err *err)
{
	int rc;

	if (tree->only_adds)
		return commit_named(tree, first, err);
	if (bpk_generation_raise(tree->lock, tree->sync, tree->no_lock, &bpk_edit_dropped, err) !=
	    0)
		return -1;
	rc = commit_named(tree, first, err);
	bpk_generation_settled(tree->lock);
	return rc;
}

int bpk_tree_commit(struct bpk_tree *tree, const char *pivot, struct bpk_err *err)
{
	size_t count = tree->stage.count, first = pivot == NULL ? 0 : find_pivot(tree, pivot);
	int rc;

	if (tree->ops != NULL && tree->ops->commit != NULL)
		return tree->ops->commit(tree->owner, pivot, err);
	if (tree->is_new)
		return bpk_fail(err, BPK_BUG, "commit of a new directory");
	if (pivot != NULL && first == count)
		return bpk_fail(err, BPK_BUG, "%s: is not staged", pivot);
	if (tree->is_stuck)
		return bpk_fail(err, BPK_FAILED, "the last change was not carried out in full");
	if (check_files(tree, &tree->stage, err) != 0 ||
	    check_files(tree, &tree->removed, err) != 0)
		return -1;
	if (count + tree->removed.count == 0)
		return check_name(tree, false, err);
	if (sync_made(tree, err) != 0)
		return -1;
	rc = commit_generation(tree, first, err);
	if (rc == 0)
		bpk_dir_mark_changed(tree->dir);
	tree->only_adds = tree->only_adds && rc != 0;
	return rc;
}
