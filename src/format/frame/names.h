/*
 * Names of the files of a sparse frame, inside the room.
 */
#ifndef BPK_FORMAT_FRAME_NAMES_H
#define BPK_FORMAT_FRAME_NAMES_H

#include "format/frame/frame.h"

enum { BPK_FRAME_FILE_NAME = sizeof "00000000.chunk" };

#define BPK_FRAME_SPARSE_INDEX "chunks.b2frame"

/* The file name of a chunk ("Sparse frame"); and the reverse, false if name is not a chunk's. */
void bpk_frame_file_name(uint32_t id, char name[BPK_FRAME_FILE_NAME]);
bool bpk_frame_file_id(const char *name, uint32_t *id);

#endif
