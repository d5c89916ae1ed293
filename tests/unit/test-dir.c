/*
 * Reading directories. Each test runs twice: with openat2, and part by part after a seccomp filter
 * has made openat2 fail as on an old kernel.
 */
#include "unit/unit.h"

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
#include <sys/sysmacros.h>
#include <unistd.h>

#include "io/io.h"

static char folder[] = "/tmp/bpk-test-dir-XXXXXX";

static void in_shell(const char *command)
{
	char line[2000];

	snprintf(line, sizeof line, "cd %s && { %s; }", folder, command);
	assert_int_equal(system(line), 0);
}

static struct bpk_dir *open_dir(const char *name)
{
	struct bpk_err err = { 0 };
	struct bpk_dir *dir;
	char path[300];

	snprintf(path, sizeof path, "%s/%s", folder, name);
	if (bpk_dir_open(path, NULL, &dir, &err) != 0)
		fail_msg("%s: %s", path, err.text);
	return dir;
}

/* The content of name, or the error line; static storage. */
static const char *content(struct bpk_dir *dir, const char *name)
{
	static char text[BPK_ERR_TEXT];
	struct bpk_source *source;
	struct bpk_err err = { 0 };
	size_t got;

	if (bpk_dir_source(dir, name, &source, &err) != 0) {
		assert_null(source);
		memcpy(text, err.text, sizeof text);
		return text;
	}
	assert_true(bpk_source_seekable(source));
	assert_int_equal(bpk_source_read_at(source, 0, bpk_span((uint8_t *)text, sizeof text - 1),
					    &got, &err),
			 0);
	assert_int_equal(got, bpk_source_size(source));
	text[got] = '\0';
	bpk_source_close(source);
	return text;
}

static enum bpk_entry look(struct bpk_dir *dir, const char *name)
{
	struct bpk_err err = { 0 };
	enum bpk_entry entry;
	uint64_t size;

	if (bpk_dir_look(dir, name, &entry, &size, &err) != 0)
		fail_msg("%s", err.text);
	return entry;
}

static int note(void *arg, const char *entry_name, enum bpk_entry entry)
{
	char *text = arg;

	snprintf(text + strlen(text), BPK_ERR_TEXT - strlen(text), "%s%c ", entry_name,
		 "?fd!"[entry]);
	return strcmp(entry_name, "stop") == 0 ? 7 : 0;
}

/* Entries as "NAMEkind ", or the error line. */
static const char *listing(struct bpk_dir *dir, const char *name)
{
	static char text[BPK_ERR_TEXT];
	struct bpk_err err = { 0 };

	text[0] = '\0';
	if (bpk_dir_list(dir, name, note, text, &err) < 0)
		memcpy(text, err.text, sizeof text);
	return text;
}

static void test_reading(void **state)
{
	struct bpk_dir *dir;
	enum bpk_entry entry;
	uint64_t size;

	(void)state;
	in_shell("mkdir -p r/data/x/y r/meta && printf abc > r/data/x/y/__1__.bin && "
		 "printf '{}' > r/meta/sizes && : > r/meta/empty && ln -s r link");
	dir = open_dir("r");
	assert_string_equal(content(dir, "data/x/y/__1__.bin"), "abc");
	assert_string_equal(content(dir, "meta/sizes"), "{}");
	assert_string_equal(content(dir, "meta/empty"), "");
	assert_string_equal(content(dir, "meta/none"), "meta/none: is missing");
	assert_string_equal(content(dir, "meta/sizes/x"), "meta/sizes/x: is missing");
	assert_string_equal(content(dir, "meta"), "meta: is not a regular file");
	assert_int_equal(bpk_dir_look(dir, "data/x/y/__1__.bin", &entry, &size, NULL), 0);
	assert_int_equal(entry, BPK_ENTRY_FILE);
	assert_int_equal(size, 3);
	assert_int_equal(look(dir, ""), BPK_ENTRY_DIRECTORY);
	assert_int_equal(look(dir, "data/x"), BPK_ENTRY_DIRECTORY);
	assert_int_equal(look(dir, "data/z"), BPK_ENTRY_NONE);
	assert_int_equal(look(dir, "meta/sizes/x"), BPK_ENTRY_NONE);
	assert_false(bpk_dir_pending(dir));
	bpk_dir_close(dir);
	dir = open_dir("link"); /* the path itself may be a link */
	assert_string_equal(content(dir, "meta/sizes"), "{}");
	bpk_dir_close(dir);
	bpk_dir_close(NULL);
	in_shell("rm -r r link");
}

