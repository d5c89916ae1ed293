/*
 * Changing arrays in chunks of several dimensions: rows added and removed, bands overwritten, in
 * contiguous and sparse frames. After every commit the readers' content is compared with a model.
 * Such an array is also cut at every byte and read with every bit flipped.
 */
#include "unit/archive.h"

#include <stdlib.h>
#include <sys/stat.h>

#include "format/frame/frame.h"

enum { ROUNDS = 40, SECTOR = 512, MOST_ROWS = 60 };

static char folder[64], path[96];
static struct bpk_chunk_ctx *ctx;

static void need(int rc, const struct bpk_err *err)
{
	if (rc != 0)
		fail_msg("%s", err->text);
}

/* ---- A model ---- */

static const struct sample {
	size_t count;
	uint64_t shape[3], chunks[3], blocks[3];
	uint32_t item_size;
	bool sparse;
	const char *checksum;
	unsigned nlayers; /* fixed ones beside the array's, which make the header long */
} samples[] = {
	{ 1, { 50 }, { 16 }, { 5 }, 4, false, "crc32", 0 },
	{ 1, { 3 }, { 16 }, { 16 }, 8, true, "crc32", 0 },
	{ 2, { 20, 9 }, { 6, 4 }, { 4, 3 }, 2, false, "sha256", 0 },
	{ 2, { 20, 9 }, { 6, 4 }, { 4, 3 }, 1, true, "none", 0 },
	{ 2, { 0, 9 }, { 7, 9 }, { 7, 3 }, 4, false, "none", 0 },
	{ 3, { 13, 5, 7 }, { 5, 3, 7 }, { 2, 3, 4 }, 6, false, "crc32", 0 },
	{ 3, { 13, 5, 7 }, { 1, 2, 3 }, { 1, 1, 3 }, 8, true, "crc32", 0 },
	{ 2, { 20, 9 }, { 6, 4 }, { 4, 3 }, 300, false, "crc32", 0 },
	{ 2, { 20, 9 }, { 6, 4 }, { 4, 3 }, 4, false, "crc32", 15 },
};

enum { NSAMPLES = sizeof samples / sizeof *samples };

struct model {
	const struct sample *s;
	const struct bpk_editor_ops *ops;
	const struct bpk_writer_ops *writer_ops;
	struct bpk_buf raw;
	size_t row_size;
	uint64_t band_rows; /* rows that are packed together */
	struct unit_random random;
};

static size_t row_size_of(const struct sample *s)
{
	size_t size = s->item_size;

	for (size_t i = 1; i < s->count; i++)
		size *= s->shape[i];
	return size;
}

static uint64_t rows_of(const struct model *m)
{
	return m->raw.size / m->row_size;
}

/* Rows of noise, of numbers, or of zeros. */
static void fill(struct model *m, uint64_t from, uint64_t to)
{
	unsigned kind = unit_random_next(&m->random) % 3;

	for (size_t i = from * m->row_size; i < to * m->row_size; i++)
		m->raw.data[i] = kind == 0   ? 0
				 : kind == 1 ? (uint8_t)(i / 4)
					     : (uint8_t)unit_random_next(&m->random);
}

static void grow(struct model *m, uint64_t rows)
{
	uint64_t before = rows_of(m);

	need(bpk_buf_resize(&m->raw, (before + rows) * m->row_size, NULL), NULL);
	fill(m, before, before + rows);
}

