/*
 * The room archive: archives of several formats are appended to, overwritten, truncated and
 * followed. A model in memory gives the content that readers must find after each commit, and not
 * before it.
 */
#include "unit/unit.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "archive/archive.h"

enum { CHUNK = 4096, MOST = 24 * CHUNK, ROUNDS = 40 };

static const char *const formats[] = { "blp", "b2frame", "b2sparse", "chunked" };
enum { NFORMATS = sizeof formats / sizeof formats[0] };

static char folder[64], path[96], grown[96];

/* ---- A model ---- */

struct model {
	const struct bpk_format *format;
	struct bpk_buf raw;
	uint64_t seed;
	/* number of calls of the hooks */
	unsigned chosen, remarks, begun, ended;
	bool refuses;
};

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

static void remove_all(const char *what)
{
	char command[160];

	snprintf(command, sizeof command, "rm -rf '%s'", what);
	if (system(command) != 0)
		fail_msg("cannot remove %s", what);
}

static void write_with(const struct model *m, struct bpk_draft *draft, struct bpk_err *err)
{
	const struct bpk_packing packing = {
		.choice.recipe = { .codec = bpk_codec_find("lz4"),
				   .level = 5,
				   .typesize = 4,
				   .extended = m->format->extended_chunks,
				   .pipeline = bpk_pipeline_of(BPK_FILTER_SHUFFLE) },
	};
	const struct bpk_write_options options = { .recipe = &packing.choice.recipe,
						   .append_space = BPK_UNKNOWN };
	const struct bpk_info info = { .raw_size = m->raw.size,
				       .chunks.count = bpk_div_up(m->raw.size, CHUNK),
				       .chunks.size = CHUNK,
				       .chunks.last_size = m->raw.size % CHUNK,
				       .chunks.typesize = 4,
				       .chunks.checksum = bpk_checksum_find("crc32") };
	struct bpk_place place = { .path = "model" };
	const struct bpk_read_options reading = { 0 };
	struct bpk_flow flow = { .in = bpk_format_raw.reader,
				 .out = m->format->writer,
				 .plan = bpk_plan_cut(m->raw.size, CHUNK),
				 .packing = &packing,
				 .limits.threads = 2 };
	struct bpk_flow_result result;

	if (bpk_source_of_memory(bpk_buf_view(&m->raw), &place.source, err) != 0 ||
	    flow.in->open(&place, &reading, &flow.reader, err) != 0 ||
	    flow.out->open(draft, &info, &options, &flow.writer, err) != 0 ||
	    bpk_flow_run(&flow, &result, err) != 0 || flow.out->finish(flow.writer, err) != 0)
		fail_of(err);
	flow.out->close(flow.writer);
	flow.in->close(flow.reader);
	bpk_source_close(place.source);
}

/* A new archive at path, of size bytes. */
static void model_begin(struct model *m, const char *format, size_t size)
{
	struct bpk_err err = { 0 };
	struct bpk_draft_options options = { .overwrite = true };
	struct bpk_draft *draft;

	*m = (struct model){ .format = bpk_format_find(format), .seed = size };
	assert_non_null(m->format);
	options.directory = m->format->is_directory;
	options.ours = m->format->owns;
	assert_int_equal(bpk_buf_resize(&m->raw, size, &err), 0);
	fill(m, m->raw.data, size);
	remove_all(path);
	if (bpk_draft_open(path, &options, &draft, &err) != 0)
		fail_of(&err);
	write_with(m, draft, &err);
	if (bpk_draft_keep(draft, NULL, &err) != 0)
		fail_of(&err);
}

static void model_end(struct model *m)
{
	bpk_buf_clear(&m->raw);
	remove_all(path);
}

/* ---- An independent reader ---- */

static int gather(void *out, const struct bpk_parcel *parcel, struct bpk_err *err)
{
	return bpk_buf_append(out, bpk_buf_view(&parcel->raw), err);
}

static void ignore(void *arg, const char *line)
{
	(void)arg;
	(void)line;
}

