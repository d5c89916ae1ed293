/*
 * Reads and writes the layer of digests: one msgpack bin with the layout in frame.h. state.c
 * and end.c call it.
 */
#include "format/digest_number.h"
#include "format/frame/parts/section.h"

#include <inttypes.h>

enum { BIN_8 = 0xc4, BIN_16 = 0xc5, LAYOUT_1 = 1, LAYOUT = 2, HEAD_DIGEST = 4 };

static const uint8_t magic[4] = { 'b', 'p', 'k', 'd' };

/* Get the content of a bin, which must fill bytes. */
static int take_bin(struct bpk_view bytes, struct bpk_view *inner, struct bpk_err *err)
{
	struct bpk_cursor cursor = bpk_cursor(bytes);
	uint32_t size = UINT32_MAX;

	switch (bpk_cursor_u8(&cursor)) {
	case BIN_8:
		size = bpk_cursor_u8(&cursor);
		break;
	case BIN_16:
		size = bpk_cursor_be16(&cursor);
		break;
	case BPK_FRAME_BIN_32:
		size = bpk_cursor_be32(&cursor);
		break;
	default:
		break;
	}
	*inner = bpk_view(cursor.next, cursor.left);
	if (cursor.bad || size != cursor.left)
		return bpk_fail(err, BPK_CORRUPT, "the layer of digests is not a msgpack bin");
	return 0;
}

static size_t head_size(const struct bpk_frame_digests *digests)
{
	return digests->marked ? BPK_FRAME_DIGESTS_HEAD : BPK_FRAME_DIGESTS_HEAD_1;
}

/* Check the end of the head, a crc32 of the rest: a different frame_size with a matching crc32 is
 * not damage. */
static int check_head(struct bpk_view inner, size_t size, struct bpk_err *err)
{
	struct bpk_view rest = bpk_view(inner.data, size - HEAD_DIGEST);

	if (inner.size < size)
		return bpk_fail(err, BPK_CORRUPT,
				"the layer of digests has %zu bytes, expected at least %zu",
				inner.size, size);
	if (bpk_checksum_check(bpk_checksum_find("crc32"), rest, rest.data + rest.size, err) != 0)
		return bpk_err_subject(err, "the head of the digests");
	return 0;
}

/* True if the head is intact when its layout is set to a known one: then only that byte is
 * wrong. */
static bool is_of_layout(struct bpk_view inner, uint8_t layout)
{
	uint8_t head[BPK_FRAME_DIGESTS_HEAD];

	if (inner.size < sizeof head)
		return false;
	memcpy(head, inner.data, sizeof head);
	head[4] = layout;
	return check_head(bpk_view(head, sizeof head), sizeof head, NULL) == 0;
}

static int take_head(struct bpk_view inner, struct bpk_frame_digests *digests, struct bpk_err *err)
{
	const uint8_t *p = inner.data;

	if (inner.size < BPK_FRAME_DIGESTS_HEAD_1 || memcmp(p, magic, sizeof magic) != 0)
		return bpk_fail(err, BPK_CORRUPT, "the layer of digests does not begin with bpkd");
	if (p[4] != LAYOUT_1 && p[4] != LAYOUT)
		return bpk_fail(err, is_of_layout(inner, LAYOUT) ? BPK_CORRUPT : BPK_UNSUPPORTED,
				"digests of layout %u are not known, expected %d or %d", p[4],
				LAYOUT_1, LAYOUT);
	digests->marked = p[4] == LAYOUT;
	if (check_head(inner, head_size(digests), err) != 0)
		return -1;
	digests->checksum = bpk_checksum_of_number(p[5]);
	digests->frame_size = bpk_get_le64(p + 8);
	digests->nchunks = bpk_get_le64(p + 16);
	if (digests->checksum == NULL || digests->checksum->size == 0)
		return bpk_fail(err, BPK_UNSUPPORTED,
				"digests by checksum number %u are not known, expected 1 to %d",
				p[5], BPK_CHECKSUM_NUMBERS - 1);
	if (p[6] != 0 || p[7] != 0)
		return bpk_fail(err, BPK_CORRUPT,
				"the reserved bytes of the digests are %02x%02x, expected 0", p[6],
				p[7]);
	return 0;
}

