/*
 * Zones and cuts: the division of an input by its arrays, for any list of arrays.
 */
#include "unit/unit.h"

#include "choose/zones.h"

#include <stdlib.h>

/* The arrays of a fake layout. */
struct told {
	const struct bpk_segment *all;
	size_t count, next;
};

static int next_told(void *arg, struct bpk_segment *segment, struct bpk_err *err)
{
	struct told *told = arg;

	(void)err;
	if (told->next == told->count)
		return 1;
	*segment = told->all[told->next++];
	return 0;
}

/* Zones cover the input without overlap, neighbours differ in kind, and the sizes of the kinds add
 * up. */
static void check_zones(const struct bpk_zones *zones, uint64_t size)
{
	uint64_t sizes[BPK_ZONE_KINDS] = { 0 };

	assert_int_equal(zones->size, size);
	assert_true(zones->nkinds >= 1 && zones->nkinds <= BPK_ZONE_KINDS);
	assert_int_equal(zones->count == 0, size == 0);
	for (size_t i = 0; i < zones->count; i++) {
		uint64_t start = zones->all[i].offset, end = bpk_zone_end(zones, i);

		assert_true(zones->all[i].kind < zones->nkinds);
		assert_true(start < end && end <= size);
		assert_true(i > 0 || start == 0);
		assert_true(i == 0 || zones->all[i - 1].kind != zones->all[i].kind);
		sizes[zones->all[i].kind] += end - start;
	}
	for (size_t i = 0; i < zones->nkinds; i++)
		assert_int_equal(sizes[i], zones->kinds[i].size);
}

static void make(const struct bpk_segment *all, size_t count, uint64_t size,
		 struct bpk_zones *zones)
{
	struct told told = { all, count, 0 };
	struct bpk_err err = { 0 };

	assert_int_equal(bpk_zones_make(size, next_told, &told, zones, &err), 0);
	check_zones(zones, size);
}

static void test_large_arrays_are_zones(void **state)
{
	static const struct bpk_segment all[] = {
		{ 128, 300000, 4, 12, 'f', "x" },    { 300136, 300000, 8, 8, 'f', "y" },
		{ 600136, 200000, 1, 1, 'u', "z" },  { 800136, 8, 8, 8, 'u', "n" },
		{ 800144, 300000, 4, 12, 'f', "x" }, { 1100152, 300000, 4, 12, 'f', "w" },
	};
	struct bpk_zones zones;

	(void)state;
	make(all, 6, 1400200, &zones);
	assert_int_equal(zones.count, 4);
	assert_int_equal(zones.nkinds, 4);
	assert_int_equal(zones.kinds[0].size, 0);
	assert_int_equal(zones.kinds[1].element, 4);
	assert_int_equal(zones.kinds[1].row, 12);
	assert_string_equal(zones.kinds[1].name, "x");
	assert_int_equal(zones.all[1].offset, 300136);
	assert_int_equal(zones.all[2].offset, 600136);
	assert_int_equal(zones.all[3].offset, 800144);
	bpk_zones_clear(&zones);
}

static void test_small_arrays_are_mixed(void **state)
{
	struct bpk_segment all[300];
	struct bpk_zones zones;
	uint64_t at = 0;

	(void)state;
	for (size_t i = 0; i < 300; i++) {
		unsigned element = i % 3 == 0 ? 4 : i % 3 == 1 ? 8 : 1;

		all[i] = (struct bpk_segment){ at, 10000, element, element, 'f', "s" };
		at += 10000;
	}
	make(all, 300, at, &zones);
	assert_int_equal(zones.count, 1);
	assert_int_equal(zones.kinds[0].size, at);
	bpk_zones_clear(&zones);
	/* arrays of one element size with rows of many lengths are of one kind */
	for (size_t i = 0; i < 300; i++) {
		all[i].element = 4;
		all[i].row = 4 * (unsigned)(1 + i % 5);
	}
	make(all, 300, at, &zones);
	assert_int_equal(zones.count, 1);
	assert_int_equal(zones.kinds[1].size, at);
	assert_int_equal(zones.kinds[1].element, 4);
	bpk_zones_clear(&zones);
}

