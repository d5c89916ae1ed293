/*
 * Arrays in chunks of several dimensions: the metalayer, and the choice of shapes.
 */
#include "unit/unit.h"

#include "format/frame/frame.h"

/* ---- The metalayer ---- */

/* The specification's example: 3 x 5, chunks of 2 x 4, blocks of 2 x 2, "<i4". */
static const uint8_t example[] = {
	0x97, 0x00, 0x02, 0x92, 0xd3, 0,    0, 0, 0,    0,    0,    0, 3, 0xd3, 0,    0,    0,    0,
	0,    0,    0,    5,    0x92, 0xd2, 0, 0, 0,    2,    0xd2, 0, 0, 0,    4,    0x92, 0xd2, 0,
	0,    0,    2,    0xd2, 0,    0,    0, 2, 0x00, 0xdb, 0,    0, 0, 3,    0x3c, 0x69, 0x34,
};

static void test_example(void **state)
{
	struct bpk_frame_nd nd;
	struct bpk_buf out = { 0 };
	struct bpk_err err = { 0 };

	(void)state;
	if (bpk_frame_nd_read(bpk_view(example, sizeof example), false, 4, &nd, &err) != 0)
		fail_msg("%s", err.text);
	assert_int_equal(nd.array.ndimensions, 2);
	assert_int_equal(nd.array.size, 60);
	assert_int_equal(nd.array.dtype.scalar.kind, 'i');
	assert_int_equal(nd.grid[0], 2);
	assert_int_equal(nd.grid[1], 2);
	assert_int_equal(nd.nchunks, 4);
	assert_int_equal(nd.chunk_size, 32);
	assert_int_equal(nd.block_size, 16);
	assert_false(nd.unknown_type);
	assert_int_equal(bpk_frame_nd_write(&nd, &out, &err), 0);
	assert_int_equal(out.size, sizeof example);
	assert_memory_equal(out.data, example, sizeof example);
	bpk_buf_clear(&out);
	bpk_frame_nd_clear(&nd);
}

/* The older name: five entries, no type. */
static void test_caterva(void **state)
{
	uint8_t bytes[sizeof example - 9];
	struct bpk_frame_nd nd;
	struct bpk_err err = { 0 };

	(void)state;
	memcpy(bytes, example, sizeof bytes);
	assert_int_equal(bpk_frame_nd_read(bpk_view(bytes, sizeof bytes), true, 4, &nd, &err), -1);
	bytes[0] = 0x95;
	if (bpk_frame_nd_read(bpk_view(bytes, sizeof bytes), true, 4, &nd, &err) != 0)
		fail_msg("%s", err.text);
	assert_int_equal(nd.array.dtype.scalar.kind, 'V');
	assert_int_equal(nd.array.size, 60);
	assert_true(nd.unknown_type);
	bpk_frame_nd_clear(&nd);
}

/* Every byte cut, every bit flipped: an error, or a consistent geometry. */
static void test_hostile(void **state)
{
	uint8_t bytes[sizeof example];
	struct bpk_frame_nd nd;
	struct bpk_err err;

	(void)state;
	for (size_t size = 0; size < sizeof example; size++) {
		memcpy(bytes, example, sizeof example);
		assert_int_equal(bpk_frame_nd_read(bpk_view(bytes, size), false, 4, &nd, &err), -1);
		assert_int_equal(err.kind, BPK_CORRUPT);
	}
	for (size_t bit = 0; bit < 8 * sizeof example; bit++) {
		memcpy(bytes, example, sizeof example);
		bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
		if (bpk_frame_nd_read(bpk_view(bytes, sizeof bytes), false, 4, &nd, &err) != 0)
			continue;
		assert_in_range(nd.chunk_size, 0, BPK_CHUNK_MAX_RAW_SIZE_EXTENDED);
		assert_in_range(nd.nchunks, 0, BPK_FRAME_MAX_CHUNKS);
		assert_true(nd.block_size <= nd.chunk_size);
		assert_true(nd.array.size <= nd.nchunks * nd.chunk_size);
		bpk_frame_nd_clear(&nd);
	}
}

