/*
 * Changing Bloscpack files: every kind of change on every form gives the expected result, wherever
 * it is killed, and a concurrent reader sees committed content only.
 *
 * With arguments the program is its own victim: CHANGE FILE makes one change and exits.
 */
#include "unit/edited.h"

#include <errno.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

enum { CHUNK = 1000, MOST = 12000, JOURNAL = 1 << 20 };

static const struct bpk_editor_options in_place = { .journal_limit = JOURNAL,
						    .append_space = BPK_UNKNOWN };

static char folder[64];
static char path[96];
static uint8_t numbers[4 * MOST];

/* ---- archives ---- */

enum layout { OFFSETS, NO_OFFSETS, STREAM };

struct form {
	enum layout layout;
	uint64_t space;
	const char *checksum;
	const char *metadata;
	size_t size;
};

/* Metadata of an array with rows of two 2-byte numbers. */
static const char *array_text(size_t rows)
{
	static char text[160];

	snprintf(text, sizeof text,
		 "{\"x\":[7], \"shape\" : [ %zu ,2], \"order\":\"C\",\"container\":\"numpy\","
		 "\"dtype\":\"'<i2'\" }",
		 rows);
	return text;
}

static void save(const char *name, struct bpk_view bytes)
{
	FILE *file = fopen(name, "wb");

	assert_non_null(file);
	assert_int_equal(fwrite(bytes.data, 1, bytes.size, file), bytes.size);
	assert_int_equal(fclose(file), 0);
}

static struct bpk_buf load(const char *name)
{
	struct bpk_buf bytes = { 0 };
	struct bpk_err err = { 0 };
	uint8_t piece[4096];
	FILE *file = fopen(name, "rb");
	size_t got;

	assert_non_null(file);
	while ((got = fread(piece, 1, sizeof piece, file)) > 0)
		assert_int_equal(bpk_buf_append(&bytes, bpk_view(piece, got), &err), 0);
	fclose(file);
	return bytes;
}

static void write_archive(struct bpk_draft *draft, const struct form *form)
{
	const struct bpk_writer_ops *ops = bpk_format_find("blp")->writer;
	const struct bpk_write_options options = { .no_offsets = form->layout != OFFSETS,
						   .append_space = form->space };
	struct bpk_info info = { .raw_size = form->layout == STREAM ? BPK_UNKNOWN : form->size,
				 .chunks.count = BPK_UNKNOWN,
				 .chunks.size = CHUNK,
				 .chunks.last_size = BPK_UNKNOWN,
				 .chunks.typesize = 4,
				 .chunks.checksum = bpk_checksum_find(form->checksum) };
	struct bpk_writer_ops as_editor = *ops;
	struct bpk_editor_ops packing = { .appender = &as_editor };
	struct edited ed = { .ops = &packing };
	size_t at = 0;

	ed.ctx = bpk_chunk_ctx_new(&ed.err);
	if (form->metadata != NULL) {
		info.metadata.given = true;
		info.metadata.text = bpk_view(form->metadata, strlen(form->metadata));
	}
	assert_int_equal(ops->open(draft, &info, &options, &ed.editor, &ed.err), 0);
	do {
		size_t size = bpk_min_size(CHUNK, form->size - at);

		assert_int_equal(edited_put(&ed, at / CHUNK, bpk_view(numbers + at, size), 5), 0);
		at += size;
	} while (at < form->size);
	assert_int_equal(ops->finish(ed.editor, &ed.err), 0);
	ops->close(ed.editor);
	bpk_buf_clear(&ed.parcel.packed);
	bpk_chunk_ctx_free(ed.ctx);
}

