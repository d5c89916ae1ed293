/*
 * Directories written and changed x every system call x every fault: a reader sees the old or the
 * whole new state, the next writer works, and nothing is left behind.
 *
 *     trees [WORD]...   only the rows whose name contains one of the words; prints TAP
 *     trees --do ROW    the action of a row, in the current folder; status 1 and a line on failure
 *
 * The environment is that of sweep.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fault/run.h"
#include "io/io.h"

enum { TEXT_MAX = 4096, THIN = 3, SHOWN = 6 };

static char self[PATH_MAX];
static char scratch[] = "/dev/shm/bpk-fault-trees-XXXXXX"; /* in memory: no power cut is tested */
static int tests, failed_tests;

/* ---- The actions ---- */

static bool ours(const char *name)
{
	return strncmp(name, "data/", 5) == 0 || strncmp(name, "meta/", 5) == 0;
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

static int fill(struct bpk_tree *tree, const char *text, struct bpk_err *err)
{
	if (bpk_tree_folder(tree, "meta", err) != 0 || bpk_tree_folder(tree, "data", err) != 0 ||
	    bpk_tree_folder(tree, "data/x", err) != 0 || put(tree, "data/1", text, err) != 0 ||
	    put(tree, "data/2", text, err) != 0 || put(tree, "data/x/1", text, err) != 0)
		return -1;
	return put(tree, "meta/sizes", text, err);
}

static int write_new(const char *text, struct bpk_err *err)
{
	const struct bpk_draft_options options = {
		.directory = true, .overwrite = true, .sync = true, .ours = ours
	};
	struct bpk_draft *draft;

	if (bpk_draft_open("t", &options, &draft, err) != 0)
		return -1;
	if (fill(bpk_draft_tree(draft), text, err) != 0) {
		bpk_draft_drop(draft);
		return -1;
	}
	return bpk_draft_keep(draft, NULL, err);
}

static int do_new(struct bpk_err *err)
{
	return write_new("new", err);
}

static int change(int (*stage)(struct bpk_tree *tree, struct bpk_err *err), const char *pivot,
		  struct bpk_err *err)
{
	const struct bpk_edit_options options = { .sync = true };
	struct bpk_tree *tree;
	int rc;

	if (bpk_tree_open("t", &options, &tree, err) != 0)
		return -1;
	rc = stage == NULL ? 0 : stage(tree, err);
	if (rc == 0)
		rc = bpk_tree_commit(tree, pivot, err);
	bpk_tree_close(tree);
	return rc;
}

static int do_open(struct bpk_err *err)
{
	return change(NULL, NULL, err);
}

static int stage_one(struct bpk_tree *tree, struct bpk_err *err)
{
	return put(tree, "data/1", "new", err);
}

static int do_one(struct bpk_err *err)
{
	return change(stage_one, NULL, err);
}

/* Like an append: files that sizes does not name yet, then sizes. */
static int stage_more(struct bpk_tree *tree, struct bpk_err *err)
{
	if (bpk_tree_folder(tree, "data/y", err) != 0 || put(tree, "data/3", "new", err) != 0 ||
	    put(tree, "data/y/1", "new", err) != 0)
		return -1;
	return put(tree, "meta/sizes", "new", err);
}

static int do_more(struct bpk_err *err)
{
	return change(stage_more, "meta/sizes", err);
}

/* Like a truncation: sizes, then the file that it no longer names. */
static int stage_less(struct bpk_tree *tree, struct bpk_err *err)
{
	if (put(tree, "meta/sizes", "new", err) != 0 || put(tree, "data/1", "new", err) != 0)
		return -1;
	return bpk_tree_remove(tree, "data/2", err);
}

static int do_less(struct bpk_err *err)
{
	return change(stage_less, "meta/sizes", err);
}

/* Like a write across the last chunk: a new file, sizes, then a file that is not as it was. */
static int stage_across(struct bpk_tree *tree, struct bpk_err *err)
{
	return put(tree, "data/3", "new", err) != 0 ? -1 : stage_less(tree, err);
}

static int do_across(struct bpk_err *err)
{
	return change(stage_across, "meta/sizes", err);
}

static int stage_many(struct bpk_tree *tree, struct bpk_err *err)
{
	if (put(tree, "data/1", "new", err) != 0 || put(tree, "data/3", "new", err) != 0 ||
	    put(tree, "data/x/1", "new", err) != 0)
		return -1;
	return bpk_tree_remove(tree, "data/2", err);
}

static int do_many(struct bpk_err *err)
{
	return change(stage_many, NULL, err);
}

#define OLD  "data/1=old data/2=old data/x/1=old meta/sizes=old "
#define MANY "data/1=new data/3=new data/x/1=new meta/sizes=old "

struct row {
	const char *name;
	int (*act)(struct bpk_err *err);
	const char *old;   /* the content that a reader sees before, */
	const char *new;   /* and after */
	const char *early; /* text of an old state that may have new files already; may be NULL */
	bool pending;      /* it starts with a list that a killed writer left */
};

static const struct row rows[] = {
	{ "a new directory", do_new, "", "data/1=new data/2=new data/x/1=new meta/sizes=new ", NULL,
	  false },
	{ "a directory replaced", do_new, OLD, "data/1=new data/2=new data/x/1=new meta/sizes=new ",
	  NULL, false },
	{ "one file", do_one, OLD, "data/1=new data/2=old data/x/1=old meta/sizes=old ", NULL,
	  false },
	{ "a pivot at the end", do_more, OLD,
	  "data/1=old data/2=old data/3=new data/x/1=old data/y/1=new meta/sizes=new ",
	  "meta/sizes=old ", false },
	{ "a pivot at the beginning", do_less, OLD, "data/1=new data/x/1=old meta/sizes=new ", NULL,
	  false },
	{ "a pivot in the middle", do_across, OLD,
	  "data/1=new data/3=new data/x/1=old meta/sizes=new ", "meta/sizes=old ", false },
	{ "a list", do_many, OLD, MANY, NULL, false },
	{ "a list carried out by the next writer", do_open, MANY, MANY, NULL, true },
};
enum { NROWS = sizeof rows / sizeof rows[0] };

static int do_row(const char *name)
{
	struct bpk_err err = { 0 };

	for (size_t i = 0; i < NROWS; i++) {
		if (strcmp(rows[i].name, name) != 0)
			continue;
		if (rows[i].act(&err) == 0)
			return 0;
		fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	return 2;
}

/* ---- The view of a reader ---- */

static void add(char *text, const char *more)
{
	snprintf(text + strlen(text), TEXT_MAX - strlen(text), "%s", more);
}

struct look {
	struct bpk_dir *dir;
	const char *name; /* of the folder being listed */
	char *text;
};

static void see(struct bpk_dir *dir, const char *name, char *text);

static int see_entry(void *arg, const char *entry_name, enum bpk_entry entry)
{
	struct look *look = arg;
	char name[300], bytes[100] = "";
	struct bpk_source *source;
	struct bpk_err err = { 0 };
	size_t got = 0;

	snprintf(name, sizeof name, "%s%s%s", look->name, *look->name ? "/" : "", entry_name);
	if (entry == BPK_ENTRY_DIRECTORY) {
		see(look->dir, name, look->text);
		return 0;
	}
	add(look->text, name);
	add(look->text, "=");
	if (bpk_dir_source(look->dir, name, &source, &err) != 0) {
		add(look->text, err.text);
		return 0;
	}
	if (bpk_source_read(source, bpk_span((uint8_t *)bytes, sizeof bytes - 1), &got, &err) != 0)
		add(look->text, err.text);
	bpk_source_close(source);
	add(look->text, bytes);
	add(look->text, " ");
	return 0;
}

static void see(struct bpk_dir *dir, const char *name, char *text)
{
	struct look look = { dir, name, text };
	struct bpk_err err = { 0 };

	if (bpk_dir_list(dir, name, see_entry, &look, &err) != 0)
		add(text, err.text);
}

/* All files and their content as a reader sees them; empty if there is not a directory. */
static void read_all(char text[TEXT_MAX])
{
	struct bpk_err err = { 0 };
	struct bpk_place place;
	struct stat found;

	text[0] = '\0';
	if (lstat("t", &found) != 0)
		return;
	if (bpk_place_open("t", NULL, &place, &err) != 0) {
		add(text, err.text);
		return;
	}
	see(place.directory, "", text);
	bpk_place_close(&place);
}

/* The names of all drafts and lists on disk, also those that listings hide. */
static void find_litter(const char *folder, char text[TEXT_MAX])
{
	DIR *stream = opendir(folder);
	char name[600];

	if (stream == NULL)
		return;
	for (struct dirent *entry; (entry = readdir(stream)) != NULL;) {
		struct stat found;

		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		snprintf(name, sizeof name, "%s/%s", folder, entry->d_name);
		if (entry->d_name[0] == '.' && strcmp(entry->d_name, ".lock") != 0) {
			add(text, name);
			add(text, " ");
		}
		if (lstat(name, &found) == 0 && S_ISDIR(found.st_mode))
			find_litter(name, text);
	}
	closedir(stream);
}

/* ---- one point ---- */

static const struct fault none = { .doer = BY_NOBODY };

static void run_row(const struct row *row, const struct fault *fault, struct ran *ran)
{
	const char *argv[] = { self, "--do", row->name, NULL };
	const struct command command = { .argv = argv };

	run_command(&command, fault, ran);
}

static void shell(const char *line)
{
	if (system(line) != 0)
		run_die(line);
}

/* Kill a writer after its call of that number, which may have created the list. Returns the
 * status. */
static int leave_list(long point)
{
	const struct fault fault = { .doer = BY_NTH, .action = "after", .point = point };
	struct bpk_err err = { 0 };
	struct ran ran;
	size_t list = 0;

	while (strcmp(rows[list].name, "a list") != 0)
		list++;
	shell("rm -rf t .[!.]*");
	if (write_new("old", &err) != 0)
		run_die(err.text);
	run_row(&rows[list], &fault, &ran);
	return ran.status;
}

/* Make a pending list in place: a copy of one would not count in another directory. */
static void make_pending(void)
{
	static long point;

	if (point == 0)
		for (point = 1; leave_list(point) != 0 && access("t/.bpkj", F_OK) != 0; point++)
			continue;
	else
		leave_list(point);
	if (access("t/.bpkj", F_OK) != 0)
		run_die("no list was seen");
}

static void restore(const struct row *row)
{
	struct bpk_err err = { 0 };

	shell("rm -rf t .[!.]*");
	if (row->pending)
		make_pending();
	else if (*row->old != '\0' && write_new("old", &err) != 0)
		run_die(err.text);
}

struct mode {
	const char *name, *action;
	bool for_ever;
	bool kills;
	bool transfers; /* only where bytes are moved */
};

static const struct mode modes[] = {
	{ "SIGKILL before", "kill", false, true, false },
	{ "SIGKILL after", "after", false, true, false },
	{ "SIGKILL half-way", "half", false, true, true },
	{ "ENOSPC", "fail:ENOSPC", false, false, false },
	{ "EIO", "fail:EIO", false, false, false },
	{ "EACCES", "fail:EACCES", false, false, false },
	{ "EINVAL", "fail:EINVAL", false, false, false },
	{ "ENOSPC for ever", "fail:ENOSPC", true, false, false },
	{ "EIO for ever", "fail:EIO", true, false, false },
};
enum { NMODES = sizeof modes / sizeof modes[0] };

/* True for the old state, the new one, or the old one with files that it does not name. */
static bool is_sound(const struct row *row, const char *text)
{
	return strcmp(text, row->old) == 0 || strcmp(text, row->new) == 0 ||
	       (row->early != NULL && strstr(text, row->early) != NULL);
}

static const char *judge_ended(const struct row *row, const struct mode *mode,
			       const struct ran *ran, const char *text)
{
	static char litter[TEXT_MAX];
	bool listed = access("t/.bpkj", F_OK) == 0;

	if (mode->kills)
		return ran->status == 0 || ran->status == 128 + 9 ? NULL : "has another status";
	if (ran->status == 0)
		return strcmp(text, row->new) == 0 ? NULL : "ends with status 0 without the result";
	if (ran->status != 1 || ran->lines != 1)
		return "did not end with status 1 and one line";
	litter[0] = '\0';
	find_litter(".", litter);
	/* a writer that may not remove names cannot clean up, a list is left to the next writer,
	 * and drafts stay while it is unknown whether the list is gone from the disk */
	if (strcmp(ran->calls.last, "unlinkat") != 0 && !listed && litter[0] != '\0' &&
	    strstr(ran->said, "the old one stays in .t.bpk-") == NULL &&
	    !(mode->for_ever && strstr(ran->said, ".bpkj: sync its folder") != NULL))
		return "left something behind";
	return NULL;
}

/* Open as the next writer, then run the row again. */
static const char *run_again(const struct row *row, const char *before)
{
	static char text[TEXT_MAX];
	struct ran ran;

	if (*before != '\0' && row->act != do_new) {
		struct bpk_err err = { 0 };

		if (do_open(&err) != 0)
			return "the next writer cannot open it";
		read_all(text);
		if (strcmp(text, before) != 0)
			return "the next writer changed what readers saw";
		text[0] = '\0';
		find_litter(".", text);
		if (text[0] != '\0')
			return "the next writer left something behind";
	}
	run_row(row, &none, &ran);
	if (ran.status != 0)
		return "the next run failed";
	read_all(text);
	if (strcmp(text, row->new) != 0)
		return "the next run has another result";
	text[0] = '\0';
	find_litter(".", text);
	return text[0] == '\0' ? NULL : "the next run left something behind";
}

static const char *try_point(const struct row *row, const struct mode *mode, long point,
			     struct ran *ran)
{
	const struct fault fault = {
		.doer = BY_NTH, .action = mode->action, .for_ever = mode->for_ever, .point = point
	};
	static char text[TEXT_MAX], again[TEXT_MAX];
	const char *wrong;

	restore(row);
	run_row(row, &fault, ran);
	read_all(text);
	wrong = is_sound(row, text) ? judge_ended(row, mode, ran, text)
				    : "a reader sees neither the old nor the new";
	if (wrong == NULL && point % 2 == 0) { /* reading must not change anything */
		read_all(again);
		if (strcmp(text, again) != 0)
			wrong = "a second reader sees another state";
	}
	if (wrong == NULL)
		wrong = run_again(row, text);
	if (wrong != NULL)
		fprintf(stderr, "seen: %s\n", text);
	return wrong;
}

/* ---- All rows ---- */

static bool moves_bytes(const char *call)
{
	return strstr(call, "write") != NULL;
}

static void sweep_mode(const struct row *row, const struct mode *mode, const struct calls *calls)
{
	size_t points = 0, right = 0, turn = (size_t)(mode - modes) + (size_t)(row - rows);

	for (size_t i = 0; i < calls->count; i++) {
		const char *wrong;
		struct ran ran;

		if ((mode->transfers && !moves_bytes(calls->names[i])) ||
		    !run_tries(i + turn, THIN))
			continue;
		wrong = try_point(row, mode, (long)i + 1, &ran);
		points++;
		right += wrong == NULL;
		if (wrong != NULL && points - right <= SHOWN)
			printf("# at %zu %s: %s; status %d, says: %s\n", i + 1, calls->names[i],
			       wrong, ran.status, ran.said);
	}
	if (points == 0)
		return;
	tests++;
	failed_tests += right < points;
	printf("%sok %d - %s, %s: %zu of %zu\n", right < points ? "not " : "", tests, row->name,
	       mode->name, right, points);
	fflush(stdout);
}

static void sweep_row(const struct row *row)
{
	const struct fault count = { .doer = BY_NTH };
	static struct ran plain;

	restore(row);
	run_row(row, &count, &plain);
	if (plain.status != 0) {
		tests++;
		failed_tests++;
		printf("not ok %d - %s: a plain run\n# %s\n", tests, row->name, plain.said);
		return;
	}
	for (size_t i = 0; i < NMODES; i++)
		sweep_mode(row, &modes[i], &plain.calls);
}

int main(int argc, char **argv)
{
	const char *build = getenv("abs_top_builddir");
	char tools[PATH_MAX];

	if (argc == 3 && strcmp(argv[1], "--do") == 0)
		return do_row(argv[2]);
	snprintf(tools, sizeof tools, "%s/tests/fault", build != NULL ? build : ".");
	if (realpath("/proc/self/exe", self) == NULL || !run_begin(tools))
		return 99;
	if (run_cannot() != NULL) {
		printf("1..0 # SKIP %s\n", run_cannot());
		return 0;
	}
	if (mkdtemp(scratch) == NULL)
		memcpy(scratch, "/tmp/bpk-fault-trees-XXXXXX",
		       sizeof "/tmp/bpk-fault-trees-XXXXXX");
	if ((strncmp(scratch, "/tmp/", 5) == 0 && mkdtemp(scratch) == NULL) ||
	    chdir(scratch) != 0 || mkdir("w", 0700) != 0 || chdir("w") != 0)
		run_die(scratch);
	for (size_t i = 0; i < NROWS; i++)
		if (run_is_wanted(rows[i].name, argv + 1, argc - 1))
			sweep_row(&rows[i]);
	if (chdir("/") == 0) {
		char line[100];

		snprintf(line, sizeof line, "rm -rf %s", scratch);
		shell(line);
	}
	printf("1..%d\n", tests);
	return failed_tests > 0;
}
