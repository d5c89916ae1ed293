/*
 * Types and arrays: the spellings of NumPy, Python and JSON, in both directions, and invalid types.
 */
#include "unit/unit.h"

#include "format/format.h"

static struct bpk_view view_of(const char *text)
{
	return bpk_view(text, strlen(text));
}

/* ---- Types ---- */

static void assert_prints(const struct bpk_dtype *dtype, const char *text)
{
	struct bpk_buf out = { 0 };
	struct bpk_err err = { 0 };

	assert_int_equal(bpk_dtype_print(dtype, &out, &err), 0);
	assert_int_equal(bpk_buf_append(&out, bpk_view("", 1), &err), 0);
	assert_string_equal((const char *)out.data, text);
	bpk_buf_clear(&out);
}

/* text has that type; its printed form parses to the same type. */
static void assert_type(const char *text, const char *printed, uint64_t size)
{
	struct bpk_dtype dtype, again;
	struct bpk_err err = { 0 };

	if (bpk_dtype_parse(view_of(text), &dtype, &err) != 0)
		fail_msg("%s: %s", text, err.text);
	if (dtype.size != size)
		fail_msg("%s: %llu bytes", text, (unsigned long long)dtype.size);
	assert_prints(&dtype, printed);
	assert_int_equal(bpk_dtype_parse(view_of(printed), &again, &err), 0);
	assert_prints(&again, printed);
	bpk_dtype_clear(&again);
	assert_int_equal(bpk_dtype_copy(&dtype, &again, &err), 0);
	bpk_dtype_clear(&dtype);
	assert_prints(&again, printed);
	bpk_dtype_clear(&again);
}

