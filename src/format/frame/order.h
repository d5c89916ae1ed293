/*
 * The order of an index, inside the room: the few entries of a changed frame that do not ascend
 * with the others.
 */
#ifndef BPK_FORMAT_FRAME_ORDER_H
#define BPK_FORMAT_FRAME_ORDER_H

#include "format/frame/state.h"

/* The entries of a state, by which it must outlive this. One thread. */
struct bpk_frame_order;

/*
 * Read the index twice and count the moved entries: those greater than a later one, as a chunk's is
 * when it was written again behind all others. The rest ascend. Special values are not moved. Takes
 * 2 bytes for each 1,000 entries, and 40 KiB. Fails as bpk_frame_entry does, or with BPK_NO_MEMORY.
 * Freed by bpk_frame_order_free, which accepts NULL.
 */
int bpk_frame_order_new(const struct bpk_frame_state *state, struct bpk_frame_order **order,
			uint64_t *nmoved, struct bpk_err *err);
void bpk_frame_order_free(struct bpk_frame_order *order);

/* Tell whether the entry of chunk number, below nchunks, is moved. Fast in ascending order. */
int bpk_frame_order_is_moved(struct bpk_frame_order *order, uint64_t number, bool *moved,
			     struct bpk_err *err);

#endif
