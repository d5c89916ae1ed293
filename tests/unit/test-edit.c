/*
 * Edits in place: the state that a reader and the next writer find after a writer died at any
 * instant. The sweep over every system call is in tests/fault/sweep-edit.c.
 */
#include "unit/unit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "io/io.h"

enum { SIZE = 20000, HEAD = 32, MOST = 1 << 20 };

static char folder[] = "/tmp/bpk-test-edit-XXXXXX";
static uint8_t old[SIZE];
static struct bpk_err err;

static const struct bpk_edit_options plain = { .sync = true };
static const struct bpk_edit_options careless = { 0 };
static const struct bpk_edit_options waiting = { .wait = true };
static const struct bpk_edit_options unlocked = { .no_lock = true };
static const struct bpk_edit_options copying = { .copy = true, .sync = true };

static const char *in_folder(const char *name)
{
	static char paths[4][400];
	static unsigned next;
	char *path = paths[next++ % 4];

	snprintf(path, sizeof paths[0], "%s/%s", folder, name);
	return path;
}

/* A new file: ext4 writes data in a truncated file at once. */
static void make_file(const char *path, const void *data, size_t size)
{
	FILE *file;

	unlink(path);
	file = fopen(path, "wb");
	assert_non_null(file);
	assert_int_equal(fwrite(data, 1, size, file), size);
	assert_int_equal(fclose(file), 0);
}

/* The same file with other content: journals identify it by its inode. */
static void fill_file(const char *path, const void *data, size_t size)
{
	int fd = open(path, O_WRONLY | O_TRUNC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, size), size);
	assert_int_equal(close(fd), 0);
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

/* Assert the content of a source, from its start. */
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

/* Assert the view of a reader that restores nothing. */
static void assert_reader(const void *data, size_t size)
{
	struct bpk_place place;

	assert_done(bpk_place_open(in_folder("f"), NULL, &place, &err));
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
	assert_done(bpk_place_open(in_folder("f"), NULL, &before, &err));
	edit = open_edit(&copying);
	memcpy(want, old, SIZE);
	memcpy(want + SIZE, "end", 3);
	want[9] ^= 1;
	assert_done(bpk_edit_write_at(edit, SIZE, bpk_view("end", 3), &err));
	assert_done(bpk_edit_write_at(edit, 9, bpk_view(want + 9, 1), &err));
	assert_file(in_folder("f"), old, SIZE);
	assert_done(bpk_edit_commit(edit, NULL, SIZE + 3, &err));
	assert_file(in_folder("f"), want, sizeof want);
	assert_source(before.source, old, SIZE); /* readers that had it open keep it */
	assert_source(bpk_edit_source(edit), want, sizeof want);
	assert_done(bpk_edit_write_at(edit, 0, bpk_view("z", 1), &err));
	assert_done(bpk_edit_commit(edit, NULL, 1, &err));
	assert_file(in_folder("f"), "z", 1);
	bpk_edit_close(edit);
	bpk_place_close(&before);
}

/* ---- Several processes ---- */

