/*
 * Filters in both directions: every step against the format's definition, every kernel set when
 * undoing, and unshuffling fused with adjacent filters.
 */
#include "unit/guarded.h"

#include "chunk/filter/filter.h"

enum { MOST = 70000 };

/* ---- The definitions, byte by byte as in the format ---- */

static size_t delta_width(unsigned ts)
{
	return ts == 1 || ts == 2 || ts == 4 || ts == 8 ? ts : ts % 8 == 0 ? 8 : 1;
}

static void define_shuffle(const uint8_t *in, size_t size, size_t width, uint8_t *out)
{
	size_t q = size / width;

	memcpy(out, in, size);
	for (size_t i = 0; i < q; i++)
		for (size_t j = 0; j < width; j++)
			out[j * q + i] = in[i * width + j];
}

static void define_bitshuffle(const uint8_t *in, size_t size, size_t ts, bool version2,
			      uint8_t *out)
{
	size_t q = size / ts, e = q - q % 8;

	memcpy(out, in, size);
	if (version2 && q % 8 != 0)
		return;
	memset(out, 0, e * ts);
	for (size_t i = 0; i < e; i++)
		for (size_t j = 0; j < 8 * ts; j++)
			out[j * (e / 8) + i / 8] |=
				(uint8_t)((in[i * ts + j / 8] >> j % 8 & 1) << i % 8);
}

static void define_delta(const uint8_t *in, size_t size, size_t width, const uint8_t *reference,
			 uint8_t *out)
{
	size_t c = size / width * width;

	memcpy(out, in, size);
	for (size_t i = 0; i < c; i++)
		if (reference != NULL)
			out[i] = in[i] ^ reference[i];
		else if (i >= width)
			out[i] = in[i] ^ in[i - width];
}

static void define_bytedelta(const uint8_t *in, size_t size, size_t width, bool first, uint8_t *out)
{
	size_t q = size / width;

	memcpy(out, in, size);
	for (size_t r = 0; r < width; r++) {
		uint8_t before = 0;

		for (size_t i = 0; i < q; i++) {
			if (first && q >= 16 && i == q / 16 * 16)
				before = 0;
			out[r * q + i] = (uint8_t)(in[r * q + i] - before);
			before = in[r * q + i];
		}
	}
}

static void define(const struct bpk_filter_block *block, const struct bpk_filter_step *step,
		   const uint8_t *in, uint8_t *out)
{
	size_t width = step->meta != 0 ? step->meta : block->typesize;

	switch (step->filter) {
	case BPK_FILTER_SHUFFLE:
		define_shuffle(in, block->size, width, out);
		break;
	case BPK_FILTER_BITSHUFFLE:
		define_bitshuffle(in, block->size, block->typesize, block->version2, out);
		break;
	case BPK_FILTER_DELTA:
		define_delta(in, block->size, delta_width(block->typesize), block->reference, out);
		break;
	case BPK_FILTER_BYTEDELTA:
	case BPK_FILTER_BYTEDELTA_1:
		define_bytedelta(in, block->size, step->meta != 0 ? step->meta : block->width,
				 step->filter == BPK_FILTER_BYTEDELTA_1, out);
		break;
	default:
		memcpy(out, in, block->size);
		break;
	}
}

/* ---- Tests ---- */

static uint8_t raw[MOST], reference[MOST], filtered[MOST], room[BPK_FILTER_ROOM];

static int set_up(void **state)
{
	struct unit_random r = { 11 };

	(void)state;
	for (size_t i = 0; i < MOST; i++) {
		raw[i] = (uint8_t)unit_random_next(&r);
		reference[i] = (uint8_t)unit_random_next(&r);
	}
	return 0;
}

static void check_sums(const struct bpk_filter_kernels *set, size_t size, bool at_end)
{
	struct guarded in = guarded_new(raw, size, at_end), out = guarded_new(NULL, size, at_end);
	uint8_t sum = (uint8_t)size;

	set->sums(in.bytes, size, sum, out.bytes);
	for (size_t i = 0; i < size; i++) {
		sum = (uint8_t)(sum + raw[i]);
		if (out.bytes[i] != sum)
			fail_msg("%s: %zu sums, number %zu is %02x, not %02x",
				 bpk_simd_name(set->simd), size, i, out.bytes[i], sum);
	}
	guarded_free(&in);
	guarded_free(&out);
}

static void test_sums(void **state)
{
	(void)state;
	for (size_t s = 0; bpk_filter_kernel_sets[s] != NULL; s++) {
		if (!bpk_cpu_has(bpk_filter_kernel_sets[s]->simd))
			continue;
		for (size_t size = 0; size < 300; size++)
			check_sums(bpk_filter_kernel_sets[s], size, size % 2 == 0);
		check_sums(bpk_filter_kernel_sets[s], 65536, true);
		check_sums(bpk_filter_kernel_sets[s], 65533, true);
	}
}

