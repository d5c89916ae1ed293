/*
 * GSD files: examples of each version in hex, cut and flipped ones, and real ones.
 */
#include "unit/gsd-bytes.h"

#include <stdio.h>

static float float_at(const uint8_t *bytes, uint64_t offset)
{
	uint32_t bits = bpk_get_le32(bytes + offset);
	float value;

	memcpy(&value, &bits, 4);
	return value;
}

/* ---- Examples of the versions, by their bytes ---- */

#define MAGIC "df65df65df65df65 "

static const struct gsd_row rows_of_1_0[] = {
	{ 0x000, MAGIC "0001000000000000 8000000000000000 0011000000000000 8000000000000000" },
	{ 0x028, "02000100 00000100 62706b2d74657374" },
	{ 0x070, "64656d6f" },
	{ 0x100, "0000000000000000 0200000000000000 0031000000000000 03000000 0000 09 00" },
	{ 0x120, "0000000000000000 0200000000000000 1831000000000000 01000000 0100 03 00" },
	{ 0x140, "0000000000000000 0000000000000000 2031000000000000 01000000 0200 01 00" },
	{ 0x160, "0100000000000000 0100000000000000 2031000000000000 01000000 0100 03 00" },
	{ 0x180, "0100000000000000 0200000000000000 2431000000000000 03000000 0000 09 00" },
	{ 0x1100, "706f73" },
	{ 0x1140, "61" },
	{ 0x1180, "656d707479" },
	{ 0x3100,
	  "0000803f 00000040 00004040 00008040 0000a040 0000c040 07000000 08000000 07000000" },
	{ 0x3124, "00001041 00000040 00004040 00008040 0000a040 0000c040" },
	{ 0, NULL },
};

static const struct gsd_row rows_of_2_1[] = {
	{ 0x000, MAGIC "0001000000000000 8000000000000000 0011000000000000 1000000000000000" },
	{ 0x028, "02000100 01000200 62706b2d74657374" },
	{ 0x070, "64656d6f" },
	{ 0x100, "0000000000000000 0200000000000000 0015000000000000 03000000 0000 09 00" },
	{ 0x120, "0000000000000000 0200000000000000 1815000000000000 01000000 0100 03 00" },
	{ 0x140, "0000000000000000 0000000000000000 2015000000000000 01000000 0200 01 00" },
	{ 0x160, "0100000000000000 0200000000000000 2415000000000000 03000000 0000 09 00" },
	{ 0x180, "0100000000000000 0100000000000000 2015000000000000 01000000 0100 03 00" },
	{ 0x1100, "706f73 00 61 00 656d707479 00 00" },
	{ 0x1500,
	  "0000803f 00000040 00004040 00008040 0000a040 0000c040 07000000 08000000 07000000" },
	{ 0x1524, "00001041 00000040 00004040 00008040 0000a040 0000c040" },
	{ 0, NULL },
};

/* pos and a in both frames, an empty chunk in the first; 1.0 keeps frame 1 in the order of
 * writing. */