int bpk_frame_digests_read(struct bpk_view content, uint64_t apart,
			   struct bpk_frame_digests *digests, struct bpk_err *err)
{
	struct bpk_view inner;
	uint64_t room, size;

	*digests = (struct bpk_frame_digests){ 0 };
	if (take_bin(content, &inner, err) != 0 || take_head(inner, digests, err) != 0)
		goto failed;
	size = inner.size - head_size(digests) + apart;
	room = size / digests->checksum->size;
	if (size % digests->checksum->size != 0 || room < BPK_FRAME_DIGEST_PARTS ||
	    room - BPK_FRAME_DIGEST_PARTS != digests->nchunks) {
		bpk_fail(err, BPK_CORRUPT,
			 "digests of %" PRIu64 " chunks have %" PRIu64
			 " bytes, which is not as expected",
			 digests->nchunks, inner.size + apart);
		goto failed;
	}
	if (bpk_buf_append(&digests->bytes, inner, err) == 0)
		return 0;
failed:
	bpk_frame_digests_clear(digests);
	return -1;
}

void bpk_frame_digests_clear(struct bpk_frame_digests *digests)
{
	bpk_buf_clear(&digests->bytes);
	*digests = (struct bpk_frame_digests){ 0 };
}

const uint8_t *bpk_frame_digests_part(const struct bpk_frame_digests *digests,
				      enum bpk_frame_digest_part part)
{
	return digests->bytes.data + head_size(digests) + (size_t)part * digests->checksum->size;
}

const uint8_t *bpk_frame_digests_chunk(const struct bpk_frame_digests *digests, uint64_t number)
{
	if (digests->checksum == NULL || number >= digests->nchunks)
		return NULL;
	return bpk_frame_digests_part(digests, BPK_FRAME_DIGEST_PARTS) +
	       (size_t)number * digests->checksum->size;
}

int bpk_frame_digests_check(const struct bpk_frame_digests *digests,
			    enum bpk_frame_digest_part part, struct bpk_view bytes,
			    struct bpk_err *err)
{
	return bpk_checksum_check(digests->checksum, bytes, bpk_frame_digests_part(digests, part),
				  err);
}

int bpk_frame_digests_check_trailer(const struct bpk_frame_digests *digests,
				    struct bpk_view trailer, struct bpk_err *err)
{
	size_t size = digests->checksum->size, behind = BPK_FRAME_TRAILER_TAIL;
	struct bpk_buf copy = { 0 };
	size_t at;
	int rc = -1;

	/* the digests come last in the trailer, and are stored unpacked */
	behind += digests->bytes.size - head_size(digests) - BPK_FRAME_DIGEST_TRAILER * size;
	if (behind > trailer.size)
		return bpk_fail(err, BPK_CORRUPT,
				"trailer has %zu bytes, expected %zu for the digests alone",
				trailer.size, behind);
	at = trailer.size - behind;
	if (bpk_buf_append(&copy, trailer, err) == 0) {
		memset(copy.data + at, 0, size);
		rc = bpk_frame_digests_check(digests, BPK_FRAME_DIGEST_TRAILER, bpk_buf_view(&copy),
					     err);
	}
	bpk_buf_clear(&copy);
	return rc;
}

int bpk_frame_digests_begin(const struct bpk_checksum *checksum, uint64_t nchunks,
			    struct bpk_buf *content, struct bpk_err *err)
{
	uint64_t size = BPK_FRAME_DIGESTS_HEAD;
	uint8_t *p;

