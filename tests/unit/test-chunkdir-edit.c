/*
 * Chunked directories changed in place: appended to, truncated, overwritten, with new metadata. The
 * content is compared with a model after every commit.
 */
#include "unit/chunkdir.h"

#include <signal.h>
#include <sys/wait.h>
#include <time.h>

static char folder[64];
static char path[96];

static const struct bpk_editor_ops *const ops = &bpk_chunkdir_editor_ops;

/* ---- A model ---- */

struct model {
	struct chunkdir_way way;
	struct bpk_buf raw;
	uint64_t seed;
};

static void fail_of(const struct bpk_err *err)
{
	fail_msg("%s", err->text);
}

static uint64_t size_of(const struct chunkdir_way *way)
{
	struct bpk_array array;
	uint64_t size = chunkdir_array(way, &array) ? array.size : way->shape[0];

	bpk_array_clear(&array);
	return size;
}

static void model_write(struct model *m)
{
	struct bpk_err err = { 0 };

	chunkdir_fill(&m->raw, size_of(&m->way), m->seed++);
	if (chunkdir_write(path, bpk_buf_view(&m->raw), &m->way, &err) != 0)
		fail_of(&err);
	chunkdir_check(path, bpk_buf_view(&m->raw));
}

static void *open_editor(void)
{
	struct bpk_editor_options options = { .append_space = BPK_UNKNOWN };
	struct bpk_err err = { 0 };
	void *editor;

	if (ops->open(path, &options, &editor, &err) != 0)
		fail_of(&err);
	return editor;
}

static void commit_and_check(const struct model *m, void *editor)
{
	struct bpk_buf raw = { 0 };
	struct bpk_err err = { 0 };

	if (ops->commit(editor, &err) != 0)
		fail_of(&err);
	/* as seen by the editor, and by others */
	assert_int_equal(ops->info(editor)->raw_size, m->raw.size);
	if (chunkdir_drain(ops->reader(editor), &raw, &err) != 0)
		fail_of(&err);
	assert_int_equal(raw.size, m->raw.size);
	if (raw.size > 0)
		assert_memory_equal(raw.data, m->raw.data, raw.size);
	bpk_buf_clear(&raw);
	chunkdir_check(path, bpk_buf_view(&m->raw));
}

/* Cut, and put the model's bytes after the cut. */
static void put_from(const struct model *m, void *editor, uint64_t nchunks)
{
	struct bpk_recipe recipe = chunkdir_recipe(&m->way);
	uint64_t chunk_size = ops->info(editor)->chunks.size, start = nchunks * chunk_size;
	struct bpk_err err = { 0 };

	if (ops->cut(editor, nchunks, &err) != 0)
		fail_of(&err);
	if (start < m->raw.size &&
	    chunkdir_feed(ops->appender, editor, bpk_view(m->raw.data + start, m->raw.size - start),
			  chunk_size, nchunks, &recipe, m->way.threads, &err) != 0)
		fail_of(&err);
}

/* As append does: a partial last chunk is recompressed. */
static void model_append(struct model *m, void *editor, size_t size)
{
	const struct bpk_info *info = ops->info(editor);
	uint64_t full = m->raw.size / info->chunks.size;
	struct bpk_buf more = { 0 };
	struct bpk_err err = { 0 };

	chunkdir_fill(&more, size, m->seed++);
	assert_int_equal(bpk_buf_append(&m->raw, bpk_buf_view(&more), &err), 0);
	bpk_buf_clear(&more);
	put_from(m, editor, full);
	commit_and_check(m, editor);
}

static void model_truncate(struct model *m, void *editor, size_t size)
{
	m->raw.size = size;
	put_from(m, editor, size / ops->info(editor)->chunks.size);
	commit_and_check(m, editor);
}