static void pack(struct model *m, const struct bpk_writer_ops *ops, void *writer, uint64_t number,
		 uint64_t start, size_t size)
{
	const struct bpk_recipe recipe = { .codec = bpk_codec_find("lz4"),
					   .level = 5,
					   .typesize = m->s->item_size > 255 ? 1 : m->s->item_size,
					   .extended = true,
					   .pipeline = bpk_pipeline_of(BPK_FILTER_SHUFFLE) };
	struct bpk_parcel parcel = { .number = number, .raw_size = size };
	struct bpk_err err = { 0 };

	need(bpk_buf_append(&parcel.raw, bpk_view(m->raw.data + start, size), &err), &err);
	assert_true(ops->packs(writer));
	need(ops->pack(writer, ctx, &recipe, &parcel, &err), &err);
	parcel.packed.size = parcel.packed_size;
	need(ops->seal(writer, &parcel, &err), &err);
	need(ops->put(writer, &parcel, &err), &err);
	bpk_buf_clear(&parcel.packed);
	bpk_buf_clear(&parcel.raw);
}

/* Put the model's content from that band on. */
static void put_rest(struct model *m, const struct bpk_writer_ops *ops, void *writer,
		     uint64_t number, uint64_t band_rows)
{
	for (size_t band = band_rows * m->row_size, at = number * band; at < m->raw.size;
	     at += band)
		pack(m, ops, writer, number++, at, bpk_min_size(band, m->raw.size - at));
}

/* ---- Creating ---- */

static struct bpk_array array_of(const struct sample *s)
{
	struct bpk_array array = { .dtype = { .scalar = { 'V', '|', s->item_size, "" },
					      .size = s->item_size } };

	need(bpk_array_set_shape(&array, s->shape, s->count, NULL), NULL);
	return array;
}

/* The list of layers precedes all contents, so the shape is behind the first sector. */
static void name_layers(struct bpk_layer *layers, char (*names)[32], unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		snprintf(names[i], 32, "%031u", i);
		layers[i] = (struct bpk_layer){ names[i], true, { (const void *)"\x2a", 1 } };
	}
}

static void remove_all(const char *what)
{
	char command[160];

	snprintf(command, sizeof command, "rm -rf '%s'", what);
	assert_int_equal(system(command), 0);
}

static void model_write(struct model *m)
{
	const struct sample *s = m->s;
	struct bpk_array array = array_of(s);
	const struct bpk_write_options options = { .chunk_shape = s->chunks,
						   .block_shape = s->blocks };
	const struct bpk_draft_options draft_options = { .directory = s->sparse,
							 .ours = s->sparse ? bpk_frame_owns
									   : NULL };
	struct bpk_layer layers[15];
	char names[15][32];
	struct bpk_info info = { .raw_size = m->raw.size,
				 .chunks.count = BPK_UNKNOWN,
				 .chunks.size = BPK_UNKNOWN,
				 .array.type = &array,
				 .metadata.layers = layers,
				 .metadata.nlayers = s->nlayers,
				 .chunks.checksum = bpk_checksum_find(s->checksum) };
	struct bpk_division division;
	struct bpk_draft *draft;
	struct bpk_err err = { 0 };
	void *writer;

	remove_all(path);
	name_layers(layers, names, s->nlayers);
	need(bpk_frame_divide(&array, &options, 0, 0, &division, &err), &err);
	need(bpk_draft_open(path, &draft_options, &draft, &err), &err);
	need(m->writer_ops->open(draft, &info, &options, &writer, &err), &err);
	put_rest(m, m->writer_ops, writer, 0, division.parcel_size / m->row_size);
	need(m->writer_ops->finish(writer, &err), &err);
	m->writer_ops->close(writer);
	need(bpk_draft_keep(draft, NULL, &err), &err);
}

static struct model begin(unsigned number)
{
	const struct sample *s = &samples[number];
	struct model m = {
		.s = s,
		.ops = s->sparse ? &bpk_frame_sparse_editor_ops : &bpk_frame_editor_ops,
		.writer_ops = s->sparse ? &bpk_frame_sparse_writer_ops : &bpk_frame_writer_ops,
		.row_size = row_size_of(s),
		.band_rows = s->chunks[0],
		.random = { number + 1 },
	};

	grow(&m, s->shape[0]);
	model_write(&m);
	return m;
}

