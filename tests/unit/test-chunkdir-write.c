/*
 * Writing chunked directories: the examples of the specification byte for byte, the content read
 * back, and independence of threads and of an unknown length.
 */
#include "unit/chunkdir.h"

static char folder[64];
static char path[96], other[96];

/* ---- The examples ("Examples") ---- */

static const uint8_t ten[] = { 0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 4, 0, 0, 0,
			       5, 0, 0, 0, 6, 0, 0, 0, 7, 0, 0, 0, 8, 0, 0, 0, 9, 0, 0, 0 };

static void check_hex(const char *name, const char *hex)
{
	struct bpk_buf bytes = chunkdir_slurp(path, name);
	char text[512];

	assert_true(2 * bytes.size < sizeof text);
	for (size_t i = 0; i < bytes.size; i++)
		snprintf(text + 2 * i, 3, "%02x", bytes.data[i]);
	text[2 * bytes.size] = '\0';
	assert_string_equal(text, hex);
	bpk_buf_clear(&bytes);
}

/* The file begins with text; whole: and ends there. */
static void check_start(const char *name, const char *text, bool whole)
{
	struct bpk_buf bytes = chunkdir_slurp(path, name);

	assert_int_equal(bpk_buf_append(&bytes, bpk_view("", 1), NULL), 0);
	if (strncmp((const char *)bytes.data, text, strlen(text)) != 0 ||
	    (whole && bytes.size != strlen(text) + 1))
		fail_msg("%s is %s, expected %s", name, (const char *)bytes.data, text);
	bpk_buf_clear(&bytes);
}

static void write_or_fail(struct bpk_view raw, const struct chunkdir_way *way)
{
	struct bpk_err err = { 0 };

	if (chunkdir_write(path, raw, way, &err) != 0)
		fail_msg("%s", err.text);
}

static void test_example_of_blaze(void **state)
{
	struct chunkdir_way way = { .dtype = "<i4",
				    .ndimensions = 1,
				    .shape = { 10 },
				    .metadata = "{\"temp\": 22.5}",
				    .codec = "blosclz",
				    .typesize = 4,
				    .checksum = "adler32",
				    .chunk_size = 16,
				    .superchunk_size = 32 };

	(void)state;
	for (int unsized = 0; unsized < 2; unsized++) {
		way.unsized = unsized;
		write_or_fail(bpk_view(ten, sizeof ten), &way);
		check_start("meta/sizes", "{\"shape\": [10], \"nbytes\": 40, \"cbytes\": 188, ",
			    false);
		check_start(
			"meta/storage",
			"{\"dtype\": \"int32\", \"cparams\": {\"shuffle\": true, \"clevel\": 5, "
			"\"cname\": \"blosclz\"}, \"chunklen\": 4, \"dflt\": 0, "
			"\"expectedlen\": 10, \"superchunksize\": 2}\n",
			true);
		check_start("meta/attributes", "{\"temp\": 22.5}\n", true);
		check_hex("data/__1__.bin",
			  "626c706b030101041000000010000000020000000000000000000000000000003000"
			  "00000000000054000000000000000201130410000000100000002000000000000000"
			  "010000000200000003000000610015090201130410000000100000002000000004000"
			  "0000500000006000000070000007100b509");
		check_hex("data/__2__.bin",
			  "626c706b030101041000000008000000010000000000000000000000000000002800"
			  "00000000000002011304080000000800000018000000080000000900000054"
			  "00f904");
		chunkdir_check(path, bpk_view(ten, sizeof ten));
	}
}

