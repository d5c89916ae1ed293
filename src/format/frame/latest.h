/*
 * Steps on the current state of a frame, inside the room, while a writer is active.
 */
#ifndef BPK_FORMAT_FRAME_LATEST_H
#define BPK_FORMAT_FRAME_LATEST_H

#include "format/frame/reader.h"

/*
 * Perform step, which needs chunk number. If the frame has changed since reader was opened, step
 * runs on a reader of its current state, provided that still holds the same chunk. Any thread. If
 * apparent damage comes from a change, fails with BPK_FAILED, "changed while it was read".
 */
int bpk_frame_latest_do(struct bpk_frame_reader *reader, uint64_t number,
			int (*step)(struct bpk_frame_reader *on, void *arg, struct bpk_err *err),
			void *arg, struct bpk_err *err);

/* Of the raw_size bytes that chunk number has now, the bytes it had at open: a last chunk may have
 * grown. */
size_t bpk_frame_latest_size(const struct bpk_frame_reader *reader, uint64_t number,
			     size_t raw_size);

#endif
