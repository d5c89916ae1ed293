/*
 * GSD files with damage, or with oddities.
 */
#include "unit/gsd-bytes.h"

/* ---- Headers ---- */

static bool opens(const struct gsd_made *made)
{
	struct gsd_opened opened = gsd_open(made);
	bool known = opened.layout != NULL;

	gsd_close(&opened);
	return known;
}

static void test_versions(void **state)
{
	static const uint32_t known[] = { 3, 0x10000, 0x10009, 0x20000, 0x20001, 0x2004d };
	static const uint32_t unknown[] = { 0, 1, 2, 4, 0xffff, 0x30000, 0x10000000 };
	struct gsd_made made;

	(void)state;
	for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
		gsd_small(&made, known[i]);
		assert_true(opens(&made));
	}
	for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++) {
		gsd_small(&made, unknown[i]);
		assert_false(opens(&made));
	}
	gsd_small(&made, 0x20000);
	for (size_t i = 0; i < 8; i++) /* big-endian */
		made.bytes[i] = i % 2 ? 0xdf : 0x65;
	assert_false(opens(&made));
}

static void test_headers(void **state)
{
	static const struct {
		size_t at;
		uint64_t value;
	} broken[] = {
		{ 8, 0 },           { 8, 255 },         { 8, 1 << 20 },
		{ 8, UINT64_MAX },  { 16, 0 },          { 16, UINT64_MAX / 32 + 2 },
		{ 24, 0 },          { 24, UINT64_MAX }, { 32, 0 },
		{ 32, UINT64_MAX }, { 32, 1ULL << 58 }, { 32, 16384 },
	};
	struct gsd_made made;

	(void)state;
	for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
		gsd_small(&made, 0x20000);
		bpk_put_le64(made.bytes + broken[i].at, broken[i].value);
		if (opens(&made))
			fail_msg("value %zu was accepted", i);
	}
	gsd_small(&made, 0x20000);
	made.bytes[bpk_get_le64(made.bytes + 24) + 63] = 'x';
	assert_false(opens(&made));
	gsd_small(&made, 0x20000);
	memset(made.bytes + 48, 'x', 64);
	assert_false(opens(&made));
}

/* ---- Entries ---- */

/* Open made, whose entry 1 of 3 is damaged: the list ends there, with a report. */
static void check_ends(const struct gsd_made *made, const char *damage)
{
	struct gsd_opened opened = gsd_open(made);

	assert_non_null(opened.layout);
	assert_int_equal(opened.info->narrays, 1);
	assert_int_equal(opened.info->nframes, 1);
	assert_non_null(opened.info->damage);
	assert_non_null(strstr(opened.info->damage, damage));
	gsd_close(&opened);
}

static void test_entries(void **state)
{
	static const struct {
		size_t at, size;
		uint64_t value;
		const char *damage;
	} broken[] = {
		{ 30, 1, 0, "unknown type 0" },           { 30, 1, 12, "unknown type 12" },
		{ 30, 1, 11, "unknown type 11" },         { 31, 1, 1, "flags 1" },
		{ 28, 1, 2, "name 2, the file has 2" },   { 24, 1, 0, "no columns" },
		{ 0, 8, UINT64_MAX, "after frame 0" },    { 8, 8, 1ULL << 62, "2^64 bytes" },
		{ 8, 8, 1000, "4000 bytes of data" },     { 16, 8, 1ULL << 63, "8 bytes of data" },
		{ 16, 8, UINT64_MAX, "8 bytes of data" }, { 16, 8, 100, "in the header" },
		{ 16, 8, 0, "written in part" },
	};
	struct gsd_made made;

	(void)state;
	for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
		uint8_t value[8], *entry;

		gsd_small(&made, 0x20000);
		entry = made.bytes + bpk_get_le64(made.bytes + 8) + 32;
		bpk_put_le64(value, broken[i].value);
		memcpy(entry + broken[i].at, value, broken[i].size);
		check_ends(&made, broken[i].damage);
		memcpy(entry - 32 + broken[i].at, value, broken[i].size);
		if (broken[i].at != 16 || broken[i].value != 0)
			assert_false(opens(&made));
	}
	gsd_small(&made, 0x20000);
	made.size -= 90; /* within entry 1 */
	check_ends(&made, "index of 4 entries is cut short after 1");
}

static void test_descending(void **state)
{
	struct gsd_made made;
	struct gsd_opened opened;

	(void)state;
	gsd_small(&made, 0x20000);
	bpk_put_le64(made.bytes + bpk_get_le64(made.bytes + 8), 5);
	opened = gsd_open(&made);
	assert_int_equal(opened.info->narrays, 1);
	assert_int_equal(opened.info->nframes, 6);
	assert_non_null(strstr(opened.info->damage, "frame 0 after frame 5"));
	gsd_close(&opened);
}

