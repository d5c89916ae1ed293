/*
 * Kernels of shuffle and bitshuffle, in every set, against definitions by element.
 */
#include "unit/unit.h"

#include "chunk/filter/filter.h"

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

/*
 * Bytes between two inaccessible pages. Kernels get both ends in turn, so that an access of one
 * byte too far on either side terminates the program.
 */
struct fenced {
	uint8_t *map;
	size_t map_size;
	uint8_t *start;
	size_t size;
};

static void fence(struct fenced *f, size_t size)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	f->size = (size + page - 1) / page * page;
	f->map_size = f->size + 2 * page;
	f->map = mmap(NULL, f->map_size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(f->map != MAP_FAILED);
	f->start = f->map + page;
	assert_int_equal(mprotect(f->start, f->size, PROT_READ | PROT_WRITE), 0);
}

/* size bytes flush against the upper or lower fence, or shifted away from it. */
static uint8_t *place(const struct fenced *f, size_t size, bool high, size_t shift)
{
	assert_true(size + shift <= f->size);
	return high ? f->start + f->size - size - shift : f->start + shift;
}

enum { MAX_BYTES = 1 << 18, MAX_TYPESIZE = 255, MARGIN = 64 };

/* Memory shared by all tests. Planes are stored in the order of plane_order. */
static struct fenced fenced_in, fenced_out, fenced_room, fenced_planes[MAX_TYPESIZE];
static uint8_t expected[MAX_BYTES], raw[MAX_BYTES];

static int set_up(void **state)
{
	struct unit_random r = { 7 };

	(void)state;
	fence(&fenced_in, MAX_BYTES + MARGIN);
	fence(&fenced_out, MAX_BYTES + MARGIN);
	fence(&fenced_room, BPK_FILTER_ROOM + MARGIN);
	for (size_t j = 0; j < MAX_TYPESIZE; j++)
		fence(&fenced_planes[(j * 7) % MAX_TYPESIZE], 8192 + MARGIN);
	for (size_t i = 0; i < sizeof raw; i++)
		raw[i] = (uint8_t)unit_random_next(&r);
	return 0;
}

static void unfence(struct fenced *f)
{
	munmap(f->map, f->map_size);
}

static int tear_down(void **state)
{
	(void)state;
	unfence(&fenced_in);
	unfence(&fenced_out);
	unfence(&fenced_room);
	for (size_t j = 0; j < MAX_TYPESIZE; j++)
		unfence(&fenced_planes[j]);
	return 0;
}

/* The definitions, by element, as in the format. */
static void define_shuffle(const uint8_t *in, size_t typesize, size_t nelems, uint8_t *out)
{
	for (size_t i = 0; i < nelems; i++) {
		for (size_t j = 0; j < typesize; j++)
			out[j * nelems + i] = in[i * typesize + j];
	}
}

static void define_bitshuffle(const uint8_t *in, size_t typesize, size_t nelems, uint8_t *out)
{
	memset(out, 0, nelems * typesize);
	for (size_t i = 0; i < nelems; i++) {
		for (size_t j = 0; j < 8 * typesize; j++) {
			unsigned bit = in[i * typesize + j / 8] >> j % 8 & 1;

			out[j * (nelems / 8) + i / 8] |= (uint8_t)(bit << i % 8);
		}
	}
}

/* The placement of a case's buffers. */
struct stand {
	bool high;
	size_t in_shift, out_shift;
};

static const struct stand stands[] = {
	{ true, 0, 0 },
	{ false, 0, 0 },
	{ true, 1, 13 },
	{ false, 5, 31 },
};

static void check_bytes(const struct bpk_filter_kernels *set, const char *what, size_t typesize,
			size_t nelems, const uint8_t *got, const uint8_t *want)
{
	size_t size = nelems * typesize;

	for (size_t i = 0; i < size; i++) {
		if (got[i] != want[i])
			fail_msg("%s %s: typesize %zu, %zu elements: byte %zu is %02x, not %02x",
				 bpk_simd_name(set->simd), what, typesize, nelems, i, got[i],
				 want[i]);
	}
}

/* Apply one kernel from a fenced copy of in to fenced memory and compare with want. */
static void check_kernel(const struct bpk_filter_kernels *set, const char *what,
			 void (*kernel)(const uint8_t *, size_t, size_t, uint8_t *, uint8_t *),
			 size_t typesize, size_t nelems, const struct stand *stand,
			 const uint8_t *in, const uint8_t *want)
{
	size_t size = nelems * typesize;
	uint8_t *from = place(&fenced_in, size, stand->high, stand->in_shift);
	uint8_t *to = place(&fenced_out, size, stand->high, stand->out_shift);
	uint8_t *room = place(&fenced_room, BPK_FILTER_ROOM, stand->high, stand->out_shift);

	memcpy(from, in, size);
	memset(to, 0xa5, size);
	kernel(from, typesize, nelems, to, room);
	check_bytes(set, what, typesize, nelems, to, want);
	check_bytes(set, "changes its input", typesize, nelems, from, in);
}

