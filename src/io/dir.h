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

/* path may be a link itself. Where a writer that died left a list of changes (.bpkj) names are read
 * through it, if every one in it is a name that owns says yes to (NULL: any). */
int bpk_dir_open(const char *path, bool (*owns)(const char *name), struct bpk_dir **dir,
		 struct bpk_err *err);
void bpk_dir_close(struct bpk_dir *dir); /* NULL is harmless */

/* What name is, and for a file its size; "" is the root. Fails only when it cannot be told. */
int bpk_dir_look(struct bpk_dir *dir, const char *name, enum bpk_entry *entry, uint64_t *size,
		 struct bpk_err *err);

/* Is name there, and what is wanted? Fails as bpk_dir_look. */
int bpk_dir_has(struct bpk_dir *dir, const char *name, enum bpk_entry wanted, bool *has,
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

/* A change that a writer left unfinished was pending at open. */
bool bpk_dir_pending(const struct bpk_dir *dir);

/* A line about a list of changes that is there and is not used, and why; NULL: there is none. To be
 * asked behind open, before other threads read. */
const char *bpk_dir_remark(const struct bpk_dir *dir);

/*
 * Which generation of the directory is committed. The number rises with every commit of ours that
 * changes what was there, and stays when one only adds. Read before anything else, and again at the
 * end, it tells whether all that was read is of one state. 0 where nobody changes it: a tar. Costs
 * six system calls, fewer without a .lock. Fails with BPK_FAILED.
 */
int bpk_dir_generation(struct bpk_dir *dir, uint64_t *generation, struct bpk_err *err);

/* Fails with BPK_FAILED, "changed while it was read", when the generation is another one; or when a
 * step failed, and the path that the directory was opened by leads elsewhere: then its files may be
 * removed just now. */
int bpk_dir_settle(struct bpk_dir *dir, uint64_t generation, bool failed, struct bpk_err *err);

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
 * is missing), and carries out or forgets what a writer that died left: a list, if the directory is
 * what options->claims wants and all names in it are what owns wants, and drafts of the
 * directory's owner and of our own. Fails as bpk_edit_open. */
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

/* The next commit leaves what is committed as it is, so that readers need not notice: it adds, or
 * changes what readers take in at open. Without it the generation rises. */
void bpk_tree_only_adds(struct bpk_tree *tree);

#endif