/* ---- Oddities ---- */

static void test_repeated_chunks(void **state)
{
	struct gsd_made made;
	struct gsd_opened opened;
	struct bpk_item item;

	(void)state;
	gsd_begin(&made, 0x20000, "demo", 0x10000);
	gsd_name(&made, "b");
	gsd_name(&made, "a#2");
	for (uint32_t i = 0; i < 6; i++) {
		uint8_t value = (uint8_t)i;

		gsd_chunk(&made, i / 3, i % 3 != 1, GSD_U1, 1, 1, &value, 1);
	}
	gsd_end(&made, 0);
	opened = gsd_open(&made);
	assert_string_equal(opened.info->damage, "frame 0 has a#2 twice");
	assert_int_equal(opened.info->narrays, 6);
	gsd_get(&opened, 3, &item);
	gsd_expect(&item, "a#2", 1, "|u1", 1, 0, 1);
	gsd_get(&opened, 5, &item);
	gsd_expect(&item, "a#2##2", 1, "|u1", 1, 0, 1);
	assert_int_equal(gsd_find(&opened, "a#2", 1, &item), 0);
	assert_int_equal(made.bytes[item.offset], 3);
	assert_int_equal(gsd_find(&opened, "a#2##2", 1, &item), 0);
	assert_int_equal(made.bytes[item.offset], 5);
	assert_int_equal(gsd_find(&opened, "b", 1, &item), 0);
	assert_int_equal(made.bytes[item.offset], 4);
	assert_int_equal(gsd_find(&opened, "a#2##3", 1, &item), 1);
	assert_int_equal(gsd_find(&opened, "b##2", 1, &item), 1);
	assert_int_equal(gsd_find(&opened, "a#2##02", 1, &item), 1);
	gsd_close(&opened);
}

/* GSD's library cuts names to 63 bytes and lists them again for each frame: they are merged. */
static void test_names_that_were_cut(void **state)
{
	static const uint32_t versions[] = { 0x10000, 0x20000 }; /* also after an upgrade */
	char name[64];

	(void)state;
	memset(name, 'n', 63);
	name[63] = '\0';
	for (size_t v = 0; v < 2; v++) {
		struct gsd_opened opened;
		struct gsd_made made;
		struct bpk_item item;

		gsd_begin(&made, versions[v], "", 0);
		gsd_name(&made, name);
		gsd_name(&made, "short");
		gsd_name(&made, name);
		gsd_name(&made, name);
		gsd_chunk(&made, 0, 0, GSD_U1, 1, 1, "a", 1);
		gsd_chunk(&made, 0, 1, GSD_U1, 1, 1, "x", 1);
		gsd_chunk(&made, 1, 1, GSD_U1, 1, 1, "y", 1);
		gsd_chunk(&made, 1, 2, GSD_U1, 1, 1, "b", 1);
		gsd_chunk(&made, 2, 3, GSD_U1, 1, 1, "c", 1);
		gsd_end(&made, 5);
		opened = gsd_open(&made);
		assert_null(opened.info->damage);
		for (uint64_t frame = 0; frame < 3; frame++) {
			static const uint64_t places[] = { 256, 259, 260 };

			assert_int_equal(gsd_find(&opened, name, frame, &item), 0);
			assert_int_equal(item.offset, places[frame]);
			assert_string_equal(item.name, name);
		}
		assert_int_equal(gsd_find(&opened, "short", 1, &item), 0);
		assert_int_equal(item.offset, 258);
		gsd_close(&opened);
	}
}

static void test_names(void **state)
{
	static const char *const shown[] = { "same",       "same#2", "same#3", "\\x1b[1m",
					     "\\x1b[1m#2", "\\xff",  "a/b" };
	struct gsd_made made;
	struct gsd_opened opened;
	struct bpk_item item;

	(void)state;
	gsd_begin(&made, 0x10000, "", 0);
	gsd_name(&made, "same");
	gsd_name(&made, "same");
	gsd_name(&made, "same");
	gsd_name(&made, "\\x1b[1m");
	gsd_name(&made, "\033[1m");
	gsd_name(&made, "\xff");
	gsd_name(&made, "a/b");
	for (uint16_t i = 7; i-- > 0;)
		gsd_chunk(&made, 0, i, GSD_U1, 1, 1, "x", 1);
	gsd_end(&made, 3);
	opened = gsd_open(&made);
	assert_null(opened.info->schema);
	assert_string_equal(opened.info->damage, "list of names has a name twice");
	for (uint64_t i = 0; i < 7; i++) {
		gsd_get(&opened, i, &item);
		assert_string_equal(item.name, shown[6 - i]);
		assert_int_equal(gsd_find(&opened, shown[i], 0, &item), 0);
		assert_int_equal(item.offset, 256 + 6 - i);
	}
	gsd_close(&opened);
}

