/*
 * Chunks with a prediction: the output against a simple definition, ranges, refusals, and damage.
 */
#include "unit/unit.h"

#include "chunk/chunk.h"
#include "chunk/predict.h"
#include "unit/cblosc2.h"
#include "unit/guarded.h"
#include "unit/recipes.h"

enum { LARGEST = 70000, ROOM = LARGEST + 64 };

struct work {
	struct bpk_chunk_ctx *ctx;
	uint8_t raw[LARGEST], packed[ROOM], back[LARGEST], kept[ROOM];
	size_t packed_size;
};

static int set_up(void **state)
{
	struct work *w = calloc(1, sizeof *w);

	*state = w;
	return w == NULL ? -1 : context_new((void **)&w->ctx);
}

static int tear_down(void **state)
{
	struct work *w = *state;

	bpk_chunk_ctx_free(w->ctx);
	free(w);
	return 0;
}

static struct bpk_prediction prediction_of(unsigned size, bool is_float, unsigned nstrides,
					   uint32_t a, uint32_t b, uint32_t c)
{
	return (struct bpk_prediction){
		.size = size, .is_float = is_float, .nstrides = nstrides, .strides = { a, b, c }
	};
}

/* Floats along a wave that crosses zero, with random bits in places. */
static void fill_floats(struct work *w, size_t size, unsigned width, uint32_t seed)
{
	struct unit_random r = { seed };
	int32_t x = (int32_t)(seed * 37 % 2000) - 1000, v = 7;

	for (size_t i = 0; i + width <= size; i += width) {
		double d = x / 64.0;
		float f = (float)d;

		v -= x / 256;
		x += v;
		memcpy(w->raw + i, width == 4 ? (void *)&f : (void *)&d, width);
		if (unit_random_next(&r) % 64 == 0)
			w->raw[i + unit_random_next(&r) % width] = (uint8_t)unit_random_next(&r);
	}
}

/* Slowly changing numbers, with random ones in places. */
static void fill(struct work *w, size_t size, unsigned width, uint32_t seed)
{
	struct unit_random r = { seed };
	uint64_t x = seed;

	if (width >= 4 && seed % 2 == 1) {
		fill_floats(w, size, width, seed);
		return;
	}
	for (size_t i = 0; i < size; i++) {
		if (i % width == 0)
			x = unit_random_next(&r) % 50 == 0 ? (uint64_t)unit_random_next(&r) << 31
							   : x + unit_random_next(&r) % 9;
		w->raw[i] = (uint8_t)(x >> 8 * (i % width));
	}
}

static void pack(struct work *w, const struct bpk_recipe *recipe, size_t size)
{
	struct bpk_err err = { 0 };

	if (bpk_chunk_encode(w->ctx, recipe, bpk_view(w->raw, size), bpk_span(w->packed, ROOM),
			     &w->packed_size, &err) != 0)
		fail_msg("%s", err.text);
}

static struct bpk_chunk_header header_of(const struct work *w)
{
	struct bpk_chunk_header header;
	struct bpk_err err = { 0 };

	if (bpk_chunk_header_read(bpk_view(w->packed, w->packed_size), &header, &err) != 0)
		fail_msg("%s", err.text);
	return header;
}

static void check_back(struct work *w, size_t size)
{
	struct bpk_err err = { 0 };

	memset(w->back, 0xa5, size);
	if (bpk_chunk_decode(w->ctx, bpk_view(w->packed, w->packed_size), bpk_span(w->back, size),
			     &err) != 0)
		fail_msg("%s", err.text);
	assert_memory_equal(w->back, w->raw, size);
}

/* ---- The definition ---- */

static uint64_t get(const uint8_t *p, const struct bpk_prediction *p_of, bool big)
{
	uint64_t x = 0;

	for (unsigned j = 0; j < p_of->size; j++)
		x |= (uint64_t)p[j] << 8 * (big ? p_of->size - 1 - j : j);
	return x;
}

