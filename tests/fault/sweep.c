/*
 * Every command x every system call x every fault, and every allocation that may fail.
 *
 *     sweep [WORD]...   only the rows whose name contains one of the words; prints TAP
 *
 *     BPK               the program
 *     BPK_FAULT_THIN    one point in so many; 1: every point; otherwise THIN
 *     BPK_FAULT_SEED    a number: which points those are
 *     abs_top_builddir  the build folder, with the programs of tests/fault
 *
 * Each case runs twice: once into the fault, and once without it, which must succeed and leave
 * nothing behind. A command is a row below; so is a fault.
 *
 * A whole sweep leaves out only what cannot differ: the second run in a folder of the same names,
 * modes and bytes (drafts have names at random, so one of them is always followed by a run); the
 * cases that run_repeats names; and two of SIGINT, SIGTERM and SIGHUP, which take turns.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fault/case.h"
#include "fault/folder.h"

enum { THIN = 31, SHOWN = 8 };

static const struct row rows[] = {
	{ .name = "pack", .args = { "pack", "-T", "1", "-z", "8K", "a" }, .target = "a.blp" },
	{ .name = "pack, 3 threads",
	  .args = { "pack", "-T", "3", "-z", "4K", "--set", "x=[1,2]", "a" },
	  .target = "a.blp",
	  .threads = true },
	{ .name = "pack -F b2frame",
	  .args = { "pack", "-F", "b2frame", "-T", "1", "-z", "8K", "a" },
	  .target = "a.b2frame" },
	{ .name = "pack -F b2frame, 3 threads",
	  .args = { "pack", "-F", "b2frame", "-T", "3", "-z", "4K", "a" },
	  .target = "a.b2frame",
	  .threads = true },
	{ .name = "pack -F b2frame < pipe > file",
	  .args = { "pack", "-F", "b2frame", "-T", "1", "-z", "8K" },
	  .in = "a",
	  .pipe = true },
	{ .name = "pack --rm",
	  .args = { "pack", "-T", "1", "-z", "8K", "--rm", "a" },
	  .target = "a.blp",
	  .removes = true },
	{ .name = "pack < file > file", .args = { "pack", "-T", "1", "-z", "8K" }, .in = "a" },
	{ .name = "pack < pipe",
	  .args = { "pack", "-T", "1", "-z", "8K", "-o", "c.blp", "-" },
	  .in = "a",
	  .pipe = true,
	  .target = "c.blp" },
	{ .name = "convert, chunks copied",
	  .args = { "convert", "-T", "1", "--checksum", "adler32", "b.blp", "c.blp" },
	  .target = "c.blp" },
	{ .name = "convert, recompressed",
	  .args = { "convert", "-T", "1", "-z", "8K", "b.blp", "c.blp" },
	  .target = "c.blp" },
	{ .name = "convert to b2frame",
	  .args = { "convert", "-T", "1", "b.blp", "c.b2frame" },
	  .target = "c.b2frame" },
	{ .name = "convert, b2frame chunks copied",
	  .args = { "convert", "-T", "1", "--checksum", "adler32", "b.b2frame", "c.b2frame" },
	  .target = "c.b2frame" },
	{ .name = "unpack b2frame",
	  .args = { "unpack", "-T", "1", "b.b2frame" },
	  .target = "b",
	  .raw_to = 40000 },
	{ .name = "unpack b2frame < pipe > file",
	  .args = { "unpack", "-T", "1" },
	  .in = "b.b2frame",
	  .pipe = true,
	  .raw_to = 40000 },
	{ .name = "cat b2frame",
	  .args = { "cat", "-T", "1", "--bytes", "9000:30000", "b.b2frame" },
	  .raw_from = 9000,
	  .raw_to = 30000 },
	{ .name = "verify b2frame",
	  .args = { "verify", "-T", "1", "-v", "b.b2frame" },
	  .prints = true },
	{ .name = "info b2frame", .args = { "info", "--json", "b.b2frame" }, .prints = true },
	{ .name = "unpack",
	  .args = { "unpack", "-T", "1", "b.blp" },
	  .target = "b",
	  .raw_to = 40000 },
	{ .name = "unpack, 3 threads",
	  .args = { "unpack", "-T", "3", "b.blp" },
	  .target = "b",
	  .raw_to = 40000,
	  .threads = true },
	{ .name = "unpack < pipe > file",
	  .args = { "unpack", "-T", "1" },
	  .in = "b.blp",
	  .pipe = true,
	  .raw_to = 40000 },
	{ .name = "cat",
	  .args = { "cat", "-T", "1", "--bytes", "9000:30000", "b.blp" },
	  .raw_from = 9000,
	  .raw_to = 30000 },
	{ .name = "verify", .args = { "verify", "-T", "1", "-v", "b.blp" }, .prints = true },
	{ .name = "tar",
	  .args = { "tar", "--date", "1", "-o", "d.tar", "b.blp" },
	  .force = "--force",
	  .target = "d.tar" },
	{ .name = "tar --raw",
	  .args = { "tar", "--raw", "-T", "1", "--date", "1", "-o", "d.tar", "b.blp" },
	  .force = "--force",
	  .target = "d.tar" },
	{ .name = "tar > file", .args = { "tar", "--date", "1", "b.blp" } },
	{ .name = "tar -x",
	  .args = { "tar", "-x", "c.tar" },
	  .force = "--force",
	  .target = "b",
	  .raw_to = 40000 },
	{ .name = "tar -x < pipe",
	  .args = { "tar", "-x" },
	  .force = "--force",
	  .in = "c.tar",
	  .pipe = true,
	  .target = "b",
	  .raw_to = 40000 },
	{ .name = "tar -t", .args = { "tar", "-t", "c.tar" }, .prints = true },
	{ .name = "info", .args = { "info", "--json", "b.blp" }, .prints = true },
	{ .name = "pack --seal --identity",
	  .args = { "pack", "-T", "1", "-z", "8K", "--seal", "--identity", "a" },
	  .target = "a.blp",
	  .follows = true },
	{ .name = "pack -F b2frame --seal --identity",
	  .args = { "pack", "-F", "b2frame", "-T", "1", "-z", "8K", "--seal", "--identity", "a" },
	  .target = "a.b2frame",
	  .follows = true },
	{ .name = "verify sealed, identity, parity",
	  .args = { "verify", "-T", "1", "-v", "s.blp" },
	  .prints = true,
	  .spare = true },
	{ .name = "verify sealed b2frame, identity",
	  .args = { "verify", "-T", "1", "-v", "s.b2frame" },
	  .prints = true },
	{ .name = "info sealed b2frame, identity",
	  .args = { "info", "--json", "s.b2frame" },
	  .prints = true },
	{ .name = "cat --prove",
	  .args = { "cat", "-T", "1", "--prove", "--bytes", "9000:30000", "s.blp" },
	  .raw_from = 9000,
	  .raw_to = 30000 },
	{ .name = "cat --prove b2frame",
	  .args = { "cat", "-T", "1", "--prove", "--bytes", "9000:30000", "s.b2frame" },
	  .raw_from = 9000,
	  .raw_to = 30000 },
	{ .name = "sum --recorded",
	  .args = { "sum", "-T", "1", "--tree", "--recorded", "s.b2frame" },
	  .prints = true },
	{ .name = "parity",
	  .args = { "parity", "-T", "1", "b.blp" },
	  .target = "b.blp.bpp",
	  .renews = true },
	{ .name = "unpack --fill",
	  .args = { "unpack", "-T", "1", "--fill", "zero", "d.blp" },
	  .target = "d",
	  .damaged = true,
	  .status = 2 },
	{ .name = "unpack --fill b2frame",
	  .args = { "unpack", "-T", "1", "--fill", "zero", "d.b2frame" },
	  .target = "d",
	  .damaged = true,
	  .status = 2 },
	{ .name = "repair --apply",
	  .args = { "repair", "-q", "-T", "1", "--apply", "--from", "a", "-o", "c.blp", "d.blp" },
	  .target = "c.blp",
	  .damaged = true },
	{ .name = "repair --apply b2frame",
	  .args = { "repair", "-q", "-T", "1", "--apply", "--from", "a", "-o", "c.b2frame",
		    "d.b2frame" },
	  .target = "c.b2frame",
	  .damaged = true },
	{ .name = "repair --merge",
	  .args = { "repair", "-q", "-T", "1", "--merge", "-o", "c.blp", "d.blp", "s.blp" },
	  .target = "c.blp",
	  .threads = true,
	  .spare = true },
	{ .name = "repair --merge b2frame",
	  .args = { "repair", "-q", "-T", "1", "--merge", "-o", "c.b2frame", "d.b2frame",
		    "s.b2frame" },
	  .target = "c.b2frame",
	  .threads = true,
	  .spare = true },
};

static const struct row careless_row = {
	.name = "a careless program",
	.args = { "copy", "a" },
	.target = "a.blp",
	.raw_to = 40000,
	.careless = true,
};

enum expected {
	IS_KILLED,   /* the old or the whole new result, at most one draft */
	FAILS,       /* status 1, one line, no draft, the old result */
	GOES_ON,     /* status 0, the whole new result, no message */
	IS_SIGNALED, /* status 128 + N, no draft, the old or the whole new result */
	LOSES_PIPE,  /* status 141, no message */
};

