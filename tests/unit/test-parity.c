/*
 * The room parity: arithmetic against its definition, every inner loop against a naive one, and
 * matrices, all of whose square parts have an inverse; side files, which restore random damage up
 * to their limit, refuse one cell more, and are never believed. BPK_PARITY_ROUNDS=1000 tries so
 * many damages and random sums, 60 by default.
 */
#include "unit/guarded.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "parity/parity.h"
#include "parity/side.h"

/* A product by polynomials: multiply, then divide by 0x11d. */
static uint8_t naive_product(uint8_t a, uint8_t b)
{
	unsigned product = 0;

	for (int bit = 0; bit < 8; bit++)
		if ((b >> bit & 1) != 0)
			product ^= (unsigned)a << bit;
	for (int bit = 15; bit >= 8; bit--)
		if ((product >> bit & 1) != 0)
			product ^= 0x11du << (bit - 8);
	return (uint8_t)product;
}

static void test_arithmetic(void **state)
{
	(void)state;
	for (unsigned a = 0; a < 256; a++)
		for (unsigned b = 0; b < 256; b++)
			assert_int_equal(bpk_gf_multiply((uint8_t)a, (uint8_t)b),
					 naive_product((uint8_t)a, (uint8_t)b));
	for (unsigned a = 1; a < 256; a++)
		assert_int_equal(naive_product((uint8_t)a, bpk_gf_inverse((uint8_t)a)), 1);
}

static unsigned rounds(void)
{
	const char *given = getenv("BPK_PARITY_ROUNDS");

	return given != NULL ? (unsigned)atoi(given) : 60;
}

/* ---- inner loops ---- */

enum { ROWS = 19, COLUMNS = 40 };

static void fill(struct unit_random *r, uint8_t *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++)
		bytes[i] = (uint8_t)unit_random_next(r);
}

/* Bytes of so many cells between guard pages: they end there, or begin at some distance. */
static void new_cells(struct guarded *cells, uint8_t **bytes, unsigned count, size_t size,
		      bool at_end, struct unit_random *r)
{
	for (unsigned i = 0; i < count; i++) {
		size_t before = at_end ? 0 : unit_random_next(r) % 64;

		cells[i] = guarded_new(NULL, before + size, at_end);
		bytes[i] = cells[i].bytes + before;
		fill(r, bytes[i], size);
	}
}

/* Add some cells to the rows by one way, and by the definition. */
static void check_way(const struct bpk_code_way *way, unsigned rows, unsigned count, size_t size,
		      bool at_end)
{
	struct unit_random r = { 7 * rows + count + size };
	unsigned column = unit_random_next(&r) % (COLUMNS - count + 1);
	uint8_t factors[ROWS * COLUMNS], *cells[COLUMNS], *outs[ROWS], expected[ROWS][9000];
	struct guarded in[COLUMNS], out[ROWS];
	struct bpk_err err = { 0 };
	struct bpk_code code;

	assert_true(size <= sizeof expected[0]);
	fill(&r, factors, sizeof factors);
	new_cells(in, cells, count, size, at_end, &r);
	new_cells(out, outs, rows, size, at_end, &r);
	for (unsigned row = 0; row < rows; row++) {
		memcpy(expected[row], outs[row], size);
		for (unsigned c = 0; c < count; c++)
			for (size_t i = 0; i < size; i++)
				expected[row][i] ^= naive_product(
					factors[row * COLUMNS + column + c], cells[c][i]);
	}
	assert_int_equal(bpk_code_init_factors(&code, way, rows, COLUMNS, factors, &err), 0);
	bpk_code_add(&code, &(struct bpk_code_in){ column, count, (const uint8_t *const *)cells },
		     outs, size);
	for (unsigned row = 0; row < rows; row++) {
		assert_memory_equal(outs[row], expected[row], size);
		guarded_free(&out[row]);
	}
	for (unsigned c = 0; c < count; c++)
		guarded_free(&in[c]);
	bpk_code_clear(&code);
}