/* A stream is written through a FIFO and its output saved as the file. */
static void make_archive(const struct form *form)
{
	struct bpk_draft_options options = { .overwrite = true, .follow_links = true };
	struct bpk_draft *draft = NULL;
	struct bpk_err err = { 0 };
	uint8_t bytes[65536];
	ssize_t got;
	int end = -1;

	unlink(path);
	if (form->layout == STREAM) {
		assert_int_equal(mkfifo(path, 0600), 0);
		end = open(path, O_RDONLY | O_NONBLOCK);
	}
	if (bpk_draft_open(path, &options, &draft, &err) != 0)
		fail_msg("%s", err.text);
	write_archive(draft, form);
	assert_int_equal(bpk_draft_keep(draft, NULL, &err), 0);
	if (form->layout != STREAM)
		return;
	got = read(end, bytes, sizeof bytes);
	assert_true(got > 0 && (size_t)got < sizeof bytes);
	close(end);
	unlink(path);
	save(path, bpk_view(bytes, (size_t)got));
}

/* ---- expected results ---- */

static bool is_of_array(const char *metadata)
{
	return metadata != NULL && strstr(metadata, "numpy") != NULL;
}

static void expect(struct bpk_view raw, const char *metadata)
{
	struct edited_seen seen;
	bool part_of_row = is_of_array(metadata) && raw.size % 4 != 0;

	if (edited_see(path, &seen) != 0)
		fail_msg("%s", seen.err.text);
	if (seen.remarked && !part_of_row)
		fail_msg("remark: %s", seen.err.text);
	assert_int_equal(seen.raw.size, raw.size);
	assert_memory_equal(seen.raw.size > 0 ? seen.raw.data : numbers, raw.data, raw.size);
	assert_int_equal(seen.metadata.size, metadata != NULL ? strlen(metadata) : 0);
	if (metadata != NULL)
		assert_memory_equal(seen.metadata.data, metadata, seen.metadata.size);
	edited_forget(&seen);
}

/* Some results are kept with their expected content, for other readers. */
static unsigned nkept;

static void keep_for_others(struct bpk_view raw)
{
	struct bpk_buf bytes = load(path);
	char name[112];

	snprintf(name, sizeof name, "%s/%03u.blp", folder, nkept);
	save(name, bpk_buf_view(&bytes));
	snprintf(name, sizeof name, "%s/%03u.raw", folder, nkept++);
	save(name, raw);
	bpk_buf_clear(&bytes);
}

/* Let a Python program of tests/lib unpack all kept results and compare. */
static void ask(const char *program)
{
	char line[1024];
	int status;

	if (getenv("top_srcdir") == NULL)
		skip();
	snprintf(
		line, sizeof line,
		"for p in \"${PYTHON3:-python3}\" /usr/bin/python3; do "
		"\"$p\" -c 'import blosc' 2>/dev/null && break; done; cd %s && "
		"\"$p\" \"$top_srcdir/tests/lib/%s\" compare "
		"$(for f in *.blp; do test \"$f\" = a.blp || echo \"$f ${f%%.blp}.raw\"; done) >&2",
		folder, program);
	status = system(line);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 77)
		skip();
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void test_python_blosc_reads_them(void **state)
{
	(void)state;
	assert_true(nkept > 10);
	ask("blp_reader.py");
}

static void test_bloscpack_reads_them(void **state)
{
	(void)state;
	if (getenv("BPK_BLOSCPACK") == NULL)
		skip();
	ask("bloscpack_oracle.py");
}

/* ---- changes ---- */

enum change { APPEND, TRUNCATE, WRITE, META, NCHANGES };

static const char *const change_names[] = { "append", "truncate", "write", "meta" };

static const char new_metadata[] = "{\"new\":[1,2,3]}";

