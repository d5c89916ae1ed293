/*
 * Chunks of version 2: libblosc's vectors, ranges, damage, encoding, slack.
 */
#include "unit/guarded.h"

#include "chunk/chunk.h"

/*
 * Blosc chunk format, "Version 2 chunks": chunks by libblosc, and their content as a pattern, its
 * number of repetitions, and the bytes after it; without a pattern 32-bit counters. With a codec,
 * our header for that content equals theirs up to the packed size.
 */
struct vector {
	const char *name, *chunk, *pattern;
	unsigned times;
	const char *rest, *codec;
	unsigned level;
};

static const struct vector vectors[] = {
	{ "A1", "02013304000000000100000010000000", "", 0, "", "lz4", 5 },
	{ "A2", "02013304030000000100000013000000616263", "616263", 1, "", "lz4", 5 },
	{ "A3", "02011304140000001400000024000000000102030405060708090a0b0c0d0e0f10111213",
	  "000102030405060708090a0b0c0d0e0f10111213", 1, "", "blosclz", 5 },
	{ "A4", "02010001800000008000000027000000140000000f000000270001020304050607e06d07010607",
	  "0001020304050607", 16, "", "blosclz", 5 },
	{ "A5",
	  "02012001800000008000000033000000140000001b000000ff0100010203040506070001020304050607"
	  "100058500304050607",
	  "0001020304050607", 16, "", "lz4", 5 },
	{ "A6",
	  "0201200180000000800000002a00000014000000120000008f0001020304050607080060500304050607",
	  "0001020304050607", 16, "", "lz4hc", 5 },
	{ "A7",
	  "0201600180000000800000002b0000001400000013000000785e63606462666165636718201a006ec001"
	  "c1",
	  "0001020304050607", 16, "", "zlib", 5 },
	{ "A8",
	  "02019001800000008000000030000000140000001800000028b52ffd20807d0000400001020304050607"
	  "01007569e102",
	  "0001020304050607", 16, "", "zstd", 5 },
	{ "A9",
	  "02014102000100000001000030000000140000000a00000080010001fe0100fa01000a00000080010002"
	  "fe0100fa0100",
	  "0102", 128, "", "snappy", 5 },
	{ "A10",
	  "02010102000100000001000032000000140000000b0000002301010101e071030101010b000000230202"
	  "0202e07103010202",
	  "0102", 128, "", "blosclz", 5 },
	{ "A11",
	  "02017108800000008000000036000000140000001e000000785e636040058c6880090d30a3011634c08a"
	  "06d8d0003b1a0000476001c1",
	  "0001020304050607", 16, "", "zlib", 5 },
	{ "A12",
	  "02011404800000008000000034000000140000001c00000034aaaaaaaaccccccccf0f0f0f000ff00ff00"
	  "00ffff00e06000010000",
	  NULL, 32, "", "blosclz", 9 },
	{ "A13",
	  "0201340289000000880000002d00000018000000280000000c0000002f616202006e5062616261620100"
	  "00005a",
	  "6162", 68, "5a", NULL, 0 },
	{ "A14",
	  "02013402910000009000000034000000180000002f0000001300000014ff01001f0001003d0f5a001e50"
	  "0000000000010000005a",
	  "0104", 72, "5a", "lz4hc", 9 },
	{ "A15",
	  "0201100101010000800000003f0000001c0000002b0000003a0000000b0000002300000000e071030100"
	  "000b0000002300000000e071030100000100000078",
	  "00", 256, "78", NULL, 0 },
	{ "A16",
	  "0201200203020000020200003b00000018000000360000000b0000001f000100e85000000000000b0000"
	  "001f000100e8500000007879010000007a",
	  "00", 512, "78797a", "lz4", 5 },
};

enum { NVECTORS = sizeof vectors / sizeof vectors[0] };

static void expand(const struct vector *v, struct bytes *chunk, struct bytes *raw)
{
	chunk->size = raw->size = 0;
	add_hex(chunk, v->chunk);
	for (unsigned i = 0; i < v->times; i++) {
		char counter[9];

		snprintf(counter, sizeof counter, "%02x000000", i & 0xff);
		add_hex(raw, v->pattern == NULL ? counter : v->pattern);
	}
	add_hex(raw, v->rest);
}

static void check_ranges(struct bpk_chunk_ctx *ctx, struct bpk_view chunk, struct bpk_view raw)
{
	struct bpk_err err = { 0 };

	for (size_t start = 0; start <= raw.size; start++)
		for (size_t size = 0; size <= raw.size - start; size += 1 + size / 8) {
			struct guarded out = { 0 };
			uint8_t plain[SMALL];

			/* a guard page per call would take minutes, so only some calls get one */
			if ((start + size) % 97 == 0)
				out = guarded_new(NULL, size, true);
			assert_int_equal(bpk_chunk_decode_range(
						 ctx, chunk, start,
						 bpk_span(out.map ? out.bytes : plain, size), &err),
					 0);
			if (size > 0)
				assert_memory_equal(out.map ? out.bytes : plain, raw.data + start,
						    size);
			if (out.map != NULL)
				guarded_free(&out);
		}
}

