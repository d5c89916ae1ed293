/*
 * WAV: RIFF, RF64 and BW64, widths, extensible formats, and wrong sizes.
 */
#include "unit/layout-bytes.h"

static const uint8_t guid_rest[14] = { 0x00, 0x00, 0x00, 0x00, 0x10, 0x00, 0x80,
				       0x00, 0x00, 0xaa, 0x00, 0x38, 0x9b, 0x71 };

static void put_head(struct bpk_buf *file, const char *id)
{
	put_text(file, id);
	put_le(file, 0xffffffff, 4);
	put_text(file, "WAVE");
}

static void put_format(struct bpk_buf *file, uint16_t tag, uint16_t channels, uint16_t bits,
		       uint16_t row_size)
{
	put_text(file, "fmt ");
	put_le(file, tag == 0xfffe ? 40 : 16, 4);
	put_le(file, tag, 2);
	put_le(file, channels, 2);
	put_le(file, 8000, 4);
	put_le(file, 8000 * row_size, 4);
	put_le(file, row_size, 2);
	put_le(file, bits, 2);
}

static void put_data(struct bpk_buf *file, uint32_t claimed, size_t size)
{
	put_text(file, "data");
	put_le(file, claimed, 4);
	for (size_t i = 0; i < size; i++)
		put_le(file, i, 1);
}

static void test_widths(void **state)
{
	static const struct {
		uint16_t tag, channels, bits, row_size;
		const char *type; /* NULL: plain bytes */
	} rows[] = {
		{ 1, 1, 8, 1, "|u1" },  { 1, 2, 16, 4, "<i2" }, { 1, 2, 12, 4, "<i2" },
		{ 1, 2, 24, 6, "|V3" }, { 1, 2, 24, 8, "<i4" }, { 1, 5, 32, 20, "<i4" },
		{ 1, 1, 64, 8, "<i8" }, { 3, 2, 32, 8, "<f4" }, { 3, 2, 64, 16, "<f8" },
		{ 3, 2, 16, 4, NULL },  { 2, 2, 4, 2, NULL },   { 1, 0, 16, 4, NULL },
		{ 1, 3, 16, 4, NULL },  { 1, 2, 0, 4, NULL },   { 1, 2, 17, 4, NULL },
		{ 1, 1, 40, 5, NULL },  { 1, 2, 16, 0, NULL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct bpk_buf file = { 0 };
		struct opened opened;
		uint64_t shape[2] = { 3, rows[i].channels };

		put_head(&file, "RIFF");
		put_text(&file, "LIST");
		put_le(&file, 3, 4);
		put(&file, "odd\0", 4);
		put_format(&file, rows[i].tag, rows[i].channels, rows[i].bits, rows[i].row_size);
		put_data(&file, 3 * rows[i].row_size, 3 * rows[i].row_size);
		open_buf(&file, &opened);
		if (rows[i].type != NULL) {
			expect_array(&opened, 0, "data", rows[i].type, shape, 2, 56);
			assert_string_equal(bpk_layout_info(opened.layout)->kind, "wav");
			assert_string_equal(bpk_layout_info(opened.layout)->variant,
					    "RIFF, 8000 Hz");
			assert_null(bpk_layout_info(opened.layout)->damage);
		} else if (opened.layout != NULL) {
			fail_msg("row %zu is taken", i);
		}
		close_bytes(&opened);
		bpk_buf_clear(&file);
	}
}

/* 24-bit sound in an extensible format; bytes after the data are ignored. */
static void put_extensible(struct bpk_buf *file, uint16_t tag)
{
	put_head(file, "RIFF");
	put_format(file, 0xfffe, 2, 24, 6);
	put_le(file, 22, 2);
	put_le(file, 20, 2);
	put_le(file, 3, 4);
	put_le(file, tag, 2);
	put(file, guid_rest, sizeof guid_rest);
	put_data(file, 18, 18);
	put_text(file, "LIST");
	put_le(file, 4, 4);
	put_text(file, "INFO");
}

static void test_extensible(void **state)
{
	struct bpk_buf file = { 0 };
	struct opened opened;

	(void)state;
	put_extensible(&file, 1);
	open_buf(&file, &opened);
	expect_array(&opened, 0, "data", "|V3", (uint64_t[]){ 3, 2 }, 2, 68);
	close_bytes(&opened);
	file.data[50]++; /* of the GUID */
	open_buf(&file, &opened);
	assert_null(opened.layout);
	close_bytes(&opened);
	bpk_buf_clear(&file);
	put_extensible(&file, 2);
	open_buf(&file, &opened);
	assert_null(opened.layout);
	close_bytes(&opened);
	bpk_buf_clear(&file);
}

static void put_rf64(struct bpk_buf *file, const char *id, uint64_t size)
{
	put_head(file, id);
	put_text(file, "ds64");
	put_le(file, 28, 4);
	put_le(file, 1000, 8);
	put_le(file, size, 8);
	put_le(file, 7, 8);
	put_le(file, 0, 4);
	put_format(file, 3, 1, 32, 4);
	put_data(file, 0xffffffff, 32);
}

static void test_rf64(void **state)
{
	static const char *const ids[] = { "RF64", "BW64" };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct bpk_buf file = { 0 };
		struct opened opened;

		put_rf64(&file, ids[i], 28);
		open_buf(&file, &opened);
		expect_array(&opened, 0, "data", "<f4", (uint64_t[]){ 7, 1 }, 2, 80);
		assert_memory_equal(bpk_layout_info(opened.layout)->variant, ids[i], 4);
		assert_null(bpk_layout_info(opened.layout)->damage);
		close_bytes(&opened);
		bpk_buf_clear(&file);
		put_rf64(&file, ids[i], UINT64_MAX - 1);
		open_buf(&file, &opened);
		expect_array(&opened, 0, "data", "<f4", (uint64_t[]){ 8, 1 }, 2, 80);
		assert_non_null(bpk_layout_info(opened.layout)->damage);
		close_bytes(&opened);
		file.data[12] = 'x'; /* no ds64 */
		open_buf(&file, &opened);
		assert_null(opened.layout);
		close_bytes(&opened);
		bpk_buf_clear(&file);
	}
}