static void test_scalars(void **state)
{
	static const struct {
		const char *text, *printed;
		uint64_t size;
	} rows[] = {
		{ "<f8", "<f8", 8 },
		{ ">i4", ">i4", 4 },
		{ "=u2", "<u2", 2 },
		{ "!u2", ">u2", 2 },
		{ "|i4", "<i4", 4 },
		{ "f2", "<f2", 2 },
		{ "<i1", "|i1", 1 },
		{ ">u1", "|u1", 1 },
		{ "float64", "<f8", 8 },
		{ "int8", "|i1", 1 },
		{ ">float32", ">f4", 4 },
		{ "bool", "|b1", 1 },
		{ "|b1", "|b1", 1 },
		{ "complex128", "<c16", 16 },
		{ "float128", "<f16", 16 },
		{ "|S3", "|S3", 3 },
		{ "S40", "|S40", 40 },
		{ "a5", "|S5", 5 },
		{ "<U3", "<U3", 12 },
		{ ">U1", ">U1", 4 },
		{ "|V16", "|V16", 16 },
		{ "datetime64[D]", "<M8[D]", 8 },
		{ ">M8[25s]", ">M8[25s]", 8 },
		{ "timedelta64[ns]", "<m8[ns]", 8 },
		{ "<m8", "<m8", 8 },
		{ "M8[generic]", "<M8", 8 },
		{ "object", "|O", 8 },
		{ "|O", "|O", 8 },
		{ "'<f8'", "<f8", 8 },
		{ " \"|S3\" ", "|S3", 3 },
		{ "d", "<f8", 8 },
		{ "(2,3)f4", "('<f4', (2, 3))", 24 },
		{ "(2,)>f4", "('>f4', (2,))", 8 },
		{ "('<f4', (2, 3))", "('<f4', (2, 3))", 24 },
		{ "('(2,)<f4', 3)", "('<f4', (3, 2))", 24 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		assert_type(rows[i].text, rows[i].printed, rows[i].size);
}

static void test_native_order(void **state)
{
	static const char *const rows[][2] = { { "int32", ">i4" },
					       { "<i4", "<i4" },
					       { "=f8", ">f8" },
					       { "int8", "|i1" },
					       { "[('x', 'f4'), ('y', '<f4')]",
						 "[('x', '>f4'), ('y', '<f4')]" } };
	struct bpk_err err = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct bpk_dtype dtype;

		assert_int_equal(bpk_dtype_parse_native(view_of(rows[i][0]), '>', &dtype, &err), 0);
		assert_prints(&dtype, rows[i][1]);
		bpk_dtype_clear(&dtype);
	}
}

static void test_records(void **state)
{
	struct bpk_dtype dtype;
	struct bpk_err err = { 0 };

	(void)state;
	assert_type("[('a', '<i4'), ('b', '|S3'), ('c', [('x', '<f4', (2,))])]",
		    "[('a', '<i4'), ('b', '|S3'), ('c', [('x', '<f4', (2,))])]", 15);
	assert_type("[[\"a\",\"<i4\"],[\"b\",\"|S3\"]]", "[('a', '<i4'), ('b', '|S3')]", 7);
	assert_type("[[\"a\",\"<i4\",[2,2]]]", "[('a', '<i4', (2, 2))]", 16);
	assert_type("{\"col1\": \"int8\", \"col2\": {\"x\": \"float32\"}}",
		    "[('col1', '|i1'), ('col2', [('x', '<f4')])]", 5);
	assert_type("[(u'a', '<i4', 3)]", "[('a', '<i4', (3,))]", 12);
	assert_type("[('c', [('x', '<f4'), ('y', '|u1')], (2,))]",
		    "[('c', [('x', '<f4'), ('y', '|u1')], (2,))]", 10);
	assert_type("[('it\\'s', '|u1'), (\"a\\\\b\\x41\", '|u1'), (\"q\\\"'\", '|u1')]",
		    "[(\"it's\", '|u1'), ('a\\\\bA', '|u1'), ('q\"\\'', '|u1')]", 3);
	assert_type("[[\"\\u00e9\\n\",\"|u1\"]]", "[('\xc3\xa9\\x0a', '|u1')]", 1);
	assert_int_equal(bpk_dtype_parse(view_of("[('a', '<i4'), ('b', '|u1', (5,)), ('c', 'f8')]"),
					 &dtype, &err),
			 0);
	assert_int_equal(dtype.nfields, 3);
	assert_string_equal(dtype.fields[2].name, "c");
	assert_int_equal(dtype.fields[2].offset, 9);
	assert_int_equal(dtype.scalar.kind, 'V');
	assert_int_equal(dtype.scalar.item_size, 17);
	assert_false(bpk_dtype_is_opaque(&dtype));
	bpk_dtype_clear(&dtype);
	assert_int_equal(bpk_dtype_parse(view_of("[('a', [('b', 'O')])]"), &dtype, &err), 0);
	assert_true(bpk_dtype_is_opaque(&dtype));
	bpk_dtype_clear(&dtype);
}

static void assert_no_type(const char *text, enum bpk_kind kind)
{
	struct bpk_dtype dtype;
	struct bpk_err err = { 0 };

	if (bpk_dtype_parse(view_of(text), &dtype, &err) == 0)
		fail_msg("taken for a type: %s", text);
	if (err.kind != kind)
		fail_msg("%s: kind %d, %s", text, (int)err.kind, err.text);
	assert_int_equal(dtype.nfields, 0);
	assert_null(dtype.fields);
}

static void test_no_types(void **state)
{
	static const char *const bad[] = {
		"",
		" ",
		"'",
		"''",
		"<",
		"<<f8",
		"f3",
		"f88",
		"i0",
		"S0",
		"U0",
		"V0",
		"S",
		"S-1",
		"S4294967296",
		"U1073741824",
		"S99999999999999999999999",
		"x4",
		"float65",
		"floaT64",
		"float64 junk",
		"datetime64[",
		"datetime64[]",
		"datetime64[x]",
		"datetime64[0s]",
		"M4",
		"M8[s]]",
		"M8[1234567890123456s]",
		"f8[s]",
		"[]",
		"[",
		"[(",
		"[('a'",
		"[('a',",
		"[('a', '<f4'",
		"[('a', '<f4')",
		"[('a', '<f4'),]",
		"[('a', '<f4')]x",
		"[('a' '<f4')]",
		"[('a', '<f4', (0,))]",
		"[('a', '<f4', (-1,))]",
		"[('a', '<f4', (1.5,))]",
		"[('a', '<f4', (2]]",
		"[('a', '<f4'], ",
		"['a', '<f4']",
		"[(a, '<f4')]",
		"[('a', '<f4'), ('a', '<f4')]",
		"[('a\\u0000', '<f4')]",
		"[('a\\q', '<f4')]",
		"[('a\\ud800x\\",
		"[('\xff', '<f4')]",
		"{\"a\"}",
		"{\"a\": }",
		"{\"a\": \"f4\"",
		"(2,3",
		"(2,3)",
		"('f4', (2,)",
		"__import__('os')",
		"[('a', __import__('os'))]",
		"i4,f8",
	};
	char many[96 * 40], deep[256];

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		assert_no_type(bad[i], BPK_USAGE);
	assert_no_type("[(('title', 'a'), '<f4')]", BPK_UNSUPPORTED);
	assert_no_type("[('a', '|u1'), ('', '|V3'), ('b', '<f4')]", BPK_UNSUPPORTED);
	assert_no_type(
		"{'names':['a','b'], 'formats':['|u1','<f4'], 'offsets':[0,4], 'itemsize':8}",
		BPK_UNSUPPORTED);
	assert_no_type("[('a', '<f8', (4294967295,))]", BPK_LIMIT);
	assert_no_type("[('a', '<f8', (9223372036854775807, 9))]", BPK_LIMIT);
	assert_no_type("(9223372036854775808,)f8", BPK_LIMIT);
	assert_no_type("(4294967296,4294967296)f8", BPK_LIMIT);
	assert_no_type("(1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1)f8",
		       BPK_LIMIT);
	many[0] = '\0';
	for (int i = 0; i < BPK_DTYPE_MAX_DEPTH + 1; i++)
		strcat(many, "[('a', ");
	assert_no_type(many, BPK_LIMIT);
	memset(deep, '(', sizeof deep - 1);
	deep[sizeof deep - 1] = '\0';
	assert_no_type(deep, BPK_LIMIT);
}

static void test_many_fields(void **state)
{
	struct bpk_buf text = { 0 };
	struct bpk_dtype dtype;
	struct bpk_err err = { 0 };

	(void)state;
	for (int i = 0; i < BPK_DTYPE_MAX_FIELDS; i++)
		assert_int_equal(bpk_buf_printf(&text, &err, "%s('f%d', '|u1')", i ? ", " : "[", i),
				 0);
	assert_int_equal(bpk_buf_printf(&text, &err, "]"), 0);
	assert_int_equal(bpk_dtype_parse(bpk_buf_view(&text), &dtype, &err), 0);
	assert_int_equal(dtype.size, BPK_DTYPE_MAX_FIELDS);
	bpk_dtype_clear(&dtype);
	text.size--;
	assert_int_equal(bpk_buf_printf(&text, &err, ", ('x', '|u1')]"), 0);
	assert_int_equal(bpk_dtype_parse(bpk_buf_view(&text), &dtype, &err), -1);
	assert_int_equal(err.kind, BPK_LIMIT);
	bpk_buf_clear(&text);
}

/* ---- Arrays ---- */

static void test_shapes(void **state)
{
	struct bpk_array array = { 0 }, copy;
	struct bpk_err err = { 0 };
	const uint64_t large[] = { UINT64_C(1) << 31, UINT64_C(1) << 30, 1 };
	const uint64_t too_large[] = { UINT64_C(1) << 31, UINT64_C(1) << 30, 2 };
	const uint64_t empty[] = { UINT64_C(1) << 62, UINT64_C(1) << 62, 0 };
	uint64_t many[BPK_ARRAY_MAX_DIMENSIONS + 1] = { 0 };

	(void)state;
	assert_int_equal(bpk_dtype_parse(view_of("[('a', 'f2')]"), &array.dtype, &err), 0);
	assert_int_equal(bpk_array_set_shape(&array, NULL, 0, &err), 0);
	assert_int_equal(array.size, 2);
	assert_int_equal(bpk_array_set_shape(&array, large, 3, &err), 0);
	assert_true(array.size == UINT64_C(1) << 62);
	assert_int_equal(bpk_array_set_shape(&array, too_large, 3, &err), -1);
	assert_int_equal(err.kind, BPK_LIMIT);
	assert_true(array.size == UINT64_C(1) << 62);
	assert_int_equal(bpk_array_copy(&array, &copy, &err), 0);
	assert_int_equal(bpk_array_set_shape(&array, empty, 3, &err), 0);
	assert_int_equal(array.size, 0);
	assert_int_equal(bpk_array_set_shape(&array, many, BPK_ARRAY_MAX_DIMENSIONS + 1, &err), -1);
	bpk_array_clear(&array);
	assert_true(copy.size == UINT64_C(1) << 62);
	assert_string_equal(copy.dtype.fields[0].name, "a");
	bpk_array_clear(&copy);
}

static const struct {
	const char *text;
	const char *dtype;
	uint64_t size;
	bool fortran, canonical;
} arrays[] = {
	{ "{\"dtype\":\"'<f8'\",\"shape\":[3],\"order\":\"C\",\"container\":\"numpy\"}", "<f8", 24,
	  false, true },
	{ "{\"dtype\":\"'<f8'\",\"shape\":[],\"order\":\"C\",\"container\":\"numpy\"}", "<f8", 8,
	  false, true },
	{ "{\"dtype\":\"'<f8'\",\"shape\":[2,0],\"order\":\"F\",\"container\":\"numpy\"}", "<f8", 0,
	  true, true },
	{ "{\"container\":\"numpy\", \"shape\": [3, 2], \"order\":\"F\", \"dtype\":\"<f8\"}", "<f8",
	  48, true, false },
	{ "{\"dtype\":\"float64\",\"shape\":[3],\"container\":\"numpy\"}", "<f8", 24, false,
	  false },
	{ "{\"dtype\":\"[('a', '<i4'), ('b', '|S3')]\",\"shape\":[3],\"order\":\"C\","
	  "\"container\":\"numpy\"}",
	  "[('a', '<i4'), ('b', '|S3')]", 21, false, true },
	{ "{\"dtype\":[[\"a\",\"<i4\"],[\"b\",\"|S3\"]],\"shape\":[1],\"order\":\"C\","
	  "\"container\":\"numpy\"}",
	  "[('a', '<i4'), ('b', '|S3')]", 7, false, false },
	{ "{\"dtype\":\"'<f8'\",\"shape\":[3],\"order\":\"C\",\"container\":\"numpy\",\"x\":1}",
	  "<f8", 24, false, false },
	{ "{\"dtype\":\"[(\\\"it's\\\", '|u1')]\",\"shape\":[3],\"order\":\"C\","
	  "\"container\":\"numpy\"}",
	  "[(\"it's\", '|u1')]", 3, false, true },
};

static void test_metadata(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
		struct bpk_view text = view_of(arrays[i].text);
		struct bpk_buf printed = { 0 };
		struct bpk_err err = { 0 };
		struct bpk_array array;
		bool is_array, canonical;

		if (bpk_array_from_metadata(text, &array, &is_array, &canonical, &err) != 0)
			fail_msg("%s: %s", arrays[i].text, err.text);
		assert_true(is_array);
		assert_prints(&array.dtype, arrays[i].dtype);
		assert_int_equal(array.size, arrays[i].size);
		assert_int_equal(array.fortran, arrays[i].fortran);
		assert_int_equal(canonical, arrays[i].canonical);
		assert_int_equal(bpk_array_print(&array, &printed, &err), 0);
		assert_int_equal(bpk_json_check(bpk_buf_view(&printed), &err), 0);
		assert_int_equal(printed.size == text.size &&
					 memcmp(printed.data, text.data, text.size) == 0,
				 canonical);
		bpk_buf_clear(&printed);
		bpk_array_clear(&array);
	}
}