/* A float's value in units of 2^-room of the last bit of floats of exponent scale, truncated. */
static uint64_t value_of(uint64_t x, unsigned size, unsigned scale)
{
	unsigned mantissa = size == 4 ? 23 : 52, room = size == 4 ? 32 : 3;
	unsigned exponent = (unsigned)(x >> mantissa) & (size == 4 ? 0xff : 0x7ff);
	uint64_t value = x & (((uint64_t)1 << mantissa) - 1);

	if (exponent > scale)
		return 0;
	if (exponent > 0)
		value |= (uint64_t)1 << mantissa;
	value <<= room;
	for (unsigned e = exponent > 0 ? exponent : 1; e < scale; e++)
		value >>= 1;
	return x >> (8 * size - 1) & 1 ? -value : value;
}

/* The nearest float to such a value, ties to even; 0 unless it is a normal number. */
static uint64_t float_of(uint64_t value, unsigned size, unsigned scale)
{
	unsigned mantissa = size == 4 ? 23 : 52, room = size == 4 ? 32 : 3;
	bool negative = value >> 63 != 0;
	unsigned __int128 m = negative ? -value : value;
	int exponent = (int)scale - (int)room;
	uint64_t bits;

	if (m == 0)
		return 0;
	m <<= 60; /* so that all shifts are downward */
	exponent -= 60;
	while (m >> (mantissa + 3) != 0) {
		m = m >> 1 | (m & 1); /* lost bits are kept as a sticky bit */
		exponent++;
	}
	m = (m >> 2) + ((m & 3) > 2 || (m & 7) == 6 ? 1 : 0);
	exponent += 2;
	if (m >> (mantissa + 1) != 0) {
		m >>= 1;
		exponent++;
	}
	if (exponent < 1 || exponent > (size == 4 ? 254 : 2046))
		return 0;
	bits = (uint64_t)exponent << mantissa | ((uint64_t)m & (((uint64_t)1 << mantissa) - 1));
	return negative ? bits | (uint64_t)1 << (8 * size - 1) : bits;
}

static uint64_t rank_of(uint64_t x, uint64_t high, uint64_t all)
{
	return x & high ? ~x & all : x | high;
}

/* Differences of values, and the remainder of the integers after the guess. */
static void define_scaled(const struct bpk_prediction *p, uint64_t *x, size_t count)
{
	uint64_t high = (uint64_t)1 << (8 * p->size - 1), all = high | (high - 1);
	uint64_t *left = calloc(count + 1, sizeof *left);

	assert_non_null(left);
	for (size_t i = 0; i < count; i++)
		left[i] = value_of(x[i], p->size, p->scale);
	for (unsigned k = 0; k < p->nstrides; k++)
		for (size_t i = count; i-- > p->strides[k];)
			left[i] -= left[i - p->strides[k]];
	for (size_t i = 0; i < count; i++) {
		uint64_t guess = value_of(x[i], p->size, p->scale) - left[i];

		x[i] = (rank_of(x[i], high, all) -
			rank_of(float_of(guess, p->size, p->scale), high, all)) &
		       all;
	}
	free(left);
}

static void define_ranks(const struct bpk_prediction *p, uint64_t *x, size_t count)
{
	uint64_t high = (uint64_t)1 << (8 * p->size - 1), all = high | (high - 1);

	for (size_t i = 0; i < count && p->is_float; i++)
		x[i] = rank_of(x[i], high, all);
	for (unsigned k = 0; k < p->nstrides; k++)
		for (size_t i = count; i-- > p->strides[k];)
			x[i] = (x[i] - x[i - p->strides[k]]) & all;
}

/* The definition in predict.h, number by number. */
static void define(const struct bpk_prediction *p, const uint8_t *raw, size_t size, uint8_t *out)
{
	size_t count = (size - p->phase) / p->size;
	uint64_t high = (uint64_t)1 << (8 * p->size - 1), all = high | (high - 1);
	uint64_t *x = calloc(count + 1, sizeof *x);

	assert_non_null(x);
	memcpy(out, raw, size);
	for (size_t i = 0; i < count; i++)
		x[i] = get(raw + p->phase + i * p->size, p, p->big_endian);
	(p->scale > 0 ? define_scaled : define_ranks)(p, x, count);
	for (size_t i = 0; i < count; i++) {
		uint64_t folded = x[i] & high ? 2 * (all - x[i]) + 1 : 2 * x[i];

		for (unsigned j = 0; j < p->size; j++)
			out[p->phase + i * p->size + j] = (uint8_t)(folded >> 8 * j);
	}
	free(x);
}

