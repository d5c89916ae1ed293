/*
 * Every command x every call that reads x errors of the machine: no error may be ignored, or taken
 * for damage or for a missing file.
 *
 *     looks [WORD]...   only the rows whose name contains one of the words; prints TAP
 *
 *     BPK               the program
 *     BPK_FAULT_THIN    one point in so many, and the last; 1: every point; otherwise THIN
 *     BPK_FAULT_SEED    a number: which points those are
 *     abs_top_builddir  the build folder, with tests/fault/nth
 *
 * Each command runs once undisturbed. Then, for every N, the Nth of its calls that open, stat, list
 * or read a file fails. Afterwards either everything is as undisturbed; or the status is 1, a line
 * says which error it was, the output is a part of the undisturbed output, and a message names the
 * missing part. A command that changes an archive leaves the old or the new content. Of a call that
 * opens no file, EMFILE cannot come, so it is left out.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fault/folder.h"
#include "fault/run.h"

enum { THIN = 97, SHOWN = 8, TEXT_MAX = 1 << 18 };

struct row {
	const char *name;
	const char *args[12];
	const char *target;  /* a file or folder that it makes; may be NULL */
	const char *archive; /* an archive that it changes; may be NULL */
	const char *in;      /* standard input; NULL: nothing */
	bool lines;          /* each line of its output stands for itself */
	bool sums;           /* its last line is a sum of the others, which is left out */
	bool by_parts;       /* the target may be incomplete after an error */
	bool measures;       /* the numbers in its output differ from run to run */
};