static void *open_editor(const struct model *m)
{
	struct bpk_editor_options options = { .append_space = BPK_UNKNOWN };
	struct bpk_err err = { 0 };
	void *editor;

	need(m->ops->open(path, &options, &editor, &err), &err);
	assert_int_equal(m->ops->info(editor)->chunks.size, m->band_rows * m->row_size);
	return editor;
}

/* ---- Checks ---- */

static void remark(void *arg, const char *line)
{
	(void)arg;
	/* holes of earlier states, and a header that c-blosc2 needs for large ids: no damage */
	if (strstr(line, " hole") == NULL && strstr(line, "the header says") == NULL)
		fail_msg("remark: %s", line);
}

static void check_content(const struct model *m, void *reader)
{
	const struct bpk_info *info = bpk_frame_reader_ops.info(reader);
	struct bpk_buf raw = { 0 };
	struct bpk_err err = { 0 };

	assert_int_equal(info->raw_size, m->raw.size);
	assert_int_equal(info->array.type->shape[0], rows_of(m));
	need(archive_drain(&bpk_frame_reader_ops, reader, &raw, &err), &err);
	assert_int_equal(raw.size, m->raw.size);
	if (raw.size > 0)
		assert_memory_equal(raw.data, m->raw.data, raw.size);
	bpk_buf_clear(&raw);
}

/* As found by new readers: in C order, and as stored, with all digests. */
static void check_place(const struct model *m)
{
	for (unsigned i = 0; i < 2; i++) {
		const struct bpk_read_options options = { .as_stored = i == 1 };
		struct bpk_buf padded = { 0 };
		struct bpk_err err = { 0 };
		struct bpk_place place;
		void *reader;

		need(bpk_place_open(path, NULL, &place, &err), &err);
		need(bpk_frame_reader_ops.open(&place, &options, &reader, &err), &err);
		if (i == 0)
			check_content(m, reader);
		else
			need(archive_drain(&bpk_frame_reader_ops, reader, &padded, &err), &err);
		need(bpk_frame_reader_ops.audit(reader, remark, NULL, &err), &err);
		bpk_frame_reader_ops.close(reader);
		bpk_place_close(&place);
		bpk_buf_clear(&padded);
	}
}

static void commit_and_check(const struct model *m, void *editor)
{
	struct bpk_err err = { 0 };

	need(m->ops->commit(editor, &err), &err);
	check_content(m, m->ops->reader(editor));
	check_place(m);
}

/* ---- Changes ---- */

static void model_append(struct model *m, void *editor, uint64_t rows)
{
	const struct bpk_info *info = m->ops->info(editor);
	uint64_t kept = info->chunks.count;
	struct bpk_err err = { 0 };

	kept -= kept > 0 && info->chunks.last_size < info->chunks.size;
	grow(m, rows);
	need(m->ops->cut(editor, kept, &err), &err);
	put_rest(m, m->ops->appender, editor, kept, m->band_rows);
}

static void model_truncate(struct model *m, void *editor, uint64_t rows)
{
	struct bpk_err err = { 0 };

	m->raw.size = rows * m->row_size;
	need(m->ops->cut(editor, rows / m->band_rows, &err), &err);
	put_rest(m, m->ops->appender, editor, rows / m->band_rows, m->band_rows);
}

static void model_overwrite(struct model *m, void *editor, uint64_t band)
{
	uint64_t start = band * m->band_rows;
	uint64_t end = bpk_min_u64(start + m->band_rows, rows_of(m));
	uint64_t from = start + unit_random_next(&m->random) % (end - start);

	fill(m, from, from + 1 + unit_random_next(&m->random) % (end - from));
	pack(m, m->ops->appender, editor, band, start * m->row_size, (end - start) * m->row_size);
}

