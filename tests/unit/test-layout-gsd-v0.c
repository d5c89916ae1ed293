/*
 * GSD files of version 0.0.1, as written by the program of 2014 and as described in its document.
 */
#include "unit/gsd-bytes.h"

/* The header of the original program. */
static const struct gsd_row rows_of_0_0_1[] = {
	{ 0x000, "df65df65 62706b2d74657374" },
	{ 0x044, "01000000 64656d6f" },
	{ 0x088, "03020100" },
	{ 0, NULL },
};

struct v0 {
	uint8_t bytes[4096];
	size_t size, index, entry_size, nentries, room;
};

/* check: offset of the check word. */
static void v0_begin(struct v0 *v0, size_t check, size_t entry_size)
{
	size_t fields = check == 224 ? 144 : 140;

	memset(v0, 0, sizeof *v0);
	gsd_put_hex(v0->bytes, rows_of_0_0_1);
	bpk_put_le32(v0->bytes + check, 0xfd56fd56);
	v0->index = check == 224 ? 232 : check + 4;
	v0->entry_size = entry_size;
	v0->room = 16;
	bpk_put_le64(v0->bytes + fields, v0->index);
	bpk_put_le64(v0->bytes + fields + 8, v0->room);
	v0->size = v0->index + v0->room * entry_size;
}

static void v0_seal(struct v0 *v0, size_t number)
{
	uint8_t *entry = v0->bytes + v0->index + number * v0->entry_size;
	uint8_t *numbers = entry + (v0->entry_size == 88 ? 48 : 42);
	uint64_t sum = entry[41];

	for (size_t i = 0; i < 4; i++)
		sum += bpk_get_le64(numbers + 8 * i);
	bpk_put_le64(numbers + 32, sum);
}

static void v0_chunk(struct v0 *v0, uint64_t frame, const char *name, uint8_t type, uint64_t nrows,
		     uint64_t ncolumns, uint64_t step, size_t size)
{
	uint8_t *entry = v0->bytes + v0->index + v0->nentries * v0->entry_size;
	uint8_t *numbers = entry + (v0->entry_size == 88 ? 48 : 42);

	bpk_put_le64(entry, frame);
	memcpy(entry + 8, name, strlen(name));
	entry[41] = type;
	bpk_put_le64(numbers, nrows);
	bpk_put_le64(numbers + 8, ncolumns);
	bpk_put_le64(numbers + 16, step);
	bpk_put_le64(numbers + 24, v0->size);
	v0_seal(v0, v0->nentries++);
	for (size_t i = 0; i < size; i++)
		v0->bytes[v0->size++] = (uint8_t)i;
}

static void v0_fill(struct v0 *v0)
{
	v0_chunk(v0, 0, "pos", 3, 2, 3, 100, 24);
	v0_chunk(v0, 0, "type", 2, 2, 1, 100, 8);
	v0_chunk(v0, 1, "pos", 3, 2, 3, 200, 24);
	v0_chunk(v0, 1, "d", 4, 1, 1, 200, 8);
	v0_chunk(v0, 1, "byte", 1, 3, 1, 200, 3);
}

static struct gsd_opened v0_open(const struct v0 *v0)
{
	return gsd_open_bytes(v0->bytes, v0->size);
}