static void test_other_metadata(void **state)
{
	static const char *const others[] = {
		"{}",
		"[]",
		"12",
		"{\"dtype\":\"'<f8'\",\"shape\":[3],\"order\":\"C\"}",
		"{\"dtype\":\"'<f8'\",\"container\":\"numpy\"}",
		"{\"shape\":[3],\"container\":\"numpy\"}",
		"{\"dtype\":\"'<f8'\",\"shape\":[3],\"container\":\"pandas\"}",
	};
	static const char *const broken[] = {
		"{\"dtype\":\"'<f9'\",\"shape\":[3],\"container\":\"numpy\"}",
		"{\"dtype\":8,\"shape\":[3],\"container\":\"numpy\"}",
		"{\"dtype\":\"'<f8'\",\"shape\":3,\"container\":\"numpy\"}",
		"{\"dtype\":\"'<f8'\",\"shape\":[-3],\"container\":\"numpy\"}",
		"{\"dtype\":\"'<f8'\",\"shape\":[3.0],\"container\":\"numpy\"}",
		"{\"dtype\":\"'<f8'\",\"shape\":[NaN],\"container\":\"numpy\"}",
		"{\"dtype\":\"'<f8'\",\"shape\":[3],\"order\":\"A\",\"container\":\"numpy\"}",
	};
	struct bpk_array array;
	bool is_array;

	(void)state;
	for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
		struct bpk_err err = { 0 };

		assert_int_equal(
			bpk_array_from_metadata(view_of(others[i]), &array, &is_array, NULL, &err),
			0);
		assert_false(is_array);
	}
	for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
		struct bpk_err err = { 0 };

		if (bpk_array_from_metadata(view_of(broken[i]), &array, &is_array, NULL, &err) == 0)
			fail_msg("taken for an array: %s", broken[i]);
		assert_int_equal(err.kind, BPK_USAGE);
		assert_null(array.dtype.fields);
	}
}