static const struct row rows[] = {
	{ .name = "verify -r",
	  .args = { "verify", "-T1", "-r", "-v", "d" },
	  .lines = true,
	  .sums = true },
	{ .name = "verify -r --json", .args = { "verify", "-T1", "-r", "--json", "d" } },
	{ .name = "verify blp", .args = { "verify", "-T1", "-v", "d/x.blp" } },
	{ .name = "verify chunked", .args = { "verify", "-T1", "-v", "d/set.blpd" } },
	{ .name = "verify columns", .args = { "verify", "-T1", "-v", "d/rows.blpd" } },
	{ .name = "verify sparse", .args = { "verify", "-T1", "-v", "d/sp.b2s" } },
	{ .name = "verify b2nd", .args = { "verify", "-T1", "-v", "d/z.b2nd" } },
	{ .name = "verify in a tar", .args = { "verify", "-T1", "-v", "s.tar:set.blpd" } },
	{ .name = "verify a tar", .args = { "verify", "-T1", "-v", "s.tar" }, .lines = true },
	{ .name = "cmp", .args = { "cmp", "-T1", "d/x.blp", "d/y.b2frame" } },
	{ .name = "cmp chunked", .args = { "cmp", "-T1", "-v", "a", "d/set.blpd" } },
	{ .name = "cmp -r",
	  .args = { "cmp", "-T1", "-r", "-v", "d", "d" },
	  .lines = true,
	  .sums = true },
	{ .name = "sum blp", .args = { "sum", "-T1", "d/x.blp" } },
	{ .name = "sum chunked", .args = { "sum", "-T1", "d/set.blpd" } },
	{ .name = "sum --tree", .args = { "sum", "-T1", "--tree", "d/sp.b2s" } },
	{ .name = "info chunked", .args = { "info", "-v", "d/set.blpd" } },
	{ .name = "info columns", .args = { "info", "-v", "d/rows.blpd" } },
	{ .name = "info sparse", .args = { "info", "--json", "d/sp.b2s" } },
	{ .name = "info blp", .args = { "info", "-v", "d/x.blp" } },
	{ .name = "info b2frame", .args = { "info", "-v", "d/y.b2frame" } },
	{ .name = "info --stats", .args = { "info", "--stats", "-T1", "d/z.b2nd" } },
	{ .name = "ls blp", .args = { "ls", "-l", "d/x.blp" } },
	{ .name = "ls sparse", .args = { "ls", "-l", "--json", "d/sp.b2s" } },
	{ .name = "ls a tar", .args = { "ls", "-l", "s.tar" } },
	{ .name = "cat blp", .args = { "cat", "-T1", "--bytes", "9000:30000", "d/x.blp" } },
	{ .name = "cat --text", .args = { "cat", "-T1", "--text", "d/z.b2nd" } },
	{ .name = "cat < blp", .args = { "cat", "-T1" }, .in = "d/x.blp" },
	{ .name = "cat chunked", .args = { "cat", "-T1", "d/set.blpd" } },
	{ .name = "cat sparse", .args = { "cat", "-T1", "d/sp.b2s" } },
	{ .name = "cat in a tar", .args = { "cat", "-T1", "s.tar:set.blpd" } },
	{ .name = "unpack chunked",
	  .args = { "unpack", "-T1", "-o", "new", "d/set.blpd" },
	  .target = "new" },
	{ .name = "unpack columns",
	  .args = { "unpack", "-T1", "-o", "new", "d/rows.blpd" },
	  .target = "new" },
	{ .name = "pack", .args = { "pack", "-T1", "-z8K", "-o", "new", "a" }, .target = "new" },
	{ .name = "pack over chunked",
	  .args = { "pack", "-f", "-T1", "-z8K", "-F", "chunked", "-o", "d/set.blpd", "b" },
	  .archive = "d/set.blpd" },
	{ .name = "pack over sparse",
	  .args = { "pack", "-f", "-T1", "-z8K", "-F", "b2sparse", "-o", "d/sp.b2s", "b" },
	  .archive = "d/sp.b2s" },
	{ .name = "convert chunked to blp",
	  .args = { "convert", "-T1", "d/set.blpd", "new.blp" },
	  .target = "new.blp" },
	{ .name = "convert sparse to b2frame",
	  .args = { "convert", "-T1", "d/sp.b2s", "new.b2frame" },
	  .target = "new.b2frame" },
	{ .name = "convert blp to chunked",
	  .args = { "convert", "-T1", "d/x.blp", "new.blpd" },
	  .target = "new.blpd" },
	{ .name = "bench raw",
	  .args = { "bench", "-T1", "--codec", "lz4", "--level", "1", "--csv", "a" },
	  .measures = true },
	{ .name = "bench blp",
	  .args = { "bench", "-T1", "--codec", "lz4", "--level", "1", "--csv", "d/x.blp" },
	  .measures = true },
	{ .name = "tar", .args = { "tar", "--date", "1", "d/set.blpd", "d/x.blp" } },
	{ .name = "tar -t", .args = { "tar", "-t", "s.tar" } },
	/* it extracts file by file, and the files before the error stay */
	{ .name = "tar -x",
	  .args = { "tar", "-x", "s.tar" },
	  .target = "set.blpd",
	  .by_parts = true },
	{ .name = "append a frame",
	  .args = { "append", "--step", "1", "d/t.gsd", "data=s.npy" },
	  .archive = "d/t.gsd" },
	{ .name = "truncate frames",
	  .args = { "truncate", "--frames", "0", "d/t.gsd" },
	  .archive = "d/t.gsd" },
	{ .name = "append to blp",
	  .args = { "append", "-T1", "d/x.blp", "a" },
	  .archive = "d/x.blp" },
	{ .name = "append to chunked",
	  .args = { "append", "-T1", "d/set.blpd", "a" },
	  .archive = "d/set.blpd" },
	{ .name = "append to sparse",
	  .args = { "append", "-T1", "d/sp.b2s", "a" },
	  .archive = "d/sp.b2s" },
	{ .name = "append to b2frame",
	  .args = { "append", "-T1", "d/y.b2frame", "a" },
	  .archive = "d/y.b2frame" },
	{ .name = "truncate chunked",
	  .args = { "truncate", "--bytes", "9000", "d/set.blpd" },
	  .archive = "d/set.blpd" },
	{ .name = "write to blp",
	  .args = { "write", "-T1", "--at", "9000", "d/x.blp", "b" },
	  .archive = "d/x.blp" },
	{ .name = "write to sparse",
	  .args = { "write", "-T1", "--at", "9000", "d/sp.b2s", "b" },
	  .archive = "d/sp.b2s" },
	{ .name = "meta of chunked",
	  .args = { "meta", "set", "d/set.blpd", "x=1" },
	  .archive = "d/set.blpd" },
};
enum { NROWS = sizeof rows / sizeof rows[0] };

