/*
 * Reading Blosc2 chunks: extended headers, pipelines, runs, special chunks, dictionaries,
 * variable-length blocks.
 */
#include "unit/guarded.h"
#include "unit/vectors-blosc2.h"

#include "chunk/chunk.h"

struct extents {
	const struct bytes *chunk;
	struct bytes part; /* the requested bytes in place; all others are wrong */
	uint32_t end;
};

static int take_extent(void *arg, uint32_t offset, uint32_t size, struct bpk_err *err)
{
	struct extents *e = arg;

	(void)err;
	assert_true(size > 0 && offset >= e->end && offset + size <= e->chunk->size);
	e->end = offset + size;
	memcpy(e->part.data + offset, e->chunk->data + offset, size);
	return 0;
}

/* The chunk with every byte made wrong that extents does not name for a range. */
static struct bytes needed(const struct bytes *chunk, size_t start, size_t size)
{
	struct bpk_chunk_header header;
	struct extents e = { .chunk = chunk };
	struct bpk_err err = { 0 };
	size_t head;

	e.part.size = chunk->size;
	memset(e.part.data, 0xee, SMALL);
	assert_int_equal(bpk_chunk_header_read(bpk_view(chunk->data, chunk->size), &header, &err),
			 0);
	head = header.header_size + 4 * header.nblocks;
	memcpy(e.part.data, chunk->data, head);
	if (size > 0 &&
	    bpk_chunk_extents(bpk_view(e.part.data, head), start, size, take_extent, &e, &err) != 0)
		fail_msg("%s", err.text);
	return e.part;
}

/* Decode the range in pieces, from only the bytes that it needs. */
static void check_pieces(struct bpk_chunk_ctx *ctx, const char *name, struct bpk_view some,
			 size_t start, size_t size, const struct bytes *raw)
{
	static const size_t abouts[] = { 1, 24, 100 };
	uint8_t part[SMALL];

	for (size_t i = 0; i < 3; i++) {
		struct bpk_err err = { 0 };
		size_t piece, at = start, end = start + size;

		if (bpk_chunk_piece(ctx, some, start, size, abouts[i], &piece, &err) != 0)
			fail_msg("%s, %zu+%zu: %s", name, start, size, err.text);
		for (; at < end && piece > 0; at = bpk_min_size(end, at - at % piece + piece)) {
			size_t n = bpk_min_size(end, at - at % piece + piece) - at;

			if (bpk_chunk_decode_range(ctx, some, at, bpk_span(part, n), &err) != 0)
				fail_msg("%s, %zu+%zu: %s", name, at, n, err.text);
			if (memcmp(part, raw->data + at, n) != 0)
				fail_msg("%s, %zu+%zu: other bytes", name, at, n);
			if (bpk_chunk_prove_range(ctx, some, at, n, &err) != 0)
				fail_msg("%s, %zu+%zu: %s", name, at, n, err.text);
		}
	}
}

/* Decode the whole and every range, from only the bytes that the range needs. */
static void check_chunk(struct bpk_chunk_ctx *ctx, const char *name, const struct bytes *chunk,
			const struct bytes *raw)
{
	struct guarded in = guarded_new(chunk->data, chunk->size, true);
	struct guarded out = guarded_new(NULL, raw->size, true);
	struct bpk_err err = { 0 };
	uint8_t part[SMALL];

	if (bpk_chunk_decode(ctx, bpk_view(in.bytes, chunk->size), bpk_span(out.bytes, raw->size),
			     &err) != 0)
		fail_msg("%s: %s", name, err.text);
	if (raw->size > 0 && memcmp(out.bytes, raw->data, raw->size) != 0)
		fail_msg("%s: other bytes", name);
	if (bpk_chunk_prove(ctx, bpk_view(in.bytes, chunk->size), &err) != 0)
		fail_msg("%s: not proved: %s", name, err.text);
	for (size_t start = 0; start <= raw->size; start++)
		for (size_t size = 0; size <= raw->size - start; size += 1 + size / 8) {
			struct bytes some = needed(chunk, start, size);

			if (bpk_chunk_decode_range(ctx, bpk_view(some.data, some.size), start,
						   bpk_span(part, size), &err) != 0)
				fail_msg("%s, %zu+%zu: %s", name, start, size, err.text);
			if (memcmp(part, raw->data + start, size) != 0)
				fail_msg("%s, %zu+%zu: other bytes", name, start, size);
			check_pieces(ctx, name, bpk_view(some.data, some.size), start, size, raw);
		}
	guarded_free(&in);
	guarded_free(&out);
}

