/*
 * Chunks that consist of a header and at most one item. Called by encode.c. Source: Blosc chunk
 * format, "Special-value chunks".
 */
#include "chunk/encode.h"

/* The one bit pattern that a chunk of NaN stands for. */
static bool is_nan(const uint8_t *item, size_t typesize)
{
	return (typesize == 4 && bpk_get_le32(item) == 0x7fc00000) ||
	       (typesize == 8 && bpk_get_le64(item) == 0x7ff8000000000000);
}

/* As c-blosc2 does, chunks of zeros keep the flags that they would have had with blocks. */
static size_t put_zeros(const struct bpk_encoding *e)
{
	bpk_encode_header(e, bpk_encode_flags(e), BPK_SPECIAL_ZERO << BPK_B2FLAG_SPECIAL_SHIFT,
			  e->header_size);
	return e->header_size;
}

static size_t put_items(const struct bpk_encoding *e, size_t typesize)
{
	uint32_t size = (uint32_t)e->raw.size;

	if (is_nan(e->raw.data, typesize)) {
		bpk_chunk_write_special(BPK_SPECIAL_NAN, size, (unsigned)typesize, e->out);
		return BPK_CHUNK_EXTENDED_HEADER_SIZE;
	}
	bpk_chunk_write_special(BPK_SPECIAL_VALUE, size, (unsigned)typesize, e->out);
	/* readers count blocks here as in any other chunk, and require whole items in each */
	if (e->block_size % typesize == 0)
		bpk_put_le32(e->out + 8, e->block_size);
	bpk_put_le32(e->out + 12, BPK_CHUNK_EXTENDED_HEADER_SIZE + (uint32_t)typesize);
	memcpy(e->out + BPK_CHUNK_EXTENDED_HEADER_SIZE, e->raw.data, typesize);
	return BPK_CHUNK_EXTENDED_HEADER_SIZE + typesize;
}

/*
 * A lossy pipeline would change the item unless it is zero, so such chunks are encoded as blocks,
 * whose runs are as short.
 */
size_t bpk_encode_special(const struct bpk_encoding *e)
{
	size_t ts = e->recipe->typesize, size = e->raw.size;

	if (size <= ts)
		return bpk_is_zero(e->raw) ? put_zeros(e) : 0;
	if (memcmp(e->raw.data, e->raw.data + ts, size - ts) != 0)
		return 0;
	if (bpk_is_zero(bpk_view(e->raw.data, ts)))
		return put_zeros(e);
	if (size % ts != 0 || bpk_pipeline_is_lossy(&e->pipeline))
		return 0;
	return put_items(e, ts);
}
