/*
 * DCD: files of each kind built by hand, every cut and flip of small ones, and a real one.
 */
#include "unit/layout-files.h"

/* The parameters of a file. */
struct recipe {
	bool big_endian;
	size_t marker_size;
	bool velocity, cell, fourth, xplor;
	uint32_t natoms, nfixed;
	uint32_t start, every;
	uint32_t claimed; /* frames, in the head */
	size_t nframes;
	size_t ntitles;
	size_t lines, last_lines, count; /* more titles than exist: by markers, by count */
};

static void make_record(struct maker *m, const struct recipe *r, size_t size, uint8_t fill)
{
	make_int(m, size, r->marker_size);
	make_fill(m, fill, size);
	make_int(m, size, r->marker_size);
}

static void make_head(struct maker *m, const struct recipe *r)
{
	uint32_t integers[20] = { r->claimed, r->start, r->every };

	integers[8] = r->nfixed;
	integers[10] = r->cell;
	integers[11] = r->fourth;
	integers[19] = r->xplor ? 0 : 24;
	make_int(m, 84, r->marker_size);
	make_bytes(m, r->velocity ? "VELD" : "CORD", 4);
	for (size_t i = 0; i < 20; i++)
		make_int(m, integers[i], 4);
	make_int(m, 84, r->marker_size);
	make_int(m, 4 + 80 * (r->ntitles + r->lines), r->marker_size);
	make_int(m, r->ntitles + r->count, 4);
	make_fill(m, ' ', 80 * r->ntitles);
	make_int(m, 4 + 80 * (r->ntitles + r->last_lines), r->marker_size);
	make_int(m, 4, r->marker_size);
	make_int(m, r->natoms, 4);
	make_int(m, 4, r->marker_size);
	if (r->nfixed > 0)
		make_record(m, r, (r->natoms - r->nfixed) * 4, 1);
}

static struct maker make_dcd(const struct recipe *r)
{
	struct maker m = { .big_endian = r->big_endian };

	make_head(&m, r);
	for (size_t frame = 0; frame < r->nframes; frame++) {
		size_t natoms = frame == 0 ? r->natoms : r->natoms - r->nfixed;

		if (r->cell && !r->xplor)
			make_record(&m, r, 48, 0xcc);
		make_record(&m, r, natoms * 4, 'x');
		make_record(&m, r, natoms * 4, 'y');
		make_record(&m, r, natoms * 4, 'z');
		if (r->fourth && !r->xplor)
			make_record(&m, r, natoms * 4, 'w');
	}
	return m;
}

/* The offset of the frames: head, titles and natoms, without a list of free atoms. */
static uint64_t frames_at(const struct recipe *r)
{
	return 84 + 4 + 80 * r->ntitles + 4 + 6 * r->marker_size;
}

static void test_namd(void **state)
{
	const struct recipe r = { .marker_size = 4,
				  .cell = true,
				  .natoms = 3,
				  .start = 500,
				  .every = 100,
				  .claimed = 1,
				  .nframes = 3,
				  .ntitles = 2 };
	struct maker m = make_dcd(&r);
	struct opened o = open_bytes(bpk_buf_view(&m.bytes));
	uint64_t at = frames_at(&r), frame = 56 + 3 * 20;

	(void)state;
	assert_non_null(o.layout);
	assert_string_equal(o.info->kind, "dcd");
	assert_string_equal(o.info->variant, "CHARMM, little-endian");
	assert_int_equal(o.info->nframes, 3); /* not the count in the head */
	assert_int_equal(o.info->narrays, 12);
	assert_int_equal(o.info->last_step, 700);
	assert_null(o.info->damage);
	expect_item(&o, 0, "cell", 0, 500, at + 4, "<f8", "6");
	expect_item(&o, 1, "x", 0, 500, at + 60, "<f4", "3");
	expect_item(&o, 3, "z", 0, 500, at + 100, "<f4", "3");
	expect_item(&o, 10, "y", 2, 700, at + 2 * frame + 80, "<f4", "3");
	close_opened(&o);
	bpk_buf_clear(&m.bytes);
}

