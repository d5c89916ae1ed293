/*
 * Writing new directories. Some tests run twice: unchanged, and after a seccomp filter has made
 * renameat2 refuse its flags, as NFS does.
 */
#include "unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "io/io.h"

static char folder[] = "/tmp/bpk-test-tree-XXXXXX";

static bool ours(const char *name)
{
	return strncmp(name, "data/", 5) == 0 || strncmp(name, "meta/", 5) == 0;
}

static const struct bpk_draft_options plain = { .directory = true, .sync = true, .ours = ours };
static const struct bpk_draft_options force = {
	.directory = true, .sync = true, .overwrite = true, .follow_links = true, .ours = ours
};

static const char *in_folder(const char *name)
{
	static char paths[4][300];
	static unsigned next;
	char *path = paths[next++ % 4];

	snprintf(path, sizeof paths[0], "%s/%s", folder, name);
	return path;
}

/* Run in the folder; true on success. */
static bool shell(const char *command)
{
	char line[2000];

	snprintf(line, sizeof line, "cd %s && { %s; } 2>/dev/null", folder, command);
	return system(line) == 0;
}

/* The content of the folder: "NAME=CONTENT " for files, "NAME/ " for directories, "NAME@ " for
 * links. */
static const char *seen(const char *name)
{
	static char text[4000];
	char line[1000];
	FILE *pipe;

	snprintf(line, sizeof line,
		 "cd %s/%s 2>/dev/null && find . -mindepth 1 | LC_ALL=C sort | while read -r f; do "
		 "if [ -L \"$f\" ]; then printf '%%s@ ' \"${f#./}\"; "
		 "elif [ -d \"$f\" ]; then printf '%%s/ ' \"${f#./}\"; else "
		 "printf '%%s=%%s ' \"${f#./}\" \"$(cat \"$f\")\"; fi; done",
		 folder, name);
	pipe = popen(line, "r");
	assert_non_null(pipe);
	text[fread(text, 1, sizeof text - 1, pipe)] = '\0';
	pclose(pipe);
	return text;
}

static struct bpk_draft *open_draft(const char *name, const struct bpk_draft_options *options)
{
	struct bpk_err err = { 0 };
	struct bpk_draft *draft;

	if (bpk_draft_open(in_folder(name), options, &draft, &err) != 0)
		fail_msg("%s: %s", name, err.text);
	assert_non_null(bpk_draft_tree(draft));
	return draft;
}

static void assert_refused(const char *path, const struct bpk_draft_options *options,
			   const char *line)
{
	struct bpk_err err = { 0 };
	struct bpk_draft *draft;

	assert_int_equal(bpk_draft_open(path, options, &draft, &err), -1);
	assert_null(draft);
	assert_string_equal(err.text, line);
}

static int put_file(struct bpk_tree *tree, const char *name, const char *text, struct bpk_err *err)
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

/* A small dataset whose files all hold text. */
static int fill(struct bpk_draft *draft, const char *text, struct bpk_err *err)
{
	struct bpk_tree *tree = bpk_draft_tree(draft);

	return bpk_tree_folder(tree, "meta", err) != 0 ||
			       bpk_tree_folder(tree, "data/x/y", err) != 0 ||
			       put_file(tree, "data/x/y/1", text, err) != 0 ||
			       put_file(tree, "data/2", text, err) != 0 ||
			       put_file(tree, "meta/sizes", text, err) != 0
		       ? -1
		       : 0;
}

static void make(const char *name, const char *text)
{
	struct bpk_err err = { 0 };
	struct bpk_draft *draft = open_draft(name, &force);

	if (fill(draft, text, &err) != 0 || bpk_draft_keep(draft, NULL, &err) != 0)
		fail_msg("%s: %s", name, err.text);
}

#define WHOLE(t) "data/ data/2=" t " data/x/ data/x/y/ data/x/y/1=" t " meta/ meta/sizes=" t " "

