/*
 * Damaged simulation files. Each variant is packed with default options to a Bloscpack file, to a
 * Blosc2 frame, and to a frame with --predict, and must come back bit for bit. `info` must survive
 * each variant, packed or not. Prints TAP, a line for each file.
 *
 *     mutants [FILE]...   default: those of $BPK_FIXTURES/gsd, $BPK_SAMPLES and
 *                         tests/fuzz/corpus/layout
 *
 *     BPK                 the program
 *     BPK_FAULT_THIN      1: ALL variants of each file; otherwise FEW
 */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fault/mutate.h"

enum {
	ALL = 200,
	FEW = 5,
	NAME = 24,
	FILE_MOST = 64 << 20, /* bytes read of a file */
	TIME_LIMIT_S = 900,   /* for one command on all variants */
	STATUS_BUG = 70,      /* EX_SOFTWARE: bpk found a mistake of its own */
	SHOWN = 4,            /* failures shown of a step */
};

static const char *bpk;
static int count; /* variants of each file */
static char folder[PATH_MAX];

/* The file to make variants of. */
static uint8_t *bytes;
static size_t size;
static uint64_t seed;
static uint8_t variant[MUTATE_MOST + MUTATE_TABLES], found[MUTATE_MOST + MUTATE_TABLES + 1];

static _Noreturn void die(const char *what)
{
	fprintf(stderr, "mutants: %s: %s\n", what, strerror(errno));
	exit(99);
}

/* ---- files ---- */

/* Read at most most bytes of path. Returns their number, -1 when the file is missing. */
static long load(const char *path, uint8_t *out, size_t most)
{
	FILE *file = fopen(path, "rbe");
	long got;

	if (file == NULL)
		return -1;
	got = (long)fread(out, 1, most, file);
	fclose(file);
	return got;
}

static void save(const char *path, const uint8_t *from, size_t length)
{
	FILE *file = fopen(path, "wbe");

	if (file == NULL || fwrite(from, 1, length, file) != length || fclose(file) != 0)
		die(path);
}

static void name_of(char name[NAME], int number, const char *suffix)
{
	snprintf(name, NAME, "m%03d%s", number, suffix);
}

static void remove_all(const char *suffix)
{
	char name[NAME];

	for (int i = 0; i < count; i++) {
		name_of(name, i, suffix);
		unlink(name);
	}
}

static size_t make_variant(int number)
{
	return mutate(bytes, size, seed + (uint64_t)number, variant);
}

static void make_variants(void)
{
	char name[NAME];

	for (int i = 0; i < count; i++) {
		name_of(name, i, "");
		save(name, variant, make_variant(i));
	}
}

/* ---- commands ---- */

static void redirect(int fd, const char *path)
{
	int opened = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);

	if (opened < 0 || dup2(opened, fd) != fd)
		_exit(126);
}

static int run(char *const *argv)
{
	pid_t child = fork();
	int status;

	if (child < 0)
		die("fork");
	if (child == 0) {
		redirect(STDOUT_FILENO, "said.out");
		redirect(STDERR_FILENO, "said.err");
		alarm(TIME_LIMIT_S);
		execv(bpk, argv);
		_exit(127);
	}
	if (waitpid(child, &status, 0) != child)
		die("waitpid");
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* True if a sanitizer printed a report. */
static bool complained(void)
{
	static char said[1 << 16];
	long length = load("said.err", (uint8_t *)said, sizeof said - 1);

	said[length > 0 ? length : 0] = '\0';
	return strstr(said, "Sanitizer") != NULL || strstr(said, "runtime error:") != NULL;
}

/* A command with its options, for files with that suffix. */
struct step {
	const char *words[5]; /* ended by NULL */
	const char *suffix;
	bool must_succeed;
};

/* Run the step on number variants from first on. True if it ended as it should. */
static bool is_good(const struct step *step, int first, int number)
{
	static char names[ALL][NAME];
	static char *argv[ALL + 8];
	int argc = 0, status;

	argv[argc++] = (char *)(uintptr_t)bpk;
	for (size_t i = 0; step->words[i] != NULL; i++)
		argv[argc++] = (char *)(uintptr_t)step->words[i];
	for (int i = 0; i < number; i++) {
		name_of(names[i], first + i, step->suffix);
		argv[argc++] = names[i];
	}
	argv[argc] = NULL;
	status = run(argv);
	return !complained() && status < 126 && status != STATUS_BUG &&
	       (status == 0 || !step->must_succeed);
}

/* Print the first line on standard error, with the command and the variant. */
static void tell_said(const char *command, int number)
{
	char said[200];
	long length = load("said.err", (uint8_t *)said, sizeof said - 1);

	said[length > 0 ? length : 0] = '\0';
	said[strcspn(said, "\n")] = '\0';
	printf("# bpk %s: variant %d, seed %llu: %s\n", command, number, (unsigned long long)seed,
	       said);
}

/* Run the step on all variants at once. If that fails, run it on each to find the bad ones. */
static int run_step(const struct step *step)
{
	int bad = 0;

	if (is_good(step, 0, count))
		return 0;
	for (int i = 0; i < count && bad < SHOWN; i++)
		if (!is_good(step, i, 1)) {
			tell_said(step->words[0], i);
			bad++;
		}
	return bad > 0 ? bad : 1;
}

/* ---- one file ---- */

static int compare(void)
{
	char name[NAME];
	int same = 0;

	for (int i = 0; i < count; i++) {
		size_t expected = make_variant(i);
		long got;

		name_of(name, i, "");
		got = load(name, found, sizeof found);
		if (got == (long)expected && memcmp(found, variant, expected) == 0)
			same++;
		else
			printf("# variant %d, seed %llu: %ld bytes came back, or others, of %zu\n",
			       i, (unsigned long long)seed, got, expected);
	}
	return same;
}

static const char *base_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash != NULL ? slash + 1 : path;
}

