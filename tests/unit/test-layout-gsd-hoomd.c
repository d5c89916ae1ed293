/*
 * GSD files of the schema hoomd: defaults for chunks that a frame omits, and its step.
 */
#include "unit/gsd-bytes.h"

enum { STEP, NPART, MASS, POSITION, TYPES, LOG, LATE, RADIUS, BOND_N, BODY };

static const char *const names[] = {
	"configuration/step",
	"particles/N",
	"particles/mass",
	"particles/position",
	"particles/types",
	"log/e",
	"log/late",
	"state/hpmc/sphere/radius",
	"bonds/N",
	"particles/body",
};

static void put_u4(struct gsd_made *made, uint64_t frame, uint16_t id, uint32_t value)
{
	uint8_t bytes[4];

	bpk_put_le32(bytes, value);
	gsd_chunk(made, frame, id, GSD_U4, 1, 1, bytes, 4);
}

static void put_step(struct gsd_made *made, uint64_t frame, uint64_t step)
{
	uint8_t bytes[8];

	bpk_put_le64(bytes, step);
	gsd_chunk(made, frame, STEP, GSD_U8, 1, 1, bytes, 8);
}

/* Frame 0: step 7, 2 particles with mass, types, a log and a state; 1: only its own log; 2: 3
 * particles, a bond; 3: step 30, 2 particles again. */
static void make(struct gsd_made *made, const char *schema, uint32_t version)
{
	gsd_begin(made, 0x20000, schema, version);
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		gsd_name(made, names[i]);
	put_step(made, 0, 7);
	put_u4(made, 0, NPART, 2);
	gsd_chunk(made, 0, MASS, GSD_F4, 2, 1, "MASSMASS", 8);
	gsd_chunk(made, 0, TYPES, GSD_I1, 2, 2, "X\0Y\0", 4);
	gsd_chunk(made, 0, LOG, GSD_U1, 4, 1, "logs", 4);
	gsd_chunk(made, 0, RADIUS, GSD_F4, 1, 1, "radi", 4);
	gsd_chunk(made, 1, LATE, GSD_U1, 1, 1, "l", 1);
	put_u4(made, 2, NPART, 3);
	put_u4(made, 2, BOND_N, 1);
	put_step(made, 3, 30);
	put_u4(made, 3, NPART, 2);
	gsd_end(made, 1);
}

static struct gsd_opened opened;
static struct gsd_made made;

static void expect(const char *name, uint64_t frame, const char *type, uint64_t first,
		   uint64_t second, size_t ndimensions, struct bpk_item *item)
{
	struct bpk_err err = { 0 };

	if (bpk_layout_find(opened.layout, name, frame, true, item, &err) != 0)
		fail_msg("%s of frame %d: %s", name, (int)frame, err.text);
	gsd_expect(item, name, frame, type, first, second, ndimensions);
}

/* The chunk is stored, and begins with these bytes. */
static void expect_data(const char *name, uint64_t frame, const char *type, uint64_t first,
			uint64_t second, size_t ndimensions, const char *data)
{
	struct bpk_item item;

	expect(name, frame, type, first, second, ndimensions, &item);
	assert_int_not_equal(item.offset, BPK_UNKNOWN);
	assert_memory_equal(made.bytes + item.offset, data, strlen(data));
}

/* The chunk is not stored: these size bytes, repeated. */
static void expect_fill(const char *name, uint64_t frame, const char *type, uint64_t first,
			uint64_t second, size_t ndimensions, const char *fill, size_t size)
{
	struct bpk_item item;

	expect(name, frame, type, first, second, ndimensions, &item);
	assert_int_equal(item.offset, BPK_UNKNOWN);
	assert_int_equal(item.fill.size, size);
	assert_memory_equal(item.fill.data, fill, size);
	assert_int_equal(item.array->size % size, 0);
}

