/*
 * Sources, walks and open places: reading files, pipes, memory and joined pieces.
 */
#include "unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "io/io.h"

enum { SIZE = 100003 };

static char folder[] = "/tmp/bpk-test-io-XXXXXX";
static uint8_t content[SIZE];

static const char *in_folder(const char *name)
{
	static char paths[8][200];
	static unsigned next;
	char *path = paths[next++ % 8];

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

/* A writer that passes the content in odd pieces, as slow programs do. */
struct feeder {
	pthread_t thread;
	int fd;
	size_t size;
};

static void *feed(void *arg)
{
	const struct feeder *feeder = arg;
	struct unit_random random = { 7 };
	size_t done = 0;

	while (done < feeder->size) {
		size_t step = 1 + unit_random_next(&random) % 5000;

		step = step < feeder->size - done ? step : feeder->size - done;
		if (write(feeder->fd, content + done, step) != (ssize_t)step)
			break;
		done += step;
		if (done % 3 == 0)
			usleep(200);
	}
	close(feeder->fd);
	return NULL;
}

/* Make standard input a pipe of size bytes of the content; returns the old one. */
static int pipe_to_stdin(struct feeder *feeder, size_t size, int flags)
{
	int old = dup(STDIN_FILENO);
	int ends[2];

	assert_int_equal(pipe(ends), 0);
	assert_int_equal(fcntl(ends[0], F_SETFL, flags), 0);
	assert_int_equal(dup2(ends[0], STDIN_FILENO), STDIN_FILENO);
	close(ends[0]);
	*feeder = (struct feeder){ .fd = ends[1], .size = size };
	assert_int_equal(pthread_create(&feeder->thread, NULL, feed, feeder), 0);
	return old;
}

static void restore_stdin(int old)
{
	if (old < 0) {
		close(STDIN_FILENO);
		return;
	}
	dup2(old, STDIN_FILENO);
	close(old);
}

/* Mixed calls of the cursor across every boundary; the source holds size content bytes. */
static void walk_cursor(struct bpk_source *source, size_t size)
{
	uint8_t out[9000];
	struct unit_random random = { 11 };
	struct bpk_err err = { 0 };
	uint64_t skipped;
	struct bpk_view head;
	size_t at = 0, got;

	while (at < size) {
		size_t want = unit_random_next(&random) % sizeof out;
		size_t expected = want < size - at ? want : size - at;

		assert_int_equal(bpk_source_tell(source), at);
		switch (unit_random_next(&random) % 4) {
		case 0:
			assert_int_equal(bpk_source_peek(source, want, &head, &err), 0);
			assert_int_equal(head.size, expected);
			if (expected > 0)
				assert_memory_equal(head.data, content + at, expected);
			break;
		case 1:
			assert_int_equal(bpk_source_skip(source, want, &skipped, &err), 0);
			assert_int_equal(skipped, expected);
			at += expected;
			break;
		default:
			assert_int_equal(bpk_source_read(source, bpk_span(out, want), &got, &err),
					 0);
			assert_int_equal(got, expected);
			if (expected > 0)
				assert_memory_equal(out, content + at, expected);
			at += expected;
		}
	}
	assert_int_equal(bpk_source_read(source, bpk_span(out, 10), &got, &err), 0);
	assert_int_equal(got, 0);
	assert_int_equal(bpk_source_peek(source, 10, &head, &err), 0);
	assert_int_equal(head.size, 0);
	assert_int_equal(bpk_source_skip(source, 10, &skipped, &err), 0);
	assert_int_equal(skipped, 0);
}

static void read_anywhere(struct bpk_source *source, size_t size)
{
	struct bpk_err err = { 0 };
	uint8_t out[1000];
	size_t got;

	assert_true(bpk_source_seekable(source));
	assert_int_equal(bpk_source_size(source), size);
	assert_int_equal(bpk_source_read_at(source, size / 2, bpk_span(out, 1000), &got, &err), 0);
	assert_int_equal(got, 1000);
	assert_memory_equal(out, content + size / 2, 1000);
	assert_int_equal(bpk_source_read_at(source, size - 3, bpk_span(out, 1000), &got, &err), 0);
	assert_int_equal(got, 3);
	assert_int_equal(bpk_source_read_at(source, size, bpk_span(out, 10), &got, &err), 0);
	assert_int_equal(got, 0);
	assert_int_equal(bpk_source_read_at(source, UINT64_MAX, bpk_span(out, 10), &got, &err), 0);
	assert_int_equal(got, 0);
	assert_int_equal(bpk_source_need_at(source, size - 10, bpk_span(out, 10), &err), 0);
	assert_int_equal(bpk_source_need_at(source, size - 9, bpk_span(out, 10), &err), -1);
	assert_int_equal(err.kind, BPK_CORRUPT);
	assert_non_null(strstr(err.text, "ends 1 bytes early"));
}

static void test_source_file(void **state)
{
	const char *path = in_folder("plain");
	struct bpk_source *source;
	struct bpk_err err = { 0 };

	(void)state;
	make_file(path, content, SIZE);
	assert_int_equal(bpk_source_open(path, &source, &err), 0);
	walk_cursor(source, SIZE);
	read_anywhere(source, SIZE);
	assert_int_equal(bpk_source_stat(source)->st_size, SIZE);
	bpk_source_close(source);
	unlink(path);
}

static void test_source_memory(void **state)
{
	struct bpk_source *source;
	struct bpk_err err = { 0 };

	(void)state;
	assert_int_equal(bpk_source_of_memory(bpk_view(content, SIZE), &source, &err), 0);
	walk_cursor(source, SIZE);
	read_anywhere(source, SIZE);
	assert_int_equal(bpk_source_stat(source)->st_size, 0);
	assert_int_equal(bpk_source_unchanged(source, &err), 0);
	bpk_source_close(source);
	assert_int_equal(bpk_source_of_memory(bpk_view(NULL, 0), &source, &err), 0);
	walk_cursor(source, 0);
	bpk_source_close(source);
	bpk_source_close(NULL);
}

static void pipe_round(size_t size, int flags)
{
	struct bpk_err err = { 0 };
	struct bpk_source *source;
	struct feeder feeder;
	uint8_t byte;
	size_t got;
	int old = pipe_to_stdin(&feeder, size, flags);

	assert_int_equal(bpk_source_open("-", &source, &err), 0);
	assert_false(bpk_source_seekable(source));
	assert_true(bpk_source_size(source) == BPK_UNKNOWN);
	assert_int_equal(bpk_source_read_at(source, 0, bpk_span(&byte, 1), &got, &err), -1);
	walk_cursor(source, size);
	assert_int_equal(bpk_source_unchanged(source, &err), 0);
	bpk_source_close(source);
	pthread_join(feeder.thread, NULL);
	restore_stdin(old);
}

static void test_source_pipe(void **state)
{
	(void)state;
	pipe_round(SIZE, 0);
	pipe_round(SIZE, O_NONBLOCK);
	pipe_round(1, 0);
	pipe_round(0, 0);
}

static void test_source_slice(void **state)
{
	static uint8_t framed[SIZE + 150];
	struct bpk_source *whole, *outer, *inner;
	struct bpk_err err = { 0 };

	(void)state;
	memcpy(framed + 100, content, SIZE);
	assert_int_equal(bpk_source_of_memory(bpk_view(framed, sizeof framed), &whole, &err), 0);
	assert_int_equal(bpk_source_slice(whole, 60, SIZE + 90, &outer, &err), 0);
	assert_int_equal(bpk_source_slice(outer, 40, SIZE, &inner, &err), 0);
	walk_cursor(inner, SIZE);
	read_anywhere(inner, SIZE);
	bpk_source_close(inner);
	assert_int_equal(bpk_source_slice(outer, 40, SIZE + 51, &inner, &err), -1);
	assert_int_equal(err.kind, BPK_CORRUPT);
	assert_int_equal(bpk_source_slice(outer, UINT64_MAX, 2, &inner, &err), -1);
	bpk_source_close(outer);
	bpk_source_close(whole);
}

/* The content in pieces of odd sizes, some of them empty. */
enum { PIECES = 40 };

static size_t open_pieces(struct bpk_source *pieces[PIECES])
{
	struct unit_random random = { 5 };
	size_t at = 0;

	for (size_t i = 0; i < PIECES; i++) {
		size_t size = unit_random_next(&random) % (SIZE / PIECES * 2);

		size = i % 9 == 0 ? 0 : size < SIZE - at ? size : SIZE - at;
		if (i == PIECES - 1)
			size = SIZE - at;
		assert_int_equal(
			bpk_source_of_memory(bpk_view(content + at, size), &pieces[i], NULL), 0);
		at += size;
	}
	return at;
}

static void test_source_join(void **state)
{
	struct bpk_source *pieces[PIECES], *all;
	struct bpk_err err = { 0 };

	(void)state;
	assert_int_equal(open_pieces(pieces), SIZE);
	assert_int_equal(bpk_source_join(pieces, PIECES, &all, &err), 0);
	walk_cursor(all, SIZE);
	read_anywhere(all, SIZE);
	bpk_source_close(all);
	for (size_t i = 0; i < PIECES; i++)
		bpk_source_close(pieces[i]);
	assert_int_equal(bpk_source_join(NULL, 0, &all, &err), 0);
	walk_cursor(all, 0);
	bpk_source_close(all);
}

/* A pipe between two pieces: sequential, of unknown size. */
static void test_source_join_of_a_pipe(void **state)
{
	enum { FIRST = 777 };
	struct bpk_source *parts[3], *all;
	struct bpk_err err = { 0 };
	struct feeder feeder;
	uint8_t byte;
	size_t got;
	int old = pipe_to_stdin(&feeder, FIRST, 0);

	(void)state;
	assert_int_equal(bpk_source_open("-", &parts[0], &err), 0);
	for (size_t i = 1; i < 3; i++) {
		size_t from = i == 1 ? FIRST : SIZE / 2, to = i == 1 ? SIZE / 2 : SIZE;

		assert_int_equal(
			bpk_source_of_memory(bpk_view(content + from, to - from), &parts[i], &err),
			0);
	}
	assert_int_equal(bpk_source_join(parts, 3, &all, &err), 0);
	assert_false(bpk_source_seekable(all));
	assert_true(bpk_source_size(all) == BPK_UNKNOWN);
	assert_int_equal(bpk_source_read_at(all, 0, bpk_span(&byte, 1), &got, &err), -1);
	walk_cursor(all, SIZE);
	bpk_source_close(all);
	for (size_t i = 0; i < 3; i++)
		bpk_source_close(parts[i]);
	pthread_join(feeder.thread, NULL);
	restore_stdin(old);
}

static void test_source_peeks_into_a_pipe_far(void **state)
{
	static uint8_t out[SIZE];
	struct bpk_err err = { 0 };
	struct bpk_source *source;
	struct bpk_view head;
	struct feeder feeder;
	size_t got;
	int old = pipe_to_stdin(&feeder, SIZE, 0);

	(void)state;
	assert_int_equal(bpk_source_open("-", &source, &err), 0);
	for (size_t size = 16; size < 2 * SIZE; size *= 3) {
		assert_int_equal(bpk_source_peek(source, size, &head, &err), 0);
		assert_int_equal(head.size, size < SIZE ? size : SIZE);
		assert_memory_equal(head.data, content, head.size);
	}
	assert_int_equal(bpk_source_tell(source), 0);
	assert_int_equal(bpk_source_read(source, bpk_span(out, SIZE), &got, &err), 0);
	assert_int_equal(got, SIZE);
	assert_memory_equal(out, content, SIZE);
	bpk_source_close(source);
	pthread_join(feeder.thread, NULL);
	restore_stdin(old);
}

static void test_source_stdin_file_starts_where_it_stands(void **state)
{
	const char *path = in_folder("stdin");
	struct bpk_source *source;
	struct bpk_err err = { 0 };
	struct bpk_view head;
	uint64_t skipped;
	int old = dup(STDIN_FILENO);
	int fd;

	(void)state;
	make_file(path, content, SIZE);
	fd = open(path, O_RDONLY);
	assert_int_equal(lseek(fd, 1000, SEEK_SET), 1000);
	dup2(fd, STDIN_FILENO);
	assert_int_equal(bpk_source_open("-", &source, &err), 0);
	assert_int_equal(bpk_source_size(source), SIZE - 1000);
	assert_int_equal(bpk_source_peek(source, 100, &head, &err), 0);
	assert_memory_equal(head.data, content + 1000, 100);
	assert_int_equal(lseek(fd, 0, SEEK_CUR), 1000);
	assert_int_equal(bpk_source_skip(source, 77, &skipped, &err), 0);
	bpk_source_close(source);
	assert_int_equal(lseek(fd, 0, SEEK_CUR), 1077);

	/* a position past the end is an empty input */
	assert_int_equal(lseek(fd, SIZE + 5, SEEK_SET), SIZE + 5);
	assert_int_equal(bpk_source_open("-", &source, &err), 0);
	assert_int_equal(bpk_source_size(source), 0);
	bpk_source_close(source);
	restore_stdin(old);
	close(fd);
	unlink(path);
}

static void test_source_refusals(void **state)
{
	struct bpk_err err = { 0 };
	struct bpk_source *source;
	struct bpk_place place;

	(void)state;
	assert_int_equal(bpk_source_open(in_folder("missing"), &source, &err), -1);
	assert_null(source);
	assert_int_equal(err.kind, BPK_FAILED);
	assert_string_equal(err.text, "cannot open: No such file or directory");
	assert_int_equal(bpk_source_open(folder, &source, &err), -1);
	assert_string_equal(err.text, "is a directory");
	assert_int_equal(bpk_place_open(in_folder("missing"), NULL, &place, &err), -1);
	bpk_place_close(&place);
	assert_int_equal(bpk_place_open(folder, NULL, &place, &err), 0);
	assert_true(place.is_directory);
	assert_null(place.source);
	bpk_place_close(&place);
}

static void test_source_of_proc_is_a_stream(void **state)
{
	struct bpk_err err = { 0 };
	struct bpk_source *source;
	struct bpk_view head;

	(void)state;
	if (access("/proc/self/status", R_OK) != 0)
		skip();
	assert_int_equal(bpk_source_open("/proc/self/status", &source, &err), 0);
	assert_false(bpk_source_seekable(source));
	assert_int_equal(bpk_source_peek(source, 5, &head, &err), 0);
	assert_memory_equal(head.data, "Name:", 5);
	bpk_source_close(source);
}

static void test_source_that_changes(void **state)
{
	const char *path = in_folder("changes");
	struct bpk_source *source;
	struct bpk_err err = { 0 };
	uint8_t out[20];
	size_t got;
	int fd;

	(void)state;
	make_file(path, content, 10);
	assert_int_equal(bpk_source_open(path, &source, &err), 0);
	assert_int_equal(bpk_source_unchanged(source, &err), 0);
	fd = open(path, O_WRONLY | O_APPEND);
	assert_int_equal(write(fd, "more", 4), 4);
	close(fd);
	assert_int_equal(bpk_source_read(source, bpk_span(out, sizeof out), &got, &err), 0);
	assert_int_equal(got, 10);
	assert_int_equal(bpk_source_unchanged(source, &err), -1);
	assert_string_equal(err.text, "changed while it was read");
	bpk_source_close(source);
	unlink(path);
}

/* A thread and its helper, which does as many of the last parts before each of the first. */
struct pair {
	const struct bpk_shared_work *work;
	uint32_t first, end, helped;
};

static void offer(void *arg, const struct bpk_shared_work *work, uint32_t nparts)
{
	*(struct pair *)arg = (struct pair){ .work = work, .end = nparts };
}

static bool take(void *arg)
{
	struct pair *pair = arg;

	if (pair->first < pair->end) {
		pair->work->part(pair->work->of, NULL, --pair->end);
		pair->helped++;
	}
	return pair->first < pair->end && ++pair->first > 0;
}

static void test_source_large_reads_are_shared(void **state)
{
	enum { LARGE = (8 << 20) + 3000, CUT = (2 << 20) + 5 };
	const char *path = in_folder("large");
	uint8_t *bytes = malloc(LARGE), *out = malloc(LARGE);
	struct pair pair = { 0 };
	const struct bpk_sharing sharing = { &pair, offer, take };
	struct unit_random random = { 3 };
	struct bpk_source *source;
	struct bpk_err err = { 0 };
	size_t got;
	int fd = dup(0), other;

	(void)state;
	close(fd); /* the source takes this number */
	for (size_t i = 0; i < LARGE; i++)
		bytes[i] = (uint8_t)unit_random_next(&random);
	make_file(path, bytes, LARGE);
	assert_int_equal(bpk_source_open(path, &source, &err), 0);
	for (int i = 0; i < 2; i++) {
		memset(out, 0, LARGE);
		assert_int_equal(bpk_source_read_shared_at(source, 7, bpk_span(out, LARGE - 7),
							   i == 0 ? &sharing : NULL, &got, &err),
				 0);
		assert_int_equal(got, LARGE - 7);
		assert_memory_equal(out, bytes + 7, got);
	}
	assert_true(pair.helped > 3);
	/* a small read is not worth the call */
	pair.helped = 0;
	assert_int_equal(
		bpk_source_need_shared_at(source, 0, bpk_span(out, 1 << 20), &sharing, &err), 0);
	assert_int_equal(pair.helped, 0);
	/* the end is where the first byte is missing */
	assert_int_equal(truncate(path, CUT), 0);
	memset(out, 0, LARGE);
	assert_int_equal(
		bpk_source_read_shared_at(source, 0, bpk_span(out, LARGE), &sharing, &got, &err),
		0);
	assert_int_equal(got, CUT);
	assert_memory_equal(out, bytes, got);
	assert_int_equal(bpk_source_need_shared_at(source, 0, bpk_span(out, LARGE), &sharing, &err),
			 -1);
	assert_string_equal(err.text, "ends 6294451 bytes early: 8391608 bytes are needed at 0");
	/* no byte can be read */
	other = open(path, O_WRONLY);
	assert_int_equal(dup2(other, fd), fd);
	close(other);
	assert_int_equal(
		bpk_source_read_shared_at(source, 0, bpk_span(out, LARGE), &sharing, &got, &err),
		-1);
	assert_string_equal(err.text, "read: Bad file descriptor");
	assert_int_equal(got, 0);
	bpk_source_close(source);
	unlink(path);
	free(bytes);
	free(out);
}

static void test_source_is_removed_only_if_it_is_the_same(void **state)
{
	const char *path = in_folder("remove"), *other = in_folder("other");
	struct bpk_err err = { 0 };
	struct stat seen;

	(void)state;
	make_file(path, content, 10);
	assert_int_equal(stat(path, &seen), 0);
	assert_int_equal(rename(path, other), 0);
	make_file(path, content, 10);
	assert_int_equal(bpk_remove_source(path, &seen, &err), -1);
	assert_int_equal(err.kind, BPK_FAILED);
	assert_int_equal(access(path, F_OK), 0);
	unlink(path);

	/* a link to it is another file */
	assert_int_equal(symlink("other", path), 0);
	assert_int_equal(stat(path, &seen), 0);
	assert_int_equal(bpk_remove_source(path, &seen, &err), -1);
	assert_int_equal(access(other, F_OK), 0);
	unlink(path);

	make_file(other, content, 11);
	assert_int_equal(bpk_remove_source(other, &seen, &err), -1);
	assert_int_equal(stat(other, &seen), 0);
	assert_int_equal(bpk_remove_source(other, &seen, &err), 0);
	assert_int_equal(access(other, F_OK), -1);
	assert_int_equal(bpk_remove_source(other, &seen, &err), -1);
}

/* The entries of a walk, in order. */
struct trace {
	char text[1000];
	int folders;
	int stop_after;
};

static bool is_not_b(void *arg, const char *path)
{
	((struct trace *)arg)->folders++;
	return strcmp(path + strlen(folder), "/w/b") != 0;
}

static int note(void *arg, const char *file, uint64_t size)
{
	struct trace *trace = arg;

	assert_int_equal(size, BPK_UNKNOWN);

	strcat(trace->text, file + strlen(folder));
	strcat(trace->text, "\n");
	return --trace->stop_after == 0 ? 7 : 0;
}

static void note_unreadable(void *arg, const struct bpk_err *err)
{
	struct trace *trace = arg;

	strcat(trace->text, err->text + strlen(folder));
	strcat(trace->text, "\n");
}

static void test_walk(void **state)
{
	static const char *const folders[] = { "w",     "w/b", "w/B", "w/.h", "w/.d.bpk-000000",
					       "w/shut" };
	static const char *const files[] = {
		"w/b/2",     "w/b/10",    "w/b.x",           "w/B/x",
		"w/.h/x",    "w/a",       "w/.a.bpk-000001", "w/.d.bpk-000000/x",
		"w/x.bpk-1", "w/b/.lock", "w/b/.bpkj",       "w/.a.bpkj",
		"w/a.bpkj",
	};
	struct trace trace = { 0 };
	struct bpk_err err = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++)
		assert_int_equal(mkdir(in_folder(folders[i]), 0700), 0);
	for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
		make_file(in_folder(files[i]), "", 0);
	assert_int_equal(symlink("b", in_folder("w/link")), 0);
	assert_int_equal(symlink("a", in_folder("w/link2")), 0);
	assert_int_equal(mkfifo(in_folder("w/fifo"), 0600), 0);

	assert_int_equal(bpk_walk(in_folder("w"), NULL, note, note_unreadable, &trace, &err), 0);
	assert_string_equal(trace.text, "/w/.h/x\n/w/B/x\n/w/a\n/w/a.bpkj\n/w/b/10\n/"
					"w/b/2\n/w/b.x\n/w/x.bpk-1\n");

	trace = (struct trace){ 0 };
	assert_int_equal(bpk_walk(in_folder("w"), is_not_b, note, note_unreadable, &trace, &err),
			 0);
	assert_string_equal(trace.text, "/w/.h/x\n/w/B/x\n/w/a\n/w/a.bpkj\n/w/b.x\n/w/x.bpk-1\n");
	assert_int_equal(trace.folders, 5);

	/* a link given by the user is followed; links below it are not */
	trace = (struct trace){ 0 };
	assert_int_equal(bpk_walk(in_folder("w/link"), NULL, note, note_unreadable, &trace, &err),
			 0);
	assert_string_equal(trace.text, "/w/link/10\n/w/link/2\n");

	trace = (struct trace){ .stop_after = 2 };
	assert_int_equal(bpk_walk(in_folder("w"), NULL, note, note_unreadable, &trace, &err), 7);
	assert_string_equal(trace.text, "/w/.h/x\n/w/B/x\n");

	trace = (struct trace){ 0 };
	assert_int_equal(bpk_walk(in_folder("w/a"), NULL, note, note_unreadable, &trace, &err), -1);
	assert_string_equal(err.text, "is not a directory");
	assert_string_equal(trace.text, "");

	if (geteuid() != 0) { /* root can read everything */
		assert_int_equal(chmod(in_folder("w/shut"), 0), 0);
		assert_int_equal(
			bpk_walk(in_folder("w"), NULL, note, note_unreadable, &trace, &err), 0);
		assert_non_null(strstr(trace.text, "/w/shut: cannot read: Permission denied\n"));
	}
	unlink(in_folder("w/link"));
	unlink(in_folder("w/link2"));
	unlink(in_folder("w/fifo"));
	for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
		unlink(in_folder(files[i]));
	for (size_t i = sizeof folders / sizeof folders[0]; i > 0; i--)
		rmdir(in_folder(folders[i - 1]));
}