/* Make and commit one change of the given amount; raw becomes the new content. */
static int make_change(struct edited *ed, enum change change, size_t amount, struct bpk_buf *raw)
{
	struct bpk_view more = bpk_view(numbers + MOST, amount);
	size_t at;
	int rc = -1;

	switch (change) {
	case APPEND:
		if (raw != NULL)
			bpk_buf_append(raw, more, &ed->err);
		rc = edited_append(ed, more, 5);
		break;
	case TRUNCATE:
		at = ed->ops->info(ed->editor)->raw_size;
		at -= bpk_min_size(at, amount);
		if (raw != NULL)
			raw->size = at;
		rc = edited_truncate(ed, at, 5);
		break;
	case WRITE:
		at = ed->ops->info(ed->editor)->raw_size / 3;
		more.size = bpk_min_size(amount, ed->ops->info(ed->editor)->raw_size - at);
		if (raw != NULL && more.size > 0)
			memcpy(raw->data + at, more.data, more.size);
		rc = edited_write(ed, at, more, 5);
		break;
	default:
		rc = ed->ops->set_metadata(
			ed->editor, bpk_view(new_metadata, sizeof new_metadata - 1), &ed->err);
	}
	return rc == 0 ? edited_commit(ed) : -1;
}

static struct bpk_buf content_of(const struct form *form)
{
	struct bpk_buf raw = { 0 };

	assert_int_equal(bpk_buf_reserve(&raw, 4 * MOST, NULL), 0);
	memcpy(raw.data, numbers, form->size);
	raw.size = form->size;
	return raw;
}

static void describe(const struct form *form, enum change change, size_t amount)
{
	fprintf(stderr, "# layout %d, space %d, %s, metadata %s, %zu bytes; %s %zu\n", form->layout,
		(int)form->space, form->checksum, form->metadata, form->size, change_names[change],
		amount);
}

/* Make the change, repeat it, and repeat it with a new editor. */
static void try_change(const struct form *form, enum change change, size_t amount,
		       const struct bpk_editor_options *options)
{
	const char *metadata = change == META ? new_metadata : form->metadata;
	struct bpk_buf raw = content_of(form);
	struct edited ed;
	size_t rows = form->size / 4;

	make_archive(form);
	for (int round = 0; round < 2; round++) {
		if (edited_open(&ed, path, options) != 0) {
			describe(form, change, amount);
			fail_msg("%s", ed.err.text);
		}
		for (int i = 0; i < 2 - round; i++) {
			if (make_change(&ed, change, amount, &raw) != 0) {
				describe(form, change, amount);
				fail_msg("%s", ed.err.text);
			}
			assert_int_equal(ed.ops->info(ed.editor)->raw_size, raw.size);
			rows = raw.size % 4 == 0 ? raw.size / 4 : rows;
			if (is_of_array(form->metadata) && change != META)
				metadata = array_text(rows);
			expect(bpk_buf_view(&raw), metadata);
		}
		edited_close(&ed);
		expect(bpk_buf_view(&raw), metadata);
	}
	/* bloscpack does not read streams of unknown length, and this stays one here */
	if (amount % 7 == 0 && (form->layout != STREAM || change < WRITE))
		keep_for_others(bpk_buf_view(&raw));
	bpk_buf_clear(&raw);
}

static void test_every_change_of_every_form(void **state)
{
	static const size_t sizes[] = { 0, 500, 1000, 3000, 3500 };
	static const size_t amounts[] = { 1, 300, 1050, 2500 };

	(void)state;
	for (unsigned i = 0; i < 5 * 4 * 3 * 2 * NCHANGES; i++) {
		struct form form = { .layout = i % 3,
				     .space = 1 + i % 5,
				     .checksum = bpk_checksums[i % 9].name,
				     .metadata = i / 3 % 2 ? "{\"old\":\"yes\"}" : NULL,
				     .size = sizes[i / 6 % 5] };

		try_change(&form, i / 120, amounts[i / 30 % 4], &in_place);
	}
}

/* A journal limit of 0, or nearly: changes rewrite the file instead. */
static void test_changes_that_do_not_fit(void **state)
{
	static const uint64_t limits[] = { 0, 64, 700 };

	(void)state;
	for (unsigned i = 0; i < 3 * 3 * NCHANGES; i++) {
		struct form form = { .layout = i / 3 % 3,
				     .space = 0,
				     .checksum = "crc32",
				     .metadata = i % 2 ? "[]" : NULL,
				     .size = 3500 };
		struct bpk_editor_options options = { .journal_limit = limits[i % 3],
						      .append_space = i % 2 ? 3 : BPK_UNKNOWN };

		try_change(&form, i / 9, 2100, &options);
	}
}