static void expect_none(const char *name, uint64_t frame)
{
	struct bpk_item item;

	assert_int_equal(bpk_layout_find(opened.layout, name, frame, true, &item, NULL), 1);
}

static void test_rules(void **state)
{
	(void)state;
	make(&made, "hoomd", 0x10004);
	opened = gsd_open(&made);
	assert_string_equal(opened.info->schema, "hoomd 1.4");
	assert_null(opened.info->damage);
	/* 1. values independent of N */
	expect_data("configuration/step", 1, "<u8", 1, 0, 1, "\x07");
	expect_data("particles/N", 1, "<u4", 1, 0, 1, "\x02");
	expect_data("particles/N", 2, "<u4", 1, 0, 1, "\x03");
	expect_fill("bonds/N", 1, "<u4", 1, 0, 1, "\0\0\0\0", 4);
	expect_fill("configuration/dimensions", 0, "|u1", 1, 0, 1, "\x03", 1);
	expect_fill("configuration/box", 2, "<f4", 6, 0, 1,
		    "\0\0\x80\x3f\0\0\x80\x3f\0\0\x80\x3f\0\0\0\0\0\0\0\0\0\0\0\0", 24);
	/* 2. types, for any N */
	expect_data("particles/types", 1, "|i1", 2, 2, 2, "X");
	expect_data("particles/types", 2, "|i1", 2, 2, 2, "X");
	expect_fill("bonds/types", 2, "|i1", 0, 2, 2, "\0", 2);
	expect_fill("particles/type_shapes", 0, "|i1", 1, 3, 2, "{}", 3);
	expect_none("bonds/type_shapes", 0);
	/* 3. rows, if N is that of frame 0 */
	expect_data("particles/mass", 1, "<f4", 2, 0, 1, "MASSMASS");
	expect_fill("particles/mass", 2, "<f4", 3, 0, 1, "\0\0\x80\x3f", 4);
	expect_data("particles/mass", 3, "<f4", 2, 0, 1, "MASSMASS");
	expect_fill("particles/position", 0, "<f4", 2, 3, 2, "\0\0\0\0\0\0\0\0\0\0\0\0", 12);
	expect_fill("particles/orientation", 2, "<f4", 3, 4, 2,
		    "\0\0\x80\x3f\0\0\0\0\0\0\0\0\0\0\0\0", 16);
	expect_fill("particles/body", 2, "<i4", 3, 0, 1, "\xff\xff\xff\xff", 4);
	expect_fill("particles/image", 1, "<i4", 2, 3, 2, "\0\0\0\0\0\0\0\0\0\0\0\0", 12);
	expect_fill("bonds/group", 2, "<u4", 1, 2, 2, "\0\0\0\0\0\0\0\0", 8);
	expect_fill("angles/group", 2, "<u4", 0, 3, 2, "\0\0\0\0\0\0\0\0\0\0\0\0", 12);
	/* 4. logs */
	expect_data("log/e", 2, "|u1", 4, 0, 1, "logs");
	expect_data("log/late", 1, "|u1", 1, 0, 1, "l");
	expect_none("log/late", 2);
	/* 5. states, and names outside the schema */
	expect_data("state/hpmc/sphere/radius", 0, "<f4", 1, 0, 1, "radi");
	expect_none("state/hpmc/sphere/radius", 1);
	expect_none("particles/nothing", 1);
	expect_none("particles/mass", 4);
	gsd_close(&opened);
}

static void test_as_it_is(void **state)
{
	struct bpk_item item;

	(void)state;
	make(&made, "hoomd", 0x10004);
	opened = gsd_open(&made);
	assert_int_equal(bpk_layout_find(opened.layout, "particles/mass", 1, false, &item, NULL),
			 1);
	gsd_close(&opened);
	for (int i = 0; i < 2; i++) { /* another schema, or another version of it */
		make(&made, i ? "hoomd" : "hoomds", i ? 0x20000 : 0x10004);
		opened = gsd_open(&made);
		expect_none("particles/mass", 1);
		expect_none("particles/image", 0);
		gsd_close(&opened);
	}
}

