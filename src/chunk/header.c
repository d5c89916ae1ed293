#include "chunk/block.h"

/* "Codec numbers": formats 0 to 4 have names here; the others cannot be read. */
const char *bpk_codec_format_name(unsigned codec_format)
{
	static const char *const names[] = { "blosclz", "lz4",     "snappy",  "zlib",
					     "zstd",    "codec 5", "codec 6", "codec 7" };

	return codec_format < sizeof names / sizeof names[0] ? names[codec_format] : "codec ?";
}

/* The fields as they stand ("The 16 common bytes"). */
struct fields {
	unsigned version, versionlz, flags, typesize;
	int32_t nbytes, blocksize, cbytes;
};

static int take_fields(struct bpk_view bytes, struct fields *f, struct bpk_err *err)
{
	struct bpk_cursor cursor = bpk_cursor(bytes);

	f->version = bpk_cursor_u8(&cursor);
	f->versionlz = bpk_cursor_u8(&cursor);
	f->flags = bpk_cursor_u8(&cursor);
	f->typesize = bpk_cursor_u8(&cursor);
	f->nbytes = bpk_cursor_le32s(&cursor);
	f->blocksize = bpk_cursor_le32s(&cursor);
	f->cbytes = bpk_cursor_le32s(&cursor);
	if (cursor.bad)
		return bpk_fail(err, BPK_CORRUPT, "chunk header needs %d bytes, %zu are left",
				BPK_CHUNK_HEADER_SIZE, bytes.size);
	return 0;
}

/* "Version byte actually written". */
static int check_version(const struct fields *f, struct bpk_err *err)
{
	if (f->version >= 3 && f->version <= 6)
		return bpk_fail(err, BPK_UNSUPPORTED,
				"chunk format version %u (Blosc2) is not supported", f->version);
	if (f->version != 2)
		return bpk_fail(err, BPK_UNSUPPORTED, "chunk format version %u is not supported",
				f->version);
	if ((f->flags & BPK_FLAG_SHUFFLE) != 0 && (f->flags & BPK_FLAG_BITSHUFFLE) != 0)
		return bpk_fail(err, BPK_CORRUPT,
				"chunk flags 0x%02x ask for shuffle and bitshuffle at once",
				f->flags);
	if ((f->flags & BPK_FLAG_DELTA) != 0)
		return bpk_fail(err, BPK_UNSUPPORTED,
				"chunk flags 0x%02x: the delta filter is not supported", f->flags);
	/* a memcpyed chunk has no stream whose format could matter */
	if (f->versionlz != 1 && (f->flags & BPK_FLAG_MEMCPYED) == 0)
		return bpk_fail(err, BPK_UNSUPPORTED, "chunk stream format %u is not supported",
				f->versionlz);
	return 0;
}

static int check_sizes(const struct fields *f, struct bpk_err *err)
{
	if (f->typesize == 0)
		return bpk_fail(err, BPK_CORRUPT, "chunk typesize is 0");
	if (f->nbytes < 0 || f->nbytes > BPK_CHUNK_MAX_RAW_SIZE)
		return bpk_fail(err, BPK_CORRUPT, "chunk raw size %d is not within 0 and %d",
				f->nbytes, BPK_CHUNK_MAX_RAW_SIZE);
	if (f->blocksize < 1 || f->blocksize > BPK_CHUNK_MAX_BLOCK_SIZE_V2)
		return bpk_fail(err, BPK_CORRUPT, "chunk block size %d is not within 1 and %d",
				f->blocksize, BPK_CHUNK_MAX_BLOCK_SIZE_V2);
	if (f->cbytes < BPK_CHUNK_HEADER_SIZE)
		return bpk_fail(err, BPK_CORRUPT, "chunk packed size %d is less than its header",
				f->cbytes);
	return 0;
}

static enum bpk_filter filter_of_flags(unsigned flags)
{
	if ((flags & BPK_FLAG_SHUFFLE) != 0)
		return BPK_FILTER_SHUFFLE;
	return (flags & BPK_FLAG_BITSHUFFLE) != 0 ? BPK_FILTER_BITSHUFFLE : BPK_FILTER_NONE;
}

static void fill(const struct fields *f, struct bpk_chunk_header *header)
{
	*header = (struct bpk_chunk_header){
		.version = f->version,
		.flags = f->flags,
		.typesize = f->typesize,
		.header_size = BPK_CHUNK_HEADER_SIZE,
		.raw_size = (uint32_t)f->nbytes,
		.block_size = (uint32_t)f->blocksize,
		.packed_size = (uint32_t)f->cbytes,
		.codec_format = f->flags >> BPK_FLAG_CODEC_SHIFT,
		.memcpyed = (f->flags & BPK_FLAG_MEMCPYED) != 0,
	};
	/* "Layout": a larger block size means the raw size */
	if (header->raw_size > 0 && header->block_size > header->raw_size)
		header->block_size = header->raw_size;
	header->pipeline = bpk_pipeline_of(filter_of_flags(f->flags));
}

/* "Validation", items 7, 11 and 15: what the blocks of a regular chunk must satisfy. */
static int fill_blocks(struct bpk_chunk_header *header, struct bpk_err *err)
{
	uint64_t nblocks = bpk_div_up(header->raw_size, header->block_size);
	uint64_t starts_end = header->header_size + 4 * nblocks;
	unsigned ts = header->typesize;

	if (bpk_codec_of_format(header->codec_format) == NULL)
		return bpk_fail(err, BPK_UNSUPPORTED, "chunk codec %u is not supported",
				header->codec_format);
	if (starts_end > header->packed_size)
		return bpk_fail(err, BPK_CORRUPT, "%llu block starts end at %llu, chunk ends at %u",
				(unsigned long long)nblocks, (unsigned long long)starts_end,
				header->packed_size);
	header->nblocks = (uint32_t)nblocks;
	if ((header->flags & BPK_FLAG_NOT_SPLIT) != 0 || ts > 16 || header->block_size / ts < 128)
		return 0;
	if (header->block_size % ts != 0)
		return bpk_fail(err, BPK_CORRUPT,
				"split block size %u is not a multiple of typesize %u",
				header->block_size, ts);
	header->split = true;
	return 0;
}

int bpk_chunk_header_read_plain(struct bpk_view bytes, struct bpk_chunk_header *header,
				struct bpk_err *err)
{
	return bpk_chunk_header_read(bytes, header, err);
}

int bpk_chunk_header_read(struct bpk_view bytes, struct bpk_chunk_header *header,
			  struct bpk_err *err)
{
	struct fields f;

	if (take_fields(bytes, &f, err) != 0 || check_version(&f, err) != 0 ||
	    check_sizes(&f, err) != 0)
		return -1;
	fill(&f, header);
	if (header->memcpyed) {
		if (header->packed_size - header->header_size == header->raw_size)
			return 0;
		return bpk_fail(err, BPK_CORRUPT,
				"stored chunk takes %u bytes, but holds %u behind a header of %u",
				header->packed_size, header->raw_size, header->header_size);
	}
	if (header->raw_size == 0)
		return 0;
	return fill_blocks(header, err);
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
