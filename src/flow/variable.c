/*
 * Packs chunks of blocks that record their own size. A recompressed chunk keeps its blocks, since a
 * program may have put them in one by one. All chunks of such an archive have blocks of this kind,
 * so incompressible bytes are stored block by block, and zeros are packed as other bytes. work.c
 * calls this.
 */
#include "flow/work.h"

static int add_size(struct bpk_buf *sizes, uint64_t size, struct bpk_err *err)
{
	uint32_t one = (uint32_t)size;

	return bpk_buf_append(sizes, bpk_view(&one, sizeof one), err);
}

/* Take as many of the sizes as raw_size has room for, the last one cut; then blocks of
 * block_size. */
static int fit_sizes(struct bpk_view given, uint64_t raw_size, uint32_t block_size,
		     struct bpk_buf *sizes, struct bpk_err *err)
{
	uint64_t left = raw_size, size;
	uint32_t one;

	sizes->size = 0;
	for (size_t at = 0; left > 0; at += sizeof one) {
		size = block_size > 0 ? block_size : left;
		if (at < given.size) {
			memcpy(&one, given.data + at, sizeof one);
			size = one;
		}
		size = bpk_min_u64(size, bpk_min_u64(left, BPK_CHUNK_MAX_BLOCK_SIZE));
		if (add_size(sizes, size, err) != 0)
			return -1;
		left -= size;
	}
	return 0;
}

int bpk_work_encode_variable(struct bpk_worker *worker, const struct bpk_recipe *recipe,
			     struct bpk_view sizes, struct bpk_parcel *parcel, struct bpk_err *err)
{
	enum { FOR_EACH = 8 }; /* bytes: its place and its size */
	struct bpk_view raw = bpk_buf_view(&parcel->raw);
	struct bpk_buf *fitted = &worker->sizes;
	size_t room, count;

	if (fit_sizes(sizes, raw.size, recipe->block_size, fitted, err) != 0)
		return -1;
	count = fitted->size / sizeof(uint32_t);
	room = bpk_chunk_bound(raw.size) + FOR_EACH * count;
	if (bpk_buf_reserve(&parcel->packed, room + BPK_DIGEST_MAX, err) != 0)
		return -1;
	return bpk_chunk_encode_blocks(worker->ctx, recipe, raw,
				       (const uint32_t *)(const void *)fitted->data, /* aligned */
				       (uint32_t)count, bpk_span(parcel->packed.data, room),
				       &parcel->packed_size, err);
}