static void test_new_one(void **state)
{
	struct bpk_draft *draft = open_draft("new", &plain);
	mode_t mask = umask(027);
	struct bpk_err err = { 0 };
	struct stat found;

	(void)state;
	if (fill(draft, "a", &err) != 0)
		fail_msg("%s", err.text);
	assert_false(shell("test -e new"));
	assert_true(shell("test \"$(stat -c %a .new.bpk-000000)\" = 700"));
	assert_int_equal(bpk_draft_keep(draft, NULL, &err), 0);
	umask(mask);
	assert_string_equal(seen("new"), WHOLE("a"));
	assert_string_equal(seen(""), "new/ new/data/ new/data/2=a new/data/x/ new/data/x/y/ "
				      "new/data/x/y/1=a new/meta/ new/meta/sizes=a ");
	assert_int_equal(stat(in_folder("new"), &found), 0);
	assert_int_equal(found.st_mode & 07777, 0750);
	assert_int_equal(stat(in_folder("new/data/x"), &found), 0);
	assert_int_equal(found.st_mode & 07777, 0750);
	assert_int_equal(stat(in_folder("new/data/x/y/1"), &found), 0);
	assert_int_equal(found.st_mode & 07777, 0640);
	assert_refused(in_folder("new"), &plain, "already exists");
	shell("rm -r new");
}

static void test_dropped(void **state)
{
	struct bpk_draft *draft = open_draft("new//", &plain), *open;
	struct bpk_err err = { 0 };

	(void)state;
	assert_int_equal(fill(draft, "a", &err), 0);
	assert_int_equal(bpk_tree_draft(bpk_draft_tree(draft), "meta/half", &open, &err), 0);
	bpk_draft_drop(open);
	assert_int_equal(put_file(bpk_draft_tree(draft), "meta/half", "x", &err), 0);
	bpk_draft_drop(draft);
	assert_string_equal(seen(""), "");
}

static void test_names(void **state)
{
	static const char *const bad[] = {
		"",     ".",          "..",    "../x",  "/x",
		"a//b", "x/.lock/..", ".lock", ".bpkj", "meta/.sizes.bpk-000000",
		"a\n"
	};
	struct bpk_draft *draft = open_draft("names", &plain), *file;
	struct bpk_tree *tree = bpk_draft_tree(draft);
	struct bpk_err err = { 0 };

	(void)state;
	assert_int_equal(fill(draft, "a", &err), 0);
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		assert_int_equal(bpk_tree_draft(tree, bad[i], &file, &err), -1);
		assert_int_equal(err.kind, BPK_CORRUPT);
		assert_int_equal(bpk_tree_folder(tree, bad[i], &err), -1);
		assert_int_equal(err.kind, BPK_CORRUPT);
	}
	assert_int_equal(bpk_tree_draft(tree, "meta/sizes", &file, &err), -1);
	assert_string_equal(err.text, "meta/sizes: cannot be created: File exists");
	assert_int_equal(bpk_tree_draft(tree, "none/x", &file, &err), -1);
	assert_int_equal(bpk_tree_folder(tree, "meta/sizes", &err), -1);
	assert_int_equal(bpk_tree_folder(tree, "meta/sizes/x", &err), -1);
	/* a link that another process put there */
	assert_true(shell("ln -s /tmp .names.bpk-000000/out"));
	assert_int_equal(bpk_tree_draft(tree, "out/x", &file, &err), -1);
	assert_int_equal(bpk_tree_folder(tree, "out/bpk-test-tree-x", &err), -1);
	bpk_draft_drop(draft); /* not ours: it stays */
	assert_string_equal(seen(""), ".names.bpk-000000/ .names.bpk-000000/out@ ");
	shell("rm -r .names.bpk-000000");
}

static void test_targets(void **state)
{
	struct bpk_draft_options options = force;
	struct stat found;

	(void)state;
	assert_refused("-", &force, "is a stream, but the output is a directory");
	assert_refused("/dev/stdout", &force, "is a stream, but the output is a directory");
	assert_refused("/dev/null", &plain, "already exists");
	assert_refused("/dev/null", &force, "exists and is not a directory, but the output is one");
	assert_refused(in_folder("no/where"), &force,
		       "cannot open its folder: No such file or directory");
	assert_refused(".", &force, "names no file");
	assert_refused("/", &force, "names no file");
	assert_true(shell("mkdir d && : > f && ln -s d link && ln -s f flink && ln -s made to"));
	assert_refused(in_folder("f"), &force,
		       "exists and is not a directory, but the output is one");
	assert_refused(in_folder("flink"), &force,
		       "exists and is not a directory, but the output is one");
	assert_int_equal(stat(in_folder("d"), &found), 0);
	options.not_this = &found;
	assert_refused(in_folder("link"), &options, "input and output are the same directory");
	options = force;
	options.follow_links = false;
	assert_refused(in_folder("link"), &options,
		       "exists and is not a directory, but the output is one");
	make("link", "l"); /* the target of the link is replaced, or created */
	make("to", "t");
	assert_string_equal(seen("d"), WHOLE("l"));
	assert_string_equal(seen("made"), WHOLE("t"));
	shell("rm -r d f link flink to made");
	assert_string_equal(seen(""), "");
}