static void test_no_arrays_are_one_zone(void **state)
{
	struct bpk_zones zones;

	(void)state;
	make(NULL, 0, 12345, &zones);
	assert_int_equal(zones.count, 1);
	assert_int_equal(zones.kinds[0].size, 12345);
	bpk_zones_clear(&zones);
	make(NULL, 0, 0, &zones);
	bpk_zones_clear(&zones);
}

/* More kinds than the limit: the smallest are merged. */
static void test_many_kinds_are_few(void **state)
{
	struct bpk_segment all[200];
	struct bpk_zones zones;
	uint64_t at = 0;

	(void)state;
	for (size_t i = 0; i < 200; i++) {
		all[i] =
			(struct bpk_segment){ at, 100000 + 1000 * i, (unsigned)i + 1, 0, 'f', "s" };
		at += all[i].size;
	}
	make(all, 200, at, &zones);
	assert_int_equal(zones.nkinds, BPK_ZONE_KINDS);
	bpk_zones_clear(&zones);
}

static void test_any_list_of_arrays_is_survived(void **state)
{
	static struct bpk_segment all[9000];
	struct unit_random random = { 77 };

	(void)state;
	for (int round = 0; round < 60; round++) {
		uint64_t size = unit_random_next(&random) % 50000000;
		size_t count = unit_random_next(&random) % 9000;
		struct bpk_zones zones;

		for (size_t i = 0; i < count; i++) {
			bool wild = round % 3 == 0 && unit_random_next(&random) % 20 == 0;
			uint64_t most = round % 2 ? 500000 : 20000;

			all[i] = (struct bpk_segment){
				.offset = unit_random_next(&random) % (size + 1000),
				.size = unit_random_next(&random) % most,
				.element = (unsigned)(unit_random_next(&random) % 6),
				.row = (unsigned)(unit_random_next(&random) % 3),
				.letter = "fiu"[unit_random_next(&random) % 3],
				.name = "n",
			};
			if (wild)
				all[i].offset = UINT64_MAX - unit_random_next(&random) % 1000;
			if (wild && i % 2)
				all[i].size = UINT64_MAX - unit_random_next(&random) % 1000;
			/* most are concatenated, as in files */
			if (i > 0 && round % 4 > 0 && unit_random_next(&random) % 50 > 0)
				all[i].offset = all[i - 1].offset + all[i - 1].size;
		}
		make(all, count, size, &zones);
		bpk_zones_clear(&zones);
	}
}

/* Ten million arrays: memory follows the zones. */
struct many {
	uint64_t next;
};

static int next_of_many(void *arg, struct bpk_segment *segment, struct bpk_err *err)
{
	struct many *many = arg;
	uint64_t i = many->next++;

	(void)err;
	*segment = (struct bpk_segment){ 40 * i, 40, i % 2 ? 4 : 8, 4, 'f', "tiny" };
	return i == 10000000;
}

static void test_millions_of_arrays_take_no_room(void **state)
{
	struct many many = { 0 };
	struct bpk_err err = { 0 };
	struct bpk_zones zones;

	(void)state;
	assert_int_equal(bpk_zones_make(400000000, next_of_many, &many, &zones, &err), 0);
	check_zones(&zones, 400000000);
	assert_true(zones.room < 100);
	bpk_zones_clear(&zones);
}

