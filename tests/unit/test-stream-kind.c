/*
 * The detection of noise and matches: streams stored without the codec must be incompressible, and
 * hints about matches must not enlarge the output. All data sets of the benches, as byte planes and
 * unfiltered, and streams made to mislead.
 */
#include "unit/unit.h"

#include "bench/data.h"
#include "chunk/codec/codec.h"
#include "chunk/chunk.h"
#include "chunk/stream_kind.h"

#include <stdio.h>

static const char *const codecs[] = { "blosclz", "lz4", "lz4hc", "snappy", "zlib", "zstd" };

/* The stream's packed size, or its raw size if it does not shrink. */
static size_t packed_size(struct bpk_codec_ctx *ctx, const struct bpk_codec *codec, unsigned level,
			  struct bpk_view stream)
{
	uint8_t *out = malloc(stream.size);
	size_t packed = 0;

	assert_non_null(out);
	assert_int_equal(
		codec->encode(ctx, level, stream, bpk_span(out, stream.size - 1), &packed, NULL),
		0);
	free(out);
	return packed == 0 ? stream.size : packed;
}

/* The same with a hint for zstd about matches. */
static size_t matches_size(struct bpk_codec_ctx *ctx, unsigned level, enum bpk_matches matches,
			   struct bpk_view stream)
{
	const struct bpk_codec *zstd = bpk_codec_find("zstd");
	uint8_t *out = malloc(stream.size);
	size_t packed = 0;

	assert_non_null(out);
	assert_int_equal(zstd->encode_matches(ctx, level, matches, stream,
					      bpk_span(out, stream.size - 1), &packed, NULL),
			 0);
	if (packed > 0) {
		uint8_t *back = malloc(stream.size);

		assert_non_null(back);
		assert_int_equal(
			zstd->decode(ctx, bpk_view(out, packed), bpk_span(back, stream.size), NULL),
			0);
		assert_memory_equal(back, stream.data, stream.size);
		free(back);
	}
	free(out);
	return packed == 0 ? stream.size : packed;
}

/* Noise: less than 3% would have been saved. A skewed plane: the lowest effort loses less than
 * 3%. */
static void check_stream(struct bpk_codec_ctx *ctx, const char *what, bool plane,
			 struct bpk_view stream)
{
	static const unsigned levels[] = { 1, 3, 9 };

	for (size_t c = 0; c < sizeof codecs / sizeof codecs[0]; c++) {
		const struct bpk_codec *codec = bpk_codec_find(codecs[c]);
		enum bpk_stream_kind kind = bpk_stream_kind(stream, codec->span);
		size_t least;

		if (kind != BPK_STREAM_NOISE && (kind != BPK_STREAM_SKEWED || !plane))
			continue;
		least = kind == BPK_STREAM_NOISE ? stream.size : packed_size(ctx, codec, 1, stream);
		for (size_t l = 0; l < 3; l++) {
			size_t packed;

			/* the slowest level takes seconds on noise: small streams are enough */
			if (levels[l] == 9 && stream.size > 20000)
				continue;
			packed = packed_size(ctx, codec, levels[l], stream);
			if (packed < least - least * 3 / 100)
				fail_msg("%s: %zu bytes called %s, %s level %u makes %zu, not %zu",
					 what, stream.size,
					 kind == BPK_STREAM_NOISE ? "noise" : "skewed", codecs[c],
					 levels[l], packed, least);
		}
	}
}

/* The effect of hints about matches. */
struct told {
	struct bpk_codec_ctx *ctx;
	uint64_t untold, told; /* bytes of all streams with a hint: without and with it */
};

/* No plane loses more than 2% and a few bytes. */
static void check_matches(struct told *t, const char *what, struct bpk_view stream)
{
	const struct bpk_codec *zstd = bpk_codec_find("zstd");
	enum bpk_matches matches = bpk_stream_matches(stream);

	for (unsigned level = 1; level <= 4; level++) {
		size_t untold = packed_size(t->ctx, zstd, level, stream);
		size_t told = matches_size(t->ctx, level, matches, stream);

		if (matches == BPK_MATCHES_ANY)
			assert_int_equal(told, untold);
		if (told > untold + untold / 50 + 64)
			fail_msg("%s: %zu bytes, matches %u, level %u: %zu, not %zu", what,
				 stream.size, matches, level, told, untold);
		t->untold += untold;
		t->told += told;
	}
}