static void test_every_way(void **state)
{
	static const size_t sizes[] = {
		1, 15, 31, 63, 64, 65, 127, 128, 191, 512, 1000, 4096, 4500
	};
	struct unit_random r = { 3 };

	(void)state;
	for (size_t w = 0; bpk_code_ways[w] != NULL; w++) {
		if (!bpk_code_ways[w]->runs())
			continue;
		for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++)
			for (unsigned rows = 1; rows <= ROWS; rows += 1 + sizes[s] / 512)
				check_way(bpk_code_ways[w], rows,
					  1 + (unsigned)(unit_random_next(&r) % COLUMNS), sizes[s],
					  rows % 2 != 0);
		for (unsigned i = 0; i < rounds(); i++)
			check_way(bpk_code_ways[w], 1 + (unsigned)(unit_random_next(&r) % ROWS),
				  1 + (unsigned)(unit_random_next(&r) % COLUMNS),
				  1 + unit_random_next(&r) % 900, i % 2 != 0);
	}
}

/* ---- matrices ---- */

/* Any rows and columns of the code have an inverse, and that is one. */
static void test_parts_have_inverses(void **state)
{
	struct unit_random r = { 1 };

	(void)state;
	for (int round = 0; round < 300; round++) {
		unsigned m = 1 + unit_random_next(&r) % 40, n = 1 + unit_random_next(&r) % m;
		unsigned k = BPK_CODE_MAX - m, stride = k / n;
		uint8_t part[40 * 40], inverse[40 * 40], scratch[40 * 40];

		for (unsigned row = 0; row < n; row++)
			for (unsigned column = 0; column < n; column++)
				part[row * n + column] = bpk_code_factor(
					row * (m / n), column * stride + (unsigned)round % stride);
		memcpy(inverse, part, sizeof part);
		assert_true(bpk_gf_invert(inverse, scratch, n));
		for (unsigned row = 0; row < n; row++)
			for (unsigned column = 0; column < n; column++) {
				uint8_t sum = 0;

				for (unsigned i = 0; i < n; i++)
					sum ^= naive_product(part[row * n + i],
							     inverse[i * n + column]);
				assert_int_equal(sum, row == column);
			}
	}
}

static void test_no_inverse(void **state)
{
	uint8_t same[] = { 3, 5, 3, 5 }, zero[] = { 0, 0, 0, 1 }, scratch[4];

	(void)state;
	assert_false(bpk_gf_invert(same, scratch, 2));
	assert_false(bpk_gf_invert(zero, scratch, 2));
}

/* ---- side files ---- */

/* An archive in memory, its side file in memory and on disk, and their comparison. */
struct made {
	char folder[32], path[48];
	uint8_t *good, *now;
	size_t size;
	uint8_t *side;
	size_t side_size;
	struct bpk_source *source;
	struct bpk_parity *parity;
	struct bpk_parity_scan scan;
};

static void write_file(const char *path, const uint8_t *bytes, size_t size)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, size), size);
	close(fd);
}

static void open_now(struct made *made)
{
	struct bpk_err err = { 0 };

	bpk_source_close(made->source);
	assert_int_equal(bpk_source_of_memory(bpk_view(made->now, made->size), &made->source, &err),
			 0);
}

/* Write the side file of the present bytes; change may be NULL. */
static int make_side(struct made *made, unsigned share, const struct bpk_parity_change *change,
		     struct bpk_err *err)
{
	const struct bpk_draft_options options = { .overwrite = true };
	struct bpk_draft *draft;
	struct stat found;
	int fd;

	open_now(made);
	assert_int_equal(bpk_draft_open(made->path, &options, &draft, err), 0);
	if (bpk_parity_make(made->source, NULL, share, change, draft, err) != 0) {
		bpk_draft_drop(draft);
		return -1;
	}
	assert_int_equal(bpk_draft_keep(draft, NULL, err), 0);
	fd = open(made->path, O_RDONLY);
	assert_int_equal(fstat(fd, &found), 0);
	made->side_size = (size_t)found.st_size;
	made->side = realloc(made->side, made->side_size);
	assert_int_equal(read(fd, made->side, made->side_size), made->side_size);
	close(fd);
	return 0;
}