static void test_vectors_decode(void **state)
{
	for (size_t i = 0; i < NVECTORS; i++)
		for (int at_end = 0; at_end < 2; at_end++) {
			struct bytes chunk, raw;
			struct guarded in, out;
			struct bpk_err err = { 0 };

			expand(&vectors[i], &chunk, &raw);
			in = guarded_new(chunk.data, chunk.size, at_end);
			out = guarded_new(NULL, raw.size, at_end);
			if (bpk_chunk_decode(*state, bpk_view(in.bytes, chunk.size),
					     bpk_span(out.bytes, raw.size), &err) != 0)
				fail_msg("%s: %s", vectors[i].name, err.text);
			if (raw.size > 0)
				assert_memory_equal(out.bytes, raw.data, raw.size);
			check_ranges(*state, bpk_view(in.bytes, chunk.size),
				     bpk_view(raw.data, raw.size));
			guarded_free(&in);
			guarded_free(&out);
		}
}

static void test_vectors_encode_alike(void **state)
{
	for (size_t i = 0; i < NVECTORS; i++) {
		const struct vector *v = &vectors[i];
		struct bytes chunk, raw;
		struct bpk_recipe recipe = { .level = v->level };
		struct guarded in, out;
		struct bpk_err err = { 0 };
		uint8_t back[SMALL];
		size_t packed;

		if (v->codec == NULL)
			continue;
		expand(v, &chunk, &raw);
		recipe.codec = bpk_codec_find(v->codec);
		recipe.typesize = chunk.data[3];
		recipe.pipeline = bpk_pipeline_of(chunk.data[2] & 1     ? BPK_FILTER_SHUFFLE
						  : chunk.data[2] & 0x4 ? BPK_FILTER_BITSHUFFLE
									: BPK_FILTER_NONE);
		in = guarded_new(raw.data, raw.size, true);
		out = guarded_new(NULL, bpk_chunk_bound(raw.size), true);
		assert_int_equal(bpk_chunk_encode(*state, &recipe, bpk_view(in.bytes, raw.size),
						  bpk_span(out.bytes, bpk_chunk_bound(raw.size)),
						  &packed, &err),
				 0);
		/* the packed size is left out: a codec may compress better */
		assert_memory_equal(out.bytes, chunk.data, 12);
		assert_true(packed <= chunk.size + 8);
		assert_int_equal(bpk_get_le32(out.bytes + 12), packed);
		assert_int_equal(bpk_chunk_decode(*state, bpk_view(out.bytes, packed),
						  bpk_span(back, raw.size), &err),
				 0);
		if (raw.size > 0)
			assert_memory_equal(back, raw.data, raw.size);
		guarded_free(&in);
		guarded_free(&out);
	}
}

static int no_extent(void *arg, uint32_t offset, uint32_t size, struct bpk_err *err)
{
	uint32_t *end = arg;

	(void)err;
	assert_true(size > 0 && offset >= *end);
	*end = offset + size;
	return 0;
}

/* Damaged chunks: no access outside in and out, and every failure has a message. */
static void decode_damaged(struct bpk_chunk_ctx *ctx, struct bpk_view in)
{
	struct bpk_chunk_header header;
	struct bpk_err err = { 0 };
	struct guarded out;
	uint32_t end = 0;

	if (bpk_chunk_header_read(in, &header, &err) != 0) {
		assert_true(err.kind == BPK_CORRUPT || err.kind == BPK_UNSUPPORTED);
		assert_true(err.text[0] != '\0');
		return;
	}
	if (header.raw_size > 1 << 20)
		return;
	out = guarded_new(NULL, header.raw_size, true);
	if (bpk_chunk_decode(ctx, in, bpk_span(out.bytes, header.raw_size), &err) != 0)
		assert_int_equal(err.kind, BPK_CORRUPT);
	if (header.raw_size >= 8) {
		bpk_chunk_decode_range(ctx, in, header.raw_size / 2,
				       bpk_span(out.bytes, header.raw_size / 4), &err);
		bpk_chunk_extents(in, 3, header.raw_size - 3, no_extent, &end, &err);
		assert_true(end <= header.packed_size);
	}
	guarded_free(&out);
}

static void test_every_bit_flipped(void **state)
{
	for (size_t i = 0; i < NVECTORS; i++) {
		struct bytes chunk, raw;
		struct guarded in;

		expand(&vectors[i], &chunk, &raw);
		in = guarded_new(chunk.data, chunk.size, true);
		for (size_t bit = 0; bit < 8 * chunk.size; bit++) {
			in.bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
			decode_damaged(*state, bpk_view(in.bytes, chunk.size));
			in.bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
		}
		guarded_free(&in);
	}
}

