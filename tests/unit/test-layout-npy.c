/*
 * NumPy's .npy: reading and writing heads, and unknown types.
 */
#include "unit/layout-bytes.h"

#include <stdio.h>

/* An .npy of this version, with this head text and data bytes. */
static void put_npy(struct bpk_buf *buf, int version, const char *text, size_t data)
{
	put_text(buf, "\x93NUMPY");
	put_le(buf, (uint64_t)version, 2);
	put_le(buf, strlen(text), version == 1 ? 2 : 4);
	put_text(buf, text);
	for (size_t i = 0; i < data; i++)
		put_le(buf, i, 1);
}

static const char plain[] = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }  \n";

static void test_versions(void **state)
{
	(void)state;
	for (int version = 1; version <= 3; version++) {
		struct bpk_buf file = { 0 };
		struct opened opened;
		char number[4] = { (char)('0' + version), '.', '0', '\0' };

		put_npy(&file, version, plain, 24);
		open_buf(&file, &opened);
		expect_array(&opened, 0, "data", "<f4", (uint64_t[]){ 2, 3 }, 2,
			     (version == 1 ? 10 : 12) + strlen(plain));
		assert_string_equal(bpk_layout_info(opened.layout)->kind, "npy");
		assert_string_equal(bpk_layout_info(opened.layout)->variant, number);
		assert_int_equal(bpk_layout_info(opened.layout)->narrays, 1);
		assert_null(bpk_layout_info(opened.layout)->damage);
		close_bytes(&opened);
		bpk_buf_clear(&file);
	}
}

