/*
 * Number kernels of prediction: each set against the definitions in chunk/filter/filter.h, between
 * inaccessible pages.
 */
#include "unit/unit.h"

#include "chunk/filter/filter.h"
#include "unit/guarded.h"

enum { WIDTHS = 4, MOST = 700 };

static const size_t widths[WIDTHS] = { 1, 2, 4, 8 };

static uint64_t get(const uint8_t *p, size_t width)
{
	uint64_t x = 0;

	for (size_t j = width; j > 0; j--)
		x = x << 8 | p[j - 1];
	return x;
}

static void put(uint8_t *p, size_t width, uint64_t x)
{
	for (size_t j = 0; j < width; j++)
		p[j] = (uint8_t)(x >> 8 * j);
}

static uint64_t highest(size_t width)
{
	return (uint64_t)1 << (8 * width - 1);
}

static uint64_t swapped(uint64_t x, size_t width)
{
	uint64_t y = 0;

	for (size_t j = 0; j < width; j++)
		y = y << 8 | (x >> 8 * j & 0xff);
	return y;
}

/* The lowest width bytes of the result count. */
static uint64_t define(enum bpk_filter_number what, uint64_t x, size_t width)
{
	uint64_t high = highest(width);

	switch (what) {
	case BPK_NUMBER_SWAP:
		return swapped(x, width);
	case BPK_NUMBER_ORDER:
		return x & high ? ~x : x | high;
	case BPK_NUMBER_UNORDER:
		return x & high ? x & ~high : ~x;
	case BPK_NUMBER_FOLD:
		return x & high ? 2 * (~x & (high - 1)) + 1 : 2 * x;
	case BPK_NUMBER_UNFOLD:
		return x & 1 ? ~(x >> 1) : x >> 1;
	}
	return 0;
}

static void compare(const struct bpk_filter_kernels *set, const char *what, size_t width,
		    size_t count, size_t stride, const uint8_t *got, const uint8_t *want)
{
	for (size_t i = 0; i < count * width; i++)
		if (got[i] != want[i])
			fail_msg("%s %s: width %zu, %zu numbers, stride %zu: byte %zu is %02x, not "
				 "%02x",
				 bpk_simd_name(set->simd), what, width, count, stride, i, got[i],
				 want[i]);
}

static void fill(uint8_t *to, size_t size, struct unit_random *r)
{
	for (size_t i = 0; i < size; i++)
		to[i] = (uint8_t)unit_random_next(r);
}

static void check_convert(const struct bpk_filter_kernels *set, enum bpk_filter_number what,
			  size_t width, size_t count, bool at_end)
{
	struct unit_random r = { count };
	struct guarded in = guarded_new(NULL, count * width, at_end);
	struct guarded out = guarded_new(NULL, count * width, at_end);
	uint8_t want[MOST * 8];

	fill(in.bytes, count * width, &r);
	for (size_t i = 0; i < count; i++)
		put(want + i * width, width, define(what, get(in.bytes + i * width, width), width));
	set->convert(what, in.bytes, width, count, out.bytes);
	compare(set, "converts", width, count, what, out.bytes, want);
	set->convert(what, in.bytes, width, count, in.bytes);
	compare(set, "converts in place", width, count, what, in.bytes, want);
	guarded_free(&in);
	guarded_free(&out);
}

static void check_stride(const struct bpk_filter_kernels *set, size_t width, size_t count,
			 size_t stride, bool at_end)
{
	struct unit_random r = { count + stride };
	struct guarded g = guarded_new(NULL, count * width, at_end);
	uint8_t raw[MOST * 8], want[MOST * 8];

	fill(raw, count * width, &r);
	memcpy(want, raw, count * width);
	memcpy(g.bytes, raw, count * width);
	for (size_t i = stride; i < count; i++)
		put(want + i * width, width,
		    get(raw + i * width, width) - get(raw + (i - stride) * width, width));
	set->subtract(g.bytes, width, stride, count);
	compare(set, "subtracts", width, count, stride, g.bytes, want);
	set->add(g.bytes, width, stride, count);
	compare(set, "adds", width, count, stride, g.bytes, raw);
	guarded_free(&g);
}

static void check_count(const struct bpk_filter_kernels *set, size_t width, size_t count)
{
	for (int what = BPK_NUMBER_SWAP; what <= BPK_NUMBER_UNFOLD; what++) {
		check_convert(set, (enum bpk_filter_number)what, width, count, true);
		check_convert(set, (enum bpk_filter_number)what, width, count, false);
	}
	for (size_t stride = 1; stride <= count + 1; stride += stride < 20 ? 1 : stride / 3) {
		check_stride(set, width, count, stride, true);
		check_stride(set, width, count, stride, false);
	}
	if (count > 1)
		check_stride(set, width, count, count - 1, true);
}

static void test_set_keeps_to_the_definition(void **state)
{
	const struct bpk_filter_kernels *set = *state;

	for (size_t k = 0; k < WIDTHS; k++) {
		for (size_t count = 0; count < 80; count++)
			check_count(set, widths[k], count);
		check_count(set, widths[k], 257);
		check_count(set, widths[k], MOST);
	}
}

/* -inf < -1 < smallest negative < -0 < 0 < smallest < 1 < inf < NaN, in all three sizes. */
static void test_order_is_that_of_floats(void **state)
{
	static const uint64_t halves[] = { 0xfc00, 0xbc00, 0x8001, 0x8000, 0x0000,
					   0x0001, 0x3c00, 0x7c00, 0x7e00 };
	static const unsigned shifts[WIDTHS] = { 0, 0, 16, 48 };

	(void)state;
	for (size_t k = 1; k < WIDTHS; k++) {
		uint64_t before = 0;

		for (size_t i = 0; i < sizeof halves / sizeof *halves; i++) {
			uint8_t number[8];
			uint64_t rank;

			put(number, widths[k], halves[i] << shifts[k]);
			bpk_filter_kernels()->convert(BPK_NUMBER_ORDER, number, widths[k], 1,
						      number);
			rank = get(number, widths[k]);
			assert_true(i == 0 || rank > before);
			before = rank;
		}
	}
}

/* One test for each set that this machine runs. */
int main(void)
{
	struct CMUnitTest tests[16] = { cmocka_unit_test(test_order_is_that_of_floats) };
	size_t count = 1;

	for (size_t i = 0; bpk_filter_kernel_sets[i] != NULL; i++) {
		const struct bpk_filter_kernels *set = bpk_filter_kernel_sets[i];

		if (bpk_cpu_has(set->simd))
			tests[count++] = (struct CMUnitTest){
				.name = bpk_simd_name(set->simd),
				.test_func = test_set_keeps_to_the_definition,
				.initial_state = (void *)set,
			};
	}
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return _cmocka_run_group_tests("numbers", tests, count, NULL, NULL);
}
