/*
 * Inside the room io: the list of changes, .bpkj in a directory's root, by which many files change
 * at once. While it exists the changes count as made, although some may still have to be carried
 * out. It is text, so that a user who finds one can read it:
 *
 *     bpk changes 3 TAB COUNT LF
 *     root TAB DEVICE TAB INODE TAB BORN LF    of the root; BORN as in io/identity.h
 *     + TAB NEW TAB OLD TAB DRAFT TAB NAME LF  the file DRAFT gets the name NAME
 *     - TAB OLD TAB NAME LF                    the file NAME is removed
 *     crc32 TAB XXXXXXXX LF                    of all bytes before, in hexadecimal digits
 *
 *     NEW  INODE TAB SIZE TAB MTIME            of DRAFT; a rename keeps all three
 *     OLD  INODE TAB CTIME                     of the file that NAME was; 0 TAB 0: none
 *
 * Times are nanoseconds since 1970, modulo 2^64. Names follow io/dir.h, and a draft lies in the
 * folder of its NAME.
 *
 * A list is valid in the one directory that it was made for, if it belongs to the directory's owner
 * and the format owns every name in it. Each NAME must be the old file, with the draft beside it,
 * or the new file: someone else has written to any other since. The ctime shows that, because no
 * program can set it. Any other list is ignored, and the directory is read as it is, unless a part
 * of the list was carried out: then nothing is read. A list that is about this directory but
 * damaged is a failure.
 */
#ifndef BPK_IO_TREE_CHANGES_H
#define BPK_IO_TREE_CHANGES_H

#include "io/identity.h"
#include "io/io.h"

struct bpk_new_file {
	uint64_t inode, size, mtime;
};

struct bpk_old_file {
	uint64_t inode, ctime; /* inode 0: there was no file */
};

struct bpk_change {
	const char *name;
	const char *draft;       /* relative to the root; NULL: name is removed */
	struct bpk_new_file is;  /* of draft */
	struct bpk_old_file was; /* of name */
};

/* Valid when zeroed: no changes. */
struct bpk_changes {
	struct bpk_change *changes; /* in the order of carrying out */
	size_t count;
	const struct bpk_change **by_name; /* the same, sorted by name */
	struct bpk_buf text;               /* holds the names of a list that was read */
	uint32_t crc;                      /* of a list that was read */
	struct stat seen;                  /* of the list's file, or of the last refused one */
	struct bpk_identity root;          /* the directory that it is about */

	/* set by the caller before reading a list; bpk_changes_clear keeps them */
	bool (*owns)(const char *name); /* accepts a name; NULL: any */
	/* also accept a list made for another directory; of the files the new sizes count alone */
	bool any_root;
	/* a reader: while a writer lives, the files are not compared with the list */
	bool is_reader;
	/* why a list was first ignored; BPK_CORRUPT: a part of it was carried out */
	struct bpk_err refused;
};

void bpk_changes_clear(struct bpk_changes *list);

struct bpk_new_file bpk_changes_new(const struct stat *found);
struct bpk_old_file bpk_changes_old(const struct stat *found);

/* Make by_name; fails with BPK_CORRUPT when a name is not unique. */
int bpk_changes_sort(struct bpk_changes *list, struct bpk_err *err);

/* Append the text of the list to text. */
int bpk_changes_encode(const struct bpk_changes *list, struct bpk_buf *text, struct bpk_err *err);

/* Parse text, which is hostile; takes it. On failure, with BPK_CORRUPT, list is cleared. */
int bpk_changes_parse(struct bpk_buf *text, struct bpk_changes *list, struct bpk_err *err);

/*
 * Read the list that is in root now. count is 0 when there is no list or it is ignored; then
 * list->refused says why. Costs one system call when nothing changed. Fails with BPK_CORRUPT,
 * BPK_UNSUPPORTED (a later version) or BPK_FAILED.
 */
int bpk_changes_refresh(int root, struct bpk_changes *list, struct bpk_err *err);

/*
 * Compare the files below root with the list. *strange is the first name that is neither old nor
 * new, or NULL; *begun is true if a change was carried out. Fails with BPK_FAILED.
 */
int bpk_changes_check(int root, const struct bpk_changes *list, const char **strange, bool *begun,
		      struct bpk_err *err);

/* The change of name; NULL when it has no change. */
const struct bpk_change *bpk_changes_find(const struct bpk_changes *list, const char *name);

/* True if the list whose file seen describes is still in place. */
bool bpk_changes_stands(int root, const struct stat *seen);

/*
 * Carry out all changes, sync the folders, then remove the list. Steps already done are skipped, so
 * the process may be killed at any point and the call repeated. The caller holds the writer lock.
 */
int bpk_changes_apply(int root, const struct bpk_changes *list, bool sync, struct bpk_err *err);

/* Run by root, give fd, a file that this process created in root, to the owner of root. */
void bpk_changes_give(int root, int fd);

/* Open the lock file of root with flags. O_CREAT creates it, for the owner of root, with the
 * permissions of like, those of the dataset's files (bpk_dir_like); NULL: for that owner alone.
 * Returns a descriptor for bpk_lock_take, or -1 with errno (EINVAL: the name is taken by something
 * else). */
int bpk_changes_open_lock(int root, int flags, const struct stat *like);

/* Sync the folder that holds name; the folders of all names. */
int bpk_changes_sync_one(int root, const char *name, struct bpk_err *err);
int bpk_changes_sync(int root, const struct bpk_changes *list, struct bpk_err *err);

/* Carry out one change, unless it is already done. any is any_root of the list. */
int bpk_changes_apply_one(int root, const struct bpk_change *change, bool any, struct bpk_err *err);

/* True if a writer of root is alive. */
bool bpk_changes_has_writer(int root);

#endif
