/*
 * Chunk headers: reading and checking them, and writing the chunks that are a header only. Readers
 * of every format start here; encoder, decoder and flow call it, too.
 */
#include "chunk/fields.h"

#include <inttypes.h>

/* "Codec numbers": formats 0 to 4 have names; the others cannot be read. */
const char *bpk_codec_format_name(unsigned codec_format)
{
	static const char *const names[] = { "blosclz", "lz4",     "snappy",  "zlib",
					     "zstd",    "codec 5", "codec 6", "codec 7" };

	return codec_format < sizeof names / sizeof names[0] ? names[codec_format] : "codec ?";
}

/* "Presence is decided by flags & 0x05", an error in version 2. */
static bool is_extended(const struct bpk_chunk_fields *f)
{
	return (f->flags & BPK_FLAG_EXTENDED) == BPK_FLAG_EXTENDED && f->version >= 3 &&
	       f->version <= 6;
}

static void take_extended(struct bpk_cursor *cursor, struct bpk_chunk_fields *f)
{
	for (unsigned i = 0; i < BPK_CHUNK_MAX_FILTERS; i++)
		f->filters[i] = bpk_cursor_u8(cursor);
	f->codec = bpk_cursor_u8(cursor);
	bpk_cursor_u8(cursor); /* the parameter of a registered codec */
	for (unsigned i = 0; i < BPK_CHUNK_MAX_FILTERS; i++)
		f->metas[i] = bpk_cursor_u8(cursor);
	f->flags2 = bpk_cursor_u8(cursor);
	f->blosc2_flags = bpk_cursor_u8(cursor);
}

static int take_fields(struct bpk_view bytes, struct bpk_chunk_fields *f, struct bpk_err *err)
{
	struct bpk_cursor cursor = bpk_cursor(bytes);

	*f = (struct bpk_chunk_fields){ 0 };
	f->version = bpk_cursor_u8(&cursor);
	f->versionlz = bpk_cursor_u8(&cursor);
	f->flags = bpk_cursor_u8(&cursor);
	f->typesize = bpk_cursor_u8(&cursor);
	f->nbytes = bpk_cursor_le32s(&cursor);
	f->blocksize = bpk_cursor_le32s(&cursor);
	f->cbytes = bpk_cursor_le32s(&cursor);
	f->extended = !cursor.bad && is_extended(f);
	if (f->extended)
		take_extended(&cursor, f);
	if (cursor.bad)
		return bpk_fail(err, BPK_CORRUPT, "chunk header needs %d bytes, %zu are left",
				f->extended ? BPK_CHUNK_EXTENDED_HEADER_SIZE
					    : BPK_CHUNK_HEADER_SIZE,
				bytes.size);
	return 0;
}

/* Refuse flags that only later versions may have. */
static int check_version2(const struct bpk_chunk_fields *f, struct bpk_err *err)
{
	if ((f->flags & BPK_FLAG_EXTENDED) == BPK_FLAG_EXTENDED)
		return bpk_fail(err, BPK_CORRUPT,
				"chunk flags 0x%02x ask for shuffle and bitshuffle at once",
				f->flags);
	if ((f->flags & BPK_FLAG_DELTA) != 0)
		return bpk_fail(err, BPK_UNSUPPORTED,
				"chunk flags 0x%02x: version 2 has no delta filter", f->flags);
	/* a memcpyed chunk has no stream, so its format does not matter */
	if (f->versionlz != 1 && (f->flags & BPK_FLAG_MEMCPYED) == 0)
		return bpk_fail(err, BPK_UNSUPPORTED, "chunk stream format %u is not supported",
				f->versionlz);
	return 0;
}

/* "Version byte actually written". Only 7 can come from a later program, and 1 from an early one;
 * other values are damage. */
static int check_version(const struct bpk_chunk_fields *f, struct bpk_err *err)
{
	if (f->version == 0 || f->version > 7)
		return bpk_fail(err, BPK_CORRUPT,
				"chunk format version %u is not known, expected 2 to 6",
				f->version);
	if (f->version < 2 || f->version > 6)
		return bpk_fail(err, BPK_UNSUPPORTED, "chunk format version %u is not supported",
				f->version);
	return f->version == 2 ? check_version2(f, err) : 0;
}

