/*
 * Changing directories: staging and committing files, reading lists of changes, concurrent writers.
 */
#include "unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include "io/tree/dir.h"
#include "io/file/hidden.h"
#include "io/io.h"

static char folder[] = "/tmp/bpk-test-change-XXXXXX";
static char dataset[100];

static const struct bpk_edit_options plain = { .sync = true };

/* Run in the folder; true on success. */
static bool shell(const char *command)
{
	char line[2000];

	snprintf(line, sizeof line, "cd %s && { %s; } 2>/dev/null", folder, command);
	return system(line) == 0;
}

/* A dataset of four files that hold "old". */
static void make(void)
{
	assert_true(shell("rm -rf t && mkdir -p t/data/x t/meta && for f in data/1 data/2 data/x/1 "
			  "meta/sizes; do printf old > t/$f; done"));
}

/* Assert that only the dataset's files exist: no drafts, no list. */
static void assert_clean(void)
{
	assert_true(shell("test -z \"$(find . -name '.*' ! -name . ! -name .lock)\""));
}

static struct bpk_tree *open_tree(void)
{
	struct bpk_err err = { 0 };
	struct bpk_tree *tree;

	if (bpk_tree_open(dataset, &plain, &tree, &err) != 0)
		fail_msg("%s", err.text);
	return tree;
}

static int put(struct bpk_tree *tree, const char *name, const char *text, struct bpk_err *err)
{
	struct bpk_draft *draft;

	if (bpk_tree_draft(tree, name, &draft, err) != 0)
		return -1;
	if (bpk_draft_write(draft, bpk_view(text, strlen(text)), err) != 0) {
		bpk_draft_drop(draft);
		return -1;
	}
	return bpk_tree_stage(tree, draft, err);
}

static void stage(struct bpk_tree *tree, const char *name, const char *text)
{
	struct bpk_err err = { 0 };

	if (put(tree, name, text, &err) != 0)
		fail_msg("%s: %s", name, err.text);
}

static void commit(struct bpk_tree *tree, const char *pivot)
{
	struct bpk_err err = { 0 };

	if (bpk_tree_commit(tree, pivot, &err) != 0)
		fail_msg("%s", err.text);
}

/* The content of name, "-" if missing; static storage, four in turn. */
static const char *content(struct bpk_dir *dir, const char *name)
{
	static char texts[4][BPK_ERR_TEXT];
	static unsigned next;
	char *text = texts[next++ % 4];
	struct bpk_source *source;
	struct bpk_err err = { 0 };
	size_t got = 0;

	if (bpk_dir_source(dir, name, &source, &err) != 0)
		return strstr(err.text, ": is missing") != NULL
			       ? "-"
			       : memcpy(text, err.text, BPK_ERR_TEXT);
	assert_int_equal(
		bpk_source_read(source, bpk_span((uint8_t *)text, BPK_ERR_TEXT - 1), &got, &err),
		0);
	text[got] = '\0';
	bpk_source_close(source);
	return text;
}

static void assert_seen(struct bpk_dir *dir, const char *one, const char *two, const char *three,
			const char *sizes)
{
	assert_string_equal(content(dir, "data/1"), one);
	assert_string_equal(content(dir, "data/2"), two);
	assert_string_equal(content(dir, "data/3"), three);
	assert_string_equal(content(dir, "meta/sizes"), sizes);
}

static int note(void *arg, const char *entry_name, enum bpk_entry entry)
{
	char *text = arg;

	snprintf(text + strlen(text), 100 - strlen(text), "%s%c ", entry_name, "?fd!"[entry]);
	return 0;
}

static const char *listing(struct bpk_dir *dir, const char *name)
{
	static char text[100];

	text[0] = '\0';
	assert_int_equal(bpk_dir_list(dir, name, note, text, NULL), 0);
	return text;
}