static void test_every_field_set(void **state)
{
	static const uint32_t values[] = { 0,          1,          2,          15,
					   16,         17,         127,        0x7fffffff,
					   0x7fffffef, 0x7ffffff0, 0x80000000, 0xffffffff,
					   0xfffffffc, 0x2aaaaaaa, 0x1fffffff };

	for (size_t i = 0; i < NVECTORS; i++) {
		struct bytes chunk, raw;
		struct guarded in;

		expand(&vectors[i], &chunk, &raw);
		in = guarded_new(chunk.data, chunk.size, true);
		for (size_t at = 0; at + 4 <= chunk.size; at++)
			for (size_t v = 0; v < sizeof values / sizeof values[0]; v++) {
				bpk_put_le32(in.bytes + at, values[v]);
				decode_damaged(*state, bpk_view(in.bytes, chunk.size));
				memcpy(in.bytes + at, chunk.data + at, 4);
			}
		guarded_free(&in);
	}
}

static void test_every_truncation(void **state)
{
	for (size_t i = 0; i < NVECTORS; i++) {
		struct bytes chunk, raw;

		expand(&vectors[i], &chunk, &raw);
		for (size_t size = 0; size < chunk.size; size++) {
			struct guarded in = guarded_new(chunk.data, size, true);
			struct bpk_err err = { 0 };
			uint8_t out[SMALL];

			assert_int_equal(bpk_chunk_decode(*state, bpk_view(in.bytes, size),
							  bpk_span(out, raw.size), &err),
					 -1);
			assert_int_equal(err.kind, BPK_CORRUPT);
			/* the same with the cut size in the header */
			if (size >= 16) {
				bpk_put_le32(in.bytes + 12, (uint32_t)size);
				assert_int_equal(bpk_chunk_decode(*state, bpk_view(in.bytes, size),
								  bpk_span(out, raw.size), &err),
						 -1);
				assert_int_equal(err.kind, BPK_CORRUPT);
			}
			guarded_free(&in);
		}
	}
}

/* One byte of a vector replaced, and the expected message. */
static void test_refusals_say_why(void **state)
{
	static const struct {
		const char *chunk;
		enum bpk_kind kind;
		const char *text;
	} cases[] = {
		{ "07010704000000000100000020000000000000000001010000000000000000"
		  "00",
		  BPK_UNSUPPORTED, "chunk format version 7 is not supported" },
		{ "01013304000000000100000010000000", BPK_UNSUPPORTED,
		  "chunk format version 1 is not supported" },
		{ "02010504800000008000000027000000", BPK_CORRUPT,
		  "chunk flags 0x05 ask for shuffle and bitshuffle at once" },
		{ "02010804800000008000000027000000", BPK_UNSUPPORTED,
		  "chunk flags 0x08: version 2 has no delta filter" },
		{ "02020001800000008000000027000000", BPK_UNSUPPORTED,
		  "chunk stream format 2 is not supported" },
		{ "02010000800000008000000027000000", BPK_CORRUPT, "chunk typesize is 0" },
		{ "02010001ffffffff8000000027000000", BPK_CORRUPT,
		  "chunk raw size -1 is not from 0 to 2147483631" },
		{ "02010001800000000000000027000000", BPK_CORRUPT,
		  "chunk block size 0 is not from 1 to 715827542" },
		{ "0201000180000000800000000f000000", BPK_CORRUPT,
		  "chunk packed size 15 is less than its header" },
		{ "0201a001800000008000000027000000", BPK_UNSUPPORTED,
		  "chunk codec 5 is not supported" },
		{ "02010001800000000100000027000000", BPK_CORRUPT,
		  "128 block starts end at 528, chunk ends at 39" },
		{ "020113041400000014000000250000000001020304050607", BPK_CORRUPT,
		  "stored chunk takes 37 bytes, but holds 20 behind a header of 16" },
		{ "02010102010100000101000032000000", BPK_CORRUPT,
		  "split block size 257 is not a multiple of typesize 2" },
		{ "0201000180000000800000", BPK_CORRUPT,
		  "chunk header needs 16 bytes, 11 are left" },
		/* the chunks below have a valid header */
		{ "02010001800000008000000027000000140000000f000000270001020304050607e06d0701",
		  BPK_CORRUPT, "chunk of 39 bytes is cut after 37" },
		{ "02010001800000008000000027000000130000000f000000270001020304050607e06d07010607",
		  BPK_CORRUPT, "block 0 starts at 19, outside 20 to 39" },
		{ "02010001800000008000000027000000ffffffff0f000000270001020304050607e06d07010607",
		  BPK_CORRUPT, "block 0 starts at 4294967295, outside 20 to 39" },
		{ "020100018000000080000000270000001400000010000000270001020304050607e06d07010607",
		  BPK_CORRUPT, "block 0, stream 0: size 16, but 15 bytes of the chunk are left" },
		{ "020100018000000080000000270000001400000000000000270001020304050607e06d07010607",
		  BPK_CORRUPT, "block 0, stream 0: size 0 in a version 2 chunk" },
		{ "0201000180000000800000002700000014000000f9ffffff010001020304050607e06d07010607",
		  BPK_CORRUPT, "block 0, stream 0: size -7 in a version 2 chunk" },
		{ "02010102000100000001000032000000140000000b0000002301010101e071030101010c000000"
		  "2302020202e07103010202",
		  BPK_CORRUPT, "block 0, stream 1: size 12, but 11 bytes of the chunk are left" },
		/* block 2 is at the place of block 0 */
		{ "0201100101010000800000003f0000001c0000001c0000001c0000000b0000002300000000e071"
		  "030100000b0000002300000000e071030100000100000078",
		  BPK_CORRUPT, "block 2, stream 0: " },
	};

	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct bytes chunk = { .size = 0 };
		struct bpk_chunk_header header;
		struct bpk_err err = { 0 };
		uint8_t out[SMALL];

		add_hex(&chunk, cases[i].chunk);
		if (bpk_chunk_header_read(bpk_view(chunk.data, chunk.size), &header, &err) == 0)
			assert_int_equal(bpk_chunk_decode(*state, bpk_view(chunk.data, chunk.size),
							  bpk_span(out, header.raw_size), &err),
					 -1);
		assert_int_equal(err.kind, cases[i].kind);
		if (strncmp(err.text, cases[i].text, strlen(cases[i].text)) != 0)
			fail_msg("\"%s\" is not \"%s\"", err.text, cases[i].text);
	}
}