static void test_data_sets(void **state)
{
	static const size_t sizes[] = { 2048, 5000, 16384, 65536 };
	enum { ALL = 65536 * 20 };
	uint8_t *bytes = malloc(ALL), *plane = malloc(ALL);
	struct told told = { *state, 0, 0 };
	const struct bench_data *data;

	assert_non_null(bytes);
	assert_non_null(plane);
	/* the sets after the tenth are records of other widths: the same planes again */
	for (size_t i = 0; (data = bench_data_at(i)) != NULL && i < 10; i++) {
		assert_int_equal(bench_data_make(data->name, 7, ALL, bytes), 0);
		for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
			check_stream(*state, data->name, false, bpk_view(bytes, sizes[s]));
			for (unsigned j = 0; j < data->typesize; j++) {
				for (size_t k = 0; k < sizes[s]; k++)
					plane[k] = bytes[k * data->typesize + j];
				check_stream(*state, data->name, true, bpk_view(plane, sizes[s]));
				check_matches(&told, data->name, bpk_view(plane, sizes[s]));
			}
		}
	}
	assert_true(told.told < told.untold);
	free(bytes);
	free(plane);
}

/* No level of Zstd packs larger than the level below, by the mean over sets as pack filters them; a
 * thousandth is left to other versions of Zstd. */
static void test_levels_never_grow(void **state)
{
	static const struct {
		const char *name, *pipeline;
	} sets[] = { { "field-f32", "shuffle" },
		     { "sorted-i64", "shuffle" },
		     { "records", "bitshuffle" },
		     { "text", "none" } };
	enum { SIZE = 512 << 10, SETS = sizeof sets / sizeof sets[0] };
	uint8_t *raw = malloc(SIZE), *out = malloc(bpk_chunk_bound(SIZE));
	struct bpk_chunk_ctx *ctx = bpk_chunk_ctx_new(NULL);
	size_t means[10] = { 0 };

	(void)state;
	assert_non_null(raw);
	assert_non_null(out);
	assert_non_null(ctx);
	for (size_t i = 0; i < SETS; i++) {
		const struct bench_data *data = bench_data_find(sets[i].name);
		struct bpk_recipe recipe = { .codec = bpk_codec_find("zstd"),
					     .typesize = data->typesize,
					     .block_size = SIZE };
		size_t size, first = 0;

		assert_int_equal(bpk_pipeline_parse(sets[i].pipeline, &recipe.pipeline, NULL), 0);
		assert_int_equal(bench_data_make(data->name, 7, SIZE, raw), 0);
		for (recipe.level = 1; recipe.level <= 9; recipe.level++) {
			assert_int_equal(bpk_chunk_encode(ctx, &recipe, bpk_view(raw, SIZE),
							  bpk_span(out, bpk_chunk_bound(SIZE)),
							  &size, NULL),
					 0);
			first = recipe.level == 1 ? size : first;
			means[recipe.level] += size * 100000 / first;
		}
	}
	for (unsigned level = 2; level <= 9; level++)
		if (means[level] > means[level - 1] + means[level - 1] / 1000)
			fail_msg("level %u: %zu, level %u: %zu", level, means[level], level - 1,
				 means[level - 1]);
	bpk_chunk_ctx_free(ctx);
	free(raw);
	free(out);
}

/* Half of all bytes become 0, a quarter 1, and so on. */
static unsigned skewed(unsigned byte)
{
	unsigned zeros = 0;

	while (zeros < 7 && (byte >> zeros & 1) == 0)
		zeros++;
	return zeros;
}

/* Streams of evenly spread bytes, or noise except for a part. */
static void mislead(unsigned kind, uint8_t *out, size_t size)
{
	struct unit_random r = { kind + 1 };
	uint32_t words[600];

	for (size_t i = 0; i < 600; i++)
		words[i] = unit_random_next(&r) * 2 + i % 2;
	for (size_t i = 0; i < size; i++)
		out[i] = (uint8_t)unit_random_next(&r);
	for (size_t i = 0; i < size; i++) {
		switch (kind) {
		case 0: /* a counter's lowest plane */
			out[i] = (uint8_t)i;
			break;
		case 1: /* the same of a counter in steps of 37 */
			out[i] = (uint8_t)(37 * i);
			break;
		case 2: /* noise that repeats at a distance */
			if (i >= 1999)
				out[i] = out[i - 1999];
			break;
		case 3: /* rows of 500, a tenth of each constant */
			if (i % 500 >= 450)
				out[i] = 0;
			break;
		case 4: /* noise, except one twentieth */
			if (i >= size / 2 && i < size / 2 + size / 20)
				out[i] = 9;
			break;
		case 5: /* few words in random order */
			out[i] = (uint8_t)(words[(i / 4 * 2654435761u >> 16) % 600] >> 8 * (i % 4));
			break;
		case 6: /* 7 bits of noise */
			out[i] &= 0x7f;
			break;
		case 7: /* sections with different bytes, even in total */
			out[i] = (uint8_t)(out[i] % 64 + 64 * (i * 4 / size));
			break;
		case 8: /* the second half repeats the first */
			if (i >= size / 2)
				out[i] = out[i - size / 2];
			break;
		case 9: /* a quarter of the bytes is one byte */
			if (unit_random_next(&r) % 4 == 0)
				out[i] = 200;
			break;
		case 10: /* one byte, except at the end */
			out[i] = i == size - 1 ? 1 : 0;
			break;
		case 11: /* few bytes are frequent, as in exponents: matches are chance */
			out[i] = (uint8_t)(60 + skewed(out[i]));
			break;
		case 12: /* the same, the second half repeats the first */
			out[i] = i >= size / 2 ? out[i - size / 2] : (uint8_t)skewed(out[i]);
			break;
		case 13: /* the same, in runs of 40 taken from three */
			out[i] = i >= 120 ? out[i % 40 + 40 * (words[i / 40 % 600] % 3)]
					  : (uint8_t)skewed(out[i]);
			break;
		case 14: /* skewed, with repeating noise in the last quarter */
			if (i < size / 4 * 3)
				out[i] = (uint8_t)skewed(out[i]);
			else if (i >= size / 4 * 3 + 700)
				out[i] = out[i - 700];
			break;
		default: /* noise */
			break;
		}
	}
}

