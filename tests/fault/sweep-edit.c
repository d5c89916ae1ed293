/*
 * Edits in place x every system call x every fault: at whatever instant a writer dies and whatever
 * fails, a reader sees a committed state. So does the next writer, which may die too while it
 * restores the file. Prints TAP. Left out are only the cases that run_repeats names, and the
 * recovery of a file and a journal whose bytes were recovered before.
 *
 *     BPK_FAULT_THIN    one point in so many; 1: every point; otherwise THIN
 *     BPK_FAULT_SEED    a number: which points those are
 *     abs_top_builddir  the build folder, with tests/fault/nth and edits
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fault/folder.h"
#include "fault/run.h"

enum { THIN = 11, SHOWN = 8, SIZE = 6000, MOST = 1 << 16, STATES = 4 };

struct content {
	size_t size;
	bool there;
	char bytes[MOST];
};

static const struct mode {
	const char *name, *action;
	bool kills, for_ever;
} modes[] = {
	{ "SIGKILL before", "kill", true, false },
	{ "SIGKILL after", "after", true, false },
	{ "SIGKILL half-way", "half", true, false },
	{ "short", "short", false, false },
	{ "EINTR", "fail:EINTR", false, false },
	{ "ENOSPC", "fail:ENOSPC", false, false },
	{ "EIO", "fail:EIO", false, false },
	{ "ENOSPC for ever", "fail:ENOSPC", false, true },
	{ "EIO for ever", "fail:EIO", false, true },
};
enum { NMODES = sizeof modes / sizeof modes[0] };

static const char *const scenarios[] = {
	"append", "overwrite", "cut", "give-up", "replace", "copy"
};
enum { NSCENARIOS = sizeof scenarios / sizeof scenarios[0] };

static char program[PATH_MAX];
static struct content old, states[STATES], seen, left_file, left_journal, now;
static int nstates, tests, failed_tests;
static struct album recovered; /* of the scenario: the files that were examined */

/* ---- files ---- */

static void load(const char *path, struct content *content)
{
	FILE *file = fopen(path, "rbe");

	content->there = file != NULL;
	content->size = 0;
	if (file == NULL)
		return;
	content->size = fread(content->bytes, 1, MOST, file);
	fclose(file);
}

/* Write in place: a journal counts for the inode that it was made for. */
static void store(const char *path, const struct content *content)
{
	FILE *file;

	if (!content->there) {
		unlink(path);
		return;
	}
	file = fopen(path, "wbe");
	if (file == NULL || fwrite(content->bytes, 1, content->size, file) != content->size ||
	    fclose(file) != 0)
		run_die(path);
}

static bool is_same(const struct content *a, const struct content *b)
{
	return a->there == b->there && a->size == b->size &&
	       memcmp(a->bytes, b->bytes, a->size) == 0;
}

static void restore(void)
{
	static const struct content none;

	store("f", &old);
	store(".f.bpkj", &none);
	if (system("rm -f .f.bpk-*") != 0)
		run_die("rm");
}

/* ---- runs ---- */

static void run(const char *scenario, const char *commits, const struct fault *fault,
		struct ran *ran)
{
	const char *argv[] = { program, scenario, commits, NULL };
	const struct command command = { .argv = argv, .out = "../seen" };

	run_command(&command, fault, ran);
}

static const struct fault no_fault = { .doer = BY_NOBODY };

/* Read as a reader that restores nothing. */
static const char *look(struct content *content)
{
	struct ran ran;

	run("read", NULL, &no_fault, &ran);
	load("../seen", content);
	if (ran.status == 0)
		return NULL;
	printf("# %s\n", ran.said);
	return "a reader fails";
}

static bool is_state(const struct content *content, int first, int last)
{
	for (int i = first; i <= last && i < nstates; i++)
		if (is_same(content, &states[i]))
			return true;
	return false;
}

/* The next writer must find the bytes that the reader saw, and leave no journal. */
static const char *recover(void)
{
	struct ran ran;

	run("recover", "0", &no_fault, &ran);
	if (ran.status != 0)
		return "the next writer fails";
	if (access(".f.bpkj", F_OK) == 0)
		return "a journal is left";
	if (look(&now) != NULL || !is_same(&now, &seen))
		return "the next writer finds another content";
	return NULL;
}

/* Keep the journal that the fault at a point left, and kill a recovery at each of its calls
 * (in a thinned sweep at some, which differ from point to point). */
static const char *kill_recovery(long point)
{
	struct fault fault = { .doer = BY_NTH };
	const char *wrong = NULL;
	struct ran ran;
	size_t points;

	load("f", &left_file);
	load(".f.bpkj", &left_journal);
	run("recover", "0", &fault, &ran);
	points = ran.calls.count;
	for (size_t i = 0; i < 3 * points && wrong == NULL; i++) {
		if (!run_tries(i + (size_t)point, THIN))
			continue;
		fault.point = (long)(i / 3) + 1;
		fault.action = modes[i % 3].action;
		store("f", &left_file);
		store(".f.bpkj", &left_journal);
		run("recover", "0", &fault, &ran);
		wrong = look(&now);
		if (wrong == NULL && !is_same(&now, &seen))
			wrong = "after a killed recovery a reader sees another content";
		if (wrong == NULL)
			wrong = recover();
	}
	store("f", &left_file);
	store(".f.bpkj", &left_journal);
	return wrong;
}

/* ---- judging ---- */

/* The number of commits in the message of a failed run; -1 when the message is malformed. */
static int commits_of(const struct ran *ran)
{
	int commits;

	if (ran->lines != 1 || sscanf(ran->said, "edits: %d: ", &commits) != 1)
		return -1;
	return commits;
}

