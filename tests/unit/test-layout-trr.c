/*
 * TRR: files of each kind built by hand, every cut and flip of small ones, and a real one.
 */
#include "unit/layout-files.h"

enum { HEAD = 76 }; /* bytes before time and lambda */

/* One frame; parts not requested have no bytes. */
struct recipe {
	size_t real_size;
	uint32_t natoms, step;
	bool box, vir, pres, x, v, f;
};

static size_t size_of(const struct recipe *r)
{
	size_t matrices = r->box + r->vir + r->pres, vectors = r->x + r->v + r->f;

	return HEAD + (2 + 9 * matrices + 3 * r->natoms * vectors) * r->real_size;
}

static void make_frame(struct maker *m, const struct recipe *r)
{
	uint64_t matrix = 9 * r->real_size, vector = 3 * r->natoms * r->real_size;
	uint64_t sizes[10] = { 0, 0, r->box * matrix, r->vir * matrix, r->pres * matrix,
			       0, 0, r->x * vector,   r->v * vector,   r->f * vector };

	make_int(m, 1993, 4);
	make_int(m, 13, 4);
	make_int(m, 12, 4);
	make_bytes(m, "GMX_trn_file", 12);
	for (size_t i = 0; i < 10; i++)
		make_int(m, sizes[i], 4);
	make_int(m, r->natoms, 4);
	make_int(m, r->step, 4);
	make_int(m, 0, 4);
	make_fill(m, 't', r->real_size);
	make_fill(m, 'l', r->real_size);
	for (size_t i = 0; i < 10; i++)
		make_fill(m, (uint8_t)('a' + i), (size_t)sizes[i]);
}

static void test_frames_of_many_kinds(void **state)
{
	const struct recipe frames[] = {
		{ 4, 2, 0, .box = true, .x = true, .v = true },
		{ 4, 2, 5, .box = true, .x = true },
		{ 4, 2, 10, .box = true, .x = true },
		{ 4, 2, 15, .box = true, .f = true }, /* as large as the frames before it */
		{ 8, 1, 20, .box = true, .vir = true, .pres = true, .x = true, .v = true,
		  .f = true },
		{ 4, 0, 0x80000000u, .box = true }, /* a step beyond 2^31 - 1 is lost */
	};
	struct maker m = { .big_endian = true };
	uint64_t at[6];
	struct opened o;
	struct bpk_item item;

	(void)state;
	for (size_t i = 0; i < 6; i++) {
		at[i] = m.bytes.size;
		make_frame(&m, &frames[i]);
		assert_int_equal(m.bytes.size, at[i] + size_of(&frames[i]));
	}
	o = open_bytes(bpk_buf_view(&m.bytes));
	assert_non_null(o.layout);
	assert_string_equal(o.info->kind, "trr");
	assert_string_equal(o.info->variant, "single precision");
	assert_int_equal(o.info->nframes, 6);
	assert_int_equal(o.info->narrays, 5 + 4 + 4 + 4 + 8 + 3);
	assert_int_equal(o.info->last_step, BPK_UNKNOWN);
	assert_null(o.info->damage);
	expect_item(&o, 0, "time", 0, 0, HEAD, ">f4", "");
	expect_item(&o, 1, "lambda", 0, 0, HEAD + 4, ">f4", "");
	expect_item(&o, 2, "box", 0, 0, HEAD + 8, ">f4", "3,3");
	expect_item(&o, 4, "v", 0, 0, HEAD + 8 + 36 + 24, ">f4", "2,3");
	expect_item(&o, 12, "x", 2, 10, at[2] + HEAD + 8 + 36, ">f4", "2,3");
	expect_item(&o, 16, "f", 3, 15, at[3] + HEAD + 8 + 36, ">f4", "2,3");
	expect_item(&o, 8, "x", 1, 5, at[1] + HEAD + 8 + 36, ">f4", "2,3");
	expect_item(&o, 21, "pres", 4, 20, at[4] + HEAD + 16 + 144, ">f8", "3,3");
	expect_item(&o, 24, "f", 4, 20, at[4] + HEAD + 16 + 216 + 48, ">f8", "1,3");
	expect_item(&o, 27, "box", 5, BPK_UNKNOWN, at[5] + HEAD + 8, ">f4", "3,3");
	assert_int_equal(bpk_layout_find(o.layout, "v", 1, false, &item, NULL), 1);
	assert_int_equal(bpk_layout_find(o.layout, "v", 4, false, &item, NULL), 0);
	assert_int_equal(bpk_layout_find(o.layout, "x", BPK_UNKNOWN, false, &item, NULL), 1);
	for (uint64_t i = 0; i < o.info->narrays; i++)
		assert_int_equal(check_item(&o, i), 0);
	close_opened(&o);
	bpk_buf_clear(&m.bytes);
}