static void test_types(void **state)
{
	static const struct {
		const char *text, *type;
		uint64_t shape[2];
		size_t ndimensions;
		bool fortran;
	} rows[] = {
		{ "{'descr':'>i2','fortran_order':True,'shape':(3,2)}", ">i2", { 3, 2 }, 2, true },
		{ "{'shape': (), 'fortran_order': False, 'descr': '|u1'}", "|u1", { 0 }, 0, false },
		{ "{'descr': '<f4', 'fortran_order': False, 'shape': (2L, 1L), }",
		  "<f4",
		  { 2, 1 },
		  2,
		  false },
		{ "{'descr': [(u'x1L', '<f4', (2L,)), ('y', '|S2')], 'fortran_order': False, "
		  "'shape': (1,), }",
		  "[('x1L', '<f4', (2,)), ('y', '|S2')]",
		  { 1 },
		  1,
		  false },
		{ "{'descr': [('\xe9', '<f4')], 'fortran_order': False, 'shape': (1,)}",
		  "[('\xc3\xa9', '<f4')]",
		  { 1 },
		  1,
		  false },
		{ "{'descr': [('it\\'s', '<f4')], 'fortran_order': False, 'shape': (1,)}",
		  "[(\"it's\", '<f4')]",
		  { 1 },
		  1,
		  false },
		/* unknown here: opaque items of the right size */
		{ "{'descr': [('a', '|u1'), ('', '|V7'), ('b', '<f8')], 'fortran_order': True, "
		  "'shape': (1, 2)}",
		  "|V16",
		  { 1, 2 },
		  2,
		  true },
		{ "{'descr': [(('title', 'a'), '<f4', (2, 3))], 'fortran_order': False, "
		  "'shape': (1,)}",
		  "|V24",
		  { 1 },
		  1,
		  false },
		{ "{'descr': [('a', [('b', '<i4'), ('', '|V4')], (2,))], 'fortran_order': False, "
		  "'shape': (2,)}",
		  "|V16",
		  { 2 },
		  1,
		  false },
		/* a pickle, or an unknown size: all bytes */
		{ "{'descr': '|O', 'fortran_order': False, 'shape': (3,)}",
		  "|u1",
		  { 32 },
		  1,
		  false },
		{ "{'descr': [('a', '|O'), ('', '|V4')], 'fortran_order': True, 'shape': (3,)}",
		  "|u1",
		  { 32 },
		  1,
		  false },
		{ "{'descr': '<q99', 'fortran_order': False, 'shape': (3,)}",
		  "|u1",
		  { 32 },
		  1,
		  false },
		{ "{'descr': [('', '|V4294967295'), ('a', '|V4294967295')], "
		  "'fortran_order': False, 'shape': (3,)}",
		  "|u1",
		  { 32 },
		  1,
		  false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct bpk_buf file = { 0 };
		struct bpk_item item;
		struct opened opened;

		put_npy(&file, 1, rows[i].text, 32);
		open_buf(&file, &opened);
		expect_array(&opened, 0, "data", rows[i].type, rows[i].shape, rows[i].ndimensions,
			     10 + strlen(rows[i].text));
		assert_int_equal(bpk_layout_get(opened.layout, 0, &item, NULL), 0);
		assert_int_equal(item.array->fortran, rows[i].fortran);
		close_bytes(&opened);
		bpk_buf_clear(&file);
	}
}

/* Invalid heads: plain bytes. */
static void test_refused(void **state)
{
	static const char *const texts[] = {
		"",
		"{}",
		"['descr', '<f4']",
		"{'descr': '<f4', 'fortran_order': False, 'shape': (3)}",
		"{'descr': '<f4', 'fortran_order': False, 'shape': [3]}",
		"{'descr': '<f4', 'fortran_order': False, 'shape': (-3,)}",
		"{'descr': '<f4', 'fortran_order': False, 'shape': (3,,)}",
		"{'descr': '<f4', 'fortran_order': False, 'shape': (3 4)}",
		"{'descr': '<f4', 'fortran_order': False, 'shape': (,)}",
		"{'descr': '<f4', 'fortran_order': False, 'shape': (3,)",
		"{'descr': '<f4', 'fortran_order': False, 'shape': (3,), 'more': 1}",
		"{'descr': '<f4', 'fortran_order': False, 'shape': (3,), 'shape': (3,)}",
		"{'descr': '<f4', 'fortran_order': False, 'shape': (3,)} + 1",
		"{'descr': '<f4' 'fortran_order': False, 'shape': (3,)}",
		"{'descr': '<f4', 'fortran_order': 0, 'shape': (3,)}",
		"{'descr': '<f4', 'fortran_order': Falsehood, 'shape': (3,)}",
		"{'descr': '<f4', 'shape': (3,)}",
		"{'descr': __import__('os'), 'fortran_order': False, 'shape': (3,)}",
		"{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}",
		"{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296)}",
		"{'descr': '<f4\\",
		"{'descr': u",
		"{'descr': '<f4', 'fortran_order': Tru",
	};

	(void)state;
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		struct bpk_buf file = { 0 };
		struct opened opened;

		put_npy(&file, 1, texts[i], 12);
		open_buf(&file, &opened);
		if (opened.layout != NULL)
			fail_msg("'%s' is taken", texts[i]);
		close_bytes(&opened);
		bpk_buf_clear(&file);
	}
}

/* Deep brackets: refused by the depth limit, before the stack overflows. */
static void test_deep(void **state)
{
	struct bpk_buf text = { 0 }, file = { 0 };
	struct opened opened;

	(void)state;
	put_text(&text, "{'descr': ");
	for (int i = 0; i < 500000; i++)
		put_text(&text, "[");
	put(&text, "", 1);
	put_npy(&file, 2, (const char *)text.data, 0);
	open_buf(&file, &opened);
	assert_null(opened.layout);
	close_bytes(&opened);
	bpk_buf_clear(&file);
	bpk_buf_clear(&text);
}

/* A cut file has no array, and the damage is reported; extra bytes are ignored. */
static void test_cut(void **state)
{
	struct bpk_buf file = { 0 };
	struct opened opened;

	(void)state;
	put_npy(&file, 1, plain, 23);
	open_buf(&file, &opened);
	assert_non_null(opened.layout);
	assert_int_equal(bpk_layout_info(opened.layout)->narrays, 0);
	assert_string_equal(bpk_layout_info(opened.layout)->damage,
			    "the array has 24 bytes, 23 are there");
	close_bytes(&opened);
	put_text(&file, "and more");
	open_buf(&file, &opened);
	assert_int_equal(bpk_layout_info(opened.layout)->narrays, 1);
	assert_null(bpk_layout_info(opened.layout)->damage);
	close_bytes(&opened);
	bpk_buf_clear(&file);
}

