/*
 * Reads and writes trailers: 94 01, a section whose values are chunks (in version 1 one chunk
 * instead), and the last 23 bytes, which locate it from the frame's end. Called by state.c and
 * end.c.
 */
#include "format/frame/parts/section.h"

#include <inttypes.h>

enum {
	VERSION = 1,
	HEAD_SIZE = 2,
	VALUE_HEAD = 5,
	FINGERPRINT = 5,        /* from the marker of the length to that of the fingerprint ... */
	MARK = FINGERPRINT + 2, /* ... and to its 16 bytes, after its type */
	LEAST_TRAILER_1 = 30,
	SHORT = 32, /* smallest raw size that c-blosc2 tries to pack */
};

/* ---- Reading ---- */

/* Unpack one value, a chunk, in its place. left: raw bytes that are still allowed. */
static int unpack(struct bpk_chunk_ctx *ctx, struct bpk_buf *value, uint64_t *left,
		  struct bpk_err *err)
{
	struct bpk_view packed = bpk_buf_view(value);
	struct bpk_chunk_header chunk;
	struct bpk_buf raw = { 0 };

	if (bpk_frame_own_chunk(packed, &chunk, err) != 0)
		return -1;
	if (chunk.packed_size != packed.size)
		return bpk_fail(err, BPK_CORRUPT, "its chunk has %" PRIu32 " bytes, expected %zu",
				chunk.packed_size, packed.size);
	if (chunk.raw_size > *left)
		return bpk_fail(err, BPK_LIMIT,
				"it unpacks to %" PRIu32 " bytes, %" PRIu64
				" are left for metalayers",
				chunk.raw_size, *left);
	if (bpk_buf_resize(&raw, chunk.raw_size, err) != 0)
		return -1;
	if (bpk_chunk_decode(ctx, packed, bpk_span(raw.data, raw.size), err) != 0) {
		bpk_buf_clear(&raw);
		return -1;
	}
	*left -= chunk.raw_size;
	bpk_buf_clear(value);
	*value = raw;
	return 0;
}

static int unpack_all(struct bpk_chunk_ctx *ctx, struct bpk_frame_layers *layers, uint64_t limit,
		      struct bpk_err *err)
{
	for (size_t i = 0; i < layers->count; i++)
		if (unpack(ctx, &layers->all[i].content, &limit, err) != 0)
			return bpk_err_subject(err, "metalayer '%s'", layers->all[i].name);
	return 0;
}

/* Version 1: one value without a name ("Frame version 1"). */
static int read_usermeta(struct bpk_view bytes, struct bpk_frame_layers *layers,
			 struct bpk_err *err)
{
	size_t room = bytes.size - BPK_FRAME_TRAILER_TAIL - HEAD_SIZE - VALUE_HEAD;
	const uint8_t *value = bytes.data + HEAD_SIZE;
	uint32_t size = bpk_get_be32(value + 1);

	if (value[0] != BPK_FRAME_BIN_32 || size > room)
		return bpk_fail(err, BPK_CORRUPT,
				"trailer of version 1 begins its value with %02x and %" PRIu32
				" bytes, expected %02x and at most %zu",
				value[0], size, BPK_FRAME_BIN_32, room);
	if (size == 0)
		return 0;
	return bpk_frame_layers_set(layers, "usermeta", bpk_view(value + VALUE_HEAD, size), err);
}

static int read_section(struct bpk_view bytes, struct bpk_frame_layers *layers, struct bpk_err *err)
{
	struct bpk_frame_section section = {
		.part = bytes,
		.start = HEAD_SIZE,
		.end = bytes.size - BPK_FRAME_TRAILER_TAIL,
		.max = BPK_FRAME_MAX_LAYERS,
		.in_trailer = true,
	};

	return bpk_frame_section_read(&section, layers, err);
}

/* Check the first and the last bytes. */
static int check_ends(struct bpk_view bytes, size_t least, struct bpk_err *err)
{
	const uint8_t *tail;

	if (bytes.size < least)
		return bpk_fail(err, BPK_CORRUPT, "trailer has %zu bytes, expected %zu or more",
				bytes.size, least);
	tail = bytes.data + bytes.size - BPK_FRAME_TRAILER_TAIL;
	if (tail[0] != BPK_FRAME_UINT_32 || bpk_get_be32(tail + 1) != bytes.size)
		return bpk_fail(err, BPK_CORRUPT,
				"trailer ends with %02x and says that it has %" PRIu32
				" bytes, expected %02x and %zu",
				tail[0], bpk_get_be32(tail + 1), BPK_FRAME_UINT_32, bytes.size);
	if (bytes.data[0] != BPK_FRAME_ARRAY_4 || tail[FINGERPRINT] != BPK_FRAME_FIXEXT_16)
		return bpk_fail(err, BPK_CORRUPT, "trailer has no markers at its ends");
	if (bytes.data[1] != VERSION)
		return bpk_fail(err, bytes.data[1] == VERSION + 1 ? BPK_UNSUPPORTED : BPK_CORRUPT,
				"trailer version %u is not known, expected %d", bytes.data[1],
				VERSION);
	return 0;
}

int bpk_frame_trailer_read(struct bpk_chunk_ctx *ctx, const struct bpk_frame_header *header,
			   struct bpk_view bytes, uint64_t limit, struct bpk_frame_layers *layers,
			   struct bpk_err *err)
{
	bool first = header->version == 1;