static struct bpk_prediction random_prediction(struct unit_random *r, size_t size)
{
	struct bpk_prediction p = { .size = 1u << unit_random_next(r) % 4 };

	p.is_float = p.size > 1 && unit_random_next(r) % 2 == 0;
	p.big_endian = unit_random_next(r) % 2 == 0;
	p.phase = unit_random_next(r) % p.size;
	p.nstrides = 1 + unit_random_next(r) % BPK_PREDICTION_STRIDES;
	if (p.is_float && p.size > 2 && unit_random_next(r) % 2 == 0)
		p.scale = 1 + unit_random_next(r) % (p.size == 4 ? 254 : 2046);
	for (unsigned k = 0; k < p.nstrides; k++)
		p.strides[k] = 1 + unit_random_next(r) % (unit_random_next(r) % 2 == 0 ? 5 : size);
	return p;
}

static void test_prediction_keeps_to_the_definition(void **state)
{
	struct work *w = *state;
	struct unit_random r = { 11 };
	struct bpk_buf scratch = { 0 };

	for (int i = 0; i < 800; i++) {
		size_t size = 1 + unit_random_next(&r) % 3000;
		struct bpk_prediction wanted = random_prediction(&r, size), p;
		struct guarded in, out;

		p = bpk_prediction_fit(&wanted, size);
		if (p.size == 0)
			continue;
		fill(w, size, p.size, (uint32_t)i);
		in = guarded_new(w->raw, size, i % 2 == 0);
		out = guarded_new(NULL, size, i % 2 == 0);
		define(&p, w->raw, size, w->back);
		assert_int_equal(bpk_prediction_apply(bpk_filter_kernels(), &p,
						      bpk_view(in.bytes, size), out.bytes, &scratch,
						      NULL),
				 0);
		assert_memory_equal(out.bytes, w->back, size);
		assert_int_equal(bpk_prediction_undo(bpk_filter_kernels(), &p,
						     bpk_span(out.bytes, size), &scratch, NULL),
				 0);
		assert_memory_equal(out.bytes, w->raw, size);
		guarded_free(&in);
		guarded_free(&out);
	}
	bpk_buf_clear(&scratch);
}

/* A predicted piece equals that part of the predicted whole. */
static void test_pieces_are_of_the_whole(void **state)
{
	struct work *w = *state;
	struct unit_random r = { 17 };
	struct bpk_buf scratch = { 0 };

	for (int i = 0; i < 300; i++) {
		size_t size = 10 + unit_random_next(&r) % 3000;
		struct bpk_prediction wanted = random_prediction(&r, size / 8), p;
		size_t count, start, length;

		p = bpk_prediction_fit(&wanted, size);
		if (p.size == 0)
			continue;
		fill(w, size, p.size, (uint32_t)i);
		define(&p, w->raw, size, w->back);
		count = (size - p.phase) / p.size;
		start = unit_random_next(&r) % count;
		length = 1 + unit_random_next(&r) % (count - start);
		start = p.phase + start * p.size;
		assert_int_equal(bpk_prediction_piece(&p, bpk_view(w->raw, size), start,
						      bpk_span(w->kept, length * p.size), &scratch,
						      NULL),
				 0);
		assert_memory_equal(w->kept, w->back + start, length * p.size);
	}
	bpk_buf_clear(&scratch);
}

