/*
 * Inside the room io: the list of changes, .bpkj in a directory's root, by which many files change
 * at once. It is there: the changes are made, though some of them may still have to be carried out.
 * It is text, so that a user who finds one can read it:
 *
 *     bpk changes 2 TAB COUNT LF
 *     root TAB DEVICE TAB INODE TAB BORN LF of the root; BORN as in io/identity.h
 *     + TAB SIZE TAB DRAFT TAB NAME LF      the file DRAFT, of SIZE bytes, gets the name NAME
 *     - TAB NAME LF                         the file NAME is removed
 *     crc32 TAB XXXXXXXX LF                 of all that stands before, in hexadecimal digits
 *
 * Names are those of io/dir.h, and a draft lies beside what it becomes.
 *
 * A list is valid in the one directory that it was made for, where it belongs to the directory's
 * owner and every name in it is one that the format calls its own. Any other is left alone, and the
 * directory is read as it lies; one that is about this directory, but damaged, is a failure.
 */
#ifndef BPK_IO_REDO_H
#define BPK_IO_REDO_H

#include "io/identity.h"
#include "io/io.h"

struct bpk_change {
	const char *name;
	const char *draft; /* from the root; NULL: name is removed */
	uint64_t size;     /* of draft */
};

/* Valid when zeroed: no changes. */
struct bpk_redo {
	struct bpk_change *changes; /* in the order in which they are carried out */
	size_t count;
	const struct bpk_change **by_name; /* the same, in the order of their names */
	struct bpk_buf text;               /* holds the names of a list that was read */
	struct stat seen;                  /* its file; or the one that was refused last */
	struct bpk_identity root;          /* the directory that it is about */

	/* what a list must fit, set by who asks for it; bpk_redo_clear leaves it */
	bool (*owns)(const char *name); /* NULL: any name */
	bool any_root;                  /* also one that was made for another directory */
	struct bpk_err refused;         /* why a list was left alone: the first such line */
};

void bpk_redo_clear(struct bpk_redo *redo);

/* Make by_name; fails with BPK_CORRUPT when a name comes twice. */
int bpk_redo_sort(struct bpk_redo *redo, struct bpk_err *err);

/* The text of a list. */
int bpk_redo_spell(const struct bpk_redo *redo, struct bpk_buf *text, struct bpk_err *err);

/* Read text, which is hostile; takes it. redo is cleared when it fails, with BPK_CORRUPT. */
int bpk_redo_parse(struct bpk_buf *text, struct bpk_redo *redo, struct bpk_err *err);

/* Make redo the list that is in root now; none (count 0) when there is none, or it is left alone,
 * which redo->refused tells. Costs one system call where nothing changed. Fails with BPK_CORRUPT,
 * BPK_UNSUPPORTED (of a later version) or BPK_FAILED. */
int bpk_redo_refresh(int root, struct bpk_redo *redo, struct bpk_err *err);

/* What is done to name; NULL: nothing. */
const struct bpk_change *bpk_redo_find(const struct bpk_redo *redo, const char *name);

/* The list whose file seen describes is still there. */
bool bpk_redo_stands(int root, const struct stat *seen);

/*
 * Carry all of it out, sync the folders, then remove the list. What was carried out already is left
 * alone, so it may be killed at any point and begun again. The writer lock is held.
 */
int bpk_redo_carry_out(int root, const struct bpk_redo *redo, bool sync, struct bpk_err *err);

/* The lock file of root, opened with flags (O_CREAT: made when it is missing); a descriptor for
 * bpk_lock_take, or -1 with errno (EINVAL: something else has its name). */
int bpk_redo_open_lock(int root, int flags);

/* Sync the folder that name lies in; the folder of every name. */
int bpk_redo_sync_one(int root, const char *name, struct bpk_err *err);
int bpk_redo_sync(int root, const struct bpk_redo *redo, struct bpk_err *err);

/* Carry out one change, unless that was done already. */
int bpk_redo_apply(int root, const struct bpk_change *change, struct bpk_err *err);

#endif
