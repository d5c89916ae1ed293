/*
 * NetCDF-3: files of each version built by hand, every cut and flip of them, and a real one.
 */
#include "unit/layout-files.h"

enum { BYTE = 1, CHAR, SHORT, INT, FLOAT, DOUBLE, UBYTE, USHORT, UINT, INT64, UINT64 };

static const size_t type_sizes[] = { 0, 1, 1, 2, 4, 4, 8, 1, 2, 4, 8, 8 };

/* The dimensions of all files here: the record dimension, 3 and 2; and one that does not exist. */
enum { RECORDS, THREE, TWO, NDIMENSIONS, FAR = NDIMENSIONS };

static const uint64_t lengths[NDIMENSIONS + 1] = { 0, 3, 2, 1 };

struct variable {
	const char *name;
	uint32_t type;
	size_t ndimensions;
	uint32_t dimensions[3];
	uint64_t offset; /* set by make_file */
};

struct recipe {
	uint8_t version;
	uint64_t nrecords; /* existing ones */
	uint64_t claimed;
	size_t nvariables;
	struct variable variables[8];
};

static bool in_records(const struct variable *v)
{
	return v->ndimensions > 0 && v->dimensions[0] == RECORDS;
}

/* Bytes of one piece. */
static uint64_t piece_of(const struct variable *v)
{
	uint64_t size = type_sizes[v->type];

	for (size_t i = in_records(v); i < v->ndimensions; i++)
		size *= lengths[v->dimensions[i]];
	return size;
}

static uint64_t padded(uint64_t size)
{
	return (size + 3) / 4 * 4;
}

/* ---- Heads ---- */

static void make_count(struct maker *m, const struct recipe *r, uint64_t value)
{
	make_int(m, value, r->version == 5 ? 8 : 4);
}

static void make_padded(struct maker *m, const struct recipe *r, const char *text)
{
	make_count(m, r, strlen(text));
	make_bytes(m, text, strlen(text));
	make_fill(m, 0, padded(strlen(text)) - strlen(text));
}

static void make_attribute(struct maker *m, const struct recipe *r, const char *name,
			   const char *value)
{
	make_padded(m, r, name);
	make_int(m, CHAR, 4);
	make_padded(m, r, value);
}

static void make_variable(struct maker *m, const struct recipe *r, const struct variable *v)
{
	make_padded(m, r, v->name);
	make_count(m, r, v->ndimensions);
	for (size_t i = 0; i < v->ndimensions; i++)
		make_count(m, r, v->dimensions[i]);
	make_int(m, 12, 4);
	make_count(m, r, 1);
	make_attribute(m, r, "units", "angstrom");
	make_int(m, v->type, 4);
	make_count(m, r, padded(piece_of(v)));
	make_int(m, v->offset, r->version == 1 ? 4 : 8);
}

static void make_head(struct maker *m, const struct recipe *r)
{
	const char *const names[NDIMENSIONS] = { "frame", "three", "two" };

	make_bytes(m, "CDF", 3);
	make_int(m, r->version, 1);
	make_count(m, r, r->claimed);
	make_int(m, 10, 4);
	make_count(m, r, NDIMENSIONS);
	for (size_t i = 0; i < NDIMENSIONS; i++) {
		make_padded(m, r, names[i]);
		make_count(m, r, lengths[i]);
	}
	make_int(m, 12, 4);
	make_count(m, r, 3);
	make_attribute(m, r, "program", "sander");
	make_attribute(m, r, "programVersion", "9.0");
	make_attribute(m, r, "Conventions", "AMBER\n");
	make_int(m, 11, 4);
	make_count(m, r, r->nvariables);
	for (size_t i = 0; i < r->nvariables; i++)
		make_variable(m, r, &r->variables[i]);
}

/* ---- Files ---- */