/* The bytes of a kind, read in any way, are those of its zones. */
static void test_a_kind_is_a_source(void **state)
{
	static uint8_t bytes[2000000], out[2000000];
	struct bpk_segment all[20];
	struct bpk_source *whole, *part;
	struct bpk_err err = { 0 };
	struct bpk_zones zones;
	size_t got;

	(void)state;
	for (size_t i = 0; i < 20; i++)
		all[i] = (struct bpk_segment){ i * 100000, 100000, i % 2 ? 4 : 8, 0, 'f', "s" };
	for (size_t i = 0; i < sizeof bytes; i++)
		bytes[i] = (uint8_t)(i / 100000);
	make(all, 20, sizeof bytes, &zones);
	assert_int_equal(bpk_source_of_memory(bpk_view(bytes, sizeof bytes), &whole, &err), 0);
	assert_int_equal(bpk_zones_source(&zones, zones.all[1].kind, whole, &part, &err), 0);
	assert_int_equal(bpk_source_size(part), 1000000);
	for (size_t at = 0; at < 1000000; at += 33333) {
		assert_int_equal(bpk_source_read_at(part, at, bpk_span(out, 250000), &got, &err),
				 0);
		assert_int_equal(got, at > 750000 ? 1000000 - at : 250000);
		for (size_t i = 0; i < got; i += 1000)
			assert_int_equal(out[i], (at + i) / 100000 * 2 + 1);
	}
	bpk_source_close(part);
	bpk_source_close(whole);
	bpk_zones_clear(&zones);
}

static void test_runs_find_chunks(void **state)
{
	struct bpk_sizes runs = { 0 }, copy;
	struct bpk_err err = { 0 };
	struct bpk_sized chunk;

	(void)state;
	assert_false(bpk_sizes_chunk(&runs, 0, &chunk));
	assert_false(bpk_sizes_seek(&runs, 0, &chunk));
	assert_false(bpk_sizes_chunk(NULL, 0, &chunk));
	assert_int_equal(bpk_sizes_add(&runs, 3, 100, 0, &err), 0);
	assert_int_equal(bpk_sizes_add(&runs, 0, 7, 0, &err), 0);
	assert_int_equal(bpk_sizes_add(&runs, 2, 100, 1, &err), 0);
	assert_int_equal(bpk_sizes_add(&runs, 1, 0, 0, &err), 0);
	assert_int_equal(bpk_sizes_add(&runs, 1, 50, 0, &err), 0);
	assert_int_equal(runs.count, 4);
	assert_int_equal(runs.nchunks, 7);
	assert_int_equal(runs.raw_size, 550);
	assert_true(bpk_sizes_chunk(&runs, 4, &chunk));
	assert_int_equal(chunk.raw_offset, 400);
	assert_int_equal(chunk.kind, 1);
	assert_true(bpk_sizes_seek(&runs, 299, &chunk));
	assert_int_equal(chunk.first, 2);
	assert_true(bpk_sizes_seek(&runs, 500, &chunk));
	assert_int_equal(chunk.first, 6);
	assert_false(bpk_sizes_seek(&runs, 550, &chunk));
	assert_int_equal(bpk_sizes_largest(&runs), 100);
	assert_int_equal(bpk_sizes_copy(&runs, 4, &copy, &err), 0);
	assert_int_equal(copy.count, 1);
	assert_int_equal(copy.nchunks, 4);
	bpk_sizes_clear(&copy);
	assert_int_equal(bpk_sizes_add(&runs, UINT64_MAX, 2, 0, &err), -1);
	assert_int_equal(err.kind, BPK_CORRUPT);
	bpk_sizes_clear(&runs);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_large_arrays_are_zones),
		cmocka_unit_test(test_small_arrays_are_mixed),
		cmocka_unit_test(test_no_arrays_are_one_zone),
		cmocka_unit_test(test_many_kinds_are_few),
		cmocka_unit_test(test_any_list_of_arrays_is_survived),
		cmocka_unit_test(test_millions_of_arrays_take_no_room),
		cmocka_unit_test(test_a_kind_is_a_source),
		cmocka_unit_test(test_runs_find_chunks),
	};

	return UNIT_RUN(tests);
}
