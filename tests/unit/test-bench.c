/*
 * The room flow: samples of whole chunks, their measures, and the Pareto fronts of these.
 */
#include "unit/unit.h"

#include "flow/flow.h"

/* ---- Fronts ---- */

static struct bpk_bench_row row_of(uint64_t packed_size, double pack, double unpack)
{
	return (struct bpk_bench_row){ .raw_size = 1000,
				       .packed_size = packed_size,
				       .pack_seconds = pack,
				       .unpack_seconds = unpack };
}

static void test_fronts(void **state)
{
	struct bpk_bench_row rows[] = {
		row_of(100, 9, 5),                    /* the best ratio */
		row_of(200, 4, 6),                    /* slower to unpack than the first */
		row_of(200, 5, 6),                    /* slower to pack than the one before */
		row_of(300, 1, 1),                    /* the fastest */
		row_of(300, 1, 2), row_of(400, 1, 1), /* no faster, and larger */
	};
	static const bool pack[] = { true, true, false, true, true, false };
	static const bool unpack[] = { true, false, false, true, false, false };

	(void)state;
	bpk_bench_fronts(rows, 6);
	for (size_t i = 0; i < 6; i++) {
		assert_int_equal(rows[i].on_pack_front, pack[i]);
		assert_int_equal(rows[i].on_unpack_front, unpack[i]);
	}
	bpk_bench_fronts(rows, 0);
	bpk_bench_fronts(&rows[5], 1);
	assert_true(rows[5].on_pack_front && rows[5].on_unpack_front);
}

/* Equal rows do not remove each other, and samples of different sizes are compared by ratio. */
static void test_fronts_of_equals(void **state)
{
	struct bpk_bench_row rows[] = { row_of(100, 2, 2), row_of(100, 2, 2), row_of(100, 2, 2) };

	(void)state;
	rows[2].raw_size *= 2;
	rows[2].packed_size *= 2;
	rows[2].pack_seconds *= 2;
	bpk_bench_fronts(rows, 3);
	for (size_t i = 0; i < 3; i++)
		assert_true(rows[i].on_pack_front);
	assert_false(rows[0].on_unpack_front);
	assert_true(rows[2].on_unpack_front);
}

/* ---- Samples ---- */

enum { SIZE = 100000 };

static uint8_t data[SIZE];

static void fill_data(void)
{
	for (size_t i = 0; i < SIZE; i++)
		data[i] = (uint8_t)((i / 16 * 2654435761u) >> 13);
}

static void check_sample(const struct bpk_bench_sample *sample)
{
	uint64_t end = 0;
	size_t total = 0;

	for (size_t i = 0; i < sample->nchunks; i++) {
		const struct bpk_bench_chunk *chunk = &sample->chunks[i];

		assert_true(chunk->raw_offset >= end);
		assert_int_equal(chunk->start, total);
		assert_memory_equal(sample->raw.data + chunk->start, data + chunk->raw_offset,
				    chunk->size);
		end = chunk->raw_offset + chunk->size;
		total += chunk->size;
	}
	assert_int_equal(total, sample->raw.size);
}

static void test_take(void **state)
{
	static const struct {
		uint64_t chunk_size, most;
		size_t nchunks;
	} cases[] = { { 1000, 100000, 100 }, { 1000, 7000, 7 },    { 1000, 7999, 7 },
		      { 1000, 99999, 99 },   { 999, 100000, 101 }, { 999, 99999, 100 },
		      { 1000, 1, 1 },        { 200000, 10, 1 },    { 60000, 99999, 1 } };
	struct bpk_bench_sample sample;
	struct bpk_source *source;

	(void)state;
	fill_data();
	assert_int_equal(bpk_source_of_memory(bpk_view(data, SIZE), &source, NULL), 0);
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct bpk_plan plan = bpk_plan_cut(SIZE, cases[i].chunk_size);

		assert_int_equal(bpk_bench_take(source, &plan, cases[i].most, &sample, NULL), 0);
		assert_int_equal(sample.nchunks, cases[i].nchunks);
		assert_int_equal(sample.whole, sample.raw.size == SIZE);
		check_sample(&sample);
		bpk_bench_clear(&sample);
	}
	bpk_source_close(source);
}