/* Assign offsets after a head of that size; returns the size of a record. */
static uint64_t place_variables(struct recipe *r, uint64_t at)
{
	uint64_t begin, size = 0;
	size_t count = 0;

	for (size_t i = 0; i < r->nvariables; i++)
		if (!in_records(&r->variables[i])) {
			r->variables[i].offset = at;
			at += padded(piece_of(&r->variables[i]));
		}
	begin = at;
	for (size_t i = 0; i < r->nvariables; i++)
		if (in_records(&r->variables[i])) {
			r->variables[i].offset = at;
			size = piece_of(&r->variables[i]);
			at += padded(size);
			count++;
		}
	return count == 1 ? size : at - begin;
}

/* The head is built without offsets, to find its size, then with them. */
static struct maker make_file(struct recipe *r)
{
	struct maker m = { .big_endian = true };
	uint64_t record_size, end;

	make_head(&m, r);
	record_size = place_variables(r, m.bytes.size);
	m.bytes.size = 0;
	make_head(&m, r);
	end = m.bytes.size;
	for (size_t i = 0; i < r->nvariables; i++)
		end += in_records(&r->variables[i]) ? 0 : padded(piece_of(&r->variables[i]));
	end += record_size * r->nrecords;
	make_fill(&m, 'v', (size_t)(end - m.bytes.size));
	return m;
}

static const struct recipe usual = {
	.nrecords = 2,
	.claimed = 2,
	.nvariables = 6,
	.variables = {
		{ "time", FLOAT, 1, { RECORDS }, 0 },
		{ "label", CHAR, 2, { THREE, TWO }, 0 },
		{ "x", SHORT, 2, { RECORDS, THREE }, 0 },
		{ "scale", DOUBLE, 0, { 0 }, 0 },
		{ "flag", BYTE, 1, { RECORDS }, 0 },
		{ "id", INT, 1, { THREE }, 0 },
	},
};

static void test_three_versions(void **state)
{
	const char *const variants[] = { "classic", "64-bit offset", "64-bit data" };
	const uint8_t versions[] = { 1, 2, 5 };

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct recipe r = usual;
		struct maker m;
		struct opened o;
		uint64_t at;

		r.version = versions[i];
		m = make_file(&r);
		o = open_bytes(bpk_buf_view(&m.bytes));
		assert_non_null(o.layout);
		assert_string_equal(o.info->kind, "netcdf");
		assert_string_equal(o.info->variant, variants[i]);
		assert_string_equal(o.info->application, "sander 9.0");
		assert_string_equal(o.info->schema, "AMBER\\x0a");
		assert_int_equal(o.info->nframes, 2);
		assert_int_equal(o.info->narrays, 3 + 2 * 3);
		assert_int_equal(o.info->last_step, BPK_UNKNOWN);
		assert_null(o.info->damage);
		at = r.variables[1].offset;
		expect_item(&o, 0, "label", BPK_UNKNOWN, BPK_UNKNOWN, at, "|S1", "3,2");
		expect_item(&o, 1, "scale", BPK_UNKNOWN, BPK_UNKNOWN, at + 8, ">f8", "");
		expect_item(&o, 2, "id", BPK_UNKNOWN, BPK_UNKNOWN, at + 16, ">i4", "3");
		expect_item(&o, 3, "time", 0, BPK_UNKNOWN, at + 28, ">f4", "");
		expect_item(&o, 4, "x", 0, BPK_UNKNOWN, at + 32, ">i2", "3");
		expect_item(&o, 7, "x", 1, BPK_UNKNOWN, at + 48, ">i2", "3");
		expect_item(&o, 8, "flag", 1, BPK_UNKNOWN, at + 56, "|i1", "");
		for (uint64_t n = 0; n < o.info->narrays; n++)
			assert_int_equal(check_item(&o, n), 0);
		close_opened(&o);
		bpk_buf_clear(&m.bytes);
	}
}

