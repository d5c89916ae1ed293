/*
 * Reads and writes headers: 87 bytes (82 in version 1), then the section of the fixed metalayers.
 * Called by readers, writers and editors of frames.
 */
#include "format/frame/parts/section.h"

#include <inttypes.h>

enum {
	MARK = 0x9e,   /* fixarray of 14 */
	MARK_1 = 0x9d, /* of 13: version 1 */
	MAGIC = 10,    /* bytes of the mark and the magic string */

	TEXT_4 = 0xa4,
	NO = 0xc2,
	YES = 0xc3,
	WIDTH_1 = 2, /* code of 64-bit offsets in version 1 ("Frame version 1") */
	WIDTH = 1,
	VARIABLE_CHUNKS = 0x40,
	VARIABLE_BLOCKS = 0x80,
	DICTIONARY = 1,
	USER_CODEC = 6,
	SLOTS = 6,
	SLOTS_1 = 8,
	LEAST_HEADER_1 = 92,
	LEAST_TRAILER_1 = 30,
};

static const uint8_t magic[] = { 0xa8, 'b', '2', 'f', 'r', 'a', 'm', 'e', 0 };

void bpk_frame_header_clear(struct bpk_frame_header *header)
{
	bpk_frame_layers_clear(&header->fixed);
	*header = (struct bpk_frame_header){ 0 };
}

uint64_t bpk_frame_count(const struct bpk_frame_header *header)
{
	return header->chunk_size > 0 ? bpk_div_up(header->raw_size, (uint64_t)header->chunk_size)
				      : 0;
}

int bpk_frame_header_size(struct bpk_view head, uint32_t *size, struct bpk_err *err)
{
	struct bpk_cursor cursor = bpk_cursor(head);
	const uint8_t *start = bpk_cursor_take(&cursor, MAGIC);
	unsigned marker = bpk_cursor_u8(&cursor);
	int32_t length = (int32_t)bpk_cursor_be32(&cursor);
	int32_t least;

	if (cursor.bad)
		return bpk_fail(err, BPK_CORRUPT, "header ends after %zu bytes", head.size);
	if ((start[0] != MARK && start[0] != MARK_1) ||
	    memcmp(start + 1, magic, sizeof magic) != 0 || marker != BPK_FRAME_INT_32)
		return bpk_fail(err, BPK_CORRUPT, "not a Blosc2 frame: it does not begin as one");
	least = start[0] == MARK ? BPK_FRAME_LEAST_HEADER : LEAST_HEADER_1;
	if (length < least)
		return bpk_fail(err, BPK_CORRUPT,
				"header says that it has %" PRId32 " bytes, expected %" PRId32
				" or more",
				length, least);
	*size = (uint32_t)length;
	return 0;
}

/* ---- Reading ---- */

/* Takes the fields in order, each after its marker. */
struct taker {
	struct bpk_cursor cursor;
	unsigned strange; /* number of unexpected markers */
	unsigned found;   /* the first of them */
	size_t left;      /* bytes left before it */
};

static void take_marker(struct taker *t, unsigned expected)
{
	size_t left = t->cursor.left;
	unsigned marker = bpk_cursor_u8(&t->cursor);

	if (marker == expected || t->cursor.bad)
		return;
	if (t->strange++ == 0) {
		t->found = marker;
		t->left = left;
	}
}

static uint64_t take_64(struct taker *t, unsigned marker)
{
	take_marker(t, marker);
	return bpk_cursor_be64(&t->cursor);
}

static int32_t take_32(struct taker *t)
{
	take_marker(t, BPK_FRAME_INT_32);
	return (int32_t)bpk_cursor_be32(&t->cursor);
}

static uint16_t take_16(struct taker *t)
{
	take_marker(t, BPK_FRAME_INT_16);
	return bpk_cursor_be16(&t->cursor);
}

