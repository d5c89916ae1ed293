/*
 * The member WAV: sampled data in a RIFF file with one format chunk and one data chunk. Its array
 * is called "data", with one row per sample time and one item per channel. Samples of three bytes
 * are items of type "|V3", so that shapes are the same for all widths and a sample stays one item;
 * viewed as "u1" they have a third dimension. In a truncated file only whole rows count. Its row is
 * in layouts.c.
 *
 * Sources: Multimedia Programming Interface and Data Specifications 1.0 (RIFF, WAVE); Microsoft,
 * WAVEFORMATEXTENSIBLE; EBU Tech 3306 (RF64) and ITU-R BS.2088 (BW64), which is RF64 by another
 * name.
 */
#include "layout/member.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum {
	FORMAT_PCM = 1,
	FORMAT_FLOAT = 3,
	FORMAT_EXTENSIBLE = 0xfffe,
	FORMAT_SIZE = 16, /* bytes of the fields that all formats have */
	FORMAT_EXTENSIBLE_SIZE = 40,
	MAX_CHUNKS = 1 << 16, /* searched for the two chunks; bounds the time */
};

/* The extent of a chunk's contents. */
struct chunk {
	uint8_t id[4];
	uint64_t offset, size;
};

struct own {
	struct bpk_array array;
	uint64_t offset;
	bool is_64;         /* RF64, BW64 */
	uint64_t ds64;      /* offset of the 64-bit sizes */
	uint64_t data_size; /* of the data chunk, if is_64 */
	uint32_t rate;      /* rows per second */
	uint16_t channels, sample_size;
	char kind; /* 'u', 'i', 'f', 'V' */
	char variant[40];
	char damage[100];
};

static bool is_id(const uint8_t *bytes, const char *id)
{
	return memcmp(bytes, id, 4) == 0;
}

static bool wav_probe(struct bpk_view head, uint64_t size)
{
	(void)size;
	return head.size >= 12 && is_id(head.data + 8, "WAVE") &&
	       (is_id(head.data, "RIFF") || is_id(head.data, "RF64") || is_id(head.data, "BW64"));
}

/* ---- Chunks ---- */

static int read_chunk(struct bpk_source *source, uint64_t offset, struct chunk *chunk,
		      struct bpk_err *err)
{
	uint8_t head[8];

	if (bpk_source_need_at(source, offset, bpk_span(head, sizeof head), err) != 0)
		return -1;
	memcpy(chunk->id, head, 4);
	chunk->size = bpk_get_le32(head + 4);
	chunk->offset = offset + sizeof head;
	return 0;
}

/* Read the 64-bit sizes of the data. The chunk also has those of the file and of the sample
 * count. */
static int take_ds64(struct bpk_source *source, const struct chunk *chunk, struct own *o,
		     struct bpk_err *err)
{
	uint8_t bytes[16];

	if (chunk->size < sizeof bytes)
		return bpk_fail(err, BPK_CORRUPT, "wav has a ds64 chunk of %" PRIu64 " bytes",
				chunk->size);
	if (bpk_source_need_at(source, chunk->offset, bpk_span(bytes, sizeof bytes), err) != 0)
		return -1;
	o->data_size = bpk_get_le64(bytes + 8);
	o->ds64 = chunk->offset;
	return 0;
}

/* The tag of an extensible format starts its GUID; the other bytes are constant. */
static int read_guid(struct bpk_source *source, const struct chunk *chunk, uint16_t *tag,
		     struct bpk_err *err)
{
	static const uint8_t rest[14] = { 0x00, 0x00, 0x00, 0x00, 0x10, 0x00, 0x80,
					  0x00, 0x00, 0xaa, 0x00, 0x38, 0x9b, 0x71 };
	uint8_t guid[16];

	if (chunk->size < FORMAT_EXTENSIBLE_SIZE)
		return bpk_fail(err, BPK_CORRUPT,
				"wav has an extensible format of %" PRIu64 " bytes, %d expected",
				chunk->size, FORMAT_EXTENSIBLE_SIZE);
	if (bpk_source_need_at(source, chunk->offset + 24, bpk_span(guid, 16), err) != 0)
		return -1;
	if (memcmp(guid + 2, rest, sizeof rest) != 0)
		return bpk_fail(err, BPK_UNSUPPORTED, "wav has a format of its own");
	*tag = bpk_get_le16(guid);
	return 0;
}

/* bits may be fewer than those of the sample's bytes: then they are the upper bits. */
static int judge_format(struct own *o, uint16_t tag, uint16_t bits, uint16_t row_size,
			struct bpk_err *err)
{
	uint16_t size = o->channels == 0 ? 0 : row_size / o->channels;

	if (size == 0 || row_size % o->channels != 0 || bits == 0 || bits > 8 * size)
		return bpk_fail(err, BPK_CORRUPT,
				"wav has %d channels of %d bits in rows of %d bytes", o->channels,
				bits, row_size);
	o->sample_size = size;
	o->kind = '\0';
	if (tag == FORMAT_FLOAT)
		o->kind = size == 4 || size == 8 ? 'f' : '\0';
	else if (tag == FORMAT_PCM)
		o->kind = size == 1                             ? 'u'
			  : size == 3                           ? 'V'
			  : size == 2 || size == 4 || size == 8 ? 'i'
								: '\0';
	if (o->kind == '\0')
		return bpk_fail(err, BPK_UNSUPPORTED,
				"wav has format %d with samples of %d bytes, only PCM and floats "
				"are known",
				tag, size);
	return 0;
}

static int take_format(struct bpk_source *source, const struct chunk *chunk, struct own *o,
		       struct bpk_err *err)
{
	uint8_t bytes[FORMAT_SIZE];
	uint16_t tag;