static void begin_made(struct made *made, size_t size, struct unit_random *r)
{
	memset(made, 0, sizeof *made);
	strcpy(made->folder, "parity-XXXXXX");
	assert_non_null(mkdtemp(made->folder));
	snprintf(made->path, sizeof made->path, "%s/a.bpp", made->folder);
	made->size = size;
	made->good = malloc(size + 1);
	made->now = malloc(size + 1);
	fill(r, made->good, size);
	memcpy(made->now, made->good, size);
}

static void end_made(struct made *made)
{
	bpk_parity_scan_clear(&made->scan);
	bpk_parity_close(made->parity);
	bpk_source_close(made->source);
	unlink(made->path);
	rmdir(made->folder);
	free(made->good);
	free(made->now);
	free(made->side);
}

/* Open the side file as its bytes in memory are now, and compare. */
static void compare_now(struct made *made)
{
	struct bpk_err err = { 0 };

	bpk_parity_scan_clear(&made->scan);
	bpk_parity_close(made->parity);
	write_file(made->path, made->side, made->side_size);
	open_now(made);
	if (bpk_parity_open(made->path, &made->parity, &err) != 0)
		fail_msg("%s", err.text);
	assert_int_equal(bpk_parity_compare(made->parity, made->source, &made->scan, &err), 0);
}

static int put_healed(void *arg, uint64_t offset, struct bpk_view bytes, struct bpk_err *err)
{
	struct made *made = arg;

	(void)err;
	assert_true(bytes.size <= made->size && offset <= made->size - bytes.size);
	memcpy(made->now + offset, bytes.data, bytes.size);
	return 0;
}

static void heal_now(struct made *made)
{
	struct bpk_err err = { 0 };

	if (bpk_parity_heal(made->parity, made->source, &made->scan, put_healed, made, &err) != 0)
		fail_msg("%s", err.text);
}

static void damage(uint8_t *bytes, size_t size, struct unit_random *r)
{
	bytes[unit_random_next(r) % size] ^= (uint8_t)(1 + unit_random_next(r) % 255);
}

/* A hole of the share, somewhere. */
static void make_hole(struct made *made, unsigned share, struct unit_random *r)
{
	size_t hole = (size_t)((uint64_t)made->size * share / BPK_PARITY_MOST);
	size_t at = hole < made->size ? unit_random_next(r) % (made->size - hole + 1) : 0;

	fill(r, made->now + at, hole);
}

/* So many cells of a group, and of its parity, at random. */
static void damage_group(struct made *made, const struct bpk_segment *s, uint64_t group,
			 unsigned count, struct unit_random *r)
{
	bool hit[BPK_CODE_MAX + 1] = { false };
	unsigned rows = (unsigned)((s->cells - group - 1) / s->groups + 1);

	assert_true(count <= rows + s->m);
	for (unsigned n = 0; n < count;) {
		unsigned i = unit_random_next(r) % (rows + s->m);
		uint64_t number = (uint64_t)i * s->groups + group;

		if (hit[i])
			continue;
		hit[i] = true;
		n++;
		if (i < rows)
			damage(made->now + s->start + number * s->cell, bpk_cell_size(s, number),
			       r);
		else
			damage(made->side + bpk_side_offset(s, i - rows, group), s->cell, r);
	}
}

static void damage_all_groups(struct made *made, struct unit_random *r)
{
	for (size_t i = 0; i < made->parity->nsegments; i++)
		for (uint64_t g = 0; g < made->parity->segments[i].groups; g++)
			damage_group(made, &made->parity->segments[i], g,
				     made->parity->segments[i].m, r);
}

/* One copy of head and tables, in any mix of pages, but for its head. */
static void damage_tables(struct made *made, struct unit_random *r)
{
	size_t front = (made->parity->segments[0].parity_start - BPK_SIDE_HEAD) / BPK_SIDE_PAGE;
	size_t back = made->side_size - BPK_SIDE_HEAD - front * BPK_SIDE_PAGE;

	damage(made->side + (unit_random_next(r) % 2 ? 0 : made->side_size - BPK_SIDE_HEAD),
	       BPK_SIDE_HEAD, r);
	for (size_t i = 0; i < front; i++)
		damage(made->side + (unit_random_next(r) % 2 ? BPK_SIDE_HEAD : back) +
			       i * BPK_SIDE_PAGE,
		       BPK_SIDE_PAGE, r);
}

