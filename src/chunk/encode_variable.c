/*
 * Encoding variable-length blocks. Called by encode.c. Source: Blosc chunk format,
 * "Variable-length-block chunks".
 */
#include "chunk/encode.h"

static size_t size_of(const struct bpk_encoding *e, uint32_t number, size_t left)
{
	return e->sizes != NULL ? e->sizes[number] : bpk_min_size(e->block_size, left);
}

static int reserve_largest(struct bpk_encoding *e, struct bpk_err *err)
{
	size_t largest = 0, left = e->raw.size;

	for (uint32_t k = 0; k < e->nblocks; k++) {
		size_t size = size_of(e, k, left);

		largest = bpk_max_u64(largest, size);
		left -= size;
	}
	return bpk_encode_reserve(e, largest, err);
}

/* Write the raw size, then the block: stored if its size equals the raw size, else one stream. */
static enum bpk_outcome put_block(struct bpk_encoding *e, struct bpk_view block,
				  struct bpk_err *err)
{
	struct bpk_view bytes = bpk_encode_filter(e, block, NULL);
	uint8_t *to = e->out + e->used;
	size_t room = e->end - e->used, packed_size = 0;

	if (room <= 4)
		return BPK_ENCODE_OUTGROWN;
	room -= 4;
	if (e->recipe->level > 0 && bpk_encode_pack(e, bytes, to + 4, room, &packed_size, err) != 0)
		return BPK_ENCODE_FAILED;
	if (packed_size == 0) {
		if (bytes.size > room)
			return BPK_ENCODE_OUTGROWN;
		memcpy(to + 4, bytes.data, bytes.size);
		packed_size = bytes.size;
	}
	bpk_put_le32(to, (uint32_t)block.size);
	e->used += 4 + packed_size;
	return BPK_ENCODE_DONE;
}

enum bpk_outcome bpk_encode_variable(struct bpk_encoding *e, struct bpk_err *err)
{
	enum bpk_outcome outcome = bpk_encode_begin_blocks(e, e->nblocks);
	struct bpk_view left = e->raw;

	if (outcome == BPK_ENCODE_DONE && reserve_largest(e, err) != 0)
		return BPK_ENCODE_FAILED;
	for (uint32_t k = 0; k < e->nblocks && outcome == BPK_ENCODE_DONE; k++) {
		size_t size = size_of(e, k, left.size);

		bpk_put_le32(e->out + e->header_size + (size_t)4 * k, (uint32_t)e->used);
		outcome = put_block(e, bpk_view(left.data, size), err);
		left.data += size;
		left.size -= size;
	}
	return outcome;
}

enum bpk_outcome bpk_encode_all(struct bpk_encoding *e, struct bpk_err *err)
{
	return e->nblocks > 0 ? bpk_encode_variable(e, err) : bpk_encode_blocks(e, err);
}