static void test_example_of_bcolz(void **state)
{
	struct chunkdir_way way = { .dtype = "<i4",
				    .ndimensions = 1,
				    .shape = { 10 },
				    .metadata = "{\"temp\": 22.5}",
				    .layout = "bcolz",
				    .typesize = 4,
				    .chunk_size = 16 };

	(void)state;
	write_or_fail(bpk_view(ten, sizeof ten), &way);
	check_start("__attrs__", "{\"temp\": 22.5}\n", true);
	check_start("meta/sizes", "{\"shape\": [10], \"nbytes\": 40, \"cbytes\": 136, ", false);
	check_start(
		"meta/storage",
		"{\"dtype\": \"int32\", \"cparams\": {\"clevel\": 5, \"shuffle\": 1, \"cname\": "
		"\"lz4\", \"quantize\": 0}, \"chunklen\": 4, \"expectedlen\": 10, \"dflt\": "
		"0}\n",
		true);
	check_hex("data/__0.blp",
		  "626c706b010000000100000000000000020133041000000010000000200000000"
		  "0000000010000000200000003000000");
	check_hex("data/__2.blp",
		  "626c706b0100000001000000000000000201330408000000080000001800000008"
		  "00000009000000");
	chunkdir_check(path, bpk_view(ten, sizeof ten));
}

static void test_table_of_bcolz(void **state)
{
	struct chunkdir_way way = { .dtype = "[('x', '<i4'), ('y', '>f8', (2,)), ('s', '|S3')]",
				    .ndimensions = 1,
				    .shape = { 10 },
				    .layout = "bcolz",
				    .chunk_size = 4 * 23 };
	struct bpk_buf raw = { 0 };

	(void)state;
	chunkdir_fill(&raw, 230, 1);
	write_or_fail(bpk_buf_view(&raw), &way);
	check_start("__rootdirs__", "{\"names\": [\"x\", \"y\", \"s\"]}\n", true);
	check_start("__attrs__", "{}\n", true);
	check_start("y/__attrs__", "{}\n", true);
	check_start("y/meta/sizes", "{\"shape\": [10, 2], \"nbytes\": 160, ", false);
	check_start("y/meta/storage", "{\"dtype\": \">f8\", ", false);
	check_start("s/meta/storage", "{\"dtype\": \"|S3\", ", false);
	check_start("s/data/__2.blp", "blpk", false);
	chunkdir_check(path, bpk_buf_view(&raw));
	bpk_buf_clear(&raw);
}

/* ---- Writing and reading ---- */

struct shape_case {
	const char *dtype;
	size_t ndimensions;
	uint64_t shape[4];
	bool fortran;
	uint64_t chunk_size; /* whole rows unless stated otherwise */
	bool no_bcolz;
};

static const struct shape_case cases[] = {
	{ NULL, 0, { 0 }, false, 1000, false },
	{ "<f8", 1, { 1250 }, false, 800, false },
	{ "<f8", 1, { 1250 }, false, 10000, false },
	{ "<f8", 1, { 1 }, false, 800, false },
	{ "<f8", 1, { 0 }, false, 800, false },
	{ "|u1", 1, { 999 }, false, 100, false },
	{ "|b1", 1, { 1000 }, false, 100, false },
	{ ">i2", 2, { 100, 7 }, false, 140, false },
	{ "<f4", 3, { 10, 5, 6 }, false, 240, false },
	{ "<f4", 3, { 10, 5, 6 }, false, 100, false }, /* chunks cut rows */
	{ "<f4", 2, { 10, 6 }, true, 80, false },
	{ "<f4", 1, { 60 }, true, 80, false },
	{ "<c16", 0, { 0 }, false, 16, false },
	{ "<f4", 2, { 0, 6 }, false, 240, false },
	{ "<f4", 2, { 6, 0 }, false, 240, false },
	{ "|S5", 1, { 100 }, false, 55, false },
	{ "<U3", 1, { 100 }, false, 120, false },
	{ "<M8[ns]", 1, { 100 }, false, 80, false },
	{ "|V300", 1, { 30 }, false, 1200, false },
	{ "[('x', '<f4'), ('y', '<i8')]", 1, { 100 }, false, 120, false },
	{ "[('x', '<f4'), ('y', '<i8')]", 1, { 0 }, false, 120, false },
	{ "[('x', '<f4'), ('y', '<i8')]", 2, { 10, 5 }, false, 120, false },
	{ "[('p', [('x', '<f4'), ('q', [('u', '|u1'), ('v', '<U2')])]), ('t', '<f8', (3,)), "
	  "('r', [('a', '|u1'), ('b', '<i2')], (2,))]",
	  1,
	  { 100 },
	  false,
	  43 * 7,
	  true },
};