static void test_listing(void **state)
{
	struct bpk_dir *dir;
	char text[BPK_ERR_TEXT] = "";

	(void)state;
	in_shell("mkdir -p l/b l/b/d && cd l && : > a && : > B && : > __10__.bin && "
		 ": > __9__.bin && ln -s a link && mkfifo fifo && : > .lock && "
		 ": > .a.bpk-000000 && mkdir .b.bpk-000012 && : > .a.bpk-00000 && : > .x && "
		 ": > .bpk-000000 && : > b/.lock && : > b/.q.bpk-000000");
	dir = open_dir("l");
	assert_string_equal(listing(dir, ""), ".a.bpk-00000f .bpk-000000f .xf Bf __10__.binf "
					      "__9__.binf af bd fifo! link! ");
	assert_string_equal(listing(dir, "b"), ".lockf dd ");
	assert_string_equal(listing(dir, "b/d"), "");
	assert_string_equal(listing(dir, "a"), "a: is not a directory");
	assert_string_equal(listing(dir, "link"), "link: is not a directory");
	assert_string_equal(listing(dir, "none"), "none: is not a directory");
	in_shell("mkdir l/c && : > l/c/a && : > l/c/stop && : > l/c/z");
	assert_int_equal(bpk_dir_list(dir, "c", note, text, NULL), 7);
	assert_string_equal(text, "af stopf ");
	bpk_dir_close(dir);
	in_shell("rm -r l");
}

static void test_hostile_names(void **state)
{
	static const char *const bad[] = {
		"",
		".",
		"..",
		"/",
		"/etc/passwd",
		"../outside",
		"in/../../outside",
		"in//x",
		"in/./x",
		"in/x/",
		"in/..",
		"./in/x",
		"in/x\n",
		"in/\033[2Jx",
		"in/\177",
		"//in/x",
	};
	struct bpk_err err = { 0 };
	struct bpk_source *source;
	enum bpk_entry entry;
	struct bpk_dir *dir;
	char name[5000];
	uint64_t size;

	(void)state;
	in_shell("mkdir -p h/in && : > h/in/x && printf secret > outside");
	dir = open_dir("h");
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		assert_int_equal(bpk_dir_source(dir, bad[i], &source, &err), -1);
		assert_null(source);
		assert_int_equal(err.kind, BPK_CORRUPT);
		assert_null(strchr(err.text, '\033'));
		if (bad[i][0] == '\0')
			continue; /* the root */
		assert_int_equal(bpk_dir_look(dir, bad[i], &entry, &size, &err), -1);
		assert_int_equal(bpk_dir_list(dir, bad[i], note, name, &err), -1);
	}
	memset(name, 'n', sizeof name);
	name[256] = '\0';
	assert_int_equal(bpk_dir_source(dir, name, &source, &err), -1);
	assert_non_null(strstr(err.text, "more than 255 bytes"));
	name[255] = '\0';
	assert_int_equal(look(dir, name), BPK_ENTRY_NONE);
	for (size_t i = 0; i < sizeof name; i++)
		name[i] = i % 2 ? '/' : 'n';
	name[sizeof name - 2] = '\0';
	assert_int_equal(bpk_dir_source(dir, name, &source, &err), -1);
	assert_non_null(strstr(err.text, "is too long"));
	bpk_dir_close(dir);
	in_shell("rm -r h outside");
}

/* Files that are not regular are not opened; the alarm fires if an open blocks. */
static void test_what_is_no_file(void **state)
{
	struct bpk_dir *dir;

	(void)state;
	in_shell("mkdir -p o/d s && printf secret > s/f && cd o && ln -s ../s d/up && "
		 "ln -s ../../s/f d/f && ln -s f d/f2 && mkfifo d/fifo && ln -s . d/self && "
		 "ln -s \"$PWD/../s\" d/abs && ln -s none d/dangling && ln -s loop d/loop && "
		 "ln -s /proc/self/root d/magic && ln -s ../d d/inside && printf x > d/x");
	alarm(20);
	dir = open_dir("o");
	assert_string_equal(content(dir, "d/f"), "d/f: is not a regular file");
	assert_string_equal(content(dir, "d/f2"), "d/f2: is not a regular file");
	assert_string_equal(content(dir, "d/dangling"), "d/dangling: is not a regular file");
	assert_string_equal(content(dir, "d/loop"), "d/loop: is not a regular file");
	assert_string_equal(content(dir, "d/fifo"), "d/fifo: is not a regular file");
	assert_null(strstr(content(dir, "d/up/f"), "secret"));
	assert_null(strstr(content(dir, "d/abs/f"), "secret"));
	assert_string_not_equal(content(dir, "d/self/x"), "x");
	assert_string_not_equal(content(dir, "d/inside/x"), "x");
	assert_non_null(strstr(content(dir, "d/magic/etc/passwd"), "d/magic/etc/passwd: "));
	assert_non_null(strstr(content(dir, "d/fifo/x"), "d/fifo/x: "));
	assert_int_equal(look(dir, "d/fifo"), BPK_ENTRY_OTHER);
	assert_int_equal(look(dir, "d/f"), BPK_ENTRY_OTHER);
	assert_int_equal(look(dir, "d/dangling"), BPK_ENTRY_OTHER);
	assert_int_not_equal(look(dir, "d/up/f"), BPK_ENTRY_FILE);
	assert_string_equal(listing(dir, "d/inside"), "d/inside: is not a directory");
	if (mknod("/tmp/bpk-test-dir-null", S_IFCHR | 0600, makedev(1, 3)) == 0) {
		in_shell("mv /tmp/bpk-test-dir-null o/d/null");
		assert_string_equal(content(dir, "d/null"), "d/null: is not a regular file");
		assert_int_equal(look(dir, "d/null"), BPK_ENTRY_OTHER);
	}
	bpk_dir_close(dir);
	alarm(0);
	in_shell("rm -r o s");
}

