/*
 * Inside the room io: a directory being written, from both sides of io/dir.h: new ones (newtree.c)
 * and those that are changed (tree.c, change.c).
 */
#ifndef BPK_IO_TREE_H
#define BPK_IO_TREE_H

#include "io/live.h"

/* Names from the root, in the order in which they came. Valid when zeroed. */
struct bpk_names {
	char **all;
	size_t count, room;
};

/* Takes name, also when it fails; NULL fails as if memory were missing. */
int bpk_names_add(struct bpk_names *names, char *name, struct bpk_err *err);
void bpk_names_clear(struct bpk_names *names);

struct bpk_tree {
	int root;
	bool sync;
	bool is_new;              /* nobody but us sees it: files have their names at once */
	struct bpk_names folders; /* that we made, outer ones first; guarded by the live lock */
};

/* What a folder's mode is, as the umask says, and on disk; root too when name is "". */
int bpk_tree_finish_folder(const struct bpk_tree *tree, const char *name, mode_t mask,
			   struct bpk_err *err);

/* A new directory for target; for bpk_draft_open. */
int bpk_tree_new(const char *target, const struct bpk_draft_options *options,
		 struct bpk_draft **draft, struct bpk_err *err);

#endif