static void check_example(const struct gsd_row *rows, size_t size, const char *variant,
			  bool swapped)
{
	uint8_t *bytes = calloc(1, size);
	struct gsd_opened opened;
	struct bpk_item item;

	gsd_put_hex(bytes, rows);
	opened = gsd_open_bytes(bytes, size);
	assert_non_null(opened.layout);
	assert_string_equal(opened.info->kind, "gsd");
	assert_string_equal(opened.info->variant, variant);
	assert_string_equal(opened.info->application, "bpk-test");
	assert_string_equal(opened.info->schema, "demo 1.2");
	assert_int_equal(opened.info->narrays, 5);
	assert_int_equal(opened.info->nframes, 2);
	assert_int_equal(opened.info->last_step, BPK_UNKNOWN);
	assert_null(opened.info->damage);
	gsd_get(&opened, 0, &item);
	gsd_expect(&item, "pos", 0, "<f4", 2, 3, 2);
	assert_true(float_at(bytes, item.offset + 20) == 6);
	gsd_get(&opened, 1, &item);
	gsd_expect(&item, "a", 0, "<u4", 2, 0, 1);
	assert_int_equal(bpk_get_le32(bytes + item.offset + 4), 8);
	gsd_get(&opened, 2, &item);
	gsd_expect(&item, "empty", 0, "|u1", 0, 0, 1);
	assert_int_equal(item.array->size, 0);
	gsd_get(&opened, 3, &item);
	assert_string_equal(item.name, swapped ? "a" : "pos");
	assert_int_equal(gsd_find(&opened, "pos", 1, &item), 0);
	gsd_expect(&item, "pos", 1, "<f4", 2, 3, 2);
	assert_true(float_at(bytes, item.offset) == 9);
	assert_int_equal(item.step, BPK_UNKNOWN);
	assert_int_equal(gsd_find(&opened, "a", 1, &item), 0);
	gsd_expect(&item, "a", 1, "<u4", 1, 0, 1);
	assert_int_equal(gsd_find(&opened, "empty", 1, &item), 1);
	assert_int_equal(gsd_find(&opened, "pos", 2, &item), 1);
	assert_int_equal(gsd_find(&opened, "po", 0, &item), 1);
	assert_int_equal(gsd_find(&opened, "pos", BPK_UNKNOWN, &item), 1);
	gsd_close(&opened);
	free(bytes);
}

static void test_examples(void **state)
{
	(void)state;
	check_example(rows_of_1_0, 12604, "1.0", true);
	check_example(rows_of_2_1, 5436, "2.1", false);
}

/* ---- Any file ---- */

static void test_hurt(void **state)
{
	struct gsd_made made;

	(void)state;
	gsd_small(&made, 0x20000);
	gsd_hurt(made.bytes, made.size);
	gsd_small(&made, 0x10000);
	gsd_hurt(made.bytes, made.size);
}

/* ---- Real files ---- */

static uint64_t check_file(const char *folder, const char *name)
{
	struct gsd_opened opened = { 0 };
	struct bpk_err err = { 0 };
	char path[4096];
	uint64_t narrays;

	snprintf(path, sizeof path, "%s/%s", folder, name);
	if (bpk_source_open(path, &opened.source, &err) != 0 ||
	    bpk_layout_open(opened.source, &opened.layout, &err) != 0)
		fail_msg("%s", err.text);
	assert_non_null(opened.layout);
	opened.info = bpk_layout_info(opened.layout);
	assert_null(opened.info->damage);
	narrays = gsd_check_all(&opened, bpk_source_size(opened.source));
	gsd_close(&opened);
	return narrays;
}

static void test_fixtures(void **state)
{
	const char *root = getenv("BPK_FIXTURES");
	char folder[4000];

	(void)state;
	if (root == NULL)
		skip(); /* BPK_FIXTURES is not set */
	snprintf(folder, sizeof folder, "%s/gsd", root);
	assert_int_equal(check_file(folder, "alltypes.gsd"), 10);
	assert_int_equal(check_file(folder, "manyframes.gsd"), 700);
	assert_int_equal(check_file(folder, "noframes.gsd"), 0);
	assert_int_equal(check_file(folder, "traj.gsd"), 27);
	assert_int_equal(check_file(folder, "v1.gsd"), 635);
}

static void test_samples(void **state)
{
	const char *folder = getenv("BPK_SAMPLES");

	(void)state;
	if (folder == NULL)
		skip(); /* BPK_SAMPLES is not set */
	assert_int_equal(check_file(folder, "example_longer.gsd"), 64);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_examples),
		cmocka_unit_test(test_hurt),
		cmocka_unit_test(test_fixtures),
		cmocka_unit_test(test_samples),
	};

	return UNIT_RUN(tests);
}
