/*
 * Recipes that the encoder refuses, and their messages.
 */
#include "unit/recipes.h"

static uint8_t raw[1000], out[2000];

static void test_refusals(void **state)
{
	static const struct {
		const char *codec, *pipeline;
		unsigned typesize, level;
		bool plain, dictionary, variable;
		const char *line;
	} rows[] = {
		{ "snappy", "shuffle", 4, 5, false, false, false,
		  "Blosc2's chunks have no codec snappy" },
		{ "zlib", "shuffle", 4, 5, false, true, false,
		  "codec zlib takes no dictionary: zstd, lz4 and lz4hc do" },
		{ "lz4", "delta,shuffle", 4, 5, false, false, true,
		  "filter delta is not for blocks of variable length" },
		{ "lz4", "delta", 4, 5, true, false, false,
		  "version 2 chunks have no such filters" },
		{ "lz4", "shuffle:4", 4, 5, true, false, false,
		  "version 2 chunks have no such filters" },
		{ "zstd", "shuffle", 4, 5, true, true, false,
		  "version 2 chunks have no dictionaries" },
		{ "zstd", "shuffle", 4, 5, true, false, true,
		  "version 2 chunks have no blocks of variable length" },
		{ "zstd", "shuffle", 4, 10, false, false, false, "level 10 is not from 0 to 9" },
		{ "zstd", "shuffle", 0, 1, false, false, false, "typesize 0 is not from 1 to 255" },
		{ "zstd", "shuffle", 256, 1, false, false, false,
		  "typesize 256 is not from 1 to 255" },
		{ "zstd", "trunc:5", 2, 1, false, false, false,
		  "filter trunc is for items of 4 or 8 bytes, not of 2" },
		{ "zstd", "int_trunc:5", 3, 1, false, false, false,
		  "filter int_trunc is for items of 1, 2, 4 or 8 bytes, not of 3" },
	};

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct bpk_recipe recipe =
			recipe_of(rows[i].codec, rows[i].level, rows[i].typesize, rows[i].pipeline);
		struct bpk_err err = { 0 };
		size_t packed;

		recipe.extended = !rows[i].plain;
		recipe.dictionary = rows[i].dictionary;
		recipe.variable_blocks = rows[i].variable;
		assert_int_equal(bpk_chunk_encode(*state, &recipe, bpk_view(raw, 1000),
						  bpk_span(out, sizeof out), &packed, &err),
				 -1);
		assert_int_equal(err.kind, BPK_USAGE);
		assert_string_equal(err.text, rows[i].line);
	}
}

/* Pipelines that no text produces, too little room, wrong sizes. */
static void test_more_refusals(void **state)
{
	static const uint32_t sizes[] = { 500, 400, 0 };
	struct bpk_recipe recipe = recipe_of("lz4", 5, 4, "none");
	struct bpk_view in = bpk_view(raw, 1000);
	struct bpk_err err = { 0 };
	size_t packed;

	recipe.pipeline = bpk_pipeline_of(BPK_FILTER_BYTEDELTA_1);
	assert_int_equal(bpk_chunk_encode(*state, &recipe, in, bpk_span(out, 1032), &packed, &err),
			 -1);
	assert_string_equal(err.text, "filter bytedelta1 is only read");
	assert_int_equal(err.kind, BPK_UNSUPPORTED);
	recipe.pipeline = (struct bpk_pipeline){
		.nsteps = 2, .steps = { { BPK_FILTER_SHUFFLE, 0 }, { BPK_FILTER_DELTA, 0 } }
	};
	assert_int_equal(bpk_chunk_encode(*state, &recipe, in, bpk_span(out, 1032), &packed, &err),
			 -1);
	assert_string_equal(err.text, "filter delta is applied only as the first one");
	assert_int_equal(err.kind, BPK_UNSUPPORTED);
	recipe.pipeline = bpk_pipeline_of(33);
	assert_int_equal(bpk_chunk_encode(*state, &recipe, in, bpk_span(out, 1032), &packed, &err),
			 -1);
	assert_string_equal(err.text, "no filter 33");
	recipe.pipeline.nsteps = 0;
	assert_int_equal(bpk_chunk_encode(*state, &recipe, in, bpk_span(out, 1031), &packed, &err),
			 -1);
	assert_string_equal(err.text, "a chunk of 1000 bytes needs room for 1032, not 1031");
	assert_int_equal(bpk_chunk_encode_blocks(*state, &recipe, in, sizes, 2, bpk_span(out, 2000),
						 &packed, &err),
			 -1);
	assert_string_equal(err.text, "2 blocks of 900 bytes in all, expected 1000");
	assert_int_equal(bpk_chunk_encode_blocks(*state, &recipe, in, sizes, 3, bpk_span(out, 2000),
						 &packed, &err),
			 -1);
	assert_string_equal(err.text, "block 2 of 0 bytes, not 1 to 536866816");
	assert_int_equal(bpk_chunk_encode_blocks(*state, &recipe, bpk_view(raw, 900), sizes, 2,
						 bpk_span(out, 947), &packed, &err),
			 -1);
	assert_string_equal(err.text, "2 blocks of 900 bytes in all need room for 948, not 947");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_more_refusals),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, context_new, context_free);
}
