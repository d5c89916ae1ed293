/*
 * Writing GSD files: the layout, the growth of tables, and that no byte of an index in use ever
 * changes.
 */
#include "unit/unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "layout/layout.h"

static char path[] = "/tmp/bpk-test-gsd-XXXXXX";
static const struct bpk_scalar u4 = { .kind = 'u', .item_size = 4 };
static const struct bpk_scalar f4 = { .kind = 'f', .item_size = 4 };

/* ---- Writing ---- */

static struct bpk_draft *draft;
static struct bpk_edit *edit;
static struct bpk_gsd_editor *editor;

static void create(const char *schema)
{
	const struct bpk_draft_options options = { .overwrite = true };
	const struct bpk_gsd_head head = { "test", schema, 0x10004 };
	struct bpk_err err = { 0 };
	struct bpk_gsd_store store;

	assert_int_equal(bpk_draft_open(path, &options, &draft, &err), 0);
	store = bpk_gsd_store_of_draft(draft);
	assert_int_equal(bpk_gsd_editor_create(&store, &head, &editor, &err), 0);
}

static int open_as(bool to_cut, struct bpk_err *err)
{
	const struct bpk_edit_options options = { 0 };
	struct bpk_gsd_store store;

	assert_int_equal(bpk_edit_open(path, &options, &edit, err), 0);
	store = bpk_gsd_store_of_edit(edit);
	return bpk_gsd_editor_open(&store, bpk_edit_source(edit), to_cut, &editor, err);
}

static void open_again(void)
{
	struct bpk_err err = { 0 };

	if (open_as(false, &err) != 0)
		fail_msg("%s", err.text);
}

static void close_all(void)
{
	struct bpk_err err = { 0 };

	bpk_gsd_editor_close(editor);
	editor = NULL;
	bpk_edit_close(edit);
	edit = NULL;
	if (draft != NULL && bpk_draft_keep(draft, NULL, &err) != 0)
		fail_msg("%s", err.text);
	draft = NULL;
}

static void put(const char *name, const struct bpk_scalar *scalar, uint64_t nrows, uint8_t fill)
{
	uint8_t bytes[64];
	struct bpk_err err = { 0 };

	memset(bytes, fill, sizeof bytes);
	if (bpk_gsd_editor_put(editor, name, scalar, nrows, 1, &err) != 0 ||
	    bpk_gsd_editor_write(editor, bpk_view(bytes, nrows * 4), &err) != 0)
		fail_msg("%s", err.text);
}

static void end_frame(bool commit)
{
	struct bpk_err err = { 0 };

	if (bpk_gsd_editor_end_frame(editor, &err) != 0 ||
	    (commit && bpk_gsd_editor_commit(editor, &err) != 0))
		fail_msg("%s", err.text);
}

static void truncate_to(uint64_t nframes)
{
	struct bpk_err err = { 0 };

	if (bpk_gsd_editor_truncate(editor, nframes, &err) != 0)
		fail_msg("%s", err.text);
}

/* ---- Checks ---- */

struct file {
	uint8_t *bytes;
	size_t size;
};

static struct file load(void)
{
	FILE *stream = fopen(path, "rb");
	struct file file = { .bytes = malloc(1 << 24) };

	assert_non_null(stream);
	assert_non_null(file.bytes);
	file.size = fread(file.bytes, 1, 1 << 24, stream);
	assert_true(file.size < 1 << 24);
	fclose(stream);
	return file;
}

static uint64_t field(const struct file *file, size_t at)
{
	return bpk_get_le64(file->bytes + at);
}

static void keep_remark(void *arg, const char *line)
{
	snprintf(arg, 256, "%s", line);
}

/* Assert a sound file of nframes and narrays. Returns its size. */
static size_t expect(uint64_t nframes, uint64_t narrays)
{
	struct bpk_gsd_verdict verdict;
	struct bpk_source *source;
	char remark[256] = "";
	struct bpk_err err = { 0 };
	struct file file = load();

	assert_int_equal(bpk_source_of_memory(bpk_view(file.bytes, file.size), &source, &err), 0);
	if (bpk_gsd_verify(source, keep_remark, remark, &verdict, &err) != 0)
		fail_msg("%s", err.text);
	assert_int_equal(verdict.nframes, nframes);
	assert_int_equal(verdict.narrays, narrays);
	bpk_source_close(source);
	free(file.bytes);
	return file.size;
}

/* ---- Tests ---- */

static void test_golden(void **state)
{
	struct file file;

	(void)state;
	create("demo");
	put("a", &u4, 2, 1);
	put("none", &f4, 0, 0);
	end_frame(true);
	close_all();
	assert_int_equal(expect(1, 2), 5376 + 8);
	file = load();
	assert_int_equal(field(&file, 8), 256);
	assert_int_equal(field(&file, 16), 128);
	assert_int_equal(field(&file, 24), 4352);
	assert_int_equal(field(&file, 32), 16);
	assert_int_equal(bpk_get_le32(file.bytes + 40), 0x10004);
	assert_int_equal(bpk_get_le32(file.bytes + 44), 0x20000);
	assert_string_equal((char *)file.bytes + 48, "test");
	assert_string_equal((char *)file.bytes + 112, "demo");
	assert_memory_equal(file.bytes + 4352, "a\0none\0\0", 8);
	assert_int_equal(field(&file, 256 + 16), 5376);
	assert_int_equal(field(&file, 288 + 8), 0);     /* no rows, */
	assert_int_equal(field(&file, 288 + 16), 5384); /* and a location */
	free(file.bytes);
}

