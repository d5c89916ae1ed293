/*
 * Directories: datasets of many files. A part of the room's door.
 *
 * Names are relative, their parts separated by "/". Each part is checked: not empty, not "." or
 * "..", no control bytes, at most 255 bytes. No link is followed, nothing outside the root is
 * reached, and only regular files are read (openat2 with RESOLVE_BENEATH and RESOLVE_NO_SYMLINKS;
 * without openat2 part by part with O_NOFOLLOW and O_NONBLOCK, then fstat).
 */
#ifndef BPK_IO_DIR_H
#define BPK_IO_DIR_H

#include "io/io.h"

/* ---- Reading ---- */

/* A directory, the members below a name in an uncompressed tar, or the files below a URL. Any
 * thread may call. */
struct bpk_dir;

enum bpk_entry {
	BPK_ENTRY_NONE, /* no such name */
	BPK_ENTRY_FILE, /* regular */
	BPK_ENTRY_DIRECTORY,
	BPK_ENTRY_OTHER, /* a link, a device, a FIFO: never read */
};

/* Open path, which may itself be a link. If a writer that died left a list of changes (.bpkj),
 * names are read through it, provided that owns accepts every name in it (NULL: any). */
int bpk_dir_open(const char *path, bool (*owns)(const char *name), struct bpk_dir **dir,
		 struct bpk_err *err);
void bpk_dir_close(struct bpk_dir *dir); /* NULL is harmless */

/* A directory of files that the caller opens. */
struct bpk_dir_files {
	const char *const *names; /* relative to the root, in byte order, each once; borrowed */
	size_t count;
	int (*open)(void *arg, size_t number, struct bpk_source **source, struct bpk_err *err);
	void *arg;
};
int bpk_dir_of_files(const struct bpk_dir_files *files, struct bpk_dir **dir, struct bpk_err *err);

/* The root as it was at open, and the folder name now, with the modes of bpk_acl_mode. In a tar it
 * is the tar's file. */
const struct stat *bpk_dir_stat(const struct bpk_dir *dir);
int bpk_dir_folder_stat(struct bpk_dir *dir, const char *name, struct stat *found,
			struct bpk_err *err);

/* Permissions for an output made of the directory, as a file's: no more than the root, all files
 * opened so far and their folders give. The group is the root's, the time UTIME_OMIT. */
struct stat bpk_dir_like(struct bpk_dir *dir);

/*
 * A missing name is not damage if the directory has lost its own name meanwhile, or another one has
 * taken it: the calls below then fail with BPK_FAILED, "changed while it was read".
 */

/* The kind of name, and the size of a file; "" is the root. Fails only when this cannot be
 * determined. */
int bpk_dir_look(struct bpk_dir *dir, const char *name, enum bpk_entry *entry, uint64_t *size,
		 struct bpk_err *err);

/* *has is true if name exists and is of the wanted kind. Fails as bpk_dir_look. */
int bpk_dir_has(struct bpk_dir *dir, const char *name, enum bpk_entry wanted, bool *has,
		struct bpk_err *err);

/*
 * Open a regular file as a seekable source. Release it with bpk_source_close, before dir is closed.
 * Fails with BPK_CORRUPT when name is missing or no regular file, BPK_FAILED when it cannot be
 * read.
 */
int bpk_dir_source(struct bpk_dir *dir, const char *name, struct bpk_source **source,
		   struct bpk_err *err);

/*
 * A moment at which a directory was in one state, as far as files can tell: a file that was last
 * changed, or got its name, before it belongs to that state. Caller storage; fixed after
 * bpk_dir_begun.
 */
struct bpk_dir_moment {
	/* By the clock that the file system's times come from, and by the exact one, which Linux
	 * uses for some times since 6.13: between the two they tell no order. */
	struct timespec at, at_most;
	bool quick; /* times tell, and at that moment no list of changes was in the way */
	bool fixed; /* nobody changes the directory */
};

/* The caller holds the lock of writers and has changed the directory, so later moments are fixed:
 * times would not tell its files from those of others for a tick. Any thread. */
void bpk_dir_mark_changed(struct bpk_dir *dir);

/* Note the moment, before the first file is read. */
void bpk_dir_begin(struct bpk_dir *dir, struct bpk_dir_moment *moment);

