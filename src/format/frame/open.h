/*
 * Opening and closing readers, inside the room.
 */
#ifndef BPK_FORMAT_FRAME_OPEN_H
#define BPK_FORMAT_FRAME_OPEN_H

#include "format/frame/reader.h"

/* Most attempts to read a sparse frame that keeps changing. */
enum { BPK_FRAME_TIMES = 20 };

/* Open a reader on the frame in a directory or a source, as bpk_reader_ops.open does; and let one
 * user close it. */
int bpk_frame_open(struct bpk_dir *dir, struct bpk_source *source,
		   const struct bpk_read_options *options, struct bpk_frame_reader **reader,
		   struct bpk_err *err);
void bpk_frame_close(struct bpk_frame_reader *reader); /* accepts NULL */

/* True if the frame has changed since open, so that data read from it may be wrong. Also if that
 * cannot be determined. */
bool bpk_frame_has_changed(const struct bpk_frame_reader *reader);

/* After a step that failed: if that is BPK_CORRUPT, and the frame has changed, *err becomes
 * BPK_FAILED, "changed while it was read"; where the question fails, that failure. */
void bpk_frame_blame_change(const struct bpk_frame_reader *reader, struct bpk_err *err);

/* True if a change of bpk made the contiguous frame longer, or shorter, since open: it has another
 * header, and its old end is left in the file. */
bool bpk_frame_is_superseded(const struct bpk_frame_reader *reader);

#endif
