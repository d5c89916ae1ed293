/*
 * Edits in place: what a reader and the next writer find, whatever instant a writer dies at. The
 * sweep over every system call is in tests/fault/edit.c.
 */
#include "unit/unit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "io/io.h"

enum { SIZE = 20000, HEAD = 32, MOST = 1 << 20 };

static char folder[] = "/tmp/bpk-test-edit-XXXXXX";
static uint8_t old[SIZE];
static struct bpk_err err;

static const struct bpk_edit_options plain = { .sync = true };
static const struct bpk_edit_options careless = { 0 };
static const struct bpk_edit_options waiting = { .wait = true };
static const struct bpk_edit_options copying = { .copy = true, .sync = true };

static const char *in_folder(const char *name)
{
	static char paths[4][200];
	static unsigned next;
	char *path = paths[next++ % 4];

	snprintf(path, sizeof paths[0], "%s/%s", folder, name);
	return path;
}

static void make_file(const char *path, const void *data, size_t size)
{
	FILE *file = fopen(path, "wb");

	assert_non_null(file);
	assert_int_equal(fwrite(data, 1, size, file), size);
	assert_int_equal(fclose(file), 0);
}

static size_t load_file(const char *path, uint8_t *out)
{
	FILE *file = fopen(path, "rb");
	size_t size;

	assert_non_null(file);
	size = fread(out, 1, MOST, file);
	fclose(file);
	return size;
}

static void assert_file(const char *path, const void *data, size_t size)
{
	uint8_t *found = malloc(MOST);

	assert_int_equal(load_file(path, found), size);
	assert_memory_equal(found, data, size);
	free(found);
}

static bool has_journal(void)
{
	return access(in_folder(".f.bpkj"), F_OK) == 0;
}

static void assert_fails(int rc, enum bpk_kind kind, const char *words)
{
	assert_int_equal(rc, -1);
	assert_int_equal(err.kind, kind);
	if (strstr(err.text, words) == NULL)
		fail_msg("\"%s\" does not say \"%s\"", err.text, words);
}

static void assert_done(int rc)
{
	if (rc != 0)
		fail_msg("%s", err.text);
}

static int setup(void **state)
{
	struct unit_random random = { 5 };

	(void)state;
	for (size_t i = 0; i < SIZE; i++)
		old[i] = (uint8_t)unit_random_next(&random);
	make_file(in_folder("f"), old, SIZE);
	unlink(in_folder(".f.bpkj"));
	return 0;
}

static struct bpk_edit *open_edit(const struct bpk_edit_options *options)
{
	struct bpk_edit *edit;

	assert_done(bpk_edit_open(in_folder("f"), options, &edit, &err));
	return edit;
}

/* What a source holds, from its beginning. */
static void assert_source(struct bpk_source *source, const void *data, size_t size)
{
	uint8_t *found = malloc(MOST);
	size_t got;

	assert_int_equal(bpk_source_size(source), size);
	assert_done(bpk_source_read_at(source, 0, bpk_span(found, MOST), &got, &err));
	assert_int_equal(got, size);
	assert_memory_equal(found, data, size);
	free(found);
}

/* What a reader sees that puts nothing back. */
static void assert_reader(const void *data, size_t size)
{
	struct bpk_place place;

	assert_done(bpk_place_open_as(in_folder("f"), true, &place, &err));
	assert_done(bpk_source_hold(place.source, &err));
	assert_source(place.source, data, size);
	bpk_source_release(place.source);
	bpk_place_close(&place);
}

/* ---- Single calls ---- */

static void test_append(void **state)
{
	struct bpk_edit *edit = open_edit(&plain);
	uint8_t want[SIZE + 100];
	const struct bpk_edit_head head = { 0, { (const uint8_t *)"new head", 8 } };

	(void)state;
	memcpy(want, old, SIZE);
	memset(want + SIZE, 'x', 100);
	assert_done(bpk_edit_write_at(edit, SIZE, bpk_view(want + SIZE, 100), &err));
	assert_source(bpk_edit_source(edit), old, SIZE);
	assert_done(bpk_edit_sync(edit, &err));
	assert_false(has_journal());
	assert_done(bpk_edit_commit(edit, &head, SIZE + 100, &err));
	memcpy(want, "new head", 8);
	assert_source(bpk_edit_source(edit), want, sizeof want);
	bpk_edit_close(edit);
	assert_file(in_folder("f"), want, sizeof want);
}