/* Overwrite the chunks first .. first + count. */
static void model_overwrite(struct model *m, void *editor, uint64_t first, uint64_t count)
{
	struct bpk_recipe recipe = chunkdir_recipe(&m->way);
	uint64_t chunk_size = ops->info(editor)->chunks.size, start = first * chunk_size;
	size_t size = bpk_min_u64(count * chunk_size, m->raw.size - start);
	struct bpk_buf new = { 0 };
	struct bpk_err err = { 0 };

	chunkdir_fill(&new, size, m->seed++);
	memcpy(m->raw.data + start, new.data, size);
	if (chunkdir_feed(ops->appender, editor, bpk_buf_view(&new), chunk_size, first, &recipe,
			  m->way.threads, &err) != 0)
		fail_of(&err);
	bpk_buf_clear(&new);
	commit_and_check(m, editor);
}

/* Set the model's current rows, for a dataset that is rewritten. */
static void set_rows(struct model *m)
{
	uint64_t before = size_of(&m->way), slowest = 0;

	if (m->way.dtype == NULL) {
		m->way.shape[0] = m->raw.size;
		return;
	}
	if (m->way.fortran)
		slowest = m->way.ndimensions - 1;
	m->way.shape[slowest] = m->raw.size / (before / m->way.shape[slowest]);
}

/* The result of all steps equals a dataset written at once, byte for byte. */
static void check_as_if_written(struct model *m)
{
	struct bpk_buf changed = chunkdir_listing(path, true), written;
	struct bpk_err err = { 0 };

	set_rows(m);
	if (chunkdir_write(path, bpk_buf_view(&m->raw), &m->way, &err) != 0)
		fail_of(&err);
	written = chunkdir_listing(path, true);
	assert_int_equal(changed.size, written.size);
	assert_memory_equal(changed.data, written.data, written.size);
	bpk_buf_clear(&changed);
	bpk_buf_clear(&written);
}

/* ---- All kinds of datasets through the same steps ---- */

static const struct chunkdir_way ways[] = {
	{ .shape = { 1000 }, .chunk_size = 100, .superchunk_size = 300 },
	{ .shape = { 1050 }, .chunk_size = 100, .superchunk_size = 300 },
	{ .shape = { 50 }, .chunk_size = 100, .superchunk_size = 300, .checksum = "sha1" },
	{ .shape = { 0 }, .chunk_size = 100, .superchunk_size = 300 },
	{ .shape = { 1050 }, .chunk_size = 100, .superchunk_size = 1, .checksum = "none" },
	{ .shape = { 1050 }, .chunk_size = 100, .layout = "bcolz" },
	{ .dtype = "<f4",
	  .ndimensions = 2,
	  .shape = { 101, 5 },
	  .chunk_size = 200,
	  .superchunk_size = 700 },
	{ .dtype = "<f4",
	  .ndimensions = 2,
	  .shape = { 101, 5 },
	  .chunk_size = 200,
	  .layout = "bcolz" },
	{ .dtype = "[('a', '<f4'), ('b', [('c', '|S3'), ('d', '<i8')]), ('e', '|u1')]",
	  .ndimensions = 1,
	  .shape = { 101 },
	  .chunk_size = 160,
	  .superchunk_size = 60,
	  .threads = 3 },
	{ .dtype = "[('a', '<f4'), ('b', '<U4')]",
	  .ndimensions = 1,
	  .shape = { 101 },
	  .chunk_size = 200,
	  .layout = "bcolz" },
};

/* The number of bytes that a step may add or leave: whole rows of any kind above. */
static size_t rows_of(const struct chunkdir_way *way, size_t n)
{
	struct bpk_array array;
	size_t row = 1;

	if (chunkdir_array(way, &array)) {
		row = array.dtype.size;
		for (size_t i = 1; i < array.ndimensions; i++)
			row *= array.shape[i];
	}
	bpk_array_clear(&array);
	return n * row;
}

