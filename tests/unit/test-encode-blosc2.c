/*
 * Encoding Blosc2 chunks: headers, runs, special chunks, and filters as printed in the format.
 * test-oracle-blosc2 shows that c-blosc2 reads the result.
 */
#include "unit/guarded.h"
#include "unit/recipes.h"
#include "unit/vectors-blosc2.h"

#include "chunk/chunk.h"
#include "chunk/filter/filter.h"

enum { MOST = 60000 };

static uint8_t raw[MOST], out[MOST + 4096], back[MOST], room[BPK_FILTER_ROOM];

/* Encode between inaccessible pages; returns the packed size. */
static size_t encode(struct bpk_chunk_ctx *ctx, const struct bpk_recipe *recipe, const uint8_t *in,
		     size_t size)
{
	struct guarded from = guarded_new(in, size, true);
	struct guarded to = guarded_new(NULL, bpk_chunk_bound(size), true);
	struct bpk_err err = { 0 };
	size_t packed = 0;

	if (bpk_chunk_encode(ctx, recipe, bpk_view(from.bytes, size),
			     bpk_span(to.bytes, bpk_chunk_bound(size)), &packed, &err) != 0)
		fail_msg("%s", err.text);
	assert_true(packed <= bpk_chunk_bound(size));
	memcpy(out, to.bytes, packed);
	assert_int_equal(bpk_get_le32(out + 12), packed);
	guarded_free(&from);
	guarded_free(&to);
	return packed;
}

static void check_back(struct bpk_chunk_ctx *ctx, size_t packed, const uint8_t *want, size_t size)
{
	struct bpk_err err = { 0 };

	if (bpk_chunk_decode(ctx, bpk_view(out, packed), bpk_span(back, size), &err) != 0)
		fail_msg("%s", err.text);
	if (size > 0)
		assert_memory_equal(back, want, size);
}

/* The relation of our chunk to the printed one. */
enum likeness {
	ALIKE,  /* equal */
	HEADER, /* equal headers except the packed size: codecs change */
	OURS,   /* ours is shorter, and given in hex */
};

static const struct {
	const char *name, *codec;
	unsigned level;
	const char *pipeline;
	uint32_t block_size;
	enum likeness likeness;
	const char *hex;
} cases[] = {
	{ "B1", "lz4", 5, "shuffle", 0, ALIKE, NULL },
	{ "B2", "zstd", 5, "shuffle", 0, ALIKE, NULL },
	{ "B3", "zstd", 5, "shuffle", 0, ALIKE, NULL },
	{ "B4", "lz4", 5, "none", 0, OURS,
	  "05010501400000004000000021000000000000000000000000000000000000"
	  "3007" },
	{ "B5", "lz4", 5, "shuffle", 0, OURS,
	  "05010504800000008000000024000000000000000000000000000000000000"
	  "3001020304" },
	{ "B6", "lz4", 5, "shuffle", 0, OURS,
	  "05010504800000008000000024000000000000000000000000000000000000"
	  "30ff000000" },
	{ "B7", "blosclz", 9, "none", 0, HEADER, NULL },
	{ "B8", "lz4hc", 5, "none", 0, HEADER, NULL },
	{ "B9", "zlib", 5, "none", 0, HEADER, NULL },
	{ "B10", "zstd", 5, "none", 0, HEADER, NULL },
	{ "B12", "zstd", 5, "shuffle", 0, ALIKE, NULL },
	{ "NaN of 4 bytes", "lz4", 1, "none", 0, ALIKE, NULL },
	{ "B13", "blosclz", 9, "bitshuffle", 0, ALIKE, NULL },
	/* a repeated pair: a value of two bytes */
	{ "B15", "lz4", 9, "bitshuffle", 0, OURS,
	  "05010502280000002800000022000000000000000000000000000000000000"
	  "300100" },
};

static const struct vector *vector_of(const char *name)
{
	for (size_t i = 0; i < NVECTORS; i++)
		if (strcmp(vectors[i].name, name) == 0)
			return &vectors[i];
	fail_msg("no vector %s", name);
	return NULL;
}