static void check_v0(size_t check, size_t entry_size)
{
	struct gsd_opened opened;
	struct bpk_item item;
	struct v0 v0;

	v0_begin(&v0, check, entry_size);
	v0_fill(&v0);
	opened = v0_open(&v0);
	assert_non_null(opened.layout);
	assert_string_equal(opened.info->variant, "0.0.1");
	assert_string_equal(opened.info->application, "bpk-test");
	assert_string_equal(opened.info->schema, "demo 1.2.3");
	assert_int_equal(opened.info->narrays, 5);
	assert_int_equal(opened.info->nframes, 2);
	assert_int_equal(opened.info->last_step, 200);
	assert_null(opened.info->damage);
	gsd_get(&opened, 1, &item);
	gsd_expect(&item, "type", 0, "<u4", 2, 0, 1);
	assert_int_equal(item.step, 100);
	assert_int_equal(gsd_find(&opened, "pos", 1, &item), 0);
	gsd_expect(&item, "pos", 1, "<f4", 2, 3, 2);
	assert_int_equal(item.step, 200);
	assert_int_equal(item.offset, v0.index + 16 * entry_size + 32);
	assert_int_equal(gsd_find(&opened, "d", 1, &item), 0);
	gsd_expect(&item, "d", 1, "<f8", 1, 0, 1);
	assert_int_equal(gsd_find(&opened, "byte", 1, &item), 0);
	gsd_expect(&item, "byte", 1, "|u1", 3, 0, 1);
	assert_int_equal(gsd_find(&opened, "d", 0, &item), 1);
	gsd_close(&opened);
}

static void test_layouts(void **state)
{
	/* The example's own bytes of the first two entries, to compare v0_chunk with. */
	static const struct gsd_row entries[] = {
		{ 0x090, "e800000000000000 1000000000000000" },
		{ 0x0e0, "56fd56fd 00000000" },
		{ 0x0e8, "0000000000000000 706f73" },
		{ 0x111, "03" },
		{ 0x118, "0200000000000000 0300000000000000 6400000000000000" },
		{ 0x130, "6806000000000000 d406000000000000" },
		{ 0x140, "0000000000000000 74797065" },
		{ 0x169, "02" },
		{ 0x170, "0200000000000000 0100000000000000 6400000000000000" },
		{ 0x188, "8006000000000000 e906000000000000" },
		{ 0, NULL },
	};
	uint8_t expected[0x198] = { 0 };
	struct v0 v0;

	(void)state;
	gsd_put_hex(expected, rows_of_0_0_1);
	gsd_put_hex(expected, entries);
	v0_begin(&v0, 224, 88);
	v0_fill(&v0);
	assert_memory_equal(v0.bytes, expected, sizeof expected);
	check_v0(224, 88);
	check_v0(224, 82);
	check_v0(220, 82);
	check_v0(220, 88);
	check_v0(252, 82);
	check_v0(252, 88);
}

static void test_broken(void **state)
{
	struct gsd_opened opened;
	struct v0 v0;

	(void)state;
	v0_begin(&v0, 224, 88); /* empty */
	opened = v0_open(&v0);
	assert_non_null(opened.layout);
	assert_int_equal(opened.info->narrays, 0);
	gsd_close(&opened);
	v0_fill(&v0);
	v0.bytes[v0.index + 2 * 88 + 80] ^= 1; /* a checksum */
	opened = v0_open(&v0);
	assert_null(opened.layout);
	gsd_close(&opened);
	v0_begin(&v0, 252, 82);
	v0_fill(&v0);
	v0.bytes[v0.index + 2 * 82 + 41] = 5; /* a type */
	v0_seal(&v0, 2);
	opened = v0_open(&v0);
	assert_non_null(opened.layout);
	assert_int_equal(opened.info->narrays, 2);
	assert_int_equal(opened.info->last_step, 100);
	assert_string_equal(opened.info->damage, "entry 2 of the index (frame 1): unknown type 0");
	gsd_close(&opened);
	v0.size -= 20; /* and truncated data */
	v0.bytes[v0.index + 2 * 82 + 41] = 3;
	v0_seal(&v0, 2);
	opened = v0_open(&v0);
	assert_int_equal(opened.info->narrays, 2);
	gsd_close(&opened);
}

static void test_hurt(void **state)
{
	struct v0 v0;

	(void)state;
	v0_begin(&v0, 224, 88);
	v0_fill(&v0);
	gsd_hurt(v0.bytes, v0.size);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_layouts),
		cmocka_unit_test(test_broken),
		cmocka_unit_test(test_hurt),
	};

	return UNIT_RUN(tests);
}
