/*
 * Names of the files of a sparse frame, inside the room, and lists of the ids in them.
 */
#ifndef BPK_FORMAT_FRAME_NAMES_H
#define BPK_FORMAT_FRAME_NAMES_H

#include "format/frame/state.h"

enum { BPK_FRAME_FILE_NAME = sizeof "00000000.chunk" };

#define BPK_FRAME_SPARSE_INDEX "chunks.b2frame"

/* The file name of a chunk ("Sparse frame"); and the reverse, false if name is not a chunk's. */
void bpk_frame_file_name(uint32_t id, char name[BPK_FRAME_FILE_NAME]);
bool bpk_frame_file_id(const char *name, uint32_t *id);

/* ---- Lists of ids: 4 bytes each, ascending ---- */

/* List the ids among the entries of an index (8 bytes each) in ids, which is replaced. */
int bpk_frame_ids_list(const struct bpk_buf *entries, struct bpk_buf *ids, struct bpk_err *err);

/* The same for the index of a state. */
int bpk_frame_ids_of_state(const struct bpk_frame_state *state, struct bpk_buf *ids,
			   struct bpk_err *err);

bool bpk_frame_ids_have(const struct bpk_buf *ids, uint32_t id);
uint32_t bpk_frame_ids_last(const struct bpk_buf *ids); /* of a list that is not empty */

#endif