static void test_appended(void **state)
{
	static const size_t steps[] = { 1, 3, 20, 0, 55, 1, 200, 7 };

	(void)state;
	for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
		struct model m = { .way = ways[i], .seed = 100 * i };
		void *editor;

		model_write(&m);
		editor = open_editor();
		for (size_t k = 0; k < sizeof steps / sizeof *steps; k++)
			model_append(&m, editor, rows_of(&m.way, steps[k]));
		ops->close(editor);
		chunkdir_check(path, bpk_buf_view(&m.raw));
		check_as_if_written(&m);
		bpk_buf_clear(&m.raw);
	}
}

static void test_shortened(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
		struct model m = { .way = ways[i], .seed = 100 * i };
		size_t row = rows_of(&m.way, 1);
		void *editor;

		if (m.way.shape[0] == 0)
			continue;
		model_write(&m);
		editor = open_editor();
		while (m.raw.size > 0) {
			size_t keep = m.raw.size / row * 5 / 6 * row;
			size_t chunk = ops->info(editor)->chunks.size;

			model_truncate(&m, editor, keep);
			if (m.raw.size > chunk) /* at the end of a chunk */
				model_truncate(&m, editor, m.raw.size / chunk * chunk);
			if (m.raw.size > 0)
				model_append(&m, editor, row);
			model_truncate(&m, editor, m.raw.size > row ? m.raw.size - 2 * row : 0);
		}
		model_append(&m, editor, 30 * row);
		ops->close(editor);
		m.way.checksum = NULL; /* without chunks the earlier checksum is lost */
		check_as_if_written(&m);
		bpk_buf_clear(&m.raw);
	}
}

static void test_written_over(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
		struct model m = { .way = ways[i], .seed = 100 * i };
		uint64_t nchunks;
		void *editor;

		if (m.way.shape[0] == 0)
			continue;
		model_write(&m);
		editor = open_editor();
		nchunks = ops->info(editor)->chunks.count;
		for (uint64_t first = 0; first < nchunks; first += 3)
			for (uint64_t count = 1; count <= 7; count += 2)
				model_overwrite(&m, editor, first, count);
		model_overwrite(&m, editor, nchunks - 1, 1);
		model_overwrite(&m, editor, 0, nchunks);
		ops->close(editor);
		check_as_if_written(&m);
		bpk_buf_clear(&m.raw);
	}
}

/* ---- Metadata ---- */

static void set_metadata(void *editor, const char *text)
{
	struct bpk_err err = { 0 };

	if (ops->set_metadata(editor, chunkdir_text(text), &err) != 0)
		fail_of(&err);
}

static void check_metadata(const char *expected)
{
	struct chunkdir_input input;
	struct bpk_err err = { 0 };

	assert_int_equal(chunkdir_open(path, &input, &err), 0);
	assert_int_equal(input.info->metadata.text.size, strlen(expected));
	if (*expected != '\0')
		assert_memory_equal(input.info->metadata.text.data, expected, strlen(expected));
	chunkdir_close(&input);
}

static void test_metadata(void **state)
{
	struct model m = { .way = ways[0] };
	struct bpk_err err = { 0 };
	void *editor;

	(void)state;
	for (int bcolz = 0; bcolz < 2; bcolz++) {
		m.way.layout = bcolz ? "bcolz" : NULL;
		model_write(&m);
		editor = open_editor();
		set_metadata(editor, "{\"a\": 1}");
		check_metadata("");
		commit_and_check(&m, editor);
		check_metadata("{\"a\": 1}");
		set_metadata(editor, "[1, 2]");
		model_append(&m, editor, 55); /* both in one commit */
		check_metadata("[1, 2]");
		set_metadata(editor, "");
		commit_and_check(&m, editor);
		check_metadata("");
		assert_int_equal(ops->set_metadata(editor, chunkdir_text("{"), &err), -1);
		assert_int_equal(err.kind, BPK_CORRUPT);
		commit_and_check(&m, editor);
		ops->close(editor);
	}
	bpk_buf_clear(&m.raw);
}