static void any_change(struct model *m, void *editor)
{
	unsigned what = unit_random_next(&m->random) % 3;
	uint64_t rows = rows_of(m);

	if (rows > MOST_ROWS || what == 0)
		model_truncate(m, editor, unit_random_next(&m->random) % (rows + 1));
	else if (what == 1 || rows == 0)
		model_append(m, editor, unit_random_next(&m->random) % (2 * m->band_rows));
	else
		model_overwrite(m, editor,
				unit_random_next(&m->random) % bpk_div_up(rows, m->band_rows));
	commit_and_check(m, editor);
}

/* ---- Tests ---- */

static void test_random(void **state)
{
	(void)state;
	for (unsigned i = 0; i < NSAMPLES; i++) {
		struct model m = begin(i);
		void *editor = open_editor(&m);

		check_place(&m);
		for (unsigned round = 0; round < ROUNDS; round++) {
			any_change(&m, editor);
			if (round % 7 == 6) {
				m.ops->close(editor);
				editor = open_editor(&m);
			}
		}
		m.ops->close(editor);
		bpk_buf_clear(&m.raw);
	}
}

/* Uncommitted changes are undone; metadata may be set at any time. */
static void test_undone(void **state)
{
	(void)state;
	for (unsigned i = 0; i < NSAMPLES; i++) {
		struct model m = begin(i), before = m;
		void *editor = open_editor(&m);
		struct bpk_err err = { 0 };

		before.raw = (struct bpk_buf){ 0 };
		need(bpk_buf_append(&before.raw, bpk_buf_view(&m.raw), NULL), NULL);
		model_append(&m, editor, 2 * m.band_rows + 1);
		check_place(&before);
		m.ops->close(editor);
		check_place(&before);
		editor = open_editor(&m);
		if (samples[i].nlayers == 0)
			need(m.ops->set_metadata(editor, bpk_view("{\"n\":1}", 7), &err), &err);
		commit_and_check(&before, editor);
		m.ops->close(editor);
		bpk_buf_clear(&m.raw);
		bpk_buf_clear(&before.raw);
	}
}

static struct bpk_buf load_file(void)
{
	struct bpk_source *source;
	struct bpk_buf bytes = { 0 };
	struct bpk_err err = { 0 };

	need(bpk_source_open(path, &source, &err), &err);
	need(bpk_buf_resize(&bytes, bpk_source_size(source), &err), &err);
	need(bpk_source_need_at(source, 0, bpk_span(bytes.data, bytes.size), &err), &err);
	bpk_source_close(source);
	return bytes;
}

/* Of the bytes reachable from the old header only those of the sizes and of the shape change; they
 * are in one sector unless the header is long. */
static void test_old_bytes_stay(void **state)
{
	static const size_t ends[] = { SECTOR, 1024 };

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		struct model m = begin(i == 0 ? 2 : NSAMPLES - 1);
		struct bpk_buf before = load_file(), now;
		void *editor = open_editor(&m);
		size_t last = 0;

		model_append(&m, editor, 9);
		commit_and_check(&m, editor);
		m.ops->close(editor);
		now = load_file();
		for (size_t at = 0; at < before.size; at++)
			if (before.data[at] != now.data[at])
				last = at;
		assert_memory_equal(now.data, before.data, BPK_FRAME_COMMIT_START);
		assert_in_range(last, BPK_FRAME_COMMIT_END, ends[i] - 1);
		assert_true(i == 0 || last > SECTOR);
		bpk_buf_clear(&before);
		bpk_buf_clear(&now);
		bpk_buf_clear(&m.raw);
	}
}