/* The calls at which a fault makes sense. */
enum which { EVERY_CALL, TRANSFERS, OPENINGS, STDOUT_WRITES };

static const struct mode {
	const char *name;
	const char *action;
	enum expected expected;
	enum which which;
	int number; /* the error or the signal */
	bool for_ever, reads;
} modes[] = {
	{ "SIGKILL before", "kill", IS_KILLED, EVERY_CALL, SIGKILL, false, false },
	{ "SIGKILL after", "after", IS_KILLED, EVERY_CALL, SIGKILL, false, false },
	{ "SIGKILL half-way", "half", IS_KILLED, TRANSFERS, SIGKILL, false, false },
	{ "short", "short", GOES_ON, TRANSFERS, 0, false, false },
	{ "EINTR", "fail:EINTR", GOES_ON, EVERY_CALL, EINTR, false, false },
	{ "EAGAIN", "fail:EAGAIN", GOES_ON, TRANSFERS, EAGAIN, false, false },
	{ "ENOSPC", "fail:ENOSPC", FAILS, EVERY_CALL, ENOSPC, false, false },
	{ "EDQUOT", "fail:EDQUOT", FAILS, EVERY_CALL, EDQUOT, false, false },
	{ "EIO", "fail:EIO", FAILS, EVERY_CALL, EIO, false, false },
	{ "EFBIG", "fail:EFBIG", FAILS, TRANSFERS, EFBIG, false, false },
	{ "EMFILE", "fail:EMFILE", FAILS, OPENINGS, EMFILE, false, false },
	{ "ENOSPC for ever", "fail:ENOSPC", FAILS, EVERY_CALL, ENOSPC, true, false },
	{ "EIO for ever", "fail:EIO", FAILS, EVERY_CALL, EIO, true, false },
	{ "EPIPE", "fail:EPIPE", LOSES_PIPE, STDOUT_WRITES, SIGPIPE, false, false },
	{ "SIGINT", "signal:INT", IS_SIGNALED, EVERY_CALL, SIGINT, false, false },
	{ "SIGTERM", "signal:TERM", IS_SIGNALED, EVERY_CALL, SIGTERM, false, false },
	{ "SIGHUP", "signal:HUP", IS_SIGNALED, EVERY_CALL, SIGHUP, false, false },
	{ "SIGPIPE", "signal:PIPE", GOES_ON, EVERY_CALL, SIGPIPE, false, false },
	{ "SIGXFSZ", "signal:XFSZ", GOES_ON, EVERY_CALL, SIGXFSZ, false, false },
	{ "short reads", "short", GOES_ON, TRANSFERS, 0, false, true },
	{ "reads with EINTR", "fail:EINTR", GOES_ON, EVERY_CALL, EINTR, false, true },
	{ "reads with EAGAIN", "fail:EAGAIN", GOES_ON, TRANSFERS, EAGAIN, false, true },
	{ "reads with EIO", "fail:EIO", FAILS, EVERY_CALL, EIO, false, true },
	{ "reads with EIO for ever", "fail:EIO", FAILS, EVERY_CALL, EIO, true, true },
};
enum { NMODES = sizeof modes / sizeof modes[0], NROWS = sizeof rows / sizeof rows[0] };

