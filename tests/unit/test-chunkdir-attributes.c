/*
 * Element types and metadata are stored in a chunked directory and read back unchanged.
 */
#include "unit/unit.h"

#include "format/chunkdir/chunkdir.h"

static struct bpk_view text_of(const char *text)
{
	return bpk_view(text, strlen(text));
}

static void check_text(const struct bpk_buf *buf, const char *expected)
{
	if (buf->size != strlen(expected) ||
	    (buf->size > 0 && memcmp(buf->data, expected, buf->size) != 0))
		fail_msg("\"%.*s\", expected \"%s\"", (int)buf->size, (const char *)buf->data,
			 expected);
}

static struct bpk_array make_array(const char *dtype, const uint64_t *shape, size_t n, bool fortran)
{
	struct bpk_array array = { 0 };
	struct bpk_err err = { 0 };

	if (bpk_dtype_parse(text_of(dtype), &array.dtype, &err) != 0 ||
	    bpk_array_set_shape(&array, shape, n, &err) != 0)
		fail_msg("%s", err.text);
	array.fortran = fortran;
	return array;
}

/* Store and read back. with_shape: the array is stored flat, with its shape in the attributes. */
static void check_carried(const struct bpk_array *array, bool with_shape, const char *metadata,
			  const char *attributes, const char *back)
{
	struct bpk_chunkdir_attributes carried = { 0 };
	struct bpk_buf text = { 0 };
	struct bpk_err err = { 0 };
	struct bpk_array stored = { 0 };
	uint64_t items = 5;

	if (bpk_chunkdir_attributes_make(array, with_shape, text_of(metadata), &text, &err) != 0)
		fail_msg("%s", err.text);
	check_text(&text, attributes);
	if (array == NULL) {
		stored = make_array("|u1", &items, 1, false);
	} else {
		assert_int_equal(bpk_array_copy(array, &stored, &err), 0);
		items = array->size / array->dtype.size;
		if (with_shape)
			assert_int_equal(bpk_array_set_shape(&stored, &items, 1, &err), 0);
	}
	if (bpk_chunkdir_attributes_read(&stored, true, bpk_buf_view(&text), &carried, &err) != 0)
		fail_msg("%s", err.text);
	assert_int_equal(carried.has_metadata, *back != '\0');
	check_text(&carried.metadata, back);
	assert_int_equal(carried.has_array, array != NULL);
	assert_int_equal(carried.has_numpy, with_shape);
	if (array != NULL) {
		assert_int_equal(carried.array.ndimensions, array->ndimensions);
		assert_memory_equal(carried.array.shape, array->shape,
				    array->ndimensions * sizeof *array->shape);
		assert_int_equal(carried.array.fortran, array->fortran);
		assert_int_equal(carried.array.size, array->size);
	}
	bpk_chunkdir_attributes_clear(&carried);
	bpk_array_clear(&stored);
	bpk_buf_clear(&text);
}

static void bytes_and_their_metadata_come_back(void **state)
{
	(void)state;
	check_carried(NULL, false, "", "{}", "");
	check_carried(NULL, false, "{\"temp\": 22.50}", "{\"temp\": 22.50}", "{\"temp\": 22.50}");
	check_carried(NULL, false, "{ \"a\" : 1 }", "{ \"a\" : 1 }", "{ \"a\" : 1 }");
	check_carried(NULL, false, "[1,2]", "{\"bpk_metadata\": [1,2]}", "[1,2]");
	check_carried(NULL, false, " 7\n", "{\"bpk_metadata\":  7\n}", " 7\n");
	check_carried(NULL, false, "{}", "{\"bpk_metadata\": {}}", "{}");
	check_carried(NULL, false, "{\"a\":1}\n", "{\"bpk_metadata\": {\"a\":1}\n}", "{\"a\":1}\n");
	check_carried(NULL, false, "\"bpk_metadata\"", "{\"bpk_metadata\": \"bpk_metadata\"}",
		      "\"bpk_metadata\"");
	/* objects that resemble our own members */
	check_carried(NULL, false, "{\"numpy\":{\"shape\":[5],\"order\":\"C\"}}",
		      "{\"bpk_metadata\": {\"numpy\":{\"shape\":[5],\"order\":\"C\"}}}",
		      "{\"numpy\":{\"shape\":[5],\"order\":\"C\"}}");
	check_carried(NULL, false, "{\"bpk_metadata\": 3}",
		      "{\"bpk_metadata\": {\"bpk_metadata\": 3}}", "{\"bpk_metadata\": 3}");
}

#define NUMPY_F8 "{\"dtype\":\"'<f8'\",\"shape\":[2,3],\"order\":\"C\",\"container\":\"numpy\""