/* A chunk of raw streams, for layout only. Its bytes count up, and blocks may be in reverse
 * order. */
static void lay_out(struct bytes *chunk, unsigned flags, unsigned typesize, uint32_t block_size,
		    uint32_t raw_size, unsigned nstreams, bool backwards)
{
	uint32_t nblocks = (raw_size + block_size - 1) / block_size;
	uint32_t at = 16 + 4 * nblocks;

	memset(chunk->data, 0, 16);
	chunk->data[0] = 2;
	chunk->data[1] = 1;
	chunk->data[2] = (uint8_t)flags;
	chunk->data[3] = (uint8_t)typesize;
	bpk_put_le32(chunk->data + 4, raw_size);
	bpk_put_le32(chunk->data + 8, block_size);
	for (uint32_t i = 0; i < nblocks; i++) {
		uint32_t k = backwards ? nblocks - 1 - i : i;
		uint32_t size = k == nblocks - 1 ? raw_size - k * block_size : block_size;
		uint32_t n = size == block_size ? nstreams : 1;

		bpk_put_le32(chunk->data + 16 + 4 * k, at);
		for (uint32_t s = 0; s < n; s++) {
			bpk_put_le32(chunk->data + at, size / n);
			for (uint32_t j = 0; j < size / n; j++)
				chunk->data[at + 4 + j] =
					(uint8_t)(k * block_size + s * (size / n) + j);
			at += 4 + size / n;
		}
	}
	chunk->size = at;
	bpk_put_le32(chunk->data + 12, at);
}

/* "Split rule": 1.21 with the option to split always, with blocks too small for its version. */
static void test_salvages_always_split(void **state)
{
	struct bytes chunk;
	struct bpk_err err = { 0 };
	uint8_t out[72];

	lay_out(&chunk, 0x21, 2, 32, 72, 2, false);
	assert_int_equal(
		bpk_chunk_decode(*state, bpk_view(chunk.data, chunk.size), bpk_span(out, 72), &err),
		0);
	for (unsigned i = 0; i < 64; i++)
		assert_int_equal(out[i], i / 32 * 32 + i % 2 * 16 + i % 32 / 2);
	/* the short last block is one stream, with its own shuffle */
	for (unsigned i = 64; i < 72; i++)
		assert_int_equal(out[i], 64 + i % 2 * 4 + (i - 64) / 2);
	assert_int_equal(bpk_chunk_decode_range(*state, bpk_view(chunk.data, chunk.size), 33,
						bpk_span(out, 5), &err),
			 0);
	assert_int_equal(out[0], 48);
	assert_int_equal(out[4], 50);

	/* with the flag for unsplit blocks nothing is salvaged */
	chunk.data[2] |= 0x10;
	assert_int_equal(
		bpk_chunk_decode(*state, bpk_view(chunk.data, chunk.size), bpk_span(out, 72), &err),
		-1);
	assert_int_equal(err.kind, BPK_CORRUPT);

	/* a chunk whose first block obeys the rule must obey it throughout */
	lay_out(&chunk, 0x21, 2, 32, 72, 1, false);
	bpk_put_le32(chunk.data + bpk_get_le32(chunk.data + 20), 16);
	bpk_put_le32(chunk.data + bpk_get_le32(chunk.data + 20) + 20, 12);
	assert_int_equal(
		bpk_chunk_decode(*state, bpk_view(chunk.data, chunk.size), bpk_span(out, 72), &err),
		-1);
	assert_non_null(strstr(err.text, "block 1, stream 0"));
}

