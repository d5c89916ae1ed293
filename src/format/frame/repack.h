/*
 * Removing holes at a commit, inside the room: the editor of contiguous frames calls it.
 */
#ifndef BPK_FORMAT_FRAME_REPACK_H
#define BPK_FORMAT_FRAME_REPACK_H

#include "format/format.h"

/*
 * Replace the contiguous frame of edit, whose frame grew from before bytes at a commit, by a copy
 * without its holes if these outweigh its chunks (three quarters of their bytes, and 64 KiB). That
 * is examined whenever its size has grown by an eighth. The commit is complete, so an error leaves
 * the holes and is not reported, and so does a file whose copy would be noticed
 * (bpk_edit_check_copy) or that another program changes meanwhile. The sidecar is taken.
 */
void bpk_frame_repack_grown(struct bpk_edit *edit, uint64_t before);

/* The same after the last of many commits, whatever its size, and if the holes have a twentieth of
 * the chunks' bytes, and 64 KiB. */
void bpk_frame_repack_last(struct bpk_edit *edit);

#endif