/* Run body in a child process that dies without closing anything; its exit status. */
static int in_child(int (*body)(void))
{
	pid_t child = fork();
	int status;

	assert_true(child >= 0);
	if (child == 0) {
		alarm(60);
		_exit(body());
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

/* A writer that reports when it has the lock, and holds it for half a second. */
static pid_t start_writer(const struct bpk_edit_options *options)
{
	int ready[2];
	pid_t child;
	char byte;

	assert_int_equal(pipe(ready), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		struct bpk_edit *edit;

		alarm(60);
		if (bpk_edit_open(in_folder("f"), options, &edit, NULL) != 0 ||
		    write(ready[1], "", 1) != 1)
			_exit(1);
		usleep(500 * 1000);
		if (bpk_edit_write_at(edit, 0, bpk_view("child", 5), NULL) != 0 ||
		    bpk_edit_commit(edit, NULL, SIZE, NULL) != 0)
			_exit(2);
		bpk_edit_close(edit);
		_exit(0);
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	return child;
}

static void end_writer(pid_t child)
{
	int status;

	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

static void check_two_writers(const struct bpk_edit_options *first)
{
	uint8_t want[SIZE];
	struct bpk_edit *edit;
	pid_t child = start_writer(first);

	memcpy(want, old, SIZE);
	assert_fails(bpk_edit_open(in_folder("f"), &careless, &edit, &err), BPK_FAILED,
		     "is being changed by another process");
	assert_done(bpk_edit_open(in_folder("f"), &waiting, &edit, &err));
	memcpy(want, "child", 5);
	assert_source(bpk_edit_source(edit), want, SIZE);
	assert_done(bpk_edit_write_at(edit, 2, bpk_view("parent", 6), &err));
	assert_done(bpk_edit_commit(edit, NULL, SIZE, &err));
	bpk_edit_close(edit);
	memcpy(want + 2, "parent", 6);
	assert_file(in_folder("f"), want, SIZE);
	end_writer(child);
}

static void test_two_writers(void **state)
{
	(void)state;
	check_two_writers(&plain);
}

/* A writer that waited for the lock of the old file continues with the new one. */
static void test_replaced_while_waiting(void **state)
{
	(void)state;
	check_two_writers(&copying);
}

/* Overwrite and append, then die: regions 600..1600 and 7000..7010 are saved. */
static int leave_journal(void)
{
	struct bpk_edit *edit;
	char bytes[1000];

	memset(bytes, '#', sizeof bytes);
	return bpk_edit_open(in_folder("f"), &careless, &edit, NULL) != 0 ||
	       bpk_edit_write_at(edit, 600, bpk_view(bytes, 1000), NULL) != 0 ||
	       bpk_edit_write_at(edit, 7000, bpk_view(bytes, 10), NULL) != 0 ||
	       bpk_edit_write_at(edit, SIZE, bpk_view(bytes, 1000), NULL) != 0;
}

static void test_killed(void **state)
{
	struct bpk_place place;

	(void)state;
	assert_int_equal(in_child(leave_journal), 0);
	assert_true(has_journal());
	assert_done(bpk_place_open(in_folder("f"), NULL, &place, &err));
	assert_true(bpk_source_pending(place.source));
	assert_true(bpk_source_in_change(place.source));
	assert_source(place.source, old, SIZE);
	assert_true(has_journal());

	/* the next writer restores the file under this reader */
	assert_done(bpk_source_hold(place.source, &err));
	bpk_edit_close(open_edit(&plain));
	assert_false(has_journal());
	assert_source(place.source, old, SIZE);
	bpk_source_release(place.source);
	assert_done(bpk_source_hold(place.source, &err));
	assert_false(bpk_source_pending(place.source));
	assert_false(bpk_source_in_change(place.source));
	assert_source(place.source, old, SIZE);
	bpk_source_release(place.source);
	bpk_place_close(&place);
	assert_file(in_folder("f"), old, SIZE);
}

/* Readers change nothing. */
static void test_opening_leaves_it(void **state)
{
	static uint8_t file[MOST], journal[MOST];
	size_t file_size, journal_size;
	struct bpk_place place;

	(void)state;
	assert_int_equal(in_child(leave_journal), 0);
	file_size = load_file(in_folder("f"), file);
	journal_size = load_file(in_folder(".f.bpkj"), journal);
	assert_done(bpk_place_open(in_folder("f"), NULL, &place, &err));
	assert_true(bpk_place_pending(&place));
	assert_null(bpk_place_remark(&place));
	assert_source(place.source, old, SIZE);
	bpk_place_close(&place);
	assert_file(in_folder("f"), file, file_size);
	assert_file(in_folder(".f.bpkj"), journal, journal_size);
}

static int claims_nothing(const struct bpk_place *place, bool *claimed, struct bpk_err *why)
{
	uint8_t first;
	size_t got;

	/* the callback sees the committed file */
	assert_int_equal(bpk_source_read_at(place->source, 600, bpk_span(&first, 1), &got, why), 0);
	assert_int_equal(first, old[600]);
	*claimed = false;
	return 0;
}

static void test_claimed_first(void **state)
{
	const struct bpk_edit_options claiming = { .claims = claims_nothing };
	static uint8_t file[MOST];
	struct bpk_edit *edit;
	size_t size;

	(void)state;
	assert_int_equal(in_child(leave_journal), 0);
	size = load_file(in_folder("f"), file);
	assert_fails(bpk_edit_open(in_folder("f"), &claiming, &edit, &err), BPK_FAILED,
		     "its journal .f.bpkj is left alone");
	assert_file(in_folder("f"), file, size);
	assert_true(has_journal());
}

/* A journal of another file is reported and not applied. */
static void assert_unused(const char *words)
{
	static uint8_t file[MOST];
	size_t size = load_file(in_folder("f"), file);
	struct bpk_edit *edit;
	struct bpk_place place;

	assert_done(bpk_place_open(in_folder("f"), NULL, &place, &err));
	assert_false(bpk_place_pending(&place));
	assert_non_null(bpk_place_remark(&place));
	if (strstr(bpk_place_remark(&place), words) == NULL)
		fail_msg("\"%s\" does not say \"%s\"", bpk_place_remark(&place), words);
	assert_source(place.source, file, size);
	bpk_place_close(&place);
	assert_fails(bpk_edit_open(in_folder("f"), &careless, &edit, &err), BPK_FAILED, words);
	assert_file(in_folder("f"), file, size);
}

static void test_another_file(void **state)
{
	const struct bpk_edit_options any = { .any_journal = true };
	static uint8_t file[MOST];
	struct bpk_edit *edit;
	size_t size;

	(void)state;
	assert_int_equal(in_child(leave_journal), 0);
	size = load_file(in_folder("f"), file);
	make_file(in_folder("new"), file, size);
	assert_int_equal(rename(in_folder("new"), in_folder("f")), 0);
	assert_unused("its journal .f.bpkj is not used: it was made for inode ");
	/* the user may know that it is a copy with its journal */
	assert_done(bpk_edit_open(in_folder("f"), &any, &edit, &err));
	bpk_edit_close(edit);
	assert_file(in_folder("f"), old, SIZE);
	assert_false(has_journal());
}

static void test_another_owner(void **state)
{
	(void)state;
	if (geteuid() != 0)
		skip();
	assert_int_equal(in_child(leave_journal), 0);
	assert_int_equal(chown(in_folder(".f.bpkj"), 65534, (gid_t)-1), 0);
	assert_unused("it belongs to user 65534, the file to user 0");
	assert_int_equal(chown(in_folder(".f.bpkj"), 0, (gid_t)-1), 0);
	assert_int_equal(chown(in_folder("f"), 65534, (gid_t)-1), 0);
	assert_unused("it belongs to user 0, the file to user 65534");
	/* a journal of root for another user's file is refused too */
	assert_int_equal(unlink(in_folder(".f.bpkj")), 0);
	assert_int_equal(in_child(leave_journal), 0);
	assert_true(has_journal());
	bpk_edit_close(open_edit(&careless));
	assert_false(has_journal());
}

static void test_no_journal_of_ours(void **state)
{
	(void)state;
	make_file(in_folder(".f.bpkj"), "notes", 5);
	assert_unused("it is no journal");
	assert_int_equal(unlink(in_folder(".f.bpkj")), 0);
	assert_int_equal(mkdir(in_folder(".f.bpkj"), 0777), 0);
	assert_unused("it is not a regular file");
	assert_int_equal(rmdir(in_folder(".f.bpkj")), 0);
	assert_int_equal(symlink("f", in_folder(".f.bpkj")), 0);
	assert_unused("it is not a regular file");
	assert_int_equal(unlink(in_folder(".f.bpkj")), 0);
	alarm(20);
	assert_int_equal(mkfifo(in_folder(".f.bpkj"), 0666), 0);
	assert_unused("it is not a regular file");
	alarm(0);
}

/* A running writer is not disturbed, and its journal is read through. */
static void test_living_writer(void **state)
{
	struct bpk_edit *edit = open_edit(&plain);
	struct bpk_source *slice, *join;
	struct bpk_place place;
	uint8_t byte;

	(void)state;
	assert_done(bpk_place_open(in_folder("f"), NULL, &place, &err));
	assert_true(bpk_source_in_change(place.source));
	assert_done(bpk_source_slice(place.source, 10, 100, &slice, &err));
	assert_done(bpk_source_join((struct bpk_source *[]){ slice, slice }, 2, &join, &err));
	assert_done(bpk_edit_write_at(edit, 10, bpk_view("changed", 7), &err));
	assert_done(bpk_source_hold(join, &err));
	assert_true(bpk_source_in_change(join));
	assert_false(bpk_source_pending(join));
	assert_done(bpk_source_need_at(join, 100, bpk_span(&byte, 1), &err));
	assert_int_equal(byte, old[10]);
	bpk_source_release(join);
	assert_done(bpk_edit_commit(edit, NULL, SIZE, &err));
	assert_done(bpk_source_hold(join, &err));
	assert_done(bpk_source_need_at(join, 100, bpk_span(&byte, 1), &err));
	assert_int_equal(byte, 'c');
	bpk_source_release(join);
	bpk_source_close(join);
	bpk_source_close(slice);
	bpk_place_close(&place);
	bpk_edit_close(edit);
}

/* ---- Readers beside commits ---- */

enum { COMMITS = 1000, READERS = 3 };

static size_t size_of_commit(int commit)
{
	return 4000 + (size_t)(commit % 7) * 500;
}

/* Each commit fills the whole file with one byte: half of it before the commit, the head with
 * it. */
static int commit_often(void)
{
	static uint8_t bytes[8000];
	struct bpk_edit *edit;

	if (bpk_edit_open(in_folder("f"), &careless, &edit, NULL) != 0)
		return 1;
	for (int i = 1; i <= COMMITS; i++) {
		size_t size = size_of_commit(i);
		const struct bpk_edit_head head = { 0, bpk_view(bytes, HEAD) };
		struct bpk_err why;

		memset(bytes, i % 251 + 1, sizeof bytes);
		if (bpk_edit_save(edit, 0, SIZE, &why) != 0 ||
		    bpk_edit_write_at(edit, HEAD, bpk_view(bytes, size - HEAD), &why) != 0 ||
		    bpk_edit_commit(edit, &head, size, &why) != 0) {
			fprintf(stderr, "# commit %d: %s\n", i, why.text);
			return 2;
		}
	}
	bpk_edit_close(edit);
	return 0;
}

struct reading {
	struct bpk_source *source;
	atomic_bool *ended;
	int states, mixes, failures;
};

static void *read_often(void *arg)
{
	struct reading *reading = arg;
	uint8_t bytes[SIZE], last = 0;

	while (!atomic_load(reading->ended)) {
		size_t size, got;

		if (bpk_source_hold(reading->source, NULL) != 0) {
			reading->failures++;
			continue;
		}
		size = (size_t)bpk_source_size(reading->source);
		if (bpk_source_read_at(reading->source, 0, bpk_span(bytes, sizeof bytes), &got,
				       NULL) != 0 ||
		    got != size)
			reading->failures++;
		bpk_source_release(reading->source);
		reading->mixes += memcmp(bytes, bytes + 1, size - 1) != 0;
		reading->states += bytes[0] != last;
		last = bytes[0];
	}
	return NULL;
}

/* Let several threads read beside a child that commits; returns the sum of their states. Nobody may
 * see a mix, or fail. */
static int read_beside(void *(*read)(void *reading), int (*commit)(void))
{
	struct reading readings[READERS];
	pthread_t threads[READERS];
	struct bpk_place place;
	atomic_bool ended = false;
	uint8_t first[SIZE];
	int states = 0;

	memset(first, 0, sizeof first);
	make_file(in_folder("f"), first, SIZE);
	assert_done(bpk_place_open(in_folder("f"), NULL, &place, &err));
	for (int i = 0; i < READERS; i++) {
		readings[i] = (struct reading){ .source = place.source, .ended = &ended };
		assert_int_equal(pthread_create(&threads[i], NULL, read, &readings[i]), 0);
	}
	assert_int_equal(in_child(commit), 0);
	atomic_store(&ended, true);
	for (int i = 0; i < READERS; i++) {
		assert_int_equal(pthread_join(threads[i], NULL), 0);
		assert_int_equal(readings[i].mixes, 0);
		assert_int_equal(readings[i].failures, 0);
		states += readings[i].states;
	}
	bpk_place_close(&place);
	return states;
}

static void test_readers_beside_commits(void **state)
{
	(void)state;
	assert_true(read_beside(read_often, commit_often) > 1);
}

/* ---- Reads without a hold ---- */

enum { SETTLED = 150 * 1000, HALF_WRITTEN = 5 * 1000, RARE_COMMITS = 8 }; /* us */

static void test_without_a_hold(void **state)
{
	const struct bpk_edit_head head = { 0, bpk_view(old, HEAD) };
	struct bpk_place place;
	struct bpk_edit *edit;
	unsigned seen;

	(void)state;
	assert_done(bpk_place_open(in_folder("f"), NULL, &place, &err));
	if (bpk_source_glance(place.source) != 0)
		fail_msg("a file that was just written allows reads without a hold");
	usleep(SETTLED);
	assert_done(bpk_source_hold(place.source, &err));
	bpk_source_release(place.source);
	seen = bpk_source_glance(place.source);
	if (seen == 0) {
		bpk_place_close(&place);
		skip(); /* a file system whose times may be late */
	}
	assert_true(bpk_source_is_still(place.source, seen));

	edit = open_edit(&careless);
	assert_done(bpk_edit_save(edit, 0, SIZE, &err));
	assert_true(bpk_source_is_still(place.source, seen));
	assert_done(bpk_edit_write_at(edit, 100, bpk_view("x", 1), &err));
	assert_false(bpk_source_is_still(place.source, seen));
	assert_done(bpk_edit_commit(edit, &head, SIZE, &err));
	bpk_edit_close(edit);
	assert_false(bpk_source_is_still(place.source, seen));

	assert_done(bpk_source_hold(place.source, &err));
	bpk_source_release(place.source);
	assert_int_equal(bpk_source_glance(place.source), 0);
	assert_false(bpk_source_is_still(place.source, seen));
	usleep(SETTLED);
	assert_done(bpk_source_hold(place.source, &err));
	bpk_source_release(place.source);
	assert_true(bpk_source_glance(place.source) > seen);
	bpk_place_close(&place);
}

static int commit_rarely(void)
{
	static uint8_t bytes[SIZE];
	const struct bpk_edit_head head = { 0, bpk_view(bytes, HEAD) };
	struct bpk_edit *edit;

	if (bpk_edit_open(in_folder("f"), &careless, &edit, NULL) != 0)
		return 1;
	for (int i = 1; i <= RARE_COMMITS; i++) {
		usleep(SETTLED);
		memset(bytes, i, sizeof bytes);
		if (bpk_edit_save(edit, 0, SIZE, NULL) != 0 ||
		    bpk_edit_write_at(edit, HEAD, bpk_view(bytes, SIZE / 2), NULL) != 0 ||
		    usleep(HALF_WRITTEN) != 0 ||
		    bpk_edit_write_at(edit, SIZE / 2, bpk_view(bytes, SIZE / 2), NULL) != 0 ||
		    bpk_edit_commit(edit, &head, SIZE, NULL) != 0)
			return 2;
	}
	bpk_edit_close(edit);
	return 0;
}

/* Hold where there must be a hold. states: reads without one that counted. */
static void *glance_often(void *arg)
{
	struct reading *reading = arg;
	uint8_t bytes[SIZE];

	while (!atomic_load(reading->ended)) {
		unsigned seen = bpk_source_glance(reading->source);
		size_t got;

		if (seen == 0) {
			if (bpk_source_hold(reading->source, NULL) == 0)
				bpk_source_release(reading->source);
			else
				reading->failures++;
			usleep(1000); /* only a first holder looks at the file */
		} else if (bpk_source_read_at(reading->source, 0, bpk_span(bytes, SIZE), &got,
					      NULL) == 0 &&
			   bpk_source_is_still(reading->source, seen)) {
			reading->states++;
			reading->mixes += got != SIZE || memcmp(bytes, bytes + 1, SIZE - 1) != 0;
		} else if (bpk_source_hold(reading->source, NULL) == 0) {
			bpk_source_release(reading->source);
		}
	}
	return NULL;
}

static void test_glances_beside_commits(void **state)
{
	(void)state;
	if (read_beside(glance_often, commit_rarely) == 0)
		skip(); /* a file system whose times may be late */
}

/* ---- Hostile journals ---- */

static void poke(const char *path, off_t offset, uint8_t flip)
{
	int fd = open(path, O_RDWR);
	uint8_t byte;

	assert_true(fd >= 0);
	assert_int_equal(pread(fd, &byte, 1, offset), 1);
	byte ^= flip;
	assert_int_equal(pwrite(fd, &byte, 1, offset), 1);
	close(fd);
}

static void assert_refused(const char *words)
{
	uint8_t *before = malloc(MOST);
	size_t size = load_file(in_folder("f"), before);
	struct bpk_edit *edit;
	struct bpk_place place;

	assert_fails(bpk_edit_open(in_folder("f"), &careless, &edit, &err), BPK_CORRUPT, words);
	assert_fails(bpk_place_open(in_folder("f"), NULL, &place, &err), BPK_CORRUPT, words);
	assert_file(in_folder("f"), before, size);
	assert_true(has_journal());
	free(before);
}

static void test_stranger(void **state)
{
	(void)state;
	assert_int_equal(in_child(leave_journal), 0);
	poke(in_folder("f"), 100, 1); /* its head, which was not saved */
	assert_refused("another program has written at 100 since");
	poke(in_folder("f"), 100, 1);
	poke(in_folder("f"), SIZE / 16 * 10, 1); /* a sample */
	assert_refused("another program has written");
	poke(in_folder("f"), SIZE / 16 * 10, 1);
	poke(in_folder("f"), 1100, 1); /* saved, and written over */
	assert_refused("another program has written at 1024 since");
	poke(in_folder("f"), 1100, 1);
	assert_int_equal(truncate(in_folder("f"), SIZE - 1), 0);
	assert_refused("it ends at 19999, expected 20000");
}

/* Two writes to saved bytes, which a kill or a power cut may leave in any sector and at any
 * byte. */
static int leave_two_writes(void)
{
	struct bpk_edit *edit;
	char bytes[1000];

	memset(bytes, '#', sizeof bytes);
	if (bpk_edit_open(in_folder("f"), &careless, &edit, NULL) != 0 ||
	    bpk_edit_write_saving(edit, 600, bpk_view(bytes, 700), 1000, NULL) != 0)
		return 1;
	memset(bytes, '+', sizeof bytes);
	return bpk_edit_write_at(edit, 800, bpk_view(bytes, 600), NULL);
}

static void check_put_back(uint64_t offset, const char *bytes, size_t size)
{
	char saved[MOST];
	size_t had = load_file(in_folder(".f.bpkj"), (uint8_t *)saved);
	int fd = open(in_folder("f"), O_WRONLY);

	assert_int_equal(pwrite(fd, bytes, size, (off_t)offset), (ssize_t)size);
	close(fd);
	bpk_edit_close(open_edit(&careless));
	assert_file(in_folder("f"), old, SIZE);
	make_file(in_folder(".f.bpkj"), (const uint8_t *)saved, had);
}

static void test_torn(void **state)
{
	char first[700];

	(void)state;
	memset(first, '#', sizeof first);
	assert_int_equal(in_child(leave_two_writes), 0);
	check_put_back(600, first, 0);   /* both are there */
	check_put_back(600, first, 0);   /* none is */
	check_put_back(600, first, 424); /* two sectors of the first */
	check_put_back(1024, first, 276);
	check_put_back(600, first, 5); /* a write that ended in a sector */
	check_put_back(1024, first, 7);
	check_put_back(1027, first, 7); /* and so did putting it back */
	poke(in_folder("f"), 1599, 1);  /* saved, and not written over */
	assert_refused("another program has written at 1536 since");
}

/* Refused without changes, or correct; files that are no longer journals are ignored. */
static void check_hostile(const uint8_t *file, size_t size, long *refused)
{
	struct bpk_place place;
	struct bpk_edit *edit;
	bool reads = bpk_place_open(in_folder("f"), NULL, &place, &err) == 0;

	bool unused = reads && bpk_place_remark(&place) != NULL;

	if (reads) {
		assert_source(place.source, unused ? file : old, unused ? size : SIZE);
		bpk_place_close(&place);
	}
	if (bpk_edit_open(in_folder("f"), &careless, &edit, &err) == 0) {
		assert_true(reads && !unused);
		bpk_edit_close(edit);
		assert_file(in_folder("f"), old, SIZE);
		return;
	}
	assert_int_equal(reads, unused);
	assert_true(err.kind == (unused ? BPK_FAILED : BPK_CORRUPT));
	assert_file(in_folder("f"), file, size);
	++*refused;
}

static void test_flips(void **state)
{
	static uint8_t file[MOST], journal[MOST];
	size_t file_size, journal_size;
	long refused = 0;

	(void)state;
	assert_int_equal(in_child(leave_journal), 0);
	file_size = load_file(in_folder("f"), file);
	journal_size = load_file(in_folder(".f.bpkj"), journal);
	assert_true(journal_size > 2000);
	for (size_t i = 0; i < journal_size; i++) {
		journal[i] ^= (uint8_t)(1 << i % 8);
		fill_file(in_folder("f"), file, file_size);
		make_file(in_folder(".f.bpkj"), journal, journal_size);
		check_hostile(file, file_size, &refused);
		journal[i] ^= (uint8_t)(1 << i % 8);
	}
	/* all but the bytes of the last mark */
	assert_true((size_t)refused >= journal_size - 40);
}

/* A journal cut while it was created: nothing was overwritten yet. */
static void test_unfinished(void **state)
{
	static uint8_t journal[MOST], found[MOST];
	uint8_t file[SIZE + 10];
	size_t size, now;

	(void)state;
	assert_int_equal(in_child(leave_journal), 0);
	size = load_file(in_folder(".f.bpkj"), journal);
	memcpy(file, old, SIZE);
	memset(file + SIZE, 't', 10);
	for (size_t i = 0; i < size; i += i + 200 < size ? 13 : 1) {
		fill_file(in_folder("f"), file, sizeof file);
		make_file(in_folder(".f.bpkj"), journal, i);
		bpk_edit_close(open_edit(&careless));
		assert_false(has_journal());
		now = load_file(in_folder("f"), found);
		assert_true(now == SIZE || now == sizeof file);
		assert_memory_equal(found, file, now);
	}
}

/* ---- Paths ---- */

static void test_links(void **state)
{
	uint8_t *found = malloc(MOST);
	struct bpk_edit *edit;

	(void)state;
	assert_int_equal(mkdir(in_folder("sub"), 0777), 0);
	assert_int_equal(symlink("../f", in_folder("sub/link")), 0);
	assert_done(bpk_edit_open(in_folder("sub/link"), &plain, &edit, &err));
	assert_done(bpk_edit_write_at(edit, 5, bpk_view("x", 1), &err));
	assert_true(has_journal()); /* beside the file, not beside the link */
	bpk_edit_close(edit);

	assert_int_equal(link(in_folder("f"), in_folder("second")), 0);
	edit = open_edit(&plain);
	assert_fails(bpk_edit_write_at(edit, 5, bpk_view("x", 1), &err), BPK_FAILED,
		     "has 2 hard links");
	assert_false(has_journal());
	assert_done(bpk_edit_write_at(edit, SIZE, bpk_view("x", 1), &err));
	assert_done(bpk_edit_commit(edit, NULL, SIZE + 1, &err));
	bpk_edit_close(edit);
	edit = open_edit(&copying);
	assert_done(bpk_edit_write_at(edit, 5, bpk_view("x", 1), &err));
	assert_done(bpk_edit_commit(edit, NULL, 6, &err));
	bpk_edit_close(edit);
	assert_int_equal(load_file(in_folder("second"), found), SIZE + 1);
	assert_memory_equal(found, old, SIZE);
	free(found);
	assert_int_equal(unlink(in_folder("second")), 0);
	assert_int_equal(unlink(in_folder("sub/link")), 0);
	assert_int_equal(rmdir(in_folder("sub")), 0);
}

static void test_long_name(void **state)
{
	char name[256] = { 0 };
	struct bpk_edit *edit;
	DIR *dir;
	int journals = 0;

	(void)state;
	memset(name, 'n', 255);
	make_file(in_folder(name), old, SIZE);
	assert_done(bpk_edit_open(in_folder(name), &plain, &edit, &err));
	assert_done(bpk_edit_write_at(edit, 5, bpk_view("x", 1), &err));
	dir = opendir(folder);
	for (struct dirent *entry; (entry = readdir(dir)) != NULL;)
		journals += strstr(entry->d_name, ".bpkj") != NULL;
	closedir(dir);
	assert_int_equal(journals, 1);
	bpk_edit_close(edit);
	assert_file(in_folder(name), old, SIZE);
	assert_int_equal(unlink(in_folder(name)), 0);
}

static void test_refusals(void **state)
{
	const struct bpk_edit_head crossing = { 500, bpk_view("123456789012345", 13) };
	struct bpk_edit *edit;

	(void)state;
	assert_fails(bpk_edit_open(in_folder("none"), &plain, &edit, &err), BPK_FAILED,
		     "No such file");
	assert_fails(bpk_edit_open(folder, &plain, &edit, &err), BPK_FAILED, "is a directory");
	assert_fails(bpk_edit_open("/dev/null", &plain, &edit, &err), BPK_FAILED,
		     "is not a regular file");
	assert_int_equal(mkfifo(in_folder("fifo"), 0666), 0);
	assert_fails(bpk_edit_open(in_folder("fifo"), &plain, &edit, &err), BPK_FAILED,
		     "is not a regular file");
	assert_int_equal(unlink(in_folder("fifo")), 0);
	edit = open_edit(&plain);
	assert_fails(bpk_edit_commit(edit, &crossing, SIZE, &err), BPK_BUG, "crosses a sector");
	assert_fails(bpk_edit_write_at(edit, INT64_MAX, bpk_view("xy", 2), &err), BPK_FAILED,
		     "File too large");
	assert_fails(bpk_edit_save(edit, UINT64_MAX, 2, &err), BPK_FAILED, "File too large");
	bpk_edit_close(edit);
	assert_file(in_folder("f"), old, SIZE);
}

/* ---- Changes without a journal ---- */

static void test_free_bytes(void **state)
{
	struct bpk_edit *edit = open_edit(&plain);
	uint8_t want[SIZE];
	struct stat now;

	(void)state;
	memcpy(want, old, SIZE);
	memset(want + 100, 'z', 50);
	bpk_edit_set_end(edit, 15000);
	bpk_edit_set_free(edit, 100, 50);
	assert_done(bpk_edit_write_at(edit, 100, bpk_view(want + 100, 50), &err));
	assert_done(bpk_edit_write_at(edit, 15000, bpk_view("tail", 4), &err));
	assert_false(has_journal());
	assert_source(bpk_edit_source(edit), want, 15000);
	assert_done(bpk_edit_rollback(edit, &err));
	assert_file(in_folder("f"), want, 15000); /* bytes after the end are cut off */

	/* one byte more needs a journal */
	bpk_edit_set_free(edit, 100, 50);
	assert_done(bpk_edit_write_at(edit, 99, bpk_view("xxxx", 4), &err));
	assert_true(has_journal());
	assert_done(bpk_edit_write_at(edit, 120, bpk_view("xxxx", 4), &err));
	assert_done(bpk_edit_rollback(edit, &err));
	assert_int_equal(stat(in_folder("f"), &now), 0);
	assert_int_equal(now.st_size, 15000);
	bpk_edit_set_free(edit, 0, 0);
	assert_done(bpk_edit_need_journal(edit, &err));
	assert_true(has_journal());
	bpk_edit_close(edit);
	assert_false(has_journal());
}

static void test_trim(void **state)
{
	const struct bpk_edit_options *const ways[] = { &plain, &copying };

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct bpk_edit *edit;

		make_file(in_folder("f"), old, SIZE);
		edit = open_edit(ways[i]);
		bpk_edit_set_end(edit, 9000);
		assert_done(bpk_edit_trim(edit, &err));
		assert_file(in_folder("f"), old, 9000);
		assert_done(bpk_edit_write_at(edit, 9000, bpk_view("x", 1), &err));
		assert_fails(bpk_edit_trim(edit, &err), BPK_BUG, "uncommitted");
		bpk_edit_close(edit);
		assert_file(in_folder("f"), old, 9000);
	}
}

static void test_replace(void **state)
{
	struct bpk_edit *edit = open_edit(&plain), *second;
	struct bpk_draft *draft;
	struct stat before, after;

	(void)state;
	assert_int_equal(chmod(in_folder("f"), 0664), 0);
	assert_int_equal(stat(in_folder("f"), &before), 0);
	assert_done(bpk_edit_write_at(edit, 3, bpk_view("forgotten", 9), &err));
	assert_done(bpk_edit_draft(edit, &draft, &err));
	assert_done(bpk_draft_write(draft, bpk_view("new", 3), &err));
	assert_done(bpk_edit_replace(edit, draft, &err));
	assert_false(has_journal());
	assert_file(in_folder("f"), "new", 3);
	assert_int_equal(stat(in_folder("f"), &after), 0);
	assert_true(before.st_ino != after.st_ino);
	assert_int_equal(after.st_mode, before.st_mode);
	assert_source(bpk_edit_source(edit), "new", 3);
	assert_fails(bpk_edit_open(in_folder("f"), &plain, &second, &err), BPK_FAILED,
		     "is being changed");
	assert_done(bpk_edit_write_at(edit, 3, bpk_view("er", 2), &err));
	assert_done(bpk_edit_commit(edit, NULL, 5, &err));
	bpk_edit_close(edit);
	assert_file(in_folder("f"), "newer", 5);
}

/* ---- Ends of processes, and file systems without locks ---- */

static int drop_all(void)
{
	struct bpk_edit *edit, *copy;
	struct bpk_err why = { 0 };

	if (bpk_edit_open(in_folder("f"), &plain, &edit, NULL) != 0 ||
	    bpk_edit_open(in_folder("g"), &copying, &copy, NULL) != 0 ||
	    bpk_edit_write_at(edit, 3, bpk_view("abc", 3), NULL) != 0 ||
	    bpk_edit_write_at(copy, 3, bpk_view("abc", 3), NULL) != 0)
		return 1;
	bpk_draft_drop_all();
	bpk_edit_drop_all();
	if (has_journal() || bpk_edit_write_at(edit, 3, bpk_view("abc", 3), &why) == 0 ||
	    strcmp(why.text, "interrupted") != 0 || bpk_edit_commit(edit, NULL, 5, NULL) == 0 ||
	    bpk_edit_commit(copy, NULL, 5, NULL) == 0)
		return 2;
	bpk_edit_close(edit);
	bpk_edit_close(copy);
	return 0;
}

static void test_drop_all(void **state)
{
	(void)state;
	make_file(in_folder("g"), old, SIZE);
	assert_int_equal(in_child(drop_all), 0);
	assert_false(has_journal());
	assert_file(in_folder("f"), old, SIZE);
	assert_file(in_folder("g"), old, SIZE);
	assert_int_equal(unlink(in_folder("g")), 0);
}

/* From here on locks fail as on file systems without locks. */
static int forbid_locks(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_fcntl, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[1])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, F_OFD_SETLK, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOLCK),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof filter / sizeof filter[0], filter };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		return -1;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static int without_locks(void)
{
	struct bpk_edit *edit;
	struct bpk_place place;
	struct bpk_err why = { 0 };

	if (forbid_locks() != 0)
		return 77;
	if (bpk_edit_open(in_folder("f"), &plain, &edit, &why) == 0 ||
	    strstr(why.text, "--no-lock") == NULL)
		return 1;
	if (bpk_edit_open(in_folder("f"), &unlocked, &edit, &why) != 0 ||
	    bpk_edit_write_at(edit, 3, bpk_view("abc", 3), &why) != 0)
		return 2;
	if (bpk_place_open(in_folder("f"), NULL, &place, &why) != 0 ||
	    bpk_source_hold(place.source, &why) != 0)
		return 3;
	bpk_source_release(place.source);
	bpk_place_close(&place);
	if (!has_journal() || bpk_edit_commit(edit, NULL, SIZE, &why) != 0)
		return 4;
	bpk_edit_close(edit);
	return 0;
}

static void test_no_locks(void **state)
{
	uint8_t want[SIZE];
	int status = in_child(without_locks);

	(void)state;
	if (status == 77)
		skip();
	assert_int_equal(status, 0);
	memcpy(want, old, SIZE);
	memcpy(want + 3, "abc", 3);
	assert_reader(want, SIZE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_append, setup),
		cmocka_unit_test_setup(test_overwrite, setup),
		cmocka_unit_test_setup(test_rollback, setup),
		cmocka_unit_test_setup(test_copy, setup),
		cmocka_unit_test_setup(test_two_writers, setup),
		cmocka_unit_test_setup(test_replaced_while_waiting, setup),
		cmocka_unit_test_setup(test_killed, setup),
		cmocka_unit_test_setup(test_opening_leaves_it, setup),
		cmocka_unit_test_setup(test_claimed_first, setup),
		cmocka_unit_test_setup(test_another_file, setup),
		cmocka_unit_test_setup(test_another_owner, setup),
		cmocka_unit_test_setup(test_no_journal_of_ours, setup),
		cmocka_unit_test_setup(test_claimed_first, setup),
		cmocka_unit_test_setup(test_another_file, setup),
		cmocka_unit_test_setup(test_another_owner, setup),
		cmocka_unit_test_setup(test_no_journal_of_ours, setup),
		cmocka_unit_test_setup(test_living_writer, setup),
		cmocka_unit_test_setup(test_readers_beside_commits, setup),
		cmocka_unit_test_setup(test_without_a_hold, setup),
		cmocka_unit_test_setup(test_glances_beside_commits, setup),
		cmocka_unit_test_setup(test_stranger, setup),
		cmocka_unit_test_setup(test_torn, setup),
		cmocka_unit_test_setup(test_flips, setup),
		cmocka_unit_test_setup(test_unfinished, setup),
		cmocka_unit_test_setup(test_links, setup),
		cmocka_unit_test_setup(test_long_name, setup),
		cmocka_unit_test_setup(test_refusals, setup),
		cmocka_unit_test_setup(test_free_bytes, setup),
		cmocka_unit_test_setup(test_trim, setup),
		cmocka_unit_test_setup(test_replace, setup),
		cmocka_unit_test_setup(test_drop_all, setup),
		cmocka_unit_test_setup(test_no_locks, setup),
	};
	char command[64];
	int rc;

	if (mkdtemp(folder) == NULL)
		return 99;
	rc = UNIT_RUN(tests);
	snprintf(command, sizeof command, "rm -rf %s", folder);
	return system(command) != 0 ? 99 : rc;
}
