/*
 * Decoding variable-length blocks, for decode.c. Source: Blosc chunk format, "Variable-length-block
 * chunks".
 */
#include "chunk/decode.h"

#include <inttypes.h>

enum { SIZE_FIELD = 4, LEAST_SPAN = 5 };

/* The bytes of block number, from its size field to the next start; starts ascend. */
static int block_span(const struct bpk_decoding *d, uint32_t number, struct bpk_view *span,
		      struct bpk_err *err)
{
	uint32_t start, end = (uint32_t)d->chunk.size;

	if (bpk_block_start(d, number, &start, err) != 0)
		return -1;
	if (number + 1 < d->header.nblocks && bpk_block_start(d, number + 1, &end, err) != 0)
		return -1;
	if (end < start || end - start < LEAST_SPAN)
		return bpk_fail(err, BPK_CORRUPT,
				"block %" PRIu32 " from %" PRIu32 " ends at %" PRIu32
				", it needs %d bytes",
				number, start, end, LEAST_SPAN);
	*span = bpk_view(d->chunk.data + start, end - start);
	return 0;
}

/* "Validation", item 14: check all blocks before any offset is derived from their sizes. */
static int check_blocks(const struct bpk_decoding *d, uint32_t *sizes, struct bpk_err *err)
{
	uint64_t left = d->header.raw_size;

	for (uint32_t k = 0; k < d->header.nblocks; k++) {
		struct bpk_view span;
		uint32_t size;

		if (block_span(d, k, &span, err) != 0)
			return -1;
		size = bpk_get_le32(span.data);
		if (size == 0 || size > left)
			return bpk_fail(err, BPK_CORRUPT,
					"block %" PRIu32 " says that it has %" PRIu32
					" bytes, %" PRIu64 " of the chunk are left",
					k, size, left);
		left -= size;
		if (sizes != NULL)
			sizes[k] = size;
	}
	if (left > 0)
		return bpk_fail(err, BPK_CORRUPT,
				"blocks hold %" PRIu64 " bytes less than the chunk's %" PRIu32,
				left, d->header.raw_size);
	return 0;
}

int bpk_variable_read(struct bpk_decoding *d, uint64_t start, struct bpk_span out,
		      struct bpk_err *err)
{
	uint64_t base = 0, end = start + out.size;

	if (check_blocks(d, NULL, err) != 0)
		return -1;
	for (uint32_t k = 0; base < end; k++) {
		struct bpk_view span;
		uint32_t size;

		if (block_span(d, k, &span, err) != 0)
			return -1;
		size = bpk_get_le32(span.data);
		if (base + size > start) {
			size_t lo = bpk_max_u64(start, base) - base;
			size_t hi = bpk_min_u64(end - base, size);
			struct bpk_block b;

			bpk_block_init(&b, d, k,
				       bpk_view(span.data + SIZE_FIELD, span.size - SIZE_FIELD),
				       size, 1);
			if (bpk_block_read(&b, lo, hi,
					   out.data == NULL ? NULL : out.data + (base + lo - start),
					   err) != 0)
				return -1;
		}
		base += size;
	}
	return 0;
}

int bpk_chunk_block_sizes(struct bpk_view chunk, uint32_t *sizes, struct bpk_err *err)
{
	struct bpk_decoding d;

	if (bpk_decoding_open(&d, NULL, chunk, err) != 0)
		return -1;
	if (!d.header.variable_blocks)
		return bpk_fail(err, BPK_USAGE, "chunk has no blocks of variable length");
	if (bpk_decoding_find_blocks(&d, err) != 0)
		return -1;
	return check_blocks(&d, sizes, err);
}
