/*
 * Blocks of a chunk that several contexts encode: the bytes of the chunk are those of one context.
 */
#include "unit/unit.h"

#include "unit/recipes.h"

enum { SIZE = (5 << 19) + 77, MOST = 8 };

static uint8_t raw[SIZE], alone[2 * SIZE], together[2 * SIZE];

/* Contexts that help each other, in one thread. */
struct crew {
	struct bpk_chunk_ctx *helpers[MOST];
	unsigned nhelpers;
	struct unit_random random;
	const struct bpk_shared_work *work; /* NULL: nothing was offered */
	uint32_t first, end;
	unsigned helped;
};

static void offer(void *arg, const struct bpk_shared_work *work, uint32_t nparts)
{
	struct crew *crew = arg;

	assert_null(crew->work);
	crew->work = work;
	crew->end = nparts;
}

/* Before the caller takes a part, each helper may have taken one. One helper may lack memory. */
static bool take(void *arg)
{
	struct crew *crew = arg;

	for (unsigned i = 0; i < crew->nhelpers; i++) {
		bool fails = unit_random_next(&crew->random) % 16 == 0;

		if (crew->first == crew->end || unit_random_next(&crew->random) % 2 == 0)
			continue;
		crew->work->part(crew->work->of, fails ? NULL : crew->helpers[i], --crew->end);
		crew->helped++;
	}
	if (crew->first == crew->end)
		return false;
	crew->first++;
	return true;
}

static int crew_new(void **state)
{
	struct crew *crew = calloc(1, sizeof *crew);

	for (unsigned i = 0; i < MOST; i++)
		crew->helpers[i] = bpk_chunk_ctx_new(NULL);
	*state = crew;
	return 0;
}

static int crew_free(void **state)
{
	struct crew *crew = *state;

	for (unsigned i = 0; i < MOST; i++)
		bpk_chunk_ctx_free(crew->helpers[i]);
	free(crew);
	return 0;
}

enum kind { SMOOTH, NOISE, ALL_BUT_NOISE, TIGHT, NKINDS };

/* TIGHT ends in so few zeros that its chunk has hardly room for its own block starts. */
static void fill(enum kind kind)
{
	static const size_t zeros[NKINDS] = { 0, 0, SIZE / 2, 3000 };
	struct unit_random random = { 1 };

	for (size_t i = 0; i < SIZE; i++)
		raw[i] = kind == SMOOTH ? (uint8_t)(i / 8 >> i % 8 * 8 ^ i % 7)
					: (uint8_t)unit_random_next(&random);
	memset(raw + SIZE - zeros[kind], 0, zeros[kind]);
}

/* Returns the number of parts that others encoded. */
static unsigned check(struct crew *crew, const struct bpk_recipe *recipe, unsigned nthreads)
{
	struct bpk_chunk_ctx *ctx = crew->helpers[0];
	const struct bpk_sharing sharing = { crew, offer, take };
	size_t size, shared_size;
	struct bpk_err err = { 0 };

	if (bpk_chunk_encode(ctx, recipe, bpk_view(raw, SIZE),
			     bpk_span(alone, bpk_chunk_bound(SIZE)), &size, &err) != 0)
		fail_msg("%s", err.text);
	crew->nhelpers = nthreads - 1;
	crew->work = NULL;
	crew->first = crew->end = crew->helped = 0;
	memset(together, 0xaa, sizeof together);
	/* the encoder's own context is that of no helper */
	if (bpk_chunk_encode_shared(crew->helpers[MOST - 1], recipe, bpk_view(raw, SIZE),
				    bpk_span(together, bpk_chunk_shared_bound(SIZE)), &sharing,
				    &shared_size, &err) != 0)
		fail_msg("%s", err.text);
	assert_int_equal(crew->first, crew->end);
	assert_int_equal(shared_size, size);
	assert_memory_equal(together, alone, size);
	return crew->helped;
}

static void test_every_recipe(void **state)
{
	static const char *const filters[] = { "none", "shuffle", "bitshuffle", "delta,shuffle",
					       "shuffle,bytedelta" };
	static const unsigned typesizes[] = { 1, 4, 7, 16 }, counts[] = { 1, 2, 3, 8 };
	static const uint32_t block_sizes[] = { 0, 20000, 300001 };
	unsigned helped = 0, tried = 0;
	const struct bpk_codec *codec;

	for (enum kind kind = 0; kind < NKINDS; kind++) {
		fill(kind);
		for (size_t i = 0; (codec = bpk_codec_at(i)) != NULL; i++)
			for (unsigned n = 0; n < 5 * 4 * 2; n++) {
				struct bpk_recipe recipe =
					recipe_of(bpk_codec_name(codec), 1 + tried % 5,
						  typesizes[n / 5 % 4], filters[n % 5]);

				recipe.extended = n / 20 > 0;
				recipe.block_size = block_sizes[tried % 3];
				if (recipe.extended ? !bpk_codec_is_extended(codec)
						    : !bpk_pipeline_is_plain(&recipe.pipeline))
					continue;
				helped += check(*state, &recipe, counts[tried++ % 4]);
			}
	}
	assert_true(helped > tried / 2);
}

static void test_predictions_and_dictionaries(void **state)
{
	struct bpk_recipe recipe = recipe_of("zstd", 3, 8, "shuffle");

	fill(SMOOTH);
	recipe.prediction = (struct bpk_prediction){ .size = 8, .nstrides = 1, .strides = { 3 } };
	assert_true(check(*state, &recipe, 3) > 0);
	recipe.prediction.size = 0;
	recipe.dictionary = true;
	recipe.block_size = 20000;
	assert_true(check(*state, &recipe, 3) > 0);
	recipe.codec = bpk_codec_find("lz4");
	assert_true(check(*state, &recipe, 3) > 0);
	recipe.dictionary = false;
	recipe.variable_blocks = true;
	assert_int_equal(check(*state, &recipe, 3), 0);
}

/* Small blocks would need more room than there is. */
static void test_small_blocks_are_not_shared(void **state)
{
	struct bpk_recipe recipe = recipe_of("lz4", 5, 1, "none");

	fill(SMOOTH);
	recipe.block_size = 100;
	assert_int_equal(check(*state, &recipe, 8), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_recipe),
		cmocka_unit_test(test_predictions_and_dictionaries),
		cmocka_unit_test(test_small_blocks_are_not_shared),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, crew_new, crew_free);
}