	*layers = (struct bpk_frame_layers){ 0 };
	if (check_ends(bytes, first ? LEAST_TRAILER_1 : BPK_FRAME_LEAST_TRAILER, err) != 0)
		return -1;
	if ((first ? read_usermeta(bytes, layers, err) : read_section(bytes, layers, err)) == 0 &&
	    unpack_all(ctx, layers, limit, err) == 0)
		return 0;
	bpk_frame_layers_clear(layers);
	return -1;
}

enum bpk_frame_author bpk_frame_trailer_author(struct bpk_view trailer)
{
	static const uint8_t none[1 + BPK_FRAME_MARK_SIZE];
	const uint8_t *end = trailer.data + trailer.size, *mark = end - BPK_FRAME_MARK_SIZE;

	if (memcmp(mark, BPK_FRAME_MARK, BPK_FRAME_MARK_SIZE) == 0)
		return BPK_FRAME_BY_BPK;
	/* its type, 0, precedes it */
	return memcmp(mark - 1, none, sizeof none) == 0 ? BPK_FRAME_BY_OTHER : BPK_FRAME_BY_NOBODY;
}

/* ---- Writing ---- */

static bool is_digests(const struct bpk_frame_layer *layer)
{
	return strcmp(layer->name, BPK_FRAME_DIGESTS) == 0;
}

static int pack_layer(struct bpk_chunk_ctx *ctx, const struct bpk_frame_layer *layer,
		      struct bpk_frame_layers *packed, struct bpk_err *err)
{
	struct bpk_view raw = bpk_buf_view(&layer->content);
	unsigned flags = raw.size < SHORT ? BPK_FRAME_STORED_SHORT : BPK_FRAME_STORED;
	struct bpk_buf chunk = { 0 };
	int rc;

	/* digests are not packed: their position must be known before their content. The record of
	 * a seal can be read in the file then, and packs little. */
	rc = bpk_frame_layer_is_ours(layer->name) ? bpk_frame_pack_stored(raw, flags, &chunk, err)
						  : bpk_frame_pack(ctx, raw, flags, &chunk, err);
	if (rc == 0)
		rc = bpk_frame_layers_set(packed, layer->name, bpk_buf_view(&chunk), err);
	bpk_buf_clear(&chunk);
	return rc;
}

static int pack_layers(struct bpk_chunk_ctx *ctx, const struct bpk_frame_layers *layers,
		       struct bpk_frame_layers *packed, struct bpk_err *err)
{
	for (unsigned digests = 0; digests < 2; digests++)
		for (size_t i = 0; i < layers->count; i++)
			if (is_digests(&layers->all[i]) == (digests == 1) &&
			    pack_layer(ctx, &layers->all[i], packed, err) != 0)
				return -1;
	return 0;
}

/* marked: the trailer ends with bpk's mark (frame.h). */
static int put_tail(size_t start, bool marked, struct bpk_buf *out, struct bpk_err *err)
{
	uint8_t tail[BPK_FRAME_TRAILER_TAIL] = { BPK_FRAME_UINT_32 };

	bpk_put_be32(tail + 1, (uint32_t)(out->size - start + sizeof tail));
	tail[FINGERPRINT] = BPK_FRAME_FIXEXT_16;
	if (marked)
		memcpy(tail + MARK, BPK_FRAME_MARK, BPK_FRAME_MARK_SIZE);
	return bpk_buf_append(out, bpk_view(tail, sizeof tail), err);
}

static int put_trailer(const struct bpk_frame_layers *packed, struct bpk_buf *out, size_t *places,
		       struct bpk_err *err)
{
	static const uint8_t head[HEAD_SIZE] = { BPK_FRAME_ARRAY_4, VERSION };
	bool marked = packed->count > 0 && is_digests(&packed->all[packed->count - 1]);
	size_t start = out->size;

	if (bpk_buf_append(out, bpk_view(head, sizeof head), err) == 0 &&
	    bpk_frame_section_write(packed, true, start, out, places, err) == 0 &&
	    put_tail(start, marked, out, err) == 0)
		return 0;
	out->size = start;
	return -1;
}

int bpk_frame_trailer_write(struct bpk_chunk_ctx *ctx, const struct bpk_frame_layers *layers,
			    struct bpk_buf *out, size_t *digests_at, struct bpk_err *err)
{
	size_t places[BPK_FRAME_MAX_LAYERS_WRITTEN];
	struct bpk_frame_layers packed = { 0 };
	int rc = -1;

	*digests_at = 0;
	if (layers->count > BPK_FRAME_MAX_LAYERS_WRITTEN)
		return bpk_fail(err, BPK_LIMIT,
				"%zu metalayers after the data, expected at most %d, bpk's own"
				" among them",
				layers->count, BPK_FRAME_MAX_LAYERS_WRITTEN);
	if (pack_layers(ctx, layers, &packed, err) == 0)
		rc = put_trailer(&packed, out, places, err);
	if (rc == 0 && packed.count > 0 && is_digests(&packed.all[packed.count - 1]))
		*digests_at =
			places[packed.count - 1] + VALUE_HEAD + BPK_CHUNK_EXTENDED_HEADER_SIZE;
	bpk_frame_layers_clear(&packed);
	return rc;
}