/* Arrays: the shape is updated in the same commit if the content is whole rows. */
static void test_arrays(void **state)
{
	static const size_t amounts[] = { 500, 1202, 2500 };
	static const uint64_t limits[] = { 0, 100, JOURNAL };

	(void)state;
	for (unsigned i = 0; i < 3 * 3 * 3 * 2 * NCHANGES; i++) {
		size_t size = i / 27 % 2 ? 3500 : 2000;
		struct form form = { .layout = i % 3,
				     .space = i / 3 % 3 * 5,
				     .checksum = bpk_checksums[i % 9].name,
				     .metadata = array_text(size / 4),
				     .size = size };
		struct bpk_editor_options options = { .journal_limit = limits[i / 3 % 3],
						      .append_space = i % 2 ? 3 : BPK_UNKNOWN };

		options.edit.copy = i % 5 == 0;
		try_change(&form, i / 54, amounts[i / 9 % 3], &options);
	}
}

static void test_copies(void **state)
{
	struct bpk_editor_options options = in_place;

	(void)state;
	options.edit.copy = true;
	for (unsigned i = 0; i < 3 * NCHANGES; i++) {
		struct form form = { .layout = i % 3,
				     .space = 1,
				     .checksum = "md5",
				     .metadata = "[1]",
				     .size = 3500 };

		try_change(&form, i / 3, 1400, &options);
	}
}

/* Files of other writers: older versions, other layouts, gaps, remains of an append. */
static void test_files_of_others(void **state)
{
	static const char *const names[] = {
		"v1",
		"v1-unknown",
		"v2",
		"v2-empty-last",
		"v2-longer-last",
		"v2-one-chunk",
		"blaze",
		"blaze-offsets",
		"v3-gap",
		"v3-interrupted-append",
		"v3-larger-chunk-size",
		"v3-no-chunks",
		"v3-one-empty",
		"v3-no-offsets-known",
		"v3-sizes-unknown",
		"v3-stream",
		"v3-stream-empty",
		"v3-tail",
		"v3-metadata-zlib",
	};
	const char *top = getenv("top_srcdir");
	char name[256];

	(void)state;
	if (top == NULL)
		skip();
	for (size_t i = 0; i < NCHANGES * sizeof names / sizeof *names; i++) {
		struct bpk_buf bytes, raw;
		struct edited_seen seen;
		struct edited ed;

		snprintf(name, sizeof name, "%s/tests/data/bloscpack/good-%s.blp", top,
			 names[i / NCHANGES]);
		bytes = load(name);
		save(path, bpk_buf_view(&bytes));
		bpk_buf_clear(&bytes);
		snprintf(name, sizeof name, "%s/tests/data/bloscpack/good-%s.raw", top,
			 names[i / NCHANGES]);
		raw = load(name);
		if (edited_open(&ed, path, &in_place) != 0 ||
		    make_change(&ed, i % NCHANGES, 3, &raw) != 0)
			fail_msg("%s: %s: %s", name, change_names[i % NCHANGES], ed.err.text);
		edited_close(&ed);
		if (edited_see(path, &seen) != 0)
			fail_msg("%s: %s: %s", name, change_names[i % NCHANGES], seen.err.text);
		assert_int_equal(seen.raw.size, raw.size);
		assert_memory_equal(seen.raw.data, raw.data, raw.size);
		edited_forget(&seen);
		bpk_buf_clear(&raw);
	}
}

