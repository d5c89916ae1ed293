/*
 * The first part of a stream, decoded without the rest: by each codec, and for ranges of chunks.
 */
#include "unit/guarded.h"
#include "unit/recipes.h"

#include "chunk/codec/codec.h"

enum { SIZE = 20000, LARGE = 300000, CHUNK = 1 << 20 };

/* Runs, literals, and matches of many lengths and distances. */
static void fill(uint8_t *p, size_t size, uint64_t seed)
{
	struct unit_random r = { seed };

	for (size_t i = 0; i < size;) {
		size_t n =
			bpk_min_size(size - i, 1 + unit_random_next(&r) % (i % 7 == 0 ? 700 : 60));
		size_t back =
			i == 0 ? 0 : 1 + unit_random_next(&r) % bpk_min_size(i, i % 3 ? 40 : 70000);
		bool match = i > 0 && unit_random_next(&r) % 8 != 0;

		for (; n > 0; n--, i++)
			p[i] = match ? p[i - back] : (uint8_t)unit_random_next(&r);
	}
}

/* A stream of a codec, with the dictionary that it was packed with, if any. */
struct stream {
	const struct bpk_codec *codec;
	struct bpk_codec_ctx *ctx;
	uint8_t *raw;
	size_t raw_size;
	struct guarded packed;
	size_t packed_size;
};

static void stream_new(struct stream *s, const struct bpk_codec *codec, size_t size,
		       struct bpk_view dictionary)
{
	struct bpk_err err = { 0 };
	uint8_t *packed = malloc(size);

	*s = (struct stream){ .codec = codec,
			      .ctx = bpk_codec_ctx_new(NULL),
			      .raw = malloc(size),
			      .raw_size = size };
	assert_true(packed != NULL && s->raw != NULL && s->ctx != NULL);
	fill(s->raw, size, 5);
	bpk_copy(s->raw, dictionary.data, dictionary.size);
	if (dictionary.size > 0) {
		assert_int_equal(bpk_codec_pack_dictionary(s->ctx, codec, 5, dictionary, &err), 0);
		assert_int_equal(bpk_codec_use_dictionary(s->ctx, codec, dictionary, &err), 0);
	}
	assert_int_equal(codec->encode(s->ctx, 5, bpk_view(s->raw, size),
				       bpk_span(packed, size - 1), &s->packed_size, &err),
			 0);
	assert_true(s->packed_size > 0);
	s->packed = guarded_new(packed, s->packed_size, true);
	free(packed);
}

static void stream_free(struct stream *s)
{
	bpk_codec_ctx_free(s->ctx);
	guarded_free(&s->packed);
	free(s->raw);
}

/* Decode size bytes; true if they are those of the raw bytes. */
static bool head_is_right(const struct stream *s, size_t size, struct bpk_err *err)
{
	struct guarded out = guarded_new(NULL, size, true);
	bool right = s->codec->decode_head(s->ctx, bpk_view(s->packed.bytes, s->packed_size),
					   s->raw_size, bpk_span(out.bytes, size), err) == 0 &&
		     memcmp(out.bytes, s->raw, size) == 0;

	guarded_free(&out);
	return right;
}

/* Every length near both ends, and others; then the whole stream, in the same context. */
static void check_stream(const struct bpk_codec *codec, size_t size, struct bpk_view dictionary)
{
	struct bpk_err err = { 0 };
	struct guarded out;
	struct stream s;

	stream_new(&s, codec, size, dictionary);
	for (size_t n = 1; n <= size; n += n < 300 || n > size - 100 ? 1 : 1 + size / 300)
		if (!head_is_right(&s, n, &err))
			fail_msg("%s, %zu of %zu: %s", codec->name, n, size, err.text);
	out = guarded_new(NULL, size, true);
	assert_int_equal(codec->decode(s.ctx, bpk_view(s.packed.bytes, s.packed_size),
				       bpk_span(out.bytes, size), &err),
			 0);
	assert_memory_equal(out.bytes, s.raw, size);
	guarded_free(&out);
	stream_free(&s);
}

