/*
 * The room parity: arithmetic against its definition, every inner loop against a naive one, and
 * matrices, all of whose square parts have an inverse.
 */
#include "unit/guarded.h"

#include "parity/parity.h"

/* A product by polynomials: multiply, then divide by 0x11d. */
static uint8_t naive_product(uint8_t a, uint8_t b)
{
	unsigned product = 0;

	for (int bit = 0; bit < 8; bit++)
		if ((b >> bit & 1) != 0)
			product ^= (unsigned)a << bit;
	for (int bit = 15; bit >= 8; bit--)
		if ((product >> bit & 1) != 0)
			product ^= 0x11du << (bit - 8);
	return (uint8_t)product;
}

static void test_arithmetic(void **state)
{
	(void)state;
	for (unsigned a = 0; a < 256; a++)
		for (unsigned b = 0; b < 256; b++)
			assert_int_equal(bpk_gf_multiply((uint8_t)a, (uint8_t)b),
					 naive_product((uint8_t)a, (uint8_t)b));
	for (unsigned a = 1; a < 256; a++)
		assert_int_equal(naive_product((uint8_t)a, bpk_gf_inverse((uint8_t)a)), 1);
}

/* ---- inner loops ---- */

enum { ROWS = 11, COLUMNS = 7 };

static void fill(struct unit_random *r, uint8_t *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++)
		bytes[i] = (uint8_t)unit_random_next(r);
}

/* Add by one way, and by the definition, to the same bytes between guard pages. */
static void check_way(const struct bpk_code_way *way, unsigned rows, size_t size, bool at_end)
{
	struct unit_random r = { 7 * rows + size };
	uint8_t factors[ROWS * COLUMNS], tables[ROWS * COLUMNS * BPK_CODE_TABLE];
	struct guarded in = guarded_new(NULL, size, at_end), out[ROWS];
	uint8_t *outs[ROWS], *expected = malloc(size + 1);
	unsigned column = unit_random_next(&r) % COLUMNS;

	fill(&r, factors, sizeof factors);
	fill(&r, in.bytes, size);
	way->prepare(rows, COLUMNS, factors, tables);
	for (unsigned row = 0; row < rows; row++) {
		out[row] = guarded_new(NULL, size, at_end);
		outs[row] = out[row].bytes;
		memset(outs[row], (int)row, size);
	}
	way->add(rows, COLUMNS, column, tables, in.bytes, outs, size);
	for (unsigned row = 0; row < rows; row++) {
		for (size_t i = 0; i < size; i++)
			expected[i] = (uint8_t)row ^
				      naive_product(factors[row * COLUMNS + column], in.bytes[i]);
		assert_memory_equal(outs[row], expected, size);
		guarded_free(&out[row]);
	}
	guarded_free(&in);
	free(expected);
}

static void test_every_way(void **state)
{
	/* cells have 512 bytes or more, and the last part of one is never shorter than 64 */
	static const size_t sizes[] = { 64, 65, 95, 96, 127, 512, 1000, 1024, 4096 };
	unsigned count = 0;

	(void)state;
	for (size_t w = 0; bpk_code_ways[w] != NULL; w++) {
		if (!bpk_code_ways[w]->runs())
			continue;
		for (unsigned rows = 1; rows <= ROWS; rows++)
			for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++)
				for (int at_end = 0; at_end < 2; at_end++)
					check_way(bpk_code_ways[w], rows, sizes[s], at_end != 0);
		count++;
	}
	assert_true(count >= 1);
}

/* ---- matrices ---- */

/* Any rows and columns of the code have an inverse, and that is one. */
static void test_parts_have_inverses(void **state)
{
	struct unit_random r = { 1 };

	(void)state;
	for (int round = 0; round < 300; round++) {
		unsigned m = 1 + unit_random_next(&r) % 40, n = 1 + unit_random_next(&r) % m;
		unsigned k = BPK_CODE_MAX - m, stride = k / n;
		uint8_t part[40 * 40], inverse[40 * 40], scratch[40 * 40];

		for (unsigned row = 0; row < n; row++)
			for (unsigned column = 0; column < n; column++)
				part[row * n + column] = bpk_code_factor(
					row * (m / n), column * stride + (unsigned)round % stride);
		memcpy(inverse, part, sizeof part);
		assert_true(bpk_gf_invert(inverse, scratch, n));
		for (unsigned row = 0; row < n; row++)
			for (unsigned column = 0; column < n; column++) {
				uint8_t sum = 0;

				for (unsigned i = 0; i < n; i++)
					sum ^= naive_product(part[row * n + i],
							     inverse[i * n + column]);
				assert_int_equal(sum, row == column);
			}
	}
}

static void test_no_inverse(void **state)
{
	uint8_t same[] = { 3, 5, 3, 5 }, zero[] = { 0, 0, 0, 1 }, scratch[4];

	(void)state;
	assert_false(bpk_gf_invert(same, scratch, 2));
	assert_false(bpk_gf_invert(zero, scratch, 2));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_arithmetic),
		cmocka_unit_test(test_every_way),
		cmocka_unit_test(test_parts_have_inverses),
		cmocka_unit_test(test_no_inverse),
	};

	return UNIT_RUN(tests);
}