	if (nchunks > BPK_FRAME_MAX_CHUNKS)
		return bpk_fail(err, BPK_BUG, "digests of %" PRIu64 " chunks", nchunks);
	size += (BPK_FRAME_DIGEST_PARTS + nchunks) * checksum->size;
	if (size > INT32_MAX)
		return bpk_fail(err, BPK_LIMIT,
				"digests of %" PRIu64 " chunks by %s take %" PRIu64
				" bytes, expected at most %d",
				nchunks, checksum->name, size, INT32_MAX);
	if (bpk_buf_resize(content, (size_t)size + BPK_FRAME_DIGESTS_BIN, err) != 0)
		return -1;
	p = content->data;
	memset(p, 0, content->size);
	p[0] = BPK_FRAME_BIN_32;
	bpk_put_be32(p + 1, (uint32_t)size);
	p += BPK_FRAME_DIGESTS_BIN;
	memcpy(p, magic, sizeof magic);
	p[4] = LAYOUT;
	p[5] = (uint8_t)bpk_checksum_number(checksum);
	bpk_put_le64(p + 16, nchunks);
	return 0;
}

void bpk_frame_digests_set_header(uint8_t *bytes, uint64_t frame_size, struct bpk_view header)
{
	uint8_t digest[BPK_DIGEST_MAX];

	bpk_put_le64(bytes + 8, frame_size);
	memcpy(bytes + BPK_FRAME_DIGESTS_COPY, header.data, BPK_FRAME_FIXED_SIZE);
	/* zlib's crc32 cannot fail */
	(void)bpk_checksum_compute(bpk_checksum_find("crc32"),
				   bpk_view(bytes, BPK_FRAME_DIGESTS_HEAD - HEAD_DIGEST), digest,
				   NULL);
	memcpy(bytes + BPK_FRAME_DIGESTS_HEAD - HEAD_DIGEST, digest, HEAD_DIGEST);
}

static bool holds_digests(const struct bpk_buf *content)
{
	return content->size >= BPK_FRAME_DIGESTS_BIN + sizeof magic &&
	       content->data[0] == BPK_FRAME_BIN_32 &&
	       memcmp(content->data + BPK_FRAME_DIGESTS_BIN, magic, sizeof magic) == 0;
}

bool bpk_frame_digests_rename(struct bpk_frame_layers *layers)
{
	if (bpk_frame_layers_find(layers, BPK_FRAME_DIGESTS) != NULL)
		return false;
	for (size_t i = 0; i < layers->count; i++)
		if (holds_digests(&layers->all[i].content)) {
			strcpy(layers->all[i].name, BPK_FRAME_DIGESTS);
			return true;
		}
	return false;
}

int bpk_frame_digests_find(const struct bpk_frame_layers *layers, uint64_t apart,
			   struct bpk_frame_digests *digests, struct bpk_err *err)
{
	const struct bpk_frame_layer *layer = bpk_frame_layers_find(layers, BPK_FRAME_DIGESTS);

	*digests = (struct bpk_frame_digests){ 0 };
	if (layer != NULL)
		return bpk_frame_digests_read(bpk_buf_view(&layer->content), apart, digests, err);
	for (size_t i = 0; i < layers->count; i++)
		if (holds_digests(&layers->all[i].content))
			return bpk_fail(err, BPK_CORRUPT,
					"metalayer '%s' holds digests, expected the name %s",
					layers->all[i].name, BPK_FRAME_DIGESTS);
	return 0;
}

int bpk_frame_digests_expect(const struct bpk_frame_digests *digests, struct bpk_view trailer,
			     struct bpk_err *err)
{
	if (digests->checksum != NULL || bpk_frame_trailer_author(trailer) != BPK_FRAME_BY_BPK)
		return 0;
	return bpk_fail(err, BPK_CORRUPT, "no metalayer %s, which bpk's mark at the end demands",
			BPK_FRAME_DIGESTS);
}