/* The same step forward, into out; lossy ones lose bits, and the first bytedelta is decoding
 * only. */
static void check_forward(const struct bpk_filter_block *block, const struct bpk_filter_step *step,
			  uint8_t *out)
{
	if (block->size == 0 || step->filter == BPK_FILTER_TRUNC_PREC ||
	    step->filter == BPK_FILTER_INT_TRUNC || step->filter == BPK_FILTER_BYTEDELTA_1)
		return;
	bpk_filter_apply(bpk_filter_kernels(), block, step, raw, out, room);
	if (memcmp(out, filtered, block->size) != 0)
		fail_msg("filter %u:%u forward of %zu bytes, typesize %u", step->filter, step->meta,
			 block->size, block->typesize);
}

static void check_step(const struct bpk_filter_block *block, const struct bpk_filter_step *step)
{
	struct guarded in, out = guarded_new(NULL, block->size, true);

	define(block, step, raw, filtered);
	in = guarded_new(filtered, block->size, true);
	bpk_filter_undo(bpk_filter_kernels(), block, step, in.bytes, out.bytes, room);
	if (block->size > 0 && memcmp(out.bytes, raw, block->size) != 0)
		fail_msg("filter %u:%u of %zu bytes, typesize %u", step->filter, step->meta,
			 block->size, block->typesize);
	check_forward(block, step, out.bytes);
	if (bpk_filter_is_identity(block, step) && block->size > 0)
		assert_memory_equal(filtered, raw, block->size);
	guarded_free(&in);
	guarded_free(&out);
}

static void test_steps(void **state)
{
	static const struct bpk_filter_step steps[] = {
		{ BPK_FILTER_SHUFFLE, 0 },     { BPK_FILTER_SHUFFLE, 3 },
		{ BPK_FILTER_SHUFFLE, 255 },   { BPK_FILTER_BITSHUFFLE, 0 },
		{ BPK_FILTER_BITSHUFFLE, 9 },  { BPK_FILTER_DELTA, 0 },
		{ BPK_FILTER_TRUNC_PREC, 10 }, { BPK_FILTER_INT_TRUNC, 3 },
		{ BPK_FILTER_BYTEDELTA, 0 },   { BPK_FILTER_BYTEDELTA, 5 },
		{ BPK_FILTER_BYTEDELTA_1, 0 }, { BPK_FILTER_BYTEDELTA_1, 2 },
	};
	static const unsigned widths[] = { 1, 2, 3, 4, 7, 8, 12, 16, 17, 24, 255 };

	(void)state;
	for (size_t s = 0; s < sizeof steps / sizeof steps[0]; s++)
		for (size_t w = 0; w < sizeof widths / sizeof widths[0]; w++)
			for (size_t size = 0; size < 4200; size += size < 70 ? 1 : 1 + size / 9)
				for (unsigned way = 0; way < 4; way++) {
					struct bpk_filter_block block = {
						.size = size,
						.typesize = widths[w],
						.width = way & 2 ? 300 : widths[w],
						.version2 = (way & 1) != 0,
						.reference = way & 2 ? reference : NULL,
					};
					struct bpk_filter_step step = steps[s];

					/* a width that only the container knows */
					if (step.filter >= BPK_FILTER_BYTEDELTA_1 &&
					    step.meta == 0 && way & 2) {
						define_bytedelta(raw, size, 300,
								 step.filter ==
									 BPK_FILTER_BYTEDELTA_1,
								 filtered);
						bpk_filter_undo(bpk_filter_kernels(), &block, &step,
								filtered, filtered + MOST / 2,
								room);
						if (size > 0)
							assert_memory_equal(filtered + MOST / 2,
									    raw, size);
						continue;
					}
					check_step(&block, &step);
				}
}

/* Planes as in a chunk: filtered in turn by the definitions. */
static void check_together(size_t width, size_t nelems, bool differences, bool delta, size_t zero)
{
	size_t size = width * nelems;
	static uint8_t a[MOST], b[MOST], c[MOST];
	const uint8_t *planes[255];
	struct bpk_filter_planes p = { width,       nelems, planes, a + zero * nelems,
				       differences, NULL,   room };
	struct guarded out = guarded_new(NULL, size, true);

	assert_true(size <= MOST);
	memcpy(c, raw, size);
	for (size_t i = zero; i < size; i += width)
		c[i] = delta ? reference[i] : 0;
	define_delta(c, size, 1, delta ? reference : NULL, b);
	if (!delta)
		memcpy(b, c, size);
	define_shuffle(b, size, width, a);
	if (differences) {
		define_bytedelta(a, size, width, false, b);
		memcpy(a, b, size);
	}
	p.reference = delta ? reference : NULL;
	for (size_t j = 0; j < width; j++)
		planes[j] = a + j * nelems;
	bpk_filter_unshuffle(bpk_filter_kernels(), &p, out.bytes);
	if (size > 0 && memcmp(out.bytes, c, size) != 0)
		fail_msg("width %zu, %zu elements, differences %d, delta %d", width, nelems,
			 differences, delta);
	guarded_free(&out);
}

