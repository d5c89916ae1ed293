/*
 * Finds the entries of an index that do not ascend with the others. survey.c calls it.
 *
 *     entries  | 0 10 90 20 | 30 91 40 50 |        moved: 90 and 91
 *     least    | 0          | 30          | none   of each block and all that follow it
 *
 * From the least entry behind a block, the block itself tells which of its entries are moved. So
 * memory takes a number for each block.
 */
#include "format/frame/order.h"

#include <stdlib.h>

enum { BLOCK = 4096 };

struct bpk_frame_order {
	const struct bpk_frame_state *state;
	uint64_t loaded; /* the number of the block in entries, plus 1; 0: none */
	uint64_t entries[BLOCK];
	bool moved[BLOCK];
	uint64_t least[]; /* of each block, and at the end BPK_UNKNOWN */
};

static uint64_t count_blocks(const struct bpk_frame_state *state)
{
	return bpk_div_up(state->nchunks, BLOCK);
}

static size_t size_of(const struct bpk_frame_order *order, uint64_t block)
{
	return (size_t)bpk_min_u64(order->state->nchunks - block * BLOCK, BLOCK);
}

/* Read the entries of a block; special values become BPK_UNKNOWN. */
static int load(struct bpk_frame_order *order, uint64_t block, struct bpk_err *err)
{
	size_t size = size_of(order, block), count;
	uint64_t first = block * BLOCK;

	order->loaded = 0;
	for (size_t i = 0; i < size; i += count) {
		count = order->state->entry_pages != NULL ? size - i : 1;
		if ((order->state->entry_pages != NULL
			     ? bpk_frame_entries(order->state, first + i, &count,
						 order->entries + i, err)
			     : bpk_frame_entry(order->state, first + i, order->entries + i, err)) !=
		    0)
			return -1;
	}
	for (size_t i = 0; i < size; i++)
		if (bpk_frame_offset_special(order->entries[i]) != BPK_SPECIAL_NONE)
			order->entries[i] = BPK_UNKNOWN;
	order->loaded = block + 1;
	return 0;
}

/* Load a block and tell its moved entries; returns their number, or -1. */
static int judge(struct bpk_frame_order *order, uint64_t block, struct bpk_err *err)
{
	uint64_t least = order->least[block + 1];
	int count = 0;

	if (load(order, block, err) != 0)
		return -1;
	for (size_t i = size_of(order, block); i-- > 0;) {
		uint64_t entry = order->entries[i];

		order->moved[i] = entry != BPK_UNKNOWN && entry > least;
		count += order->moved[i];
		least = bpk_min_u64(least, entry);
	}
	return count;
}

static int find_least(struct bpk_frame_order *order, struct bpk_err *err)
{
	uint64_t nblocks = count_blocks(order->state);

	for (uint64_t block = 0; block < nblocks; block++) {
		if (load(order, block, err) != 0)
			return -1;
		order->least[block] = BPK_UNKNOWN;
		for (size_t i = 0; i < size_of(order, block); i++)
			order->least[block] = bpk_min_u64(order->least[block], order->entries[i]);
	}
	order->least[nblocks] = BPK_UNKNOWN;
	for (uint64_t block = nblocks; block-- > 0;)
		order->least[block] = bpk_min_u64(order->least[block], order->least[block + 1]);
	return 0;
}

int bpk_frame_order_new(const struct bpk_frame_state *state, struct bpk_frame_order **order,
			uint64_t *nmoved, struct bpk_err *err)
{
	uint64_t nblocks = count_blocks(state);
	int count = 0;

	*nmoved = 0;
	*order = bpk_calloc(1, sizeof **order + (size_t)(nblocks + 1) * sizeof(uint64_t), err);
	if (*order == NULL)
		return -1;
	(*order)->state = state;
	if (find_least(*order, err) != 0)
		count = -1;
	for (uint64_t block = 0; count >= 0 && block < nblocks; block++) {
		count = judge(*order, block, err);
		*nmoved += count > 0 ? (uint64_t)count : 0;
	}
	if (count >= 0)
		return 0;
	bpk_frame_order_free(*order);
	*order = NULL;
	return -1;
}

void bpk_frame_order_free(struct bpk_frame_order *order)
{
	free(order);
}

int bpk_frame_order_is_moved(struct bpk_frame_order *order, uint64_t number, bool *moved,
			     struct bpk_err *err)
{
	uint64_t block = number / BLOCK;

	if (order->loaded != block + 1 && judge(order, block, err) < 0)
		return -1;
	*moved = order->moved[number % BLOCK];
	return 0;
}