/* Two blocks alternate: the one in use stays unchanged, and no third one is needed. */
static void test_turns(void **state)
{
	struct file before, after;
	uint64_t used, room;

	(void)state;
	create("demo");
	put("a", &u4, 1, 1);
	end_frame(true);
	close_all();
	for (uint64_t i = 1; i < 20; i++) {
		before = load();
		used = field(&before, 8);
		room = field(&before, 16);
		open_again();
		put("a", &u4, 1, (uint8_t)i);
		end_frame(true);
		close_all();
		after = load();
		assert_int_not_equal(field(&after, 8), used);
		assert_memory_equal(before.bytes + used, after.bytes + used, room * 32);
		assert_int_equal(after.size, before.size + 4 + (i == 1 ? 4096 : 0));
		free(before.bytes);
		free(after.bytes);
		expect(i + 1, i + 1);
	}
}

static void test_growth(void **state)
{
	char name[5000];

	(void)state;
	create("demo");
	for (uint64_t i = 0; i < 3000; i++) {
		put("a", &u4, 1, (uint8_t)i);
		snprintf(name, sizeof name, "n%0*llu", (int)(i / 50 % 100),
			 (unsigned long long)(i / 50));
		put(name, &u4, 1, 0);
		end_frame(i % 7 == 0 || i == 2999);
	}
	memset(name, 'x', 4096);
	name[4096] = '\0';
	put(name, &u4, 1, 0);
	end_frame(true);
	close_all();
	expect(3001, 6001);
	open_again();
	assert_int_equal(bpk_gsd_editor_nframes(editor), 3001);
	put(name, &u4, 1, 0);
	end_frame(true);
	close_all();
	expect(3002, 6002);
}

static void test_names_bound(void **state)
{
	char name[16];
	struct bpk_err err = { 0 };

	(void)state;
	create("demo");
	for (int i = 0; i < 65535; i++) {
		snprintf(name, sizeof name, "%d", i);
		put(name, &u4, 0, 0);
	}
	assert_int_equal(bpk_gsd_editor_put(editor, "one more", &u4, 0, 1, &err), -1);
	assert_int_equal(err.kind, BPK_LIMIT);
	end_frame(true);
	close_all();
	expect(1, 65535);
	open_again();
	put("65534", &u4, 1, 0);
	end_frame(true);
	close_all();
	expect(2, 65536);
}

static void test_refused(void **state)
{
	const struct bpk_scalar wide = { .kind = 'U', .item_size = 4 };
	const struct bpk_scalar text = { .kind = 'S', .item_size = 1 };
	char name[4098];
	struct bpk_err err = { 0 };

	(void)state;
	create("demo");
	put("a", &u4, 1, 0);
	assert_int_equal(bpk_gsd_editor_put(editor, "a", &u4, 1, 1, &err), -1);
	assert_string_equal(err.text, "frame 0 has an array 'a' already");
	assert_int_equal(bpk_gsd_editor_put(editor, "b", &wide, 1, 1, &err), -1);
	assert_int_equal(err.kind, BPK_UNSUPPORTED);
	assert_int_equal(bpk_gsd_editor_put(editor, "b", &text, 1, 1, &err), -1);
	assert_int_equal(bpk_gsd_editor_put(editor, "b", &u4, 1, 0, &err), -1);
	assert_int_equal(bpk_gsd_editor_put(editor, "b", &u4, 1, 1ull << 32, &err), -1);
	assert_int_equal(bpk_gsd_editor_put(editor, "b", &u4, 1ull << 62, 1, &err), -1);
	assert_int_equal(bpk_gsd_editor_put(editor, "", &u4, 1, 1, &err), -1);
	assert_int_equal(bpk_gsd_editor_put(editor, "\xff", &u4, 1, 1, &err), -1);
	assert_int_equal(bpk_gsd_editor_put(editor, "b\n", &u4, 1, 1, &err), -1);
	assert_string_equal(err.text, "name 'b\\x0a' has control bytes");
	memset(name, 'x', sizeof name - 1);
	name[sizeof name - 1] = '\0';
	assert_int_equal(bpk_gsd_editor_put(editor, name, &u4, 1, 1, &err), -1);
	assert_int_equal(err.kind, BPK_LIMIT);
	assert_int_equal(bpk_gsd_editor_put(editor, "b", &u4, 1, 1, &err), 0);
	assert_int_equal(bpk_gsd_editor_end_frame(editor, &err), -1);
	assert_int_equal(err.kind, BPK_BUG);
	bpk_gsd_editor_close(editor);
	editor = NULL;
	bpk_draft_drop(draft);
	draft = NULL;
}