/* Chunks of many sizes: the sample holds most bytes at most. */
static void test_take_sizes(void **state)
{
	struct bpk_sizes runs = { 0 };
	struct bpk_bench_sample sample;
	struct bpk_source *source;
	struct bpk_plan plan;

	(void)state;
	fill_data();
	for (size_t i = 0; i < 10; i++) {
		assert_int_equal(bpk_sizes_add(&runs, 9, 1000, 0, NULL), 0);
		assert_int_equal(bpk_sizes_add(&runs, 10, 100, 1, NULL), 0);
	}
	plan = bpk_plan_sizes(&runs);
	assert_int_equal(bpk_source_of_memory(bpk_view(data, SIZE), &source, NULL), 0);
	for (uint64_t most = 1000; most <= SIZE; most += 997) {
		assert_int_equal(bpk_bench_take(source, &plan, most, &sample, NULL), 0);
		assert_true(sample.raw.size <= most && sample.raw.size * 3 >= most);
		check_sample(&sample);
		bpk_bench_clear(&sample);
	}
	bpk_source_close(source);
	bpk_sizes_clear(&runs);
}

/* ---- Measures ---- */

static void note(void *arg, uint64_t raw_done, uint64_t packed_done)
{
	(void)packed_done;
	*(uint64_t *)arg = raw_done;
}

static void test_run(void **state)
{
	const struct bpk_packing packing = {
		.choice.recipe = { .codec = bpk_codec_find("lz4"),
				   .level = 5,
				   .typesize = 16,
				   .pipeline = bpk_pipeline_of(BPK_FILTER_SHUFFLE) },
	};
	struct bpk_plan plan = bpk_plan_cut(SIZE, 3000);
	struct bpk_bench_sample sample;
	struct bpk_source *source;
	uint64_t sizes[3];

	(void)state;
	fill_data();
	assert_int_equal(bpk_source_of_memory(bpk_view(data, SIZE), &source, NULL), 0);
	assert_int_equal(bpk_bench_take(source, &plan, SIZE, &sample, NULL), 0);
	for (unsigned threads = 1; threads <= 3; threads++) {
		uint64_t raw_done = 0;
		const struct bpk_bench bench = { &sample, &packing, threads, note, &raw_done };
		struct bpk_bench_row row = { 0 };

		assert_int_equal(bpk_bench_run(&bench, &row, NULL), 0);
		assert_int_equal(row.raw_size, SIZE);
		assert_true(row.packed_size < SIZE && row.packed_size > 0);
		assert_true(row.pack_seconds > 0 && row.unpack_seconds > 0);
		assert_true(row.pack_memory > 0 && row.unpack_memory > 0);
		assert_true(threads > 1 || raw_done == SIZE);
		sizes[threads - 1] = row.packed_size;
	}
	assert_true(sizes[0] == sizes[1] && sizes[1] == sizes[2]);
	bpk_bench_clear(&sample);
	bpk_source_close(source);
}

static void test_limit(void **state)
{
	const struct bpk_packing packing = {
		.choice.recipe = { .codec = bpk_codec_find("zstd"), .level = 9, .typesize = 1 },
	};
	struct bpk_limits limits = { .threads = 1 };
	struct bpk_err err = { 0 };
	uint64_t most = SIZE;

	(void)state;
	assert_int_equal(bpk_bench_limit(&packing, 1000, &limits, &most, &err), 0);
	assert_int_equal(most, SIZE);
	limits.memory = 10 << 20;
	most = UINT64_MAX;
	assert_int_equal(bpk_bench_limit(&packing, 1000, &limits, &most, &err), 0);
	assert_true(most > 1 << 20 && most < 5 << 20);
	assert_int_equal(bpk_bench_limit(&packing, 1 << 20, &limits, &most, &err), -1);
	assert_int_equal(err.kind, BPK_LIMIT);
	limits.threads = 4;
	assert_int_equal(bpk_bench_limit(&packing, 1000, &limits, &most, &err), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fronts), cmocka_unit_test(test_fronts_of_equals),
		cmocka_unit_test(test_take),   cmocka_unit_test(test_take_sizes),
		cmocka_unit_test(test_run),    cmocka_unit_test(test_limit),
	};

	return UNIT_RUN(tests);
}