static void read_all(struct bpk_buf *out)
{
	static const struct bpk_writer_ops into_memory = { .put = gather };
	const struct bpk_read_options options = { 0 };
	const struct bpk_format *format = NULL;
	struct bpk_flow flow = { .out = &into_memory,
				 .writer = out,
				 .check = true,
				 .decode = true,
				 .limits.threads = 1 };
	struct bpk_flow_result result;
	struct bpk_err err = { 0 };
	struct bpk_place place;

	if (bpk_place_open(path, bpk_format_owns, &place, &err) != 0 ||
	    bpk_format_probe(&place, &format, &err) != 0)
		fail_of(&err);
	assert_non_null(format);
	flow.in = format->reader;
	if (flow.in->open(&place, &options, &flow.reader, &err) != 0)
		fail_of(&err);
	flow.plan = bpk_plan_all(flow.in->info(flow.reader));
	if (bpk_flow_run(&flow, &result, &err) != 0)
		fail_of(&err);
	if (flow.in->audit != NULL && flow.in->audit(flow.reader, ignore, NULL, &err) != 0)
		fail_of(&err);
	flow.in->close(flow.reader);
	bpk_place_close(&place);
}

/* Assert that readers find exactly bytes. */
static void assert_holds(struct bpk_view bytes)
{
	struct bpk_buf found = { 0 };

	read_all(&found);
	assert_int_equal(found.size, bytes.size);
	if (bytes.size > 0)
		assert_memory_equal(found.data, bytes.data, bytes.size);
	bpk_buf_clear(&found);
}

/* ---- Archives ---- */

static int chosen(void *arg, const struct bpk_recipe *recipe, struct bpk_err *err)
{
	struct model *m = arg;

	assert_int_equal(recipe->typesize, 4);
	m->chosen++;
	return m->refuses ? bpk_fail(err, BPK_USAGE, "is refused") : 0;
}

static void remark(void *arg, const char *line)
{
	struct model *m = arg;

	assert_non_null(strstr(line, "committed"));
	m->remarks++;
}

static void begin(void *arg, const char *name, uint64_t total)
{
	struct model *m = arg;

	assert_string_equal(name, "more");
	assert_true(total > 0);
	m->begun++;
}

static void progress(void *arg, uint64_t raw_done, uint64_t packed_done)
{
	(void)arg;
	(void)raw_done;
	(void)packed_done;
}

static void end(void *arg)
{
	struct model *m = arg;

	m->ended++;
}

static void open_archive(struct model *m, struct bpk_archive *archive)
{
	const struct bpk_archive_options options = {
		.editor = { .journal_limit = 1 << 20, .append_space = BPK_UNKNOWN },
		.limits.threads = 2,
		.wishes = { .level = BPK_AUTO, .typesize = BPK_AUTO },
		.hooks = { .chosen = chosen,
			   .remark = remark,
			   .begin = begin,
			   .progress = progress,
			   .end = end },
		.hooks_arg = m,
	};
	struct bpk_err err = { 0 };

	if (bpk_archive_open(archive, &options, path, &err) != 0)
		fail_of(&err);
	assert_ptr_equal(archive->format, m->format);
	assert_int_equal(bpk_archive_info(archive)->raw_size, m->raw.size);
}

static void commit(struct bpk_archive *archive)
{
	struct bpk_err err = { 0 };

	if (bpk_archive_commit(archive, &err) != 0)
		fail_of(&err);
}

static struct bpk_source *source_of(struct bpk_view bytes)
{
	struct bpk_source *source = NULL;
	struct bpk_err err = { 0 };

	assert_int_equal(bpk_source_of_memory(bytes, &source, &err), 0);
	return source;
}

/* Append without a commit; the model gets the bytes at once. */
static void append(struct model *m, struct bpk_archive *archive, size_t size)
{
	size_t before = m->raw.size;
	struct bpk_packing packing = { 0 };
	struct bpk_flow_result result;
	struct bpk_err err = { 0 };
	struct bpk_source *source;

	assert_int_equal(bpk_buf_resize(&m->raw, before + size, &err), 0);
	fill(m, m->raw.data + before, size);
	source = source_of(bpk_view(m->raw.data + before, size));
	if (bpk_archive_choose(archive, source, &packing, &err) != 0 ||
	    bpk_archive_append(archive, source, "more", &packing, &result, &err) != 0)
		fail_of(&err);
	bpk_source_close(source);
	bpk_buf_clear(&packing.choice.why);
}

