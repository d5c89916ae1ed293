/*
 * Frames changed in place, contiguous and sparse: appended to, truncated, overwritten. After every
 * commit the readers' content is compared with a model, and the old frame's bytes with a copy.
 */
#include "unit/archive.h"

#include <sys/stat.h>

#include "format/frame/frame.h"

enum { CHUNK = 4096, ROUNDS = 60, MOST = 20 * CHUNK };

static char folder[64];
static char path[96];
static struct bpk_chunk_ctx *ctx;

/* ---- A model ---- */

struct model {
	bool sparse;
	const char *checksum;
	struct bpk_buf raw;
	uint64_t seed;
	uint64_t chunk_size; /* of appended chunks */
};

static const struct bpk_editor_ops *editor_ops(const struct model *m)
{
	return m->sparse ? &bpk_frame_sparse_editor_ops : &bpk_frame_editor_ops;
}

static const struct bpk_writer_ops *writer_ops(const struct model *m)
{
	return m->sparse ? &bpk_frame_sparse_writer_ops : &bpk_frame_writer_ops;
}

static void fail_of(const struct bpk_err *err)
{
	fail_msg("%s", err->text);
}

static uint64_t next(struct model *m)
{
	m->seed = m->seed * 6364136223846793005u + 1442695040888963407u;
	return m->seed >> 33;
}

/* Noise, consecutive numbers, or zeros. */
static void fill(struct model *m, uint8_t *bytes, size_t size)
{
	unsigned kind = (unsigned)(next(m) % 3);
	uint8_t start = (uint8_t)next(m);

	for (size_t i = 0; i < size; i++)
		bytes[i] = kind == 0 ? 0 : kind == 1 ? (uint8_t)(start + i / 4) : (uint8_t)next(m);
}

static void pack(struct model *m, struct bpk_parcel *parcel, uint64_t number, size_t start,
		 size_t size)
{
	const struct bpk_recipe recipe = { .codec = bpk_codec_find("lz4"),
					   .level = 5,
					   .typesize = 4,
					   .extended = true,
					   .pipeline = bpk_pipeline_of(BPK_FILTER_SHUFFLE) };
	struct bpk_err err = { 0 };

	parcel->number = number;
	parcel->raw_size = size;
	if (bpk_buf_reserve(&parcel->packed, bpk_chunk_bound(size) + BPK_DIGEST_MAX, &err) != 0 ||
	    bpk_chunk_encode(ctx, &recipe, bpk_view(m->raw.data + start, size),
			     bpk_buf_room(&parcel->packed), &parcel->packed_size, &err) != 0)
		fail_of(&err);
	parcel->packed.size = parcel->packed_size;
}

/* Seal and put the model's chunks from number on. */
static void put_rest(struct model *m, const struct bpk_writer_ops *ops, void *writer,
		     uint64_t number, uint64_t start)
{
	struct bpk_parcel parcel = { 0 };
	struct bpk_err err = { 0 };

	while (start < m->raw.size) {
		size_t size = bpk_min_size(m->chunk_size, m->raw.size - start);

		pack(m, &parcel, number++, start, size);
		start += size;
		if (ops->seal(writer, &parcel, &err) != 0 || ops->put(writer, &parcel, &err) != 0)
			fail_of(&err);
	}
	bpk_buf_clear(&parcel.packed);
}

static void remove_all(const char *what)
{
	char command[160];

	snprintf(command, sizeof command, "rm -rf '%s'", what);
	if (system(command) != 0)
		fail_msg("cannot remove %s", what);
}