static int make_folder(void **state)
{
	struct unit_random random = { 3 };

	(void)state;
	for (size_t i = 0; i < SIZE; i++)
		content[i] = (uint8_t)(unit_random_next(&random) | 1);
	return mkdtemp(folder) == NULL ? -1 : 0;
}

static int remove_folder(void **state)
{
	(void)state;
	return rmdir(folder); /* every test cleans up, and no draft may be left */
}

/* ---- Confinement ---- */

/* Returns 0 in a process that may not write, 77 where the kernel does not confine, or the number of
 * the step that went wrong. */
static int try_writing(const char *file, const char *name, const char *replaced)
{
	const struct bpk_draft_options options = { .overwrite = true };
	struct bpk_draft *draft;
	struct bpk_spool *spool;
	struct bpk_err err = { 0 };

	bpk_confine(replaced);
	if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1)
		return 1;
	if (syscall(SYS_landlock_create_ruleset, NULL, 0, 1) < 1)
		return 77;
	if (open(file, O_RDONLY) < 0)
		return 2;
	if (open(file, O_WRONLY) >= 0 || errno != EACCES)
		return 3;
	if (open(name, O_CREAT | O_WRONLY, 0600) >= 0 || errno != EACCES)
		return 4;
	if (unlink(file) == 0 || errno != EACCES)
		return 5;
	if (rename(file, name) == 0 || errno != EACCES)
		return 6;
	if (bpk_spool_open(&spool, &err) != 0 ||
	    bpk_spool_write_at(spool, 0, bpk_view("x", 1), &err) != 0)
		return 7;
	bpk_spool_close(spool);
	for (int again = 0; again < 2; again++)
		if (bpk_draft_open(replaced, &options, &draft, &err) != 0 ||
		    bpk_draft_write(draft, bpk_view("x", 1), &err) != 0 ||
		    bpk_draft_keep(draft, NULL, &err) != 0)
			return 8;
	return 0;
}

