/*
 * Steps on the current state of a frame, inside the room, while a writer is active.
 */
#ifndef BPK_FORMAT_FRAME_LATEST_H
#define BPK_FORMAT_FRAME_LATEST_H

#include "format/frame/reader.h"

/* A successful step on a sparse frame fills *sight, zero before, with facts of the file. */
typedef int bpk_frame_step_fn(struct bpk_frame_reader *on, void *arg, struct bpk_frame_sight *sight,
			      struct bpk_err *err);

/*
 * Perform step, which needs chunk number. If the frame has changed since reader was opened, step
 * runs on a reader of its current state, provided that still holds the same chunk. Any thread. If
 * apparent damage comes from a change, fails with BPK_FAILED, "changed while it was read".
 */
int bpk_frame_latest_do(struct bpk_frame_reader *reader, uint64_t number, bpk_frame_step_fn *step,
			void *arg, struct bpk_err *err);

/* After the last step on a sparse frame: fails with BPK_FAILED, "changed while it was read", when
 * another program has written to a noted file (notes.h) since. A file that a commit of bpk replaced
 * or removed has not changed. */
int bpk_frame_latest_settle(struct bpk_frame_reader *reader, struct bpk_err *err);

#endif