static void test_commits(void **state)
{
	mode_t mask = umask(022);
	struct bpk_tree *tree;
	struct bpk_dir *dir;
	struct stat found;

	(void)state;
	make();
	assert_true(shell("chmod 640 t/data/1"));
	tree = open_tree();
	dir = bpk_tree_dir(tree);
	assert_seen(dir, "old", "old", "-", "old");
	commit(tree, NULL); /* empty */
	/* one file */
	stage(tree, "data/1", "1");
	assert_seen(dir, "old", "old", "-", "old");
	commit(tree, NULL);
	assert_seen(dir, "1", "old", "-", "old");
	assert_true(shell("test \"$(stat -c %a t/data/1)\" = 640"));
	/* sizes last */
	stage(tree, "data/3", "2");
	stage(tree, "meta/sizes", "2");
	assert_seen(dir, "1", "old", "-", "old");
	assert_string_equal(listing(dir, ""), "datad metad ");
	assert_string_equal(listing(dir, "data"), "1f 2f xd ");
	commit(tree, "meta/sizes");
	assert_seen(dir, "1", "old", "2", "2");
	assert_true(shell("test \"$(stat -c %a t/data/3)\" = 640"));
	/* sizes first */
	stage(tree, "data/1", "3");
	stage(tree, "meta/sizes", "3");
	stage(tree, "data/2", "3");
	assert_int_equal(bpk_tree_remove(tree, "data/3", NULL), 0);
	commit(tree, "meta/sizes");
	assert_seen(dir, "3", "3", "-", "3");
	/* all at once; missing files may be removed */
	stage(tree, "data/1", "4");
	stage(tree, "data/2", "4");
	assert_int_equal(bpk_tree_folder(tree, "data/y/z", NULL), 0);
	stage(tree, "data/y/z/1", "4");
	assert_int_equal(bpk_tree_remove(tree, "data/3", NULL), 0);
	assert_int_equal(bpk_tree_remove(tree, "data/x/1", NULL), 0);
	commit(tree, NULL);
	assert_seen(dir, "4", "4", "-", "3");
	assert_string_equal(content(dir, "data/y/z/1"), "4");
	assert_string_equal(listing(dir, "data"), "1f 2f xd yd ");
	assert_int_equal(stat(dataset, &found), 0);
	assert_clean();
	bpk_tree_close(tree);
	assert_clean();
	umask(mask);
}

static void test_forgotten(void **state)
{
	struct bpk_draft *draft;
	struct bpk_tree *tree;

	(void)state;
	make();
	tree = open_tree();
	assert_int_equal(bpk_tree_folder(tree, "data/y/z", NULL), 0);
	stage(tree, "data/y/z/1", "new");
	stage(tree, "data/1", "new");
	assert_int_equal(bpk_tree_remove(tree, "data/2", NULL), 0);
	assert_int_equal(bpk_tree_draft(tree, "data/3", &draft, NULL), 0);
	bpk_draft_drop(draft);
	bpk_tree_close(tree);
	bpk_tree_close(NULL);
	assert_clean();
	assert_true(shell("test ! -e t/data/y && grep -q old t/data/1 && test -e t/data/2"));
}

static void test_refused(void **state)
{
	static const char *const bad[] = { "",        "..",    "../x",  "/x",
					   "data/",   ".lock", ".bpkj", "data/.1.bpk-000000",
					   "data/1\n" };
	struct bpk_err err = { 0 };
	struct bpk_draft *draft;
	struct bpk_tree *tree;

	(void)state;
	make();
	tree = open_tree();
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		assert_int_equal(bpk_tree_draft(tree, bad[i], &draft, &err), -1);
		assert_int_equal(err.kind, BPK_CORRUPT);
		assert_int_equal(bpk_tree_remove(tree, bad[i], &err), -1);
		assert_int_equal(err.kind, BPK_CORRUPT);
	}
	assert_int_equal(bpk_tree_commit(tree, "meta/sizes", &err), -1); /* not staged */
	/* errors are found before any change, and a retry is possible */
	stage(tree, "data/1", "new");
	stage(tree, "data/2", "new");
	assert_true(shell("mv t/data/2 t/away && mkdir t/data/2"));
	assert_int_equal(bpk_tree_commit(tree, NULL, &err), -1);
	assert_string_equal(err.text, "data/2: is not a regular file");
	assert_true(shell("rmdir t/data/2 && ln -s ../away t/data/2"));
	assert_int_equal(bpk_tree_commit(tree, NULL, &err), -1);
	assert_true(shell("grep -q old t/data/1 && rm t/data/2 && mkdir t/.bpkj"));
	assert_int_equal(bpk_tree_commit(tree, NULL, &err), -1);
	assert_true(shell("grep -q old t/data/1 && rmdir t/.bpkj"));
	commit(tree, NULL);
	assert_true(shell("grep -q new t/data/1 && grep -q new t/data/2 && grep -q old t/away"));
	assert_int_equal(bpk_tree_remove(tree, "data/x", &err), 0);
	assert_int_equal(bpk_tree_commit(tree, NULL, &err), -1);
	assert_string_equal(err.text, "data/x: is not a regular file");
	bpk_tree_close(tree);
	assert_clean();
	tree = open_tree();
	stage(tree, "data/1", "a");
	stage(tree, "data/1", "b");
	assert_int_equal(bpk_tree_commit(tree, NULL, &err), -1);
	bpk_tree_close(tree);
	assert_clean();
}

static void *close_later(void *tree)
{
	usleep(100000);
	bpk_tree_close(tree);
	return NULL;
}