/* Titles whose markers, or count, claim too many. */
static void test_wrong_titles(void **state)
{
	struct recipe r = { .marker_size = 4,
			    .cell = true,
			    .natoms = 3,
			    .start = 500,
			    .every = 100,
			    .nframes = 3,
			    .ntitles = 2 };

	(void)state;
	for (unsigned wrong = 1; wrong < 16; wrong++) {
		struct maker m;
		struct opened o;

		r.lines = wrong & 1;
		r.last_lines = wrong >> 1 & 1;
		r.count = wrong >> 2 & 1;
		r.marker_size = wrong & 8 ? 8 : 4;
		m = make_dcd(&r);
		o = open_bytes(bpk_buf_view(&m.bytes));
		assert_non_null(o.layout);
		assert_string_equal(o.info->kind, "dcd");
		assert_int_equal(o.info->nframes, 3);
		expect_item(&o, 0, "cell", 0, 500, frames_at(&r) + r.marker_size, "<f8", "6");
		close_opened(&o);
		bpk_buf_clear(&m.bytes);
	}
	r.ntitles = 40; /* more than are tried */
	r.lines = 1;
	r.last_lines = 0;
	{
		struct maker m = make_dcd(&r);
		struct opened o = open_bytes(bpk_buf_view(&m.bytes));

		assert_null(o.layout);
		close_opened(&o);
		bpk_buf_clear(&m.bytes);
	}
}

static void test_fixed_atoms(void **state)
{
	const struct recipe r = { .marker_size = 4,
				  .natoms = 4,
				  .nfixed = 3,
				  .start = 1,
				  .every = 1,
				  .nframes = 3,
				  .ntitles = 1 };
	struct maker m = make_dcd(&r);
	struct opened o = open_bytes(bpk_buf_view(&m.bytes));
	uint64_t at = frames_at(&r) + 12;
	struct bpk_item item;

	(void)state;
	assert_non_null(o.layout);
	assert_int_equal(o.info->narrays, 10);
	expect_item(&o, 0, "free", BPK_UNKNOWN, BPK_UNKNOWN, at - 8, "<i4", "1");
	expect_item(&o, 1, "x", 0, 1, at + 4, "<f4", "4");
	expect_item(&o, 4, "x", 1, 2, at + 72 + 4, "<f4", "1");
	expect_item(&o, 9, "z", 2, 3, at + 72 + 36 + 24 + 4, "<f4", "1");
	assert_int_equal(bpk_layout_find(o.layout, "free", 2, false, &item, NULL), 0);
	assert_int_equal(bpk_layout_find(o.layout, "x", BPK_UNKNOWN, false, &item, NULL), 1);
	assert_int_equal(bpk_layout_find(o.layout, "x", 3, false, &item, NULL), 1);
	assert_int_equal(bpk_layout_find(o.layout, "w", 2, false, &item, NULL), 1);
	close_opened(&o);
	bpk_buf_clear(&m.bytes);
}

static void test_big_endian_64_bit_markers(void **state)
{
	const struct recipe r = { .big_endian = true,
				  .marker_size = 8,
				  .velocity = true,
				  .cell = true,
				  .fourth = true,
				  .natoms = 2,
				  .nframes = 2 };
	struct maker m = make_dcd(&r);
	struct opened o = open_bytes(bpk_buf_view(&m.bytes));
	uint64_t at = frames_at(&r), frame = 64 + 4 * 24;

	(void)state;
	assert_non_null(o.layout);
	assert_string_equal(o.info->variant, "CHARMM velocities, big-endian, 64-bit markers");
	assert_int_equal(o.info->narrays, 10);
	assert_int_equal(o.info->last_step, BPK_UNKNOWN); /* the head has no interval */
	expect_item(&o, 5, "cell", 1, BPK_UNKNOWN, at + frame + 8, ">f8", "6");
	expect_item(&o, 9, "w", 1, BPK_UNKNOWN, at + frame + 64 + 3 * 24 + 8, ">f4", "2");
	close_opened(&o);
	bpk_buf_clear(&m.bytes);
}

/* A flag of CHARMM is half of X-PLOR's time step. */
static void test_xplor_has_no_cell(void **state)
{
	const struct recipe r = { .marker_size = 4,
				  .cell = true,
				  .fourth = true,
				  .xplor = true,
				  .natoms = 1,
				  .every = 5,
				  .nframes = 2,
				  .ntitles = 1 };
	struct maker m = make_dcd(&r);
	struct opened o = open_bytes(bpk_buf_view(&m.bytes));

	(void)state;
	assert_non_null(o.layout);
	assert_string_equal(o.info->variant, "X-PLOR, little-endian");
	assert_int_equal(o.info->narrays, 6);
	expect_item(&o, 3, "x", 1, 5, frames_at(&r) + 36 + 4, "<f4", "1");
	close_opened(&o);
	bpk_buf_clear(&m.bytes);
}

