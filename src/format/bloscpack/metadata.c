/* Reads and writes the metadata section. Called by reader, writer and editor. Source: "Metadata
 * section", "Version 3, Blaze layout". */
#include "format/bloscpack/bloscpack.h"

#include <inttypes.h>
#include <zlib.h>

#include "config.h"

#define CALLS(X)                                                                                   \
	X(compressBound)                                                                           \
	X(compress2)                                                                               \
	X(uncompress2)                                                                             \
	X(inflateInit_)                                                                            \
	X(inflate)                                                                                 \
	X(inflateEnd)

static struct {
	CALLS(BPK_LIBRARY_CALL)
} calls = { CALLS(ZLIB_ADDRESS) };
static const char *const names[] = { CALLS(BPK_LIBRARY_NAME) NULL };
static struct bpk_library library = BPK_LIBRARY(ZLIB_SONAME, names, calls);

enum {
	CODEC_NONE = 0,
	CODEC_ZLIB = 1,
	DEFAULT_LEVEL = 6,
	DEFAULT_ROOM = 10,          /* times the text's size */
	MOST_EXTRA_ROOM = 16 << 20, /* limits that room, which is written as zeros */
	FIRST_PIECE = 4096,         /* first output buffer for a text of unknown size */
	MOST_INFLATION = 1032,      /* the highest ratio that deflate can reach */
	/* Limit on the unpacked text: ANY_TEXT plus TEXT_TIMES its packed size. Texts by people and
	 * programs reach ratios of about twenty. A text beyond the limit is stored unpacked. */
	ANY_TEXT = 1 << 20,
	TEXT_TIMES = 32,
};

static uint64_t most_text(uint64_t packed)
{
	return bpk_min_u64(BPK_JSON_MAX_SIZE, ANY_TEXT + TEXT_TIMES * packed);
}

static const char json_magic[8] = { 'J', 'S', 'O', 'N', '\0', '\0', '\0', '\0' };

/* The fields of the metadata header, as stored. */
struct section {
	bool json;
	uint8_t magic[8];
	unsigned checksum;
	unsigned codec;
	unsigned level;
	uint32_t size;   /* of the text */
	uint32_t room;   /* for data and fill */
	uint32_t packed; /* of the data */
	bool marked;     /* as sealed */
};

static struct section section_read(const uint8_t bytes[BPK_BLOSCPACK_METADATA_SIZE])
{
	struct section s = { .json = bpk_bloscpack_magic_is_json(bytes),
			     .checksum = bytes[9],
			     .codec = bytes[10],
			     .level = bytes[11],
			     .size = bpk_get_le32(bytes + 12),
			     .room = bpk_get_le32(bytes + 16),
			     .packed = bpk_get_le32(bytes + 20) };

	memcpy(s.magic, bytes, sizeof s.magic);
	s.marked = memcmp(bytes + BPK_BLOSCPACK_SEAL_MARK, bpk_bloscpack_seal_mark,
			  BPK_BLOSCPACK_SEAL_MARK_SIZE) == 0;
	return s;
}

/* Unpack a zlib stream into exactly size bytes, using all of it. */
static int inflate_all(struct bpk_view packed, size_t size, struct bpk_buf *text,
		       struct bpk_err *err)
{
	uLongf got = size;
	uLong used = packed.size;
	uint8_t none;
	int rc;

	if (bpk_library_need(&library, err) != 0 || bpk_buf_resize(text, size, err) != 0)
		return -1;
	rc = calls.uncompress2(size > 0 ? text->data : &none, &got, packed.data, &used);
	if (rc == Z_MEM_ERROR)
		return bpk_fail_memory(err, size);
	if (rc != Z_OK || got != size || used != packed.size)
		return bpk_fail(err, BPK_CORRUPT,
				"metadata does not unpack to the %zu bytes it claims", size);
	return 0;
}