static void test_one_writer(void **state)
{
	const struct bpk_edit_options wait = { .wait = true };
	struct bpk_tree *first, *second;
	struct bpk_err err = { 0 };
	struct bpk_draft *draft;
	pthread_t thread;

	(void)state;
	make();
	first = open_tree();
	stage(first, "data/1", "first");
	assert_int_equal(bpk_tree_open(dataset, &plain, &second, &err), -1);
	assert_null(second);
	assert_string_equal(err.text, "is being changed by another process");
	/* nor is it replaced */
	assert_int_equal(bpk_draft_open(dataset,
					&(struct bpk_draft_options){ .directory = true,
								     .overwrite = true,
								     .ours = bpk_hidden_is_name },
					&draft, &err),
			 -1); /* some files are not ours */
	assert_int_equal(pthread_create(&thread, NULL, close_later, first), 0);
	if (bpk_tree_open(dataset, &wait, &second, &err) != 0)
		fail_msg("%s", err.text);
	pthread_join(thread, NULL);
	bpk_tree_close(second);
	assert_clean();
	assert_true(shell("rm t/.lock && ln -s /tmp/bpk-test-change-lock t/.lock"));
	assert_int_equal(bpk_tree_open(dataset, &plain, &second, &err), -1);
	assert_string_equal(err.text, ".lock: is not a regular file");
	assert_int_equal(access("/tmp/bpk-test-change-lock", F_OK), -1);
	assert_int_equal(bpk_tree_open("/dev/null", &plain, &second, &err), -1);
}

static void *exchange_later(void *tree)
{
	usleep(100000);
	shell("mv t was && mv other t");
	bpk_tree_close(tree);
	return NULL;
}

/* The directory at the path after waiting is changed, not the one before. */
static void test_replaced_meanwhile(void **state)
{
	const struct bpk_edit_options wait = { .wait = true };
	struct bpk_tree *first, *second;
	struct bpk_err err = { 0 };
	pthread_t thread;

	(void)state;
	make();
	assert_true(shell("cp -a t other && printf other > other/data/1"));
	first = open_tree();
	assert_int_equal(pthread_create(&thread, NULL, exchange_later, first), 0);
	if (bpk_tree_open(dataset, &wait, &second, &err) != 0)
		fail_msg("%s", err.text);
	pthread_join(thread, NULL);
	assert_string_equal(content(bpk_tree_dir(second), "data/1"), "other");
	bpk_tree_close(second);
	shell("rm -r was");
}

static void test_left_behind(void **state)
{
	char path[200];
	int fd;

	(void)state;
	make();
	assert_true(shell("cd t && : > .bpkj.bpk-000000 && : > ..bpkj.bpk-000000 && "
			  ": > data/x/.1.bpk-000012 && : > data/.2.bpk-000001 && "
			  "mkdir data/.d.bpk-000000 && : > data/.d.bpk-000000/.1.bpk-000000 && "
			  "ln -s 1 data/.l.bpk-000000 && : > data/.1.bpk-0000000"));
	snprintf(path, sizeof path, "%s/data/.2.bpk-000001", dataset);
	fd = open(path, O_RDWR);
	assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
	bpk_tree_close(open_tree());
	assert_true(shell("cd t && test ! -e .bpkj.bpk-000000 -a ! -e ..bpkj.bpk-000000 -a "
			  "! -e data/x/.1.bpk-000012 -a -e data/.2.bpk-000001 -a "
			  "-e data/.d.bpk-000000/.1.bpk-000000 -a -L data/.l.bpk-000000 -a "
			  "-e data/.1.bpk-0000000"));
	close(fd);
	bpk_tree_close(open_tree());
	assert_true(shell("test ! -e t/data/.2.bpk-000001"));
}

/* ---- Lists ---- */

/* Write t/.bpkj with these lines; count and checksum fit unless stated otherwise. */
static void write_list(const char *lines, int count, uint32_t flip)
{
	char path[200], text[20000];
	struct stat root;
	FILE *file;
	int size;

	assert_int_equal(stat(dataset, &root), 0);
	size = snprintf(text, sizeof text, "bpk changes 3\t%d\nroot\t%ju\t%ju\t0\n%s", count,
			(uintmax_t)root.st_dev, (uintmax_t)root.st_ino, lines);
	snprintf(path, sizeof path, "%s/.bpkj", dataset);
	file = fopen(path, "wb");
	assert_non_null(file);
	fprintf(file, "%scrc32\t%08x\n", text,
		(unsigned)(crc32(0, (const unsigned char *)text, (unsigned)size) ^ flip));
	assert_int_equal(fclose(file), 0);
}

