/*
 * The commands append, truncate and repair on a raw GSD file: a frame is added, frames are cut off,
 * those of a damaged file are saved. For the main thread alone.
 */
#ifndef BPK_CLI_GSD_H
#define BPK_CLI_GSD_H

#include "cli/salvage.h"

/* The options of append for a frame; NULL: not given. */
struct bpk_gsd_frame_args {
	const char *step, *schema, *schema_version, *application;
};

/* ---- append ---- */

/* Is a frame to be appended to path, and not bytes to an archive? By its content, or, where nothing
 * is there, by its name or because a schema is given. */
int bpk_gsd_append_wants(const char *path, const struct bpk_gsd_frame_args *frame, bool *wants,
			 struct bpk_err *err);

/* Add a frame of the arrays that operands name; reports by itself. */
void bpk_gsd_append(const char *path, const struct bpk_args *args,
		    const struct bpk_gsd_frame_args *frame, char *const *operands, size_t count);

/* ---- truncate ---- */

/* Keep so many frames; reports by itself. */
void bpk_gsd_truncate(const char *path, const struct bpk_args *args,
		      const struct bpk_opt_offset *frames);

/* ---- repair ---- */

/*
 * False, and nothing is done, unless the file at path is a GSD file, by its content or its name,
 * and its tables are damaged, or it is to be written. Print which frames are intact; with applies
 * write them to --output, with fill also if arrays are lost. Reports failures, and lost arrays with
 * the status of damage.
 */
bool bpk_gsd_repair(const struct bpk_args *args, const char *path,
		    const struct bpk_salvage_how *how);

#endif