static void test_replaced(void **state)
{
	struct bpk_err err = { 0 };
	struct bpk_draft *draft;
	struct stat before, after;

	(void)state;
	make("old", "1");
	assert_int_equal(stat(in_folder("old"), &before), 0);
	assert_true(shell("mkdir old/data/empty && : > old/.lock && : > old/data/.2.bpk-000000"));
	draft = open_draft("old", &force);
	assert_int_equal(fill(draft, "2", &err), 0);
	assert_true(shell("test \"$(cat old/data/2)\" = 1"));
	if (bpk_draft_keep(draft, NULL, &err) != 0)
		fail_msg("%s", err.text);
	assert_string_equal(seen("old"), WHOLE("2"));
	assert_int_equal(stat(in_folder("old"), &after), 0);
	assert_true(before.st_ino != after.st_ino);
	draft = open_draft("old", &force);
	assert_int_equal(fill(draft, "3", &err), 0);
	bpk_draft_drop(draft);
	assert_string_equal(seen("old"), WHOLE("2"));
	assert_true(shell("rm -r old && test -z \"$(ls -A)\""));
}

static void test_strangers_stay(void **state)
{
	static const char *const strangers[] = { "mkdir old/notes && printf n > old/notes/n",
						 "ln -s meta/sizes old/meta/link",
						 "mkfifo old/data/x/fifo", "printf n > old/.data" };
	struct bpk_err err = { 0 };
	struct bpk_draft *draft;

	(void)state;
	for (size_t i = 0; i < sizeof strangers / sizeof strangers[0]; i++) {
		/* exists before: refused at once */
		make("old", "1");
		assert_true(shell(strangers[i]));
		assert_int_equal(bpk_draft_open(in_folder("old"), &force, &draft, &err), -1);
		assert_non_null(strstr(err.text, "which is no part of a dataset"));
		assert_true(shell("rm -r old"));
		/* appears meanwhile: not replaced */
		make("old", "1");
		draft = open_draft("old", &force);
		assert_int_equal(fill(draft, "2", &err), 0);
		assert_true(shell(strangers[i]));
		assert_int_equal(bpk_draft_keep(draft, NULL, &err), -1);
		assert_non_null(strstr(err.text, "which is no part of a dataset"));
		assert_true(shell("grep -q 1 old/data/2 && test \"$(ls -A)\" = old && rm -r old"));
	}
}

/* While the old dataset is removed, a file appears in it. */
static bool late_ours(const char *name)
{
	if (strcmp(name, "meta/sizes") == 0)
		shell("grep -q 1 .old.bpk-000000/meta/sizes && printf n > .old.bpk-000000/meta/n");
	return ours(name) && strcmp(name, "meta/n") != 0;
}

static void test_late_stranger(void **state)
{
	static const char end[] =
		" was added to the old one meanwhile and stays in .old.bpk-000000";
	struct bpk_draft_options options = force;
	struct bpk_err err = { 0 };
	struct bpk_draft *draft;

	(void)state;
	make("old", "1");
	options.ours = late_ours;
	draft = open_draft("old", &options);
	assert_int_equal(fill(draft, "2", &err), 0);
	assert_int_equal(bpk_draft_keep(draft, NULL, &err), -1);
	assert_non_null(strstr(err.text, "is written, but meta"));
	assert_string_equal(err.text + strlen(err.text) - strlen(end), end);
	assert_string_equal(seen("old"), WHOLE("2"));
	assert_string_equal(seen(".old.bpk-000000"), "meta/ meta/n=n ");
	shell("rm -r old .old.bpk-000000");
}

static void test_appears_meanwhile(void **state)
{
	struct bpk_err err = { 0 };
	struct bpk_draft *draft = open_draft("race", &plain);

	(void)state;
	assert_int_equal(fill(draft, "1", &err), 0);
	assert_true(shell("mkdir race"));
	assert_int_equal(bpk_draft_keep(draft, NULL, &err), -1);
	assert_string_equal(err.text, "already exists");
	assert_string_equal(seen(""), "race/ ");
	draft = open_draft("race", &force);
	assert_int_equal(fill(draft, "1", &err), 0);
	assert_true(shell("rmdir race && printf f > race"));
	assert_int_equal(bpk_draft_keep(draft, NULL, &err), -1);
	assert_string_equal(seen(""), "race=f ");
	shell("rm race");
}

