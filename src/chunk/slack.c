/*
 * Slack: unused bytes after the last block, included in the packed size. Formats that edit archives
 * in place call it. Source: Bloscpack format, "Reserved space for in-place modification".
 */
#include <stdlib.h>

#include "chunk/chunk.h"

enum { PACKED_SIZE_FIELD = 12 }; /* Blosc chunk format, "Header" */

/* True if all block starts are within the chunk. */
static bool has_starts(struct bpk_view chunk, const struct bpk_chunk_header *header)
{
	return header->packed_size >= header->header_size && chunk.size >= header->header_size &&
	       bpk_min_u64(chunk.size, header->packed_size) - header->header_size >=
		       (uint64_t)4 * header->nblocks;
}

/* The most bytes that c-blosc2 reads for one block. */
static uint64_t block_limit(const struct bpk_chunk_header *header)
{
	return header->block_size + (uint64_t)4 * header->typesize;
}

/* The number of bytes that may follow the last block. */
static uint64_t room_behind(struct bpk_view chunk, const struct bpk_chunk_header *header)
{
	uint64_t limit = block_limit(header);
	uint32_t last = 0;

	if (header->header_size == BPK_CHUNK_HEADER_SIZE)
		return UINT64_MAX;
	if (!has_starts(chunk, header))
		return 0;
	for (uint32_t k = 0; k < header->nblocks; k++)
		last = (uint32_t)bpk_max_u64(
			last, bpk_get_le32(chunk.data + header->header_size + (size_t)4 * k));
	if (last > header->packed_size || header->packed_size - last > limit)
		return 0;
	return limit - (header->packed_size - last);
}

/* A chunk that already exceeds its bound came from another writer and keeps its size. */
uint32_t bpk_chunk_slot(struct bpk_view chunk, const struct bpk_chunk_header *header,
			uint64_t reserve)
{
	uint32_t bound = header->raw_size + header->header_size, packed = header->packed_size;

	/* variable-length blocks and special values extend to the end of the chunk */
	if (header->memcpyed || header->variable_blocks || header->special != BPK_SPECIAL_NONE ||
	    packed >= bound)
		return packed;
	reserve = bpk_min_u64(reserve, room_behind(chunk, header));
	return packed + (uint32_t)bpk_min_u64(reserve, bound - packed);
}

static int compare_starts(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

int bpk_chunk_blocks_fit(struct bpk_view chunk, const struct bpk_chunk_header *header, bool *fit,
			 struct bpk_err *err)
{
	uint64_t count = header->nblocks, limit = block_limit(header);
	struct bpk_buf starts = { 0 };
	uint32_t *start;

	*fit = true;
	if (count == 0 || header->variable_blocks || !has_starts(chunk, header))
		return 0;
	if (bpk_buf_resize(&starts, (size_t)count * sizeof *start, err) != 0)
		return -1;
	start = (uint32_t *)(void *)starts.data; /* aligned by bpk_buf */
	for (size_t k = 0; k < count; k++)
		start[k] = bpk_get_le32(chunk.data + header->header_size + 4 * k);
	qsort(start, (size_t)count, sizeof *start, compare_starts);
	for (size_t k = 0; k < count && *fit && start[count - 1] <= header->packed_size; k++) {
		uint32_t end = k + 1 < count ? start[k + 1] : header->packed_size;

		*fit = end > start[k] && end - start[k] <= limit;
	}
	bpk_buf_clear(&starts);
	return 0;
}

int bpk_chunk_pad(struct bpk_span chunk, size_t packed_size, struct bpk_err *err)
{
	struct bpk_chunk_header header;
	uint32_t most;

	if (chunk.size < packed_size)
		return bpk_fail(err, BPK_LIMIT, "chunk of %zu bytes in a slot of %zu", packed_size,
				chunk.size);
	if (bpk_chunk_header_read(bpk_view(chunk.data, packed_size), &header, err) != 0)
		return -1;
	if (header.packed_size != packed_size)
		return bpk_fail(err, BPK_CORRUPT, "chunk of %zu bytes says that it has %u",
				packed_size, (unsigned)header.packed_size);
	most = bpk_chunk_slot(bpk_view(chunk.data, packed_size), &header, UINT64_MAX);
	if (chunk.size > most)
		return bpk_fail(err, BPK_LIMIT, "chunk of %zu bytes in a slot of %zu, at most %u",
				packed_size, chunk.size, (unsigned)most);
	if (chunk.size > packed_size)
		memset(chunk.data + packed_size, 0, chunk.size - packed_size);
	bpk_put_le32(chunk.data + PACKED_SIZE_FIELD, (uint32_t)chunk.size);
	return 0;
}