static void check_unshuffle(const struct bpk_filter_kernels *set, size_t typesize, size_t nelems,
			    const struct stand *stand, const uint8_t *shuffled)
{
	size_t size = nelems * typesize;
	const uint8_t *planes[MAX_TYPESIZE];
	uint8_t *to = place(&fenced_out, size, stand->high, stand->out_shift);

	for (size_t j = 0; j < typesize; j++) {
		uint8_t *plane = place(&fenced_planes[j], nelems, stand->high != (j % 3 == 1),
				       (stand->in_shift * j) % 17);

		memcpy(plane, shuffled + j * nelems, nelems);
		planes[j] = plane;
	}
	memset(to, 0xa5, size);
	set->unshuffle(planes, typesize, nelems, to);
	check_bytes(set, "unshuffle", typesize, nelems, to, raw);
}

/* Bytes next to buffers that do not touch a fence must not change. */
static void check_surroundings(const struct bpk_filter_kernels *set, size_t typesize, size_t nelems)
{
	size_t size = nelems * typesize;
	uint8_t *base = fenced_out.start, *to = base + MARGIN / 2, *room = fenced_room.start;

	for (unsigned k = 0; k < 3; k++) {
		memset(base, 0x5a, size + MARGIN);
		if (k == 0)
			set->shuffle(raw, typesize, nelems, to, room);
		else if (nelems % 8 == 0)
			(k == 1 ? set->bitshuffle : set->bitunshuffle)(raw, typesize, nelems, to,
								       room);
		for (size_t i = 0; i < MARGIN / 2; i++) {
			assert_int_equal(base[i], 0x5a);
			assert_int_equal(to[size + i], 0x5a);
		}
	}
}

static void check_case(const struct bpk_filter_kernels *set, size_t typesize, size_t nelems,
		       const struct stand *stand)
{
	define_shuffle(raw, typesize, nelems, expected);
	check_kernel(set, "shuffle", set->shuffle, typesize, nelems, stand, raw, expected);
	check_unshuffle(set, typesize, nelems, stand, expected);
	if (nelems % 8 != 0)
		return;
	define_bitshuffle(raw, typesize, nelems, expected);
	check_kernel(set, "bitshuffle", set->bitshuffle, typesize, nelems, stand, raw, expected);
	check_kernel(set, "bitunshuffle", set->bitunshuffle, typesize, nelems, stand, expected,
		     raw);
}

/* The kernels on plain rows of bytes. */
static void check_rows(const struct bpk_filter_kernels *set, size_t size, const struct stand *stand)
{
	uint8_t *from = place(&fenced_in, size, stand->high, stand->in_shift);
	uint8_t *to = place(&fenced_out, size, stand->high, stand->out_shift);

	memcpy(from, raw, size);
	for (size_t i = 0; i < size; i++)
		expected[i] = raw[i] ^ raw[i + 100];
	memset(to, 0xa5, size);
	set->exclusive_or(from, raw + 100, size, to);
	check_bytes(set, "exclusive_or", 1, size, to, expected);
	for (size_t i = 0; i < size; i++)
		expected[i] = (uint8_t)(raw[i] - (i > 0 ? raw[i - 1] : 0));
	memset(to, 0xa5, size);
	set->differences(from, size, to);
	check_bytes(set, "differences", 1, size, to, expected);
	check_bytes(set, "changes its input", 1, size, from, raw);
}

/* Small typesizes get every number of elements near every block size; large ones some. */
static void check_typesize(const struct bpk_filter_kernels *set, size_t typesize)
{
	static const size_t large[] = {
		304, 512, 520, 576, 640, 1000, 1023, 1024, 1032, 2056, 8192
	};
	size_t step = typesize <= 17 ? 1 : typesize <= 33 ? 3 : 11;
	size_t turn = typesize;

	for (size_t nelems = 0; nelems <= 300; nelems += step)
		check_case(set, typesize, nelems, &stands[turn++ % 4]);
	for (size_t nelems = 8; nelems <= 296; nelems += 24)
		check_case(set, typesize, nelems, &stands[turn++ % 4]);
	for (size_t i = 0; i < sizeof large / sizeof large[0]; i++) {
		if (large[i] * typesize > MAX_BYTES || (typesize > 17 && large[i] > 1024))
			break;
		check_case(set, typesize, large[i], &stands[turn++ % 4]);
		if (typesize <= 17 && large[i] <= 1024)
			check_case(set, typesize, large[i], &stands[turn++ % 4]);
		check_surroundings(set, typesize, large[i]);
	}
}