/* Unpack a zlib stream of unrecorded size, up to the limit on metadata. */
static int inflate_grow(struct bpk_view packed, struct bpk_buf *text, struct bpk_err *err)
{
	z_stream z = { .next_in = (uint8_t *)(uintptr_t)packed.data,
		       .avail_in = (uInt)packed.size };
	uint64_t most = most_text(packed.size);
	int rc = Z_OK;

	if (bpk_library_need(&library, err) != 0)
		return -1;
	if (calls.inflateInit_(&z, ZLIB_VERSION, (int)sizeof z) != Z_OK)
		return bpk_fail_memory(err, packed.size);
	while (rc == Z_OK && text->size <= most) {
		if (bpk_buf_reserve(text, 2 * text->size + FIRST_PIECE, err) != 0) {
			calls.inflateEnd(&z);
			return -1;
		}
		z.next_out = text->data + text->size;
		z.avail_out = (uInt)(text->capacity - text->size);
		rc = calls.inflate(&z, Z_NO_FLUSH);
		text->size = text->capacity - z.avail_out;
	}
	calls.inflateEnd(&z);
	if (rc == Z_OK)
		return bpk_fail(err, BPK_UNSUPPORTED,
				"metadata of %zu packed bytes unpacks to more than %" PRIu64,
				packed.size, most);
	if (rc != Z_STREAM_END || z.avail_in != 0)
		return bpk_fail(err, BPK_CORRUPT, "metadata is not a complete zlib stream");
	return 0;
}

/* Test the fields that do not decide the section's end. */
static int check_section(const struct section *s, struct bpk_err *err)
{
	if (s->codec > CODEC_ZLIB)
		return bpk_fail(err, BPK_CORRUPT,
				"metadata codec number %u is not known, expected 0 or 1", s->codec);
	if (s->level > 9)
		return bpk_fail(err, BPK_CORRUPT, "metadata level is %u, expected at most 9",
				s->level);
	if (s->codec == CODEC_NONE && s->size != s->packed)
		return bpk_fail(err, BPK_CORRUPT,
				"metadata is %" PRIu32 " bytes stored, expected %" PRIu32,
				s->packed, s->size);
	if (s->codec == CODEC_ZLIB && s->size / MOST_INFLATION > s->packed)
		return bpk_fail(err, BPK_CORRUPT,
				"metadata claims %" PRIu32 " bytes, more than %" PRIu32
				" packed ones can hold",
				s->size, s->packed);
	if (s->codec == CODEC_ZLIB && s->size > most_text(s->packed))
		return bpk_fail(err, BPK_UNSUPPORTED,
				"metadata of %" PRIu32 " packed bytes unpacks to %" PRIu32
				", at most %" PRIu64 " are read",
				s->packed, s->size, most_text(s->packed));
	if (s->size > BPK_JSON_MAX_SIZE || s->packed > BPK_JSON_MAX_SIZE)
		return bpk_fail(err, BPK_LIMIT,
				"metadata of %" PRIu32 " bytes, expected at most %d",
				s->size > s->packed ? s->size : s->packed, BPK_JSON_MAX_SIZE);
	return 0;
}

/* Unpack the text, and test that it is JSON. */
static int unpack_text(struct bpk_bloscpack_metadata *m, bool deflated, uint64_t size,
		       struct bpk_buf *packed, struct bpk_err *err)
{
	int rc = 0;

	if (!deflated) {
		m->text = *packed;
		*packed = (struct bpk_buf){ 0 };
	} else if (size == BPK_UNKNOWN) {
		rc = inflate_grow(bpk_buf_view(packed), &m->text, err);
	} else {
		rc = inflate_all(bpk_buf_view(packed), (size_t)size, &m->text, err);
	}
	if (rc != 0)
		return -1;
	if (bpk_json_check(bpk_buf_view(&m->text), err) != 0)
		return bpk_err_subject(err, "metadata");
	return 0;
}

/* Read data and digest of a section in the released layout, at offset. */
static int read_data(struct bpk_source *source, uint64_t offset, const struct section *s,
		     struct bpk_bloscpack_metadata *m, struct bpk_err *err)
{
	struct bpk_buf packed = { 0 };
	uint8_t digest[BPK_DIGEST_MAX];
	int rc = -1;

	if (check_section(s, err) != 0 ||
	    bpk_bloscpack_append(source, offset, s->packed, &packed, "metadata", err) != 0 ||
	    bpk_bloscpack_need(source, offset + s->room, bpk_span(digest, m->checksum->size),
			       "metadata's digest", err) != 0)
		goto out;
	if (bpk_checksum_check(m->checksum, bpk_buf_view(&packed), digest, err) != 0) {
		bpk_err_subject(err, "metadata");
		goto out;
	}
	rc = unpack_text(m, s->codec == CODEC_ZLIB, s->size, &packed, err);
out:
	bpk_buf_clear(&packed);
	return rc;
}