static void test_overwrite(void **state)
{
	struct bpk_edit *edit = open_edit(&plain);
	uint8_t want[SIZE];
	const struct bpk_edit_head head = { 512, { (const uint8_t *)"head", 4 } };

	(void)state;
	memcpy(want, old, SIZE);
	memset(want + 700, 'y', 9000);
	assert_done(bpk_edit_write_at(edit, 5000, bpk_view(want + 5000, 4700), &err));
	assert_true(has_journal());
	assert_done(bpk_edit_write_at(edit, 700, bpk_view(want + 700, 9000), &err));
	assert_source(bpk_edit_source(edit), old, SIZE);
	assert_reader(old, SIZE);
	assert_done(bpk_edit_commit(edit, &head, SIZE, &err));
	assert_false(has_journal());
	memcpy(want + 512, "head", 4);
	assert_source(bpk_edit_source(edit), want, SIZE);
	bpk_edit_close(edit);
	assert_reader(want, SIZE);
	assert_file(in_folder("f"), want, SIZE);
}

static void test_rollback(void **state)
{
	struct bpk_edit *edit = open_edit(&plain);

	(void)state;
	assert_done(bpk_edit_write_at(edit, 100, bpk_view("abc", 3), &err));
	assert_done(bpk_edit_write_at(edit, SIZE + 50, bpk_view("abc", 3), &err));
	assert_done(bpk_edit_rollback(edit, &err));
	assert_file(in_folder("f"), old, SIZE);
	assert_false(has_journal());
	assert_done(bpk_edit_write_at(edit, SIZE, bpk_view("abc", 3), &err));
	assert_done(bpk_edit_rollback(edit, &err));
	assert_file(in_folder("f"), old, SIZE);
	assert_done(bpk_edit_write_at(edit, 7, bpk_view("abc", 3), &err));
	bpk_edit_close(edit);
	assert_file(in_folder("f"), old, SIZE);
	assert_false(has_journal());
}

static void test_copy(void **state)
{
	struct bpk_edit *edit;
	struct bpk_place before;
	uint8_t want[SIZE + 3];

	(void)state;
	assert_int_equal(chmod(in_folder("f"), 0640), 0);
	assert_done(bpk_place_open(in_folder("f"), &before, &err));
	edit = open_edit(&copying);
	memcpy(want, old, SIZE);
	memcpy(want + SIZE, "end", 3);
	want[9] ^= 1;
	assert_done(bpk_edit_write_at(edit, SIZE, bpk_view("end", 3), &err));
	assert_done(bpk_edit_write_at(edit, 9, bpk_view(want + 9, 1), &err));
	assert_file(in_folder("f"), old, SIZE);
	assert_done(bpk_edit_commit(edit, NULL, SIZE + 3, &err));
	assert_file(in_folder("f"), want, sizeof want);
	assert_source(before.source, old, SIZE); /* who had it open keeps it */
	assert_source(bpk_edit_source(edit), want, sizeof want);
	assert_done(bpk_edit_write_at(edit, 0, bpk_view("z", 1), &err));
	assert_done(bpk_edit_commit(edit, NULL, 1, &err));
	assert_file(in_folder("f"), "z", 1);
	bpk_edit_close(edit);
	bpk_place_close(&before);
}

static void test_two_writers(void **state)
{
	struct bpk_edit *edit = open_edit(&plain), *second;

	(void)state;
	assert_fails(bpk_edit_open(in_folder("f"), &careless, &second, &err), BPK_FAILED,
		     "is being changed by another process");
	bpk_edit_close(edit);
	assert_done(bpk_edit_open(in_folder("f"), &waiting, &second, &err));
	bpk_edit_close(second);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_append, setup),
		cmocka_unit_test_setup(test_overwrite, setup),
		cmocka_unit_test_setup(test_rollback, setup),
		cmocka_unit_test_setup(test_copy, setup),
		cmocka_unit_test_setup(test_two_writers, setup),
	};
	char command[64];
	int rc;

	if (mkdtemp(folder) == NULL)
		return 99;
	rc = UNIT_RUN(tests);
	snprintf(command, sizeof command, "rm -rf %s", folder);
	return system(command) != 0 ? 99 : rc;
}