/* The numbers of the list's line for a file of the dataset, each with a TAB behind it. */
static const char *numbers(const char *name, bool is_new)
{
	static char texts[8][100];
	static unsigned next;
	char *text = texts[next++ % 8], path[200];
	struct stat found;

	snprintf(path, sizeof path, "%s/%s", dataset, name);
	if (lstat(path, &found) != 0)
		return "0\t0\t";
	if (is_new)
		snprintf(text, 100, "%ju\t%ju\t%jd%09ld\t", (uintmax_t)found.st_ino,
			 (uintmax_t)found.st_size, (intmax_t)found.st_mtim.tv_sec,
			 found.st_mtim.tv_nsec);
	else
		snprintf(text, 100, "%ju\t%jd%09ld\t", (uintmax_t)found.st_ino,
			 (intmax_t)found.st_ctim.tv_sec, found.st_ctim.tv_nsec);
	return text;
}

#define DRAFTS "printf new > t/data/.1.bpk-000000 && printf more > t/data/.3.bpk-000000"

/* Write the drafts, and the list that a writer makes then. */
static void leave_list(void)
{
	char lines[1000];

	assert_true(shell(DRAFTS));
	snprintf(lines, sizeof lines,
		 "+\t%s%sdata/.1.bpk-000000\tdata/1\n"
		 "+\t%s%sdata/.3.bpk-000000\tdata/3\n"
		 "-\t%sdata/2\n",
		 numbers("data/.1.bpk-000000", true), numbers("data/1", false),
		 numbers("data/.3.bpk-000000", true), numbers("data/3", false),
		 numbers("data/2", false));
	write_list(lines, 3, 0);
}

static struct bpk_dir *open_dir(void)
{
	struct bpk_err err = { 0 };
	struct bpk_dir *dir;

	if (bpk_dir_open(dataset, NULL, &dir, &err) != 0)
		fail_msg("%s", err.text);
	return dir;
}

static void test_through_the_list(void **state)
{
	enum bpk_entry entry;
	struct bpk_dir *dir;
	uint64_t size;

	(void)state;
	make();
	dir = open_dir();
	assert_seen(dir, "old", "old", "-", "old");
	assert_true(shell(DRAFTS));
	assert_seen(dir, "old", "old", "-", "old");
	leave_list(); /* appears while the directory is open */
	assert_seen(dir, "new", "-", "more", "old");
	bpk_dir_close(dir);

	dir = open_dir();
	assert_true(bpk_dir_pending(dir));
	assert_seen(dir, "new", "-", "more", "old");
	assert_int_equal(bpk_dir_look(dir, "data/3", &entry, &size, NULL), 0);
	assert_int_equal(entry, BPK_ENTRY_FILE);
	assert_int_equal(size, 4);
	assert_int_equal(bpk_dir_look(dir, "data/2", &entry, &size, NULL), 0);
	assert_int_equal(entry, BPK_ENTRY_NONE);
	assert_string_equal(listing(dir, "data"), "1f 3f xd ");
	assert_string_equal(listing(dir, ""), "datad metad ");
	assert_true(shell("test -e t/data/2 -a -e t/.bpkj"));
	/* half applied */
	assert_true(shell("mv t/data/.1.bpk-000000 t/data/1"));
	assert_seen(dir, "new", "-", "more", "old");
	bpk_dir_close(dir);

	bpk_tree_close(open_tree()); /* applies it */
	dir = open_dir();
	assert_false(bpk_dir_pending(dir));
	assert_seen(dir, "new", "-", "more", "old");
	bpk_dir_close(dir);
	assert_clean();
	assert_true(shell("test ! -e t/data/2 && grep -q more t/data/3"));
}

/* A file that was opened is outdated once the list exists, applied or not. */
static bool is_current(struct bpk_dir *dir, const char *name, const struct bpk_source *source)
{
	bool current;

	assert_int_equal(bpk_dir_is_current(dir, name, source, &current, NULL), 0);
	return current;
}

static void test_old_by_the_list(void **state)
{
	struct bpk_source *replaced, *removed, *kept;
	struct bpk_dir *dir;

	(void)state;
	make();
	dir = open_dir();
	assert_int_equal(bpk_dir_source(dir, "data/1", &replaced, NULL), 0);
	assert_int_equal(bpk_dir_source(dir, "data/2", &removed, NULL), 0);
	assert_int_equal(bpk_dir_source(dir, "meta/sizes", &kept, NULL), 0);
	assert_true(shell(DRAFTS));
	assert_true(is_current(dir, "data/1", replaced));
	assert_true(is_current(dir, "data/2", removed));
	leave_list();
	assert_false(is_current(dir, "data/1", replaced));
	assert_false(is_current(dir, "data/2", removed));
	assert_true(is_current(dir, "meta/sizes", kept));
	bpk_source_close(replaced);
	assert_int_equal(bpk_dir_source(dir, "data/1", &replaced, NULL), 0);
	assert_true(is_current(dir, "data/1", replaced));
	bpk_source_close(replaced);
	bpk_source_close(removed);
	bpk_source_close(kept);
	bpk_dir_close(dir);
}