	if (chunk->size < sizeof bytes)
		return bpk_fail(err, BPK_CORRUPT, "wav has a format of %" PRIu64 " bytes",
				chunk->size);
	if (bpk_source_need_at(source, chunk->offset, bpk_span(bytes, sizeof bytes), err) != 0)
		return -1;
	tag = bpk_get_le16(bytes);
	if (tag == FORMAT_EXTENSIBLE && read_guid(source, chunk, &tag, err) != 0)
		return -1;
	o->channels = bpk_get_le16(bytes + 2);
	o->rate = bpk_get_le32(bytes + 4);
	return judge_format(o, tag, bpk_get_le16(bytes + 14), bpk_get_le16(bytes + 12), err);
}

/* ---- The array ---- */

/* A size of all ones comes from a writer that did not know it: the data extend to the end. */
static int take_data(uint64_t file_size, const struct chunk *chunk, struct own *o,
		     struct bpk_err *err)
{
	uint64_t row_size = (uint64_t)o->sample_size * o->channels;
	uint64_t left = file_size - chunk->offset, size = chunk->size, shape[2];

	if (o->kind == '\0')
		return bpk_fail(err, BPK_CORRUPT, "wav has data in front of its format");
	if (size == UINT32_MAX)
		size = o->is_64 ? o->data_size : left;
	if (size == BPK_UNKNOWN)
		return bpk_fail(err, BPK_CORRUPT, "wav has no size of its data");
	if (size > left)
		snprintf(o->damage, sizeof o->damage,
			 "data has %" PRIu64 " bytes, %" PRIu64 " are there", size, left);
	else if (size % row_size != 0 && chunk->size != UINT32_MAX)
		snprintf(o->damage, sizeof o->damage,
			 "data has %" PRIu64 " bytes, expected whole rows of %" PRIu64, size,
			 row_size);
	shape[0] = bpk_min_u64(size, left) / row_size;
	shape[1] = o->channels;
	o->offset = chunk->offset;
	return bpk_layout_set_array(&o->array, o->kind, o->kind == 'V' ? '|' : '<', o->sample_size,
				    shape, 2, err);
}

/* Read chunks up to the data. Contents of odd size are padded by one byte. */
static int walk(struct bpk_source *source, struct own *o, struct bpk_err *err)
{
	uint64_t end = bpk_source_size(source), at = 12;

	for (int i = 0; i < MAX_CHUNKS; i++) {
		struct chunk chunk;
		int rc = 0;

		if (!bpk_layout_fits(end, at, 8))
			return bpk_fail(err, BPK_CORRUPT, "wav has no data");
		if (read_chunk(source, at, &chunk, err) != 0)
			return -1;
		if (is_id(chunk.id, "data"))
			return take_data(end, &chunk, o, err);
		if (!bpk_layout_fits(end, chunk.offset, chunk.size))
			return bpk_fail(err, BPK_CORRUPT,
					"wav has a chunk of %" PRIu64 " bytes at %" PRIu64
					" beyond its end",
					chunk.size, at);
		if (is_id(chunk.id, "fmt "))
			rc = take_format(source, &chunk, o, err);
		else if (o->is_64 && is_id(chunk.id, "ds64"))
			rc = take_ds64(source, &chunk, o, err);
		if (rc != 0)
			return -1;
		at = chunk.offset + chunk.size + chunk.size % 2;
	}
	return bpk_fail(err, BPK_LIMIT, "wav has more than %d chunks in front of its data",
			MAX_CHUNKS);
}

/* ---- The member's operations ---- */

static void wav_close(void *own)
{
	struct own *o = own;

	bpk_array_clear(&o->array);
	free(o);
}

static int wav_open(struct bpk_source *source, void **own, struct bpk_layout_info *info,
		    struct bpk_err *err)
{
	struct own *o = bpk_calloc(1, sizeof *o, err);
	uint8_t id[4];

	if (o == NULL)
		return -1;
	if (bpk_source_need_at(source, 0, bpk_span(id, 4), err) != 0)
		goto failed;
	o->is_64 = !is_id(id, "RIFF");
	o->data_size = BPK_UNKNOWN; /* until a ds64 chunk sets it */
	if (walk(source, o, err) != 0)
		goto failed;
	snprintf(o->variant, sizeof o->variant, "%.4s, %" PRIu32 " Hz",
		 is_id(id, "RIFF")   ? "RIFF"
		 : is_id(id, "RF64") ? "RF64"
				     : "BW64",
		 o->rate);
	info->kind = "wav";
	info->variant = o->variant;
	info->narrays = 1;
	info->damage = o->damage[0] != '\0' ? o->damage : NULL;
	*own = o;
	return 0;
failed:
	wav_close(o);
	return -1;
}

static int wav_get(void *own, uint64_t number, struct bpk_item *item, struct bpk_err *err)
{
	struct own *o = own;

	(void)number;
	(void)err;
	item->name = "data";
	item->array = &o->array;
	item->offset = o->offset;
	return 0;
}

/* The sizes of file and data, and the 64-bit sizes of file, data and sample count. */
static size_t wav_parts(const void *own, struct bpk_layout_part parts[BPK_LAYOUT_PARTS])
{
	const struct own *o = own;

	parts[0] = (struct bpk_layout_part){ "file size", 4, 4, false };
	parts[1] = (struct bpk_layout_part){ "data size", o->offset - 4, 4, false };
	parts[2] = (struct bpk_layout_part){ "64-bit sizes", o->ds64, 24, false };
	return o->ds64 != 0 ? 3 : 2;
}

const struct bpk_layout_ops bpk_layout_wav = {
	.title = "WAV",
	.probe = wav_probe,
	.open = wav_open,
	.get = wav_get,
	.parts = wav_parts,
	.close = wav_close,
};