static void test_heads_of_streams(void **state)
{
	static uint8_t dictionary[5000];
	const struct bpk_codec *codec;

	(void)state;
	fill(dictionary, sizeof dictionary, 7);
	for (size_t i = 0; (codec = bpk_codec_at(i)) != NULL; i++) {
		assert_int_equal(codec->decode_head == NULL, strcmp(codec->name, "snappy") == 0);
		if (codec->decode_head == NULL)
			continue;
		check_stream(codec, SIZE, bpk_view(NULL, 0));
		check_stream(codec, LARGE, bpk_view(NULL, 0));
		if (bpk_codec_has_dictionaries(codec)) {
			check_stream(codec, SIZE, bpk_view(dictionary, sizeof dictionary));
			check_stream(codec, LARGE, bpk_view(dictionary, sizeof dictionary));
		}
	}
}

/* Cut and changed streams: nothing outside is touched, and what a cut one gives is right. */
static void check_damaged(const struct bpk_codec *codec, struct bpk_view dictionary)
{
	struct unit_random r = { 11 };
	struct stream s;

	stream_new(&s, codec, SIZE, dictionary);
	for (unsigned i = 0; i < 6000; i++) {
		size_t size = 1 + unit_random_next(&r) % SIZE, kept = s.packed_size;
		size_t cut = i % 2 == 0 ? 1 + unit_random_next(&r) % kept : kept;
		struct guarded whole = s.packed;
		struct bpk_err err = { 0 };
		bool right;

		s.packed = guarded_new(whole.bytes, cut, true);
		s.packed_size = cut;
		for (unsigned k = 0; k < i % 4; k++)
			s.packed.bytes[unit_random_next(&r) % cut] = (uint8_t)unit_random_next(&r);
		right = head_is_right(&s, size, &err);
		assert_true(right || i % 4 > 0 || err.kind == BPK_CORRUPT);
		guarded_free(&s.packed);
		s.packed = whole;
		s.packed_size = kept;
	}
	stream_free(&s);
}

static void test_damaged_streams(void **state)
{
	static uint8_t dictionary[5000];
	const struct bpk_codec *codec;

	(void)state;
	fill(dictionary, sizeof dictionary, 7);
	for (size_t i = 0; (codec = bpk_codec_at(i)) != NULL; i++) {
		if (codec->decode_head == NULL)
			continue;
		check_damaged(codec, bpk_view(NULL, 0));
		if (bpk_codec_has_dictionaries(codec))
			check_damaged(codec, bpk_view(dictionary, sizeof dictionary));
	}
}

/* LZ4 block format, by hand: matches that reach into the dictionary, out of it, and before it. */
static void test_lz4_dictionary(void **state)
{
	static const uint8_t stream[] = { 0x14, 'x', 4,   0,   0x04, 11, 0,
					  0x50, 'a', 'b', 'c', 'd',  'e' };
	const struct bpk_codec *lz4 = bpk_codec_find("lz4");
	struct bpk_codec_ctx *ctx = bpk_codec_ctx_new(NULL);
	struct guarded in = guarded_new(stream, sizeof stream, true);
	struct bpk_view view = bpk_view(in.bytes, sizeof stream);
	uint8_t out[32];

	(void)state;
	bpk_codec_use_dictionary(ctx, lz4, bpk_view((const uint8_t *)"abcdef", 6), NULL);
	assert_int_equal(lz4->decode_head(ctx, view, 22, bpk_span(out, 22), NULL), 0);
	assert_memory_equal(out, "xdefxdefxefxdefxdabcde", 22);
	assert_int_equal(lz4->decode_head(ctx, view, 22, bpk_span(out, 12), NULL), 0);
	assert_memory_equal(out, "xdefxdefxefx", 12);
	assert_int_equal(lz4->decode_head(ctx, view, 23, bpk_span(out, 23), NULL), -1);
	bpk_codec_use_dictionary(ctx, lz4, bpk_view((const uint8_t *)"f", 1), NULL);
	assert_int_equal(lz4->decode_head(ctx, view, 22, bpk_span(out, 12), NULL), -1);
	guarded_free(&in);
	bpk_codec_ctx_free(ctx);
}

static size_t pack(struct bpk_chunk_ctx *ctx, const struct bpk_recipe *recipe, struct bpk_view raw,
		   uint8_t *packed)
{
	struct bpk_err err = { 0 };
	size_t size = 0;

	if (bpk_chunk_encode(ctx, recipe, raw, bpk_span(packed, bpk_chunk_bound(raw.size)), &size,
			     &err) != 0)
		fail_msg("%s", err.text);
	return size;
}