static void test_metadata_of_an_array(void **state)
{
	struct model m = { .way = { .dtype = "<f4",
				    .ndimensions = 2,
				    .shape = { 3, 5 },
				    .fortran = true,
				    .chunk_size = 16 } };
	void *editor;

	(void)state;
	model_write(&m);
	editor = open_editor();
	set_metadata(editor, "{\"temp\":1}");
	model_append(&m, editor, 12);
	check_metadata("{\"dtype\":\"'<f4'\",\"shape\":[3,6],\"order\":\"F\",\"container\":"
		       "\"numpy\",\"temp\":1}");
	set_metadata(editor, "");
	commit_and_check(&m, editor);
	check_metadata("{\"dtype\":\"'<f4'\",\"shape\":[3,6],\"order\":\"F\",\"container\":"
		       "\"numpy\"}");
	ops->close(editor);
	bpk_buf_clear(&m.raw);
}

/* ---- Uncommitted and refused changes ---- */

static void test_closed_without_a_commit(void **state)
{
	struct model m = { .way = ways[1] };
	struct bpk_buf before, after;
	struct bpk_err err = { 0 };
	size_t size;
	void *editor;

	(void)state;
	model_write(&m);
	ops->close(open_editor()); /* leaves a lock */
	before = chunkdir_listing(path, false);
	size = m.raw.size;
	for (int step = 0; step < 3; step++) {
		editor = open_editor();
		chunkdir_fill(&m.raw, size + 777, 3);
		if (step == 0)
			put_from(&m, editor, 2);
		else if (step == 1)
			put_from(&m, editor, 10);
		else
			set_metadata(editor, "{\"a\": 1}");
		ops->close(editor);
		after = chunkdir_listing(path, false);
		assert_int_equal(after.size, before.size);
		assert_memory_equal(after.data, before.data, after.size);
		bpk_buf_clear(&after);
	}
	/* rows must be whole */
	m.way.dtype = "<f8";
	m.way.ndimensions = 1;
	m.way.shape[0] = 10;
	m.way.chunk_size = 40;
	model_write(&m);
	editor = open_editor();
	chunkdir_fill(&m.raw, 84, 3);
	put_from(&m, editor, 2);
	assert_int_equal(ops->commit(editor, &err), -1);
	assert_string_equal(err.text, "84 bytes are not whole rows of 8");
	ops->close(editor);
	bpk_buf_clear(&before);
	bpk_buf_clear(&m.raw);
}

/* ---- Read beside a writer ---- */

enum { BESIDE_SECONDS = 2 };

/*
 * The content of a chunk follows from its number and its version, which is its first byte, so a
 * chunk of any state can be distinguished from damage.
 */
static void fill_chunks(uint8_t *raw, size_t from, size_t to, size_t chunk, uint8_t version)
{
	for (size_t i = from; i < to; i++) {
		uint8_t first = i % chunk == 0 ? version : raw[i - i % chunk];

		raw[i] = (uint8_t)(i % chunk == 0 ? first : first * 31 + i / chunk * 7 + i % 13);
	}
}

/* True if raw consists of valid chunks, each of its own version; version 0 if nothing is
 * overwritten. */
static bool are_chunks(struct bpk_view raw, size_t chunk, bool only_appended)
{
	struct bpk_buf model = { 0 };
	struct bpk_err err = { 0 };
	bool same;

	if (raw.size == 0)
		return true;
	assert_int_equal(bpk_buf_resize(&model, raw.size, &err), 0);
	for (size_t start = 0; start < raw.size; start += chunk)
		fill_chunks(model.data, start, bpk_min_size(start + chunk, raw.size), chunk,
			    only_appended ? 0 : raw.data[start]);
	same = memcmp(raw.data, model.data, raw.size) == 0;
	bpk_buf_clear(&model);
	return same;
}