static void test_left_behind(void **state)
{
	struct bpk_draft *draft;
	int fd;

	(void)state;
	/* of a killed process; foreign files stay, and do not interfere */
	assert_true(shell("mkdir -p .t.bpk-000000/data/x .t.bpk-000001/data && "
			  ": > .t.bpk-000000/data/x/1 && : > .t.bpk-000001/data/1 && "
			  ": > .t.bpk-000001/other && mkdir link && ln -s link .t.bpk-000002"));
	bpk_draft_drop(open_draft("t", &plain));
	assert_string_equal(seen(""), ".t.bpk-000001/ .t.bpk-000001/other= .t.bpk-000002@ link/ ");
	shell("rm -r .t.bpk-000001 .t.bpk-000002 link");
	/* of a running process */
	assert_true(shell("mkdir .t.bpk-000000 && : > .t.bpk-000000/data"));
	fd = open(in_folder(".t.bpk-000000"), O_RDONLY | O_DIRECTORY);
	assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
	draft = open_draft("t", &plain);
	assert_true(shell("test -d .t.bpk-000001"));
	bpk_draft_drop(draft);
	assert_string_equal(seen(""), ".t.bpk-000000/ .t.bpk-000000/data= ");
	close(fd);
	shell("rm -r .t.bpk-000000");
	/* an old dataset, put aside where names cannot be exchanged */
	make(".t.bpk-old", "1");
	assert_refused(in_folder("t"), &plain, "already exists");
	assert_string_equal(seen("t"), WHOLE("1"));
	shell("rm -r t");
	assert_string_equal(seen(""), "");
}

static int drop_all_in_child(void)
{
	struct bpk_err err = { 0 };
	struct bpk_draft *draft = open_draft("signalled", &plain), *file;

	if (fill(draft, "1", &err) != 0 ||
	    bpk_tree_draft(bpk_draft_tree(draft), "data/half", &file, &err) != 0)
		return 1;
	bpk_draft_drop_all();
	if (!shell("test -z \"$(ls -A)\""))
		return 2;
	if (bpk_tree_stage(bpk_draft_tree(draft), file, &err) == 0 ||
	    bpk_tree_folder(bpk_draft_tree(draft), "more", &err) == 0 ||
	    bpk_draft_keep(draft, NULL, &err) == 0)
		return 3;
	return shell("test -z \"$(ls -A)\"") ? 0 : 4;
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

/* From here on renameat2 supports neither exchange nor noreplace. */
static void forbid_flags(void **state)
{
	struct sock_filter rules[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_renameat2, 0, 3),
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[4])),
#else
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[4]) + 4),
#endif
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EINVAL),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof rules / sizeof rules[0], rules };

	(void)state;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
		skip();
	assert_int_equal(renameat2(AT_FDCWD, folder, AT_FDCWD, folder, RENAME_NOREPLACE), -1);
	assert_int_equal(errno, EINVAL);
}

/* The old dataset cannot be put aside: it stays in place. */
static void test_no_room_aside(void **state)
{
	struct bpk_err err = { 0 };
	struct bpk_draft *draft;

	(void)state;
	make("old", "1");
	assert_true(shell("mkdir .old.bpk-old && : > .old.bpk-old/precious"));
	draft = open_draft("old", &force);
	assert_int_equal(fill(draft, "2", &err), 0);
	assert_int_equal(bpk_draft_keep(draft, NULL, &err), -1);
	assert_string_equal(err.text, "cannot be put aside as .old.bpk-old: Directory not empty");
	assert_string_equal(seen("old"), ".lock= " WHOLE("1"));
	assert_true(shell("rm .old.bpk-old/precious && rmdir .old.bpk-old && rm -r old"));
	assert_string_equal(seen(""), "");
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

#define WITHOUT_FLAGS(test)                                                                        \
	{                                                                                          \
#test ", no flags", test, NULL, NULL, NULL                                         \
	}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_new_one),       cmocka_unit_test(test_dropped),
		cmocka_unit_test(test_names),         cmocka_unit_test(test_targets),
		cmocka_unit_test(test_replaced),      cmocka_unit_test(test_strangers_stay),
		cmocka_unit_test(test_late_stranger), cmocka_unit_test(test_appears_meanwhile),
		cmocka_unit_test(test_left_behind),   cmocka_unit_test(test_all_dropped),
		cmocka_unit_test(forbid_flags),       WITHOUT_FLAGS(test_new_one),
		WITHOUT_FLAGS(test_replaced),         WITHOUT_FLAGS(test_strangers_stay),
		WITHOUT_FLAGS(test_late_stranger),    WITHOUT_FLAGS(test_appears_meanwhile),
		WITHOUT_FLAGS(test_no_room_aside),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