static void test_strides_that_reach_out_fall_away(void **state)
{
	struct bpk_prediction p = prediction_of(4, true, 3, 10, 9, 1), fit;

	(void)state;
	fit = bpk_prediction_fit(&p, 40);
	assert_int_equal(fit.nstrides, 2);
	assert_int_equal(fit.strides[0], 9);
	assert_int_equal(fit.strides[1], 1);
	p.phase = 3;
	fit = bpk_prediction_fit(&p, 40);
	assert_int_equal(fit.nstrides, 1);
	assert_int_equal(fit.strides[0], 1);
	assert_int_equal(bpk_prediction_fit(&p, 10).size, 0);
	assert_int_equal(bpk_prediction_fit(&p, 2).size, 0);
}

/* ---- Chunks ---- */

static const char *const codecs[] = { "blosclz", "lz4", "zlib", "zstd" };
static const char *const pipelines[] = { "none", "shuffle", "bitshuffle", "shuffle,bytedelta" };

static struct bpk_recipe random_recipe(struct unit_random *r, size_t size)
{
	struct bpk_prediction p = random_prediction(r, size);
	struct bpk_recipe recipe = recipe_of(codecs[unit_random_next(r) % 4], 1, p.size,
					     pipelines[unit_random_next(r) % 4]);

	recipe.prediction = p;
	if (unit_random_next(r) % 3 > 0)
		recipe.block_size = 1 + unit_random_next(r) % (uint32_t)size;
	return recipe;
}

/* Keep a run of packed bytes that a range needs. */
static int keep(void *arg, uint32_t offset, uint32_t size, struct bpk_err *err)
{
	struct work *w = arg;

	(void)err;
	memcpy(w->kept + offset, w->packed + offset, size);
	return 0;
}

/* Some ranges, from the bytes that extents names. */
static void check_ranges(struct work *w, size_t size, struct unit_random *r)
{
	struct bpk_chunk_header header = header_of(w);
	size_t head = header.header_size + (size_t)4 * header.nblocks;
	struct bpk_err err = { 0 };

	for (int i = 0; i < 6; i++) {
		size_t start = unit_random_next(r) % size;
		size_t length = 1 + unit_random_next(r) % (size - start);

		memset(w->kept, 0x5a, w->packed_size);
		memcpy(w->kept, w->packed, head);
		if (bpk_chunk_extents(bpk_view(w->packed, head), start, length, keep, w, &err) !=
			    0 ||
		    bpk_chunk_decode_range(w->ctx, bpk_view(w->kept, w->packed_size), start,
					   bpk_span(w->back, length), &err) != 0)
			fail_msg("%zu+%zu of %zu: %s", start, length, size, err.text);
		assert_memory_equal(w->back, w->raw + start, length);
	}
}

static void test_round_trips(void **state)
{
	struct work *w = *state;
	struct unit_random r = { 5 };
	unsigned predicted = 0;

	for (int i = 0; i < 600; i++) {
		size_t size = 1 + unit_random_next(&r) % (i % 20 == 0 ? LARGEST : 3000);
		struct bpk_recipe recipe = random_recipe(&r, size);

		fill(w, size, recipe.prediction.size, (uint32_t)i);
		pack(w, &recipe, size);
		predicted += header_of(w).prediction.size > 0;
		check_back(w, size);
		check_ranges(w, size, &r);
	}
	assert_true(predicted > 300);
}

/* Every kind of float, bit for bit. */
static void test_special_floats_come_back(void **state)
{
	static const uint32_t floats[] = { 0x7fc00000, 0x7f800001, 0xffc12345, 0xffffffff,
					   0x80000000, 0,          0x7f800000, 0xff800000,
					   1,          0x80000001, 0x3f800000, 0x7fffffff };
	struct bpk_recipe recipe = recipe_of("zstd", 2, 4, "shuffle");
	struct work *w = *state;
	enum { COUNT = 3000 };

	recipe.prediction = prediction_of(4, true, 2, 12, 12, 0);
	for (size_t i = 0; i < COUNT; i++)
		bpk_put_le32(w->raw + 4 * i, floats[(i + i / 500) % 12]);
	pack(w, &recipe, (size_t)4 * COUNT);
	assert_int_equal(header_of(w).prediction.size, 4);
	check_back(w, (size_t)4 * COUNT);
}