static struct chunkdir_way way_of(const struct shape_case *c)
{
	struct chunkdir_way way = { .dtype = c->dtype,
				    .ndimensions = c->ndimensions,
				    .fortran = c->fortran,
				    .chunk_size = c->chunk_size,
				    .superchunk_size = 3 * c->chunk_size };

	memcpy(way.shape, c->shape, sizeof way.shape);
	return way;
}

/* info returns the array as it was given. */
static void check_array(const struct chunkdir_way *way)
{
	struct bpk_buf expected = { 0 }, found = { 0 };
	struct chunkdir_input input;
	struct bpk_array array;
	struct bpk_err err = { 0 };

	assert_int_equal(chunkdir_open(path, &input, &err), 0);
	if (chunkdir_array(way, &array)) {
		assert_non_null(input.info->array.type);
		assert_int_equal(bpk_array_print(&array, &expected, &err), 0);
		assert_int_equal(bpk_array_print(input.info->array.type, &found, &err), 0);
		assert_int_equal(found.size, expected.size);
		assert_memory_equal(found.data, expected.data, found.size);
		assert_int_equal(input.info->metadata.text.size, expected.size);
		assert_memory_equal(input.info->metadata.text.data, expected.data, expected.size);
	} else {
		assert_null(input.info->array.type);
		assert_false(input.info->metadata.given);
	}
	chunkdir_close(&input);
	bpk_array_clear(&array);
	bpk_buf_clear(&expected);
	bpk_buf_clear(&found);
}

static void make_raw(const struct chunkdir_way *way, struct bpk_buf *raw)
{
	struct bpk_array array;

	chunkdir_fill(raw, chunkdir_array(way, &array) ? array.size : 4567, 7);
	bpk_array_clear(&array);
}

/* One thread and eight, a known length and an unknown one write the same files. */
static void check_ways(struct chunkdir_way way, struct bpk_view raw)
{
	struct bpk_buf first = { 0 }, again;

	for (int i = 0; i < 4; i++) {
		way.unsized = i & 1;
		way.threads = i & 2 ? 8 : 1;
		write_or_fail(raw, &way);
		chunkdir_check(path, raw);
		check_array(&way);
		again = chunkdir_listing(path, false);
		if (i == 0) {
			first = again;
			continue;
		}
		assert_int_equal(again.size, first.size);
		assert_memory_equal(again.data, first.data, first.size);
		bpk_buf_clear(&again);
	}
	bpk_buf_clear(&first);
}

static void test_shapes_come_back(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct chunkdir_way way = way_of(&cases[i]);
		struct bpk_buf raw = { 0 };

		make_raw(&way, &raw);
		check_ways(way, bpk_buf_view(&raw));
		way.layout = "bcolz";
		if (!cases[i].no_bcolz)
			check_ways(way, bpk_buf_view(&raw));
		bpk_buf_clear(&raw);
	}
}

static void test_every_checksum(void **state)
{
	struct bpk_buf raw = { 0 };

	(void)state;
	chunkdir_fill(&raw, 5000, 3);
	for (const struct bpk_checksum *c = bpk_checksums; c->name != NULL; c++) {
		struct chunkdir_way way = { .checksum = c->name,
					    .chunk_size = 300,
					    .superchunk_size = 1000 };
		struct chunkdir_input input;
		struct bpk_err err = { 0 };

		write_or_fail(bpk_buf_view(&raw), &way);
		chunkdir_check(path, bpk_buf_view(&raw));
		assert_int_equal(chunkdir_open(path, &input, &err), 0);
		assert_ptr_equal(input.info->chunks.checksum, c);
		assert_int_equal(input.info->directory.superchunk_chunks, 3);
		assert_int_equal(input.info->directory.nfiles, 6);
		chunkdir_close(&input);
		way.dtype = "[('x', '<i2'), ('y', '<f8')]";
		way.ndimensions = 1;
		way.shape[0] = 500;
		write_or_fail(bpk_buf_view(&raw), &way);
		chunkdir_check(path, bpk_buf_view(&raw));
	}
	bpk_buf_clear(&raw);
}