/* Pack and unpack all variants. Returns the number that came back unchanged. */
static int go_round(const struct step *pack, const char *suffix, int *bad)
{
	const struct step info = { { "info", "--json", "-vv" }, suffix, false };
	const struct step unpack = { { "unpack", "-q" }, suffix, true };
	int same;

	make_variants();
	*bad += run_step(pack) + run_step(&info);
	remove_all("");
	*bad += run_step(&unpack);
	same = compare();
	remove_all(suffix);
	return same;
}

static void load_file(const char *path)
{
	long got = load(path, bytes, FILE_MOST);

	if (got < 0)
		die(path);
	size = mutate_shorten(bytes, (size_t)got);
	seed = 0;
	for (const char *sign = base_of(path); *sign != '\0'; sign++)
		seed = seed * 31 + (uint8_t)*sign;
	seed *= ALL;
}

static bool try_file(const char *path, int number)
{
	static const struct step info = { { "info", "--json", "-vv" }, "", false };
	static const struct step pack = { { "pack", "-q" }, "", true };
	static const struct step pack_frame = { { "pack", "-q", "-Fb2frame" }, "", true };
	static const struct step predict = { { "pack", "-q", "-Fb2frame", "--predict" }, "", true };
	int bad, same, same_frame, predicted;

	load_file(path);
	make_variants();
	bad = run_step(&info);
	same = go_round(&pack, ".blp", &bad);
	same_frame = go_round(&pack_frame, ".b2frame", &bad);
	predicted = go_round(&predict, ".b2frame", &bad);
	remove_all("");
	bad += same < count || same_frame < count || predicted < count;
	printf("%s %d - %s: %d of %d variants, %d as frames, %d predicted%s\n",
	       bad == 0 ? "ok" : "not ok", number, base_of(path), same, count, same_frame,
	       predicted, bad > 0 ? ", and failures" : "");
	fflush(stdout);
	return bad == 0;
}

/* ---- all of them ---- */

static void gather(const char *variable, const char *pattern, glob_t *files)
{
	const char *where = getenv(variable);
	char whole[PATH_MAX];

	if (where == NULL || where[0] == '\0')
		return;
	snprintf(whole, sizeof whole, "%s/%s", where, pattern);
	glob(whole, files->gl_pathc > 0 ? GLOB_APPEND : 0, NULL, files);
}

static void enter_folder(void)
{
	const char *temporary = getenv("TMPDIR");

	snprintf(folder, sizeof folder, "%s/bpk-mutants-XXXXXX",
		 temporary != NULL ? temporary : "/tmp");
	if (mkdtemp(folder) == NULL || chdir(folder) != 0)
		die("the scratch folder");
}

static void leave_folder(void)
{
	unlink("said.out");
	unlink("said.err");
	if (chdir("/") == 0)
		rmdir(folder);
}

int main(int argc, char **argv)
{
	const char *thin = getenv("BPK_FAULT_THIN");
	glob_t files = { 0 };
	char **paths = argv + 1;
	int good = 0;

	bpk = getenv("BPK");
	bytes = malloc(FILE_MOST);
	if (bpk == NULL || bpk[0] != '/' || bytes == NULL) {
		fprintf(stderr, "mutants: BPK names no program\n");
		return 99;
	}
	count = thin != NULL && strcmp(thin, "1") == 0 ? ALL : FEW;
	gather("top_srcdir", "tests/fuzz/corpus/layout/*", &files);
	gather("BPK_FIXTURES", "gsd/*", &files);
	gather("BPK_SAMPLES", "*.[!m]*", &files);
	if (argc == 1) {
		paths = files.gl_pathv;
		argc = (int)files.gl_pathc + 1;
	}
	enter_folder();
	for (int i = 0; i < argc - 1; i++)
		good += try_file(paths[i], i + 1);
	printf("1..%d\n# %d of %d files, %d variants of each\n", argc - 1, good, argc - 1, count);
	leave_folder();
	globfree(&files);
	free(bytes);
	return good != argc - 1;
}
