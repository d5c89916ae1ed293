/* Inside the room io: a directory being written, either new (tree/new.c) or existing and being
 * changed (change.c, commit.c). tree.c and stage.c have the common part. For the files of tree/ and
 * draft.c. */
#ifndef BPK_IO_TREE_TREE_H
#define BPK_IO_TREE_TREE_H

#include "io/cleanup.h"
#include "io/file/draft.h"
#include "io/tree/changes.h"

/* Names relative to the root, in the order of adding. Valid when zeroed. */
struct bpk_names {
	char **all;
	size_t count, room;
};

/* Takes name, also on failure. A NULL name fails for lack of memory. */
int bpk_names_add(struct bpk_names *names, char *name, struct bpk_err *err);
void bpk_names_clear(struct bpk_names *names);

/* A file that gets its name, or is removed, when a tree is committed. */
struct bpk_staged {
	char *name;
	char *draft; /* relative to the root; NULL: name is removed */
	struct bpk_new_file is;
	struct bpk_old_file was; /* set when it is committed */
};

/* Valid when zeroed. Guarded by the cleanup lock; only one thread changes it. */
struct bpk_stage {
	struct bpk_staged *files;
	size_t count, room;
};

/*
 * The queue of complete files of a new tree that wait for their sync, oldest first. A sync waits
 * for the file's bytes and for the file system's journal, whose next write covers all files that
 * are new by then. So writing starts at once, and the sync comes late. Valid when zeroed.
 */
enum { BPK_TREE_WAITING = 16 }; /* files in the queue; each keeps two descriptors open */

struct bpk_waiting {
	struct bpk_draft *drafts[BPK_TREE_WAITING];
	size_t first, count;
};

/*
 * A directory that is no folder of the file system. Each as its function in io/dir.h; names are
 * checked, and a file to be removed is not staged. A new one ends with its draft, and has no take,
 * no commit and no close.
 */
struct bpk_tree_ops {
	int (*take)(void *owner, const char *name, struct bpk_view reservation,
		    struct bpk_err *err);
	int (*draft)(void *owner, const char *name, struct bpk_draft **draft, struct bpk_err *err);
	int (*stage)(void *owner, struct bpk_draft *draft, struct bpk_err *err);
	int (*remove)(void *owner, const char *name, struct bpk_err *err);
	int (*commit)(void *owner, const char *pivot, struct bpk_err *err);
	void (*close)(void *owner);
};

struct bpk_tree {
	const struct bpk_tree_ops *ops; /* NULL: a folder; then all members count */
	void *owner;                    /* for ops; dir and only_adds count, too */
	int root;
	bool sync;
	bool is_new;                /* only we see it: files have their names at once */
	struct bpk_waiting waiting; /* of a new one */
	struct bpk_names folders; /* created by us, outer ones first; guarded by the cleanup lock */
	bool has_like;            /* like is set: a new tree is made of an input */
	struct stat like;         /* the permissions of its files, without a time */

	struct bpk_withholding withholding; /* of a new one: for all its files */

	/* of one being changed */
	char *path; /* as it was opened */
	int lock;   /* holds the writer lock */
	struct bpk_sidecar *sidecar;
	struct bpk_dir *dir;
	struct bpk_stage stage, removed;
	bool no_lock;   /* go on where the file system has no locks */
	bool only_adds; /* the next commit preserves all committed content */
	bool is_stuck;  /* a commit was not fully carried out: only another tree can go on */
	struct bpk_cleanup cleanup;
};

/* Takes name and draft, also on failure. A NULL name fails for lack of memory. */
int bpk_stage_add(struct bpk_stage *stage, char *name, char *draft, struct bpk_err *err);
void bpk_stage_clear(struct bpk_stage *stage);

/* Stage one complete file of a changed tree (takes draft); and remove the last one with its
 * draft. */
int bpk_tree_stage_change(struct bpk_tree *tree, struct bpk_draft *draft, struct bpk_err *err);
void bpk_tree_unstage(struct bpk_tree *tree);

/* Finish all waiting files of a new tree, or drop them. */
int bpk_tree_finish_files(struct bpk_tree *tree, struct bpk_err *err);
void bpk_tree_drop_files(struct bpk_tree *tree);

/* *current is true if the path still leads to the directory, and that to its lock. */
int bpk_tree_is_current(const struct bpk_tree *tree, bool *current, struct bpk_err *err);

/* Check a name: it must stay below the root and not be reserved by bpk. */
int bpk_tree_check_name(const char *name, struct bpk_err *err);

/* The permissions of new files, in like: those that the committed directory, or the input of a new
 * one, gives. NULL: those of a file without an input. */
const struct stat *bpk_tree_like(const struct bpk_tree *tree, struct stat *like);

/* Give a folder the permissions of like (acl.h), or with NULL 0777, less the umask, and sync it; ""
 * is the root. */
int bpk_tree_finish_folder(const struct bpk_tree *tree, const char *name, const struct stat *like,
			   struct bpk_err *err);

#endif