/* ---- Refused datasets ---- */

static void check_refused(struct chunkdir_way way, size_t size, enum bpk_kind kind,
			  const char *line)
{
	struct bpk_buf raw = { 0 };
	struct bpk_err err = { 0 };

	chunkdir_fill(&raw, size, 5);
	assert_int_equal(chunkdir_write(path, bpk_buf_view(&raw), &way, &err), -1);
	assert_string_equal(err.text, line);
	assert_int_equal(err.kind, kind);
	assert_int_equal(access(path, F_OK), -1);
	bpk_buf_clear(&raw);
}

static void test_refusals(void **state)
{
	static const struct chunkdir_way floats = {
		.dtype = "<f8", .ndimensions = 1, .shape = { 10 }, .chunk_size = 24
	};
	struct chunkdir_way way = floats;

	(void)state;
	way.chunk_size = 20;
	check_refused(way, 80, BPK_USAGE, "chunks of 20 bytes do not hold whole items of 8");
	way = floats;
	way.layout = "parquet";
	check_refused(way, 80, BPK_USAGE, "no layout \"parquet\", expected blaze or bcolz");
	way = floats;
	way.chunk_size = BPK_UNKNOWN;
	check_refused(way, 80, BPK_UNSUPPORTED,
		      "chunks of differing sizes cannot be stored in a chunked directory");
	way = floats;
	way.unsized = true;
	check_refused(way, 81, BPK_FAILED, "81 bytes are not whole rows of 8");
	way.dtype = "[('a', [('x', '<f4'), ('y', '<f4')])]";
	way.layout = "bcolz";
	way.unsized = false;
	check_refused(way, 80, BPK_UNSUPPORTED,
		      "column a is a record itself, which bcolz tables cannot hold; the layout "
		      "blaze can");
	way.layout = NULL;
	way.dtype = "[('a/b', '<f4'), ('y', '<f4')]";
	check_refused(way, 80, BPK_UNSUPPORTED,
		      "column \"a/b\" has a name that is not valid for a folder");
}

/* ---- Geometry ---- */

static void test_files_hold_16_mib(void **state)
{
	struct chunkdir_way way = { .chunk_size = 1 << 20, .codec = "lz4", .threads = 2 };
	struct bpk_buf raw = { 0 };
	struct chunkdir_input input;
	struct bpk_err err = { 0 };

	(void)state;
	assert_int_equal(bpk_buf_resize(&raw, (33 << 20) + 1, &err), 0);
	memset(raw.data, 7, raw.size);
	write_or_fail(bpk_buf_view(&raw), &way);
	assert_int_equal(chunkdir_open(path, &input, &err), 0);
	assert_int_equal(input.info->directory.superchunk_chunks, 16);
	assert_int_equal(input.info->directory.nfiles, 3);
	chunkdir_close(&input);
	/* small chunks of large data: the number of files is limited */
	way.chunk_size = 64;
	way.superchunk_size = 0;
	raw.size = 64 * 40000;
	write_or_fail(bpk_buf_view(&raw), &way);
	assert_int_equal(chunkdir_open(path, &input, &err), 0);
	assert_int_equal(input.info->directory.nfiles, 1);
	chunkdir_close(&input);
	bpk_buf_clear(&raw);
}

/* ---- Damage that verify finds ---- */

static void full_name(char full[256], const char *name)
{
	snprintf(full, 256, "%s/%s", path, name);
}

static void check_found(const char *what)
{
	struct bpk_err err = { 0 };
	int remarks;

	if (chunkdir_verify(path, &remarks, &err) == 0)
		fail_msg("%s was not found", what);
	print_message("# %s: %s\n", what, err.text);
}