static const struct trouble {
	const char *action;
	int number;
} troubles[] = {
	{ "fail:EIO", EIO },
	{ "fail:EMFILE", EMFILE },
	{ "fail:EACCES", EACCES },
	{ "fail:ENOMEM", ENOMEM },
};
enum { NTROUBLES = sizeof troubles / sizeof troubles[0] };

static const char making[] =
	"set -e; mkdir healthy && cd healthy && mkdir -p d/sub/deep d/empty\n"
	"awk 'BEGIN { for (i = 0; i < 5000; i++) printf \"%07d\\n\", i * i % 9999991 }' > a\n"
	"head -c 5000 a | tr 0-9 a-j > b; head -c 30 a > d/sub/notes\n"
	"P=\"$BPK pack -q -T1 -z8K\"\n"
	"$P -o d/x.blp a; $P -o d/sub/deep/w.blp a; $P -F b2frame -o d/y.b2frame a\n"
	"$P -F chunked -t 4 -o d/set.blpd a; $P -F b2sparse -o d/sp.b2s a\n"
	"$P --dtype '<i4' --shape 100,100 -o d/z.b2nd a\n"
	"$P -F chunked --dtype \"[('p','<i4'),('q','<f4')]\" -o d/rows.blpd a\n"
	"$BPK unpack -q -o s.npy d/z.b2nd\n"
	"$BPK append --schema s --schema-version 1.0 --step 0 d/t.gsd data=s.npy\n"
	"cd d && $BPK tar --date 1 -o ../s.tar set.blpd\n";

/* ---- texts ---- */

struct text {
	size_t size;
	char bytes[TEXT_MAX + 1];
};

static void load(const char *path, struct text *text)
{
	FILE *file = fopen(path, "rbe");

	text->size = file == NULL ? 0 : fread(text->bytes, 1, TEXT_MAX, file);
	text->bytes[text->size] = '\0';
	if (file != NULL)
		fclose(file);
}

static void drop_numbers(struct text *text)
{
	size_t size = 0;

	for (size_t i = 0; i < text->size; i++)
		if (strchr("0123456789.", text->bytes[i]) == NULL)
			text->bytes[size++] = text->bytes[i];
	text->bytes[size] = '\0';
	text->size = size;
}

static void drop_sum(struct text *text)
{
	if (text->size > 0)
		text->size--;
	while (text->size > 0 && text->bytes[text->size - 1] != '\n')
		text->size--;
	text->bytes[text->size] = '\0';
}

static bool same(const struct text *a, const struct text *b)
{
	return a->size == b->size && memcmp(a->bytes, b->bytes, a->size) == 0;
}

static bool has_line(const struct text *text, const char *line, size_t size)
{
	const char *at = text->bytes;

	for (; *at != '\0'; at += strcspn(at, "\n"), at += *at == '\n')
		if (strcspn(at, "\n") == size && memcmp(at, line, size) == 0)
			return true;
	return false;
}

/* True if a line of said, "bpk: NAME: ...", names the file that line is about, its parity file, or
 * a folder above it. */
static bool is_named(const struct text *said, const char *line)
{
	for (const char *at = said->bytes; *at != '\0';
	     at += strcspn(at, "\n"), at += *at == '\n') {
		const char *name = strncmp(at, "bpk: ", 5) == 0 ? at + 5 : "\n";
		size_t size = strcspn(name, ":\n");

		if (size > 4 && memcmp(name + size - 4, ".bpp", 4) == 0)
			size -= 4;
		if (size > 0 && strncmp(name, line, size) == 0 &&
		    (line[size] == ':' || line[size] == '/' || line[size] == ' '))
			return true;
	}
	return false;
}

/* ---- one run ---- */