static void test_together(void **state)
{
	(void)state;
	for (size_t width = 2; width <= 255; width += width < 20 ? 1 : 47)
		for (size_t nelems = 0; nelems * width <= MOST; nelems += 1 + nelems / 3)
			for (unsigned way = 0; way < 4; way++)
				check_together(width, nelems, way & 1, way & 2, nelems % width);
}

/* Blosc chunk format, "Filters in isolation": the input is 37*i + 11. */
struct vector {
	struct bpk_filter_step steps[2];
	unsigned typesize;
	size_t size;
	const char *hex;
};

static const struct vector vectors[] = {
	{ { { BPK_FILTER_SHUFFLE, 0 } },
	  4,
	  34,
	  "0b9f33c75bef831730c458ec8014a83c55e97d11a539cd617a0ea236ca5ef286abd0" },
	{ { { BPK_FILTER_BITSHUFFLE, 0 } },
	  1,
	  34,
	  "5555555599999999b4b4b4b4d926d9261ec7e1384aad546a6c36994c70381e8fabd0" },
	{ { { BPK_FILTER_BITSHUFFLE, 0 } },
	  2,
	  38,
	  "ffff555566662d2db649388e6aa54c360000aaaacccc5a5a936ce370562a64b3abd0f51a3f64" },
	{ { { BPK_FILTER_BITSHUFFLE, 0 } },
	  4,
	  35,
	  "ffffaa339624386a0000aacca5c90e5aff0055662db6c75200ffaa33694d71d4abd0f5" },
	{ { { BPK_FILTER_BYTEDELTA, 4 } },
	  4,
	  34,
	  "0b2525252525252533252525252525255b252525252525258325252525252525abd0" },
	{ { { BPK_FILTER_SHUFFLE, 0 }, { BPK_FILTER_BYTEDELTA, 4 } },
	  4,
	  34,
	  "0b94949494949494309494949494949455949494949494947a94949494949494abd0" },
	{ { { BPK_FILTER_BYTEDELTA_1, 2 } },
	  4,
	  40,
	  "0b2525252525252525252525252525255b252525ef2525252525252525252525252525253f252525" },
};

static void test_vectors(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++) {
		const struct vector *v = &vectors[i];
		struct bpk_filter_block block = { v->size, v->typesize, v->typesize, false, NULL };
		struct bytes bytes = { .size = 0 };
		uint8_t back[64];

		add_hex(&bytes, v->hex);
		assert_int_equal(bytes.size, v->size);
		for (unsigned s = 2; s-- > 0;)
			if (v->steps[s].filter != BPK_FILTER_NONE) {
				bpk_filter_undo(bpk_filter_kernels(), &block, &v->steps[s],
						bytes.data, back, room);
				memcpy(bytes.data, back, v->size);
			}
		for (size_t k = 0; k < v->size; k++)
			assert_int_equal(bytes.data[k], (uint8_t)(37 * k + 11));
	}
}

/* The format's example of delta: two blocks of 32 bytes. */
static void test_vector_of_delta(void **state)
{
	static const struct bpk_filter_step step = { BPK_FILTER_DELTA, 0 };
	struct bpk_filter_block block = { 32, 4, 4, false, NULL };
	struct bytes bytes = { .size = 0 };
	uint8_t back[64];

	(void)state;
	add_hex(&bytes, "0b30557a94f4bc74ac9c94acf4b46c949c6cb4fcb4949c946cbcf4ac9494ac74"
			"a0e0a060a0a060a0e0a060e0a060a0e0a0a0e0a060a0e0a0a0e0a060a0e060a0");
	bpk_filter_undo(bpk_filter_kernels(), &block, &step, bytes.data, back, room);
	block.reference = back;
	bpk_filter_undo(bpk_filter_kernels(), &block, &step, bytes.data + 32, back + 32, room);
	for (size_t k = 0; k < 64; k++)
		assert_int_equal(back[k], (uint8_t)(37 * k + 11));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sums),
		cmocka_unit_test(test_steps),
		cmocka_unit_test(test_together),
		cmocka_unit_test(test_vectors),
		cmocka_unit_test(test_vector_of_delta),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, set_up, NULL);
}
