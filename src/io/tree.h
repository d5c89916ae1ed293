/*
 * Inside the room io: a directory being written, a new one (newtree.c) or one that is there and is
 * changed (change.c, commit.c). What both do alike is in tree.c.
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

/* A file that gets its name, or is removed, when a tree is committed. */
struct bpk_staged {
	char *name;
	char *draft; /* from the root; NULL: name is removed */
	uint64_t size;
	bool is_new; /* nothing had the name when it was given */
};

/* Valid when zeroed; guarded by the live lock, but one thread alone changes it. */
struct bpk_stage {
	struct bpk_staged *files;
	size_t count, room;
};

/*
 * Files of a new tree that are whole and wait to be finished, oldest first. Each sync waits for its
 * file's bytes and for the file system's own writing, which is one for all that are new by then: so
 * they are let go to the disk at once, and waited for late. Valid when zeroed.
 */
enum { BPK_TREE_WAITING = 16 }; /* each keeps two descriptors */

struct bpk_waiting {
	struct bpk_draft *drafts[BPK_TREE_WAITING];
	size_t first, count;
};

struct bpk_tree {
	int root;
	bool sync;
	bool is_new;                /* nobody but us sees it: files have their names at once */
	struct bpk_waiting waiting; /* of a new one */
	struct bpk_names folders;   /* that we made, outer ones first; guarded by the live lock */

	/* of one that is changed */
	int lock; /* the writer lock is on it */
	struct bpk_sidecar *sidecar;
	struct bpk_dir *dir;
	struct bpk_stage stage, removed;
	bool no_lock;   /* no locks are no hindrance */
	bool only_adds; /* the next commit leaves all that is committed as it is */
	bool is_stuck;  /* committed, and not carried out in full: only another one can go on */
	struct bpk_live live;
};

/* Takes name and draft, also when it fails; a name that is NULL fails as if memory were missing. */
int bpk_stage_add(struct bpk_stage *stage, char *name, char *draft, struct bpk_err *err);
void bpk_stage_clear(struct bpk_stage *stage);

/* One file of a changed tree is whole: takes draft. And forget the last one, with its draft. */
int bpk_tree_stage_change(struct bpk_tree *tree, struct bpk_draft *draft, struct bpk_err *err);
void bpk_tree_unstage(struct bpk_tree *tree);

/* Finish all files of a new tree that wait, or drop them. */
int bpk_tree_finish_files(struct bpk_tree *tree, struct bpk_err *err);
void bpk_tree_drop_files(struct bpk_tree *tree);

/* Not a name that leads elsewhere, or is needed by us. */
int bpk_tree_check_name(const char *name, struct bpk_err *err);

/* What a folder's mode is, as the umask says, and on disk; root too when name is "". */
int bpk_tree_finish_folder(const struct bpk_tree *tree, const char *name, mode_t mask,
			   struct bpk_err *err);

/* A new directory for target; for bpk_draft_open. */
int bpk_tree_new(const char *target, const struct bpk_draft_options *options,
		 struct bpk_draft **draft, struct bpk_err *err);

#endif
