/*
 * Drafts. Each test runs twice: with unnamed files if the file system has them, and with named ones
 * after a seccomp filter has made O_TMPFILE fail as on NFS.
 */
#include "unit/unit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "io/io.h"

static char folder[] = "/tmp/bpk-test-draft-XXXXXX";
static bool named; /* O_TMPFILE is forbidden from here on */

static const struct bpk_draft_options plain = { 0 };
static const struct bpk_draft_options force = { .overwrite = true, .sync = true };
static const struct bpk_draft_options through = { .follow_links = true };

static const char *in_folder(const char *name)
{
	static char paths[4][200];
	static unsigned next;
	char *path = paths[next++ % 4];

	snprintf(path, sizeof paths[0], "%s/%s", folder, name);
	return path;
}

static struct bpk_view text(const char *bytes)
{
	return bpk_view(bytes, strlen(bytes));
}

static void make_file(const char *path, const char *bytes)
{
	FILE *file = fopen(path, "wb");

	assert_non_null(file);
	assert_true(fputs(bytes, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static void assert_holds(const char *path, const char *bytes)
{
	char found[200] = { 0 };
	FILE *file = fopen(path, "rb");

	assert_non_null(file);
	found[fread(found, 1, sizeof found - 1, file)] = '\0';
	fclose(file);
	assert_string_equal(found, bytes);
}

/* The number of entries in the folder, hidden ones included. */
static int entries(void)
{
	DIR *dir = opendir(folder);
	int count = 0;

	assert_non_null(dir);
	while (readdir(dir) != NULL)
		count++;
	closedir(dir);
	return count - 2;
}

static struct bpk_draft *open_draft(const char *path, const struct bpk_draft_options *options)
{
	struct bpk_err err = { 0 };
	struct bpk_draft *draft = NULL;

	if (bpk_draft_open(path, options, &draft, &err) != 0)
		fail_msg("%s: %s", path, err.text);
	return draft;
}

static void write_text(struct bpk_draft *draft, const char *bytes)
{
	struct bpk_err err = { 0 };

	if (bpk_draft_write(draft, text(bytes), &err) != 0)
		fail_msg("%s", err.text);
}

static void keep(struct bpk_draft *draft)
{
	struct bpk_err err = { 0 };

	if (bpk_draft_keep(draft, NULL, &err) != 0)
		fail_msg("%s", err.text);
}

static void assert_refused(const char *path, const struct bpk_draft_options *options,
			   const char *line)
{
	struct bpk_err err = { 0 };
	struct bpk_draft *draft;

	assert_int_equal(bpk_draft_open(path, options, &draft, &err), -1);
	assert_null(draft);
	assert_int_equal(err.kind, BPK_FAILED);
	assert_string_equal(err.text, line);
}

static void test_kept(void **state)
{
	const char *path = in_folder("kept");
	struct stat like = { .st_mode = S_IFREG | S_ISUID | 0754, .st_mtim = { 1000000007, 5000 } };
	mode_t mask = umask(027);
	struct bpk_err err = { 0 };
	struct bpk_draft *draft;
	struct stat found;
	char back[4];

	(void)state;
	like.st_gid = getegid();
	draft = open_draft(path, &plain);
	assert_int_equal(entries(), named ? 1 : 0);
	assert_int_equal(access(path, F_OK), -1);
	assert_true(bpk_draft_seekable(draft));
	write_text(draft, "head ");
	write_text(draft, "tail");
	assert_int_equal(bpk_draft_tell(draft), 9);
	assert_int_equal(bpk_draft_write_at(draft, 0, text("HE"), &err), 0);
	assert_int_equal(bpk_draft_read_at(draft, 0, bpk_span((uint8_t *)back, 4), &err), 0);
	assert_memory_equal(back, "HEad", 4);
	assert_int_equal(bpk_draft_read_at(draft, 6, bpk_span((uint8_t *)back, 4), &err), -1);
	assert_int_equal(bpk_draft_tell(draft), 9);
	assert_int_equal(bpk_draft_keep(draft, &like, &err), 0);
	assert_holds(path, "HEad tail");
	assert_int_equal(stat(path, &found), 0);
	assert_int_equal(found.st_mode & 07777, 0750);
	assert_int_equal(found.st_mtim.tv_sec, 1000000007);
	assert_int_equal(found.st_mtim.tv_nsec, 5000);
	assert_int_equal(entries(), 1);
	unlink(path);

	draft = open_draft(path, &plain);
	keep(draft);
	assert_int_equal(stat(path, &found), 0);
	assert_int_equal(found.st_mode & 07777, 0640);
	assert_int_equal(found.st_size, 0);
	unlink(path);
	umask(mask);
}

static void test_dropped(void **state)
{
	struct bpk_draft *draft = open_draft(in_folder("dropped"), &plain);

	(void)state;
	write_text(draft, "x");
	bpk_draft_drop(draft);
	bpk_draft_drop(NULL);
	assert_int_equal(entries(), 0);
}

static void test_existing(void **state)
{
	const char *path = in_folder("existing");
	struct bpk_draft *draft;

	(void)state;
	make_file(path, "old");
	assert_refused(path, &plain, "already exists");
	draft = open_draft(path, &force);
	write_text(draft, "dropped");
	bpk_draft_drop(draft);
	assert_holds(path, "old");
	draft = open_draft(path, &force);
	write_text(draft, "new");
	assert_holds(path, "old");
	keep(draft);
	assert_holds(path, "new");
	assert_int_equal(entries(), 1);
	unlink(path);
}

static void test_file_that_appears_meanwhile(void **state)
{
	const char *path = in_folder("race");
	struct bpk_draft *draft = open_draft(path, &plain);
	struct bpk_err err = { 0 };

	(void)state;
	write_text(draft, "ours");
	make_file(path, "theirs");
	assert_int_equal(bpk_draft_keep(draft, NULL, &err), -1);
	assert_string_equal(err.text, "already exists");
	assert_holds(path, "theirs");
	assert_int_equal(entries(), 1);
	unlink(path);

	draft = open_draft(path, &force);
	write_text(draft, "ours");
	make_file(path, "theirs");
	keep(draft);
	assert_holds(path, "ours");
	unlink(path);

	draft = open_draft(path, &force);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(bpk_draft_keep(draft, NULL, &err), -1);
	assert_int_equal(entries(), 1);
	rmdir(path);
}

static void test_links(void **state)
{
	struct bpk_draft_options both = { .overwrite = true, .follow_links = true };
	struct bpk_draft *draft;
	char target[10] = { 0 };
	struct stat found;

	(void)state;
	assert_int_equal(symlink("goal", in_folder("link")), 0);
	assert_refused(in_folder("link"), &plain, "already exists, a symbolic link");

	/* a dangling link, followed: its target is created */
	draft = open_draft(in_folder("link"), &through);
	write_text(draft, "one");
	keep(draft);
	assert_int_equal(readlink(in_folder("link"), target, sizeof target - 1), 4);
	assert_holds(in_folder("goal"), "one");
	assert_refused(in_folder("link"), &through, "already exists");

	/* a link to a link, followed: its target is replaced */
	assert_int_equal(symlink(in_folder("link"), in_folder("second")), 0);
	draft = open_draft(in_folder("second"), &both);
	write_text(draft, "two");
	keep(draft);
	assert_holds(in_folder("goal"), "two");
	assert_int_equal(lstat(in_folder("link"), &found), 0);
	assert_true(S_ISLNK(found.st_mode));

	/* not followed, but overwritten: the link itself is replaced */
	draft = open_draft(in_folder("link"), &force);
	write_text(draft, "three");
	keep(draft);
	assert_int_equal(lstat(in_folder("link"), &found), 0);
	assert_true(S_ISREG(found.st_mode));
	assert_holds(in_folder("goal"), "two");

	assert_int_equal(symlink("loop", in_folder("loop")), 0);
	assert_refused(in_folder("loop"), &through,
		       "cannot follow the link: Too many levels of symbolic links");
	unlink(in_folder("link"));
	unlink(in_folder("second"));
	unlink(in_folder("goal"));
	unlink(in_folder("loop"));
}

static void test_refusals(void **state)
{
	struct bpk_draft_options not_this = force;
	struct stat found;

	(void)state;
	assert_refused(folder, &force, "is a directory");
	assert_refused(in_folder("no/where"), &plain,
		       "cannot open its folder: No such file or directory");
	assert_refused(in_folder("none/"), &plain, "names no file");
	assert_refused("", &plain, "names no file");
	assert_int_equal(mkfifo(in_folder("fifo"), 0600), 0);
	assert_refused(in_folder("fifo"), &force, "exists and is not a regular file");
	unlink(in_folder("fifo"));

	make_file(in_folder("input"), "input");
	assert_int_equal(link(in_folder("input"), in_folder("alias")), 0);
	assert_int_equal(stat(in_folder("input"), &found), 0);
	not_this.not_this = &found;
	assert_refused(in_folder("input"), &not_this, "input and output are the same file");
	assert_refused(in_folder("alias"), &not_this, "input and output are the same file");
	not_this.follow_links = true;
	assert_int_equal(symlink("input", in_folder("link")), 0);
	assert_refused(in_folder("link"), &not_this, "input and output are the same file");
	assert_holds(in_folder("input"), "input");
	unlink(in_folder("input"));
	unlink(in_folder("alias"));
	unlink(in_folder("link"));
}

static void test_devices(void **state)
{
	struct bpk_err err = { 0 };
	struct bpk_draft *draft;
	struct stat before, after;
	char got[10] = { 0 };
	int reader;

	(void)state;
	assert_int_equal(stat("/dev/null", &before), 0);
	draft = open_draft("/dev/null", &through);
	assert_false(bpk_draft_seekable(draft));
	write_text(draft, "gone");
	assert_int_equal(bpk_draft_write_at(draft, 0, text("x"), &err), -1);
	keep(draft);
	assert_int_equal(stat("/dev/null", &after), 0);
	assert_int_equal(after.st_mode, before.st_mode);
	assert_int_equal(after.st_ino, before.st_ino);

	assert_int_equal(mkfifo(in_folder("fifo"), 0600), 0);
	reader = open(in_folder("fifo"), O_RDONLY | O_NONBLOCK);
	draft = open_draft(in_folder("fifo"), &through);
	write_text(draft, "through");
	keep(draft);
	assert_int_equal(read(reader, got, sizeof got), 7);
	assert_string_equal(got, "through");
	close(reader);
	unlink(in_folder("fifo"));

	draft = open_draft("/dev/full", &through);
	assert_int_equal(bpk_draft_write(draft, text("x"), &err), -1);
	assert_int_equal(err.kind, BPK_FAILED);
	assert_string_equal(err.text, "write: No space left on device");
	bpk_draft_drop(draft);
}

/* Replace standard output by fd while a draft is made on it; fd is closed. */
static int swap_stdout(int fd)
{
	int old;

	fflush(stdout);
	old = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 100);
	dup2(fd, STDOUT_FILENO);
	close(fd);
	return old;
}

static void restore_stdout(int old)
{
	dup2(old, STDOUT_FILENO);
	close(old);
}

/* Write to standard output, named as target, where fd is; report whether it could seek. */
static bool write_to_stdout(const char *target, int fd)
{
	struct bpk_err err = { 0 };
	struct bpk_draft *draft = NULL;
	int old = swap_stdout(fd);
	bool seekable = false, sound;
	char back[3] = "";

	sound = bpk_draft_open(target, &through, &draft, &err) == 0;
	if (sound) {
		seekable = bpk_draft_seekable(draft);
		sound = bpk_draft_write(draft, text("__cdef"), &err) == 0;
		if (seekable)
			sound = sound && bpk_draft_write_at(draft, 0, text("ab"), &err) == 0 &&
				bpk_draft_read_at(draft, 1, bpk_span((uint8_t *)back, 2), &err) ==
					0 &&
				memcmp(back, "bc", 2) == 0;
		sound = sound && bpk_draft_tell(draft) == 6;
		sound = bpk_draft_keep(draft, NULL, &err) == 0 && sound;
		/* later output follows */
		sound = sound && write(STDOUT_FILENO, "!", 1) == 1;
	}
	restore_stdout(old);
	if (!sound)
		fail_msg("%s: %s", target, err.text);
	return seekable;
}

static void test_standard_output(void **state)
{
	static const char *const spelled[] = { "-", "/dev/stdout", "/dev/fd/1", "link" };
	const char *path = in_folder("stdout");

	(void)state;
	assert_int_equal(symlink("/dev/stdout", in_folder("link")), 0);
	for (size_t i = 0; i < sizeof spelled / sizeof spelled[0]; i++) {
		const char *target =
			strcmp(spelled[i], "link") == 0 ? in_folder("link") : spelled[i];
		int ends[2];
		char got[20] = "";
		int fd;

		make_file(path, "0123456789ABCDEF");
		fd = open(path, O_WRONLY);
		assert_int_equal(lseek(fd, 4, SEEK_SET), 4);
		assert_true(write_to_stdout(target, fd));
		assert_holds(path, "0123abcdef!BCDEF");

		assert_false(write_to_stdout(target, open(path, O_WRONLY | O_APPEND)));
		assert_holds(path, "0123abcdef!BCDEF__cdef!");

		assert_int_equal(pipe(ends), 0);
		assert_false(write_to_stdout(target, ends[1]));
		assert_int_equal(read(ends[0], got, sizeof got), 7);
		assert_string_equal(got, "__cdef!");
		close(ends[0]);
	}
	unlink(path);
	unlink(in_folder("link"));
}

static void test_standard_output_is_the_input(void **state)
{
	struct bpk_draft_options options = plain;
	const char *path = in_folder("same");
	struct bpk_err err = { 0 };
	struct bpk_draft *draft;
	struct stat found;
	int old, rc;

	(void)state;
	make_file(path, "input");
	assert_int_equal(stat(path, &found), 0);
	options.not_this = &found;
	old = swap_stdout(open(path, O_WRONLY | O_APPEND));
	rc = bpk_draft_open("-", &options, &draft, &err);
	restore_stdout(old);
	assert_int_equal(rc, -1);
	assert_string_equal(err.text, "input and output are the same file");
	unlink(path);
}

static void test_closed_pipe(void **state)
{
	struct bpk_err err = { 0 };
	struct bpk_draft *draft = NULL;
	void (*handler)(int) = signal(SIGPIPE, SIG_IGN);
	int ends[2], old, opened, rc = 0;

	(void)state;
	assert_int_equal(pipe(ends), 0);
	close(ends[0]);
	old = swap_stdout(ends[1]);
	opened = bpk_draft_open("-", &plain, &draft, &err);
	if (opened == 0)
		rc = bpk_draft_write(draft, text("x"), &err);
	bpk_draft_drop(draft);
	restore_stdout(old);
	signal(SIGPIPE, handler);
	assert_int_equal(opened, 0);
	assert_int_equal(rc, -1);
	assert_int_equal(err.kind, BPK_PIPE);
}

enum { BLOCK = 64 << 10, NBLOCKS = 64 };

/* A worker that places every second of its blocks, highest first. */
struct placer {
	pthread_t thread;
	struct bpk_draft *draft;
	const uint8_t *data;
	int first;
	bool sound;
};

static void *place(void *arg)
{
	struct placer *placer = arg;

	placer->sound = true;
	for (int i = NBLOCKS - 2 + placer->first; i >= 0; i -= 2) {
		struct bpk_view block = bpk_view(placer->data + (size_t)i * BLOCK, BLOCK);

		/* at odd offsets, so that pieces of one run come from several calls */
		if (bpk_draft_write_at(placer->draft, (uint64_t)i * BLOCK + 100, block, NULL) != 0)
			placer->sound = false;
	}
	return NULL;
}

static void test_placed_by_many(void **state)
{
	const char *path = in_folder("placed");
	uint8_t *data = malloc(NBLOCKS * BLOCK), *back = malloc(NBLOCKS * BLOCK + 100);
	struct placer placers[2];
	struct bpk_err err = { 0 };
	struct unit_random random = { 1 };
	struct bpk_source *source;
	struct bpk_draft *draft;

	(void)state;
	for (size_t i = 0; i < NBLOCKS * BLOCK; i++)
		data[i] = i / BLOCK % 5 == 0 ? 0 : (uint8_t)unit_random_next(&random);
	draft = open_draft(path, &plain);
	for (int i = 0; i < 2; i++) {
		placers[i] = (struct placer){ .draft = draft, .data = data, .first = i };
		assert_int_equal(pthread_create(&placers[i].thread, NULL, place, &placers[i]), 0);
	}
	for (int i = 0; i < 2; i++)
		pthread_join(placers[i].thread, NULL);
	assert_true(placers[0].sound && placers[1].sound);
	keep(draft);
	assert_int_equal(bpk_source_open(path, &source, &err), 0);
	assert_int_equal(bpk_source_size(source), NBLOCKS * BLOCK + 100);
	assert_int_equal(bpk_source_need_at(source, 0, bpk_span(back, NBLOCKS * BLOCK + 100), &err),
			 0);
	assert_memory_equal(back + 100, data, NBLOCKS * BLOCK);
	bpk_source_close(source);
	unlink(path);
	free(data);
	free(back);
}

/* True if this folder's file system supports holes and reports them. */
static bool has_holes(void)
{
	const char *path = in_folder("probe");
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
	bool holes =
		ftruncate(fd, 10 * BLOCK) == 0 && lseek(fd, 0, SEEK_DATA) < 0 && errno == ENXIO;

	close(fd);
	unlink(path);
	return holes;
}

static void test_holes(void **state)
{
	const char *path = in_folder("holes");
	size_t size = NBLOCKS * BLOCK;
	uint8_t *data = calloc(1, size), *back = malloc(size);
	struct bpk_err err = { 0 };
	struct bpk_draft *draft;
	struct stat found;
	int fd;

	(void)state;
	/* data, an unaligned run of zeros, data in the middle of a block, zeros to the end */
	memset(data, 1, 1000);
	data[10 * BLOCK + 5] = 7;
	for (int sized = 0; sized < 2; sized++) {
		draft = open_draft(path, &plain);
		if (sized)
			assert_int_equal(bpk_draft_set_size(draft, size, &err), 0);
		assert_int_equal(bpk_draft_write_at(draft, 20 * BLOCK,
						    bpk_view(data + 20 * BLOCK, size - 20 * BLOCK),
						    &err),
				 0);
		assert_int_equal(bpk_draft_write_at(draft, 0, bpk_view(data, 20 * BLOCK), &err), 0);
		keep(draft);
		fd = open(path, O_RDONLY);
		assert_int_equal(fstat(fd, &found), 0);
		assert_int_equal(found.st_size, size);
		assert_int_equal(pread(fd, back, size, 0), size);
		assert_memory_equal(back, data, size);
		if (has_holes())
			assert_true((size_t)found.st_blocks * 512 <= 4 * BLOCK);
		close(fd);
		unlink(path);
	}
	free(data);
	free(back);
}

static void test_zeros_over_data_are_written(void **state)
{
	const char *path = in_folder("zeros");
	size_t size = 8 * BLOCK;
	uint8_t *data = malloc(size), *back = malloc(size);
	struct bpk_draft *draft = open_draft(path, &plain);
	struct bpk_err err = { 0 };

	(void)state;
	memset(data, 0xee, size);
	assert_int_equal(bpk_draft_write(draft, bpk_view(data, size), &err), 0);
	memset(data + BLOCK, 0, 4 * BLOCK);
	assert_int_equal(bpk_draft_write_at(draft, BLOCK, bpk_view(data + BLOCK, 4 * BLOCK), &err),
			 0);
	assert_int_equal(bpk_draft_read_at(draft, 0, bpk_span(back, size), &err), 0);
	assert_memory_equal(back, data, size);
	assert_int_equal(bpk_draft_write_at(draft, UINT64_MAX - 1, text("x"), &err), -1);
	assert_string_equal(err.text, "write: File too large");
	bpk_draft_drop(draft);
	free(data);
	free(back);
}

static void test_left_behind(void **state)
{
	const char *old = in_folder(".target.bpk-000000");
	const char *path = in_folder("target");
	struct bpk_draft *first, *second;
	int fd;

	(void)state;
	/* of a killed process: its lock is free */
	make_file(old, "half");
	bpk_draft_drop(open_draft(path, &plain));
	assert_int_equal(entries(), 0);

	/* of a running process */
	make_file(old, "being written");
	fd = open(old, O_RDWR);
	assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
	first = open_draft(path, &force);
	second = open_draft(path, &force);
	write_text(first, "first");
	write_text(second, "second");
	keep(second);
	assert_holds(path, "second");
	keep(first);
	assert_holds(path, "first");
	assert_holds(old, "being written");
	assert_int_equal(entries(), 2);
	close(fd);

	/* a link with a draft's name is not ours */
	unlink(old);
	assert_int_equal(symlink("target", old), 0);
	bpk_draft_drop(open_draft(path, &force));
	assert_int_equal(entries(), 2);
	unlink(old);
	unlink(path);
}

static void test_long_names(void **state)
{
	char name[256];
	struct bpk_draft *draft;

	(void)state;
	memset(name, 'n', 255);
	name[255] = '\0';
	make_file(in_folder("x"), "");
	for (size_t size = 240; size <= 255; size += 5) {
		char path[400];

		snprintf(path, sizeof path, "%s/%.*s", folder, (int)size, name);
		make_file(path, "old");
		draft = open_draft(path, &force);
		write_text(draft, "new");
		keep(draft);
		assert_holds(path, "new");
		unlink(path);
	}
	unlink(in_folder("x"));
	assert_int_equal(entries(), 0);
}

/* Run in a child process, because no draft can be kept afterwards: exit status 0 on success. */
static int drop_all_in_child(void)
{
	struct bpk_err err = { 0 };
	struct bpk_draft *first, *second, *third;

	if (bpk_draft_open(in_folder("first"), &plain, &first, &err) != 0 ||
	    bpk_draft_open(in_folder("second"), &force, &second, &err) != 0 ||
	    entries() != (named ? 2 : 0))
		return 1;
	bpk_draft_drop_all();
	if (entries() != 0)
		return 2;
	if (bpk_draft_keep(first, NULL, &err) == 0 || entries() != 0)
		return 3;
	bpk_draft_drop(second);
	if (bpk_draft_open(in_folder("third"), &plain, &third, &err) == 0 || entries() != 0)
		return 4;
	return 0;
}

static void test_all_dropped(void **state)
{
	int status = -1;
	pid_t child;

	(void)state;
	fflush(stdout);
	child = fork();
	if (child == 0)
		_exit(drop_all_in_child());
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

/* Killed while writing: no file is left, or the next run removes it. */
static void test_killed(void **state)
{
	struct bpk_draft *draft;
	int ready[2], status;
	pid_t child;
	char byte;

	(void)state;
	fflush(stdout);
	assert_int_equal(pipe(ready), 0);
	child = fork();
	if (child == 0) {
		alarm(60); /* in case the parent fails before it kills us */
		if (bpk_draft_open(in_folder("killed"), &plain, &draft, NULL) == 0 &&
		    bpk_draft_write(draft, text("half"), NULL) == 0 && write(ready[1], "x", 1) == 1)
			pause();
		_exit(1);
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	assert_int_equal(entries(), named ? 1 : 0);
	draft = open_draft(in_folder("killed"), &plain); /* beside the running one */
	assert_int_equal(entries(), named ? 2 : 0);
	bpk_draft_drop(draft);
	kill(child, SIGKILL);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status));
	draft = open_draft(in_folder("killed"), &plain);
	write_text(draft, "whole");
	keep(draft);
	assert_holds(in_folder("killed"), "whole");
	assert_int_equal(entries(), 1);
	unlink(in_folder("killed"));
}

enum { NRACERS = 8 };

/* Write a line to the same target as other processes: 0 kept, 1 exists, 2 another error. */
static int race(const struct bpk_draft_options *options, int start, int number)
{
	char byte, line[2] = { (char)('0' + number) };
	struct bpk_err err = { 0 };
	struct bpk_draft *draft;

	if (bpk_draft_open(in_folder("raced"), options, &draft, &err) != 0)
		return strcmp(err.text, "already exists") == 0 ? 1 : 2; /* it came late */
	/* the parent closes its end: all continue at once */
	if (bpk_draft_write(draft, text(line), &err) != 0 || read(start, &byte, 1) != 0)
		return 2;
	if (bpk_draft_keep(draft, NULL, &err) == 0)
		return 0;
	return strcmp(err.text, "already exists") == 0 ? 1 : 2;
}

/* The number of racers that kept their file; all others must get "already exists". */
static int run_race(const struct bpk_draft_options *options)
{
	pid_t racers[NRACERS];
	int start[2], kept = 0;

	fflush(stdout);
	assert_int_equal(pipe(start), 0);
	for (int i = 0; i < NRACERS; i++) {
		racers[i] = fork();
		if (racers[i] == 0) {
			close(start[1]);
			_exit(race(options, start[0], i));
		}
	}
	close(start[0]);
	usleep(20000); /* so that most of them wait; the outcome does not depend on it */
	close(start[1]);
	for (int i = 0; i < NRACERS; i++) {
		int status = -1;

		assert_int_equal(waitpid(racers[i], &status, 0), racers[i]);
		assert_true(WIFEXITED(status));
		assert_true(WEXITSTATUS(status) < 2);
		kept += WEXITSTATUS(status) == 0;
	}
	return kept;
}

static void test_many_writers(void **state)
{
	struct stat found;

	(void)state;
	for (int round = 0; round < 5; round++) {
		/* without replacing one wins; with replacing all succeed in turn */
		assert_int_equal(run_race(&plain), 1);
		assert_int_equal(run_race(&force), NRACERS);
		assert_int_equal(stat(in_folder("raced"), &found), 0);
		assert_int_equal(found.st_size, 1);
		assert_int_equal(entries(), 1);
		unlink(in_folder("raced"));
	}
}

static void test_size_limit(void **state)
{
	struct bpk_draft *draft = open_draft(in_folder("limited"), &plain);
	uint8_t *data = malloc(3 * BLOCK);
	void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
	struct rlimit old, limit;
	struct bpk_err write_err = { 0 }, size_err = { 0 };
	int wrote, sized;

	(void)state;
	memset(data, 1, 3 * BLOCK);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	limit = old;
	limit.rlim_cur = 2 * BLOCK + 100; /* the write at the limit first returns short */
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	wrote = bpk_draft_write(draft, bpk_view(data, 3 * BLOCK), &write_err);
	sized = bpk_draft_set_size(draft, 4 * BLOCK, &size_err);
	setrlimit(RLIMIT_FSIZE, &old);
	signal(SIGXFSZ, handler);
	assert_int_equal(wrote, -1);
	assert_string_equal(write_err.text, "write: File too large");
	assert_int_equal(sized, -1);
	assert_string_equal(size_err.text, "set the size: File too large");
	bpk_draft_drop(draft);
	assert_int_equal(entries(), 0);
	free(data);
}

/* From here on openat with O_TMPFILE fails as on a file system without it. */
static void forbid_nameless(void **state)
{
	uint32_t tmpfile_bit = O_TMPFILE & ~O_DIRECTORY;
	struct sock_filter rules[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_openat, 0, 3),
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
#else
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2]) + 4),
#endif
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, tmpfile_bit, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EOPNOTSUPP),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof rules / sizeof rules[0], rules };

	(void)state;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
		skip();
	assert_int_equal(open(folder, O_TMPFILE | O_RDWR, 0600), -1);
	assert_int_equal(errno, EOPNOTSUPP);
	named = true;
}