/* Read the metalayer of an array of bytes with these shapes, as a writer would store it. */
static int read_shapes(size_t count, const uint64_t *shape, const uint64_t *chunks,
		       const uint64_t *blocks, struct bpk_frame_nd *nd, struct bpk_err *err)
{
	struct bpk_frame_nd from = { .array.ndimensions = count };
	struct bpk_buf out = { 0 };
	int rc;

	from.array.dtype = (struct bpk_dtype){ .scalar = { 'u', '|', 1, "" }, .size = 1 };
	memcpy(from.array.shape, shape, count * sizeof *shape);
	memcpy(from.chunk_shape, chunks, count * sizeof *shape);
	memcpy(from.block_shape, blocks, count * sizeof *shape);
	assert_int_equal(bpk_frame_nd_write(&from, &out, err), 0);
	assert_int_equal(out.size, 12 + 19 * count + 3);
	rc = bpk_frame_nd_read(bpk_buf_view(&out), false, 1, nd, err);
	bpk_buf_clear(&out);
	return rc;
}

static void test_extremes(void **state)
{
	static const struct {
		size_t count;
		uint64_t shape[3], chunks[3], blocks[3];
		int rc;
	} rows[] = {
		{ 0, { 0 }, { 0 }, { 0 }, 0 },
		{ 1, { 0 }, { 0 }, { 0 }, 0 },
		{ 1, { 0 }, { 5 }, { 2 }, 0 },
		{ 1, { 1 }, { 0 }, { 0 }, -1 },
		{ 1, { 1 }, { 1 }, { 0 }, -1 },
		{ 1, { 9 }, { 2 }, { 3 }, -1 },
		{ 3, { 4, 0, 4 }, { 2, 0, 2 }, { 2, 0, 1 }, 0 },
		{ 1, { INT64_MAX }, { 1 }, { 1 }, -1 },
		{ 1, { INT64_MAX }, { INT32_MAX - 63 }, { 1 }, -1 },
		{ 2, { 1u << 31, 1u << 31 }, { 1u << 16, 1u << 14 }, { 1, 1 }, -1 },
		{ 2, { 1u << 31, 1u << 31 }, { 1u << 20, 1u << 20 }, { 1, 1 }, -1 },
		{ 2, { 1u << 31, 1u << 31 }, { 1u << 20, 1u << 10 }, { 1u << 10, 1u << 10 }, -1 },
		{ 2, { 1u << 20, 1u << 20 }, { 1u << 20, 1u << 10 }, { 1u << 10, 1u << 10 }, 0 },
		{ 3, { INT64_MAX, INT64_MAX, 0 }, { 1, 1, 1 }, { 1, 1, 1 }, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct bpk_frame_nd nd;
		struct bpk_err err = { 0 };
		int rc = read_shapes(rows[i].count, rows[i].shape, rows[i].chunks, rows[i].blocks,
				     &nd, &err);

		if (rc != rows[i].rc)
			fail_msg("row %zu: %d, %s", i, rc, err.text);
		if (rc == 0)
			bpk_frame_nd_clear(&nd);
	}
}

/* Types of other writers: invalid types, and types of another size, are bytes. */
static void test_types(void **state)
{
	static const struct {
		const char *text;
		uint32_t typesize;
		char kind;
	} rows[] = {
		{ "<i4", 4, 'i' }, { "<i4", 8, 'V' },     { "float99", 4, 'V' },
		{ "", 1, 'V' },    { "|O", 8, 'V' },      { "[('x','<f4'),('y','<i2')]", 6, 'V' },
		{ ">f8", 8, 'f' }, { "|S300", 300, 'S' },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct bpk_buf bytes = { 0 };
		struct bpk_frame_nd nd;
		struct bpk_err err = { 0 };

		assert_int_equal(bpk_buf_append(&bytes, bpk_view(example, 50), &err), 0);
		bpk_put_be32(bytes.data + 46, (uint32_t)strlen(rows[i].text));
		assert_int_equal(
			bpk_buf_append(&bytes, bpk_view(rows[i].text, strlen(rows[i].text)), &err),
			0);
		if (bpk_frame_nd_read(bpk_buf_view(&bytes), false, rows[i].typesize, &nd, &err) !=
		    0)
			fail_msg("%s: %s", rows[i].text, err.text);
		assert_int_equal(nd.array.dtype.scalar.kind, rows[i].kind);
		assert_int_equal(nd.array.dtype.size, rows[i].typesize);
		assert_int_equal(nd.unknown_type, rows[i].kind == 'V' && i != 5);
		bpk_frame_nd_clear(&nd);
		bpk_buf_clear(&bytes);
	}
}

/* ---- Chosen shapes ---- */

static void assert_chosen(size_t count, const uint64_t *shape, uint32_t item_size,
			  uint64_t chunk_size, uint64_t block_size)
{
	struct bpk_array array = { .dtype = { .scalar = { 'V', '|', item_size, "" },
					      .size = item_size } };
	struct bpk_frame_nd nd;
	struct bpk_err err = { 0 };

	assert_int_equal(bpk_array_set_shape(&array, shape, count, &err), 0);
	if (bpk_frame_nd_make(&array, NULL, NULL, chunk_size, block_size, &nd, &err) != 0)
		fail_msg("%s", err.text);
	for (size_t i = 0; i < count; i++) {
		assert_true(nd.block_shape[i] >= 1 && nd.block_shape[i] <= nd.chunk_shape[i]);
		assert_true(shape[i] == 0 || nd.chunk_shape[i] <= shape[i]);
	}
	/* no larger than requested, except for a single item, or for whole blocks in each
	 * dimension */
	assert_true(nd.block_size <= bpk_max_u64(block_size, item_size));
	assert_true(nd.chunk_size <= bpk_max_u64(chunk_size, item_size) << count);
	if (array.size > 0)
		assert_true(nd.nchunks * nd.chunk_size >= array.size);
	bpk_frame_nd_clear(&nd);
}

static void test_chosen(void **state)
{
	struct unit_random random = { 3 };

	(void)state;
	for (int i = 0; i < 2000; i++) {
		size_t count = unit_random_next(&random) % 17;
		uint64_t shape[16];

		for (size_t k = 0; k < count; k++)
			shape[k] = unit_random_next(&random) % (count < 5 ? 300 : 4);
		assert_chosen(count, shape, 1 + unit_random_next(&random) % 20,
			      256u << unit_random_next(&random) % 14,
			      1u << unit_random_next(&random) % 18);
	}
}

/* "max": whole blocks must not make chunks, or the bands of a long row, too large. */
static void test_largest(void **state)
{
	struct unit_random random = { 4 };

	(void)state;
	for (int i = 0; i < 2000; i++) {
		size_t count = 1 + unit_random_next(&random) % 6;
		struct bpk_array array = { .dtype = { .scalar = { 'f', '<', 8, "" }, .size = 8 } };
		struct bpk_frame_nd nd;
		struct bpk_err err = { 0 };
		uint64_t shape[6], row_size;

		for (size_t k = 0; k < count; k++)
			shape[k] = unit_random_next(&random) % (UINT64_C(1) << (1 + 36 / count));
		assert_int_equal(bpk_array_set_shape(&array, shape, count, &err), 0);
		if (bpk_frame_nd_make(&array, NULL, NULL, BPK_CHUNK_MAX_RAW_SIZE, 128 << 10, &nd,
				      &err) != 0)
			fail_msg("%s", err.text);
		row_size = bpk_frame_nd_row_size(&nd);
		assert_true(nd.chunk_shape[0] == 1 || row_size == 0 ||
			    nd.chunk_shape[0] <= BPK_CHUNK_MAX_RAW_SIZE / row_size);
		bpk_frame_nd_clear(&nd);
	}
}

static void test_refused(void **state)
{
	struct bpk_array array = { .dtype = { .scalar = { 'i', '<', 4, "" }, .size = 4 } };
	static const uint64_t shape[17] = { 2, 2, 2 }, large[3] = { 4, 4, 4 },
			      small[3] = { 2, 2, 2 };
	struct bpk_frame_nd nd;
	struct bpk_err err = { 0 };

	(void)state;
	assert_int_equal(bpk_array_set_shape(&array, shape, 17, &err), 0);
	assert_int_equal(bpk_frame_nd_make(&array, NULL, NULL, 1, 1, &nd, &err), -1);
	assert_int_equal(err.kind, BPK_UNSUPPORTED);
	assert_int_equal(bpk_array_set_shape(&array, shape, 3, &err), 0);
	assert_int_equal(bpk_frame_nd_make(&array, small, large, 1, 1, &nd, &err), -1);
	assert_int_equal(err.kind, BPK_USAGE);
	array.fortran = true;
	assert_int_equal(bpk_frame_nd_make(&array, NULL, NULL, 1, 1, &nd, &err), -1);
	assert_int_equal(err.kind, BPK_UNSUPPORTED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_example), cmocka_unit_test(test_caterva),
		cmocka_unit_test(test_hostile), cmocka_unit_test(test_extremes),
		cmocka_unit_test(test_types),   cmocka_unit_test(test_chosen),
		cmocka_unit_test(test_largest), cmocka_unit_test(test_refused),
	};

	return UNIT_RUN(tests);
}
