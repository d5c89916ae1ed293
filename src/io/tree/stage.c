/* The complete files of a directory being written: those of a new one wait for their sync, those of
 * a changed one for its commit. Writers of datasets call it through io/dir.h, tree/new.c ends its
 * queue. */
#include <limits.h>
#include <stdio.h>

#include "io/file/draft.h"
#include "io/tree/tree.h"

/* Remove the oldest waiting file from the queue; NULL if the queue is empty. */
static struct bpk_draft *take_oldest(struct bpk_waiting *waiting)
{
	struct bpk_draft *draft = waiting->drafts[waiting->first];

	if (waiting->count == 0)
		return NULL;
	waiting->first = (waiting->first + 1) % BPK_TREE_WAITING;
	waiting->count--;
	return draft;
}

static void add_newest(struct bpk_waiting *waiting, struct bpk_draft *draft)
{
	size_t place = (waiting->first + waiting->count++) % BPK_TREE_WAITING;

	waiting->drafts[place] = draft;
}

/* Called while another file is staged, which then reports this file's failure. */
static int finish_oldest(struct bpk_tree *tree, struct bpk_err *err)
{
	struct bpk_draft *draft = take_oldest(&tree->waiting);
	char name[PATH_MAX];
	struct stat like;

	snprintf(name, sizeof name, "%s", bpk_draft_label(draft));
	if (bpk_draft_finish(draft, bpk_tree_like(tree, &like), err) == 0)
		return 0;
	return bpk_err_subject(err, "%s", name);
}

int bpk_tree_finish_files(struct bpk_tree *tree, struct bpk_err *err)
{
	while (tree->waiting.count > 0)
		if (finish_oldest(tree, err) != 0)
			return -1;
	return 0;
}

void bpk_tree_drop_files(struct bpk_tree *tree)
{
	while (tree->waiting.count > 0)
		bpk_draft_drop(take_oldest(&tree->waiting));
}

/* Start writing the draft to the disk and queue it; fails after all drafts were dropped by a
 * signal. */
static int let_wait(struct bpk_tree *tree, struct bpk_draft *draft, struct bpk_err *err)
{
	if (bpk_cleanup_lock(err) != 0)
		return -1;
	bpk_cleanup_unlock();
	bpk_draft_begin_sync(draft);
	if (tree->waiting.count == BPK_TREE_WAITING && finish_oldest(tree, err) != 0)
		return -1;
	add_newest(&tree->waiting, draft);
	return 0;
}

int bpk_tree_stage(struct bpk_tree *tree, struct bpk_draft *draft, struct bpk_err *err)
{
	struct stat like;

	if (tree->ops != NULL)
		return tree->ops->stage(tree->owner, draft, err);
	if (!tree->is_new)
		return bpk_tree_stage_change(tree, draft, err);
	if (!tree->sync)
		return bpk_draft_finish(draft, bpk_tree_like(tree, &like), err);
	if (let_wait(tree, draft, err) == 0)
		return 0;
	bpk_draft_drop(draft);
	return -1;
}