static void test_vectors(void **state)
{
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct bytes theirs, input;
		struct bpk_recipe recipe;
		size_t packed;

		expand(vector_of(cases[i].name), &theirs, &input);
		if (cases[i].likeness == OURS) {
			theirs.size = 0;
			add_hex(&theirs, cases[i].hex);
		}
		recipe = recipe_of(cases[i].codec, cases[i].level, theirs.data[3],
				   cases[i].pipeline);
		packed = encode(*state, &recipe, input.data, input.size);

		if (cases[i].likeness == HEADER) {
			assert_memory_equal(out, theirs.data, 12);
			assert_memory_equal(out + 16, theirs.data + 16, 20);
			assert_true(packed <= theirs.size + 8);
		} else {
			assert_int_equal(packed, theirs.size);
			assert_memory_equal(out, theirs.data, packed);
		}
		check_back(*state, packed, input.data, input.size);
	}
}

/* B11: delta only, with a second block that is a run; we use the last slot, as for other
 * filters. */
static void test_delta(void **state)
{
	struct bpk_recipe recipe = recipe_of("lz4", 5, 1, "delta");
	struct bytes theirs, input;
	size_t packed;

	expand(vector_of("B11"), &theirs, &input);
	recipe.block_size = 32;
	packed = encode(*state, &recipe, input.data, input.size);
	assert_int_equal(packed, theirs.size);
	assert_memory_equal(out, theirs.data, 20);
	assert_int_equal(out[21], BPK_FILTER_DELTA);
	assert_memory_equal(out + 22, theirs.data + 22, packed - 22);
	check_back(*state, packed, input.data, input.size);
}

/* B16, and the same without bytes and with two blocks. */
static void test_variable_blocks(void **state)
{
	struct bpk_recipe recipe = recipe_of("lz4", 5, 1, "none");
	static const uint32_t two[] = { 2, 3 };
	struct bytes theirs, input;
	struct bpk_err err = { 0 };
	size_t packed = 0;

	expand(vector_of("B16"), &theirs, &input);
	assert_int_equal(bpk_chunk_encode_blocks(*state, &recipe, bpk_view(input.data, 5),
						 &(uint32_t){ 5 }, 1, bpk_span(out, 45), &packed,
						 &err),
			 0);
	assert_int_equal(packed, theirs.size);
	assert_memory_equal(out, theirs.data, packed);
	assert_int_equal(bpk_chunk_encode_blocks(*state, &recipe, bpk_view(input.data, 5), two, 2,
						 bpk_span(out, 53), &packed, &err),
			 0);
	assert_int_equal(packed, 32 + 8 + 8 + 5);
	check_back(*state, packed, input.data, 5);
	recipe.variable_blocks = true;
	assert_int_equal(encode(*state, &recipe, NULL, 0), 32);
	assert_int_equal(out[2], 0x07);
	for (size_t i = 0; i < MOST; i++)
		raw[i] = (uint8_t)(i / 100);
	recipe.block_size = 7000;
	packed = encode(*state, &recipe, raw, MOST);
	assert_int_equal(out[0], 6);
	assert_int_equal(bpk_get_le32(out + 8), 9);
	check_back(*state, packed, raw, MOST);
}

/* Two blocks of different runs: a token each; zeros need no token. */
static void test_runs(void **state)
{
	struct bpk_recipe recipe = recipe_of("zstd", 3, 1, "none");
	struct bytes want = { .size = 0 };

	memset(raw, 0x07, 4096);
	memset(raw + 4096, 0xff, 4096);
	memset(raw + 8192, 0, 100);
	recipe.block_size = 4096;
	add_hex(&want, "05019501642000000010000046000000"
		       "00000000000005000000000000000000"
		       "2c000000"
		       "31000000"
		       "36000000"
		       "f9ffffff01"
		       "01ffffff01"
		       "00000000");
	want.data[12] = (uint8_t)want.size;
	assert_int_equal(encode(*state, &recipe, raw, 8292), want.size);
	assert_memory_equal(out, want.data, want.size);
	check_back(*state, want.size, raw, 8292);
}