static void overwrite(struct model *m, struct bpk_archive *archive, size_t at, size_t size)
{
	struct bpk_overwrite change = { .at = at, .name = "more" };
	struct bpk_err err = { 0 };
	struct bpk_source *source;
	uint64_t written;

	fill(m, m->raw.data + at, size);
	source = source_of(bpk_view(m->raw.data + at, size));
	change.source = source;
	if (bpk_archive_overwrite(archive, &change, &written, &err) != 0)
		fail_of(&err);
	assert_int_equal(written, size);
	bpk_source_close(source);
}

static void truncate_to(struct model *m, struct bpk_archive *archive, size_t size)
{
	struct bpk_err err = { 0 };

	if (bpk_archive_truncate(archive, size, &err) != 0)
		fail_of(&err);
	m->raw.size = size;
}

/* ---- Changes ---- */

static void check_append(const char *format)
{
	static const size_t sizes[] = { 1, CHUNK - 1, CHUNK, 2 * CHUNK + 12 };
	struct model m;
	struct bpk_archive archive;

	model_begin(&m, format, 2 * CHUNK + 400);
	for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
		size_t before = m.raw.size;

		open_archive(&m, &archive);
		append(&m, &archive, sizes[i]);
		assert_holds(bpk_view(m.raw.data, before));
		commit(&archive);
		assert_int_equal(bpk_archive_info(&archive)->raw_size, m.raw.size);
		bpk_archive_close(&archive);
		assert_holds(bpk_buf_view(&m.raw));
	}
	assert_int_equal(m.chosen, sizeof sizes / sizeof sizes[0]);
	assert_int_equal(m.begun, m.chosen);
	assert_int_equal(m.ended, m.chosen);
	model_end(&m);
}

static void check_abandoned(const char *format)
{
	struct model m;
	struct bpk_archive archive;
	size_t before;

	model_begin(&m, format, 3 * CHUNK + 100);
	before = m.raw.size;
	open_archive(&m, &archive);
	append(&m, &archive, CHUNK);
	bpk_archive_close(&archive);
	m.raw.size = before;
	assert_holds(bpk_buf_view(&m.raw));
	open_archive(&m, &archive);
	truncate_to(&m, &archive, CHUNK + 1);
	bpk_archive_close(&archive);
	m.raw.size = before;
	assert_holds(bpk_buf_view(&m.raw));
	model_end(&m);
}

static void check_truncate(const char *format)
{
	static const size_t sizes[] = { 5 * CHUNK, 3 * CHUNK + 8, 3 * CHUNK, 2 * CHUNK, 1, 0 };
	struct model m;
	struct bpk_archive archive;

	model_begin(&m, format, 5 * CHUNK);
	for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
		open_archive(&m, &archive);
		truncate_to(&m, &archive, sizes[i]);
		commit(&archive);
		bpk_archive_close(&archive);
		assert_holds(bpk_buf_view(&m.raw));
	}
	model_end(&m);
}

static void check_overwrite(const char *format)
{
	static const size_t ranges[][2] = { { 0, 1 },          { CHUNK - 1, 2 },
					    { CHUNK, CHUNK },  { 100, 4 * CHUNK - 90 },
					    { 4 * CHUNK, 77 }, { 0, 4 * CHUNK + 77 } };
	struct model m;
	struct bpk_archive archive;
	struct bpk_buf piece = { 0 };
	struct bpk_err err = { 0 };

	model_begin(&m, format, 4 * CHUNK + 77);
	for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++) {
		open_archive(&m, &archive);
		overwrite(&m, &archive, ranges[i][0], ranges[i][1]);
		commit(&archive);
		piece.size = 0;
		assert_int_equal(
			bpk_archive_read(&archive, ranges[i][0], ranges[i][1], &piece, &err), 0);
		assert_memory_equal(piece.data, m.raw.data + ranges[i][0], ranges[i][1]);
		bpk_archive_close(&archive);
		assert_holds(bpk_buf_view(&m.raw));
	}
	bpk_buf_clear(&piece);
	model_end(&m);
}