/* The result of extents is sufficient: all other bytes are made wrong. */
struct copier {
	const struct bytes *from;
	struct bytes to;
	uint32_t end;
	unsigned calls;
};

static int copy_extent(void *arg, uint32_t offset, uint32_t size, struct bpk_err *err)
{
	struct copier *c = arg;

	(void)err;
	assert_true(offset >= c->end && size > 0 && size <= c->from->size - offset);
	memcpy(c->to.data + offset, c->from->data + offset, size);
	c->end = offset + size;
	c->calls++;
	return 0;
}

static void check_extents(struct bpk_chunk_ctx *ctx, const struct bytes *chunk, size_t head,
			  uint32_t raw_size)
{
	uint8_t all[SMALL], part[SMALL];
	struct bpk_err err = { 0 };

	assert_int_equal(bpk_chunk_decode(ctx, bpk_view(chunk->data, chunk->size),
					  bpk_span(all, raw_size), &err),
			 0);
	for (uint32_t start = 0; start < raw_size; start += 7)
		for (uint32_t size = 1; size <= raw_size - start; size += 5) {
			struct copier c = { .from = chunk, .end = (uint32_t)head };

			memset(c.to.data, 0xee, SMALL);
			memcpy(c.to.data, chunk->data, head);
			assert_int_equal(bpk_chunk_extents(bpk_view(chunk->data, head), start, size,
							   copy_extent, &c, &err),
					 0);
			assert_true(c.calls >= 1);
			assert_int_equal(bpk_chunk_decode_range(ctx,
								bpk_view(c.to.data, chunk->size),
								start, bpk_span(part, size), &err),
					 0);
			assert_memory_equal(part, all + start, size);
		}
}

static int refuse_extent(void *arg, uint32_t offset, uint32_t size, struct bpk_err *err)
{
	(void)arg, (void)offset, (void)size, (void)err;
	return 7;
}

static void test_extents_are_enough(void **state)
{
	struct bytes chunk, raw;
	struct bpk_err err = { 0 };
	uint32_t end = 0;

	lay_out(&chunk, 0x31, 4, 40, 333, 1, true);
	check_extents(*state, &chunk, 16 + 4 * 9, 333);
	assert_int_equal(bpk_chunk_extents(bpk_view(chunk.data, 52), 0, 333, no_extent, &end, &err),
			 0);
	assert_int_equal(end, chunk.size);
	assert_int_equal(
		bpk_chunk_extents(bpk_view(chunk.data, 52), 5, 1, refuse_extent, NULL, &err), 7);
	assert_int_equal(
		bpk_chunk_extents(bpk_view(chunk.data, 52), 5, 329, refuse_extent, NULL, &err), -1);
	assert_int_equal(err.kind, BPK_USAGE);
	assert_int_equal(
		bpk_chunk_extents(bpk_view(chunk.data, 51), 5, 1, refuse_extent, NULL, &err), -1);
	assert_int_equal(err.kind, BPK_CORRUPT);
	expand(&vectors[2], &chunk, &raw);
	check_extents(*state, &chunk, 16, 20);
}

static void test_recipes_out_of_range(void **state)
{
	const struct bpk_recipe good = { bpk_codec_find("lz4"), 5, 4,
					 bpk_pipeline_of(BPK_FILTER_SHUFFLE), .block_size = 0 };
	struct bpk_recipe bad[] = { good, good, good, good };
	uint8_t raw[64] = { 0 }, out[80];
	size_t packed;

	bad[0].level = 10;
	bad[1].typesize = 0;
	bad[2].typesize = 256;
	bad[3].pipeline = bpk_pipeline_of(BPK_FILTER_DELTA);
	for (size_t i = 0; i < 4; i++) {
		struct bpk_err err = { 0 };

		assert_int_equal(bpk_chunk_encode(*state, &bad[i], bpk_view(raw, 64),
						  bpk_span(out, 80), &packed, &err),
				 -1);
		assert_int_equal(err.kind, BPK_USAGE);
	}
	assert_int_equal(bpk_chunk_encode(*state, &good, bpk_view(raw, 64), bpk_span(out, 79),
					  &packed, NULL),
			 -1);
	assert_int_equal(bpk_chunk_encode(*state, &good, bpk_view(raw, 64), bpk_span(out, 80),
					  &packed, NULL),
			 0);
}