static void check_set(const struct bpk_filter_kernels *set)
{
	for (size_t size = 0; size <= 400; size++)
		check_rows(set, size, &stands[size % 4]);
	check_rows(set, 100000, &stands[2]);
	for (size_t typesize = 1; typesize <= 33; typesize++)
		check_typesize(set, typesize);
	check_typesize(set, 64);
	check_typesize(set, 100);
	check_typesize(set, 255);
	/* several tiles, of planes that share a cache set */
	check_case(set, 20, 8192, &stands[1]);
	check_case(set, 32, 4096, &stands[2]);
	check_case(set, 33, 4104, &stands[0]);
}

static void test_set_keeps_to_the_definition(void **state)
{
	check_set(*state);
}

static void test_chosen_set_is_the_last_that_runs(void **state)
{
	const struct bpk_filter_kernels *last = NULL;

	(void)state;
	for (size_t i = 0; bpk_filter_kernel_sets[i] != NULL; i++) {
		if (bpk_cpu_has(bpk_filter_kernel_sets[i]->simd))
			last = bpk_filter_kernel_sets[i];
	}
	assert_ptr_equal(bpk_filter_kernels(), last);
	assert_ptr_equal(bpk_filter_kernels(), last);
}

/* Blosc chunk format, "Filters in isolation": the input is 37*i + 11; e elements are filtered. */
struct vector {
	bool bits;
	size_t typesize, nelems;
	const char *hex;
};

static const struct vector vectors[] = {
	{ false, 4, 8, "0b9f33c75bef831730c458ec8014a83c55e97d11a539cd617a0ea236ca5ef286" },
	{ true, 1, 32, "5555555599999999b4b4b4b4d926d9261ec7e1384aad546a6c36994c70381e8f" },
	{ true, 2, 16, "ffff555566662d2db649388e6aa54c360000aaaacccc5a5a936ce370562a64b3" },
	{ true, 4, 8, "ffffaa339624386a0000aacca5c90e5aff0055662db6c75200ffaa33694d71d4" },
};

static void check_vector(const struct bpk_filter_kernels *set, const struct vector *v)
{
	uint8_t in[32], want[32], got[32], back[32];
	const uint8_t *planes[4];

	for (size_t i = 0; i < sizeof in; i++) {
		unsigned byte;

		in[i] = (uint8_t)(37 * i + 11);
		assert_int_equal(sscanf(v->hex + 2 * i, "%2x", &byte), 1);
		want[i] = (uint8_t)byte;
	}
	for (size_t j = 0; j < v->typesize; j++)
		planes[j] = want + j * v->nelems;
	(v->bits ? set->bitshuffle : set->shuffle)(in, v->typesize, v->nelems, got,
						   fenced_room.start);
	check_bytes(set, "vector", v->typesize, v->nelems, got, want);
	if (v->bits)
		set->bitunshuffle(want, v->typesize, v->nelems, back, fenced_room.start);
	else
		set->unshuffle(planes, v->typesize, v->nelems, back);
	check_bytes(set, "inverse of vector", v->typesize, v->nelems, back, in);
}

static void test_vectors_of_the_specification(void **state)
{
	(void)state;
	for (size_t s = 0; bpk_filter_kernel_sets[s] != NULL; s++) {
		if (!bpk_cpu_has(bpk_filter_kernel_sets[s]->simd))
			continue;
		for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++)
			check_vector(bpk_filter_kernel_sets[s], &vectors[i]);
	}
}

/* One test for each set that this machine runs, and a remark on the others. */
int main(void)
{
	struct CMUnitTest tests[16] = {
		cmocka_unit_test(test_vectors_of_the_specification),
		cmocka_unit_test(test_chosen_set_is_the_last_that_runs),
	};
	size_t count = 2;

	for (size_t i = 0; bpk_filter_kernel_sets[i] != NULL; i++) {
		const struct bpk_filter_kernels *set = bpk_filter_kernel_sets[i];

		if (bpk_cpu_has(set->simd))
			tests[count++] = (struct CMUnitTest){
				.name = bpk_simd_name(set->simd),
				.test_func = test_set_keeps_to_the_definition,
				.initial_state = (void *)set,
			};
		else
			printf("# not tested: this machine has no %s\n", bpk_simd_name(set->simd));
	}
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return _cmocka_run_group_tests("filter", tests, count, set_up, tear_down);
}