/* Those files are read that say which other files belong to the state: from now on, names may be
 * opened as they are. Fails with BPK_FAILED. */
int bpk_dir_begun(struct bpk_dir *dir, struct bpk_dir_moment *moment, struct bpk_err *err);

/*
 * bpk_dir_source of a file that was to belong to the state at moment. *old is true if it does, by
 * its times; then it took two system calls. False: it was changed later, or its times cannot tell.
 * A source of which they cannot tell is opened after the tick of moment, so that any later change
 * shows in the times.
 */
int bpk_dir_source_since(struct bpk_dir *dir, const char *name, const struct bpk_dir_moment *moment,
			 struct bpk_source **source, bool *old, struct bpk_err *err);

/* True if the file of an open source belongs to the state at moment. */
bool bpk_dir_is_old(const struct bpk_dir_moment *moment, const struct bpk_source *source);

/* True if that file was changed after moment. Of some changes in the same tick of the clock neither
 * is true. */
bool bpk_dir_is_newer(const struct bpk_dir_moment *moment, const struct bpk_source *source);

/* *has: name leads to a file in that state (bpk_source_state). Fails with BPK_FAILED. */
int bpk_dir_has_state(struct bpk_dir *dir, const char *name, uint64_t state, bool *has,
		      struct bpk_err *err);

/* *current: name still leads to the file that source was opened from, unchanged. A change counts
 * from its commit, even if its list has not been carried out yet. Fails with BPK_FAILED. */
int bpk_dir_is_current(struct bpk_dir *dir, const char *name, const struct bpk_source *source,
		       bool *current, struct bpk_err *err);

/* The same while a commit may have renamed some of its files and not yet that one: waits, for 30
 * seconds at most, until name leads elsewhere or no writer of bpk has the directory's lock. */
int bpk_dir_stays_current(struct bpk_dir *dir, const char *name, const struct bpk_source *source,
			  bool *current, struct bpk_err *err);

/* Call visit for every entry directly below name ("": the root), in byte order. Stops when visit
 * returns non-zero and returns that value. Skips drafts and locks. */
int bpk_dir_list(struct bpk_dir *dir, const char *name,
		 int (*visit)(void *arg, const char *entry_name, enum bpk_entry entry), void *arg,
		 struct bpk_err *err);

/* Call visit for every file below the root, with its name relative to that; as bpk_dir_list. */
int bpk_dir_list_files(struct bpk_dir *dir, int (*visit)(void *arg, const char *name), void *arg,
		       struct bpk_err *err);

/* False on a web server, whose directories have no listings: bpk_dir_list fails, with BPK_FAILED,
 * and no name is found to be a directory. */
bool bpk_dir_lists(const struct bpk_dir *dir);

/* True if a writer of bpk has the directory's lock now. */
bool bpk_dir_in_change(struct bpk_dir *dir);

/* True if open found a change that a writer left unfinished. */
bool bpk_dir_pending(const struct bpk_dir *dir);

/* A line that says why a list of changes is ignored, or NULL. Call it after open, before other
 * threads read. */
const char *bpk_dir_remark(const struct bpk_dir *dir);

/* True if a part of the ignored list was carried out, so the files mix two states. */
bool bpk_dir_is_torn(const struct bpk_dir *dir);

/*
 * The number of the committed generation. It rises with every commit of bpk that changes existing
 * content, and stays when a commit only adds. A reader that reads it first and again at the end
 * knows whether all its reads saw one state. 0 for a tar, which nobody changes. Costs six system
 * calls, fewer without a .lock. Fails with BPK_FAILED.
 */
int bpk_dir_generation(struct bpk_dir *dir, uint64_t *generation, struct bpk_err *err);

/* Fails with BPK_FAILED, "changed while it was read", when the path that was opened leads elsewhere
 * now: the files of the directory may be being removed. */
int bpk_dir_in_place(struct bpk_dir *dir, struct bpk_err *err);

/* Fails with BPK_FAILED, "changed while it was read", when the generation has changed, and if
 * failed is set as bpk_dir_in_place. */
int bpk_dir_settle(struct bpk_dir *dir, uint64_t generation, bool failed, struct bpk_err *err);

/* ---- Writing ---- */