static size_t random_size(struct unit_random *r, unsigned round)
{
	return 1 + unit_random_next(r) % (round % 20 == 0  ? 9u << 20
					  : round % 4 == 0 ? 2000
							   : 400000);
}

static void test_damage_up_to_the_limit(void **state)
{
	(void)state;
	for (unsigned round = 0; round < rounds(); round++) {
		struct unit_random r = { round };
		unsigned share = round % 3 != 0 ? 500 : 1 + unit_random_next(&r) % 3000;
		struct bpk_err err = { 0 };
		struct made made;

		begin_made(&made, random_size(&r, round), &r);
		assert_int_equal(make_side(&made, share, NULL, &err), 0);
		compare_now(&made);
		assert_true(made.scan.bad == 0 && made.scan.bad_parity == 0 &&
			    !made.scan.bad_tables && bpk_parity_size(made.parity) == made.size);
		if (round % 2 == 0)
			make_hole(&made, share, &r);
		else
			damage_all_groups(&made, &r);
		damage_tables(&made, &r);
		compare_now(&made);
		assert_int_equal(made.scan.lost, 0);
		assert_true(made.scan.bad_tables);
		heal_now(&made);
		assert_memory_equal(made.now, made.good, made.size);
		end_made(&made);
	}
}

struct losses {
	uint64_t count, bytes;
	const struct made *made;
};

static void note_lost(void *arg, uint64_t offset, uint64_t size)
{
	struct losses *losses = arg;

	losses->count++;
	losses->bytes += size;
	assert_true(memcmp(losses->made->now + offset, losses->made->good + offset, size) != 0);
}

static void test_one_cell_beyond(void **state)
{
	(void)state;
	for (unsigned round = 0; round < rounds(); round++) {
		struct unit_random r = { 5 * round + 1 };
		struct bpk_err err = { 0 };
		struct made made;
		const struct bpk_segment *s;
		uint64_t group, bytes = 0;

		begin_made(&made, 1 + random_size(&r, round), &r);
		assert_int_equal(make_side(&made, 500, NULL, &err), 0);
		compare_now(&made);
		s = &made.parity->segments[0];
		group = unit_random_next(&r) % s->groups;
		damage_group(&made, s, group, s->m + 1, &r);
		compare_now(&made);
		s = &made.parity->segments[0];
		for (uint64_t n = 0; n < s->cells; n++)
			if (memcmp(made.now + n * s->cell, made.good + n * s->cell,
				   bpk_cell_size(s, n)) != 0)
				bytes += bpk_cell_size(s, n);
		if (bytes > 0) { /* and not the m parity cells with one of a small group */
			struct losses losses = { .made = &made };

			assert_true(made.scan.lost > 0 && made.scan.lost == made.scan.bad);
			assert_int_equal(bpk_parity_losses(made.parity, &made.scan, note_lost,
							   &losses, &err),
					 0);
			assert_int_equal(losses.bytes, bytes);
		}
		heal_now(&made); /* leaves the group alone */
		end_made(&made);
	}
}

/* A file that lost its end, or a side file that did. */
static void test_cut_off(void **state)
{
	struct unit_random r = { 3 };
	struct bpk_err err = { 0 };
	struct made made;
	size_t whole = 200000;

	(void)state;
	begin_made(&made, whole, &r);
	assert_int_equal(make_side(&made, 500, NULL, &err), 0);
	made.size = whole - 9000;
	compare_now(&made);
	assert_true(made.scan.bad >= 9000 / 512 && made.scan.lost == 0);
	assert_int_equal(made.scan.size, whole - 9000);
	made.size = whole;
	memset(made.now + whole - 9000, 0, 9000);
	heal_now(&made);
	assert_memory_equal(made.now, made.good, whole);
	made.side_size -= BPK_SIDE_HEAD + 100;
	compare_now(&made);
	assert_true(made.scan.bad == 0 && made.scan.bad_tables);
	end_made(&made);
}

/* ---- changes ---- */

static void check_made(struct made *made, size_t nsegments)
{
	compare_now(made);
	assert_true(made->scan.bad == 0 && made->scan.bad_parity == 0);
	assert_int_equal(made->parity->nsegments, nsegments);
	assert_int_equal(bpk_parity_size(made->parity), made->size);
}