/* Uncommitted chunks leave no trace. */
static void test_nothing_before_the_commit(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 3 * 3; i++) {
		struct form form = {
			.layout = i % 3, .space = 20, .checksum = "crc32", .size = i / 3 * 1700
		};
		struct bpk_buf raw = content_of(&form);
		struct edited ed;

		make_archive(&form);
		assert_int_equal(edited_open(&ed, path, &in_place), 0);
		assert_int_equal(edited_append(&ed, bpk_view(numbers, 5000), 5), 0);
		expect(bpk_buf_view(&raw), NULL);
		edited_close(&ed);
		expect(bpk_buf_view(&raw), NULL);
		bpk_buf_clear(&raw);
	}
}

/* More chunks than a batch of entries holds, and their state after they are dropped. */
static void test_many_chunks(void **state)
{
	struct form form = { .layout = OFFSETS, .space = 9000, .checksum = "none", .size = 1600 };
	struct edited ed;

	(void)state;
	for (unsigned commits = 0; commits < 2; commits++) {
		struct bpk_buf raw = content_of(&form);

		form.size = 2000;
		raw.size = 2000;
		memcpy(raw.data, numbers, 2000);
		make_archive(&form);
		assert_int_equal(edited_open(&ed, path, &in_place), 0);
		assert_int_equal(ed.ops->cut(ed.editor, 2, &ed.err), 0);
		for (unsigned i = 0; i < 5000; i++) {
			struct bpk_view chunk = bpk_view(numbers + i % 50, CHUNK);

			assert_int_equal(edited_put(&ed, 2 + i, chunk, 5), 0);
			bpk_buf_append(&raw, chunk, NULL);
		}
		if (commits) {
			if (edited_commit(&ed) != 0)
				fail_msg("%s", ed.err.text);
		} else {
			raw.size = 2000;
		}
		edited_close(&ed);
		expect(bpk_buf_view(&raw), NULL);
		bpk_buf_clear(&raw);
	}
}

/* ---- Killed ---- */

static const struct form forms[] = {
	{ OFFSETS, 9, "crc32", NULL, 3000 },       { OFFSETS, 9, "crc32", "{\"old\":1}", 3500 },
	{ OFFSETS, 1, "adler32", NULL, 3500 },     { NO_OFFSETS, 0, "crc32", "{\"old\":1}", 3500 },
	{ STREAM, 0, "crc32", NULL, 3500 },
#define ARRAY(rows) "{\"container\":\"numpy\",\"dtype\":\"'<i2'\",\"shape\":[" #rows ",2]}"
	{ OFFSETS, 9, "crc32", ARRAY(750), 3000 }, { NO_OFFSETS, 0, "crc32", ARRAY(875), 3500 },
};

static int be_victim(const char *what, const char *name)
{
	struct bpk_editor_options options = in_place;
	struct edited ed;
	int rc = -1;

	options.edit.sync = true;
	if (edited_open(&ed, name, &options) == 0)
		for (int i = 0; i < NCHANGES; i++)
			if (strcmp(what, change_names[i]) == 0)
				rc = make_change(&ed, i, 1700, NULL);
	if (rc != 0)
		fprintf(stderr, "%s\n", ed.err.text);
	edited_close(&ed);
	return rc == 0 ? 0 : 1;
}

