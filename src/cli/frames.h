/*
 * GSD files that are written to: a frame added, frames cut off. They are no archives, and are told
 * from those by their content. For the main thread alone.
 */
#ifndef BPK_CLI_FRAMES_H
#define BPK_CLI_FRAMES_H

#include "cli/edit.h"
#include "layout/layout.h"

/* What append is told of a frame; NULL: not given. */
struct bpk_frame_args {
	const char *step, *schema, *schema_version, *application;
};

/* Is path a GSD file? A missing one is none, nor is what is no regular file. */
int bpk_path_is_gsd(const char *path, bool *is_gsd, struct bpk_err *err);

/* Settle what an interrupted change left of the GSD file at path. */
int bpk_trajectory_settle(const char *path, const struct bpk_edit_options *options,
			  struct bpk_err *err);

/* A GSD file being changed. Caller storage, valid when zeroed; for bpk_trajectory_close. */
struct bpk_trajectory {
	const char *path;        /* borrowed */
	struct bpk_edit *edit;   /* of a file that is there */
	struct bpk_draft *draft; /* of a new one */
	struct bpk_gsd_editor *editor;
};

/* Open path for changing, and begin to wait for signals; to_cut as for bpk_gsd_editor_open. Errors
 * name the file, here and below. */
int bpk_trajectory_open(struct bpk_trajectory *trajectory, const struct bpk_edit_args *args,
			const char *path, bool to_cut, struct bpk_err *err);

/* Begin a new one, which has its name once it is kept. */
int bpk_trajectory_create(struct bpk_trajectory *trajectory, const struct bpk_edit_args *args,
			  const char *path, const struct bpk_gsd_head *head, struct bpk_err *err);
int bpk_trajectory_keep(struct bpk_trajectory *trajectory, struct bpk_err *err);

/* Undo what was not committed. */
void bpk_trajectory_close(struct bpk_trajectory *trajectory);

/* ---- Arrays out of NumPy's files ---- */

/* Caller storage, valid when zeroed; for bpk_frame_array_close. */
struct bpk_frame_array {
	char *name;       /* in the frame; owned */
	const char *path; /* borrowed */
	struct bpk_source *source;
	struct bpk_spool *spool; /* of standard input */
	struct bpk_source *spooled;
	struct bpk_layout *layout;
	struct bpk_item item;
};

/*
 * Open what an operand NAME=FILE names; FILE may be "-". Fails with BPK_USAGE for another operand,
 * with BPK_UNSUPPORTED for what is no .npy, or none of elements that GSD has and two dimensions at
 * most.
 */
int bpk_frame_array_open(struct bpk_frame_array *array, const char *operand, struct bpk_err *err);
void bpk_frame_array_close(struct bpk_frame_array *array);

/* Put it into the frame to come: little-endian, row by row. */
int bpk_frame_array_put(struct bpk_frame_array *array, struct bpk_gsd_editor *editor,
			struct bpk_err *err);

/* ---- append ---- */

/* Is a frame to be appended to path, and not bytes to an archive? By its content, or, where nothing
 * is there, by its name or because a schema is given. */
int bpk_append_wants_frame(const char *path, const struct bpk_frame_args *args, bool *wants,
			   struct bpk_err *err);

/* Add a frame of the arrays that operands name; reports by itself. */
void bpk_append_frame(const char *path, const struct bpk_edit_args *edit,
		      const struct bpk_frame_args *args, char *const *operands, size_t count);

/* ---- truncate ---- */

/* Keep so many frames; reports by itself. */
void bpk_truncate_frames(const char *path, const struct bpk_edit_args *edit,
			 const struct bpk_opt_offset *frames);

#endif