/* Record an error about the section's bytes as damage; any other error is passed on. */
static int record_damage(struct bpk_bloscpack_metadata *m, int rc, const struct bpk_err *found,
			 struct bpk_err *err)
{
	m->good = rc == 0;
	if (rc == 0)
		return 0;
	if (found->kind != BPK_CORRUPT && found->kind != BPK_UNSUPPORTED &&
	    found->kind != BPK_LIMIT) {
		if (err != NULL)
			*err = *found;
		return -1;
	}
	m->damage = *found;
	/* limits on metadata belong to the format ("Validation checklist"), not to the machine */
	if (found->kind == BPK_LIMIT)
		m->damage.kind = BPK_CORRUPT;
	return 0;
}

/* The section must end inside the file, or the parts after it cannot be found. */
static int check_end(struct bpk_source *source, uint64_t end, struct bpk_err *err)
{
	if (bpk_source_seekable(source) && end > bpk_source_size(source))
		return bpk_fail(err, BPK_CORRUPT,
				"metadata section ends at offset %" PRIu64
				", but the file has %" PRIu64 " bytes",
				end, bpk_source_size(source));
	return 0;
}

static int read_blaze(struct bpk_source *source, const struct bpk_bloscpack_header *header,
		      struct bpk_bloscpack_metadata *m, struct bpk_err *err)
{
	struct bpk_err found = { 0 };
	struct bpk_buf packed = { 0 };
	uint32_t size = header->metadata_size;
	int rc;

	m->checksum = bpk_checksum_of_number(0);
	m->codec = header->metadata_deflated ? "zlib" : "none";
	m->stored_size = m->room = size;
	m->end = header->size + (uint64_t)size;
	if (check_end(source, m->end, err) != 0)
		return -1;
	if (size > BPK_JSON_MAX_SIZE) {
		rc = bpk_fail(&found, BPK_LIMIT,
			      "metadata of %" PRIu32 " bytes, expected at most %d", size,
			      BPK_JSON_MAX_SIZE);
	} else {
		rc = bpk_bloscpack_append(source, header->size, size, &packed, "metadata", &found);
		if (rc == 0)
			rc = unpack_text(m, header->metadata_deflated, BPK_UNKNOWN, &packed,
					 &found);
	}
	bpk_buf_clear(&packed);
	return record_damage(m, rc, &found, err);
}

/*
 * A foreign magic is not damage by itself. But if the content is JSON with a matching digest, the
 * magic itself was damaged.
 */
static void judge_magic(struct bpk_bloscpack_metadata *m, const struct section *s)
{
	if (s->json)
		return;
	m->strange_magic = !m->good;
	m->damage = (struct bpk_err){ 0 };
	if (m->good)
		bpk_fail(&m->damage, BPK_CORRUPT,
			 "metadata begins with %016" PRIx64 ", expected JSON and zeros",
			 bpk_get_le64(s->magic));
	m->good = false;
}

int bpk_bloscpack_metadata_read(struct bpk_source *source,
				const struct bpk_bloscpack_header *header,
				struct bpk_bloscpack_metadata *metadata, struct bpk_err *err)
{
	uint8_t bytes[BPK_BLOSCPACK_METADATA_SIZE];
	uint64_t data = header->size + sizeof bytes;
	struct bpk_err found = { 0 };
	struct section s;
	int rc;

	if (header->blaze)
		return read_blaze(source, header, metadata, err);
	if (bpk_bloscpack_need(source, header->size, bpk_span(bytes, sizeof bytes),
			       "metadata header", err) != 0)
		return -1;
	s = section_read(bytes);
	metadata->checksum = bpk_checksum_of_number(s.checksum);
	if (metadata->checksum == NULL)
		return bpk_fail(err, BPK_CORRUPT,
				"metadata checksum number %u is not known, expected 0 to 8",
				s.checksum);
	if (s.packed > s.room)
		return bpk_fail(err, BPK_CORRUPT,
				"metadata of %" PRIu32 " bytes lies in room for %" PRIu32, s.packed,
				s.room);
	metadata->marked = s.marked;
	metadata->codec = s.codec == CODEC_ZLIB ? "zlib" : "none";
	metadata->stored_size = s.packed;
	metadata->room = s.room;
	metadata->fill_offset = data + s.packed;
	metadata->fill_size = s.room - s.packed;
	metadata->end = data + s.room + metadata->checksum->size;
	if (check_end(source, metadata->end, err) != 0)
		return -1;
	rc = read_data(source, data, &s, metadata, &found);
	if (record_damage(metadata, rc, &found, err) != 0)
		return -1;
	judge_magic(metadata, &s);
	return 0;
}