static void arrays_are_told_anew(void **state)
{
	static const uint64_t shape[] = { 2, 3 };
	struct bpk_array array = make_array("<f8", shape, 2, false);

	(void)state;
	check_carried(&array, false, "", "{}", NUMPY_F8 "}");
	check_carried(&array, false, NUMPY_F8 "}", "{}", NUMPY_F8 "}");
	check_carried(&array, false, NUMPY_F8 ", \"temp\": 1 }", "{ \"temp\": 1 }",
		      NUMPY_F8 ", \"temp\": 1 }");
	check_carried(&array, false, "{\"temp\":1}", "{\"temp\":1}", NUMPY_F8 ",\"temp\":1}");
	check_carried(&array, false, "[1]", "{\"bpk_metadata\": [1]}",
		      NUMPY_F8 ",\"bpk_metadata\": [1]}");
	bpk_array_clear(&array);
}

static void other_spellings_are_kept(void **state)
{
	static const char spelled[] = "{\"shape\": [2, 3], \"dtype\": \"'<f8'\", \"order\": \"C\", "
				      "\"container\": \"numpy\", \"temp\": 1}";
	static const uint64_t shape[] = { 2, 3 }, grown[] = { 4, 3 };
	struct bpk_array array = make_array("<f8", shape, 2, false);
	struct bpk_array more = make_array("<f8", grown, 2, false);
	struct bpk_chunkdir_attributes carried = { 0 };
	struct bpk_buf attributes = { 0 };
	struct bpk_err err = { 0 };

	(void)state;
	assert_int_equal(bpk_buf_printf(&attributes, &err, "{\"bpk_metadata\": %s}", spelled), 0);
	assert_int_equal(bpk_buf_append(&attributes, bpk_view("", 1), &err), 0);
	check_carried(&array, false, spelled, (const char *)attributes.data, spelled);
	/* rows added since are counted */
	attributes.size--;
	assert_int_equal(bpk_chunkdir_attributes_read(&more, true, bpk_buf_view(&attributes),
						      &carried, &err),
			 0);
	check_text(&carried.metadata, "{\"shape\": [4,3], \"dtype\": \"'<f8'\", \"order\": \"C\", "
				      "\"container\": \"numpy\", \"temp\": 1}");
	bpk_chunkdir_attributes_clear(&carried);
	bpk_buf_clear(&attributes);
	bpk_array_clear(&array);
	bpk_array_clear(&more);
}

static void shapes_that_sizes_cannot_tell(void **state)
{
	static const uint64_t shape[] = { 2, 3 }, five[] = { 5 };
	struct bpk_array fortran = make_array("<f8", shape, 2, true);
	struct bpk_array bytes = make_array("|u1", five, 1, false);
	struct bpk_array single = make_array("<i4", NULL, 0, false);
	struct bpk_array named = make_array("[('x', '<f4'), ('y', '|S3')]", shape, 2, false);

	(void)state;
	check_carried(&fortran, true, "", "{\"numpy\": {\"shape\": [2, 3], \"order\": \"F\"}}",
		      "{\"dtype\":\"'<f8'\",\"shape\":[2,3],\"order\":\"F\","
		      "\"container\":\"numpy\"}");
	check_carried(&fortran, true, "{\"a\": 1}",
		      "{\"numpy\": {\"shape\": [2, 3], \"order\": \"F\"}, \"a\": 1}",
		      "{\"dtype\":\"'<f8'\",\"shape\":[2,3],\"order\":\"F\","
		      "\"container\":\"numpy\",\"a\": 1}");
	check_carried(&bytes, true, "", "{\"numpy\": {\"shape\": [5], \"order\": \"C\"}}",
		      "{\"dtype\":\"'|u1'\",\"shape\":[5],\"order\":\"C\","
		      "\"container\":\"numpy\"}");
	check_carried(&single, true, "", "{\"numpy\": {\"shape\": [], \"order\": \"C\"}}",
		      "{\"dtype\":\"'<i4'\",\"shape\":[],\"order\":\"C\","
		      "\"container\":\"numpy\"}");
	check_carried(&named, true, "", "{\"numpy\": {\"shape\": [2, 3], \"order\": \"C\"}}",
		      "{\"dtype\":\"[('x', '<f4'), ('y', '|S3')]\",\"shape\":[2,3],"
		      "\"order\":\"C\",\"container\":\"numpy\"}");
	bpk_array_clear(&fortran);
	bpk_array_clear(&bytes);
	bpk_array_clear(&single);
	bpk_array_clear(&named);
}