static void test_vectors(void **state)
{
	for (size_t i = 0; i < NVECTORS; i++) {
		struct bytes chunk, raw;

		expand(&vectors[i], &chunk, &raw);
		check_chunk(*state, vectors[i].name, &chunk, &raw);
	}
}

/* ---- Chunks built by hand ---- */

/* A header of 32 bytes; sizes are set by finish. */
static void begin(struct bytes *chunk, unsigned version, unsigned flags, unsigned typesize,
		  const char *filters, const char *metas)
{
	chunk->size = 0;
	memset(chunk->data, 0, 32);
	chunk->data[0] = (uint8_t)version;
	chunk->data[1] = 1;
	chunk->data[2] = (uint8_t)(flags | 0x05);
	chunk->data[3] = (uint8_t)typesize;
	chunk->data[22] = 1;
	for (unsigned i = 0; i < 6 && filters[i] != '\0'; i++) {
		chunk->data[16 + i] = (uint8_t)(filters[i] - '0');
		chunk->data[24 + i] = (uint8_t)(metas[i] - '0');
	}
	chunk->size = 32;
}

static void finish(struct bytes *chunk, uint32_t raw_size, uint32_t block_size)
{
	bpk_put_le32(chunk->data + 4, raw_size);
	bpk_put_le32(chunk->data + 8, block_size);
	bpk_put_le32(chunk->data + 12, (uint32_t)chunk->size);
}

static void add_bytes(struct bytes *to, const uint8_t *from, size_t size)
{
	assert_true(to->size + size <= SMALL);
	memcpy(to->data + to->size, from, size);
	to->size += size;
}

static void add_le32(struct bytes *to, uint32_t value)
{
	bpk_put_le32(to->data + to->size, value);
	to->size += 4;
}

static void set_start(struct bytes *chunk, unsigned number)
{
	bpk_put_le32(chunk->data + 32 + 4 * number, (uint32_t)chunk->size);
}

static void check_hex(void **state, const char *name, const char *chunk_hex, const char *raw_hex)
{
	struct bytes chunk = { .size = 0 }, raw = { .size = 0 };

	add_hex(&chunk, chunk_hex);
	add_hex(&raw, raw_hex);
	check_chunk(*state, name, &chunk, &raw);
}

/* Three blocks of 8 bytes, the last one first, one short; all depend on the first. */
static void make_delta(struct bytes *chunk, struct bytes *raw)
{
	const uint8_t block[3][8] = { { 1, 3, 7, 15, 31, 63, 127, 255 },
				      { 9, 9, 9, 9, 9, 9, 9, 9 },
				      { 5, 6, 7 } };
	uint8_t out[8];

	begin(chunk, 5, 0x38, 1, "3", "0");
	chunk->size += 12;
	raw->size = 0;
	for (unsigned k = 0; k < 3; k++)
		add_bytes(raw, block[k], k == 2 ? 3 : 8);
	for (unsigned k = 3; k-- > 0;) {
		size_t size = k == 2 ? 3 : 8;

		for (size_t i = 0; i < size; i++)
			out[i] = block[k][i] ^ (k > 0 ? block[0][i] : i > 0 ? block[0][i - 1] : 0);
		set_start(chunk, k);
		add_le32(chunk, (uint32_t)size);
		add_bytes(chunk, out, size);
	}
	finish(chunk, (uint32_t)raw->size, 8);
}

/* LZ4 streams that begin with content of the dictionary. */
static void make_dictionary(struct bytes *chunk, struct bytes *raw)
{
	begin(chunk, 5, 0x30, 1, "", "");
	chunk->data[31] = 0x01;
	chunk->size += 8;
	add_le32(chunk, 8);
	add_hex(chunk, "6162636465666768");
	for (unsigned k = 0; k < 2; k++) {
		set_start(chunk, k);
		/* a match of 8 bytes at distance 8; five literals */
		add_le32(chunk, 9);
		add_hex(chunk, k == 0 ? "0408005049444546"
					"47"
				      : "0408005051525354"
					"55");
	}
	finish(chunk, 26, 13);
	raw->size = 0;
	add_hex(raw, "6162636465666768"
		     "4944454647"
		     "6162636465666768"
		     "5152535455");
}