/* A closed segment stays but for the groups that were written; the rest behind is one more. */
static void test_growth(void **state)
{
	struct unit_random r = { 4 };
	struct bpk_parity_range written[] = { { 70, 5 }, { 64 << 20, 1 << 20 } };
	struct bpk_parity_change change = { .written = written, .count = 2 };
	struct bpk_err err = { 0 };
	struct made made;

	(void)state;
	begin_made(&made, 66 << 20, &r);
	made.size = 64 << 20;
	assert_int_equal(make_side(&made, 500, NULL, &err), 0);
	compare_now(&made);
	for (int step = 0; step < 2; step++) { /* the second segment is open, and computed again */
		made.size += 1 << 20;
		fill(&r, made.now + 70, 5);
		change.old = made.parity;
		assert_int_equal(make_side(&made, 500, &change, &err), 0);
		check_made(&made, 2);
		written[1].offset = made.size;
	}
	memcpy(made.good, made.now, made.size);
	make_hole(&made, 200, &r);
	damage(made.now + 65 * (1 << 20), 512, &r);
	compare_now(&made);
	assert_true(made.scan.bad > 0 && made.scan.lost == 0);
	heal_now(&made);
	assert_memory_equal(made.now, made.good, made.size);
	end_made(&made);
}

/* Damage that was there before the change does not become the content. */
static void test_growth_refuses_damage(void **state)
{
	static const size_t sizes[] = { 300000, 66 << 20 };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct unit_random r = { 4 };
		struct bpk_parity_range written[] = { { 0, 32 }, { sizes[i], 5000 } };
		struct bpk_parity_change change = { .written = written, .count = 2 };
		struct bpk_err err = { 0 };
		const struct bpk_segment *s;
		struct made made;

		begin_made(&made, sizes[i] + 5000, &r);
		made.size = sizes[i];
		assert_int_equal(make_side(&made, 500, NULL, &err), 0);
		compare_now(&made);
		made.size += 5000;
		change.old = made.parity;
		s = &made.parity->segments[0];
		damage(made.now + s->groups * s->cell, s->cell, &r);
		assert_int_equal(make_side(&made, 500, &change, &err), -1);
		assert_int_equal(err.kind, BPK_CORRUPT);
		end_made(&made);
	}
}

static void test_shrinking(void **state)
{
	struct unit_random r = { 9 };
	struct bpk_parity_range written[] = { { 0, 32 } };
	struct bpk_parity_change change = { .written = written, .count = 1 };
	struct bpk_err err = { 0 };
	struct made made;

	(void)state;
	begin_made(&made, 500000, &r);
	assert_int_equal(make_side(&made, 500, NULL, &err), 0);
	compare_now(&made);
	made.size = 300000;
	change.old = made.parity;
	assert_int_equal(make_side(&made, 500, &change, &err), 0);
	check_made(&made, 1);
	made.size = 0;
	change.old = made.parity;
	assert_int_equal(make_side(&made, 500, &change, &err), 0);
	check_made(&made, 0);
	end_made(&made);
}

/* ---- hostile side files ---- */

/* Seal a head again, both copies, as somebody may who knows the format. */
static void reseal(struct made *made)
{
	uint8_t digest[BPK_DIGEST_MAX];
	size_t last = made->side_size - BPK_SIDE_HEAD;

	assert_int_equal(bpk_checksum_compute(bpk_checksum_find("sha256"),
					      bpk_view(made->side, 480), digest, NULL),
			 0);
	memcpy(made->side + 480, digest, 32);
	memcpy(made->side + last, made->side, BPK_SIDE_HEAD);
}

/* Seal the first page, which has the records of segments. */
static void reseal_page(struct made *made)
{
	uint8_t bytes[BPK_SIDE_PAYLOAD + 8] = { 0 };

	memcpy(bytes, made->side + BPK_SIDE_HEAD, BPK_SIDE_PAYLOAD);
	assert_int_equal(bpk_side_sum(bpk_view(bytes, sizeof bytes),
				      made->side + BPK_SIDE_HEAD + BPK_SIDE_PAYLOAD, NULL),
			 0);
}

