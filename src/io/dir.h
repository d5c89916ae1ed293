/*
 * Directories: datasets of many files. A part of the room's door.
 *
 * Names are relative, of parts divided by "/", and each part is checked: not empty, not "." or
 * "..", no control bytes, at most 255 bytes. Nothing is opened through a link, nothing outside
 * the root is ever reached, and only regular files are read (openat2 with RESOLVE_BENEATH and
 * RESOLVE_NO_SYMLINKS, else part by part with O_NOFOLLOW and O_NONBLOCK, then fstat).
 */
#ifndef BPK_IO_DIR_H
#define BPK_IO_DIR_H

#include "io/io.h"

/* ---- Reading ---- */

/* A directory, or the members below a name in an uncompressed tar. Calls may come from any
 * thread. */
struct bpk_dir;

enum bpk_entry {
	BPK_ENTRY_NONE, /* there is nothing of that name */
	BPK_ENTRY_FILE, /* regular */
	BPK_ENTRY_DIRECTORY,
	BPK_ENTRY_OTHER, /* a link, a device, a FIFO: never opened */
};

/* path may be a link itself. Where a writer that died left a list of changes (.bpkj) it is carried
 * out first, or, where that may not be written, names are read through it. */
int bpk_dir_open(const char *path, struct bpk_dir **dir, struct bpk_err *err);
void bpk_dir_close(struct bpk_dir *dir); /* NULL is harmless */

/* What name is, and for a file its size; "" is the root. Fails only when it cannot be told. */
int bpk_dir_look(struct bpk_dir *dir, const char *name, enum bpk_entry *entry, uint64_t *size,
		 struct bpk_err *err);

/* Open a regular file, seekable, for bpk_source_close; it must be closed before dir. Fails with
 * BPK_CORRUPT when name is missing or no regular file, BPK_FAILED when it cannot be read. */
int bpk_dir_source(struct bpk_dir *dir, const char *name, struct bpk_source **source,
		   struct bpk_err *err);

/* Does name still lead to the file that source was opened from, as it was then? A change
 * counts as made as soon as it is committed, carried out or not. */
bool bpk_dir_is_current(struct bpk_dir *dir, const char *name, struct bpk_source *source);

/* Call visit for every entry directly below name ("": the root) in the order of their bytes; stops
 * when visit returns non-zero and returns that. Drafts and locks are left out. */
int bpk_dir_list(struct bpk_dir *dir, const char *name,
		 int (*visit)(void *arg, const char *entry_name, enum bpk_entry entry), void *arg,
		 struct bpk_err *err);

/* A change that a writer left unfinished is pending, and it could not be carried out here. */
bool bpk_dir_pending(const struct bpk_dir *dir);

/* ---- Writing ---- */

/*
 * A directory being written: a new one, built as .NAME.bpk-NNNNNN/ and renamed as a whole, or one
 * that is there and being changed. One thread's own.
 */
struct bpk_tree;
struct bpk_edit_options; /* io/edit.h */

/* The tree of a draft that was opened with options.directory; owned by the draft, which keeps or
 * drops it. NULL for a file. */
struct bpk_tree *bpk_draft_tree(struct bpk_draft *draft);

/* Open the directory path for changing: takes the writer lock (on .lock in its root, made when it
 * is missing), and carries out or forgets what a writer that died left. Fails as bpk_edit_open. */
int bpk_tree_open(const char *path, const struct bpk_edit_options *options, struct bpk_tree **tree,
		  struct bpk_err *err);

/* Forget what was not committed, unlock, free. NULL is harmless; not for a draft's tree. */
void bpk_tree_close(struct bpk_tree *tree);

/* As bpk_edit_sidecar. */
struct bpk_sidecar *bpk_tree_sidecar(const struct bpk_tree *tree);

/* The directory as it was last committed; owned by the tree. NULL in a new one. */
struct bpk_dir *bpk_tree_dir(struct bpk_tree *tree);

/* Have the folder name, and those above it. */
int bpk_tree_folder(struct bpk_tree *tree, const char *name, struct bpk_err *err);

/* Begin to write the file name, whose folder is there. In a new tree it has its name at once. The
 * draft seeks; it is given back to stage, or dropped with bpk_draft_drop. */
int bpk_tree_draft(struct bpk_tree *tree, const char *name, struct bpk_draft **draft,
		   struct bpk_err *err);

/* The file is whole: sync it, at the latest before the tree is committed or kept (takes draft, also
 * when it fails; what fails may be the sync of one before it). It gets its name when the tree is
 * committed, in the order of staging. */
int bpk_tree_stage(struct bpk_tree *tree, struct bpk_draft *draft, struct bpk_err *err);

/* Remove the file name when the tree is committed, after all staged files have their names. */
int bpk_tree_remove(struct bpk_tree *tree, const char *name, struct bpk_err *err);

/*
 * Make it so. pivot names the staged file whose rename is the commit: what was staged before it may
 * be seen before the commit without harm, what was staged or is removed after it is done behind it
 * (and carried out by the next writer when this one dies). With pivot NULL all of it becomes
 * visible at once to readers of ours: a list of the changes, .bpkj in the root, is renamed into
 * place, then carried out, then removed; a single staged file needs no list. Failing before the
 * commit it leaves the directory as it was.
 */
int bpk_tree_commit(struct bpk_tree *tree, const char *pivot, struct bpk_err *err);

#endif