static int check_sizes(const struct bpk_chunk_fields *f, struct bpk_err *err)
{
	int most = f->version == 2 ? BPK_CHUNK_MAX_BLOCK_SIZE_V2 : BPK_CHUNK_MAX_BLOCK_SIZE;
	int least = f->extended ? BPK_CHUNK_EXTENDED_HEADER_SIZE : BPK_CHUNK_HEADER_SIZE;

	if (f->typesize == 0)
		return bpk_fail(err, BPK_CORRUPT, "chunk typesize is 0");
	if (f->nbytes < 0 || f->nbytes > BPK_CHUNK_MAX_RAW_SIZE)
		return bpk_fail(err, BPK_CORRUPT, "chunk raw size %d is not from 0 to %d",
				f->nbytes, BPK_CHUNK_MAX_RAW_SIZE);
	/* for variable-length blocks this is the number of blocks, with the same bounds */
	if (f->blocksize < 1 || f->blocksize > most)
		return bpk_fail(err, BPK_CORRUPT, "chunk block size %d is not from 1 to %d",
				f->blocksize, most);
	if (f->cbytes < least)
		return bpk_fail(err, BPK_CORRUPT, "chunk packed size %d is less than its header",
				f->cbytes);
	return 0;
}

static void fill(const struct bpk_chunk_fields *f, struct bpk_chunk_header *header)
{
	const struct bpk_codec *codec = bpk_codec_of_format(f->flags >> BPK_FLAG_CODEC_SHIFT);

	*header = (struct bpk_chunk_header){
		.version = f->version,
		.flags = f->flags,
		.typesize = f->typesize,
		.header_size = f->extended ? BPK_CHUNK_EXTENDED_HEADER_SIZE : BPK_CHUNK_HEADER_SIZE,
		.raw_size = (uint32_t)f->nbytes,
		.block_size = (uint32_t)f->blocksize,
		.packed_size = (uint32_t)f->cbytes,
		.codec_format = f->flags >> BPK_FLAG_CODEC_SHIFT,
		.codec = codec == NULL ? 0 : codec->code,
		.memcpyed = (f->flags & BPK_FLAG_MEMCPYED) != 0,
		.pipeline = bpk_chunk_pipeline_of(f),
	};
}

/* "Validation", item 11: the block starts must fit into the chunk. */
static int fill_nblocks(struct bpk_chunk_header *header, uint64_t nblocks, struct bpk_err *err)
{
	uint64_t starts_end = header->header_size + 4 * nblocks;

	if (starts_end > header->packed_size)
		return bpk_fail(err, BPK_CORRUPT,
				"%" PRIu64 " block starts end at %" PRIu64 ", chunk ends at %u",
				nblocks, starts_end, header->packed_size);
	header->nblocks = (uint32_t)nblocks;
	return 0;
}

/* "Split rule", and "Validation", item 15. */
static int fill_split(struct bpk_chunk_header *header, struct bpk_err *err)
{
	uint32_t block_size = header->block_size;
	unsigned ts = header->typesize;

	header->split = (header->flags & BPK_FLAG_NOT_SPLIT) == 0;
	if (header->version == 2 && (ts > 16 || block_size / ts < 128))
		header->split = false;
	if (!header->split || block_size % ts == 0 || bpk_block_size_is_doubtful(header))
		return 0;
	return bpk_fail(err, BPK_CORRUPT, "split block size %u is not a multiple of typesize %u",
			block_size, ts);
}

/* "Variable-length-block chunks": every block has at least 1 raw byte. */
static int fill_variable(struct bpk_chunk_header *header, struct bpk_err *err)
{
	uint32_t nblocks = header->block_size;

	if (nblocks > header->raw_size)
		return bpk_fail(err, BPK_CORRUPT, "chunk of %u bytes has %u blocks",
				header->raw_size, nblocks);
	header->block_size = header->raw_size;
	return fill_nblocks(header, nblocks, err);
}