static int tests, failed_tests;
static bool nameless;
static int plain_status; /* of the row's run without a fault */
static size_t plain_lines;
static struct album put_right; /* folders of the row in which the next run succeeded */

/* ---- judging ---- */

/* True for calls whose failure is harmless: the same is done in another way, or the result is more
 * private. */
static bool may_be_forgiven(const char *call)
{
	static const char *const names[] = { "openat",    "ftruncate",       "fchmod",
					     "fchown",    "unlinkat",        "utimensat",
					     "fallocate", "sync_file_range", NULL };

	return run_is_one_of(call, names);
}

/*
 * True for calls that need not be repeated after EINTR. A name changes once: after an interruption
 * it is unknown whether it has, and a second try could take our own result for an earlier file.
 * POSIX does not list EINTR for these calls. And stdio, which prints lines, cannot continue.
 */
static bool may_end_interrupted(const struct row *row, const struct mode *mode, const char *call)
{
	static const char *const names[] = { "linkat", "renameat", "renameat2", "unlinkat", NULL };

	if (row->prints && strcmp(call, "write") == 0)
		return mode->number == EINTR || mode->number == EAGAIN;
	return mode->number == EINTR && run_is_one_of(call, names);
}

/* True for calls during which the signal waits, so that the result is complete before it is
 * handled. */