/* Stored and special chunks hold the raw bytes, and record no prediction. */
static void test_what_needs_no_prediction_has_none(void **state)
{
	struct bpk_recipe recipe = recipe_of("zstd", 2, 4, "shuffle");
	struct unit_random r = { 3 };
	struct work *w = *state;

	recipe.prediction = prediction_of(4, false, 1, 1, 0, 0);
	memset(w->raw, 7, 1000);
	pack(w, &recipe, 1000);
	assert_int_equal(header_of(w).special, BPK_SPECIAL_VALUE);
	check_back(w, 1000);
	for (size_t i = 0; i < 1000; i++)
		w->raw[i] = (uint8_t)unit_random_next(&r);
	pack(w, &recipe, 1000);
	assert_true(header_of(w).memcpyed);
	assert_int_equal(header_of(w).prediction.size, 0);
	assert_int_equal(w->packed[16], 0);
	check_back(w, 1000);
}

/* Numbers 1, 2, 3 ... leave 1 each, folded 2: four streams that are runs. */
static void test_golden_chunk(void **state)
{
	/* clang-format off */
	static const uint8_t golden[] = {
		5, 1, 0x85, 4, 0, 2, 0, 0, 0, 2, 0, 0, 61, 0, 0, 0,
		208, 0, 0, 0, 0, 1, 5, 0, 0x12, 0, 0, 0, 0, 0, 0, 0,
		44, 0, 0, 0,                 /* block start */
		0, 0, 0, 0, 1, 0, 0, 0,      /* phase, stride */
		0xfe, 0xff, 0xff, 0xff, 1,   /* a run of 2 */
		0, 0, 0, 0, 0, 0, 0, 0,      /* zeros, twice */
		0, 0, 0, 0,                  /* and once more */
	};
	/* clang-format on */
	struct bpk_recipe recipe = recipe_of("zstd", 2, 4, "shuffle");
	struct work *w = *state;

	recipe.prediction = prediction_of(4, false, 1, 1, 0, 0);
	for (uint32_t i = 0; i < 128; i++)
		bpk_put_le32(w->raw + (size_t)4 * i, i + 1);
	pack(w, &recipe, 512);
	assert_int_equal(w->packed_size, sizeof golden);
	assert_memory_equal(w->packed, golden, sizeof golden);
	check_back(w, 512);
}

/* ---- Refusals ---- */

static void refuse(struct work *w, const struct bpk_recipe *recipe)
{
	struct bpk_err err = { 0 };

	assert_int_equal(bpk_chunk_encode(w->ctx, recipe, bpk_view(w->raw, 4000),
					  bpk_span(w->packed, ROOM), &w->packed_size, &err),
			 -1);
	assert_int_equal(err.kind, BPK_USAGE);
	assert_non_null(strstr(err.text, "prediction"));
}

static void test_recipes_that_are_refused(void **state)
{
	struct bpk_recipe good = recipe_of("zstd", 2, 4, "shuffle"), bad;
	struct work *w = *state;

	good.prediction = prediction_of(4, true, 1, 3, 0, 0);
	bad = good, bad.extended = false, refuse(w, &bad);
	bad = good, bad.dictionary = true, refuse(w, &bad);
	bad = good, bad.variable_blocks = true, refuse(w, &bad);
	bad = good, bad.prediction.size = 3, refuse(w, &bad);
	bad = good, bad.prediction.size = 1, refuse(w, &bad);
	bad = good, bad.prediction.phase = 4, refuse(w, &bad);
	bad = good, bad.prediction.nstrides = 0, refuse(w, &bad);
	bad = good, bad.prediction.nstrides = 7, refuse(w, &bad);
	bad = good, bad.prediction.strides[0] = 0, refuse(w, &bad);
	bad = good, bad.prediction.scale = 255, refuse(w, &bad);
	bad = good, bad.prediction.scale = 1, bad.prediction.is_float = false, refuse(w, &bad);
	bad = recipe_of("zstd", 2, 4, "delta,shuffle");
	bad.prediction = good.prediction, refuse(w, &bad);
	bad = recipe_of("zstd", 2, 4, "trunc:12,shuffle");
	bad.prediction = good.prediction, refuse(w, &bad);
	bad = recipe_of("zstd", 2, 4, "shuffle,shuffle,shuffle,shuffle,shuffle,shuffle");
	bad.prediction = good.prediction, refuse(w, &bad);
}