static void make_noise(size_t size)
{
	struct unit_random r = { 5 };

	for (size_t i = 0; i < size; i++)
		raw[i] = (uint8_t)unit_random_next(&r);
}

/* Level 0 and tiny chunks record no codec; incompressible ones record the attempted one. */
static void test_stored(void **state)
{
	struct bpk_recipe recipe = recipe_of("zstd", 5, 4, "delta,shuffle");

	make_noise(MOST);
	recipe.dictionary = true;
	for (size_t size = 32; size < MOST; size += 1 + size / 3) {
		assert_int_equal(encode(*state, &recipe, raw, size), size + 32);
		assert_int_equal(out[2] & 0xef, 0x8f);
		assert_int_equal(out[31], 0);
		check_back(*state, size + 32, raw, size);
	}
	assert_int_equal(encode(*state, &recipe, raw, 31), 63);
	assert_int_equal(out[2], 0x07);
	recipe.level = 0;
	memset(raw, 0, 1000);
	assert_int_equal(encode(*state, &recipe, raw, 1000), 1032);
	assert_int_equal(out[2], 0x07);
	check_back(*state, 1032, raw, 1000);
}

/* Almost repeated items are not special. */
static void test_nearly_special(void **state)
{
	struct bpk_recipe recipe = recipe_of("lz4", 5, 8, "shuffle");

	for (size_t i = 0; i < 8000; i++)
		raw[i] = i % 8 < 6 ? 0 : i % 8 == 6 ? 0xf8 : 0x7f;
	assert_int_equal(encode(*state, &recipe, raw, 8000), 32);
	assert_int_equal(out[31], BPK_SPECIAL_NAN << 4);
	raw[7999] = 0xff;
	assert_true(encode(*state, &recipe, raw, 8000) > 40);
	check_back(*state, bpk_get_le32(out + 12), raw, 8000);
	raw[7999] = 0x7f;
	/* a partial item at the end */
	assert_int_equal(encode(*state, &recipe, raw, 7999) > 40, true);
	check_back(*state, bpk_get_le32(out + 12), raw, 7999);
	memset(raw, 0, 8000);
	assert_int_equal(encode(*state, &recipe, raw, 7999), 32);
	assert_int_equal(out[31], BPK_SPECIAL_ZERO << 4);
	assert_int_equal(out[22], 1);
	check_back(*state, 32, raw, 7999);
	/* a lossy filter changes the item */
	memset(raw, 0xff, 8000);
	recipe = recipe_of("lz4", 5, 8, "int_trunc:-4,shuffle");
	assert_true(encode(*state, &recipe, raw, 8000) > 40);
	for (size_t i = 0; i < 8000; i += 8)
		raw[i] = 0xf0;
	check_back(*state, bpk_get_le32(out + 12), raw, 8000);
}

static void test_block_sizes(void **state)
{
	static const struct {
		const char *pipeline;
		unsigned typesize;
		uint32_t wanted, size, got;
		bool split;
	} rows[] = {
		{ "shuffle", 4, 1000, 50000, 1000, true },
		{ "shuffle", 3, 1000, 50000, 999, true },
		{ "shuffle", 4, 100, 50000, 100, false },
		{ "shuffle", 100, 250, 50000, 200, false },
		{ "shuffle", 100, 50, 50000, 50, false },
		{ "bitshuffle", 3, 1000, 50000, 984, false },
		{ "bitshuffle", 3, 0, 1001, 999, false },
		{ "none", 4, 1000, 50000, 1000, false },
		{ "shuffle:2", 4, 1000, 50000, 1000, false },
		{ "shuffle,bitshuffle", 4, 1000, 50000, 992, false },
		{ "delta,shuffle:4", 4, 1000, 50000, 1000, true },
		{ "shuffle", 8, 4000000, 50000, 50000, true },
		{ "shuffle", 7, 0, 20000, 19999, true },
		{ "shuffle", 17, 1700, 20000, 1700, false },
		{ "shuffle", 1, 1700, 20000, 1700, false },
	};

	for (size_t i = 0; i < MOST; i++)
		raw[i] = (uint8_t)(i * i >> 8);
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct bpk_recipe recipe = recipe_of("lz4", 5, rows[i].typesize, rows[i].pipeline);
		size_t packed;

		recipe.block_size = rows[i].wanted;
		packed = encode(*state, &recipe, raw, rows[i].size);
		if (bpk_get_le32(out + 8) != rows[i].got || ((out[2] & 0x10) == 0) != rows[i].split)
			fail_msg("row %zu: block size %u, flags %02x", i, bpk_get_le32(out + 8),
				 out[2]);
		check_back(*state, packed, raw, rows[i].size);
	}
}