/* Two frames, the second one cut or changed; damage is the expected line. */
static void expect_damage(size_t cut, size_t at, uint8_t value, const char *damage)
{
	const struct recipe r = { 4, 2, 7, .box = true, .x = true };
	struct maker m = { .big_endian = true };
	struct opened o;

	make_frame(&m, &r);
	make_frame(&m, &r);
	m.bytes.data[size_of(&r) + at] = value;
	o = open_bytes(bpk_view(m.bytes.data, m.bytes.size - cut));
	assert_non_null(o.layout);
	assert_int_equal(o.info->nframes, 1);
	assert_int_equal(o.info->narrays, 4);
	assert_int_equal(o.info->last_step, 7);
	assert_string_equal(o.info->damage, damage);
	for (uint64_t i = 0; i < 4; i++)
		assert_int_equal(check_item(&o, i), 0);
	close_opened(&o);
	bpk_buf_clear(&m.bytes);
}

static void test_damage_ends_the_frames(void **state)
{
	(void)state;
	expect_damage(1, 0, 0,
		      "frame 1 at offset 144: it is cut short: 143 of 144 bytes are there");
	expect_damage(0, 3, 0,
		      "frame 1 at offset 144: starts with 1792, expected 1993 and the version "
		      "'GMX_trn_file'");
	expect_damage(0, 24 + 4 * 7 + 3, 25,
		      "frame 1 at offset 144: part 'x' has 25 bytes, expected 24");
	expect_damage(0, 24 + 3, 4,
		      "frame 1 at offset 144: frame has parts other than box, vir, pres, x, v and "
		      "f");
	expect_damage(0, 24 + 4 * 10, 0x80, "frame 1 at offset 144: frame has -2147483646 atoms");
}

static void test_other_heads_are_plain_bytes(void **state)
{
	const struct recipe none = { 4, 2, 7, .box = false };
	struct maker m = { .big_endian = true };
	struct opened o;

	(void)state;
	make_frame(&m, &none); /* its precision is unknown */
	o = open_bytes(bpk_buf_view(&m.bytes));
	assert_null(o.layout);
	close_opened(&o);
	bpk_buf_clear(&m.bytes);
}

static void test_cuts_and_flips(void **state)
{
	const struct recipe frames[] = {
		{ 4, 1, 1, .box = true, .x = true },
		{ 4, 1, 2, .box = true, .x = true, .v = true },
		{ 8, 1, 3, .x = true, .f = true },
	};

	(void)state;
	for (size_t first = 0; first < 3; first++) {
		struct maker m = { .big_endian = true };

		for (size_t i = 0; i < 3; i++)
			make_frame(&m, &frames[(first + i) % 3]);
		assert_int_equal(check_bytes(m.bytes.data, m.bytes.size), 4 + 5 + 4);
		check_cuts_and_flips(bpk_buf_view(&m.bytes));
		bpk_buf_clear(&m.bytes);
	}
}

static void test_a_real_file(void **state)
{
	const char *const names[] = { "time", "lambda", "box", "x", "v", "f" };
	struct opened o = open_sample("BPK_SAMPLES", "cobrotoxin.trr");
	uint64_t covered = 0;

	(void)state;
	assert_int_equal(o.info->nframes, 3);
	assert_int_equal(o.info->narrays, 18);
	assert_int_equal(o.info->last_step, 50000);
	assert_null(o.info->damage);
	for (uint64_t i = 0; i < 18; i++) {
		covered += i % 6 == 0 ? HEAD : 0;
		expect_item(&o, i, names[i % 6], i / 6, i / 6 * 25000, covered, ">f4",
			    i % 6 < 2    ? ""
			    : i % 6 == 2 ? "3,3"
					 : "19385,3");
		covered += i % 6 < 2 ? 4 : i % 6 == 2 ? 36 : 19385 * 12;
	}
	assert_int_equal(covered, bpk_source_size(o.source));
	close_opened(&o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_frames_of_many_kinds),
		cmocka_unit_test(test_damage_ends_the_frames),
		cmocka_unit_test(test_other_heads_are_plain_bytes),
		cmocka_unit_test(test_cuts_and_flips),
		cmocka_unit_test(test_a_real_file),
	};

	return UNIT_RUN(tests);
}