static const char *judge(const char *scenario, const struct mode *mode, const struct ran *ran)
{
	bool renames = strcmp(scenario, "copy") == 0 || strcmp(scenario, "replace") == 0;
	bool sync = strstr(ran->calls.first, "sync") != NULL;
	/* A rename cannot be undone when its folder does not sync, nor can a commit without a
	 * journal when nothing can be written any more. Other errors after a rename say that the
	 * file is replaced. */
	bool may_stay = (sync && (renames || (mode->for_ever && access(".f.bpkj", F_OK) != 0))) ||
			(renames && strstr(ran->said, "is replaced, but") != NULL);
	int commits = commits_of(ran);

	if (mode->kills)
		return is_state(&seen, 0, nstates - 1) ? NULL : "a reader sees no committed state";
	if (ran->status == 0)
		return is_state(&seen, nstates - 1, nstates - 1) ? NULL : "not all was done";
	if (ran->status != 1 || commits < 0)
		return "did not fail with one line";
	if (is_state(&seen, commits, may_stay ? commits + 1 : commits))
		return NULL;
	return "failed, and the content is another";
}

/* Examine what the fault at the point left. */
static const char *settle(long point)
{
	const char *wrong = access(".f.bpkj", F_OK) == 0 ? kill_recovery(point) : NULL;

	return wrong == NULL ? recover() : wrong;
}

struct tally {
	const char *scenario;
	const struct mode *mode;
	long points, right;
};

static void try_point(struct tally *tally, const struct fault *fault)
{
	const char *wrong;
	struct ran ran;

	restore();
	run(tally->scenario, "9", fault, &ran);
	wrong = look(&seen);
	if (wrong == NULL)
		wrong = judge(tally->scenario, tally->mode, &ran);
	if (wrong == NULL && !folder_was_seen(&recovered, (struct timespec){ 0 }))
		wrong = settle(fault->point);
	tally->points++;
	tally->right += wrong == NULL;
	if (wrong != NULL && tally->points - tally->right <= SHOWN)
		printf("# at %ld %s: %s; status %d, says: %s\n", fault->point, ran.calls.first,
		       wrong, ran.status, ran.said);
}

static void sweep_mode(const char *scenario, const struct mode *mode, size_t turn,
		       const struct calls *calls)
{
	struct tally tally = { .scenario = scenario, .mode = mode };
	bool ok;

	for (size_t i = 0; i < calls->count; i++) {
		const struct fault fault = {
			.doer = BY_NTH,
			.action = mode->action,
			.for_ever = mode->for_ever,
			.point = (long)i + 1,
		};

		if (run_tries(i + turn, THIN) && !run_repeats(&fault, calls))
			try_point(&tally, &fault);
	}
	if (tally.points == 0)
		return;
	ok = tally.right == tally.points;
	tests++;
	failed_tests += !ok;
	printf("%s %d - %s: %s: %ld of %ld\n", ok ? "ok" : "not ok", tests, scenario, mode->name,
	       tally.right, tally.points);
	fflush(stdout);
}

/* Record the content after 0, 1, 2 ... commits, and the calls of the whole scenario. */
static void learn(const char *scenario, struct calls *calls)
{
	const struct fault count = { .doer = BY_NTH };
	char number[12];
	struct ran ran;

	for (nstates = 0; nstates < STATES; nstates++) {
		restore();
		snprintf(number, sizeof number, "%d", nstates);
		run(scenario, number, &no_fault, &ran);
		if (ran.status != 0 || look(&states[nstates]) != NULL)
			run_die(ran.said);
		if (nstates > 0 && is_same(&states[nstates], &states[nstates - 1]))
			break;
	}
	restore();
	run(scenario, "9", &count, &ran);
	*calls = ran.calls;
}

static void clean_up(const char *folder)
{
	static const char *const reports[] = { "seen", "said", "calls", "asked" };

	restore();
	unlink("f");
	if (chdir("..") != 0)
		return;
	rmdir("in");
	for (size_t i = 0; i < sizeof reports / sizeof reports[0]; i++)
		unlink(reports[i]);
	if (chdir("..") == 0)
		rmdir(folder);
}

int main(void)
{
	const char *build = getenv("abs_top_builddir");
	char tools[PATH_MAX], folder[] = "/tmp/bpk-sweep-edit-XXXXXX";

	snprintf(tools, sizeof tools, "%s/tests/fault", build != NULL ? build : ".");
	if (!run_begin(tools))
		return 99;
	if (run_cannot() != NULL) {
		printf("1..0 # SKIP %s\n", run_cannot());
		return 0;
	}
	if (snprintf(program, sizeof program, "%s/edits", tools) >= (int)sizeof program ||
	    mkdtemp(folder) == NULL || chdir(folder) != 0 || mkdir("in", 0777) != 0 ||
	    chdir("in") != 0)
		run_die("the scratch folder");
	old.there = true;
	old.size = SIZE;
	for (size_t i = 0; i < SIZE; i++)
		old.bytes[i] = (char)(i * 7 + i / 256);
	for (size_t i = 0; i < NSCENARIOS; i++) {
		static struct calls calls;

		learn(scenarios[i], &calls);
		for (size_t m = 0; m < NMODES; m++)
			sweep_mode(scenarios[i], &modes[m], i + 2 * m, &calls);
		folder_forget(&recovered);
		run_forget();
	}
	printf("1..%d\n", tests);
	clean_up(folder);
	return failed_tests > 0;
}