/* Run the change under nth, which acts at point n. Returns its wait status. */
static int run_killed(const char *builddir, const char *action, unsigned n, const char *what)
{
	char nth[256], self[256], count[16];
	int status;
	pid_t child;

	snprintf(nth, sizeof nth, "%s/tests/fault/nth", builddir);
	snprintf(self, sizeof self, "%s/tests/unit/test-bloscpack-edit", builddir);
	snprintf(count, sizeof count, "%u", n);
	child = fork();
	if (child == 0) {
		/* LeakSanitizer cannot run while it is traced */
		setenv("LSAN_OPTIONS", "detect_leaks=0", 1);
		execl(nth, nth, "-n", count, "-a", action, self, what, path, (char *)NULL);
		_exit(126);
	}
	assert_true(child > 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	return status;
}

static bool same(const struct bpk_buf *a, const struct bpk_buf *b)
{
	return a->size == b->size && (a->size == 0 || memcmp(a->data, b->data, a->size) == 0);
}

/* Assert old or new content, with its own metadata. Returns true for new. */
static bool judge(bool strict, const struct edited_seen *old, const struct edited_seen *new,
		  const char *what)
{
	struct edited_seen seen;
	bool is_new;

	if (edited_see(path, &seen) != 0)
		fail_msg("%s: %s", what, seen.err.text);
	if (strict && seen.remarked)
		fail_msg("%s: remark: %s", what, seen.err.text);
	is_new = same(&seen.raw, &new->raw) && same(&seen.metadata, &new->metadata);
	if (!is_new && !(same(&seen.raw, &old->raw) && same(&seen.metadata, &old->metadata)))
		fail_msg("%s: neither old nor new", what);
	edited_forget(&seen);
	return is_new;
}

/* After a kill: readers see old or new content, and so does the next editor, which cleans up. */
static void judge_killed(const struct edited_seen *old, const struct edited_seen *new,
			 const char *what)
{
	bool before = judge(false, old, new, what);
	struct edited ed;

	if (edited_open(&ed, path, &in_place) != 0)
		fail_msg("%s: %s", what, ed.err.text);
	edited_close(&ed);
	assert_int_equal(judge(true, old, new, what), before);
}

static unsigned kill_everywhere(const struct form *form, enum change change, const char *action,
				unsigned step)
{
	const char *builddir = getenv("abs_top_builddir");
	struct edited_seen old, new;
	unsigned points = 0;
	char what[128];
	int status;

	make_archive(form);
	assert_int_equal(edited_see(path, &old), 0);
	assert_int_equal(be_victim(change_names[change], path), 0);
	assert_int_equal(edited_see(path, &new), 0);
	for (unsigned n = 1;; n += step) {
		make_archive(form);
		snprintf(what, sizeof what, "layout %d, space %d, %s %s at %u", form->layout,
			 (int)form->space, change_names[change], action, n);
		status = run_killed(builddir, action, n, change_names[change]);
		if (WIFEXITED(status) && WEXITSTATUS(status) != 0)
			fail_msg("%s: status %d", what, WEXITSTATUS(status));
		judge_killed(&old, &new, what);
		if (WIFEXITED(status))
			break;
		points++;
	}
	edited_forget(&old);
	edited_forget(&new);
	return points;
}

static void test_killed_at_every_call(void **state)
{
	static const char *const actions[] = { "kill", "after", "half" };
	const char *thin = getenv("BPK_FAULT_THIN");
	unsigned step = thin != NULL && strcmp(thin, "1") == 0 ? 1 : 5;
	const char *builddir = getenv("abs_top_builddir");
	unsigned points = 0;
	char nth[256];

	(void)state;
	if (builddir == NULL)
		skip();
	snprintf(nth, sizeof nth, "%s/tests/fault/nth", builddir);
	make_archive(&forms[0]);
	if (access(nth, X_OK) != 0 || run_killed(builddir, "kill", 1, "append") == 125 << 8)
		skip();
	for (size_t f = 0; f < sizeof forms / sizeof *forms; f++)
		for (int change = 0; change < NCHANGES; change++)
			for (size_t a = 0; a < 3; a++)
				points += kill_everywhere(&forms[f], change, actions[a], step);
	fprintf(stderr, "# killed at %u points\n", points);
	assert_true(points > 30);
}

/* ---- A reader beside a writer ---- */

enum { APPENDS = 300, ADDED = 130 };

static void append_often(void)
{
	struct edited ed;

	for (int i = 0; i < APPENDS; i++) {
		struct bpk_view more = bpk_view(numbers + i, ADDED);
		struct bpk_editor_options options = in_place;

		options.edit.wait = true;
		if (edited_open(&ed, path, &options) != 0 ||
		    edited_append(&ed, more, 1 + i % 9) != 0 || edited_commit(&ed) != 0) {
			fprintf(stderr, "append %d: %s\n", i, ed.err.text);
			_exit(1);
		}
		edited_close(&ed);
	}
	_exit(0);
}

/* Assert that the content is the result of some number of appends. */
static void judge_prefix(const struct edited_seen *seen, const struct form *form)
{
	size_t appended = seen->raw.size - form->size;
	size_t i = 0;

	assert_true(seen->raw.size >= form->size);
	assert_int_equal(appended % ADDED, 0);
	assert_memory_equal(seen->raw.data, numbers, form->size);
	for (; i < appended / ADDED; i++)
		assert_memory_equal(seen->raw.data + form->size + i * ADDED, numbers + i, ADDED);
}

static void read_beside(const struct form *form)
{
	struct edited_seen seen;
	unsigned reads = 0;
	int status = 0;
	pid_t child;

	make_archive(form);
	child = fork();
	if (child == 0)
		append_often();
	assert_true(child > 0);
	while (waitpid(child, &status, WNOHANG) == 0) {
		if (edited_see(path, &seen) != 0) {
			kill(child, SIGKILL);
			waitpid(child, NULL, 0);
			fail_msg("layout %d, read %u: %s", form->layout, reads, seen.err.text);
		}
		judge_prefix(&seen, form);
		edited_forget(&seen);
		reads++;
	}
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	assert_int_equal(edited_see(path, &seen), 0);
	assert_int_equal(seen.raw.size, form->size + APPENDS * ADDED);
	judge_prefix(&seen, form);
	edited_forget(&seen);
	assert_true(reads > 0);
}

static void test_reader_beside_appends(void **state)
{
	struct form with = { OFFSETS, 500, "crc32", NULL, 2000 };
	struct form used_up = { OFFSETS, 2, "crc32", "{\"a\":1}", 2000 };
	struct form without = { NO_OFFSETS, 0, "crc32", NULL, 2000 };
	struct form small = { OFFSETS, 2, "crc32", NULL, 300 };

	(void)state;
	read_beside(&with);
	read_beside(&used_up);
	read_beside(&without);
	read_beside(&small);
}

/* ---- ---- */

static int set_up(void **state)
{
	const char *base = getenv("TMPDIR");

	(void)state;
	snprintf(folder, sizeof folder, "%s/bpk-edit-XXXXXX",
		 base != NULL && strlen(base) < 40 ? base : "/tmp");
	if (mkdtemp(folder) == NULL)
		return -1;
	snprintf(path, sizeof path, "%s/a.blp", folder);
	return 0;
}

static int tear_down(void **state)
{
	char name[112];

	(void)state;
	unlink(path);
	while (nkept > 0) {
		snprintf(name, sizeof name, "%s/%03u.blp", folder, --nkept);
		unlink(name);
		snprintf(name, sizeof name, "%s/%03u.raw", folder, nkept);
		unlink(name);
	}
	return rmdir(folder);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_change_of_every_form),
		cmocka_unit_test(test_changes_that_do_not_fit),
		cmocka_unit_test(test_arrays),
		cmocka_unit_test(test_copies),
		cmocka_unit_test(test_python_blosc_reads_them),
		cmocka_unit_test(test_bloscpack_reads_them),
		cmocka_unit_test(test_files_of_others),
		cmocka_unit_test(test_nothing_before_the_commit),
		cmocka_unit_test(test_many_chunks),
		cmocka_unit_test(test_killed_at_every_call),
		cmocka_unit_test(test_reader_beside_appends),
	};
	struct unit_random random = { 1 };

	for (size_t i = 0; i < sizeof numbers; i++)
		numbers[i] = (uint8_t)(i / 64 * 7 + (unit_random_next(&random) % 3));
	if (argc == 3)
		return be_victim(argv[1], argv[2]);
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
