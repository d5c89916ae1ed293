/*
 * Room inside a chunk: its packed size counts bytes behind the last block, where nobody looks.
 * Source: Bloscpack format, "Reserved space for in-place modification".
 */
#include "chunk/chunk.h"

enum { PACKED_SIZE_FIELD = 12 }; /* Blosc chunk format, "Header" */

/* A chunk that has more than its bound already came from elsewhere, and keeps what it has. */
uint32_t bpk_chunk_slot(const struct bpk_chunk_header *header, uint64_t reserve)
{
	uint32_t bound = header->raw_size + header->header_size, packed = header->packed_size;

	/* of blocks of variable length the last ends with the chunk, and so does a special value */
	if (header->memcpyed || header->variable_blocks || header->special != BPK_SPECIAL_NONE ||
	    packed >= bound)
		return packed;
	return packed + (uint32_t)bpk_min_u64(reserve, bound - packed);
}

int bpk_chunk_pad(struct bpk_span chunk, size_t packed_size, struct bpk_err *err)
{
	struct bpk_chunk_header header;

	if (chunk.size < packed_size)
		return bpk_fail(err, BPK_LIMIT, "chunk of %zu bytes in a slot of %zu", packed_size,
				chunk.size);
	if (bpk_chunk_header_read(bpk_view(chunk.data, packed_size), &header, err) != 0)
		return -1;
	if (header.packed_size != packed_size)
		return bpk_fail(err, BPK_CORRUPT, "chunk of %zu bytes says that it has %u",
				packed_size, (unsigned)header.packed_size);
	if (chunk.size > bpk_chunk_slot(&header, UINT64_MAX))
		return bpk_fail(err, BPK_LIMIT, "chunk of %zu bytes in a slot of %zu, at most %u",
				packed_size, chunk.size,
				(unsigned)bpk_chunk_slot(&header, UINT64_MAX));
	if (chunk.size > packed_size)
		memset(chunk.data + packed_size, 0, chunk.size - packed_size);
	bpk_put_le32(chunk.data + PACKED_SIZE_FIELD, (uint32_t)chunk.size);
	return 0;
}