/* The mandatory rules for a forced block size; Zstd splits where byte planes help. */
static void test_block_sizes(void **state)
{
	static const struct {
		const char *codec;
		enum bpk_filter filter;
		unsigned typesize;
		uint32_t asked, given;
		bool split;
	} cases[] = {
		{ "lz4", BPK_FILTER_SHUFFLE, 4, 4099, 4096, true },
		{ "lz4", BPK_FILTER_NONE, 4, 508, 508, false },
		{ "lz4", BPK_FILTER_NONE, 4, 512, 512, true },
		{ "lz4", BPK_FILTER_SHUFFLE, 17, 4000, 3995, false },
		{ "lz4", BPK_FILTER_BITSHUFFLE, 3, 4000, 3984, true },
		{ "zstd", BPK_FILTER_SHUFFLE, 8, 8195, 8192, true },
		{ "zstd", BPK_FILTER_BITSHUFFLE, 8, 8192, 8192, false },
		{ "zstd", BPK_FILTER_NONE, 8, 8192, 8192, false },
		{ "zlib", BPK_FILTER_SHUFFLE, 255, 100, 100, false },
		{ "lz4", BPK_FILTER_SHUFFLE, 4, 0xffffffff, 16384, true },
	};
	static uint8_t raw[16384], out[16400];

	memset(raw, 7, 100);
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct bpk_recipe recipe = { bpk_codec_find(cases[i].codec), 1, cases[i].typesize,
					     bpk_pipeline_of(cases[i].filter),
					     .block_size = cases[i].asked };
		struct bpk_chunk_header header;
		struct bpk_err err = { 0 };
		size_t packed;

		assert_int_equal(bpk_chunk_encode(*state, &recipe, bpk_view(raw, sizeof raw),
						  bpk_span(out, sizeof out), &packed, &err),
				 0);
		assert_int_equal(bpk_chunk_header_read(bpk_view(out, packed), &header, &err), 0);
		assert_false(header.memcpyed);
		assert_int_equal(header.block_size, cases[i].given);
		assert_int_equal(header.split, cases[i].split);
	}
}

/* Earlier work of a context does not affect later output. */
static void test_a_used_context_packs_alike(void **state)
{
	enum { SIZE = 40000 };
	static uint8_t raw[SIZE], fresh_out[SIZE + 16], used_out[SIZE + 16];
	const struct bpk_codec *codec;

	for (unsigned round = 0; round < 6; round++)
		for (size_t i = 0; (codec = bpk_codec_at(i)) != NULL; i++) {
			struct bpk_recipe recipe = { codec, 1 + round, 8,
						     bpk_pipeline_of(BPK_FILTER_SHUFFLE),
						     .block_size = 8192u << round % 3 };
			struct bpk_chunk_ctx *fresh = bpk_chunk_ctx_new(NULL);
			size_t fresh_size = 0, used_size = 0;
			struct unit_random r = { round };

			assert_non_null(fresh);
			for (size_t j = 0; j < SIZE; j++)
				raw[j] = j % 8 > 4   ? (uint8_t)round
					 : j % 8 > 1 ? (uint8_t)(j >> 9)
						     : (uint8_t)unit_random_next(&r);
			assert_int_equal(bpk_chunk_encode(fresh, &recipe, bpk_view(raw, SIZE),
							  bpk_span(fresh_out, SIZE + 16),
							  &fresh_size, NULL),
					 0);
			assert_int_equal(bpk_chunk_encode(*state, &recipe, bpk_view(raw, SIZE),
							  bpk_span(used_out, SIZE + 16), &used_size,
							  NULL),
					 0);
			assert_int_equal(fresh_size, used_size);
			assert_memory_equal(fresh_out, used_out, used_size);
			assert_int_equal(bpk_chunk_decode(*state, bpk_view(fresh_out, fresh_size),
							  bpk_span(used_out, SIZE), NULL),
					 0);
			assert_memory_equal(used_out, raw, SIZE);
			bpk_chunk_ctx_free(fresh);
		}
}

static void test_empty_chunk(void **state)
{
	struct bpk_chunk_header header;
	struct bpk_err err = { 0 };
	/* Bloscpack format, "Zero-length input": the bytes that identify its end marker */
	static const uint8_t expected[16] = { 2, 1, 0x13, 8, 0, 0, 0, 0, 1, 0, 0, 0, 16, 0, 0, 0 };
	uint8_t chunk[16];

	bpk_chunk_write_empty(8, chunk);
	assert_memory_equal(chunk, expected, sizeof expected);
	assert_int_equal(bpk_chunk_header_read(bpk_view(chunk, 16), &header, &err), 0);
	assert_int_equal(header.raw_size, 0);
	assert_int_equal(header.packed_size, 16);
	assert_int_equal(header.typesize, 8);
	assert_int_equal(bpk_chunk_decode(*state, bpk_view(chunk, 16), bpk_span(NULL, 0), &err), 0);
	assert_int_equal(
		bpk_chunk_decode_range(*state, bpk_view(chunk, 16), 0, bpk_span(chunk, 1), &err),
		-1);
	assert_int_equal(err.kind, BPK_USAGE);
}