/*
 * A directory being written: a new one, built as .NAME.bpk-NNNNNN/ and renamed as a whole, or an
 * existing one being changed. Belongs to one thread.
 */
struct bpk_tree;
struct bpk_edit_options; /* io/edit.h */

/* The tree of a draft that was opened with options.directory, NULL for a file. The draft owns it
 * and keeps or drops it. */
struct bpk_tree *bpk_draft_tree(struct bpk_draft *draft);

/* False in a store, which has no folders without files. */
bool bpk_tree_keeps_folders(const struct bpk_tree *tree);

/*
 * Open the directory path for changing. Takes the writer lock (on .lock in its root, created when
 * missing). Settles the leftovers of a writer that died: a list of changes is carried out if
 * options->claims accepts the directory and owns accepts every name in it; drafts of the
 * directory's owner and of the current user are removed. The URL of a directory in a store is
 * opened as bpk_remote_tree_open says. Fails as bpk_edit_open.
 */
int bpk_tree_open(const char *path, const struct bpk_edit_options *options, struct bpk_tree **tree,
		  struct bpk_err *err);

/* Discard uncommitted changes, unlock, free. NULL is harmless; not for a draft's tree. */
void bpk_tree_close(struct bpk_tree *tree);

/* The lock of another program; see bpk_edit_sidecar. */
struct bpk_sidecar *bpk_tree_sidecar(const struct bpk_tree *tree);

/* The directory as last committed; owned by the tree. NULL for a new directory. */
struct bpk_dir *bpk_tree_dir(struct bpk_tree *tree);

/* True for a directory in a store. Others may add files to it meanwhile: a name is given only where
 * it is free, or taken first, and one that was removed should not be used again. */
bool bpk_tree_is_remote(const struct bpk_tree *tree);

/*
 * Take name, in a store: the next draft of that name replaces the file that has it now, and no
 * other one. Before it is sent, the pivot is replaced by reservation, an equivalent text that no
 * other writer makes: a commit that another one prepared before fails. So does ours, if another
 * writer reserves later. Elsewhere a draft replaces any file, and nothing is done.
 */
int bpk_tree_take(struct bpk_tree *tree, const char *name, struct bpk_view reservation,
		  struct bpk_err *err);

/* Create the folder name and its parents unless they exist; and those that the file name lies
 * in. */
int bpk_tree_folder(struct bpk_tree *tree, const char *name, struct bpk_err *err);
int bpk_tree_folder_of(struct bpk_tree *tree, const char *name, struct bpk_err *err);

/* Begin to write the file name, whose folder exists. In a new tree it gets its name at once. The
 * draft is seekable; end it with bpk_tree_stage or bpk_draft_drop. */
int bpk_tree_draft(struct bpk_tree *tree, const char *name, struct bpk_draft **draft,
		   struct bpk_err *err);

/*
 * Stage a complete file. It is synced at the latest before the tree is committed or kept, and gets
 * its name at the commit, in the order of staging. Takes draft, also on failure; a failure may be
 * that of the sync of an earlier file.
 */
int bpk_tree_stage(struct bpk_tree *tree, struct bpk_draft *draft, struct bpk_err *err);

/* Drop the staged files of that name, which would be removed again by the same commit. */
void bpk_tree_withdraw(struct bpk_tree *tree, const char *name);

/* Remove the file name, which is not staged, at the commit. */
int bpk_tree_remove(struct bpk_tree *tree, const char *name, struct bpk_err *err);

/*
 * Commit. pivot names the staged file whose rename is the commit: files staged before it may become
 * visible before the commit without harm; files staged after it and removals are carried out after
 * the commit (by the next writer if this one dies). With pivot NULL readers of bpk see all changes
 * at once: a list of changes, .bpkj in the root, is renamed into place, carried out, then removed.
 * A single staged file needs no list. A failure before the commit leaves the directory unchanged.
 * Fails as bpk_edit_commit when the path leads to another directory.
 */
int bpk_tree_commit(struct bpk_tree *tree, const char *pivot, struct bpk_err *err);

/* Declare that the next commit preserves existing content: it adds, or changes only what readers
 * load at open. Without this call the generation rises. */
void bpk_tree_only_adds(struct bpk_tree *tree);

#endif