static void test_types_of_cdf5(void **state)
{
	struct recipe r = { .version = 5,
			    .nvariables = 5,
			    .variables = { { "a", UBYTE, 0, { 0 }, 0 },
					   { "b", USHORT, 0, { 0 }, 0 },
					   { "c", UINT, 0, { 0 }, 0 },
					   { "d", INT64, 0, { 0 }, 0 },
					   { "e", UINT64, 1, { TWO }, 0 } } };
	struct maker m = make_file(&r);
	struct opened o = open_bytes(bpk_buf_view(&m.bytes));
	const char *const types[] = { "|u1", ">u2", ">u4", ">i8", ">u8" };

	(void)state;
	assert_non_null(o.layout);
	assert_int_equal(o.info->nframes, BPK_UNKNOWN);
	assert_int_equal(o.info->narrays, 5);
	for (uint64_t i = 0; i < 5; i++)
		expect_item(&o, i, r.variables[i].name, BPK_UNKNOWN, BPK_UNKNOWN,
			    r.variables[i].offset, types[i], i == 4 ? "2" : "");
	close_opened(&o);
	bpk_buf_clear(&m.bytes);

	r.version = 2; /* it has no such types */
	m = make_file(&r);
	o = open_bytes(bpk_buf_view(&m.bytes));
	assert_null(o.layout);
	close_opened(&o);
	bpk_buf_clear(&m.bytes);
}

static void test_a_single_variable_in_records_has_no_padding(void **state)
{
	struct recipe r = { .version = 1,
			    .nrecords = 3,
			    .claimed = UINT32_MAX, /* as many as the file has */
			    .nvariables = 1,
			    .variables = { { "b", BYTE, 2, { RECORDS, THREE }, 0 } } };
	struct maker m = make_file(&r);
	struct opened o = open_bytes(bpk_buf_view(&m.bytes));

	(void)state;
	assert_non_null(o.layout);
	assert_int_equal(o.info->nframes, 3);
	assert_null(o.info->damage);
	expect_item(&o, 1, "b", 1, BPK_UNKNOWN, r.variables[0].offset + 3, "|i1", "3");
	expect_item(&o, 2, "b", 2, BPK_UNKNOWN, r.variables[0].offset + 6, "|i1", "3");
	close_opened(&o);
	bpk_buf_clear(&m.bytes);
}

/* The usual file without its last bytes. */
static void expect_cut(size_t cut, uint64_t claimed, uint64_t nframes, uint64_t narrays,
		       const char *damage)
{
	struct recipe r = usual;
	struct maker m;
	struct opened o;

	r.version = 2;
	r.claimed = claimed;
	m = make_file(&r);
	o = open_bytes(bpk_view(m.bytes.data, m.bytes.size - cut));
	assert_non_null(o.layout);
	assert_int_equal(o.info->nframes, nframes);
	assert_int_equal(o.info->narrays, narrays);
	if (damage == NULL)
		assert_null(o.info->damage);
	else
		assert_string_equal(o.info->damage, damage);
	for (uint64_t n = 0; n < o.info->narrays; n++)
		assert_int_equal(check_item(&o, n), 0);
	close_opened(&o);
	bpk_buf_clear(&m.bytes);
}

static void test_cut_files(void **state)
{
	(void)state;
	expect_cut(3, 2, 2, 9, NULL); /* only padding is missing */
	expect_cut(4, 2, 1, 6, "record 1 of 2 is cut short");
	expect_cut(4, UINT32_MAX, 1, 6, NULL);
	expect_cut(0, 1, 1, 6, NULL); /* as in the head */
	expect_cut(0, 7, 2, 9, "record 2 of 7 is cut short");
	expect_cut(33, 2, 0, 2, "variable 'id' is cut short: 12 bytes at offset 604");
}

/* The usual file with one byte replaced is plain bytes. */
static void expect_plain(size_t at, uint8_t value)
{
	struct recipe r = usual;
	struct maker m;
	struct opened o;

	r.version = 1;
	m = make_file(&r);
	assert_true(at < m.bytes.size && m.bytes.data[at] != value);
	m.bytes.data[at] = value;
	o = open_bytes(bpk_buf_view(&m.bytes));
	assert_null(o.layout);
	close_opened(&o);
	bpk_buf_clear(&m.bytes);
}

