/* Reads headers of Bloscpack versions 1 to 3, and writes version 3. Called by reader, writer and
 * editor. formats.c names its probe. Source: "Headers". */
#include "format/bloscpack/bloscpack.h"

#include <inttypes.h>

enum {
	OPTION_OFFSETS = 1,
	OPTION_METADATA = 2,
	OPTION_DEFLATED = 4, /* Blaze only */
};

static const uint8_t magic[4] = { 'b', 'l', 'p', 'k' };

int bpk_bloscpack_probe(const struct bpk_place *place, struct bpk_view head, bool *found,
			struct bpk_err *err)
{
	(void)err;
	*found = !place->is_directory && head.size >= 4 &&
		 memcmp(head.data, magic, sizeof magic) == 0;
	return 0;
}

int bpk_bloscpack_claims(const struct bpk_place *place, bool *claimed, struct bpk_err *err)
{
	return bpk_format_holds(place, bpk_bloscpack_probe, claimed, err);
}

bool bpk_bloscpack_magic_is_json(const uint8_t bytes[8])
{
	/* "README versus program": the program pads with NUL, its README with blanks */
	return memcmp(bytes, "JSON\0\0\0\0", 8) == 0 || memcmp(bytes, "JSON    ", 8) == 0;
}

uint64_t bpk_bloscpack_slots(const struct bpk_bloscpack_header *header)
{
	return header->has_offsets ? header->nchunks + header->append_space : 0;
}

/* A chunk size as stored: -1 or within the limit of one chunk. */
static int size_field(int32_t stored, const char *name, uint64_t *size, struct bpk_err *err)
{
	if (stored < -1 || stored > BPK_CHUNK_MAX_RAW_SIZE)
		return bpk_fail(err, BPK_CORRUPT,
				"%s in the header is %" PRId32 ", expected -1 or 0 to %d", name,
				stored, BPK_CHUNK_MAX_RAW_SIZE);
	*size = stored == -1 ? BPK_UNKNOWN : (uint64_t)stored;
	return 0;
}

static int count_field(int64_t stored, uint64_t *count, struct bpk_err *err)
{
	if (stored < -1)
		return bpk_fail(err, BPK_CORRUPT,
				"nchunks in the header is %" PRId64 ", expected -1 or more",
				stored);
	*count = stored == -1 ? BPK_UNKNOWN : (uint64_t)stored;
	return 0;
}

static int reserved_field(uint64_t stored, struct bpk_err *err)
{
	if (stored != 0)
		return bpk_fail(err, BPK_CORRUPT,
				"reserved bytes of the header hold %" PRIx64 ", expected 0",
				stored);
	return 0;
}

/* True for sizes that released writers of version 2 left; "Version 2", its quirks. */
static bool version_2_quirk(const struct bpk_bloscpack_header *h)
{
	switch (h->nchunks) {
	case 0:
	case BPK_UNKNOWN:
		return false;
	case 1:
		return h->chunk_size == 0;
	case 2:
		return h->last_chunk_size == h->chunk_size + 1;
	default:
		return h->last_chunk_size < h->nchunks - 1;
	}
}

/* Compare the three sizes, and compute the total. */
static int check_sizes(struct bpk_bloscpack_header *h, struct bpk_err *err)
{
	bool both = h->chunk_size != BPK_UNKNOWN && h->last_chunk_size != BPK_UNKNOWN;

	h->raw_size = h->nchunks == 0 ? 0 : BPK_UNKNOWN;
	if (h->nchunks == 0 && h->last_chunk_size != BPK_UNKNOWN && h->last_chunk_size != 0)
		return bpk_fail(err, BPK_CORRUPT,
				"header has no chunks, but a last one of %" PRIu64 " bytes",
				h->last_chunk_size);
	if (!both)
		return 0;
	if (h->last_chunk_size > h->chunk_size && !(h->version == 2 && version_2_quirk(h)))
		return bpk_fail(err, BPK_CORRUPT,
				"last-chunk in the header is %" PRIu64
				", expected at most chunk-size, %" PRIu64,
				h->last_chunk_size, h->chunk_size);
	if (h->nchunks == 0 || h->nchunks == BPK_UNKNOWN)
		return 0;
	if (!bpk_mul_u64(h->chunk_size, h->nchunks - 1, &h->raw_size) ||
	    !bpk_add_u64(h->raw_size, h->last_chunk_size, &h->raw_size) || h->raw_size > INT64_MAX)
		return bpk_fail(err, BPK_CORRUPT,
				"header has %" PRIu64 " chunks of %" PRIu64
				" bytes, more than any file can hold",
				h->nchunks, h->chunk_size);
	return 0;
}