/* An overwrite beyond the end, and a recipe refused by the caller: nothing changes. */
static void check_refused(const char *format)
{
	static const uint8_t bytes[16];
	struct bpk_source *source = source_of(bpk_view(bytes, sizeof bytes));
	struct bpk_overwrite change = { .source = source, .name = "more" };
	struct bpk_packing packing = { 0 };
	struct bpk_err err = { 0 };
	struct bpk_archive archive;
	uint64_t written;
	struct model m;

	model_begin(&m, format, 2 * CHUNK);
	open_archive(&m, &archive);
	change.at = m.raw.size - 15;
	assert_int_equal(bpk_archive_overwrite(&archive, &change, &written, &err), -1);
	assert_int_equal(err.kind, BPK_FAILED);
	m.refuses = true;
	err = (struct bpk_err){ 0 };
	assert_int_equal(bpk_archive_choose(&archive, source, &packing, &err), -1);
	assert_int_equal(err.kind, BPK_USAGE);
	assert_int_equal(strncmp(err.text, path, strlen(path)), 0);
	bpk_archive_close(&archive);
	assert_holds(bpk_buf_view(&m.raw));
	bpk_buf_clear(&packing.choice.why);
	bpk_source_close(source);
	model_end(&m);
}

/* One random change. */
static void change(struct model *m, struct bpk_archive *archive)
{
	size_t at = next(m) % (m->raw.size + 1);

	switch (next(m) % 3) {
	case 0:
		append(m, archive, 1 + next(m) % (3 * CHUNK));
		break;
	case 1:
		truncate_to(m, archive, m->raw.size > MOST ? CHUNK : at);
		break;
	default:
		if (at < m->raw.size)
			overwrite(m, archive, at, 1 + next(m) % (m->raw.size - at));
		break;
	}
}

/* Random changes, each committed; the archive stays open across some of them. */
static void check_rounds(const char *format)
{
	struct bpk_archive archive = { 0 };
	struct model m;

	model_begin(&m, format, 6 * CHUNK + 40);
	open_archive(&m, &archive);
	for (unsigned i = 0; i < ROUNDS; i++) {
		change(&m, &archive);
		commit(&archive);
		assert_holds(bpk_buf_view(&m.raw));
		if (i % 4 == 3) {
			bpk_archive_close(&archive);
			open_archive(&m, &archive);
		}
	}
	bpk_archive_close(&archive);
	model_end(&m);
}

/* ---- Following ---- */

static void save(const char *mode, struct bpk_view bytes)
{
	FILE *file = fopen(grown, mode);

	if (file == NULL || fwrite(bytes.data, 1, bytes.size, file) != bytes.size ||
	    fclose(file) != 0)
		abort(); /* threads have no other way to report */
}

/* The model's last bytes, written to the file in pieces by another thread. */
struct growth {
	struct bpk_view rest;
};

static void *grow(void *arg)
{
	const struct growth *growth = arg;
	size_t step = growth->rest.size / 4 + 1;

	for (size_t at = 0; at < growth->rest.size; at += step) {
		save("ab",
		     bpk_view(growth->rest.data + at, bpk_min_size(step, growth->rest.size - at)));
		bpk_archive_ask_commit();
		usleep(20000);
	}
	bpk_archive_ask_end();
	return NULL;
}

static int follow(struct model *m, bool mend, const struct bpk_follow_options *options,
		  struct bpk_rounds *rounds, struct bpk_err *err)
{
	struct bpk_archive archive;
	int rc;

	open_archive(m, &archive);
	*rounds = (struct bpk_rounds){ 0 };
	rc = bpk_archive_follow(&archive, grown, mend, options, rounds, err);
	bpk_archive_close(&archive);
	return rc;
}

/* The file has more bytes than the archive; the rest is written while it is followed. */
static void check_follow(const char *format)
{
	const struct bpk_follow_options options = { .interval = 60 };
	struct growth growth;
	struct bpk_rounds rounds;
	struct bpk_err err = { 0 };
	struct model m, all;
	pthread_t thread;
	int rc;

	model_begin(&all, format, 9 * CHUNK + 5);
	model_begin(&m, format, 3 * CHUNK + 9);
	memcpy(all.raw.data, m.raw.data, m.raw.size);
	save("wb", bpk_view(all.raw.data, m.raw.size + 100));
	growth.rest = bpk_view(all.raw.data + m.raw.size + 100, all.raw.size - m.raw.size - 100);
	assert_int_equal(pthread_create(&thread, NULL, grow, &growth), 0);
	rc = follow(&m, false, &options, &rounds, &err);
	assert_int_equal(pthread_join(thread, NULL), 0);
	if (rc != 0)
		fail_of(&err);
	assert_int_equal(rounds.appended, all.raw.size - m.raw.size);
	assert_true(rounds.commits >= 1);
	assert_int_equal(m.remarks, rounds.commits);
	assert_int_equal(rounds.mended, 0);
	assert_holds(bpk_buf_view(&all.raw));
	bpk_buf_clear(&all.raw);
	model_end(&m);
}