static void refuse_now(struct made *made, enum bpk_kind kind)
{
	struct bpk_parity *parity;
	struct bpk_err err = { 0 };

	write_file(made->path, made->side, made->side_size);
	assert_int_equal(bpk_parity_open(made->path, &parity, &err), -1);
	assert_int_equal(err.kind, kind);
	assert_null(parity);
}

static void test_hostile_numbers(void **state)
{
	static const uint64_t numbers[] = {
		0, 1, 255, 1 << 16, UINT32_MAX, UINT64_MAX / 4, UINT64_MAX / 24 + 1, UINT64_MAX
	};
	struct unit_random r = { 2 };
	struct bpk_err err = { 0 };
	struct made made;
	uint8_t *saved;

	(void)state;
	begin_made(&made, 50000, &r);
	assert_int_equal(make_side(&made, 500, NULL, &err), 0);
	saved = malloc(made.side_size);
	memcpy(saved, made.side, made.side_size);
	for (size_t n = 0; n < sizeof numbers / sizeof numbers[0]; n++) {
		for (size_t at = 16; at <= 40; at += 8) {
			bpk_put_le64(made.side + at, numbers[n]);
			if (memcmp(made.side, saved, 480) != 0) {
				reseal(&made);
				refuse_now(&made, BPK_CORRUPT);
			}
			memcpy(made.side, saved, made.side_size);
		}
		for (size_t at = 0; at < BPK_SIDE_RECORD; at += at < 16 ? 8 : 4) {
			uint8_t *record = made.side + BPK_SIDE_HEAD + at;

			if (at < 16)
				bpk_put_le64(record, numbers[n]);
			else
				bpk_put_le32(record, (uint32_t)numbers[n]);
			if (memcmp(made.side, saved, 1000) != 0) {
				reseal_page(&made);
				refuse_now(&made, BPK_CORRUPT);
			}
			memcpy(made.side, saved, made.side_size);
		}
	}
	bpk_put_le32(made.side + 8, 3);
	reseal(&made);
	refuse_now(&made, BPK_UNSUPPORTED);
	free(saved);
	end_made(&made);
}

static void test_odd_files(void **state)
{
	struct unit_random r = { 2 };
	struct bpk_err err = { 0 };
	struct bpk_parity *parity;
	struct made made;
	char link[64];
	bool there, ours;

	(void)state;
	begin_made(&made, 5000, &r);
	assert_int_equal(bpk_parity_look(made.path, &there, &ours, &err), 0);
	assert_false(there);
	assert_int_equal(make_side(&made, 500, NULL, &err), 0);
	assert_int_equal(bpk_parity_look(made.path, &there, &ours, &err), 0);
	assert_true(there && ours);
	snprintf(link, sizeof link, "%s/l.bpp", made.folder);
	assert_int_equal(symlink("a.bpp", link), 0);
	assert_int_equal(bpk_parity_open(link, &parity, &err), -1);
	assert_int_equal(err.kind, BPK_FAILED);
	unlink(link);
	assert_int_equal(mkfifo(link, 0600), 0);
	assert_int_equal(bpk_parity_open(link, &parity, &err), -1);
	assert_int_equal(err.kind, BPK_FAILED);
	assert_int_equal(bpk_parity_look(link, &there, &ours, &err), 0);
	assert_true(there && !ours);
	unlink(link);
	for (made.side_size = 0; made.side_size < 1500; made.side_size += 100) {
		memset(made.side, 'x', 100);
		refuse_now(&made, BPK_CORRUPT);
	}
	end_made(&made);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_arithmetic),
		cmocka_unit_test(test_every_way),
		cmocka_unit_test(test_parts_have_inverses),
		cmocka_unit_test(test_no_inverse),
		cmocka_unit_test(test_damage_up_to_the_limit),
		cmocka_unit_test(test_one_cell_beyond),
		cmocka_unit_test(test_cut_off),
		cmocka_unit_test(test_growth),
		cmocka_unit_test(test_growth_refuses_damage),
		cmocka_unit_test(test_shrinking),
		cmocka_unit_test(test_hostile_numbers),
		cmocka_unit_test(test_odd_files),
	};

	return UNIT_RUN(tests);
}