/* Check the counts: they must be known if there are offsets, and the entries must be countable. */
static int check_counts(const struct bpk_bloscpack_header *h, struct bpk_err *err)
{
	if (h->nchunks == BPK_UNKNOWN) {
		if (h->has_offsets)
			return bpk_fail(err, BPK_CORRUPT,
					"header has offsets for an unknown number of chunks");
		if (h->append_space != 0)
			return bpk_fail(err, BPK_CORRUPT,
					"max-app-chunks in the header is %" PRIu64
					", expected 0 for an unknown number of chunks",
					h->append_space);
		return 0;
	}
	if (h->append_space > INT64_MAX - h->nchunks ||
	    h->nchunks + h->append_space > INT64_MAX / BPK_BLOSCPACK_ENTRY_SIZE)
		return bpk_fail(err, BPK_CORRUPT,
				"header has %" PRIu64 " chunks and room for %" PRIu64
				" more, more than any file can hold",
				h->nchunks, h->append_space);
	return 0;
}

static int read_version_1(struct bpk_cursor *cursor, struct bpk_bloscpack_header *h,
			  struct bpk_err *err)
{
	uint64_t reserved = bpk_cursor_u8(cursor);
	int64_t nchunks;

	reserved |= (uint64_t)bpk_cursor_u8(cursor) << 8;
	reserved |= (uint64_t)bpk_cursor_u8(cursor) << 16;
	nchunks = bpk_cursor_le64s(cursor);
	if (cursor->bad)
		return 0;
	h->checksum = bpk_checksum_of_number(0);
	h->chunk_size = BPK_UNKNOWN;
	h->last_chunk_size = BPK_UNKNOWN;
	if (reserved_field(reserved, err) != 0)
		return -1;
	return count_field(nchunks, &h->nchunks, err);
}

/* True if this byte can begin a JSON text. */
static bool begins_json(uint8_t byte)
{
	return byte != '\0' && strchr("{[\"-0123456789tfn \t\r\n", byte) != NULL;
}

/*
 * Tell the two layouts of version 3 apart ("Version 3, Blaze layout"). tail is the last eight bytes
 * of the header; the cursor stands at the bytes after it. Metadata with a foreign magic count as
 * the released layout, whose section can be skipped.
 */
static int read_layout_3(const uint8_t *tail, struct bpk_cursor *behind, unsigned options,
			 struct bpk_bloscpack_header *h, struct bpk_err *err)
{
	const uint8_t *first = bpk_cursor_take(behind, h->has_metadata ? 8 : 0);
	uint32_t size = bpk_get_le32(tail);
	bool deflated = (options & OPTION_DEFLATED) != 0;
	bool blaze = false;

	if (h->has_metadata && !(first != NULL && bpk_bloscpack_magic_is_json(first))) {
		/* a short text may end the file before 8 bytes */
		const uint8_t *one = first != NULL ? first : behind->next;

		blaze = (first != NULL || behind->left > 0) && bpk_get_le32(tail + 4) == 0 &&
			size > 0 && size <= INT32_MAX &&
			(deflated ? *one == 0x78 : begins_json(*one));
	}
	if (!blaze && deflated)
		return bpk_fail(err, BPK_CORRUPT,
				"option bits of the header are %02x, expected 00"
				" to 03",
				options);
	h->blaze = blaze;
	if (blaze) {
		h->metadata_size = size;
		h->metadata_deflated = deflated;
	} else {
		h->append_space = bpk_get_le64(tail);
	}
	return 0;
}

static int read_version_2_or_3(struct bpk_cursor *cursor, struct bpk_bloscpack_header *h,
			       struct bpk_err *err)
{
	unsigned options = bpk_cursor_u8(cursor);
	unsigned checksum = bpk_cursor_u8(cursor);
	unsigned typesize = bpk_cursor_u8(cursor);
	int32_t chunk_size = bpk_cursor_le32s(cursor);
	int32_t last_chunk_size = bpk_cursor_le32s(cursor);
	int64_t nchunks = bpk_cursor_le64s(cursor);
	const uint8_t *tail = bpk_cursor_take(cursor, 8);
	unsigned known = h->version == 2 ? OPTION_OFFSETS
					 : OPTION_OFFSETS | OPTION_METADATA | OPTION_DEFLATED;