static void test_a_cut_frame_is_told(void **state)
{
	const struct recipe r = { .marker_size = 4, .natoms = 3, .nframes = 2 };
	struct maker m = make_dcd(&r);
	struct opened o = open_bytes(bpk_view(m.bytes.data, m.bytes.size - 1));

	(void)state;
	assert_non_null(o.layout);
	assert_int_equal(o.info->nframes, 1);
	assert_string_equal(o.info->damage, "frame 1 is cut short: 59 of 60 bytes are there");
	close_opened(&o);
	bpk_buf_clear(&m.bytes);
}

static void test_wrong_markers_are_told(void **state)
{
	const struct recipe r = { .marker_size = 4, .natoms = 3, .nframes = 3 };
	struct maker m = make_dcd(&r);
	struct bpk_err err = { 0 };
	struct bpk_item item;
	struct opened o;

	(void)state;
	m.bytes.data[frames_at(&r) + 60 + 16] ^= 1; /* after x of frame 1 */
	o = open_bytes(bpk_buf_view(&m.bytes));
	assert_non_null(o.layout);
	assert_int_equal(bpk_layout_find(o.layout, "x", 1, false, &item, &err), -1);
	assert_int_equal(err.kind, BPK_CORRUPT);
	assert_string_equal(err.text, "frame 1: record 'x' is marked with 12 and 13 bytes, "
				      "expected 12");
	expect_item(&o, 4, "y", 1, BPK_UNKNOWN, frames_at(&r) + 60 + 20 + 4, "<f4", "3");
	close_opened(&o);

	m.bytes.data[frames_at(&r)] ^= 1; /* of frame 0: the head is wrong */
	o = open_bytes(bpk_buf_view(&m.bytes));
	assert_null(o.layout);
	close_opened(&o);
	bpk_buf_clear(&m.bytes);
}

static void test_cuts_and_flips(void **state)
{
	(void)state;
	for (unsigned kind = 0; kind < 32; kind++) {
		const struct recipe r = { .big_endian = kind & 1,
					  .marker_size = kind & 2 ? 8 : 4,
					  .cell = kind & 4,
					  .fourth = kind & 8,
					  .natoms = 3,
					  .nfixed = kind & 16 ? 2 : 0,
					  .every = 1,
					  .nframes = 3,
					  .ntitles = 1 };
		struct maker m = make_dcd(&r);
		size_t each = 3 + r.cell + r.fourth;

		assert_int_equal(check_bytes(m.bytes.data, m.bytes.size),
				 3 * each + (r.nfixed > 0));
		check_cuts_and_flips(bpk_buf_view(&m.bytes));
		bpk_buf_clear(&m.bytes);
	}
}

static void test_a_real_file(void **state)
{
	uint64_t covered = 356;
	struct opened o;

	(void)state;
	o = open_sample("BPK_SAMPLES", "adk_dims.dcd");
	assert_int_equal(o.info->nframes, 98);
	assert_int_equal(o.info->last_step, 98000);
	assert_int_equal(o.info->narrays, 3 * 98);
	assert_null(o.info->damage);
	for (uint64_t i = 0; i < o.info->narrays; i++) {
		const char *const names[] = { "x", "y", "z" };

		expect_item(&o, i, names[i % 3], i / 3, 1000 + i / 3 * 1000, covered + 4, "<f4",
			    "3341");
		covered += 3341 * 4 + 8;
	}
	assert_int_equal(covered, bpk_source_size(o.source));
	close_opened(&o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_namd),
		cmocka_unit_test(test_wrong_titles),
		cmocka_unit_test(test_fixed_atoms),
		cmocka_unit_test(test_big_endian_64_bit_markers),
		cmocka_unit_test(test_xplor_has_no_cell),
		cmocka_unit_test(test_a_cut_frame_is_told),
		cmocka_unit_test(test_wrong_markers_are_told),
		cmocka_unit_test(test_cuts_and_flips),
		cmocka_unit_test(test_a_real_file),
	};

	return UNIT_RUN(tests);
}