enum { NKINDS = 16, SPAN = 16384 };

static void test_misleading_streams(void **state)
{
	static const size_t sizes[] = { 2048, 4096, 16384, 32768, 131072 };
	uint8_t *bytes = malloc(131072);
	struct told told = { *state, 0, 0 };
	char what[32];

	assert_non_null(bytes);
	for (unsigned kind = 0; kind < NKINDS; kind++)
		for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
			mislead(kind, bytes, sizes[s]);
			snprintf(what, sizeof what, "stream %u", kind);
			check_stream(*state, what, true, bpk_view(bytes, sizes[s]));
			check_matches(&told, what, bpk_view(bytes, sizes[s]));
		}
	free(bytes);
}

/* Sampling pays only if noise and runs are recognised. */
static void test_kinds_are_told(void **state)
{
	uint8_t bytes[32768];

	(void)state;
	mislead(NKINDS - 1, bytes, sizeof bytes);
	assert_int_equal(bpk_stream_kind(bpk_view(bytes, sizeof bytes), SPAN), BPK_STREAM_NOISE);
	assert_int_equal(bpk_stream_kind(bpk_view(bytes, sizeof bytes), 0), BPK_STREAM_NOISE);
	assert_int_equal(bpk_stream_kind(bpk_view(bytes, 2000), 0), BPK_STREAM_STRUCTURE);
	mislead(6, bytes, sizeof bytes);
	assert_int_equal(bpk_stream_kind(bpk_view(bytes, sizeof bytes), SPAN), BPK_STREAM_SKEWED);
	mislead(10, bytes, sizeof bytes);
	assert_int_equal(bpk_stream_kind(bpk_view(bytes, sizeof bytes), SPAN),
			 BPK_STREAM_STRUCTURE);
	assert_int_equal(bpk_stream_kind(bpk_view(bytes, sizeof bytes - 1), SPAN), BPK_STREAM_RUN);
	assert_int_equal(bpk_stream_kind(bpk_view(bytes, 2), SPAN), BPK_STREAM_RUN);
	assert_int_equal(bpk_stream_kind(bpk_view(bytes, 1), SPAN), BPK_STREAM_STRUCTURE);
}

/* Whether repeats are near, far, or chance. */
static void test_matches_are_told(void **state)
{
	static const struct {
		unsigned kind;
		size_t size;
		enum bpk_matches matches;
	} cases[] = {
		{ NKINDS - 1, 32768, BPK_MATCHES_SHORT },
		{ 11, 32768, BPK_MATCHES_FEW },
		{ 11, 8192, BPK_MATCHES_FEW },
		{ 11, 8191, BPK_MATCHES_ANY },
		{ 12, 32768, BPK_MATCHES_LONG },
		{ 13, 32768, BPK_MATCHES_LONG },
		{ 10, 32768, BPK_MATCHES_LONG },
	};
	uint8_t bytes[32768];

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		mislead(cases[i].kind, bytes, cases[i].size);
		assert_int_equal(bpk_stream_matches(bpk_view(bytes, cases[i].size)),
				 cases[i].matches);
	}
}

static int set_up(void **state)
{
	*state = bpk_codec_ctx_new(NULL);
	return *state == NULL ? -1 : 0;
}

static int tear_down(void **state)
{
	bpk_codec_ctx_free(*state);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_data_sets),         cmocka_unit_test(test_misleading_streams),
		cmocka_unit_test(test_kinds_are_told),    cmocka_unit_test(test_matches_are_told),
		cmocka_unit_test(test_levels_never_grow),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
