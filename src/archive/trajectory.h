/*
 * Raw GSD files that are changed: they are not archives, and are known by their content. A part of
 * the room's door. One thread's own.
 */
#ifndef BPK_ARCHIVE_TRAJECTORY_H
#define BPK_ARCHIVE_TRAJECTORY_H

#include "io/io.h"
#include "layout/layout.h"

/* *is_gsd: path is a regular file, and a GSD file by its content. A missing file is not an
 * error. */
int bpk_path_is_gsd(const char *path, bool *is_gsd, struct bpk_err *err);

/* Settle an interrupted change of the GSD file at path. */
int bpk_trajectory_recover(const char *path, const struct bpk_edit_options *options,
			   struct bpk_err *err);

/* A GSD file being changed. Caller storage, valid when zeroed; for bpk_trajectory_close. */
struct bpk_trajectory {
	const char *path;        /* borrowed */
	struct bpk_edit *edit;   /* of an existing file */
	struct bpk_draft *draft; /* of a new file */
	struct bpk_gsd_editor *editor;
};

/* Open path for changing; to_cut as for bpk_gsd_editor_open. Errors name the file, here and
 * below. */
int bpk_trajectory_open(struct bpk_trajectory *trajectory, const struct bpk_edit_options *options,
			const char *path, bool to_cut, struct bpk_err *err);

/* Begin a new file, which gets its name when it is kept. */
int bpk_trajectory_create(struct bpk_trajectory *trajectory, bool sync, const char *path,
			  const struct bpk_gsd_head *head, struct bpk_err *err);
/* like: of a new file, as for bpk_draft_keep. */
int bpk_trajectory_keep(struct bpk_trajectory *trajectory, const struct stat *like,
			struct bpk_err *err);

/* Undo uncommitted changes. */
void bpk_trajectory_close(struct bpk_trajectory *trajectory);

/* ---- Arrays from NumPy's files ---- */

/* Caller storage, valid when zeroed; for bpk_gsd_array_close. */
struct bpk_gsd_array {
	const char *name; /* in the frame; borrowed, as path */
	const char *path;
	struct bpk_source *source;
	struct bpk_spool *spool; /* of standard input */
	struct bpk_source *spooled;
	struct bpk_layout *layout;
	struct bpk_item item;
};

/*
 * Open the .npy file at path ("-": standard input), to be put under name. Fails with
 * BPK_UNSUPPORTED for another file, for elements that GSD has no type for, and for more than two
 * dimensions. Errors name the file.
 */
int bpk_gsd_array_open(struct bpk_gsd_array *array, const char *name, const char *path,
		       struct bpk_err *err);
void bpk_gsd_array_close(struct bpk_gsd_array *array);

/* Put it into the frame to come: little-endian, row by row. */
int bpk_gsd_array_put(struct bpk_gsd_array *array, struct bpk_gsd_editor *editor,
		      struct bpk_err *err);

#endif