/* A file and a directory of the same name do not replace each other. */
static void model_write(struct model *m)
{
	struct bpk_draft_options draft_options = { .overwrite = true,
						   .directory = m->sparse,
						   .ours = m->sparse ? bpk_frame_owns : NULL };
	struct bpk_info info = { .raw_size = BPK_UNKNOWN,
				 .chunks.count = BPK_UNKNOWN,
				 .chunks.size = m->chunk_size,
				 .chunks.typesize = 4,
				 .chunks.checksum = bpk_checksum_find(m->checksum) };
	const struct bpk_write_options options = { 0 };
	const struct bpk_writer_ops *ops = writer_ops(m);
	struct bpk_draft *draft;
	struct bpk_err err = { 0 };
	void *writer = NULL;

	remove_all(path);
	if (bpk_draft_open(path, &draft_options, &draft, &err) != 0 ||
	    ops->open(draft, &info, &options, &writer, &err) != 0)
		fail_of(&err);
	put_rest(m, ops, writer, 0, 0);
	if (ops->finish(writer, &err) != 0)
		fail_of(&err);
	ops->close(writer);
	if (bpk_draft_keep(draft, NULL, &err) != 0)
		fail_of(&err);
}

static void *open_editor(const struct model *m)
{
	struct bpk_editor_options options = { .append_space = BPK_UNKNOWN };
	struct bpk_err err = { 0 };
	void *editor;

	if (editor_ops(m)->open(path, &options, &editor, &err) != 0)
		fail_of(&err);
	return editor;
}

/* ---- Checks ---- */

struct seen {
	char line[256];
	unsigned nremarks;
};

static void remark(void *arg, const char *line)
{
	struct seen *seen = arg;

	/* holes of earlier states, and a header that c-blosc2 needs for large ids: no damage */
	if (strstr(line, " hole") != NULL || strstr(line, "the header says") != NULL)
		return;
	snprintf(seen->line, sizeof seen->line, "%s", line);
	seen->nremarks++;
}

static void check_content(const struct model *m, void *reader)
{
	struct bpk_buf raw = { 0 };
	struct bpk_err err = { 0 };

	if (archive_drain(&bpk_frame_reader_ops, reader, &raw, &err) != 0)
		fail_of(&err);
	assert_int_equal(raw.size, m->raw.size);
	if (raw.size > 0)
		assert_memory_equal(raw.data, m->raw.data, raw.size);
	bpk_buf_clear(&raw);
}

/* As found by a new reader. */
static void check_place(const struct model *m)
{
	const struct bpk_read_options options = { 0 };
	struct seen seen = { .nremarks = 0 };
	struct bpk_err err = { 0 };
	struct bpk_place place;
	void *reader = NULL;

	if (bpk_place_open(path, NULL, &place, &err) != 0 ||
	    bpk_frame_reader_ops.open(&place, &options, &reader, &err) != 0)
		fail_of(&err);
	check_content(m, reader);
	if (bpk_frame_reader_ops.audit(reader, remark, &seen, &err) != 0)
		fail_of(&err);
	if (seen.nremarks > 0)
		fail_msg("remark: %s", seen.line);
	bpk_frame_reader_ops.close(reader);
	bpk_place_close(&place);
}

static void commit_and_check(const struct model *m, void *editor)
{
	struct bpk_err err = { 0 };

	if (editor_ops(m)->commit(editor, &err) != 0)
		fail_of(&err);
	assert_int_equal(editor_ops(m)->info(editor)->raw_size, m->raw.size);
	check_content(m, editor_ops(m)->reader(editor));
	check_place(m);
}

/* ---- Changes ---- */

static void grow_raw(struct model *m, size_t size)
{
	size_t before = m->raw.size;
	struct bpk_err err = { 0 };

	assert_int_equal(bpk_buf_resize(&m->raw, before + size, &err), 0);
	if (size > 0)
		fill(m, m->raw.data + before, size);
}

/* As append does: a partial last chunk is recompressed. */
static void model_append(struct model *m, void *editor, size_t size)
{
	const struct bpk_info *info = editor_ops(m)->info(editor);
	uint64_t nchunks = info->chunks.count, start = info->raw_size;
	struct bpk_err err = { 0 };

	m->chunk_size = info->chunks.size;
	if (nchunks > 0 && info->chunks.last_size < info->chunks.size) {
		nchunks--;
		start -= info->chunks.last_size;
	}
	grow_raw(m, size);
	if (editor_ops(m)->cut(editor, nchunks, &err) != 0)
		fail_of(&err);
	put_rest(m, editor_ops(m)->appender, editor, nchunks, start);
}

