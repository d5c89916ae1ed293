/* Inside the room io: other ways to make a draft than bpk_draft_open. For edits, trees and tars. */
#ifndef BPK_IO_FILE_DRAFT_H
#define BPK_IO_FILE_DRAFT_H

#include "io/io.h"

struct bpk_tree;

/*
 * A draft that is no file. Exactly one of keep and drop is called, once, as the last call. All of
 * them must cope with an owner that has failed. Without write_at it is written in sequence, into
 * something larger, and cannot be read back; with it write is not called, and the others are those
 * of a seekable draft: set_size as bpk_draft_set_size, and reread as bpk_draft_reread, without
 * which read_at may fail.
 */
struct bpk_draft_ops {
	int (*write)(void *owner, struct bpk_view bytes, struct bpk_err *err);
	int (*keep)(void *owner, const struct stat *like, struct bpk_err *err);
	void (*drop)(void *owner);
	int (*write_at)(void *owner, uint64_t offset, struct bpk_view bytes, struct bpk_err *err);
	int (*read_at)(void *owner, uint64_t offset, struct bpk_span out, struct bpk_err *err);
	int (*set_size)(void *owner, uint64_t size, struct bpk_err *err);
	int (*reread)(void *owner, struct bpk_err *err);
	struct bpk_tree *(*tree)(void *owner); /* NULL: it is no directory */
};

/* bpk_draft_open for a file: options->directory does not count. */
int bpk_draft_open_file(const char *target, const struct bpk_draft_options *options,
			struct bpk_draft **draft, struct bpk_err *err);

/* ops and owner are borrowed until the draft is kept or dropped. */
int bpk_draft_of_ops(const struct bpk_draft_ops *ops, void *owner, struct bpk_draft **draft,
		     struct bpk_err *err);

/*
 * A draft for the file name in an open folder, which stays the caller's. name is a single part and
 * is never followed. Only overwrite and sync of options count. An existing file of that name is
 * noticed when the draft is kept.
 */
int bpk_draft_open_at(int folder, const char *name, const struct bpk_draft_options *options,
		      struct bpk_draft **draft, struct bpk_err *err);

/*
 * The draft replaces the open file fd, whose writer lock the caller holds and which is settled. To
 * keep it fails with BPK_FAILED when the name does not lead to fd any more, or when the file has
 * changed since seen (NULL: may have changed). fd is borrowed until then.
 */
void bpk_draft_set_replaced(struct bpk_draft *draft, int fd, const struct stat *seen);

/*
 * A draft for a file of a tree, in an open folder, which stays the caller's. label is its name in
 * the tree. With has_name the last part of label is its name in the folder from the start;
 * otherwise the name is .NAME.bpk-NNNNNN. End it with finish or drop, not with keep.
 */
int bpk_draft_open_part(int folder, const char *label, bool has_name, bool sync,
			struct bpk_draft **draft, struct bpk_err *err);

const char *bpk_draft_label(const struct bpk_draft *draft);
const char *bpk_draft_own_name(const struct bpk_draft *draft);

/* Start writing the complete draft to the disk; bpk_draft_finish will follow soon. */
void bpk_draft_begin_sync(struct bpk_draft *draft);

/* Set the length, mode and time (as bpk_draft_keep) of a complete draft and sync it. Frees it;
 * after success its own name stays. */
int bpk_draft_finish(struct bpk_draft *draft, const struct stat *like, struct bpk_err *err);

/* The owner of a draft made with ops; NULL for another draft. */
void *bpk_draft_owner(const struct bpk_draft *draft, const struct bpk_draft_ops *ops);

/* The descriptor of a draft that is a file, open for reading and writing, for callers that write to
 * it themselves. The draft closes it. */
int bpk_draft_descriptor(const struct bpk_draft *draft);

#endif