struct result {
	struct ran ran;
	struct text out, said, made; /* made: the content of the target or the archive */
};

static struct result peace, now;
static struct text old_content;

static void shell(const char *command)
{
	if (system(command) != 0)
		run_die(command);
}

/* The content of path, read by bpk if it is an archive; empty if it does not exist. */
static void look_at(const char *path, struct text *text)
{
	char command[PATH_MAX * 2 + 200];

	text->size = 0;
	if (access(path, F_OK) != 0)
		return;
	snprintf(command, sizeof command,
		 "'%s' cat '%s' > ../held 2>/dev/null || "
		 "'%s' info --json '%s' 2>/dev/null | tr , '\n' | grep nframes > ../held || "
		 "find '%s' -type f -exec cat {} + > ../held",
		 bpk_program, path, bpk_program, path, path);
	shell(command);
	load("../held", text);
}

/* The undisturbed folders of the row, before and after, with the content of the target or the
 * archive. */
static struct known {
	struct picture picture;
	struct text made;
} known[2];
static size_t nknown;

/* The content of what the row makes or changes; it is known if the folder is. */
static void look_again(const struct row *row, struct text *made)
{
	const char *path = row->target != NULL ? row->target : row->archive;
	struct picture picture;

	made->size = 0;
	if (path == NULL)
		return;
	picture = folder_picture((struct timespec){ 0 });
	for (size_t i = 0; i < nknown; i++)
		if (folder_is_same(&picture, &known[i].picture)) {
			*made = known[i].made;
			free(picture.bytes);
			return;
		}
	look_at(path, made);
	if (nknown < sizeof known / sizeof known[0])
		known[nknown++] = (struct known){ picture, *made };
	else
		free(picture.bytes);
}

static void make_ready(const struct row *row)
{
	if (row->archive == NULL && row->target == NULL)
		return;
	if (chdir("..") != 0)
		run_die("..");
	folder_restore("healthy", "work");
	if (chdir("work") != 0)
		run_die("work");
}

static void run(const struct row *row, const struct fault *fault, struct result *result)
{
	const char *argv[16] = { bpk_program };
	const struct command command = { .argv = argv, .in = row->in, .out = "../printed" };

	for (size_t i = 0; row->args[i] != NULL; i++)
		argv[i + 1] = row->args[i];
	make_ready(row);
	run_command(&command, fault, &result->ran);
	load("../printed", &result->out);
	if (row->measures)
		drop_numbers(&result->out);
	if (row->sums)
		drop_sum(&result->out);
	load("../said", &result->said);
	look_again(row, &result->made);
}

/* ---- judging ---- */

/* Every line must be an undisturbed one, and a message must name every missing one. */
static const char *judge_lines(void)
{
	const char *at;

	for (at = now.out.bytes; *at != '\0'; at += strcspn(at, "\n"), at += *at == '\n')
		if (!has_line(&peace.out, at, strcspn(at, "\n")))
			return "prints a line that it does not print undisturbed";
	for (at = peace.out.bytes; *at != '\0'; at += strcspn(at, "\n"), at += *at == '\n')
		if (!has_line(&now.out, at, strcspn(at, "\n")) && !is_named(&now.said, at))
			return "an archive was skipped without a message";
	return NULL;
}

static const char *judge(const struct row *row, const struct trouble *trouble)
{
	bool as_in_peace = same(&now.out, &peace.out) && same(&now.said, &peace.said) &&
			   same(&now.made, &peace.made);

	if (now.ran.status == 0 && as_in_peace)
		return NULL;
	/* an old archive that may not be read is replaced all the same, with this line */
	if (now.ran.status == 0 && strstr(now.said.bytes, "is carried over from it\n") != NULL)
		return NULL;
	if (now.ran.status == 0)
		return "an error was ignored, and changed the result";
	if (now.ran.status != 1)
		return "status is neither 0 nor 1";
	if (strstr(now.said.bytes, strerror(trouble->number)) == NULL)
		return "does not say which error it was";
	if (row->lines)
		return judge_lines();
	if (row->target != NULL && !row->by_parts && now.made.size > 0 &&
	    !same(&now.made, &peace.made))
		return "failed, and left another result";
	if (row->archive != NULL && !same(&now.made, &peace.made) && !same(&now.made, &old_content))
		return "the archive is neither old nor new";
	return NULL;
}

