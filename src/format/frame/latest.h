/*
 * Steps on the current state of a frame, inside the room, while a writer is active.
 */
#ifndef BPK_FORMAT_FRAME_LATEST_H
#define BPK_FORMAT_FRAME_LATEST_H

#include "format/frame/reader.h"

/* A successful step on a sparse frame says in *sight, zero before, what it saw of the file. */
typedef int bpk_frame_step_fn(struct bpk_frame_reader *on, void *arg, struct bpk_frame_sight *sight,
			      struct bpk_err *err);

/*
 * Perform step, which needs chunk number. If the frame has changed since reader was opened, step
 * runs on a reader of its current state, provided that still holds the same chunk. Any thread. If
 * apparent damage comes from a change, fails with BPK_FAILED, "changed while it was read".
 */
int bpk_frame_latest_do(struct bpk_frame_reader *reader, uint64_t number, bpk_frame_step_fn *step,
			void *arg, struct bpk_err *err);

#endif