static void model_truncate(struct model *m, void *editor, size_t size)
{
	const struct bpk_info *info = editor_ops(m)->info(editor);
	uint64_t kept;
	struct bpk_err err = { 0 };

	m->chunk_size = info->chunks.size;
	kept = size / m->chunk_size;
	m->raw.size = size;
	if (editor_ops(m)->cut(editor, kept, &err) != 0)
		fail_of(&err);
	put_rest(m, editor_ops(m)->appender, editor, kept, kept * m->chunk_size);
}

static void model_overwrite(struct model *m, void *editor, uint64_t number)
{
	const struct bpk_writer_ops *ops = editor_ops(m)->appender;
	uint64_t start = number * m->chunk_size;
	size_t size = bpk_min_u64(m->chunk_size, m->raw.size - start);
	struct bpk_parcel parcel = { 0 };
	struct bpk_err err = { 0 };

	fill(m, m->raw.data + start, size);
	pack(m, &parcel, number, start, size);
	if (ops->seal(editor, &parcel, &err) != 0 || ops->put(editor, &parcel, &err) != 0)
		fail_of(&err);
	bpk_buf_clear(&parcel.packed);
}

static struct model begin(bool sparse, const char *checksum, size_t size)
{
	struct model m = {
		.sparse = sparse, .checksum = checksum, .seed = size, .chunk_size = CHUNK
	};

	grow_raw(&m, size);
	model_write(&m);
	check_place(&m);
	return m;
}

/* ---- Tests ---- */

static const char *const checksums[] = { "crc32", "none", "sha256" };

static const size_t sizes[] = { 0, 1, CHUNK - 4, CHUNK, CHUNK + 4, 5 * CHUNK, 5 * CHUNK + 100 };

static void each(void (*run)(struct model *m, void *editor))
{
	for (unsigned i = 0; i < 2 * 3 * 7; i++) {
		struct model m = begin(i % 2 == 1, checksums[i / 2 % 3], sizes[i / 6]);
		void *editor = open_editor(&m);

		run(&m, editor);
		editor_ops(&m)->close(editor);
		check_place(&m);
		bpk_buf_clear(&m.raw);
	}
}

static void append_twice(struct model *m, void *editor)
{
	model_append(m, editor, 10);
	commit_and_check(m, editor);
	model_append(m, editor, 3 * CHUNK);
	commit_and_check(m, editor);
}

static void test_append(void **state)
{
	(void)state;
	each(append_twice);
}

static void shorten_and_grow(struct model *m, void *editor)
{
	while (m->raw.size > 0) {
		model_truncate(m, editor, m->raw.size > CHUNK ? m->raw.size - CHUNK + 4 : 0);
		commit_and_check(m, editor);
	}
	model_append(m, editor, 2 * CHUNK);
	commit_and_check(m, editor);
}

static void test_truncate(void **state)
{
	(void)state;
	each(shorten_and_grow);
}

static void overwrite_all(struct model *m, void *editor)
{
	uint64_t nchunks = bpk_div_up(m->raw.size, m->chunk_size);

	for (unsigned round = 0; round < 3; round++) {
		for (uint64_t i = 0; i < nchunks; i++)
			model_overwrite(m, editor, i);
		if (round > 0) /* the same chunks again, before a commit */
			commit_and_check(m, editor);
	}
}

static void test_overwrite(void **state)
{
	(void)state;
	each(overwrite_all);
}