/* Blosc chunk format, "Filters in isolation"; the default input is 37*i + 11. */
static void test_filters(void **state)
{
	static const struct {
		const char *pipeline;
		unsigned typesize;
		const char *in;
		size_t size;
		const char *hex;
	} rows[] = {
		{ "shuffle", 4, NULL, 34,
		  "0b9f33c75bef831730c458ec8014a83c55e97d11a539cd617a0ea236ca5ef286abd0" },
		{ "bitshuffle", 1, NULL, 34,
		  "5555555599999999b4b4b4b4d926d9261ec7e1384aad546a6c36994c70381e8fabd0" },
		{ "bitshuffle", 2, NULL, 38,
		  "ffff555566662d2db649388e6aa54c360000aaaacccc5a5a936ce370562a64b3abd0f51a3f64" },
		{ "bitshuffle", 4, NULL, 35,
		  "ffffaa339624386a0000aacca5c90e5aff0055662db6c75200ffaa33694d71d4abd0f5" },
		{ "bytedelta:4", 4, NULL, 34,
		  "0b2525252525252533252525252525255b252525252525258325252525252525abd0" },
		{ "shuffle,bytedelta:4", 4, NULL, 34,
		  "0b94949494949494309494949494949455949494949494947a94949494949494abd0" },
		{ "trunc:10", 4, "cdcc8c3fcdcc0c40333353c0cdcc8c400000b0403333d3c06666f640cdcc0c41",
		  32, "00c08c3f00c00c40002053c000c08c400000b0400020d3c00060f64000c00c41" },
		{ "trunc:-30", 8,
		  "9a9999999999f13f9a999999999901406666666666660ac09a99999999991140", 32,
		  "000000809999f13f00000080999901400000004066660ac00000008099991140" },
		{ "int_trunc:5", 2, NULL, 32,
		  "0030007800c00008005800a000e80030008000c80010005800a800f000380080" },
		{ "int_trunc:-3", 1, NULL, 32,
		  "0830507898c0e808305878a0c0e810305880a0c8e810385880a8c8f010386080" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct bpk_filter_block block = { rows[i].size, rows[i].typesize, 1, false, NULL };
		struct bytes in = { .size = 0 }, want = { .size = 0 };
		struct bpk_pipeline pipeline;

		if (rows[i].in != NULL)
			add_hex(&in, rows[i].in);
		for (; in.size < rows[i].size; in.size++)
			in.data[in.size] = (uint8_t)(37 * in.size + 11);
		add_hex(&want, rows[i].hex);
		assert_int_equal(want.size, rows[i].size);
		assert_int_equal(bpk_pipeline_parse(rows[i].pipeline, &pipeline, NULL), 0);
		for (unsigned s = 0; s < pipeline.nsteps; s++) {
			bpk_filter_apply(bpk_filter_kernels(), &block, &pipeline.steps[s], in.data,
					 back, room);
			memcpy(in.data, back, block.size);
		}
		if (memcmp(in.data, want.data, want.size) != 0)
			fail_msg("%s", rows[i].pipeline);
	}
}

/* "DELTA", typesize 4, blocks of 32 bytes: block 0 is its own reference, and that of the other. */
static void test_delta_vector(void **state)
{
	struct bpk_filter_step step = { BPK_FILTER_DELTA, 0 };
	struct bpk_filter_block block = { 32, 4, 4, false, NULL };
	struct bytes want = { .size = 0 };

	(void)state;
	add_hex(&want, "0b30557a94f4bc74ac9c94acf4b46c949c6cb4fcb4949c946cbcf4ac9494ac74"
		       "a0e0a060a0a060a0e0a060e0a060a0e0a0a0e0a060a0e0a0a0e0a060a0e060a0");
	for (size_t i = 0; i < 64; i++)
		raw[i] = (uint8_t)(37 * i + 11);
	bpk_filter_apply(bpk_filter_kernels(), &block, &step, raw, back, room);
	block.reference = raw;
	bpk_filter_apply(bpk_filter_kernels(), &block, &step, raw + 32, back + 32, room);
	assert_memory_equal(back, want.data, 64);
}

/* The chunk stores the width of bytedelta, for any reader. */
static void test_bytedelta_says_its_width(void **state)
{
	struct bpk_recipe recipe = recipe_of("lz4", 5, 12, "shuffle,bytedelta");
	size_t packed;

	for (size_t i = 0; i < MOST; i++)
		raw[i] = (uint8_t)(i / 12 >> i % 12);
	packed = encode(*state, &recipe, raw, MOST);
	assert_int_equal(out[21], BPK_FILTER_BYTEDELTA);
	assert_int_equal(out[29], 12);
	bpk_chunk_ctx_set_typesize(*state, 300);
	check_back(*state, packed, raw, MOST);
	bpk_chunk_ctx_set_typesize(*state, 0);
}

/* Earlier work of a context does not affect later output. */
static void test_a_used_context_packs_alike(void **state)
{
	static const char *const codecs[] = { "zstd", "lz4", "lz4hc", "blosclz", "zlib" };
	static const char *const pipelines[] = { "shuffle", "none", "delta,bitshuffle",
						 "shuffle,bytedelta", "trunc:9,shuffle" };
	static uint8_t fresh_out[MOST + 32];

	for (size_t i = 0; i < MOST; i++)
		raw[i] = (uint8_t)(i % 4 > 1 ? i >> 10 : (i * i) >> 6);
	for (unsigned i = 0; i < 150; i++) {
		struct bpk_recipe recipe =
			recipe_of(codecs[i % 5], 1 + i % 8, 4, pipelines[i / 5 % 5]);
		struct bpk_chunk_ctx *fresh = bpk_chunk_ctx_new(NULL);
		size_t fresh_size = 0, packed, size = MOST - i * 50;

		recipe.dictionary = i % 5 < 3 && i % 2 == 0;
		recipe.variable_blocks = i % 7 == 0 && strncmp(pipelines[i / 5 % 5], "delta", 5);
		recipe.block_size = i % 3 == 0 ? 0 : 3000;
		assert_non_null(fresh);
		assert_int_equal(bpk_chunk_encode(fresh, &recipe, bpk_view(raw, size),
						  bpk_span(fresh_out, size + 32), &fresh_size,
						  NULL),
				 0);
		packed = encode(*state, &recipe, raw, size);
		assert_int_equal(packed, fresh_size);
		assert_memory_equal(out, fresh_out, packed);
		bpk_chunk_ctx_free(fresh);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_vectors),
		cmocka_unit_test(test_delta),
		cmocka_unit_test(test_variable_blocks),
		cmocka_unit_test(test_runs),
		cmocka_unit_test(test_stored),
		cmocka_unit_test(test_nearly_special),
		cmocka_unit_test(test_block_sizes),
		cmocka_unit_test(test_filters),
		cmocka_unit_test(test_delta_vector),
		cmocka_unit_test(test_bytedelta_says_its_width),
		cmocka_unit_test(test_a_used_context_packs_alike),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, context_new, context_free);
}