/* Blocks of 5, 1 and 6 bytes; the last is packed and one is filtered. */
static void make_variable(struct bytes *chunk, struct bytes *raw, const char *filters)
{
	const uint8_t block[3][6] = { { 1, 2, 4, 8, 16 }, { 77 }, { 9, 8, 7, 6, 5, 4 } };
	static const size_t sizes[3] = { 5, 1, 6 };

	begin(chunk, 6, 0x30, 1, filters, "0");
	chunk->data[30] = 0x01;
	chunk->size += 12;
	raw->size = 0;
	for (unsigned k = 0; k < 3; k++) {
		uint8_t out[7] = { 0x60 };

		for (size_t i = 0; i < sizes[k]; i++)
			out[i + 1] = filters[0] == '3' && i > 0 ? block[k][i] ^ block[k][i - 1]
								: block[k][i];
		set_start(chunk, k);
		add_le32(chunk, (uint32_t)sizes[k]);
		/* an LZ4 stream of literals begins with their count */
		if (k == 2)
			add_bytes(chunk, out, 7);
		else
			add_bytes(chunk, out + 1, sizes[k]);
		add_bytes(raw, block[k], sizes[k]);
	}
	finish(chunk, 12, 3);
}

/* The n-th of all small chunks of this file; false after the last. */
static bool small_chunk(size_t n, struct bytes *chunk, struct bytes *raw)
{
	if (n < NVECTORS)
		expand(&vectors[n], chunk, raw);
	else if (n == NVECTORS)
		make_delta(chunk, raw);
	else if (n == NVECTORS + 1)
		make_dictionary(chunk, raw);
	else if (n == NVECTORS + 2)
		make_variable(chunk, raw, "");
	else if (n == NVECTORS + 3)
		make_variable(chunk, raw, "3");
	else
		return false;
	return true;
}

static void test_made_by_hand(void **state)
{
	struct bytes chunk, raw;

	for (size_t n = NVECTORS; small_chunk(n, &chunk, &raw); n++)
		check_chunk(*state, "made by hand", &chunk, &raw);
}

static void test_block_sizes(void **state)
{
	struct bytes chunk, raw;
	struct bpk_chunk_header header;
	struct bpk_err err = { 0 };
	uint32_t sizes[3];

	(void)state;
	make_variable(&chunk, &raw, "");
	assert_int_equal(bpk_chunk_header_read(bpk_view(chunk.data, chunk.size), &header, &err), 0);
	assert_true(header.variable_blocks && header.nblocks == 3 && header.block_size == 12);
	assert_int_equal(bpk_chunk_slot(bpk_view(chunk.data, chunk.size), &header, 1000),
			 chunk.size);
	assert_int_equal(bpk_chunk_block_sizes(bpk_view(chunk.data, chunk.size), sizes, &err), 0);
	assert_true(sizes[0] == 5 && sizes[1] == 1 && sizes[2] == 6);
	make_delta(&chunk, &raw);
	assert_int_equal(bpk_chunk_block_sizes(bpk_view(chunk.data, chunk.size), sizes, &err), -1);
	assert_int_equal(err.kind, BPK_USAGE);
}

static void test_old_headers(void **state)
{
	/* version 4, 16 bytes: delta and shuffle of 2-byte words, by the flags */
	check_hex(state, "delta in the flags",
		  "04013902080000000800000020000000"
		  "14000000"
		  "08000000"
		  "0102020204010101",
		  "0104030501040305");
	/* version 3 has five slots: the sixth is ignored */
	check_hex(state, "version 3",
		  "0301350104000000040000002c000000"
		  "0000000000ff0100"
		  "0000000000070000"
		  "24000000"
		  "04000000"
		  "0a0b0c0d",
		  "0a0b0c0d");
	/* stored, with a flag for a dictionary */
	check_hex(state, "a stray dictionary",
		  "05019701030000000300000023000000"
		  "0000000000000500"
		  "0000000000000001"
		  "616263",
		  "616263");
	/* a special chunk of an unsupported codec */
	check_hex(state, "zeros of openzl",
		  "0501d504080000000800000020000000"
		  "0000000000002600"
		  "0000000000000010",
		  "0000000000000000");
}