static bool may_outrun_signal(const char *call)
{
	static const char *const names[] = { "linkat", "renameat",  "renameat2",
					     "fsync",  "fdatasync", NULL };

	return run_is_one_of(call, names);
}

/* As without a fault: quiet, but for reports of a damaged input. */
static bool is_quiet_and_whole(const struct outcome *outcome)
{
	return outcome->ran.status == plain_status && outcome->seen == WHOLE &&
	       outcome->ran.lines == plain_lines && outcome->drafts == 0;
}

/* The old or the whole result; standard output has no old one. */
static bool is_old_or_whole(enum where where, const struct outcome *outcome)
{
	return where == TO_STDOUT || outcome->seen == WHOLE ||
	       outcome->seen == (where == TO_OLD ? OLD : NOTHING);
}

static bool names_a_file(const struct row *row, const char *line)
{
	/* the map of a damaged archive goes there, too */
	if ((row->target == NULL || row->damaged) && strstr(line, "standard output") != NULL)
		return true;
	if (row->target != NULL && strstr(line, row->target) != NULL)
		return true;
	for (size_t i = 1; row->args[i] != NULL; i++)
		if (strstr(row->args[i], ".b") != NULL && strstr(line, row->args[i]) != NULL)
			return true;
	return strstr(line, "standard input") != NULL || strstr(line, " a: ") != NULL ||
	       strstr(line, "c.tar: ") != NULL;
}

/* Status 1, one line with the reason, nothing done. */
static const char *judge_error(const struct row *row, enum where where, const char *reason,
			       const struct outcome *outcome)
{
	if (outcome->ran.status != 1 && !(row->damaged && outcome->ran.status == 2))
		return "status is not 1";
	if ((outcome->ran.lines != 1 && !row->damaged) ||
	    strncmp(outcome->ran.said, "bpk: ", 5) != 0)
		return "not one line that begins with bpk:";
	if (strstr(outcome->ran.said, reason) == NULL)
		return "does not say why";
	if (outcome->drafts > 0)
		return "a draft is left";
	/* a result with its reports may have lost one of them */
	if (where == TO_STDOUT || (row->damaged && outcome->seen == WHOLE))
		return NULL;
	/* an input that cannot be removed stays beside its result */
	if (outcome->seen == WHOLE && row->removes)
		return NULL;
	/* when the folder cannot be synced, the old file is already gone */
	if (where == TO_OLD && outcome->seen == WHOLE)
		return strcmp(outcome->ran.calls.last, "fsync") == 0 ? NULL : "failed and replaced";
	return outcome->seen == (where == TO_OLD ? OLD : NOTHING) ? NULL : "the target is changed";
}

static const char *judge_failure(const struct row *row, enum where where, const struct mode *mode,
				 const struct outcome *outcome)
{
	const char *wrong;

	if (row->spare && mode->reads && (outcome->ran.status == 3 || is_quiet_and_whole(outcome)))
		return NULL;
	if (row->renews && where == TO_OLD && mode->reads && outcome->ran.status == 0 &&
	    outcome->seen == WHOLE)
		return NULL;
	if (is_quiet_and_whole(outcome))
		return may_be_forgiven(outcome->ran.calls.first) ? NULL : "an error was ignored";
	wrong = judge_error(row, where, strerror(mode->number), outcome);
	if (wrong == NULL && !names_a_file(row, outcome->ran.said))
		return "does not name the file";
	return wrong;
}