static void test_hostile(void **state)
{
	static const char *const texts[] = {
		plain,
		"{'descr': [('a', '|u1'), ('', '|V1'), ('b', '<f4', (2,))], "
		"'fortran_order': True, 'shape': (2,), }\n",
	};

	(void)state;
	for (int version = 1; version <= 3; version++)
		for (size_t i = 0; i < 2; i++) {
			struct bpk_buf file = { 0 };

			put_npy(&file, version, texts[i], 24);
			sweep(&file, SIZE_MAX);
			bpk_buf_clear(&file);
		}
}

/* ---- Writing ---- */

/* Heads byte for byte as by NumPy 1.24, except for spaces. */
static void test_write(void **state)
{
	static const struct {
		const char *type;
		uint64_t shape[3];
		size_t ndimensions;
		bool fortran;
		int version;
		const char *text;
	} rows[] = {
		{ "<f4",
		  { 0 },
		  0,
		  false,
		  1,
		  "{'descr': '<f4', 'fortran_order': False, 'shape': (), }" },
		{ "<f8",
		  { 3 },
		  1,
		  true,
		  1,
		  "{'descr': '<f8', 'fortran_order': False, 'shape': (3,), }" },
		{ ">i2",
		  { 2, 3 },
		  2,
		  false,
		  1,
		  "{'descr': '>i2', 'fortran_order': False, 'shape': (2, 3), }" },
		{ "|u1",
		  { 2, 3 },
		  2,
		  true,
		  1,
		  "{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3), }" },
		{ "|u1",
		  { 2, 1 },
		  2,
		  true,
		  1,
		  "{'descr': '|u1', 'fortran_order': False, 'shape': (2, 1), }" },
		{ "|u1",
		  { 2, 0, 3 },
		  3,
		  true,
		  1,
		  "{'descr': '|u1', 'fortran_order': False, 'shape': (2, 0, 3), }" },
		{ "<U5",
		  { 1 },
		  1,
		  false,
		  1,
		  "{'descr': '<U5', 'fortran_order': False, 'shape': (1,), }" },
		{ "<M8[25s]",
		  { 4 },
		  1,
		  false,
		  1,
		  "{'descr': '<M8[25s]', 'fortran_order': False, 'shape': (4,), }" },
		{ "[('x', '<f4', (2,)), ('y', '|S3')]",
		  { 7 },
		  1,
		  false,
		  1,
		  "{'descr': [('x', '<f4', (2,)), ('y', '|S3')], 'fortran_order': False, "
		  "'shape': (7,), }" },
		{ "('<f4', (2, 3))",
		  { 7 },
		  1,
		  true,
		  1,
		  "{'descr': '<f4', 'fortran_order': False, 'shape': (7, 2, 3), }" },
		{ "[('\xc3\xa9', '<f4')]",
		  { 7 },
		  1,
		  false,
		  1,
		  "{'descr': [('\xe9', '<f4')], 'fortran_order': False, 'shape': (7,), }" },
		{ "[('\xce\x94', '<f4')]",
		  { 7 },
		  1,
		  false,
		  3,
		  "{'descr': [('\xce\x94', '<f4')], 'fortran_order': False, 'shape': (7,), }" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct bpk_array array = { 0 };
		struct bpk_buf out = { 0 };
		struct bpk_err err = { 0 };
		size_t fixed = rows[i].version == 1 ? 10 : 12, size = strlen(rows[i].text);

		assert_int_equal(bpk_dtype_parse(bpk_view(rows[i].type, strlen(rows[i].type)),
						 &array.dtype, &err),
				 0);
		assert_int_equal(
			bpk_array_set_shape(&array, rows[i].shape, rows[i].ndimensions, &err), 0);
		array.fortran = rows[i].fortran;
		put_text(&out, "in front");
		assert_int_equal(bpk_npy_head(&array, &out, &err), 0);
		assert_memory_equal(out.data, "in front\x93NUMPY", 14);
		assert_int_equal(out.data[14], rows[i].version);
		assert_int_equal(out.size % 64, 8);
		assert_int_equal(bpk_get_le16(out.data + 16), out.size - 8 - fixed);
		assert_memory_equal(out.data + 8 + fixed, rows[i].text, size);
		for (size_t at = 8 + fixed + size; at + 1 < out.size; at++)
			assert_int_equal(out.data[at], ' ');
		assert_int_equal(out.data[out.size - 1], '\n');
		bpk_buf_clear(&out);
		bpk_array_clear(&array);
	}
}

/* A head too long for version 1 gets version 2, and is read back. */
static void test_write_long(void **state)
{
	struct bpk_array array = { .ndimensions = 1, .shape = { 2 } };
	struct bpk_buf text = { 0 }, out = { 0 };
	struct bpk_err err = { 0 };
	struct opened opened;
	struct bpk_item item;

	(void)state;
	for (int i = 0; i < 3000; i++)
		assert_int_equal(bpk_buf_printf(&text, &err, "%c('a_field_%04d', '<f4')",
						i == 0 ? '[' : ',', i),
				 0);
	put_text(&text, "]");
	assert_int_equal(bpk_dtype_parse(bpk_buf_view(&text), &array.dtype, &err), 0);
	assert_int_equal(bpk_npy_head(&array, &out, &err), 0);
	assert_int_equal(out.data[6], 2);
	assert_int_equal(out.size % 64, 0);
	for (int i = 0; i < 3000; i++)
		put(&out, "12345678", 8);
	open_buf(&out, &opened);
	assert_non_null(opened.layout);
	assert_int_equal(bpk_layout_get(opened.layout, 0, &item, &err), 0);
	assert_int_equal(item.array->dtype.nfields, 3000);
	assert_int_equal(item.array->size, 24000);
	close_bytes(&opened);
	bpk_array_clear(&array);
	bpk_buf_clear(&text);
	bpk_buf_clear(&out);
}

static void test_write_refused(void **state)
{
	static const char *const types[] = { "|O", "[('a', '<f4'), ('b', '|O')]", "('<f4', (2,))" };

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct bpk_array array = { .ndimensions = 2, .shape = { 2, 3 }, .fortran = true };
		struct bpk_buf out = { 0 };
		struct bpk_err err = { 0 };

		assert_int_equal(
			bpk_dtype_parse(bpk_view(types[i], strlen(types[i])), &array.dtype, &err),
			0);
		assert_int_equal(bpk_npy_head(&array, &out, &err), -1);
		assert_int_equal(err.kind, BPK_UNSUPPORTED);
		assert_int_equal(out.size, 0);
		bpk_array_clear(&array);
	}
}

/* ---- A real file ---- */

static void test_sample(void **state)
{
	const char *folder = getenv("BPK_SAMPLES");
	struct bpk_err err = { 0 };
	struct opened opened;
	char path[4096];

	(void)state;
	if (folder == NULL) {
		print_message("BPK_SAMPLES is not set\n");
		skip();
	}
	snprintf(path, sizeof path, "%s/rama_ref_data.npy", folder);
	assert_int_equal(bpk_source_open(path, &opened.source, &err), 0);
	assert_int_equal(bpk_layout_open(opened.source, &opened.layout, &err), 0);
	expect_array(&opened, 0, "data", "<f8", (uint64_t[]){ 90, 90 }, 2, 128);
	close_bytes(&opened);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_versions),      cmocka_unit_test(test_types),
		cmocka_unit_test(test_refused),       cmocka_unit_test(test_deep),
		cmocka_unit_test(test_cut),           cmocka_unit_test(test_hostile),
		cmocka_unit_test(test_write),         cmocka_unit_test(test_write_long),
		cmocka_unit_test(test_write_refused), cmocka_unit_test(test_sample),
	};

	return UNIT_RUN(tests);
}
