/*
 * Writes the chunks of a frame itself: its index, and the values in its trailer. Called by index.c
 * and trailer.c.
 */
#include "format/frame/parts/section.h"

#include <inttypes.h>

enum {
	VERSION = 5,
	TYPESIZE = 8,
	LEVEL = 5,
	BLOCK_SIZE = 16 << 10, /* as in c-blosc2's indexes */
	LEAST = 64,            /* smallest size that is packed */
	SHUFFLE_SLOT =
		21, /* last of six slots; c-blosc2 names a filter there that is not applied */
};

/* c-blosc2's block size ("Choosing the blocksize when writing"). */
static uint32_t block_size(uint32_t raw_size)
{
	return raw_size < TYPESIZE ? 1 : raw_size - raw_size % TYPESIZE;
}

int bpk_frame_pack_stored(struct bpk_view raw, unsigned flags, struct bpk_buf *out,
			  struct bpk_err *err)
{
	uint8_t head[BPK_CHUNK_EXTENDED_HEADER_SIZE] = { VERSION, 1, (uint8_t)flags, TYPESIZE };

	if (raw.size > BPK_CHUNK_MAX_RAW_SIZE_EXTENDED)
		return bpk_fail(err, BPK_LIMIT, "%zu bytes in one chunk, expected at most %d",
				raw.size, BPK_CHUNK_MAX_RAW_SIZE_EXTENDED);
	bpk_put_le32(head + 4, (uint32_t)raw.size);
	bpk_put_le32(head + 8, block_size((uint32_t)raw.size));
	bpk_put_le32(head + 12, (uint32_t)(sizeof head + raw.size));
	head[SHUFFLE_SLOT] = BPK_FILTER_SHUFFLE;
	if (bpk_buf_append(out, bpk_view(head, sizeof head), err) != 0)
		return -1;
	return bpk_buf_append(out, raw, err);
}

int bpk_frame_pack(struct bpk_chunk_ctx *ctx, struct bpk_view raw, unsigned stored_flags,
		   struct bpk_buf *out, struct bpk_err *err)
{
	/* the codec that every c-blosc2 has built in */
	struct bpk_recipe recipe = {
		.codec = bpk_codec_find("blosclz"),
		.level = LEVEL,
		.typesize = TYPESIZE,
		.pipeline = bpk_pipeline_of(BPK_FILTER_SHUFFLE),
		.block_size = BLOCK_SIZE,
		.extended = true,
	};
	size_t start = out->size, packed_size;
	struct bpk_span room;

	if (raw.size < LEAST || raw.size > BPK_CHUNK_MAX_RAW_SIZE_EXTENDED)
		return bpk_frame_pack_stored(raw, stored_flags, out, err);
	if (bpk_buf_reserve(out, start + bpk_chunk_bound(raw.size), err) != 0)
		return -1;
	room = bpk_span(out->data + start, bpk_chunk_bound(raw.size));
	if (bpk_chunk_encode(ctx, &recipe, raw, room, &packed_size, err) != 0)
		return -1;
	if (packed_size >= raw.size + BPK_CHUNK_EXTENDED_HEADER_SIZE)
		return bpk_frame_pack_stored(raw, stored_flags, out, err);
	out->size = start + packed_size;
	return 0;
}