static int make_folder(void **state)
{
	int fd;

	(void)state;
	if (mkdtemp(folder) == NULL)
		return -1;
	fd = open(folder, O_TMPFILE | O_RDWR, 0600);
	named = fd < 0;
	if (fd >= 0)
		close(fd);
	return 0;
}

/* Input from a pipe becomes seekable and is written out again; no name stays in the folder. */
static void test_spool(void **state)
{
	struct bpk_spool *spool;
	struct bpk_source *source;
	struct bpk_draft *draft;
	struct bpk_err err = { 0 };
	uint8_t found[3];
	int ends[2];

	(void)state;
	assert_int_equal(setenv("TMPDIR", folder, 1), 0);
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(write(ends[1], "def", 3), 3);
	assert_int_equal(close(ends[1]), 0);
	assert_int_equal(dup2(ends[0], STDIN_FILENO), STDIN_FILENO);
	assert_int_equal(close(ends[0]), 0);
	assert_int_equal(bpk_source_open("-", &source, &err), 0);
	assert_int_equal(bpk_spool_open(&spool, &err), 0);
	assert_int_equal(bpk_spool_write(spool, text("abc"), &err), 0);
	assert_int_equal(bpk_spool_fill(spool, source, &err), 0);
	bpk_source_close(source);
	assert_int_equal(bpk_spool_size(spool), 6);
	assert_int_equal(bpk_spool_source(spool, &source, &err), 0);
	assert_true(bpk_source_seekable(source));
	assert_int_equal(bpk_source_need_at(source, 2, bpk_span(found, 3), &err), 0);
	assert_memory_equal(found, "cde", 3);
	bpk_source_close(source);
	assert_int_equal(bpk_draft_open(in_folder("a"), &plain, &draft, &err), 0);
	assert_int_equal(bpk_spool_drain(spool, draft, &err), 0);
	assert_int_equal(bpk_draft_keep(draft, NULL, &err), 0);
	bpk_spool_close(spool);
	assert_holds(in_folder("a"), "abcdef");
	assert_int_equal(unlink(in_folder("a")), 0);
	assert_int_equal(setenv("TMPDIR", in_folder("missing"), 1), 0);
	assert_int_equal(bpk_spool_open(&spool, &err), -1);
	assert_int_equal(err.kind, BPK_FAILED);
	assert_null(spool);
	assert_int_equal(unsetenv("TMPDIR"), 0);
}

static int remove_folder(void **state)
{
	(void)state;
	return rmdir(folder); /* every test cleans up, and no draft may be left */
}

#define TWICE(test, way)                                                                           \
	{                                                                                          \
#test way, test, NULL, NULL, NULL                                                  \
	}
#define TESTS(way)                                                                                 \
	TWICE(test_kept, way), TWICE(test_dropped, way), TWICE(test_existing, way),                \
		TWICE(test_file_that_appears_meanwhile, way), TWICE(test_links, way),              \
		TWICE(test_refusals, way), TWICE(test_placed_by_many, way),                        \
		TWICE(test_holes, way), TWICE(test_zeros_over_data_are_written, way),              \
		TWICE(test_left_behind, way), TWICE(test_long_names, way),                         \
		TWICE(test_all_dropped, way), TWICE(test_killed, way),                             \
		TWICE(test_many_writers, way), TWICE(test_spool, way), TWICE(test_size_limit, way)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TESTS(""),
		cmocka_unit_test(test_devices),
		cmocka_unit_test(test_standard_output),
		cmocka_unit_test(test_standard_output_is_the_input),
		cmocka_unit_test(test_closed_pipe),
		cmocka_unit_test(forbid_nameless),
		TESTS(", named drafts"),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