/* Put raw from chunk number first on, after a cut or over existing chunks. */
static int put_over(const struct model *m, void *editor, uint64_t first, bool cut,
		    struct bpk_err *err)
{
	struct bpk_recipe recipe = chunkdir_recipe(&m->way);
	size_t chunk = ops->info(editor)->chunks.size, start = first * chunk;

	if (cut && ops->cut(editor, first, err) != 0)
		return -1;
	if (start < m->raw.size &&
	    chunkdir_feed(ops->appender, editor, bpk_view(m->raw.data + start, m->raw.size - start),
			  chunk, first, &recipe, 1, err) != 0)
		return -1;
	return ops->commit(editor, err);
}

/* Alternate changes: longer, shorter, overwritten, new metadata. */
static int change(struct model *m, void *editor, unsigned turn, bool only_appended,
		  struct bpk_err *err)
{
	size_t row = rows_of(&m->way, 1), chunk = ops->info(editor)->chunks.size;
	size_t size = m->raw.size;
	uint8_t version = only_appended ? 0 : (uint8_t)turn;

	if (only_appended || turn % 4 < 1) {
		if (bpk_buf_resize(&m->raw, size + (turn * 7 % 90 + 1) * row, err) != 0)
			return -1;
		fill_chunks(m->raw.data, size, m->raw.size, chunk, version);
		return put_over(m, editor, size / chunk, true, err);
	}
	if (turn % 4 == 1) {
		fill_chunks(m->raw.data, 0, m->raw.size, chunk, version);
		return put_over(m, editor, 0, false, err);
	}
	if (turn % 4 == 2) {
		m->raw.size = size / row * (turn % 3 + 1) / 4 * row + row;
		return put_over(m, editor, m->raw.size / chunk, true, err);
	}
	if (ops->set_metadata(editor, chunkdir_text(turn % 8 == 3 ? "{\"a\": 1}" : "[1, 2]"),
			      err) != 0)
		return -1;
	return ops->commit(editor, err);
}

static pid_t writer; /* 0: no writer */

static void end_writer(void)
{
	if (writer <= 0)
		return;
	kill(writer, SIGKILL);
	waitpid(writer, NULL, 0);
	writer = 0;
}

static int end_writer_after(void **state)
{
	(void)state;
	end_writer();
	return 0;
}

/* The writer: a separate process that runs until it is killed. */
static int keep_changing(struct model *m, bool only_appended)
{
	struct bpk_editor_options options = { .append_space = BPK_UNKNOWN };
	struct bpk_err err = { 0 };
	void *editor;

	if (ops->open(path, &options, &editor, &err) != 0)
		goto failed;
	for (unsigned turn = 0;; turn++) {
		if (change(m, editor, turn, only_appended, &err) != 0)
			goto failed;
		if (only_appended)
			usleep(500);
	}
failed:
	print_message("# the writer: %s\n", err.text);
	return 1;
}

struct outcomes {
	unsigned read, changed;
	unsigned torn; /* a chunk of records with columns of two states */
};

static void ignore_remark(void *arg, const char *line)
{
	(void)arg;
	(void)line;
}

/* Count the outcome; only these errors may occur beside a writer. */
static void count_outcome(struct outcomes *o, int rc, struct bpk_err *err)
{
	if (rc == 0)
		o->read++;
	else
		o->changed++;
	if (rc != 0 &&
	    (err->kind != BPK_FAILED || strstr(err->text, "changed while it was read") == NULL))
		fail_msg("kind %d: %s", (int)err->kind, err->text);
	*err = (struct bpk_err){ 0 };
}

/* Each chunk has one state. Columns are separate files: while they are overwritten, chunks of
 * records may have columns of two states, which sizes at open cannot detect; these are counted. */
static void check_content(struct outcomes *o, struct bpk_view raw, const struct bpk_info *info,
			  bool only_appended)
{
	if (are_chunks(raw, info->chunks.size, only_appended))
		return;
	if (only_appended || info->directory.ncolumns == 0)
		fail_msg("%zu bytes are of no state", raw.size);
	o->torn++;
}

