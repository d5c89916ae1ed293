/*
 * Inside the room io: what a kind of directory brings to io/dir.h. Folders of the file system
 * (folder.c) are one, members of a tar another. Names that arrive here were checked; "" is the
 * root.
 */
#ifndef BPK_IO_DIR_OPS_H
#define BPK_IO_DIR_OPS_H

#include "io/io.h"

/* Give an entry to a listing. Any order; of a name that comes again, the last one counts;
 * BPK_ENTRY_NONE: it is not there. */
struct bpk_dir_entries;
int bpk_dir_entries_add(struct bpk_dir_entries *entries, const char *entry_name,
			enum bpk_entry entry, struct bpk_err *err);

/* All as the functions of io/dir.h say; from any thread. */
struct bpk_dir_ops {
	int (*look)(void *dir, const char *name, enum bpk_entry *entry, uint64_t *size,
		    struct bpk_err *err);
	int (*source)(void *dir, const char *name, struct bpk_source **source, struct bpk_err *err);
	/* NULL: names lead to the same files for ever, which may change. */
	bool (*is_current)(void *dir, const char *name, const struct bpk_source *source);
	/* Fails with BPK_CORRUPT where name is no directory. */
	int (*list)(void *dir, const char *name, struct bpk_dir_entries *entries,
		    struct bpk_err *err);
	bool (*pending)(const void *dir);       /* NULL: never */
	const char *(*remark)(const void *dir); /* NULL: never any */
	/* NULL: nobody changes it. */
	int (*generation)(void *dir, uint64_t *generation, struct bpk_err *err);
	bool (*is_replaced)(const void *dir);
	void (*close)(void *dir);
};

/* Make a directory of own, which close gives back; it is closed too when this fails. */
int bpk_dir_of(const struct bpk_dir_ops *ops, void *own, struct bpk_dir **dir, struct bpk_err *err);

/* A name as io/dir.h wants it. Fails with BPK_CORRUPT. */
int bpk_dir_check_name(const char *name, struct bpk_err *err);

/* The lock and the list of changes in a directory's root. */
#define BPK_DIR_LOCK ".lock"
#define BPK_DIR_LIST ".bpkj"

/* No part of a dataset: a draft or a journal of ours anywhere, lock and list in the root, and the
 * lock of other programs there (sidecar.h). */
bool bpk_dir_hides(const char *name);

/* One of the two locks. */
bool bpk_dir_is_lock(const char *name);

/* The folder root; takes it, also when it fails. owns as bpk_dir_open's. */
int bpk_dir_of_folder(int root, bool (*owns)(const char *name), struct bpk_dir **dir,
		      struct bpk_err *err);

#endif