/* A file that was opened as a draft is the same one under its name. */
static void test_list_carried_out(void **state)
{
	struct bpk_source *source;
	struct bpk_dir *dir;
	bool overwritten;

	(void)state;
	make();
	leave_list();
	dir = open_dir();
	assert_int_equal(bpk_dir_source(dir, "data/1", &source, NULL), 0);
	usleep(20000); /* a rename in the same tick would leave the times */
	bpk_tree_close(open_tree());
	assert_clean();
	assert_int_equal(bpk_source_is_overwritten(source, &overwritten, NULL), 0);
	assert_false(overwritten);
	assert_true(is_current(dir, "data/1", source));
	bpk_source_close(source);
	bpk_dir_close(dir);
}

static void *commit_later(void *tree)
{
	usleep(100000);
	commit(tree, NULL);
	bpk_tree_close(tree);
	return NULL;
}

/* A file stays current or not once the writer has ended or committed. */
static void test_half_a_commit(void **state)
{
	void *(*const ends[])(void *tree) = { close_later, commit_later };
	struct bpk_source *source;
	struct bpk_dir *dir;
	pthread_t thread;
	bool current;

	(void)state;
	make();
	dir = open_dir();
	assert_int_equal(bpk_dir_source(dir, "data/1", &source, NULL), 0);
	for (int commits = 0; commits < 2; commits++) {
		struct bpk_tree *tree = open_tree();

		stage(tree, "data/1", "later");
		assert_int_equal(pthread_create(&thread, NULL, ends[commits], tree), 0);
		assert_int_equal(bpk_dir_stays_current(dir, "data/1", source, &current, NULL), 0);
		assert_int_equal(current, !commits);
		pthread_join(thread, NULL);
	}
	bpk_source_close(source);
	bpk_dir_close(dir);
}

static void test_living_writer(void **state)
{
	struct bpk_tree *tree;
	struct bpk_dir *dir;

	(void)state;
	make();
	tree = open_tree();
	leave_list();
	dir = open_dir();
	assert_false(bpk_dir_pending(dir));
	assert_seen(dir, "new", "-", "more", "old");
	assert_true(shell("test -e t/.bpkj"));
	bpk_dir_close(dir);
	bpk_tree_close(tree);
	bpk_tree_close(open_tree());
	assert_clean();
	assert_true(shell("test ! -e t/data/2 && grep -q more t/data/3"));
}

/* Numbers that fit no file. */
#define ADD "+\t7\t3\t1\t8\t1\t"
#define DEL "-\t8\t1\t"

static void test_hostile_lists(void **state)
{
	static const struct {
		const char *lines;
		int count;
	} bad[] = {
		{ "", 0 },
		{ DEL "data/2\n", 2 },
		{ DEL "data/2\n" DEL "data/1\n", 1 },
		{ DEL "data/2\n", -1 },
		{ DEL "data/2\n", 2147483647 },
		{ DEL "../outside\n", 1 },
		{ DEL "/etc/hostname\n", 1 },
		{ DEL "\n", 1 },
		{ "-data/2\n", 1 },
		{ DEL "data/2", 1 },
		{ DEL "data/2\r\n", 1 },
		{ DEL ".lock\n", 1 },
		{ DEL ".bpkj\n", 1 },
		{ DEL "data/.1.bpk-000000\n", 1 },
		{ DEL "data/2\n" DEL "data/2\n", 2 },
		{ "*\tdata/2\n", 1 },
		{ ADD "data/2\tdata/1\n", 1 },
		{ ADD "meta/.1.bpk-000000\tdata/1\n", 1 },
		{ ADD "data/../.1.bpk-000000\tdata/../1\n", 1 },
		{ ADD "../.1.bpk-000000\t../outside\n", 1 },
		{ "+\tx\t3\t1\t8\t1\tdata/.1.bpk-000000\tdata/1\n", 1 },
		{ "+\t7\t-3\t1\t8\t1\tdata/.1.bpk-000000\tdata/1\n", 1 },
		{ "+\t7\t99999999999999999999\t1\t8\t1\tdata/.1.bpk-000000\tdata/1\n", 1 },
		{ ADD "data/.1.bpk-000000\n", 1 },
		{ "+\t7\t3\n", 1 },
		{ "+\t7\t3\t1\t8\tdata/.1.bpk-000000\tdata/1\n", 1 },
		{ "-\tdata/2\n", 1 },
		{ "-\t8\tdata/2\n", 1 },
		{ "+\n", 1 },
		{ "\n", 1 },
	};
	struct bpk_err err = { 0 };
	struct bpk_tree *tree;
	struct bpk_dir *dir;

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		make();
		assert_true(shell("printf secret > outside && " DRAFTS));
		write_list(bad[i].lines, bad[i].count, 0);
		if (bpk_dir_open(dataset, NULL, &dir, &err) == 0)
			fail_msg("list %zu was believed", i);
		assert_int_equal(err.kind, BPK_CORRUPT);
		assert_int_equal(strncmp(err.text, ".bpkj: ", 7), 0);
		assert_int_equal(bpk_tree_open(dataset, &plain, &tree, &err), -1);
		assert_int_equal(err.kind, BPK_CORRUPT);
		assert_true(shell("grep -q old t/data/1 && grep -q old t/data/2 && "
				  "grep -q secret outside && test -e t/data/.1.bpk-000000"));
	}
	write_list(DEL "data/2\n", 1, 1);
	assert_int_equal(bpk_dir_open(dataset, NULL, &dir, &err), -1);
	assert_string_equal(err.text, ".bpkj: does not match its checksum");
	for (int size = 14; size < 100; size += 7) {
		char line[100];

		leave_list();
		snprintf(line, sizeof line, "truncate -s %d t/.bpkj", size);
		assert_true(shell(line));
		assert_int_equal(bpk_dir_open(dataset, NULL, &dir, &err), -1);
		assert_int_equal(err.kind, BPK_CORRUPT);
	}
	shell("rm outside");
}