/* ---- sweeping ---- */

static int tests, failed_tests;

/* The last call is always tried: it finds out whether the input was changed meanwhile. */
static bool is_chosen(const struct row *row, size_t trouble, size_t point)
{
	return point + 1 == peace.ran.calls.count ||
	       run_tries(point + 31 * trouble + 7 * (size_t)(row - rows), THIN);
}

static void explain(long point, const char *wrong)
{
	printf("# at %ld %s: %s; status %d, says: %s\n", point, now.ran.calls.first, wrong,
	       now.ran.status, now.ran.said);
}

static void sweep_trouble(const struct row *row, const struct trouble *trouble)
{
	struct fault fault = { .doer = BY_NTH, .looks = true, .action = trouble->action };
	long points = 0, right = 0;

	for (size_t i = 0; i < peace.ran.calls.count; i++) {
		const char *wrong;

		if (!is_chosen(row, (size_t)(trouble - troubles), i) ||
		    (trouble->number == EMFILE &&
		     strncmp(peace.ran.calls.names[i], "open", 4) != 0))
			continue;
		fault.point = (long)i + 1;
		run(row, &fault, &now);
		/* a slower run pauses its locks more often, and so makes more calls */
		if (now.ran.calls.first[0] == '\0' && now.ran.status == 0)
			continue;
		wrong = judge(row, trouble);
		points++;
		right += wrong == NULL;
		if (wrong != NULL && points - right <= SHOWN)
			explain(fault.point, wrong);
	}
	if (points == 0)
		return;
	tests++;
	failed_tests += right != points;
	printf("%s %d - %s: %s: %ld of %ld\n", right == points ? "ok" : "not ok", tests, row->name,
	       trouble->action + 5, right, points);
	fflush(stdout);
}

static void sweep_row(const struct row *row)
{
	const struct fault count = { .doer = BY_NTH, .looks = true };

	while (nknown > 0)
		free(known[--nknown].picture.bytes);
	make_ready(row);
	look_again(row, &old_content);
	run(row, &count, &peace);
	if (peace.ran.status != 0 || peace.ran.calls.count == 0) {
		tests++;
		failed_tests++;
		printf("not ok %d - %s: undisturbed\n# status %d, says: %s\n", tests, row->name,
		       peace.ran.status, peace.ran.said);
		return;
	}
	for (size_t i = 0; i < NTROUBLES; i++)
		sweep_trouble(row, &troubles[i]);
}

int main(int argc, char **argv)
{
	const char *build = getenv("abs_top_builddir");
	const char *parent = getenv("TMPDIR"), *cannot;
	char tools[PATH_MAX], scratch[PATH_MAX];

	snprintf(tools, sizeof tools, "%s/tests/fault", build != NULL ? build : ".");
	snprintf(scratch, sizeof scratch, "%s/bpk-looks-XXXXXX", parent != NULL ? parent : "/tmp");
	if (!run_begin(tools))
		return 99;
	cannot = run_cannot();
	if (cannot != NULL) {
		printf("1..0 # SKIP %s\n", cannot);
		return 0;
	}
	setenv("BPK", bpk_program, 1);
	if (mkdtemp(scratch) == NULL || chdir(scratch) != 0)
		run_die(scratch);
	shell(making);
	shell("cp -a healthy work");
	if (chdir("work") != 0)
		run_die("work");
	for (size_t i = 0; i < NROWS; i++)
		if (run_is_wanted(rows[i].name, argv + 1, argc - 1))
			sweep_row(&rows[i]);
	if (chdir("/") == 0) {
		char command[PATH_MAX + 16];

		snprintf(command, sizeof command, "rm -rf '%s'", scratch);
		shell(command);
	}
	printf("1..%d\n", tests);
	return failed_tests > 0;
}