static bool take_bool(struct taker *t)
{
	size_t left = t->cursor.left;
	unsigned marker = bpk_cursor_u8(&t->cursor);

	if (marker != YES && marker != NO && t->strange++ == 0) {
		t->found = marker;
		t->left = left;
	}
	return marker == YES;
}

/* Take the general flags, the codec and the split mode. Returns the flags. */
static unsigned take_flags(struct taker *t, struct bpk_frame_header *h, unsigned *type)
{
	unsigned flags, codec;

	take_marker(t, TEXT_4);
	flags = bpk_cursor_u8(&t->cursor);
	*type = bpk_cursor_u8(&t->cursor);
	codec = bpk_cursor_u8(&t->cursor);
	h->codec = codec & 0xf;
	h->level = codec >> 4;
	h->split = bpk_cursor_u8(&t->cursor);
	return flags;
}

static void take_filters(struct taker *t, struct bpk_frame_header *h)
{
	unsigned slots = h->version == 1 ? SLOTS_1 : SLOTS;
	const uint8_t *ids, *metas;

	take_marker(t, BPK_FRAME_FIXEXT_16);
	h->nfilters = bpk_cursor_u8(&t->cursor);
	ids = bpk_cursor_take(&t->cursor, slots);
	if (h->version > 1) {
		h->user_codec = bpk_cursor_u8(&t->cursor);
		h->codec_meta = bpk_cursor_u8(&t->cursor);
	}
	metas = bpk_cursor_take(&t->cursor, slots);
	for (unsigned i = 0; i < slots && i < h->nfilters && metas != NULL; i++) {
		h->filters[i] = ids[i];
		h->filter_metas[i] = metas[i];
	}
	if (h->version > 1) {
		h->dictionary = (bpk_cursor_u8(&t->cursor) & DICTIONARY) != 0;
		(void)bpk_cursor_u8(&t->cursor); /* reserved */
	}
}

/* Take all fields before the layers, in the order of the specification. */
static void take_fields(struct taker *t, struct bpk_frame_header *h, unsigned *type)
{
	(void)bpk_cursor_take(&t->cursor, MAGIC);
	h->size = (uint32_t)take_32(t);
	h->frame_size = take_64(t, BPK_FRAME_UINT_64);
	h->flags = take_flags(t, h, type);
	if (h->version != 1)
		h->version = h->flags & 0xf;
	h->raw_size = take_64(t, BPK_FRAME_INT_64);
	h->packed_size = take_64(t, BPK_FRAME_INT_64);
	h->typesize = (uint32_t)take_32(t);
	if (h->version != 1)
		h->block_size = (uint32_t)take_32(t);
	h->chunk_size = take_32(t);
	h->pack_threads = take_16(t);
	h->unpack_threads = take_16(t);
	h->has_layers = take_bool(t);
	take_filters(t, h);
}

static int check_kind(struct bpk_frame_header *h, unsigned type, struct bpk_err *err)
{
	unsigned width = h->flags >> 4 & 3, expected = h->version == 1 ? WIDTH_1 : WIDTH;

	/* only the next version may come from a later program; in known versions, all values are */
	if (h->version < 1 || h->version > 3)
		return bpk_fail(err, h->version == 4 ? BPK_UNSUPPORTED : BPK_CORRUPT,
				"frame version %u is not known, expected 1 to 3", h->version);
	if (width != expected)
		return bpk_fail(err, BPK_CORRUPT,
				"offsets of width code %u are not known, expected %u", width,
				expected);
	if (type > (h->version == 1 ? 0u : 1u))
		return bpk_fail(err, BPK_CORRUPT, "frame type %u is not known, expected 0 or 1",
				type);
	if (h->nfilters > (h->version == 1 ? SLOTS_1 : SLOTS))
		return bpk_fail(err, BPK_CORRUPT, "header has %u filter slots, expected at most %d",
				h->nfilters, h->version == 1 ? SLOTS_1 : SLOTS);
	h->sparse = type == 1;
	return 0;
}