static void swap_files(const char *a, const char *b)
{
	char left[256], right[256];

	full_name(left, a);
	full_name(right, b);
	snprintf(other, sizeof other, "%s/aside", folder);
	assert_int_equal(rename(left, other), 0);
	assert_int_equal(rename(right, left), 0);
	assert_int_equal(rename(other, right), 0);
}

static void test_swapped_files_are_found(void **state)
{
	struct chunkdir_way way = { .chunk_size = 100, .superchunk_size = 300 };
	struct bpk_buf raw = { 0 };
	char name[256];

	(void)state;
	chunkdir_fill(&raw, 3000, 11);
	write_or_fail(bpk_buf_view(&raw), &way);
	swap_files("data/__2__.bin", "data/__3__.bin");
	check_found("a swap of files");
	swap_files("data/__2__.bin", "data/__3__.bin");
	chunkdir_check(path, bpk_buf_view(&raw));
	full_name(name, "data/__4__.bin");
	assert_int_equal(unlink(name), 0);
	check_found("a missing file");
	way.dtype = "[('x', '<f4'), ('y', '<f4')]";
	way.ndimensions = 1;
	way.shape[0] = 375;
	way.chunk_size = 104;
	write_or_fail(bpk_buf_view(&raw), &way);
	swap_files("data/x/__1__.bin", "data/y/__1__.bin");
	check_found("a swap of columns");
	bpk_buf_clear(&raw);
}

/* With every bit of a meta file flipped: verify finds it, or the dataset reads as before. */
static void turn_bits(const char *name, struct bpk_view raw)
{
	struct bpk_buf bytes = chunkdir_slurp(path, name);
	unsigned found = 0, harmless = 0;
	char full[256];

	full_name(full, name);
	for (size_t bit = 0; bit < 8 * bytes.size; bit++) {
		FILE *file = fopen(full, "r+b");
		struct bpk_err err = { 0 };
		int remarks;

		assert_non_null(file);
		bytes.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
		assert_int_equal(fwrite(bytes.data, 1, bytes.size, file), bytes.size);
		fclose(file);
		bytes.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
		if (chunkdir_verify(path, &remarks, &err) != 0) {
			found++;
			continue;
		}
		harmless++;
		chunkdir_check(path, raw);
	}
	print_message("# %s: %u bits found, %u harmless\n", name, found, harmless);
	assert_true(found > 0);
	FILE *file = fopen(full, "wb");
	assert_non_null(file);
	assert_int_equal(fwrite(bytes.data, 1, bytes.size, file), bytes.size);
	fclose(file);
	bpk_buf_clear(&bytes);
}

static void test_turned_bits_are_found(void **state)
{
	struct chunkdir_way way = { .dtype = "<f8",
				    .ndimensions = 1,
				    .shape = { 125 },
				    .metadata = "{\"temp\": 22.5}",
				    .chunk_size = 104,
				    .superchunk_size = 300 };
	struct bpk_buf raw = { 0 };

	(void)state;
	chunkdir_fill(&raw, 1000, 13);
	write_or_fail(bpk_buf_view(&raw), &way);
	turn_bits("meta/sizes", bpk_buf_view(&raw));
	turn_bits("meta/storage", bpk_buf_view(&raw));
	turn_bits("meta/attributes", bpk_buf_view(&raw));
	chunkdir_check(path, bpk_buf_view(&raw));
	bpk_buf_clear(&raw);
}

static int set_up(void **state)
{
	(void)state;
	snprintf(folder, sizeof folder, "/tmp/bpk-test-XXXXXX");
	if (mkdtemp(folder) == NULL)
		return -1;
	snprintf(path, sizeof path, "%s/set.blpd", folder);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	chunkdir_remove(folder);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_example_of_blaze),
		cmocka_unit_test(test_example_of_bcolz),
		cmocka_unit_test(test_table_of_bcolz),
		cmocka_unit_test(test_shapes_come_back),
		cmocka_unit_test(test_every_checksum),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_files_hold_16_mib),
		cmocka_unit_test(test_swapped_files_are_found),
		cmocka_unit_test(test_turned_bits_are_found),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