/* Bytedelta without a width uses the container's typesize, or the chunk's. */
static void test_width_of_the_container(void **state)
{
	struct bytes chunk, raw = { .size = 0 };

	begin(&chunk, 5, 0x30, 2, "S", "0");
	chunk.size += 4;
	set_start(&chunk, 0);
	add_le32(&chunk, 6);
	add_hex(&chunk, "010101010101");
	finish(&chunk, 6, 6);
	add_hex(&raw, "010203010203");
	check_chunk(*state, "two runs", &chunk, &raw);
	bpk_chunk_ctx_set_typesize(*state, 3);
	raw.size = 0;
	add_hex(&raw, "010201020102");
	check_chunk(*state, "three runs", &chunk, &raw);
	bpk_chunk_ctx_set_typesize(*state, 300);
	raw.size = 0;
	add_hex(&raw, "010101010101");
	check_chunk(*state, "300 runs", &chunk, &raw);
	bpk_chunk_ctx_set_typesize(*state, 0);
}

static void test_write_special(void **state)
{
	static const enum bpk_special kinds[] = { BPK_SPECIAL_ZERO, BPK_SPECIAL_NAN,
						  BPK_SPECIAL_UNINIT };
	static const uint32_t sizes[] = { 0, 8, 1000, 2147483608 };

	for (size_t k = 0; k < 3; k++)
		for (size_t i = 0; i < 4; i++) {
			struct bpk_chunk_header header;
			struct bpk_err err = { 0 };
			uint8_t chunk[32], out[8];

			bpk_chunk_write_special(kinds[k], sizes[i], 8, chunk);
			if (bpk_chunk_header_read(bpk_view(chunk, 32), &header, &err) != 0)
				fail_msg("%s", err.text);
			assert_true(header.special == kinds[k] && header.raw_size == sizes[i] &&
				    header.packed_size == 32 && header.nblocks == 0);
			assert_int_equal(bpk_chunk_slot(bpk_view(chunk, 32), &header, 1000), 32);
			if (sizes[i] < 8)
				continue;
			/* the end of two gigabytes costs no more */
			assert_int_equal(bpk_chunk_decode_range(*state, bpk_view(chunk, 32),
								sizes[i] - 7, bpk_span(out, 7),
								&err),
					 0);
			assert_int_equal(out[6], k == 1 ? 0x7f : 0);
		}
}

static void test_uninitialised_tail(void **state)
{
	struct bpk_chunk_header header;
	struct bpk_err err = { 0 };
	uint8_t chunk[32];

	(void)state;
	bpk_chunk_write_special(BPK_SPECIAL_UNINIT, 13, 8, chunk);
	assert_int_equal(bpk_chunk_header_read(bpk_view(chunk, 32), &header, &err), 0);
	bpk_chunk_write_special(BPK_SPECIAL_ZERO, 13, 8, chunk);
	assert_int_equal(bpk_chunk_header_read(bpk_view(chunk, 32), &header, &err), 0);
	assert_int_equal(header.typesize, 8);
}

/* ---- Damage ---- */

static int any_extent(void *arg, uint32_t offset, uint32_t size, struct bpk_err *err)
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
	uint32_t end = 0, sizes[SMALL];
	int rc;

	if (bpk_chunk_header_read(in, &header, &err) != 0) {
		assert_true(err.kind == BPK_CORRUPT || err.kind == BPK_UNSUPPORTED);
		assert_true(err.text[0] != '\0');
		return;
	}
	if (header.nblocks < SMALL)
		bpk_chunk_block_sizes(in, sizes, &err);
	if (header.raw_size > 1 << 20)
		return;
	out = guarded_new(NULL, header.raw_size, true);
	rc = bpk_chunk_decode(ctx, in, bpk_span(out.bytes, header.raw_size), &err);
	if (rc != 0)
		assert_int_equal(err.kind, BPK_CORRUPT);
	/* bpk_chunk_prove agrees with decoding */
	assert_int_equal(bpk_chunk_prove(ctx, in, &err), rc);
	if (header.raw_size >= 8) {
		bpk_chunk_decode_range(ctx, in, header.raw_size / 2,
				       bpk_span(out.bytes, header.raw_size / 4), &err);
		bpk_chunk_extents(in, 3, header.raw_size - 3, any_extent, &end, &err);
		assert_true(end <= header.packed_size);
	}
	guarded_free(&out);
}