/* Random changes, with and without commits between them. */
static void any_change(struct model *m, void *editor)
{
	unsigned what = (unsigned)(next(m) % 3);

	m->chunk_size = editor_ops(m)->info(editor)->chunks.size;
	if (m->raw.size > MOST || what == 0)
		model_truncate(m, editor, next(m) % (m->raw.size + 1));
	else if (what == 1 || m->raw.size == 0)
		model_append(m, editor, next(m) % (3 * CHUNK));
	else
		model_overwrite(m, editor, next(m) % bpk_div_up(m->raw.size, m->chunk_size));
	commit_and_check(m, editor);
}

static void test_random(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 6; i++) {
		struct model m = begin(i % 2 == 1, checksums[i / 2], 3 * CHUNK + i);
		void *editor = open_editor(&m);

		for (unsigned round = 0; round < ROUNDS; round++) {
			any_change(&m, editor);
			if (round % 7 == 6) {
				editor_ops(&m)->close(editor);
				editor = open_editor(&m);
			}
		}
		editor_ops(&m)->close(editor);
		bpk_buf_clear(&m.raw);
	}
}

/* Uncommitted changes are undone. */
static void test_undone(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		struct model m = begin(i == 1, "crc32", 5 * CHUNK + 100);
		struct model before = m;
		void *editor = open_editor(&m);

		before.raw = (struct bpk_buf){ 0 };
		assert_int_equal(bpk_buf_append(&before.raw, bpk_buf_view(&m.raw), NULL), 0);
		model_append(&m, editor, 7 * CHUNK);
		check_place(&before);
		editor_ops(&m)->close(editor);
		check_place(&before);
		bpk_buf_clear(&m.raw);
		bpk_buf_clear(&before.raw);
	}
}

/* Every byte reachable from the old header stays until there is a new header. */
static void test_old_bytes_stay(void **state)
{
	struct model m = begin(false, "crc32", 5 * CHUNK + 100);
	struct bpk_source *source;
	struct bpk_buf before = { 0 }, now = { 0 };
	struct bpk_err err = { 0 };
	void *editor;

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(bpk_source_open(path, &source, &err), 0);
		assert_int_equal(bpk_buf_resize(&before, bpk_source_size(source), &err), 0);
		assert_int_equal(
			bpk_source_need_at(source, 0, bpk_span(before.data, before.size), &err), 0);
		bpk_source_close(source);
		editor = open_editor(&m);
		if (i == 0)
			model_append(&m, editor, 2 * CHUNK);
		else if (i == 1)
			model_truncate(&m, editor, 2 * CHUNK + 8);
		else
			model_overwrite(&m, editor, 1);
		commit_and_check(&m, editor);
		editor_ops(&m)->close(editor);
		assert_int_equal(bpk_source_open(path, &source, &err), 0);
		assert_int_equal(bpk_buf_resize(&now, before.size, &err), 0);
		assert_int_equal(bpk_source_need_at(source, 0, bpk_span(now.data, now.size), &err),
				 0);
		bpk_source_close(source);
		assert_memory_equal(now.data, before.data, BPK_FRAME_COMMIT_START);
		assert_memory_equal(now.data + BPK_FRAME_COMMIT_END,
				    before.data + BPK_FRAME_COMMIT_END,
				    before.size - BPK_FRAME_COMMIT_END);
	}
	bpk_buf_clear(&before);
	bpk_buf_clear(&now);
	bpk_buf_clear(&m.raw);
}

static int set_up(void **state)
{
	struct bpk_err err = { 0 };

	(void)state;
	snprintf(folder, sizeof folder, "/tmp/bpk-frame-edit-XXXXXX");
	if (mkdtemp(folder) == NULL)
		return -1;
	snprintf(path, sizeof path, "%s/frame", folder);
	ctx = bpk_chunk_ctx_new(&err);
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
		cmocka_unit_test(test_append),    cmocka_unit_test(test_truncate),
		cmocka_unit_test(test_overwrite), cmocka_unit_test(test_random),
		cmocka_unit_test(test_undone),    cmocka_unit_test(test_old_bytes_stay),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