/* ---- Damage ---- */

static void pack_small(struct work *w, size_t size, unsigned scale)
{
	struct bpk_recipe recipe = recipe_of("lz4", 5, 4, "shuffle");

	recipe.prediction = prediction_of(4, true, 2, 6, 1, 0);
	recipe.prediction.phase = 2;
	recipe.prediction.scale = scale;
	recipe.block_size = 256;
	fill(w, size, 4, 9);
	pack(w, &recipe, size);
	assert_int_equal(header_of(w).prediction.nstrides, 2);
}

/* Decode arbitrary bytes, from memory of their exact size. */
static enum bpk_kind judge(struct work *w, const uint8_t *chunk, size_t size, size_t raw_size)
{
	struct guarded g = guarded_new(chunk, size, true);
	struct bpk_err err = { 0 };

	if (bpk_chunk_decode(w->ctx, bpk_view(g.bytes, size), bpk_span(w->back, raw_size), &err) ==
	    0)
		err.kind = BPK_OK;
	bpk_chunk_decode_range(w->ctx, bpk_view(g.bytes, size), raw_size / 2,
			       bpk_span(w->back, raw_size / 3), NULL);
	guarded_free(&g);
	return err.kind;
}

static void flip_and_cut(struct work *w, unsigned scale)
{
	enum { SIZE = 700 };

	pack_small(w, SIZE, scale);
	for (size_t i = 0; i < 8 * w->packed_size; i++) {
		memcpy(w->kept, w->packed, w->packed_size);
		w->kept[i / 8] ^= (uint8_t)(1u << i % 8);
		judge(w, w->kept, w->packed_size, SIZE);
	}
	for (size_t size = 0; size < w->packed_size; size++) {
		memcpy(w->kept, w->packed, size);
		assert_int_not_equal(judge(w, w->kept, size, SIZE), BPK_OK);
		if (size < 32)
			continue;
		bpk_put_le32(w->kept + 12, (uint32_t)size);
		assert_int_not_equal(judge(w, w->kept, size, SIZE), BPK_OK);
	}
}

static void test_flips_and_cuts(void **state)
{
	flip_and_cut(*state, 0);
	flip_and_cut(*state, 128);
}

/* Put value at offset into the small chunk, whose parameters begin at byte 44. */
static enum bpk_kind judge_field(struct work *w, size_t offset, uint32_t value)
{
	memcpy(w->kept, w->packed, w->packed_size);
	bpk_put_le32(w->kept + offset, value);
	return judge(w, w->kept, w->packed_size, 700);
}

static void test_hostile_parameters(void **state)
{
	static const uint32_t strides[] = { 0,          174,        175,       0x40000000,
					    0x7fffffff, 0x80000000, 0xffffffff };
	struct work *w = *state;

	pack_small(w, 700, 0);
	assert_int_equal(bpk_get_le32(w->packed + 44), 2);
	assert_int_equal(bpk_get_le32(w->packed + 48), 6);
	for (size_t i = 0; i < sizeof strides / sizeof *strides; i++) {
		assert_int_equal(judge_field(w, 48, strides[i]), BPK_CORRUPT);
		assert_int_equal(judge_field(w, 52, strides[i]), BPK_CORRUPT);
	}
	assert_int_equal(judge_field(w, 48, 173), BPK_OK);
	assert_int_equal(judge_field(w, 44, 4), BPK_CORRUPT);
	assert_int_equal(judge_field(w, 44, 0xffffffff), BPK_CORRUPT);
	/* the scale, and strides whose sum is too large, with 6 and 1 */
	pack_small(w, 700, 128);
	assert_int_equal(bpk_get_le32(w->packed + 56), 128);
	assert_int_equal(judge_field(w, 56, 254), BPK_OK);
	assert_int_equal(judge_field(w, 56, 0), BPK_CORRUPT);
	assert_int_equal(judge_field(w, 56, 255), BPK_CORRUPT);
	assert_int_equal(judge_field(w, 48, 172), BPK_OK);
	assert_int_equal(judge_field(w, 48, 173), BPK_CORRUPT);
}