/* Files that GSD's library refuses, or reads incompletely. */
static void test_refused(void **state)
{
	struct gsd_made made;
	struct gsd_opened opened;
	struct bpk_item item;

	(void)state;
	gsd_small(&made, 0x20000);
	bpk_put_le64(made.bytes + bpk_get_le64(made.bytes + 8) + 64, 1000000000000000);
	opened = gsd_open(&made);
	assert_int_equal(opened.info->narrays, 3);
	assert_int_equal(opened.info->nframes, 1000000000000001);
	assert_non_null(strstr(opened.info->damage, "in an index of 4 entries"));
	assert_int_equal(gsd_find(&opened, "a", 1000000000000000, &item), 0);
	assert_int_equal(gsd_find(&opened, "a", 999999999999999, &item), 1);
	gsd_close(&opened);
	/* an index with room for that frame, past the end of the file */
	bpk_put_le64(made.bytes + 16, 1ULL << 50);
	opened = gsd_open(&made);
	assert_int_equal(opened.info->narrays, 3);
	assert_non_null(strstr(opened.info->damage, "index of 1125899906842624 entries at"));
	gsd_close(&opened);
	gsd_begin(&made, 0x20000, "demo", 0);
	gsd_name(&made, "a");
	gsd_name(&made, "b");
	gsd_chunk(&made, 0, 1, GSD_U1, 1, 1, "b", 1);
	gsd_chunk(&made, 0, 0, GSD_U1, 1, 1, "a", 1);
	gsd_end(&made, 0);
	opened = gsd_open(&made);
	assert_non_null(strstr(opened.info->damage, "not sorted"));
	assert_int_equal(gsd_find(&opened, "a", 0, &item), 0);
	assert_int_equal(item.offset, 257);
	gsd_close(&opened);
	bpk_put_le64(made.bytes + bpk_get_le64(made.bytes + 8) + 16,
		     bpk_get_le64(made.bytes + 24) + 3);
	opened = gsd_open(&made);
	assert_non_null(strstr(opened.info->damage, "inside the file's tables"));
	gsd_close(&opened);
}

static void test_overlaps(void **state)
{
	struct gsd_made made;
	struct gsd_opened opened;

	(void)state;
	gsd_begin(&made, 0x20000, "demo", 0);
	gsd_name(&made, "a");
	for (uint64_t i = 0; i < 20; i++)
		gsd_entry(&made, i, 0, GSD_U1, 200, 1);
	made.size += 200;
	gsd_end(&made, 0);
	opened = gsd_open(&made);
	assert_int_equal(opened.info->narrays, 20);
	assert_non_null(strstr(opened.info->damage, "chunks overlap"));
	gsd_close(&opened);
}

/* Characters are a string, for which python gsd 3.4 returns text. */
static void test_characters(void **state)
{
	struct gsd_made made;
	struct gsd_opened opened;
	struct bpk_item item;

	(void)state;
	gsd_begin(&made, 0x20001, "demo", 0);
	gsd_name(&made, "text");
	gsd_chunk(&made, 0, 0, GSD_TEXT, 5, 1, "hello", 5);
	gsd_chunk(&made, 1, 0, GSD_TEXT, 0, 1, "", 0);
	gsd_chunk(&made, 2, 0, GSD_TEXT, 3, 2, "abcdef", 6);
	gsd_end(&made, 0);
	opened = gsd_open(&made);
	assert_null(opened.info->damage);
	gsd_get(&opened, 0, &item);
	gsd_expect(&item, "text", 0, "|S5", 0, 0, 0);
	assert_int_equal(item.array->size, 5);
	gsd_get(&opened, 1, &item);
	gsd_expect(&item, "text", 1, "|S1", 0, 0, 1);
	gsd_get(&opened, 2, &item);
	gsd_expect(&item, "text", 2, "|i1", 2, 3, 2);
	gsd_close(&opened);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_versions),
		cmocka_unit_test(test_headers),
		cmocka_unit_test(test_entries),
		cmocka_unit_test(test_descending),
		cmocka_unit_test(test_repeated_chunks),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_names_that_were_cut),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_overlaps),
		cmocka_unit_test(test_characters),
	};

	return UNIT_RUN(tests);
}