static void check_range(struct bpk_chunk_ctx *ctx, struct bpk_view chunk, struct bpk_view raw,
			size_t start, size_t size)
{
	struct guarded out = guarded_new(NULL, size, true);
	struct bpk_err err = { 0 };

	if (bpk_chunk_decode_range(ctx, chunk, start, bpk_span(out.bytes, size), &err) != 0)
		fail_msg("%zu+%zu: %s", start, size, err.text);
	assert_memory_equal(out.bytes, raw.data + start, size);
	guarded_free(&out);
}

static void check_ranges(struct bpk_chunk_ctx *ctx, struct bpk_view chunk, struct bpk_view raw)
{
	struct unit_random r = { 3 };

	check_range(ctx, chunk, raw, 0, 1);
	check_range(ctx, chunk, raw, raw.size / 2, 4096);
	check_range(ctx, chunk, raw, raw.size - 1, 1);
	for (unsigned i = 0; i < 60; i++) {
		size_t start = unit_random_next(&r) % raw.size;
		size_t most = bpk_min_size(raw.size - start, i % 2 == 0 ? 5000 : raw.size);

		check_range(ctx, chunk, raw, start, 1 + unit_random_next(&r) % most);
	}
}

/* Every codec, filter and way to split, with a dictionary and without, blocks of two sizes. */
static void test_ranges_are_slices(void **state)
{
	static const char *const pipelines[] = { "none", "shuffle", "bitshuffle", "delta,shuffle" };
	static uint8_t raw[LARGE], packed[LARGE + 64];
	const struct bpk_codec *codec;

	fill(raw, LARGE, 1);
	for (size_t i = 0; i < LARGE; i += 4)
		raw[i + 3] = 0, raw[i + 2] = (uint8_t)(i >> 12);
	for (size_t i = 0; (codec = bpk_codec_at(i)) != NULL; i++)
		for (unsigned k = 0; k < 4 * 2 * 2 * 2; k++) {
			struct bpk_recipe recipe =
				recipe_of(codec->name, 5, k & 4 ? 4 : 2, pipelines[k % 4]);

			recipe.block_size = k & 8 ? 65536 + 8 : 0;
			recipe.extended = bpk_codec_is_extended(codec) && (k & 16) != 0;
			recipe.dictionary = recipe.extended && bpk_codec_has_dictionaries(codec);
			if (!recipe.extended && k % 4 == 3)
				continue;
			check_ranges(*state,
				     bpk_view(packed, pack(*state, &recipe,
							   bpk_view(raw, LARGE - 3), packed)),
				     bpk_view(raw, LARGE - 3));
		}
}

/* A range near the start of a stream decodes although the end is damaged: it is not read. */
static void test_the_rest_is_left(void **state)
{
	static uint8_t raw[CHUNK], packed[CHUNK + 64], part[4096], whole[CHUNK];
	const struct bpk_codec *codec;

	fill(raw, CHUNK, 1);
	for (size_t i = 0; (codec = bpk_codec_at(i)) != NULL; i++) {
		struct bpk_recipe recipe = recipe_of(codec->name, 5, 1, "none");
		struct bpk_view chunk;
		int rc;

		recipe.block_size = CHUNK;
		recipe.extended = bpk_codec_is_extended(codec);
		chunk = bpk_view(packed, pack(*state, &recipe, bpk_view(raw, CHUNK), packed));
		memset(packed + chunk.size / 2, 0, chunk.size - chunk.size / 2);
		assert_int_equal(bpk_chunk_decode(*state, chunk, bpk_span(whole, CHUNK), NULL), -1);
		rc = bpk_chunk_decode_range(*state, chunk, CHUNK / 16, bpk_span(part, 4096), NULL);
		assert_int_equal(rc, codec->decode_head == NULL ? -1 : 0);
		if (rc == 0)
			assert_memory_equal(part, raw + CHUNK / 16, 4096);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_heads_of_streams), cmocka_unit_test(test_damaged_streams),
		cmocka_unit_test(test_lz4_dictionary),   cmocka_unit_test(test_ranges_are_slices),
		cmocka_unit_test(test_the_rest_is_left),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, context_new, context_free);
}