/*
 * True while SIGPIPE may keep its default action: there is no draft to drop. A command that only
 * prints has none, and one that reads a pipe into a temporary file opens its output later.
 */
static bool has_no_output(const struct row *row, enum where where, const struct outcome *outcome)
{
	return row->prints ||
	       (row->pipe && where == TO_STDOUT && outcome->seen == EMPTY && outcome->drafts == 0);
}

static const char *judge_going_on(const struct row *row, enum where where, const struct mode *mode,
				  const struct outcome *outcome)
{
	if (is_quiet_and_whole(outcome))
		return NULL;
	if (may_end_interrupted(row, mode, outcome->ran.calls.first))
		return judge_error(row, where, strerror(mode->number), outcome);
	if (mode->number == SIGPIPE && outcome->ran.status == 128 + SIGPIPE &&
	    has_no_output(row, where, outcome))
		return outcome->ran.lines == 0 ? NULL : "printed a message";
	return "did not go on as without a fault";
}

static const char *judge_kill(enum where where, const struct outcome *outcome)
{
	if (outcome->ran.status != 128 + SIGKILL)
		return "was not killed";
	if (!is_old_or_whole(where, outcome))
		return "the target holds a part";
	if (outcome->drafts > (nameless && where == TO_NEW ? 0 : 1))
		return "too many drafts are left";
	return NULL;
}

static const char *judge_signal(const struct row *row, enum where where, const struct mode *mode,
				const struct outcome *outcome)
{
	if (is_quiet_and_whole(outcome) && may_outrun_signal(outcome->ran.calls.first))
		return NULL;
	if (outcome->ran.status != 128 + mode->number)
		return "did not end of the signal";
	if ((outcome->ran.lines > 0 && !row->damaged) || outcome->drafts > 0)
		return "left a message or a draft";
	return is_old_or_whole(where, outcome) ? NULL : "the target holds a part";
}

/* Returns NULL if the outcome is as it must be. */
static const char *judge(const struct row *row, enum where where, const struct mode *mode,
			 const struct outcome *outcome)
{
	if (outcome->source_changed)
		return "a source was changed";
	if (outcome->source_gone && outcome->seen != WHOLE)
		return "the source is gone, and its result is missing";
	if (outcome->stray[0] != '\0')
		return "a strange file is left";
	if (row->removes && is_quiet_and_whole(outcome) && !outcome->source_gone)
		return "the source is still there";
	if (outcome->ran.calls.first[0] == '\0')
		return row->threads && is_quiet_and_whole(outcome) ? NULL : "nothing was done";
	switch (mode->expected) {
	case IS_KILLED:
		return judge_kill(where, outcome);
	case FAILS:
		return judge_failure(row, where, mode, outcome);
	case GOES_ON:
		return judge_going_on(row, where, mode, outcome);
	case IS_SIGNALED:
		return judge_signal(row, where, mode, outcome);
	case LOSES_PIPE:
		return outcome->ran.status == 128 + SIGPIPE && outcome->ran.lines == 0
			       ? NULL
			       : "did not end of SIGPIPE";
	}
	return "has no rule";
}

/* ---- sweeping ---- */

/* One line of TAP being counted. */
struct tally {
	const struct row *row;
	enum where where;
	const char *fault;
	long points, right;
};

static const char *where_name(const struct tally *tally)
{
	static const char *const names[] = { ", new", ", over an old file", "" };

	return tally->row->target == NULL ? "" : names[tally->where];
}

static bool is_found_out(const struct tally *tally)
{
	return tally->row->careless && tally->right < tally->points;
}

static void end_tally(const struct tally *tally)
{
	bool ok = tally->row->careless ? is_found_out(tally) : tally->right == tally->points;

	tests++;
	failed_tests += !ok;
	printf("%s %d - %s%s: %s: ", ok ? "ok" : "not ok", tests, tally->row->name,
	       where_name(tally), tally->fault);
	if (tally->row->careless)
		printf("%s\n", ok ? "is found out" : "passes");
	else
		printf("%ld of %ld\n", tally->right, tally->points);
	fflush(stdout);
}