static void read_once(struct outcomes *o, bool only_appended)
{
	struct chunkdir_input input;
	struct bpk_flow_result result;
	struct bpk_err err = { 0 };
	struct bpk_buf raw = { 0 };
	int rc = chunkdir_open(path, &input, &err);

	if (rc != 0) {
		count_outcome(o, rc, &err);
		goto out;
	}
	rc = chunkdir_drain(input.reader, &raw, &err);
	if (rc == 0)
		check_content(o, bpk_buf_view(&raw), input.info, only_appended);
	count_outcome(o, rc, &err);
	rc = bpk_flow_run(&(struct bpk_flow){ .in = &bpk_chunkdir_reader_ops,
					      .reader = input.reader,
					      .plan = bpk_plan_all(input.info),
					      .check = true,
					      .decode = true,
					      .limits.threads = 2 },
			  &result, &err);
	count_outcome(o, rc, &err);
	rc = bpk_chunkdir_reader_ops.audit(input.reader, ignore_remark, NULL, &err);
	count_outcome(o, rc, &err);
out:
	chunkdir_close(&input);
	bpk_buf_clear(&raw);
}

static double seconds_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void read_beside(const struct chunkdir_way *way, bool only_appended, double seconds)
{
	struct model m = { .way = *way };
	struct outcomes outcomes = { 0 };
	struct bpk_err err = { 0 };
	double end;
	int status;

	/* the first state, version 0 */
	chunkdir_fill(&m.raw, size_of(&m.way), 1);
	if (chunkdir_write(path, bpk_buf_view(&m.raw), &m.way, &err) != 0)
		fail_of(&err);
	{
		void *editor = open_editor();

		fill_chunks(m.raw.data, 0, m.raw.size, ops->info(editor)->chunks.size, 0);
		assert_int_equal(put_over(&m, editor, 0, false, &err), 0);
		ops->close(editor);
	}
	writer = fork();
	assert_true(writer >= 0);
	if (writer == 0)
		_exit(keep_changing(&m, only_appended));
	for (end = seconds_now() + seconds; seconds_now() < end;)
		read_once(&outcomes, only_appended);
	assert_int_equal(waitpid(writer, &status, WNOHANG), 0); /* it is still running */
	end_writer();
	print_message("# %u steps were done, %u told of a change, %u reads of two states\n",
		      outcomes.read, outcomes.changed, outcomes.torn);
	assert_true(outcomes.read > 0);
	bpk_buf_clear(&m.raw);
}

/* Bytes in one column, tables and records in several. */
static void test_read_beside_a_writer(void **state)
{
	static const size_t kinds[] = { 1, 4, 5, 6, 8, 9 };
	size_t count = sizeof kinds / sizeof *kinds;

	(void)state;
	for (size_t i = 0; i < count; i++)
		read_beside(&ways[kinds[i]], false, (double)BESIDE_SECONDS / (double)count);
}

static void test_read_beside_an_append(void **state)
{
	static const size_t kinds[] = { 1, 5, 8, 9 };
	size_t count = sizeof kinds / sizeof *kinds;

	(void)state;
	for (size_t i = 0; i < count; i++)
		read_beside(&ways[kinds[i]], true, (double)BESIDE_SECONDS / (double)count);
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
		cmocka_unit_test(test_appended),
		cmocka_unit_test(test_shortened),
		cmocka_unit_test(test_written_over),
		cmocka_unit_test(test_metadata),
		cmocka_unit_test(test_metadata_of_an_array),
		cmocka_unit_test(test_closed_without_a_commit),
		cmocka_unit_test_teardown(test_read_beside_a_writer, end_writer_after),
		cmocka_unit_test_teardown(test_read_beside_an_append, end_writer_after),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