static bool owns_data(const char *name)
{
	return strncmp(name, "data/", 5) == 0;
}

/* A list for another directory is reported, but neither read through nor applied. */
static void assert_unused(const char *words)
{
	const struct bpk_edit_options with = { .owns = owns_data };
	struct bpk_err err = { 0 };
	struct bpk_tree *tree;
	struct bpk_dir *dir;

	assert_true(shell("cd t && find . ! -name .lock -exec ls -id {} + | sort > ../before"));
	assert_int_equal(bpk_dir_open(dataset, owns_data, &dir, &err), 0);
	assert_false(bpk_dir_pending(dir));
	assert_non_null(bpk_dir_remark(dir));
	if (strstr(bpk_dir_remark(dir), words) == NULL)
		fail_msg("\"%s\" does not say \"%s\"", bpk_dir_remark(dir), words);
	assert_seen(dir, "old", "old", "-", "old");
	bpk_dir_close(dir);
	assert_int_equal(bpk_tree_open(dataset, &with, &tree, &err), -1);
	assert_int_equal(err.kind, BPK_FAILED);
	if (strstr(err.text, words) == NULL)
		fail_msg("\"%s\" does not say \"%s\"", err.text, words);
	assert_true(
		shell("cd t && find . ! -name .lock -exec ls -id {} + | sort | cmp - ../before"));
}

static void test_lists_not_about_it(void **state)
{
	(void)state;
	make();
	leave_list();
	assert_true(shell("cp -a t u && rm -r t && mkdir hold && mv u t"));
	assert_unused("its list of changes .bpkj is not used: it was made for inode ");
	write_list(DEL "notes\n", 1, 0);
	assert_unused("it names notes, which is no part of a dataset");
	assert_true(shell("sed -i 's/changes 3/changes 2/' t/.bpkj"));
	assert_unused("it is of an older version");
	assert_true(shell("echo notes > t/.bpkj"));
	assert_unused("it is not a list of changes");
	assert_true(shell(": > t/.bpkj"));
	assert_unused("it is not a list of changes");
	assert_true(shell("rm t/.bpkj && ln -s data/1 t/.bpkj"));
	assert_unused("it is not a regular file");
	alarm(20);
	assert_true(shell("rm t/.bpkj && mkfifo t/.bpkj"));
	assert_unused("it is not a regular file");
	alarm(0);
	assert_true(shell("rm t/.bpkj; rmdir hold"));
	if (geteuid() == 0) {
		leave_list();
		assert_true(shell("chown 65534 t/.bpkj"));
		assert_unused("it belongs to user 65534, the directory to user 0");
	}
	shell("rm before");
}

/* Files that root creates in another user's dataset belong to that user; others' drafts stay. */
static void test_another_owner(void **state)
{
	struct bpk_tree *tree;

	(void)state;
	if (geteuid() != 0)
		skip();
	make();
	assert_true(shell("chown -R 65534 t && chmod 777 t && " DRAFTS " && : > t/.a.bpk-000000 && "
			  ": > t/.b.bpk-000000 && chown 65533 t/.b.bpk-000000"));
	leave_list();
	assert_true(shell("chown 65534 t/.bpkj"));
	tree = open_tree();
	assert_true(shell("grep -q more t/data/3 && test ! -e t/.bpkj -a ! -e t/.a.bpk-000000 -a "
			  "-e t/.b.bpk-000000 && rm t/.b.bpk-000000"));
	stage(tree, "data/1", "a");
	stage(tree, "data/2", "b");
	commit(tree, NULL);
	bpk_tree_close(tree);
	assert_clean();
}