/* ---- Slack ---- */

enum { LARGE = 5000 };

/* A chunk of LARGE bytes, compressible or noise, in room for twice as much. */
static size_t pack_large(struct bpk_chunk_ctx *ctx, const char *codec, bool noise, uint8_t *raw,
			 uint8_t *packed)
{
	struct bpk_recipe recipe = { .codec = bpk_codec_find(codec),
				     .level = 5,
				     .typesize = 4,
				     .pipeline = bpk_pipeline_of(BPK_FILTER_SHUFFLE),
				     .block_size = 2048 };
	struct unit_random random = { 1 };
	size_t size;

	for (size_t i = 0; i < LARGE; i++)
		raw[i] = noise ? (uint8_t)unit_random_next(&random) : (uint8_t)(i / 40);
	assert_int_equal(bpk_chunk_encode(ctx, &recipe, bpk_view(raw, LARGE),
					  bpk_span(packed, 2 * LARGE), &size, NULL),
			 0);
	return size;
}

static void check_padded(struct bpk_chunk_ctx *ctx, const char *codec, uint64_t reserve)
{
	static uint8_t raw[LARGE], packed[2 * LARGE], back[LARGE];
	size_t size = pack_large(ctx, codec, false, raw, packed);
	struct bpk_chunk_header header;
	uint32_t slot;

	memset(packed + size, 0xff, sizeof packed - size);
	assert_int_equal(bpk_chunk_header_read(bpk_view(packed, size), &header, NULL), 0);
	slot = bpk_chunk_slot(bpk_view(packed, size), &header, reserve);
	assert_int_equal(slot, bpk_min_u64(reserve, LARGE + 16 - size) + size);
	assert_int_equal(bpk_chunk_pad(bpk_span(packed, slot), size, NULL), 0);
	assert_int_equal(bpk_chunk_header_read(bpk_view(packed, slot), &header, NULL), 0);
	assert_int_equal(header.packed_size, slot);
	for (size_t i = size; i < slot; i++)
		assert_int_equal(packed[i], 0);
	assert_int_equal(bpk_chunk_decode(ctx, bpk_view(packed, slot), bpk_span(back, LARGE), NULL),
			 0);
	assert_memory_equal(back, raw, LARGE);
	assert_int_equal(bpk_chunk_decode_range(ctx, bpk_view(packed, slot), LARGE - 100,
						bpk_span(back, 100), NULL),
			 0);
	assert_memory_equal(back, raw + LARGE - 100, 100);
	/* again, into a larger slot */
	assert_int_equal(bpk_chunk_pad(bpk_span(packed, LARGE + 16), slot, NULL), 0);
	assert_int_equal(
		bpk_chunk_decode(ctx, bpk_view(packed, LARGE + 16), bpk_span(back, LARGE), NULL),
		0);
	assert_memory_equal(back, raw, LARGE);
}

static void test_padded_chunks_decode(void **state)
{
	static const uint64_t reserves[] = { 0, 1, 1000, LARGE, UINT64_MAX };
	struct bpk_chunk_ctx *ctx = bpk_chunk_ctx_new(NULL);
	const struct bpk_codec *codec;

	(void)state;
	for (size_t c = 0; (codec = bpk_codec_at(c)) != NULL; c++)
		for (size_t i = 0; i < sizeof reserves / sizeof *reserves; i++)
			check_padded(ctx, bpk_codec_name(codec), reserves[i]);
	bpk_chunk_ctx_free(ctx);
}

static void test_slack_has_its_limits(void **state)
{
	static uint8_t raw[LARGE], packed[2 * LARGE + 16];
	struct bpk_chunk_ctx *ctx = bpk_chunk_ctx_new(NULL);
	struct bpk_chunk_header header;
	struct bpk_err err = { 0 };
	size_t size;

	(void)state;
	size = pack_large(ctx, "zstd", false, raw, packed);
	assert_int_equal(bpk_chunk_pad(bpk_span(packed, size - 1), size, &err), -1);
	assert_int_equal(err.kind, BPK_LIMIT);
	assert_int_equal(bpk_chunk_pad(bpk_span(packed, LARGE + 17), size, &err), -1);
	assert_int_equal(err.kind, BPK_LIMIT);
	assert_int_equal(bpk_chunk_pad(bpk_span(packed, size), size - 1, &err), -1);
	assert_int_equal(err.kind, BPK_CORRUPT);
	/* a chunk that another program enlarged keeps its size */
	bpk_put_le32(packed + 12, 2 * LARGE);
	assert_int_equal(bpk_chunk_header_read(bpk_view(packed, 2 * LARGE), &header, NULL), 0);
	assert_int_equal(bpk_chunk_slot(bpk_view(packed, 2 * LARGE), &header, 7), 2 * LARGE);
	/* a stored chunk has no slack */
	size = pack_large(ctx, "zstd", true, raw, packed);
	assert_int_equal(size, LARGE + 16);
	assert_int_equal(bpk_chunk_header_read(bpk_view(packed, size), &header, NULL), 0);
	assert_int_equal(bpk_chunk_slot(bpk_view(packed, size), &header, 1000), size);
	assert_int_equal(bpk_chunk_pad(bpk_span(packed, size), size, NULL), 0);
	assert_int_equal(bpk_chunk_pad(bpk_span(packed, size + 1), size, &err), -1);
	assert_int_equal(err.kind, BPK_LIMIT);
	bpk_chunk_ctx_free(ctx);
}