static int check_fields(const struct bpk_frame_header *h, struct bpk_err *err)
{
	if (h->typesize == 0 || h->typesize > INT32_MAX)
		return bpk_fail(err, BPK_CORRUPT,
				"typesize in the header is %" PRId32 ", expected 1 or more",
				(int32_t)h->typesize);
	if (h->block_size > INT32_MAX)
		return bpk_fail(err, BPK_CORRUPT,
				"blocksize in the header is %" PRId32 ", expected 0 or more",
				(int32_t)h->block_size);
	if (h->chunk_size < -1)
		return bpk_fail(err, BPK_CORRUPT,
				"chunksize in the header is %" PRId32 ", expected -1 or more",
				h->chunk_size);
	if (h->raw_size > 0 && h->chunk_size == -1)
		return bpk_fail(err, BPK_CORRUPT,
				"header has %" PRIu64 " bytes of data, but no chunks yet",
				h->raw_size);
	if (bpk_frame_count(h) > BPK_FRAME_MAX_CHUNKS)
		return bpk_fail(err, BPK_CORRUPT,
				"header has %" PRIu64 " chunks, expected at most %d",
				bpk_frame_count(h), BPK_FRAME_MAX_CHUNKS);
	return 0;
}

/* Compare the sizes of the parts with the whole. */
static int check_sizes(const struct bpk_frame_header *h, struct bpk_err *err)
{
	uint64_t least = h->version == 1 ? LEAST_TRAILER_1 : BPK_FRAME_LEAST_TRAILER;
	uint64_t payload = h->sparse || h->raw_size == 0 ? 0 : h->packed_size;

	if (h->frame_size > INT64_MAX || h->raw_size > INT64_MAX || h->packed_size > INT64_MAX)
		return bpk_fail(err, BPK_CORRUPT, "a size in the header is negative");
	if (h->size > h->frame_size || h->frame_size - h->size < least)
		return bpk_fail(err, BPK_CORRUPT,
				"header of %" PRIu32 " bytes and a trailer exceed the frame's"
				" %" PRIu64 " bytes",
				h->size, h->frame_size);
	/* without data there is no index, and packed_size may count holes that do not exist */
	if (payload > h->frame_size - h->size - least)
		return bpk_fail(err, BPK_CORRUPT,
				"payload of %" PRIu64 " bytes exceeds the frame's %" PRIu64
				" bytes",
				payload, h->frame_size);
	return 0;
}

static int read_fields(struct bpk_view bytes, struct bpk_frame_header *h, struct bpk_err *err)
{
	struct taker taker = { .cursor = bpk_cursor(bytes) };
	unsigned type;

	h->version = bytes.data[0] == MARK_1 ? 1 : 0;
	take_fields(&taker, h, &type);
	if (taker.cursor.bad || h->size != bytes.size)
		return bpk_fail(err, BPK_CORRUPT, "header ends after %zu bytes, expected %" PRIu32,
				bytes.size, h->size);
	if (check_kind(h, type, err) != 0)
		return -1;
	if (taker.strange > 0)
		return bpk_fail(err, BPK_CORRUPT,
				"header has %02x at byte %zu, which is not a marker", taker.found,
				bytes.size - taker.left);
	if (check_fields(h, err) != 0)
		return -1;
	h->variable_chunks = h->chunk_size == 0;
	h->variable_blocks = h->version > 2 && (h->flags & VARIABLE_BLOCKS) != 0;
	return check_sizes(h, err);
}

int bpk_frame_header_read(struct bpk_view bytes, struct bpk_frame_header *header,
			  struct bpk_err *err)
{
	struct bpk_frame_section section = { .part = bytes, .end = bytes.size };
	uint32_t size;

