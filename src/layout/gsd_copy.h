/*
 * Appending the frames of one GSD file to another. Part of the room's door. Errors do not name the
 * files.
 */
#ifndef BPK_LAYOUT_GSD_COPY_H
#define BPK_LAYOUT_GSD_COPY_H

#include "base/base.h"
#include "io/io.h"

struct bpk_gsd_editor;
struct bpk_item;
struct bpk_layout;
struct bpk_layout_info;

/* A GSD file open for reading. Caller storage, valid when zeroed; released by
 * bpk_gsd_file_close. */
struct bpk_gsd_file {
	struct bpk_source *source; /* owned, as is layout */
	struct bpk_layout *layout;
	const struct bpk_layout_info *info;
};

/* Open the layout of the file's source. Fails with BPK_CORRUPT if it is not a sound GSD file. */
int bpk_gsd_file_open(struct bpk_gsd_file *file, struct bpk_err *err);
void bpk_gsd_file_close(struct bpk_gsd_file *file);

/* The number of the first array of frame, or of the next frame with an array; narrays if there is
 * no such frame. */
int bpk_gsd_file_find_frame(const struct bpk_gsd_file *file, uint64_t frame, uint64_t *number,
			    struct bpk_err *err);

/* Caller storage, valid when zeroed; released by bpk_gsd_copy_clear. Owned by one thread. */
struct bpk_gsd_copy {
	struct bpk_gsd_file held;      /* the file to extend, as last committed */
	struct bpk_gsd_file more;      /* the source of the frames */
	struct bpk_gsd_editor *editor; /* of held; owned */
	struct bpk_buf firsts;         /* struct bpk_gsd_first, by name */
	struct bpk_buf piece;
};

/*
 * Append the frames from .. to-1 of more to held, without a commit. Fails with BPK_LIMIT if more
 * claims far more frames than it has arrays.
 */
int bpk_gsd_copy_frames(struct bpk_gsd_copy *copy, uint64_t from, uint64_t to, struct bpk_err *err);

/*
 * Copy all frames of more, which may be of another simulation than held. With the schema hoomd,
 * arrays that a frame omits are written out if their default differs in the first frame of held.
 * Fails with BPK_FAILED if the schemas differ, or if more changed meanwhile.
 */
int bpk_gsd_copy_all(struct bpk_gsd_copy *copy, struct bpk_err *err);

/* *same: an array of held and an array of more have the same type, shape and bytes. */
int bpk_gsd_copy_compare(struct bpk_gsd_copy *copy, const struct bpk_item *held,
			 const struct bpk_item *more, bool *same, struct bpk_err *err);

/* Close both files and the editor; uncommitted frames are lost. */
void bpk_gsd_copy_clear(struct bpk_gsd_copy *copy);

#endif