static void test_bad_heads(void **state)
{
	struct recipe r = usual;
	struct maker m;
	struct opened o;

	(void)state;
	expect_plain(3, 3);   /* version */
	expect_plain(11, 11); /* tag of the dimensions */
	expect_plain(15, 4);  /* one dimension more */
	expect_plain(19, 0);  /* an empty name */
	expect_plain(20, 0);  /* a name that begins with a NUL */
	expect_plain(18, 8);  /* a name of 2053 bytes */
	expect_plain(47, 0);  /* a second record dimension */

	r.version = 1;
	r.variables[5].name = "x"; /* two equal names */
	m = make_file(&r);
	o = open_bytes(bpk_buf_view(&m.bytes));
	assert_null(o.layout);
	close_opened(&o);
	bpk_buf_clear(&m.bytes);

	r.variables[5] = (struct variable){ "inner", INT, 2, { THREE, RECORDS }, 0 };
	m = make_file(&r);
	o = open_bytes(bpk_buf_view(&m.bytes));
	assert_null(o.layout);
	close_opened(&o);
	bpk_buf_clear(&m.bytes);

	r.variables[5] = (struct variable){ "far", INT, 1, { FAR }, 0 };
	m = make_file(&r);
	o = open_bytes(bpk_buf_view(&m.bytes));
	assert_null(o.layout);
	close_opened(&o);
	bpk_buf_clear(&m.bytes);
}

static void test_cuts_and_flips(void **state)
{
	const uint8_t versions[] = { 1, 2, 5 };

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct recipe r = usual;
		struct maker m;

		r.version = versions[i];
		m = make_file(&r);
		assert_int_equal(check_bytes(m.bytes.data, m.bytes.size), 9);
		check_cuts_and_flips(bpk_buf_view(&m.bytes));
		bpk_buf_clear(&m.bytes);
	}
}

static void test_a_real_file(void **state)
{
	const char *const names[] = { "time", "coordinates", "cell_lengths", "cell_angles" };
	const char *const shapes[] = { "", "2661,3", "3", "3" };
	struct opened o = open_sample("BPK_SAMPLES", "bala.ncdf");
	uint64_t covered = 0x31c;

	(void)state;
	assert_string_equal(o.info->variant, "64-bit offset");
	assert_string_equal(o.info->application, "sander 9.0");
	assert_string_equal(o.info->schema, "AMBER 1.0");
	assert_int_equal(o.info->nframes, 30);
	assert_int_equal(o.info->narrays, 3 + 30 * 4);
	assert_null(o.info->damage);
	expect_item(&o, 0, "spatial", BPK_UNKNOWN, BPK_UNKNOWN, 0x304, "|S1", "3");
	expect_item(&o, 1, "cell_spatial", BPK_UNKNOWN, BPK_UNKNOWN, 0x308, "|S1", "3");
	expect_item(&o, 2, "cell_angular", BPK_UNKNOWN, BPK_UNKNOWN, 0x30c, "|S1", "3,5");
	for (uint64_t i = 0; i < 30 * 4; i++) {
		const uint64_t sizes[] = { 4, 2661 * 12, 24, 24 };

		expect_item(&o, 3 + i, names[i % 4], i / 4, BPK_UNKNOWN, covered,
			    i % 4 < 2 ? ">f4" : ">f8", shapes[i % 4]);
		covered += sizes[i % 4];
	}
	assert_int_equal(covered, bpk_source_size(o.source));
	close_opened(&o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_three_versions),
		cmocka_unit_test(test_types_of_cdf5),
		cmocka_unit_test(test_a_single_variable_in_records_has_no_padding),
		cmocka_unit_test(test_cut_files),
		cmocka_unit_test(test_bad_heads),
		cmocka_unit_test(test_cuts_and_flips),
		cmocka_unit_test(test_a_real_file),
	};

	return UNIT_RUN(tests);
}