/* Whole rows of the existing bytes; an unknown size extends to the end, without damage. */
static void test_sizes(void **state)
{
	static const struct {
		uint32_t claimed;
		size_t size;
		uint64_t rows;
		const char *damage;
	} rows[] = {
		{ 16, 16, 4, NULL },
		{ 16, 99, 4, NULL },
		{ 0, 16, 0, NULL },
		{ 0xffffffff, 18, 4, NULL },
		{ 0xfffffffe, 18, 4, "data has 4294967294 bytes, 18 are there" },
		{ 18, 18, 4, "data has 18 bytes, expected whole rows of 4" },
		{ 16, 15, 3, "data has 16 bytes, 15 are there" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct bpk_buf file = { 0 };
		struct opened opened;

		put_head(&file, "RIFF");
		put_format(&file, 1, 2, 16, 4);
		put_data(&file, rows[i].claimed, rows[i].size);
		open_buf(&file, &opened);
		expect_array(&opened, 0, "data", "<i2", (uint64_t[]){ rows[i].rows, 2 }, 2, 44);
		if (rows[i].damage == NULL)
			assert_null(bpk_layout_info(opened.layout)->damage);
		else
			assert_string_equal(bpk_layout_info(opened.layout)->damage, rows[i].damage);
		close_bytes(&opened);
		bpk_buf_clear(&file);
	}
}

static void test_order(void **state)
{
	struct bpk_buf file = { 0 };
	struct opened opened;

	(void)state;
	put_head(&file, "RIFF");
	put_data(&file, 16, 16);
	put_format(&file, 1, 2, 16, 4);
	open_buf(&file, &opened);
	assert_null(opened.layout);
	close_bytes(&opened);
	bpk_buf_clear(&file);
}

static void test_hostile(void **state)
{
	struct bpk_buf file = { 0 };

	(void)state;
	put_extensible(&file, 1);
	sweep(&file, SIZE_MAX);
	bpk_buf_clear(&file);
	put_rf64(&file, "RF64", 28);
	sweep(&file, SIZE_MAX);
	bpk_buf_clear(&file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_widths), cmocka_unit_test(test_extensible),
		cmocka_unit_test(test_rf64),   cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_order),  cmocka_unit_test(test_hostile),
	};

	return UNIT_RUN(tests);
}