static void explain(const struct tally *tally, long point, const struct outcome *outcome,
		    const char *wrong)
{
	static const char *const seen[] = { "nothing", "an empty file", "the old", "the whole",
					    "another" };

	if (tally->points - tally->right > SHOWN)
		return;
	printf("# at %ld %s: %s; status %d, target %s, %zu drafts%s%s, says: %s\n", point,
	       outcome->ran.calls.first, wrong, outcome->ran.status, seen[outcome->seen],
	       outcome->drafts, outcome->stray[0] ? ", left " : "", outcome->stray,
	       outcome->ran.said);
}

/* The next run, without a fault, must succeed and remove leftovers. */
static const char *run_again(const struct row *row, enum where where, struct outcome *outcome)
{
	static const struct fault none = { .doer = BY_NOBODY };
	char first[sizeof outcome->ran.calls.first];

	case_restore_sources();
	if (row->follows)
		unlink(row->target);
	memcpy(first, outcome->ran.calls.first, sizeof first);
	case_run(row, where, row->target != NULL, &none, outcome);
	memcpy(outcome->ran.calls.first, first, sizeof first);
	if (!is_quiet_and_whole(outcome) || outcome->stray[0] != '\0' || outcome->source_changed)
		return "the next run did not put it right";
	return NULL;
}

/* Run one case, both times, and count it. */
static void try_point(struct tally *tally, const struct mode *mode, const struct fault *fault)
{
	const struct timespec began = folder_now();
	struct outcome outcome;
	const char *wrong;

	case_restore(tally->row, tally->where);
	case_run(tally->row, tally->where, false, fault, &outcome);
	wrong = judge(tally->row, tally->where, mode, &outcome);
	if (wrong == NULL && !folder_was_seen(&put_right, began))
		wrong = run_again(tally->row, tally->where, &outcome);
	tally->points++;
	tally->right += wrong == NULL;
	if (wrong != NULL && !tally->row->careless)
		explain(tally, fault->point, &outcome, wrong);
}

/* A signal is raised again by its number, and nothing else depends on it: the three take turns. */
static bool is_another_signal(const struct mode *mode, size_t point)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP };

	return mode->expected == IS_SIGNALED && mode->number != signals[point % 3];
}

static bool suits(const struct row *row, const struct mode *mode, const char *call)
{
	switch (mode->which) {
	case EVERY_CALL:
		return true;
	case TRANSFERS:
		return run_moves_bytes(call);
	case OPENINGS:
		return strcmp(call, "openat") == 0;
	case STDOUT_WRITES:
		return row->target == NULL && run_moves_bytes(call);
	}
	return false;
}

/* Deterministic. Over rows and modes every point has its turn. */
static bool is_chosen(const struct row *row, const struct mode *mode, size_t point)
{
	size_t turn = point + 2 * (size_t)(mode - modes);

	if (row >= rows && row < rows + NROWS)
		turn += 3 * (size_t)(row - rows);
	return row->careless || run_tries(turn, THIN);
}

/* Run once under nth without a fault: later results are compared with this one, and its calls are
 * the points. */
static bool survey(const struct row *row, enum where where, bool reads, struct outcome *outcome)
{
	const struct fault count = { .doer = BY_NTH, .reads = reads };

	case_restore(row, where);
	case_run(row, where, false, &count, outcome);
	plain_status = row->status;
	plain_lines = row->damaged ? outcome->ran.lines : 0;
	if (outcome->ran.status == plain_status && outcome->ran.lines == plain_lines &&
	    case_learn(row))
		return true;
	tests++;
	failed_tests++;
	printf("not ok %d - %s: a plain run\n", tests, row->name);
	printf("# %s: the plain run ends with status %d: %s\n", row->name, outcome->ran.status,
	       outcome->ran.said);
	return false;
}

static void sweep_mode(const struct row *row, enum where where, const struct mode *mode,
		       const struct calls *calls)
{
	struct tally tally = { .row = row, .where = where, .fault = mode->name };

	for (size_t i = 0; i < calls->count; i++) {
		const struct fault fault = {
			.doer = BY_NTH,
			.action = mode->action,
			.for_ever = mode->for_ever,
			.reads = mode->reads,
			.point = (long)i + 1,
		};

		if (suits(row, mode, calls->names[i]) && is_chosen(row, mode, i) &&
		    !is_another_signal(mode, i) &&
		    (row->threads || row->careless || !run_repeats(&fault, calls)))
			try_point(&tally, mode, &fault);
		if (is_found_out(&tally))
			break;
	}
	if (tally.points == 0)
		return;
	end_tally(&tally);
}