static void test_rows(void **state)
{
	static const struct {
		const char *text, *becomes; /* for 12 bytes; NULL: not whole rows */
	} cases[] = {
		{ "{\"dtype\":\"'|u1'\",\"shape\":[3],\"container\":\"numpy\"}",
		  "{\"dtype\":\"'|u1'\",\"shape\":[12],\"container\":\"numpy\"}" },
		{ " {\"a\":{\"shape\":[1]},\"sh\\u0061pe\"\t: [ 100000000 ,\n2,3 "
		  "],\"dtype\":\"<u2\",\"z\":1e5,"
		  "\"container\":\"numpy\"} ",
		  " {\"a\":{\"shape\":[1]},\"sh\\u0061pe\"\t: [ 1 ,\n2,3 "
		  "],\"dtype\":\"<u2\",\"z\":1e5,"
		  "\"container\":\"numpy\"} " },
		{ "{\"dtype\":\"'<f8'\",\"shape\":[3],\"container\":\"numpy\"}", NULL },
		{ "{\"dtype\":\"'|u1'\",\"shape\":[3,0],\"container\":\"numpy\"}", NULL },
		{ "{\"dtype\":\"'|u1'\",\"shape\":[],\"container\":\"numpy\"}", NULL },
		{ "{\"dtype\":\"'|u1'\",\"shape\":[3],\"order\":\"F\",\"container\":\"numpy\"}",
		  NULL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct bpk_view text = view_of(cases[i].text);
		struct bpk_array array;
		struct bpk_err err = { 0 };
		struct bpk_buf out = { 0 };
		bool is_array;
		uint64_t rows;

		assert_int_equal(bpk_array_from_metadata(text, &array, &is_array, NULL, &err), 0);
		assert_true(is_array);
		assert_int_equal(bpk_array_count_rows(&array, 12, &rows), cases[i].becomes != NULL);
		if (cases[i].becomes != NULL) {
			assert_int_equal(bpk_array_set_rows(text, rows, &out, &err), 0);
			assert_int_equal(out.size, strlen(cases[i].becomes));
			assert_memory_equal(out.data, cases[i].becomes, out.size);
		}
		bpk_buf_clear(&out);
		bpk_array_clear(&array);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_scalars),     cmocka_unit_test(test_native_order),
		cmocka_unit_test(test_records),     cmocka_unit_test(test_no_types),
		cmocka_unit_test(test_many_fields), cmocka_unit_test(test_shapes),
		cmocka_unit_test(test_metadata),    cmocka_unit_test(test_other_metadata),
		cmocka_unit_test(test_rows),
	};

	return UNIT_RUN(tests);
}