/* A name that no program writes is damage: no frame is put behind it, but frames may be cut off. */
static void test_odd_names(void **state)
{
	const uint64_t names = 256 + 128 * 32;
	struct bpk_err err = { 0 };
	int fd;

	(void)state;
	create("demo");
	for (uint8_t i = 0; i < 2; i++) {
		put("a.b", &u4, 1, i);
		end_frame(true);
	}
	close_all();
	fd = open(path, O_RDWR | O_CLOEXEC);
	assert_int_equal(pwrite(fd, "\1", 1, (off_t)names + 1), 1);
	close(fd);
	assert_int_equal(open_as(false, &err), -1);
	assert_int_equal(err.kind, BPK_CORRUPT);
	close_all();
	assert_int_equal(open_as(true, NULL), 0);
	truncate_to(1);
	close_all();
}

/* A truncated file equals its earlier state byte for byte, except for the record of a block. */
static void test_truncate(void **state)
{
	size_t sizes[10];

	(void)state;
	create("demo");
	for (uint64_t i = 0; i < 10; i++) {
		put(i % 2 ? "a" : "b", &u4, i, (uint8_t)i);
		end_frame(false);
	}
	for (size_t i = 0, size = 5376; i < 10; i++)
		sizes[i] = size += i * 4;
	assert_int_equal(bpk_gsd_editor_commit(editor, NULL), 0);
	close_all();
	assert_int_equal(expect(10, 10), sizes[9]);
	for (uint64_t kept = 10; kept-- > 1;) {
		open_again();
		truncate_to(kept);
		close_all();
		assert_int_equal(expect(kept, kept), sizes[kept - 1]);
	}
	open_again();
	truncate_to(0);
	put("c", &u4, 3, 1);
	end_frame(true);
	close_all();
	expect(1, 1);
}

/* Remains of a killed writer in the index, and after its end. */
static void test_torn(void **state)
{
	struct bpk_err err = { 0 };
	uint8_t torn[32] = { 2 };
	int fd;

	(void)state;
	create("demo");
	for (uint64_t i = 0; i < 3; i++) {
		put("a", &u4, 1, (uint8_t)i);
		end_frame(i == 2);
	}
	close_all();
	torn[0] = 3;
	fd = open(path, O_RDWR | O_CLOEXEC);
	assert_int_equal(pwrite(fd, torn, 9, 256 + 3 * 32), 9);
	close(fd);
	assert_int_equal(open_as(false, &err), -1);
	assert_int_equal(err.kind, BPK_CORRUPT);
	bpk_edit_close(edit);
	assert_int_equal(open_as(true, &err), 0);
	truncate_to(3);
	put("a", &u4, 1, 7);
	end_frame(true);
	close_all();
	expect(4, 4);
}

/* Invalid records, and records of a block that is in use, are ignored. */
static void test_record(void **state)
{
	struct file before, after;
	uint8_t byte;
	int fd;

	(void)state;
	create("demo");
	put("a", &u4, 1, 1);
	end_frame(true);
	put("a", &u4, 1, 1);
	end_frame(true);
	close_all();
	before = load();
	assert_memory_equal(before.bytes + 176, "bpkindex", 8);
	fd = open(path, O_RDWR | O_CLOEXEC);
	byte = before.bytes[184] ^ 1; /* another offset: the hash is wrong */
	assert_int_equal(pwrite(fd, &byte, 1, 184), 1);
	close(fd);
	open_again();
	put("a", &u4, 1, 1);
	end_frame(true);
	close_all();
	after = load();
	assert_int_equal(after.bytes[184], byte); /* it belongs to another program, and stays */
	assert_int_equal(after.size, before.size + 4 + 4096);
	free(before.bytes);
	free(after.bytes);
	expect(3, 3);
}

static void test_old_versions(void **state)
{
	struct bpk_err err = { 0 };
	const uint8_t old[4] = { 0, 0, 1, 0 };
	int fd;

	(void)state;
	create("demo");
	end_frame(true);
	close_all();
	fd = open(path, O_RDWR | O_CLOEXEC);
	assert_int_equal(pwrite(fd, old, 4, 44), 4);
	close(fd);
	assert_int_equal(open_as(false, &err), -1);
	assert_int_equal(err.kind, BPK_UNSUPPORTED);
	close_all();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_golden),       cmocka_unit_test(test_turns),
		cmocka_unit_test(test_growth),       cmocka_unit_test(test_names_bound),
		cmocka_unit_test(test_refused),      cmocka_unit_test(test_truncate),
		cmocka_unit_test(test_torn),         cmocka_unit_test(test_record),
		cmocka_unit_test(test_old_versions), cmocka_unit_test(test_odd_names),
	};
	int fd = mkstemp(path), failed;

	if (fd < 0)
		return 99;
	close(fd);
	failed = UNIT_RUN(tests);
	unlink(path);
	return failed;
}