static int fill_blocks(struct bpk_chunk_header *header, struct bpk_err *err)
{
	if (header->dictionary && header->codec_format != BPK_CODEC_FORMAT_LZ4 &&
	    header->codec_format != BPK_CODEC_FORMAT_ZSTD)
		return bpk_fail(err, BPK_CORRUPT, "chunk of codec %s has a dictionary",
				bpk_codec_format_name(header->codec_format));
	if (header->variable_blocks)
		return fill_variable(header, err);
	if (fill_nblocks(header, bpk_div_up(header->raw_size, header->block_size), err) != 0)
		return -1;
	return fill_split(header, err);
}

static int check_memcpyed(const struct bpk_chunk_header *header, struct bpk_err *err)
{
	if (header->packed_size - header->header_size == header->raw_size)
		return 0;
	return bpk_fail(err, BPK_CORRUPT,
			"stored chunk takes %u bytes, but holds %u behind a header of %u",
			header->packed_size, header->raw_size, header->header_size);
}

/* "Layout": a larger block size means the raw size. */
static void clamp_block_size(struct bpk_chunk_header *header)
{
	if (!header->variable_blocks && header->raw_size > 0 &&
	    header->block_size > header->raw_size)
		header->block_size = header->raw_size;
}

int bpk_chunk_header_read(struct bpk_view bytes, struct bpk_chunk_header *header,
			  struct bpk_err *err)
{
	struct bpk_chunk_fields f;

	if (take_fields(bytes, &f, err) != 0 || check_version(&f, err) != 0 ||
	    check_sizes(&f, err) != 0)
		return -1;
	fill(&f, header);
	if (f.extended && bpk_chunk_extended_read(&f, header, err) != 0)
		return -1;
	clamp_block_size(header);
	if (header->special != BPK_SPECIAL_NONE)
		return 0;
	if (header->memcpyed)
		return check_memcpyed(header, err);
	if (header->raw_size == 0 && !header->variable_blocks)
		return 0;
	if (bpk_chunk_check_built_in(&f, header, err) != 0)
		return -1;
	return fill_blocks(header, err);
}

int bpk_chunk_header_read_plain(struct bpk_view bytes, struct bpk_chunk_header *header,
				struct bpk_err *err)
{
	if (bytes.size > 0 && bytes.data[0] >= 3 && bytes.data[0] <= 6)
		return bpk_fail(err, BPK_UNSUPPORTED,
				"chunk format version %u (Blosc2) in a container of version 2",
				bytes.data[0]);
	return bpk_chunk_header_read(bytes, header, err);
}

void bpk_chunk_write_empty(unsigned typesize, uint8_t out[BPK_CHUNK_HEADER_SIZE])
{
	out[0] = 2;
	out[1] = 1;
	out[2] = BPK_FLAG_SHUFFLE | BPK_FLAG_MEMCPYED | BPK_FLAG_NOT_SPLIT;
	out[3] = (uint8_t)typesize;
	bpk_put_le32(out + 4, 0);
	bpk_put_le32(out + 8, 1);
	bpk_put_le32(out + 12, BPK_CHUNK_HEADER_SIZE);
}

void bpk_chunk_write_special(enum bpk_special special, uint32_t raw_size, unsigned typesize,
			     uint8_t out[BPK_CHUNK_EXTENDED_HEADER_SIZE])
{
	uint64_t block_size = bpk_max_u64(1, bpk_min_u64(raw_size, BPK_CHUNK_MAX_BLOCK_SIZE));

	/* unspecified content may end inside an element, but special chunks hold whole elements */
	if (special == BPK_SPECIAL_UNINIT && raw_size % typesize != 0)
		typesize = 1;
	memset(out, 0, BPK_CHUNK_EXTENDED_HEADER_SIZE);
	out[0] = 5;
	out[1] = 1;
	out[2] = BPK_FLAG_EXTENDED;
	out[3] = (uint8_t)typesize;
	bpk_put_le32(out + 4, raw_size);
	bpk_put_le32(out + 8, (uint32_t)block_size);
	bpk_put_le32(out + 12, BPK_CHUNK_EXTENDED_HEADER_SIZE);
	out[31] = (uint8_t)(special << BPK_B2FLAG_SPECIAL_SHIFT);
}