static void test_every_bit_flipped(void **state)
{
	struct bytes chunk, raw;

	for (size_t n = 0; small_chunk(n, &chunk, &raw); n++) {
		struct guarded in = guarded_new(chunk.data, chunk.size, true);

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
	static const uint32_t values[] = { 0,          1,          2,          31,
					   32,         33,         0x7fffffff, 0x7fffffdf,
					   0x80000000, 0xffffffff, 0xffffff00, 0xfffffffc,
					   0x1fffffff, 0x20001,    5,          48 };
	struct bytes chunk, raw;

	for (size_t n = 0; small_chunk(n, &chunk, &raw); n++) {
		struct guarded in = guarded_new(chunk.data, chunk.size, true);

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
	struct bytes chunk, raw;

	for (size_t n = 0; small_chunk(n, &chunk, &raw); n++)
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
				decode_damaged(*state, bpk_view(in.bytes, size));
			}
			guarded_free(&in);
		}
}

/* The messages for invalid chunks. */
static void test_refusals_say_why(void **state)
{
	/* the vector B5, cut into header fields: version .. typesize, three sizes, slots, codec */
#define SIZES   "800000008000000038000000"
#define SLOTS   "000000000001"
#define STREAMS "24000000ffffffff01feffffff01fdffffff01fcffffff01"
	static const struct {
		const char *chunk;
		enum bpk_kind kind;
		const char *text;
	} cases[] = {
		{ "00012504" SIZES, BPK_CORRUPT,
		  "chunk format version 0 is not known, expected 2 to 6" },
		{ "08012504" SIZES, BPK_CORRUPT,
		  "chunk format version 8 is not known, expected 2 to 6" },
		{ "07012504" SIZES, BPK_UNSUPPORTED, "chunk format version 7 is not supported" },
		{ "05012504" SIZES SLOTS "0100", BPK_CORRUPT,
		  "chunk header needs 32 bytes, 24 are left" },
		{ "05012500" SIZES SLOTS "0100000000000000"
		  "0000",
		  BPK_CORRUPT, "chunk typesize is 0" },
		{ "05012504"
		  "800000008000000010000000" SLOTS "0100000000000000"
		  "0000",
		  BPK_CORRUPT, "chunk packed size 16 is less than its header" },
		{ "05012504"
		  "8000000001f0ff1f38000000" SLOTS "0100000000000000"
		  "0000",
		  BPK_CORRUPT, "chunk block size 536866817 is not from 1 to 536866816" },
		{ "05012504" SIZES SLOTS "0100000000000000"
		  "0100",
		  BPK_UNSUPPORTED, "chunk flags 0x01 at byte 30 are unknown in version 5" },
		{ "06012504" SIZES SLOTS "0100000000000000"
		  "0200",
		  BPK_UNSUPPORTED, "chunk flags 0x02 at byte 30 are unknown in version 6" },
		{ "05012504" SIZES SLOTS "0100000000000000"
		  "0004",
		  BPK_UNSUPPORTED, "chunk flags 0x04 at byte 31 are unknown" },
		{ "05012504" SIZES SLOTS "0100000000000000"
		  "0008",
		  BPK_CORRUPT, "chunk flags 0x08 at byte 31: lazy chunks exist in memory only" },
		{ "05012504" SIZES SLOTS "0100000000000000"
		  "0080",
		  BPK_UNSUPPORTED,
		  "chunk flags 0x80 at byte 31: instrumented chunks hold no data" },
		{ "05012504" SIZES SLOTS "0100000000000000"
		  "0050",
		  BPK_UNSUPPORTED, "chunk of special kind 5, the last known is 4" },
		{ "05012504" SIZES SLOTS "0100000000000000"
		  "0010",
		  BPK_CORRUPT, "special chunk takes 56 bytes, expected 32" },
		{ "05012503"
		  "810000008000000020000000" SLOTS "0100000000000000"
		  "0020",
		  BPK_CORRUPT, "chunk of NaN has typesize 3, expected 4 or 8" },
		{ "05012504"
		  "820000008000000020000000" SLOTS "0100000000000000"
		  "0040",
		  BPK_CORRUPT, "special chunk of 130 bytes is not a multiple of typesize 4" },
		{ "05012504"
		  "800000008000000020000000" SLOTS "0100000000000000"
		  "0030",
		  BPK_CORRUPT, "chunk of 128 bytes repeats a value of 0 bytes" },
		{ "05012504"
		  "800000008000000023000000" SLOTS "0100000000000000"
		  "0030",
		  BPK_CORRUPT, "chunk of 128 bytes repeats a value of 3 bytes" },
		{ "06012704" SIZES SLOTS "0100000000000000"
		  "0100",
		  BPK_CORRUPT, "chunk of blocks of variable length is stored or special" },
		{ "06012504" SIZES SLOTS "0100000000000000"
		  "0110",
		  BPK_CORRUPT, "chunk of blocks of variable length is stored or special" },
		{ "06013504"
		  "800000008100000038000000" SLOTS "0100000000000000"
		  "0100",
		  BPK_CORRUPT, "chunk of 128 bytes has 129 blocks" },
		{ "06013504"
		  "800000000700000038000000" SLOTS "0100000000000000"
		  "0100",
		  BPK_CORRUPT, "7 block starts end at 60, chunk ends at 56" },
		{ "05012704" SIZES SLOTS "0100000000000000"
		  "0000",
		  BPK_CORRUPT, "stored chunk takes 56 bytes, but holds 128 behind a header of 32" },
		{ "05014504" SIZES SLOTS "0300000000000000"
		  "0000",
		  BPK_UNSUPPORTED, "chunk codec 2 (snappy in Blosc2) is not supported" },
		{ "0501a504" SIZES SLOTS "0000000000000000"
		  "0000",
		  BPK_UNSUPPORTED, "chunk codec 5 is not supported" },
		{ "0501c504" SIZES SLOTS "2600000000000000"
		  "0000",
		  BPK_UNSUPPORTED, "chunk codec 38 (openzl) is not supported" },
		{ "0501c504" SIZES SLOTS "c800000000000000"
		  "0000",
		  BPK_UNSUPPORTED, "chunk codec 200 is not supported" },
		{ "05012504" SIZES "000000002001"
		  "0100000000000000"
		  "0000",
		  BPK_UNSUPPORTED, "chunk filter 32 (ndcell) is not supported" },
		{ "05012504" SIZES "000000000501"
		  "0100000000000000"
		  "0000",
		  BPK_UNSUPPORTED, "chunk filter 5 is not supported" },
		{ "05010504" SIZES SLOTS "0000000000000000"
		  "0001",
		  BPK_CORRUPT, "chunk of codec blosclz has a dictionary" },
		{ "05012508"
		  "800000000300000038000000" SLOTS "0100000000000000"
		  "0000",
		  BPK_CORRUPT, "43 block starts end at 204, chunk ends at 56" },
		{ "05012508"
		  "0c0000000600000038000000" SLOTS "0100000000000000"
		  "0000",
		  BPK_CORRUPT, "split block size 6 is not a multiple of typesize 8" },
		/* the chunks below have a valid header */
		{ "05012504" SIZES SLOTS "0100000000000000"
		  "0000"
		  "23000000ffffffff01",
		  BPK_CORRUPT, "chunk of 56 bytes is cut after 41" },
		{ "05012504" SIZES SLOTS "0100000000000000"
		  "0000"
		  "23000000ffffffff01feffffff01fdffffff01fcffffff01",
		  BPK_CORRUPT, "block 0 starts at 35, outside 36 to 56" },
		{ "05012504" SIZES SLOTS "0100000000000000"
		  "0000"
		  "24000000ffffffff01feffffff02fdffffff01fcffffff01",
		  BPK_CORRUPT, "block 0, stream 1: size -2 with token 0x02 is not a run" },
		{ "05012504" SIZES SLOTS "0100000000000000"
		  "0000"
		  "24000000ffffffff0100ffffff01fdffffff01fcffffff01",
		  BPK_CORRUPT, "block 0, stream 1: size -256 with token 0x01 is not a run" },
		{ "05012504"
		  "800000008000000037000000" SLOTS "0100000000000000"
		  "0000"
		  "24000000ffffffff01feffffff01fdffffff01fcffffff",
		  BPK_CORRUPT, "block 0, stream 3: the chunk ends before its token" },
		{ "05012504"
		  "800000008000000035000000" SLOTS "0100000000000000"
		  "0000"
		  "24000000ffffffff01feffffff01fdffffff01fcff",
		  BPK_CORRUPT, "block 0, stream 3: the chunk ends before its size" },
		{ "05013504" SIZES SLOTS "0100000000000000"
		  "0001"
		  "240000000000000001feffffff01fdffffff01fcffffff01",
		  BPK_CORRUPT, "dictionary of 0 bytes at 36, expected 1 to 131072 within 56" },
		{ "05013504" SIZES SLOTS "0100000000000000"
		  "0001"
		  "240000001100000001feffffff01fdffffff01fcffffff01",
		  BPK_CORRUPT, "dictionary of 17 bytes at 36, expected 1 to 131072 within 56" },
		{ "05013504" SIZES SLOTS "0100000000000000"
		  "0001"
		  "240000000400000001feffffff01fdffffff01fcffffff01",
		  BPK_CORRUPT, "block 0 starts at 36, outside 44 to 56" },
		/* a dictionary with the magic of a trained one, but invalid */
		{ "05019504" SIZES SLOTS "0500000000000000"
		  "0001"
		  "300000000800000037a430ec000000000000000000000000",
		  BPK_CORRUPT, "8 bytes are not a dictionary of zstd" },
		{ "06013501"
		  "0500000001000000"
		  "2d000000"
		  "000000000000"
		  "0100000000000000"
		  "0100"
		  "2400000000000000d84b9dc6ac",
		  BPK_CORRUPT, "block 0 says that it has 0 bytes, 5 of the chunk are left" },
		{ "06013501"
		  "0500000001000000"
		  "2d000000"
		  "000000000000"
		  "0100000000000000"
		  "0100"
		  "2400000006000000d84b9dc6ac",
		  BPK_CORRUPT, "block 0 says that it has 6 bytes, 5 of the chunk are left" },
		{ "06013501"
		  "0600000001000000"
		  "2d000000"
		  "000000000000"
		  "0100000000000000"
		  "0100"
		  "2400000005000000d84b9dc6ac",
		  BPK_CORRUPT, "blocks hold 1 bytes less than the chunk's 6" },
		{ "06013501"
		  "0600000002000000"
		  "31000000"
		  "000000000000"
		  "0100000000000000"
		  "0100"
		  "280000002c00000005000000d84b9dc6ac",
		  BPK_CORRUPT, "block 0 from 40 ends at 44, it needs 5 bytes" },
		{ "06013501"
		  "0600000002000000"
		  "31000000"
		  "000000000000"
		  "0100000000000000"
		  "0100"
		  "2c0000002800000005000000d84b9dc6ac",
		  BPK_CORRUPT, "block 0 from 44 ends at 40, it needs 5 bytes" },
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
		if (err.kind != cases[i].kind || strcmp(err.text, cases[i].text) != 0)
			fail_msg("\"%s\" is not \"%s\"", err.text, cases[i].text);
	}
}

