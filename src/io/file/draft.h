/* Inside the room io: other ways to make a draft than bpk_draft_open. For edits, trees and tars. */
#ifndef BPK_IO_FILE_DRAFT_H
#define BPK_IO_FILE_DRAFT_H

#include "io/io.h"

/* Bytes that are not written (bpk_draft_withhold), and where they belong. */
struct bpk_withholding {
	const uint8_t *bytes; /* NULL: all are written */
	struct bpk_draft_place place;
};

/* Let a draft for a file of a directory share that of the directory, which is borrowed. */
void bpk_draft_share_withholding(struct bpk_draft *draft, struct bpk_withholding *withholding);

/* Let the draft, made with ops for a directory that is open as folder, be joined by others if
 * is_named; both are borrowed. */
void bpk_draft_set_folder(struct bpk_draft *draft, int folder, bool is_named, bool sync,
			  struct bpk_withholding *withholding);

/* bpk_draft_open for a file: options->directory does not count. */
int bpk_draft_open_file(const char *target, const struct bpk_draft_options *options,
			struct bpk_draft **draft, struct bpk_err *err);

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
 * changed since seen (NULL: may have changed). Before it gets the name the draft gets that file's
 * attributes of users and access list, and the mode of like without regard to the umask; *is_lost
 * is set if some could not be kept. fd is borrowed until then.
 */
void bpk_draft_set_replaced(struct bpk_draft *draft, int fd, const struct stat *seen,
			    bool *is_lost);

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