static void sweep_calls(const struct row *row, enum where where)
{
	for (int reads = 0; reads <= 1; reads++) {
		struct outcome plain;

		if (!survey(row, where, reads, &plain))
			return;
		for (size_t i = 0; i < NMODES; i++)
			if (modes[i].reads == reads)
				sweep_mode(row, where, &modes[i], &plain.ran.calls);
	}
}

/* A command may succeed without unimportant memory, and must succeed without threads. */
static const char *judge_missing(const struct row *row, enum where where, const struct fault *fault,
				 const struct outcome *outcome)
{
	if (outcome->source_changed || (outcome->source_gone && outcome->seen != WHOLE) ||
	    outcome->stray[0] != '\0')
		return "a file is changed or left that should not be";
	if (is_quiet_and_whole(outcome))
		return NULL;
	if (fault->thread > 0)
		return "did not go on with fewer threads";
	return judge_error(row, where, "memory", outcome);
}

static void try_missing(struct tally *tally, const struct fault *fault)
{
	const struct timespec began = folder_now();
	struct outcome outcome;
	const char *wrong;

	case_restore(tally->row, tally->where);
	case_run(tally->row, tally->where, false, fault, &outcome);
	wrong = judge_missing(tally->row, tally->where, fault, &outcome);
	if (wrong == NULL && !folder_was_seen(&put_right, began))
		wrong = run_again(tally->row, tally->where, &outcome);
	tally->points++;
	tally->right += wrong == NULL;
	if (wrong != NULL && !tally->row->careless)
		explain(tally, fault->allocation + fault->thread, &outcome, wrong);
}

static void sweep_missing(const struct row *row, enum where where)
{
	struct tally memory = { .row = row, .where = where, .fault = "no memory" };
	struct tally threads = { .row = row, .where = where, .fault = "no thread" };
	struct fault fault = { .doer = BY_NOMEMORY };
	struct outcome plain;

	case_restore(row, where);
	case_run(row, where, false, &fault, &plain);
	for (long n = 1; n <= plain.ran.allocations; n++) {
		fault.allocation = n;
		if (is_chosen(row, modes, (size_t)n) && !is_found_out(&memory))
			try_missing(&memory, &fault);
	}
	fault.allocation = 0;
	for (fault.thread = 1; fault.thread <= plain.ran.threads; fault.thread++)
		try_missing(&threads, &fault);
	if (memory.points > 0)
		end_tally(&memory);
	if (threads.points > 0)
		end_tally(&threads);
}

static void sweep_row(const struct row *row)
{
	enum where first = row->target == NULL ? TO_STDOUT : TO_NEW;
	enum where last = row->target == NULL ? TO_STDOUT : TO_OLD;

	case_settle();
	for (enum where where = first; where <= last; where++) {
		sweep_calls(row, where);
		sweep_missing(row, where);
		folder_forget(&put_right);
		run_forget();
	}
}

/* ---- Requirements ---- */

static _Noreturn void skip_all(const char *reason)
{
	printf("1..0 # SKIP %s\n", reason);
	exit(0);
}

int main(int argc, char **argv)
{
	const char *build = getenv("abs_top_builddir");
	const char *cannot;
	char tools[PATH_MAX];

	snprintf(tools, sizeof tools, "%s/tests/fault", build != NULL ? build : ".");
	if (!run_begin(tools))
		return 99;
	cannot = run_cannot();
	if (cannot != NULL)
		skip_all(cannot);
	if (!case_begin(tools)) {
		fprintf(stderr, "sweep: no scratch folder, or bpk does not pack\n");
		return 99;
	}
	nameless = case_has_nameless();
	for (size_t i = 0; i < NROWS; i++)
		if (run_is_wanted(rows[i].name, argv + 1, argc - 1))
			sweep_row(&rows[i]);
	if (run_is_wanted(careless_row.name, argv + 1, argc - 1))
		sweep_row(&careless_row);
	case_end();
	printf("1..%d\n", tests);
	return failed_tests > 0;
}