/* In a version 5 chunk the last block and its slack are at most as long as c-blosc2 reads
 * (blosc_d). */
static void test_slack_of_extended_chunks(void **state)
{
	enum { BLOCK = 512, TYPESIZE = 4, MOST = BLOCK + 4 * TYPESIZE };
	static uint8_t raw[LARGE], packed[2 * LARGE];
	static const struct bpk_pipeline none;
	struct bpk_chunk_ctx *ctx = bpk_chunk_ctx_new(NULL);
	struct bpk_recipe recipe = { .codec = bpk_codec_find("lz4"),
				     .level = 5,
				     .typesize = TYPESIZE,
				     .pipeline = none,
				     .block_size = BLOCK,
				     .extended = true };
	struct bpk_chunk_header header;
	uint32_t last, slot;
	size_t size;
	bool fit;

	(void)state;
	for (size_t i = 0; i < LARGE; i++)
		raw[i] = (uint8_t)(i / 40);
	assert_int_equal(bpk_chunk_encode(ctx, &recipe, bpk_view(raw, LARGE),
					  bpk_span(packed, 2 * LARGE), &size, NULL),
			 0);
	assert_int_equal(bpk_chunk_header_read(bpk_view(packed, size), &header, NULL), 0);
	assert_true(header.nblocks > 4);
	last = bpk_get_le32(packed + 32 + 4 * (header.nblocks - 1));
	slot = bpk_chunk_slot(bpk_view(packed, size), &header, UINT64_MAX);
	assert_int_equal(slot, last + MOST);
	assert_int_equal(bpk_chunk_slot(bpk_view(packed, size), &header, 7), size + 7);
	assert_int_equal(bpk_chunk_pad(bpk_span(packed, slot + 1), size, NULL), -1);
	assert_int_equal(bpk_chunk_pad(bpk_span(packed, slot), size, NULL), 0);
	assert_int_equal(bpk_chunk_header_read(bpk_view(packed, slot), &header, NULL), 0);
	assert_int_equal(bpk_chunk_blocks_fit(bpk_view(packed, slot), &header, &fit, NULL), 0);
	assert_true(fit);
	header.packed_size = slot + 1;
	assert_int_equal(bpk_chunk_blocks_fit(bpk_view(packed, slot + 1), &header, &fit, NULL), 0);
	assert_false(fit);
	/* of two blocks at one place, one has no bytes */
	header.packed_size = slot;
	memcpy(packed + 36, packed + 32, 4);
	assert_int_equal(bpk_chunk_blocks_fit(bpk_view(packed, slot), &header, &fit, NULL), 0);
	assert_false(fit);
	bpk_chunk_ctx_free(ctx);
}

static void test_names(void **state)
{
	(void)state;
	assert_string_equal(bpk_filter_name(BPK_FILTER_SHUFFLE), "shuffle");
	assert_null(bpk_filter_name(5));
	assert_string_equal(bpk_codec_format_name(4), "zstd");
	assert_string_equal(bpk_codec_format_name(5), "codec 5");
}

static int set_up(void **state)
{
	*state = bpk_chunk_ctx_new(NULL);
	return *state == NULL ? -1 : 0;
}

static int tear_down(void **state)
{
	bpk_chunk_ctx_free(*state);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_vectors_decode),
		cmocka_unit_test(test_vectors_encode_alike),
		cmocka_unit_test(test_every_bit_flipped),
		cmocka_unit_test(test_every_field_set),
		cmocka_unit_test(test_every_truncation),
		cmocka_unit_test(test_refusals_say_why),
		cmocka_unit_test(test_salvages_always_split),
		cmocka_unit_test(test_extents_are_enough),
		cmocka_unit_test(test_recipes_out_of_range),
		cmocka_unit_test(test_block_sizes),
		cmocka_unit_test(test_a_used_context_packs_alike),
		cmocka_unit_test(test_empty_chunk),
		cmocka_unit_test(test_padded_chunks_decode),
		cmocka_unit_test(test_slack_has_its_limits),
		cmocka_unit_test(test_slack_of_extended_chunks),
		cmocka_unit_test(test_names),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
