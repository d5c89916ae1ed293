/*
 * Inside the room io: the functions that implement a kind of directory for io/dir.h. Kinds are
 * folders of the file system (folder.c), members of a tar, and URLs (remote/tree.c). Names passed
 * to them have been checked; "" is the root.
 */
#ifndef BPK_IO_TREE_DIR_H
#define BPK_IO_TREE_DIR_H

#include "io/io.h"

/* Add an entry to a listing, in any order. The last entry of a name counts; BPK_ENTRY_NONE removes
 * the name. */
struct bpk_dir_entries;
int bpk_dir_entries_add(struct bpk_dir_entries *entries, const char *entry_name,
			enum bpk_entry entry, struct bpk_err *err);

/* Each as its function in io/dir.h; called by any thread. */
struct bpk_dir_ops {
	int (*look)(void *dir, const char *name, enum bpk_entry *entry, uint64_t *size,
		    struct bpk_err *err);
	int (*source)(void *dir, const char *name, struct bpk_source **source, struct bpk_err *err);
	/* As source, but with no look at a list of changes. NULL: nobody changes the directory. */
	int (*source_as_named)(void *dir, const char *name, struct bpk_source **source);
	/* *quick: times tell the order of changes, and there is no list of changes. NULL if
	 * source_as_named is. */
	int (*is_quick)(void *dir, bool *quick, struct bpk_err *err);
	/* As bpk_dir_folder_stat; NULL: the directory has no permissions. */
	int (*stat)(void *dir, const char *name, struct stat *found, struct bpk_err *err);
	/* NULL: a name leads to the same file for ever. */
	int (*is_current)(void *dir, const char *name, const struct bpk_source *source,
			  bool *current, struct bpk_err *err);
	bool (*has_writer)(const void *dir); /* of bpk. NULL: never */
	/* Fails with BPK_CORRUPT where name is no directory. */
	int (*list)(void *dir, const char *name, struct bpk_dir_entries *entries,
		    struct bpk_err *err);
	bool (*lists)(const void *dir);         /* NULL: list works */
	bool (*pending)(const void *dir);       /* NULL: never pending */
	const char *(*remark)(const void *dir); /* NULL: never a remark */
	bool (*is_torn)(const void *dir);       /* NULL: never */
	/* NULL: nobody changes the directory. */
	int (*generation)(void *dir, uint64_t *generation, struct bpk_err *err);
	/* *replaced: the path that was opened leads elsewhere now. NULL: never. */
	int (*is_replaced)(const void *dir, bool *replaced, struct bpk_err *err);
	void (*close)(void *dir);
};

/* Make a directory of own, which ops->close releases, also when this call fails. */
int bpk_dir_of(const struct bpk_dir_ops *ops, void *own, struct bpk_dir **dir, struct bpk_err *err);

/* Check a name by the rules of io/dir.h. Fails with BPK_CORRUPT. */
int bpk_dir_check_name(const char *name, struct bpk_err *err);

/* The lock and the list of changes in a directory's root. */
#define BPK_DIR_LOCK ".lock"
#define BPK_DIR_LIST ".bpkj"

/* Open the folder root; takes it, also on failure. owns as for bpk_dir_open. */
int bpk_dir_of_folder(int root, bool (*owns)(const char *name), struct bpk_dir **dir,
		      struct bpk_err *err);

#endif