	if (tail == NULL)
		return 0;
	h->size = BPK_BLOSCPACK_HEADER_SIZE;
	h->has_offsets = (options & OPTION_OFFSETS) != 0;
	h->has_metadata = h->version == 3 && (options & OPTION_METADATA) != 0;
	h->typesize = typesize;
	h->checksum = bpk_checksum_of_number(checksum);
	if ((options & ~known) != 0)
		return bpk_fail(err, BPK_CORRUPT,
				"option bits of the header are %02x, expected 00"
				" to %02x",
				options, h->version == 2 ? 1u : 3u);
	if (h->checksum == NULL)
		return bpk_fail(err, BPK_CORRUPT,
				"checksum number %u is not known, expected 0 to %d", checksum,
				BPK_CHECKSUM_NUMBERS - 1);
	if (size_field(chunk_size, "chunk-size", &h->chunk_size, err) != 0 ||
	    size_field(last_chunk_size, "last-chunk", &h->last_chunk_size, err) != 0 ||
	    count_field(nchunks, &h->nchunks, err) != 0)
		return -1;
	if (h->version == 2)
		return reserved_field(bpk_get_le64(tail), err);
	return read_layout_3(tail, cursor, options, h, err);
}

int bpk_bloscpack_header_read(struct bpk_view head, struct bpk_bloscpack_header *header,
			      struct bpk_err *err)
{
	struct bpk_cursor cursor = bpk_cursor(head);
	const uint8_t *start = bpk_cursor_take(&cursor, sizeof magic);
	size_t wanted;

	*header = (struct bpk_bloscpack_header){ .size = BPK_BLOSCPACK_HEADER_SIZE_1 };
	if (start == NULL || memcmp(start, magic, sizeof magic) != 0)
		return bpk_fail(err, BPK_CORRUPT,
				"not a Bloscpack file: it does not begin with blpk");
	header->version = bpk_cursor_u8(&cursor);
	/* only the next version may come from a later program */
	if (!cursor.bad && (header->version < 1 || header->version > 3))
		return bpk_fail(err, header->version == 4 ? BPK_UNSUPPORTED : BPK_CORRUPT,
				"Bloscpack version %u is not known, expected 1 to 3",
				header->version);
	wanted = header->version == 1 ? BPK_BLOSCPACK_HEADER_SIZE_1 : BPK_BLOSCPACK_HEADER_SIZE;
	if (head.size < wanted)
		return bpk_fail(err, BPK_CORRUPT, "header ends after %zu bytes, expected %zu",
				head.size, wanted);
	if ((header->version == 1 ? read_version_1(&cursor, header, err)
				  : read_version_2_or_3(&cursor, header, err)) != 0)
		return -1;
	if (check_counts(header, err) != 0)
		return -1;
	return check_sizes(header, err);
}

/* The stored form of a field that may be unknown. */
static uint64_t stored(uint64_t value)
{
	return value == BPK_UNKNOWN ? (uint64_t)-1 : value;
}

void bpk_bloscpack_header_write(const struct bpk_bloscpack_header *header,
				uint8_t out[BPK_BLOSCPACK_HEADER_SIZE])
{
	memcpy(out, magic, sizeof magic);
	out[4] = 3;
	out[5] = (uint8_t)((header->has_offsets ? OPTION_OFFSETS : 0) |
			   (header->has_metadata ? OPTION_METADATA : 0));
	out[6] = (uint8_t)bpk_checksum_number(header->checksum);
	out[7] = (uint8_t)(header->typesize <= BPK_CHUNK_MAX_TYPESIZE ? header->typesize : 0);
	bpk_put_le32(out + 8, (uint32_t)stored(header->chunk_size));
	bpk_put_le32(out + 12, (uint32_t)stored(header->last_chunk_size));
	bpk_put_le64(out + 16, stored(header->nchunks));
	bpk_put_le64(out + 24, header->append_space);
}