/* Containers of version 2 chunks refuse other versions. */
static void test_plain_headers(void **state)
{
	struct bytes chunk = { .size = 0 };
	struct bpk_chunk_header header;
	struct bpk_err err = { 0 };

	(void)state;
	add_hex(&chunk, "05012504" SIZES);
	assert_int_equal(
		bpk_chunk_header_read_plain(bpk_view(chunk.data, chunk.size), &header, &err), -1);
	assert_int_equal(err.kind, BPK_UNSUPPORTED);
	assert_string_equal(err.text,
			    "chunk format version 5 (Blosc2) in a container of version 2");
	chunk.size = 0;
	add_hex(&chunk, "02012204"
			"030000000100000013000000");
	assert_int_equal(
		bpk_chunk_header_read_plain(bpk_view(chunk.data, chunk.size), &header, &err), 0);
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
		cmocka_unit_test(test_vectors),
		cmocka_unit_test(test_made_by_hand),
		cmocka_unit_test(test_block_sizes),
		cmocka_unit_test(test_old_headers),
		cmocka_unit_test(test_width_of_the_container),
		cmocka_unit_test(test_write_special),
		cmocka_unit_test(test_uninitialised_tail),
		cmocka_unit_test(test_every_bit_flipped),
		cmocka_unit_test(test_every_field_set),
		cmocka_unit_test(test_every_truncation),
		cmocka_unit_test(test_refusals_say_why),
		cmocka_unit_test(test_plain_headers),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