/* d/f and d/g are exchanged for links and FIFOs while they are read. */
struct swapper {
	pthread_t thread;
	atomic_bool stop;
	int root;
	const char *a, *b;
};

static void *swap(void *arg)
{
	struct swapper *swapper = arg;

	while (!atomic_load(&swapper->stop))
		renameat2(swapper->root, swapper->a, swapper->root, swapper->b, RENAME_EXCHANGE);
	return NULL;
}

static void race(const char *a, const char *b)
{
	struct swapper swapper = { .a = a, .b = b };
	struct bpk_dir *dir = open_dir("w");
	char path[100];
	int whole = 0, refused = 0;

	snprintf(path, sizeof path, "%s/w", folder);
	swapper.root = open(path, O_PATH | O_DIRECTORY);
	assert_int_equal(pthread_create(&swapper.thread, NULL, swap, &swapper), 0);
	for (int i = 0; i < 4000 || (i < 400000 && (whole == 0 || refused == 0)); i++) {
		const char *found = content(dir, "d/f");

		assert_null(strstr(found, "secret"));
		assert_null(strstr(listing(dir, "d"), "secretf"));
		if (strcmp(found, "inside") == 0)
			whole++;
		else
			refused++;
	}
	atomic_store(&swapper.stop, true);
	pthread_join(swapper.thread, NULL);
	close(swapper.root);
	bpk_dir_close(dir);
	assert_true(whole > 0 && refused > 0);
}

static void test_swaps(void **state)
{
	(void)state;
	in_shell("mkdir -p w/d out && printf inside > w/d/f && printf secret > out/f && "
		 ": > out/secret && ln -s ../out w/e && ln -s ../../out/f w/l && mkfifo w/p");
	alarm(60);
	race("d", "e");
	in_shell("test -d w/d -a ! -L w/d || { mv w/d w/t; mv w/e w/d; mv w/t w/e; }");
	race("d/f", "l");
	in_shell("test ! -L w/d/f || { mv w/d/f w/t; mv w/l w/d/f; mv w/t w/l; }");
	race("d/f", "p");
	alarm(0);
	in_shell("rm -r w out");
}

static void test_place(void **state)
{
	struct bpk_place place;
	struct bpk_err err = { 0 };
	struct bpk_dir *dir;

	(void)state;
	in_shell("mkdir p && printf x > p/f");
	assert_int_equal(bpk_place_open(folder, NULL, &place, &err), 0);
	assert_true(place.is_directory);
	assert_null(place.source);
	assert_string_equal(content(place.directory, "p/f"), "x");
	bpk_place_close(&place);
	assert_null(place.directory);
	assert_int_equal(bpk_dir_open("/nowhere/at/all", NULL, &dir, &err), -1);
	assert_string_equal(err.text, "cannot open: No such file or directory");
	assert_null(dir);
	in_shell("rm -r p");
}

/* From here on openat2 is missing. */
static void forbid_openat2(void **state)
{
	struct sock_filter rules[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat2, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof rules / sizeof rules[0], rules };

	(void)state;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
		skip();
	assert_int_equal(syscall(SYS_openat2, -1, ".", NULL, 0), -1);
	assert_int_equal(errno, ENOSYS);
}

static int make_folder(void **state)
{
	(void)state;
	return mkdtemp(folder) == NULL ? -1 : 0;
}

static int remove_folder(void **state)
{
	(void)state;
	return rmdir(folder);
}

#define TWICE(test, way)                                                                           \
	{                                                                                          \
#test way, test, NULL, NULL, NULL                                                  \
	}
#define TESTS(way)                                                                                 \
	TWICE(test_reading, way), TWICE(test_listing, way), TWICE(test_hostile_names, way),        \
		TWICE(test_what_is_no_file, way), TWICE(test_swaps, way)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TESTS(""),
		cmocka_unit_test(test_place),
		cmocka_unit_test(forbid_openat2),
		TESTS(", part by part"),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