/* A band that ends within a row is refused without changes. */
static void test_part_of_a_row(void **state)
{
	struct model m = begin(2);
	void *editor = open_editor(&m);
	const struct bpk_recipe recipe = {
		.codec = bpk_codec_find("lz4"), .level = 5, .typesize = 2, .extended = true
	};
	struct bpk_parcel parcel = { .number = 3, .raw_size = m.row_size + 2 };
	struct bpk_err err = { 0 };

	(void)state;
	need(m.ops->cut(editor, 3, &err), &err);
	need(bpk_buf_append(&parcel.raw, bpk_view(m.raw.data, parcel.raw_size), &err), &err);
	need(m.ops->appender->pack(editor, ctx, &recipe, &parcel, &err), &err);
	need(m.ops->appender->seal(editor, &parcel, &err), &err);
	assert_int_equal(m.ops->appender->put(editor, &parcel, &err), -1);
	assert_int_equal(err.kind, BPK_FAILED);
	assert_string_equal(err.text, "344 bytes are not whole rows of 18");
	m.ops->close(editor);
	check_place(&m);
	bpk_buf_clear(&parcel.raw);
	bpk_buf_clear(&parcel.packed);
	bpk_buf_clear(&m.raw);
}

/* ---- Damage ---- */

/* True if verify or reading in C order finds it. Wrong bytes never come without an error. */
static bool is_found(struct bpk_view bytes, struct bpk_view raw)
{
	bool found[2] = { true, true };

	for (unsigned i = 0; i < 2; i++) {
		const struct bpk_read_options options = { .as_stored = i == 1 };
		struct bpk_buf out = { 0 };
		struct bpk_err err = { 0 };
		struct archive_input input;
		void *reader;

		archive_input_open(&input, bytes, ARCHIVE_MEMORY);
		if (bpk_frame_reader_ops.open(&input.place, &options, &reader, &err) == 0) {
			bool well = archive_drain(&bpk_frame_reader_ops, reader, &out, &err) == 0;

			if (well && i == 0 &&
			    (out.size != raw.size || memcmp(out.data, raw.data, raw.size) != 0))
				fail_msg("other bytes came out");
			found[i] = !well || (i == 1 && bpk_frame_reader_ops.audit(reader, remark,
										  NULL, &err) != 0);
			bpk_frame_reader_ops.close(reader);
		}
		archive_input_close(&input);
		bpk_buf_clear(&out);
	}
	return found[1];
}

/* A changed array of bpk has uncovered holes: this one has no holes. */
static void test_damage(void **state)
{
	struct model m = begin(2);
	struct bpk_buf frame = load_file();
	struct bpk_view raw = bpk_buf_view(&m.raw);
	size_t bits = 0, cuts = 0;

	(void)state;
	assert_false(is_found(bpk_buf_view(&frame), raw));
	for (size_t bit = 0; bit < 8 * frame.size; bit++) {
		frame.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
		bits += is_found(bpk_buf_view(&frame), raw);
		frame.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	for (size_t size = 0; size < frame.size; size++) {
		uint8_t *part = malloc(size + 1); /* so that a sanitizer finds reads past the end */

		assert_non_null(part);
		memcpy(part, frame.data, size);
		cuts += is_found(bpk_view(part, size), raw);
		free(part);
	}
	print_message("# of an array: turned bits found %zu of %zu, cuts %zu of %zu\n", bits,
		      8 * frame.size, cuts, frame.size);
	assert_int_equal(bits, 8 * frame.size);
	assert_int_equal(cuts, frame.size);
	bpk_buf_clear(&frame);
	bpk_buf_clear(&m.raw);
}

static int set_up(void **state)
{
	(void)state;
	snprintf(folder, sizeof folder, "/tmp/bpk-nd-edit-XXXXXX");
	if (mkdtemp(folder) == NULL)
		return -1;
	snprintf(path, sizeof path, "%s/frame", folder);
	ctx = bpk_chunk_ctx_new(NULL);
	return ctx == NULL ? -1 : 0;
}

static int tear_down(void **state)
{
	(void)state;
	bpk_chunk_ctx_free(ctx);
	remove_all(folder);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random),         cmocka_unit_test(test_undone),
		cmocka_unit_test(test_old_bytes_stay), cmocka_unit_test(test_part_of_a_row),
		cmocka_unit_test(test_damage),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
