/*
 * Inside the room io: the list of changes, .bpkj in a directory's root, by which many files change
 * at once. It is there: the changes are made, though some of them may still have to be carried out.
 * It is text, so that a user who finds one can read it:
 *
 *     bpk changes 1 TAB COUNT LF
 *     + TAB SIZE TAB DRAFT TAB NAME LF      the file DRAFT, of SIZE bytes, gets the name NAME
 *     - TAB NAME LF                         the file NAME is removed
 *     crc32 TAB XXXXXXXX LF                 of all that stands before, in hexadecimal digits
 *
 * Names are those of io/dir.h, and a draft lies beside what it becomes.
 */
#ifndef BPK_IO_REDO_H
#define BPK_IO_REDO_H

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
	struct stat seen;                  /* its file */
};

void bpk_redo_clear(struct bpk_redo *redo);

/* Make by_name; fails with BPK_CORRUPT when a name comes twice. */
int bpk_redo_sort(struct bpk_redo *redo, struct bpk_err *err);

/* The text of a list. */
int bpk_redo_spell(const struct bpk_redo *redo, struct bpk_buf *text, struct bpk_err *err);

/* Read text, which is hostile; takes it. redo is cleared when it fails, with BPK_CORRUPT. */
int bpk_redo_parse(struct bpk_buf *text, struct bpk_redo *redo, struct bpk_err *err);

/* Make redo the list that is in root now; none (count 0) when there is none. Costs one system call
 * where nothing changed. Fails with BPK_CORRUPT or BPK_FAILED. */
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

/* The lock file of root, made when create says so; a descriptor for bpk_lock_take, or -1 with errno
 * (EINVAL: something else has its name). */
int bpk_redo_open_lock(int root, bool create);

/*
 * For the list that redo was read from: is a writer at work? Else carry it out, when that is wanted
 * and can be done here. redo is what is there then. Fails as bpk_redo_refresh.
 */
int bpk_redo_settle(int root, struct bpk_redo *redo, bool carry_out, bool *alive,
		    struct bpk_err *err);

/* Sync the folder that name lies in; the folder of every name. */
int bpk_redo_sync_one(int root, const char *name, struct bpk_err *err);
int bpk_redo_sync(int root, const struct bpk_redo *redo, struct bpk_err *err);

/* Carry out one change, unless that was done already. */
int bpk_redo_apply(int root, const struct bpk_change *change, struct bpk_err *err);

#endif