	*header = (struct bpk_frame_header){ 0 };
	if (bpk_frame_header_size(bytes, &size, err) != 0)
		return -1;
	if (read_fields(bytes, header, err) != 0)
		goto failed;
	section.start = header->version == 1 ? BPK_FRAME_FIXED_SIZE_1 : BPK_FRAME_FIXED_SIZE;
	section.max = BPK_FRAME_MAX_FIXED_LAYERS;
	if (bpk_frame_section_read(&section, &header->fixed, err) == 0)
		return 0;
failed:
	bpk_frame_header_clear(header);
	return -1;
}

/* ---- Writing ---- */

/* Write the next field after its marker. */
static uint8_t *put_64(uint8_t *p, unsigned marker, uint64_t value)
{
	*p = (uint8_t)marker;
	bpk_put_be64(p + 1, value);
	return p + 9;
}

static uint8_t *put_32(uint8_t *p, uint32_t value)
{
	*p = BPK_FRAME_INT_32;
	bpk_put_be32(p + 1, value);
	return p + 5;
}

static uint8_t *put_16(uint8_t *p, uint16_t value)
{
	*p = BPK_FRAME_INT_16;
	bpk_put_be16(p + 1, value);
	return p + 3;
}

static uint8_t *put_flags(const struct bpk_frame_header *h, uint8_t *p)
{
	unsigned flags = WIDTH << 4;

	flags |= h->variable_chunks || h->variable_blocks ? 3 : 2;
	flags |= h->variable_chunks ? VARIABLE_CHUNKS : 0;
	flags |= h->variable_blocks ? VARIABLE_BLOCKS : 0;
	p[0] = TEXT_4;
	p[1] = (uint8_t)flags;
	p[2] = h->sparse;
	p[3] = (uint8_t)(h->codec | h->level << 4);
	p[4] = (uint8_t)h->split;
	return p + 5;
}

static uint8_t *put_filters(const struct bpk_frame_header *h, uint8_t *p)
{
	p[0] = BPK_FRAME_FIXEXT_16;
	p[1] = SLOTS;
	memcpy(p + 2, h->filters, SLOTS);
	/* also the number of a codec that is not user-defined */
	p[8] = (uint8_t)(h->codec == USER_CODEC ? h->user_codec : h->codec);
	p[9] = (uint8_t)h->codec_meta;
	memcpy(p + 10, h->filter_metas, SLOTS);
	p[16] = h->dictionary ? DICTIONARY : 0;
	p[17] = 0;
	return p + 18;
}

static void put_fields(const struct bpk_frame_header *h, uint8_t *p)
{
	p[0] = MARK;
	memcpy(p + 1, magic, sizeof magic);
	p = put_32(p + MAGIC, h->size);
	p = put_64(p, BPK_FRAME_UINT_64, h->frame_size);
	p = put_flags(h, p);
	p = put_64(p, BPK_FRAME_INT_64, h->raw_size);
	p = put_64(p, BPK_FRAME_INT_64, h->packed_size);
	p = put_32(p, h->typesize);
	p = put_32(p, h->block_size);
	p = put_32(p, (uint32_t)h->chunk_size);
	p = put_16(p, h->pack_threads);
	p = put_16(p, h->unpack_threads);
	*p++ = h->has_layers ? YES : NO;
	put_filters(h, p);
}

int bpk_frame_header_write(struct bpk_frame_header *header, struct bpk_buf *out,
			   struct bpk_err *err)
{
	size_t start = out->size;

	if (header->fixed.count > BPK_FRAME_MAX_FIXED_LAYERS)
		return bpk_fail(err, BPK_LIMIT, "%zu fixed metalayers, expected at most %d",
				header->fixed.count, BPK_FRAME_MAX_FIXED_LAYERS);
	if (bpk_buf_reserve(out, start + BPK_FRAME_LEAST_HEADER, err) != 0)
		return -1;
	out->size = start + BPK_FRAME_FIXED_SIZE;
	if (bpk_frame_section_write(&header->fixed, false, start, out, NULL, err) != 0) {
		out->size = start;
		return -1;
	}
	header->size = (uint32_t)(out->size - start);
	put_fields(header, out->data + start);
	return 0;
}