static int claims_nothing(const struct bpk_place *place, bool *claimed, struct bpk_err *err)
{
	(void)err;
	assert_seen(place->directory, "new", "-", "more", "old");
	*claimed = false;
	return 0;
}

static void test_claimed_first(void **state)
{
	const struct bpk_edit_options claiming = { .claims = claims_nothing };
	struct bpk_err err = { 0 };
	struct bpk_tree *tree;

	(void)state;
	make();
	leave_list();
	assert_int_equal(bpk_tree_open(dataset, &claiming, &tree, &err), -1);
	assert_string_equal(err.text, "is no longer a dataset of that format");
	assert_true(shell("test ! -e t/.lock -a -e t/.bpkj -a -e t/data/2"));
}

#define CARRY_1 "mv t/data/.1.bpk-000000 t/data/1; "

/*
 * Someone else has written to a file since the list was made: nothing is replaced or removed. A
 * directory that may be half changed is torn. The last three change nothing that the list is about.
 */
static void test_lists_that_do_not_fit(void **state)
{
	static const struct {
		const char *what;
		bool is_torn, fits;
	} cases[] = {
		{ "printf newer > t/data/.1.bpk-000000", false, false },
		{ "cp t/data/.1.bpk-000000 x; mv x t/data/.1.bpk-000000", false, false },
		{ "rm t/data/.1.bpk-000000", false, false },
		{ "rm t/data/.1.bpk-000000; printf older > t/data/1", true, false },
		{ "rm t/data/.1.bpk-000000 && ln -s ../../outside t/data/.1.bpk-000000", false,
		  false },
		{ "rm t/data/.1.bpk-000000 && mkdir t/data/.1.bpk-000000", false, false },
		{ "mv t/data t/moved && ln -s moved t/data", false, false },
		{ "rm t/data/1 && mkdir t/data/1", false, false },
		{ "cp -p t/data/1 x; cp -p x t/data/1", false, false },
		{ "cp -p t/data/2 x; cp -p x t/data/2", false, false },
		{ "cp -p t/data/2 x; mv x t/data/2", false, false },
		{ "rm t/data/1", false, false },
		{ "printf more > t/data/3", false, false },
		{ CARRY_1 "printf old > t/data/1", true, false },
		{ CARRY_1 "cp -p t/data/1 x; mv x t/data/1", true, false },
		{ CARRY_1 "printf old > t/data/2", true, false },
		{ "rm t/data/2; cp -p t/data/1 x; cp -p x t/data/1", true, false },
		{ "rm t/data/2; chmod 600 t/data/.3.bpk-000000", false, true },
		{ CARRY_1 "chmod 600 t/data/1; printf new > t/meta/sizes", false, true },
		{ "cp t/data/1 x", false, true },
	};
	struct bpk_err err = { 0 };
	struct bpk_tree *tree;
	struct bpk_dir *dir;

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		make();
		assert_true(shell("printf abc > outside"));
		leave_list();
		assert_true(shell(cases[i].what));
		assert_true(shell("rm -f x; tar -cf before t"));
		dir = open_dir();
		assert_int_equal(bpk_dir_pending(dir), cases[i].fits);
		assert_int_equal(bpk_dir_remark(dir) == NULL, cases[i].fits);
		assert_int_equal(bpk_dir_is_torn(dir), cases[i].is_torn);
		bpk_dir_close(dir);
		if ((bpk_tree_open(dataset, &plain, &tree, &err) == 0) != cases[i].fits)
			fail_msg("list %zu: %s", i, cases[i].fits ? err.text : "was carried out");
		if (cases[i].fits) {
			assert_string_equal(content(bpk_tree_dir(tree), "data/1"), "new");
			assert_string_equal(content(bpk_tree_dir(tree), "data/2"), "-");
			assert_string_equal(content(bpk_tree_dir(tree), "data/3"), "more");
			bpk_tree_close(tree);
			continue;
		}
		assert_int_equal(err.kind, cases[i].is_torn ? BPK_CORRUPT : BPK_FAILED);
		if (strstr(err.text, " was changed since it was made") == NULL)
			fail_msg("list %zu: %s", i, err.text);
		assert_true(shell("rm t/.lock; tar -df before t && grep -q abc outside"));
	}
	shell("rm -f outside before");
}