void bpk_bloscpack_metadata_clear(struct bpk_bloscpack_metadata *metadata)
{
	bpk_buf_clear(&metadata->text);
	*metadata = (struct bpk_bloscpack_metadata){ 0 };
}

/* Append the text to out, packed unless that is larger. */
static int put_text(struct bpk_view text, struct bpk_buf *out, unsigned *codec, struct bpk_err *err)
{
	uLongf packed;

	if (bpk_library_need(&library, err) != 0)
		return -1;
	packed = calls.compressBound(text.size);
	if (bpk_buf_reserve(out, out->size + packed, err) != 0)
		return -1;
	if (calls.compress2(out->data + out->size, &packed, text.data, text.size, DEFAULT_LEVEL) !=
	    Z_OK)
		return bpk_fail_memory(err, text.size);
	*codec = packed > text.size || text.size > most_text(packed) ? CODEC_NONE : CODEC_ZLIB;
	if (*codec == CODEC_NONE)
		return bpk_buf_append(out, text, err);
	out->size += packed;
	return 0;
}

/* Make the section of a text, with this much extra room. */
static int make_section(const struct bpk_checksum *checksum, struct bpk_view text, size_t extra,
			struct bpk_buf *out, struct bpk_err *err)
{
	uint8_t digest[BPK_DIGEST_MAX];
	size_t room, packed;
	unsigned codec = CODEC_NONE;

	if (text.size > BPK_JSON_MAX_SIZE)
		return bpk_fail(err, BPK_LIMIT, "metadata of %zu bytes, expected at most %d",
				text.size, BPK_JSON_MAX_SIZE);
	if (bpk_buf_resize(out, BPK_BLOSCPACK_METADATA_SIZE, err) != 0 ||
	    put_text(text, out, &codec, err) != 0)
		return -1;
	packed = out->size - BPK_BLOSCPACK_METADATA_SIZE;
	room = text.size + extra;
	if (bpk_checksum_compute(checksum,
				 bpk_view(out->data + BPK_BLOSCPACK_METADATA_SIZE, packed), digest,
				 err) != 0 ||
	    bpk_buf_resize(out, BPK_BLOSCPACK_METADATA_SIZE + room + checksum->size, err) != 0)
		return -1;
	memset(out->data, 0, BPK_BLOSCPACK_METADATA_SIZE);
	memcpy(out->data, json_magic, sizeof json_magic);
	out->data[9] = (uint8_t)bpk_checksum_number(checksum);
	out->data[10] = (uint8_t)codec;
	out->data[11] = DEFAULT_LEVEL;
	bpk_put_le32(out->data + 12, (uint32_t)text.size);
	bpk_put_le32(out->data + 16, (uint32_t)room);
	bpk_put_le32(out->data + 20, (uint32_t)packed);
	memset(out->data + BPK_BLOSCPACK_METADATA_SIZE + packed, 0, room - packed);
	bpk_copy(out->data + BPK_BLOSCPACK_METADATA_SIZE + room, digest, checksum->size);
	return 0;
}

/* Make *text record the array, unless it does already; room holds the new text. */
static int record_array(const struct bpk_array *array, struct bpk_view *text, struct bpk_buf *room,
			struct bpk_err *err)
{
	struct bpk_array recorded = { 0 };
	bool is_array = false;

	if (text->size > 0 && bpk_array_from_metadata(*text, &recorded, &is_array, NULL, err) != 0)
		return bpk_err_subject(err, "metadata");
	bpk_array_clear(&recorded);
	if (is_array)
		return 0;
	if (bpk_array_join_metadata(array, *text, room, err) != 0)
		return -1;
	*text = bpk_buf_view(room);
	return 0;
}