static void test_steps(void **state)
{
	static const uint64_t steps[] = { 7, 7, 7, 7, 7, 7, 7, 7, 7, 30, 30 };
	static const uint64_t other[] = { 7, 7, 7, 7, 7, 7, -1ULL, -1ULL, -1ULL, 30, 30 };
	struct bpk_item item;

	(void)state;
	for (int hoomd = 0; hoomd < 2; hoomd++) {
		make(&made, hoomd ? "hoomd" : "demo", 0x10004);
		opened = gsd_open(&made);
		assert_int_equal(opened.info->narrays, 11);
		assert_int_equal(opened.info->last_step, 30);
		for (uint64_t i = 0; i < 11; i++) {
			assert_int_equal(bpk_layout_get(opened.layout, i, &item, NULL), 0);
			assert_int_equal(item.step, hoomd ? steps[i] : other[i]);
		}
		gsd_close(&opened);
	}
	gsd_begin(&made, 0x20000, "hoomd", 0x10000); /* no frame has a step */
	gsd_name(&made, names[0]);
	gsd_name(&made, "log/x");
	gsd_chunk(&made, 3, 1, GSD_U1, 1, 1, "x", 1);
	gsd_end(&made, 5);
	opened = gsd_open(&made);
	assert_int_equal(opened.info->last_step, 0);
	gsd_close(&opened);
}

/* N must be a single uint32, but only chunks that need it fail. */
static void test_wrong_count(void **state)
{
	struct bpk_item item;
	struct bpk_err err = { 0 };

	(void)state;
	gsd_begin(&made, 0x20000, "hoomd", 0x10004);
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		gsd_name(&made, names[i]);
	gsd_chunk(&made, 0, NPART, GSD_U8, 1, 1, "\1\0\0\0\0\0\0\0", 8);
	put_u4(&made, 1, NPART, UINT32_MAX);
	gsd_end(&made, 0);
	opened = gsd_open(&made);
	assert_int_equal(bpk_layout_find(opened.layout, "particles/mass", 0, true, &item, &err),
			 -1);
	assert_int_equal(err.kind, BPK_CORRUPT);
	assert_string_equal(err.text, "particles/N of frame 0 is not a single uint32");
	expect_fill("bonds/group", 0, "<u4", 0, 2, 2, "\0\0\0\0\0\0\0\0", 8);
	gsd_close(&opened);
}

/* A few bytes may claim 2^32 - 1 particles, but not bring as many defaults. */
static void test_too_many(void **state)
{
	struct bpk_item item;
	struct bpk_err err = { 0 };

	(void)state;
	gsd_begin(&made, 0x20000, "hoomd", 0x10004);
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		gsd_name(&made, names[i]);
	put_u4(&made, 0, NPART, 8 << 20);
	put_u4(&made, 1, NPART, UINT32_MAX);
	gsd_end(&made, 0);
	opened = gsd_open(&made);
	assert_int_equal(bpk_layout_find(opened.layout, "particles/mass", 0, true, &item, &err), 0);
	assert_int_equal(bpk_layout_find(opened.layout, "particles/mass", 1, true, &item, &err),
			 -1);
	assert_int_equal(err.kind, BPK_LIMIT);
	assert_non_null(strstr(err.text, "particles/mass has 17179869180 bytes of default values"));
	gsd_close(&opened);
}

static void test_hurt(void **state)
{
	(void)state;
	make(&made, "hoomd", 0x10004);
	gsd_hurt(made.bytes, made.size);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rules),    cmocka_unit_test(test_as_it_is),
		cmocka_unit_test(test_steps),    cmocka_unit_test(test_wrong_count),
		cmocka_unit_test(test_too_many), cmocka_unit_test(test_hurt),
	};

	return UNIT_RUN(tests);
}