/* By the user's word the sizes alone count. */
static void test_any_list(void **state)
{
	const struct bpk_edit_options any = { .any_journal = true };
	struct bpk_err err = { 0 };
	struct bpk_tree *tree;

	(void)state;
	make();
	leave_list();
	assert_true(shell(CARRY_1 "printf one > t/data/1 && printf two > t/data/2"));
	if (bpk_tree_open(dataset, &any, &tree, &err) != 0)
		fail_msg("%s", err.text);
	assert_seen(bpk_tree_dir(tree), "one", "-", "more", "old");
	bpk_tree_close(tree);
	assert_clean();
	make();
	leave_list();
	assert_true(shell(CARRY_1 "printf longer > t/data/1"));
	assert_int_equal(bpk_tree_open(dataset, &any, &tree, &err), -1);
	assert_true(shell("test -e t/data/2 -a -e t/.bpkj && rm t/.bpkj"));
}

/* ---- Concurrent writers ---- */

struct writer {
	pthread_t thread;
	atomic_bool stop;
	bool sound;
};

/* data/1, data/2 and data/3 always hold one number, larger than before. The drafts of a change have
 * the names of earlier ones, and are empty for a while. */
static void *write_on(void *arg)
{
	const struct bpk_edit_options options = { .sync = false };
	struct writer *writer = arg;
	struct bpk_tree *tree;
	char text[20];

	writer->sound = bpk_tree_open(dataset, &options, &tree, NULL) == 0;
	for (int n = 1; writer->sound && !atomic_load(&writer->stop); n++) {
		snprintf(text, sizeof text, "%09d", n);
		writer->sound = put(tree, "data/3", text, NULL) == 0 &&
				put(tree, "data/1", text, NULL) == 0 &&
				put(tree, "data/2", text, NULL) == 0 &&
				bpk_tree_commit(tree, NULL, NULL) == 0;
	}
	bpk_tree_close(tree);
	return NULL;
}

static void test_readers_meanwhile(void **state)
{
	static const char *const names[] = { "data/1", "data/2", "data/3", "data/2", "data/1" };
	struct writer writer = { 0 };
	struct bpk_dir *dir;
	int last = 0, changes = 0;

	(void)state;
	make();
	assert_true(shell("for i in 1 2 3; do printf 000000000 > t/data/$i; done"));
	dir = open_dir();
	assert_int_equal(pthread_create(&writer.thread, NULL, write_on, &writer), 0);
	for (int i = 0; i < 60000; i++) {
		const char *text = content(dir, names[i % 5]);
		int number = atoi(text);

		if (strlen(text) != 9 || number < last)
			fail_msg("%s: %s after %d", names[i % 5], text, last);
		changes += number > last;
		last = number;
	}
	atomic_store(&writer.stop, true);
	pthread_join(writer.thread, NULL);
	bpk_dir_close(dir);
	assert_true(writer.sound);
	assert_true(changes > 1);
	assert_clean();
}

static int drop_all_in_child(void)
{
	struct bpk_tree *tree = open_tree();
	struct bpk_draft *draft;

	stage(tree, "data/1", "new");
	stage(tree, "data/2", "new");
	if (bpk_tree_draft(tree, "data/3", &draft, NULL) != 0)
		return 1;
	bpk_draft_drop_all();
	if (!shell("test -z \"$(find . -name '.*' ! -name . ! -name .lock)\""))
		return 2;
	if (bpk_tree_stage(tree, draft, NULL) == 0 || bpk_tree_commit(tree, NULL, NULL) == 0)
		return 3;
	bpk_tree_close(tree);
	return shell("grep -q old t/data/1") ? 0 : 4;
}

static void test_all_dropped(void **state)
{
	int status = -1;
	pid_t child;

	(void)state;
	make();
	fflush(stdout);
	child = fork();
	if (child == 0)
		_exit(drop_all_in_child());
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	assert_clean();
}

static int make_folder(void **state)
{
	(void)state;
	if (mkdtemp(folder) == NULL)
		return -1;
	snprintf(dataset, sizeof dataset, "%s/t", folder);
	return 0;
}

static int remove_folder(void **state)
{
	(void)state;
	shell("rm -r t");
	return rmdir(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_commits),
		cmocka_unit_test(test_forgotten),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_one_writer),
		cmocka_unit_test(test_replaced_meanwhile),
		cmocka_unit_test(test_left_behind),
		cmocka_unit_test(test_through_the_list),
		cmocka_unit_test(test_old_by_the_list),
		cmocka_unit_test(test_list_carried_out),
		cmocka_unit_test(test_half_a_commit),
		cmocka_unit_test(test_living_writer),
		cmocka_unit_test(test_hostile_lists),
		cmocka_unit_test(test_lists_not_about_it),
		cmocka_unit_test(test_another_owner),
		cmocka_unit_test(test_claimed_first),
		cmocka_unit_test(test_lists_that_do_not_fit),
		cmocka_unit_test(test_any_list),
		cmocka_unit_test(test_readers_meanwhile),
		cmocka_unit_test(test_all_dropped),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