/* The whole text but a seal; *users bytes of it are the user's and get extra room. */
static int make_text(const struct bpk_info *info, struct bpk_buf *text, size_t *users,
		     struct bpk_err *err)
{
	struct bpk_view user = info->metadata.given ? info->metadata.text : bpk_view(NULL, 0);
	uint64_t listed = info->chunks.count == BPK_UNKNOWN
				  ? BPK_UNKNOWN
				  : bpk_max_u64(info->chunks.count, 1) - 1;
	struct bpk_sizes runs = { 0 };
	struct bpk_buf described = { 0 };
	int rc = 0;

	if (bpk_bloscpack_seal_is_named(user))
		return bpk_fail(err, BPK_USAGE, "the name bpk_seal in metadata is bpk's own");
	if (info->array.type != NULL)
		rc = record_array(info->array.type, &user, &described, err);
	if (rc == 0 && info->chunks.size == BPK_UNKNOWN)
		rc = bpk_sizes_copy(info->chunks.runs, listed, &runs, err);
	if (rc == 0)
		rc = bpk_bloscpack_sizes_join(user, &runs, text, err);
	*users = user.size;
	bpk_sizes_clear(&runs);
	bpk_buf_clear(&described);
	return rc;
}

int bpk_bloscpack_metadata_make(const struct bpk_info *info, size_t seal_room, struct bpk_buf *text,
				struct bpk_buf *out, struct bpk_err *err)
{
	const struct bpk_checksum *checksum = info->metadata.checksum;
	struct bpk_view empty = bpk_view((const uint8_t *)"{}", 2);
	size_t users = 0, extra;

	out->size = text->size = 0;
	if (checksum == NULL)
		checksum = bpk_checksum_of_number(1);
	if (make_text(info, text, &users, err) != 0)
		return -1;
	extra = bpk_min_size((DEFAULT_ROOM - 1) * users, MOST_EXTRA_ROOM);
	if (seal_room == 0)
		return text->size == 0
			       ? 0
			       : make_section(checksum, bpk_buf_view(text), extra, out, err);
	if (make_section(checksum, text->size > 0 ? bpk_buf_view(text) : empty, extra + seal_room,
			 out, err) != 0)
		return -1;
	memcpy(out->data + BPK_BLOSCPACK_SEAL_MARK, bpk_bloscpack_seal_mark,
	       BPK_BLOSCPACK_SEAL_MARK_SIZE);
	return 0;
}

void bpk_bloscpack_metadata_room(const uint8_t head[BPK_BLOSCPACK_METADATA_SIZE],
				 struct bpk_bloscpack_metadata *metadata)
{
	struct section s = section_read(head);

	metadata->checksum = bpk_checksum_of_number(s.checksum);
	metadata->stored_size = s.packed;
	metadata->room = s.room;
}

int bpk_bloscpack_metadata_refit(const struct bpk_bloscpack_metadata *metadata,
				 struct bpk_view text, struct bpk_buf *front,
				 uint8_t digest[BPK_DIGEST_MAX], bool *fits, struct bpk_err *err)
{
	uint8_t kept[BPK_BLOSCPACK_METADATA_SIZE];
	unsigned codec = CODEC_NONE;
	size_t packed, covered;

	*fits = text.size <= BPK_JSON_MAX_SIZE && metadata->stored_size <= BPK_JSON_MAX_SIZE;
	if (!*fits)
		return 0;
	memcpy(kept, front->data, sizeof kept);
	front->size = sizeof kept;
	if (put_text(text, front, &codec, err) != 0)
		return -1;
	packed = front->size - sizeof kept;
	*fits = packed <= metadata->room;
	if (!*fits)
		return 0;
	if (bpk_checksum_compute(metadata->checksum, bpk_view(front->data + sizeof kept, packed),
				 digest, err) != 0)
		return -1;
	covered = (size_t)bpk_max_u64(packed, metadata->stored_size);
	if (bpk_buf_resize(front, sizeof kept + covered, err) != 0)
		return -1;
	memset(front->data + sizeof kept + packed, 0, covered - packed);
	kept[10] = (uint8_t)codec;
	bpk_put_le32(kept + 12, (uint32_t)text.size);
	bpk_put_le32(kept + 20, (uint32_t)packed);
	memcpy(front->data, kept, sizeof kept);
	return 0;
}