/* Another file is refused at its first difference; with mend the archive becomes that file. */
static void check_follow_other(const char *format)
{
	const struct bpk_follow_options options = { .interval = 60, .idle = 0.01 };
	struct bpk_rounds rounds;
	struct bpk_err err = { 0 };
	struct model m;
	size_t at = CHUNK + 17;

	model_begin(&m, format, 3 * CHUNK + 9);
	save("wb", bpk_buf_view(&m.raw));
	if (follow(&m, false, &options, &rounds, &err) != 0)
		fail_of(&err);
	assert_int_equal(rounds.commits, 0);
	m.raw.data[at] ^= 0x55;
	save("wb", bpk_buf_view(&m.raw));
	assert_int_equal(follow(&m, false, &options, &rounds, &err), -1);
	assert_int_equal(err.kind, BPK_FAILED);
	assert_non_null(strstr(err.text, "byte 4113 "));
	m.raw.data[at] ^= 0x55;
	assert_holds(bpk_buf_view(&m.raw));
	m.raw.data[at] ^= 0x55;
	if (follow(&m, true, &options, &rounds, &err) != 0)
		fail_of(&err);
	assert_true(rounds.mended > 0);
	assert_holds(bpk_buf_view(&m.raw));
	model_end(&m);
}

/* Following ends with the process, after all bytes written by it were read. */
static void check_follow_process(const char *format)
{
	struct bpk_follow_options options = { .interval = 60 };
	struct bpk_rounds rounds;
	struct bpk_err err = { 0 };
	struct model m;
	pid_t child;
	int rc;

	model_begin(&m, format, 2 * CHUNK);
	save("wb", bpk_view(m.raw.data, m.raw.size));
	child = fork();
	if (child == 0) {
		usleep(50000);
		save("ab", bpk_view(m.raw.data, CHUNK + 1));
		_exit(0);
	}
	assert_true(child > 0);
	options.pid = (uint64_t)child;
	rc = follow(&m, false, &options, &rounds, &err);
	assert_int_equal(waitpid(child, NULL, 0), child);
	if (rc != 0)
		fail_of(&err);
	assert_int_equal(rounds.appended, CHUNK + 1);
	assert_int_equal(bpk_buf_resize(&m.raw, 3 * CHUNK + 1, &err), 0);
	memcpy(m.raw.data + 2 * CHUNK, m.raw.data, CHUNK + 1);
	assert_holds(bpk_buf_view(&m.raw));
	model_end(&m);
}

/* ---- Each test for each format ---- */

#define FOR_ALL_FORMATS(test, check)                                                               \
	static void test(void **state)                                                             \
	{                                                                                          \
		(void)state;                                                                       \
		for (size_t i = 0; i < NFORMATS; i++)                                              \
			check(formats[i]);                                                         \
	}

FOR_ALL_FORMATS(test_append, check_append)
FOR_ALL_FORMATS(test_abandoned, check_abandoned)
FOR_ALL_FORMATS(test_truncate, check_truncate)
FOR_ALL_FORMATS(test_overwrite, check_overwrite)
FOR_ALL_FORMATS(test_refused, check_refused)
FOR_ALL_FORMATS(test_rounds, check_rounds)
FOR_ALL_FORMATS(test_follow, check_follow)
FOR_ALL_FORMATS(test_follow_other, check_follow_other)
FOR_ALL_FORMATS(test_follow_process, check_follow_process)

static int make_folder(void **state)
{
	const char *where = getenv("TMPDIR");

	(void)state;
	snprintf(folder, sizeof folder, "%s/bpk-archive-XXXXXX", where != NULL ? where : "/tmp");
	if (mkdtemp(folder) == NULL)
		return -1;
	snprintf(path, sizeof path, "%s/archive", folder);
	snprintf(grown, sizeof grown, "%s/grown", folder);
	return 0;
}

static int remove_folder(void **state)
{
	(void)state;
	remove_all(folder);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_append),         cmocka_unit_test(test_abandoned),
		cmocka_unit_test(test_truncate),       cmocka_unit_test(test_overwrite),
		cmocka_unit_test(test_refused),        cmocka_unit_test(test_rounds),
		cmocka_unit_test(test_follow),         cmocka_unit_test(test_follow_other),
		cmocka_unit_test(test_follow_process),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