static enum bpk_kind judge_byte(struct work *w, size_t offset, uint8_t value)
{
	memcpy(w->kept, w->packed, w->packed_size);
	w->kept[offset] = value;
	return judge(w, w->kept, w->packed_size, 700);
}

static void test_hostile_slots(void **state)
{
	struct work *w = *state;

	pack_small(w, 700, 0);
	assert_int_equal(w->packed[16], BPK_FILTER_PREDICT);
	assert_int_equal(w->packed[24], 0x26);
	assert_int_equal(judge_byte(w, 24, 0xa6), BPK_CORRUPT);
	assert_int_equal(judge_byte(w, 24, 0xa2), BPK_CORRUPT);
	assert_int_equal(judge_byte(w, 24, 0x76), BPK_UNSUPPORTED);
	assert_int_equal(judge_byte(w, 24, 0x06), BPK_CORRUPT);
	assert_int_equal(judge_byte(w, 24, 0x24), BPK_CORRUPT);
	assert_int_equal(judge_byte(w, 17, BPK_FILTER_PREDICT), BPK_UNSUPPORTED);
	assert_int_equal(judge_byte(w, 31, 0x01), BPK_CORRUPT);
}

/* ---- c-blosc2 ---- */

/* c-blosc2 must refuse a prediction instead of returning wrong bytes. */
static void test_cblosc2_refuses(void **state)
{
	struct work *w = *state;
	struct cblosc2 theirs;
	const char *why = cblosc2_open(&theirs);
	struct unit_random r = { 21 };
	unsigned shown = 0;

	if (why != NULL) {
		print_message("# %s\n", why);
		skip();
	}
	while (shown < 200) {
		size_t size = 100 + unit_random_next(&r) % 20000;
		struct bpk_recipe recipe = random_recipe(&r, size);
		struct bpk_chunk_header header;

		fill(w, size, recipe.prediction.size, shown);
		pack(w, &recipe, size);
		header = header_of(w);
		if (header.prediction.size == 0)
			continue;
		assert_true(theirs.decompress(w->packed, (int32_t)w->packed_size, w->back,
					      LARGEST) < 0);
		assert_true(theirs.getitem(w->packed, (int32_t)w->packed_size, 0, 1, w->back,
					   LARGEST) < 0);
		shown++;
	}
	cblosc2_close(&theirs);
}

static void test_equal(void **state)
{
	struct bpk_prediction a, b;

	(void)state;
	memset(&a, 0, sizeof a);
	memset(&b, 0xff, sizeof b); /* the padding, too */
	a.size = b.size = 4;
	a.is_float = b.is_float = true;
	a.big_endian = b.big_endian = false;
	a.phase = b.phase = 1;
	a.nstrides = b.nstrides = 1;
	a.strides[0] = b.strides[0] = 300;
	a.scale = b.scale = 0;
	assert_true(bpk_prediction_equal(&a, &b));
	b.strides[0] = 301;
	assert_false(bpk_prediction_equal(&a, &b));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_equal),
		cmocka_unit_test(test_prediction_keeps_to_the_definition),
		cmocka_unit_test(test_pieces_are_of_the_whole),
		cmocka_unit_test(test_strides_that_reach_out_fall_away),
		cmocka_unit_test(test_round_trips),
		cmocka_unit_test(test_special_floats_come_back),
		cmocka_unit_test(test_what_needs_no_prediction_has_none),
		cmocka_unit_test(test_golden_chunk),
		cmocka_unit_test(test_recipes_that_are_refused),
		cmocka_unit_test(test_flips_and_cuts),
		cmocka_unit_test(test_hostile_parameters),
		cmocka_unit_test(test_hostile_slots),
		cmocka_unit_test(test_cblosc2_refuses),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
