/*
 * Lists of ids, inside the room: the numbers of a sparse frame's chunk files, 4 bytes each,
 * ascending.
 */
#ifndef BPK_FORMAT_FRAME_IDS_H
#define BPK_FORMAT_FRAME_IDS_H

#include "format/format.h"

/* List the ids among the entries of an index (8 bytes each) in ids, which is replaced. */
int bpk_frame_ids_list(const struct bpk_buf *entries, struct bpk_buf *ids, struct bpk_err *err);

size_t bpk_frame_ids_count(const struct bpk_buf *ids);

/* The id at position i, below the count. */
uint32_t bpk_frame_ids_at(const struct bpk_buf *ids, size_t i);

bool bpk_frame_ids_have(const struct bpk_buf *ids, uint32_t id);

#endif