/* The shape read back when nitems are stored flat and the attributes give another shape. */
static void check_grown(uint64_t nitems, const char *numpy, size_t n, uint64_t first, uint64_t last)
{
	struct bpk_array stored = make_array("<f8", &nitems, 1, false);
	struct bpk_chunkdir_attributes carried = { 0 };
	struct bpk_err err = { 0 };

	if (bpk_chunkdir_attributes_read(&stored, true, text_of(numpy), &carried, &err) != 0)
		fail_msg("%s", err.text);
	assert_int_equal(carried.array.ndimensions, n);
	assert_int_equal(carried.array.shape[0], first);
	assert_int_equal(carried.array.shape[n - 1], last);
	assert_int_equal(carried.array.size, 8 * nitems);
	bpk_chunkdir_attributes_clear(&carried);
	bpk_array_clear(&stored);
}

static void the_slowest_dimension_grows(void **state)
{
	(void)state;
	check_grown(6, "{\"numpy\": {\"shape\": [2, 3], \"order\": \"C\"}}", 2, 2, 3);
	check_grown(12, "{\"numpy\": {\"shape\": [2, 3], \"order\": \"C\"}}", 2, 4, 3);
	check_grown(12, "{\"numpy\": {\"shape\": [2, 3], \"order\": \"F\"}}", 2, 2, 6);
	check_grown(7, "{\"numpy\": {\"shape\": [2, 3], \"order\": \"C\"}}", 1, 7, 7);
	check_grown(0, "{\"numpy\": {\"shape\": [0, 3], \"order\": \"C\"}}", 2, 0, 3);
	check_grown(0, "{\"numpy\": {\"shape\": [3, 0], \"order\": \"C\"}}", 2, 3, 0);
	check_grown(6, "{\"numpy\": {\"shape\": [3, 0], \"order\": \"C\"}}", 1, 6, 6);
	/* invalid shapes are ignored */
	check_grown(6, "{\"numpy\": {\"shape\": [2, -3], \"order\": \"C\"}}", 1, 6, 6);
	check_grown(6, "{\"numpy\": {\"shape\": [2, 3], \"order\": \"K\"}}", 1, 6, 6);
	check_grown(6, "{\"numpy\": {\"shape\": {}, \"order\": \"C\"}}", 1, 6, 6);
	check_grown(6, "{\"numpy\": 3}", 1, 6, 6);
	check_grown(4, "{\"numpy\": {\"shape\": [4294967296, 4294967296, 4], \"order\": \"F\"}}", 1,
		    4, 4);
}

static void foreign_attributes(void **state)
{
	struct bpk_chunkdir_attributes carried = { 0 };
	static const uint64_t shape[] = { 2, 3 };
	struct bpk_array array = make_array("<f8", shape, 2, false);
	struct bpk_err err = { 0 };

	(void)state;
	/* bloscpack's own name beside an array */
	assert_int_equal(bpk_chunkdir_attributes_read(&array, true,
						      text_of(" {\"shape\": \"round\"}\n"),
						      &carried, &err),
			 0);
	check_text(&carried.metadata, NUMPY_F8 ",\"bpk_metadata\": {\"shape\": \"round\"}}");
	bpk_chunkdir_attributes_clear(&carried);
	/* "numpy" after other members */
	assert_int_equal(bpk_chunkdir_attributes_read(
				 &array, true, text_of("{\"a\": 1, \"numpy\": {}, \"b\": 2}"),
				 &carried, &err),
			 0);
	check_text(&carried.metadata, NUMPY_F8 ",\"a\": 1, \"b\": 2}");
	bpk_chunkdir_attributes_clear(&carried);
	/* empty attributes */
	assert_int_equal(bpk_chunkdir_attributes_read(&array, true, text_of(""), &carried, &err),
			 0);
	check_text(&carried.metadata, NUMPY_F8 "}");
	bpk_chunkdir_attributes_clear(&carried);
	bpk_array_clear(&array);
}

static void damaged_metadata_are_refused(void **state)
{
	struct bpk_buf text = { 0 }, large = { 0 };
	struct bpk_err err = { 0 };

	(void)state;
	assert_int_equal(bpk_chunkdir_attributes_make(NULL, false, text_of("{\"a\":"), &text, &err),
			 -1);
	assert_int_equal(err.kind, BPK_CORRUPT);
	assert_int_equal(bpk_buf_resize(&large, BPK_CHUNKDIR_MAX_ATTRIBUTES, &err), 0);
	memset(large.data, ' ', large.size);
	assert_int_equal(
		bpk_chunkdir_attributes_make(NULL, false, bpk_buf_view(&large), &text, &err), -1);
	assert_int_equal(err.kind, BPK_LIMIT);
	bpk_buf_clear(&large);
	bpk_buf_clear(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bytes_and_their_metadata_come_back),
		cmocka_unit_test(arrays_are_told_anew),
		cmocka_unit_test(other_spellings_are_kept),
		cmocka_unit_test(shapes_that_sizes_cannot_tell),
		cmocka_unit_test(the_slowest_dimension_grows),
		cmocka_unit_test(foreign_attributes),
		cmocka_unit_test(damaged_metadata_are_refused),
	};

	return UNIT_RUN(tests);
}