static void test_a_confined_process_writes_no_file(void **state)
{
	const char *file = in_folder("confined"), *temporary = in_folder("temporary");
	const char *kept = in_folder("kept"), *replaced = in_folder("kept/file");
	int fd = open(file, O_CREAT | O_WRONLY, 0600), status;
	pid_t child;

	(void)state;
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(mkdir(temporary, 0700), 0);
	assert_int_equal(mkdir(kept, 0700), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		setenv("TMPDIR", temporary, 1);
		_exit(try_writing(file, in_folder("new"), replaced));
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	unlink(file);
	unlink(replaced);
	rmdir(kept);
	rmdir(temporary);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		skip();
	assert_int_equal(status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_source_file),
		cmocka_unit_test(test_source_memory),
		cmocka_unit_test(test_source_pipe),
		cmocka_unit_test(test_source_slice),
		cmocka_unit_test(test_source_join),
		cmocka_unit_test(test_source_join_of_a_pipe),
		cmocka_unit_test(test_source_peeks_into_a_pipe_far),
		cmocka_unit_test(test_source_stdin_file_starts_where_it_stands),
		cmocka_unit_test(test_source_refusals),
		cmocka_unit_test(test_source_of_proc_is_a_stream),
		cmocka_unit_test(test_source_that_changes),
		cmocka_unit_test(test_source_large_reads_are_shared),
		cmocka_unit_test(test_source_is_removed_only_if_it_is_the_same),
		cmocka_unit_test(test_a_confined_process_writes_no_file),
		cmocka_unit_test(test_walk),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
