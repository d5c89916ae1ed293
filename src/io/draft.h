/*
 * Inside the room io: drafts beside those that bpk_draft_open makes.
 */
#ifndef BPK_IO_DRAFT_H
#define BPK_IO_DRAFT_H

#include "io/io.h"

/*
 * A draft that is written in sequence into something larger, and cannot be read back. keep and drop
 * are called once, one of them, as the last thing; any may be called with an owner that failed.
 */
struct bpk_draft_ops {
	int (*write)(void *owner, struct bpk_view bytes, struct bpk_err *err);
	int (*keep)(void *owner, const struct stat *like, struct bpk_err *err);
	void (*drop)(void *owner);
};

/* ops and owner are borrowed until the draft is kept or dropped. */
int bpk_draft_of_ops(const struct bpk_draft_ops *ops, void *owner, struct bpk_draft **draft,
		     struct bpk_err *err);

/*
 * A draft for the file name in an open folder, which stays the caller's. name is a single part and
 * is never followed; of options, overwrite and sync count. What is there already is found when the
 * draft is kept.
 */
int bpk_draft_open_at(int folder, const char *name, const struct bpk_draft_options *options,
		      struct bpk_draft **draft, struct bpk_err *err);

/*
 * A draft for a file of a tree, in an open folder, which stays the caller's. label is its name in
 * the tree; the last part of that is its name in the folder from the start when has_name is set,
 * else that is .NAME.bpk-NNNNNN. To be finished or dropped, not kept.
 */
int bpk_draft_open_part(int folder, const char *label, bool has_name, bool sync,
			struct bpk_draft **draft, struct bpk_err *err);

const char *bpk_draft_label(const struct bpk_draft *draft);
const char *bpk_draft_own_name(const struct bpk_draft *draft);

/* All of it is written: let it go to the disk, where bpk_draft_finish soon needs it. */
void bpk_draft_begin_sync(struct bpk_draft *draft);

/* It is whole: its length, mode and time (as bpk_draft_keep), synced. Frees it; its own name stays
 * where it succeeds. */
int bpk_draft_finish(struct bpk_draft *draft, const struct stat *like, struct bpk_err *err);

/* What drafts of ops belong to; NULL for another draft. */
void *bpk_draft_owner(const struct bpk_draft *draft, const struct bpk_draft_ops *ops);

/* The descriptor of a draft that is a file, open for reading and writing, for those who write to it
 * in ways of their own; the draft closes it. */
int bpk_draft_descriptor(const struct bpk_draft *draft);

#endif
