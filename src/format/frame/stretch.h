/*
 * A stretch of a contiguous frame, inside the room: bytes read in advance, for small chunks that
 * follow each other. A system call, and a hold, for each chunk of some bytes would cost far more
 * than to unpack it.
 */
#ifndef BPK_FORMAT_FRAME_STRETCH_H
#define BPK_FORMAT_FRAME_STRETCH_H

#include "format/format.h"

enum {
	BPK_FRAME_STRETCH = 4 << 10
}; /* longer reads are made directly: the copy would cost as much */

/* Any thread. Valid when zeroed, but for lock. */
struct bpk_frame_stretch {
	struct bpk_mutex lock; /* guards the rest */
	struct bpk_buf bytes;
	uint64_t offset; /* of bytes ... */
	uint64_t end;    /* ... and of the last read: a read from here on goes on with it */
};

void bpk_frame_stretch_init(struct bpk_frame_stretch *stretch);
void bpk_frame_stretch_clear(struct bpk_frame_stretch *stretch);

/* Copy the bytes at offset; false if they were not read in advance. */
bool bpk_frame_stretch_copy(struct bpk_frame_stretch *stretch, uint64_t offset,
			    struct bpk_span out);

/*
 * The same, but read them if they are missing, and more and more bytes after them while reads
 * follow each other, up to room in all. source is held. out has at most BPK_FRAME_STRETCH
 * bytes. Fails as bpk_source_need_at does.
 */
int bpk_frame_stretch_read(struct bpk_frame_stretch *stretch, struct bpk_source *source,
			   uint64_t offset, uint64_t room, struct bpk_span out,
			   struct bpk_err *err);

#endif
