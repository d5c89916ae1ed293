/*
 * Archives changed in place: every kind x every command that changes it x every system call that
 * writes x every fault.
 *
 *     living [WORD]...   only the rows whose name contains one of the words; prints TAP
 *
 * The variables are those of sweep. A row is a state of an archive and a command on it. A case
 * restores the folder, runs the command into the fault, and checks: the content must be the old or
 * the new one, nothing between; verify must accept the archive (or end with 3: a change is
 * pending). Then the same command runs again without a fault, and must make the same content and
 * the same files as an undisturbed run does.
 *
 * A whole sweep leaves out only what cannot differ:
 * - Files are examined once a row. A case that leaves the same names, kinds, modes and bytes, and
 *   has written to the same files, has the same findings. (Journals and drafts differ from run to
 *   run, so a folder that holds one is always examined.)
 * - The cases that run_repeats names; and with threads, files left by a kill are always examined.
 * - SIGINT and SIGTERM take turns: cli/signal.c only raises the number again.
 *
 * Bytes may stay behind an archive's end only after a kill, a failed restore, or a stop or an error
 * between the commit and the cut, and always with a message. After a kill another archive is
 * concatenated to it: that one is read too, or the status reports it. The same kill is repeated
 * beside a reader whose output is not read, which must return the old content or report that the
 * archive changed.
 * A new archive that is packed over the name afterwards must hold its input.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "fault/folder.h"
#include "fault/row.h"
#include "fault/slow.h"

enum {
	ROWS = 7,  /* without BPK_FAULT_THIN one row in that many runs, */
	THIN = 19, /* and one of its cases in that many */
	SHOWN = 6, /* failures explained for each mode of a row */
	FINDINGS_MOST = 1 << 14,
	PATIENCE_S = 10, /* for a command beside a reader that stands still */
};

/* A tar is extracted; each of its files must be whole or missing. */
static const char tar_setup[] = "mkdir t u && cp a t/one && cp more t/two && : >t/three &&"
				" tar -cf x.tar t && rm -r t";

/* ---- faults ---- */

enum expected { IS_KILLED, FAILS, GOES_ON, IS_SIGNALED };

static const struct mode {
	const char *name;
	const char *action;
	enum expected expected;
	int number;     /* the error or the signal */
	bool transfers; /* only calls that move bytes */
	bool for_ever;
} modes[] = {
	{ "SIGKILL before", "kill", IS_KILLED, SIGKILL, false, false },
	{ "SIGKILL after", "after", IS_KILLED, SIGKILL, false, false },
	{ "SIGKILL half-way", "half", IS_KILLED, SIGKILL, true, false },
	{ "short", "short", GOES_ON, 0, true, false },
	{ "EINTR", "fail:EINTR", GOES_ON, EINTR, true, false },
	{ "ENOSPC", "fail:ENOSPC", FAILS, ENOSPC, false, false },
	{ "EIO", "fail:EIO", FAILS, EIO, false, false },
	{ "ENOSPC for ever", "fail:ENOSPC", FAILS, ENOSPC, false, true },
	{ "EIO for ever", "fail:EIO", FAILS, EIO, false, true },
	{ "SIGINT", "signal:INT", IS_SIGNALED, SIGINT, false, false },
	{ "SIGTERM", "signal:TERM", IS_SIGNALED, SIGTERM, false, false },
};
enum { NMODES = sizeof modes / sizeof modes[0] };

static bool full, has_oracle;
static struct timespec began; /* the instant before the last run with a fault */
static int tests, failed_tests;
static long cases, cases_right;

/* ---- judging ---- */

/* True if every line of part is a line of whole. */
static bool is_part(const char *part, const char *whole)
{
	char lines[TEXT_MAX + 2];

	snprintf(lines, sizeof lines, "\n%s", whole);
	for (const char *line = part; *line != '\0';) {
		const char *end = strchr(line, '\n');
		char wanted[512];

		if (end == NULL)
			return false;
		snprintf(wanted, sizeof wanted, "\n%.*s", (int)(end - line + 1), line);
		if (strstr(lines, wanted) == NULL)
			return false;
		line = end + 1;
	}
	return true;
}

/*
 * If BPK_CBLOSC2 names an installed c-blosc2, it must open a frame at any instant and unpack the
 * old or the new content, even while a change is pending: an array in C order, not in stored order.
 * Returns true if the sum of that is in one of the states.
 */
static bool is_frame_for_others(const struct row *row)
{
	const char *name = row->result;
	char sum[TEXT_MAX];

	/* the content of a row about parity is a verdict */
	if (!has_oracle || row_is_gsd(name) || strstr(name, ".b2") == NULL || row->parity ||
	    access(name, F_OK) != 0 || (row->long_header && access(".x.b2nd.bpkj", F_OK) == 0))
		return true;
	setenv("FRAME", name, 1);
	if (row_shell(
		    "(../oracle2 array \"$FRAME\" 2>../why || ../oracle2 raw \"$FRAME\") >../got &&"
		    " cksum <../got") != 0)
		return false;
	row_text(sum);
	return strstr(row->states[0].content, sum) != NULL ||
	       strstr(row->states[1].content, sum) != NULL;
}

/* The number of the matching state, or -1. */
static int find_state(const struct row *row, const struct state *state)
{
	int found = row_find_state(row, state);

	return found < 0 && row->is_tar && is_part(state->content, row->states[1].content) ? 0
											   : found;
}

/* True if the command said that its change is committed and its last step is not done. */
static bool is_completed_later(const struct ran *ran)
{
	return strstr(ran->said, " must be completed by the next change") != NULL;
}

/* True if the command said that its change is there, although it failed. */
static bool says_so(const struct ran *ran)
{
	static const char *const ways[] = { " is committed, but ", " is replaced, but ",
					    " is written, but ", "; the new content is there" };

	for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++)
		if (strstr(ran->said, ways[i]) != NULL)
			return true;
	return false;
}

/* True if that state is the new one. A command with nothing to change leaves the first state. */
static bool is_new_state(const struct row *row, int state)
{
	return state == 1 || strcmp(row->states[state].content, row->states[1].content) == 0;
}

/* A healing that fails ends as verify does, whose line follows. */
static const char *judge_end(const struct row *row, const struct mode *mode, const struct ran *ran,
			     bool is_new)
{
	bool as_verify = row->heals && (ran->status == 2 || ran->status == 3) && ran->lines == 2;
	bool well = ran->status == 0 && ran->lines == 0 && is_new;

	switch (mode->expected) {
	case IS_KILLED:
		return ran->status == 128 + SIGKILL ? NULL : "was not killed";
	case GOES_ON:
		return well ? NULL : "did not go on as without a fault";
	case IS_SIGNALED:
		return well || ran->status == 128 + mode->number ? NULL
								 : "did not end of the signal";
	case FAILS:
		break;
	}
	if (well)
		return NULL;
	if (ran->status != 1 && !as_verify)
		return "status is not 1";
	if ((ran->lines != 1 && !as_verify) || strncmp(ran->said, "bpk: ", 5) != 0)
		return "not one line that begins with bpk:";
	return strstr(ran->said, strerror(mode->number)) != NULL ? NULL : "does not say why";
}

/* Concatenate an archive to the present one: both must be read, or one and a status other than 0.
 * Not with a journal, without which there may be no archive. */
static const char *judge_both(const struct row *row)
{
	static const char script[] = "[ ! -f \"$over\" ] || [ -e \".$over.bpkj\" ] || {"
				     " cat \"$over\" \"../pristine/$over\" >../both.${over##*.};"
				     " \"$BPK\" cat \"$over\" >../one 2>../why; \"$BPK\" cat "
				     "\"../pristine/$over\" >../two;"
				     " \"$BPK\" cat ../both.${over##*.} >../got 2>../why; s=$?;"
				     " if [ $s -eq 0 ]; then cat ../one ../two | cmp - ../got;"
				     " else [ -s ../why ] && [ $s -le 3 ] && cmp -n $(wc -c "
				     "<../one) ../one ../got; fi; }";

	if (row_is_raw_gsd(row->result) || row->is_tar || row->parity ||
	    strcmp(row->result, row->archive) != 0)
		return NULL;
	setenv("over", row->result, 1);
	return row_shell(script) == 0 ? NULL : "another archive behind it is lost, or hides it";
}

/* The reader that stood still must print the old content, or report the change. */
static const char *judge_reader(const struct row *row, int status)
{
	static const char script[] =
		"\"$BPK\" cat \"../pristine/$over\" >../one 2>../why; case $read in"
		" 0|3|$broken) cmp ../one ../slow ;; 1) grep -q 'changed while it was read' "
		"../slow.said ;;"
		" *) false ;; esac";
	char text[16];

	snprintf(text, sizeof text, "%d", status);
	setenv("read", text, 1);
	setenv("broken", row->reseals ? "2" : "0", 1);
	setenv("over", row->result, 1);
	return row_shell(script) == 0 ? NULL
				      : "a slow reader gives something else, and does not say so";
}

static double now_s(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/* Repeat the fault beside a slow reader, then pack a new archive under that name: leftovers of the
 * killed command must not change it. */
static const char *pack_over(const struct row *row, const struct fault *fault)
{
	static const char script[] =
		"[ ! -e \"$over\" ] || { \"$BPK\" pack -f -q -T 1 -z 4K -o \"$over\" a &&"
		" \"$BPK\" cat \"$over\" | cmp - a && \"$BPK\" verify \"$over\"; }";
	struct slow reader;
	const char *wrong;
	struct ran ran;
	double start;

	if (row_is_raw_gsd(row->result) || row->is_tar || row->parity ||
	    strcmp(row->result, row->archive) != 0)
		return NULL;
	row_restore();
	slow_start(&reader, row->result);
	start = now_s();
	row_run(row, fault, &ran);
	start = now_s() - start;
	wrong = judge_reader(row, slow_end(&reader));
	if (wrong != NULL)
		return wrong;
	if (start > PATIENCE_S)
		return "waits for a reader that waits";
	setenv("over", row->result, 1);
	return row_shell(script) == 0 ? NULL : "a new archive of that name does not hold its input";
}

/* ---- files examined ---- */

/* What examining the files of a picture gave. */
static struct finding {
	struct picture picture;
	bool killed;       /* examined as after a kill, too */
	const char *wrong; /* with the files alone; NULL: nothing */
	bool pending;      /* verify says that a change is pending */
	bool tail, silent; /* as in struct state */
	bool strange;      /* there are other files than in the state */
	off_t size;
	int state;
} findings[FINDINGS_MOST];
static size_t nfindings;

static void forget_findings(void)
{
	while (nfindings > 0)
		free(findings[--nfindings].picture.bytes);
}

static const char *examine(const struct row *row, const struct fault *fault,
			   struct finding *finding)
{
	static struct state now;
	const char *wrong;
	int verified;

	if (!is_frame_for_others(row)) /* before bpk opens it */
		return "c-blosc2 finds neither the old content nor the new";
	verified = row_verify(row);
	if (verified != 0 && verified != 3)
		return "verify finds fault";
	finding->pending = verified == 3;
	row_look(row, &now);
	finding->state = find_state(row, &now);
	if (finding->state < 0)
		return "the content is neither the old nor the new";
	finding->tail = now.tail;
	finding->silent = now.silent;
	finding->size = now.size;
	finding->strange = strcmp(now.names, row->states[finding->state].names) != 0 &&
			   (!row->heals || strcmp(now.names, row->states[1].names) != 0);
	wrong = finding->killed ? judge_both(row) : NULL;
	if (wrong == NULL)
		wrong = row_judge_next(row, finding->state);
	return wrong == NULL && finding->killed ? pack_over(row, fault) : wrong;
}

/* Examine the present files, or find them among those of the row that were examined. */
static const struct finding *find(const struct row *row, const struct mode *mode,
				  const struct fault *fault)
{
	bool killed = mode->expected == IS_KILLED;
	struct finding *finding = &findings[nfindings];

	*finding = (struct finding){ .picture = folder_picture(began), .killed = killed };
	for (size_t i = 0; i < nfindings && !(killed && row->threads); i++)
		if ((findings[i].killed || !killed) &&
		    folder_is_same(&findings[i].picture, &finding->picture)) {
			free(finding->picture.bytes);
			return &findings[i];
		}
	finding->wrong = examine(row, fault, finding);
	if (++nfindings == FINDINGS_MOST)
		run_die("the files of one row are too many");
	return finding;
}

/* ---- judging a case ---- */

/* Bytes behind the end, always with a message, are allowed after a kill, after a failed restore,
 * and after a stop or an error between the commit and the cut. */
static const char *judge_tail(const struct row *row, const struct mode *mode, const struct ran *ran,
			      const struct finding *now)
{
	bool leaves =
		mode->expected == IS_KILLED || mode->for_ever ||
		(now->state == 1 && (mode->expected == IS_SIGNALED || is_completed_later(ran)));

	if (now->tail && !leaves)
		return "bytes are left behind the end";
	if (now->tail && now->silent)
		return "bytes behind the end have a status and no line";
	/* an editor of GSD's frames commits more than once, and a frame may keep its holes */
	if (!row_is_gsd(row->result) && strcmp(row->result, HOLES) != 0 && !now->tail &&
	    now->silent && now->size != row->states[now->state].size)
		return "bytes that are not the archive's pass in silence";
	return NULL;
}

static const char *judge(const struct row *row, const struct mode *mode, const struct ran *ran,
			 const struct finding *now)
{
	const char *wrong = now->wrong;

	if (wrong == NULL && now->pending && mode->expected == GOES_ON)
		wrong = "a change is pending";
	if (wrong == NULL)
		wrong = judge_tail(row, mode, ran, now);
	if (wrong != NULL)
		return wrong;
	if (ran->calls.first[0] == '\0')
		return row->threads ? NULL : "nothing was done";
	wrong = judge_end(row, mode, ran, is_new_state(row, now->state));
	if (wrong != NULL)
		return wrong;
	/* An editor of frames commits more than once. In an exact row only files tell the states
	 * apart, and they are old until the pending change is completed. */
	if (is_completed_later(ran) && now->state != 1 && !row_is_gsd(row->result) &&
	    !((row->exact || row->heals) && now->pending))
		return "says that it is committed, and is not";
	if (ran->status == 1 && now->state == 1 && !says_so(ran) && !row_is_gsd(row->result) &&
	    !row->parity)
		return "fails with the new content, and does not say so";
	/* after an error or a signal only a journal may stay, and a message must name it */
	if (mode->expected != IS_KILLED && !row->is_tar && !mode->for_ever && now->strange &&
	    strstr(ran->said, " stays for the next change") == NULL && !is_completed_later(ran))
		return "a strange file is left";
	return NULL;
}

/* ---- sweeping ---- */

static void explain(const struct row *row, const struct mode *mode, long point,
		    const struct ran *ran, const char *wrong)
{
	printf("# %s: %s at %ld %s: %s; status %d, says: %s\n", row->name, mode->name, point,
	       ran->calls.first, wrong, ran->status, ran->said);
}

/* Returns true if all checks pass. */
static bool try_point(const struct row *row, const struct mode *mode, const struct fault *fault,
		      bool tell)
{
	const char *wrong;
	struct ran ran;

	row_restore();
	began = folder_now();
	row_run(row, fault, &ran);
	wrong = judge(row, mode, &ran, find(row, mode, fault));
	if (wrong != NULL && tell)
		explain(row, mode, fault->point, &ran, wrong);
	return wrong == NULL;
}

static bool is_chosen(const struct row *row, size_t mode, size_t point)
{
	size_t turn = point + 2 * mode;

	for (const char *c = row->name; *c != '\0'; c++)
		turn += (unsigned char)*c;
	return run_tries(turn, THIN);
}

static void sweep_mode(const struct row *row, size_t number, const struct calls *calls)
{
	const struct mode *mode = &modes[number];
	long points = 0, right = 0;

	for (size_t i = 0; i < calls->count; i++) {
		const struct fault fault = {
			.doer = BY_NTH,
			.action = mode->action,
			.for_ever = mode->for_ever,
			.point = (long)i + 1,
		};
		bool other_signal =
			mode->expected == IS_SIGNALED && (mode->number == SIGTERM) != i % 2;

		if ((mode->transfers && !run_moves_bytes(calls->names[i])) ||
		    !is_chosen(row, number, i) || other_signal ||
		    (!row->threads && run_repeats(&fault, calls)))
			continue;
		points++;
		right += try_point(row, mode, &fault, points - right <= SHOWN);
	}
	cases += points;
	cases_right += right;
	if (points == 0)
		return;
	tests++;
	failed_tests += right < points;
	printf("%s %d - %s: %s: %ld of %ld\n", right == points ? "ok" : "not ok", tests, row->name,
	       mode->name, right, points);
	fflush(stdout);
}

static void sweep_row(struct row *row)
{
	static struct calls calls;
	char said[512];
	const char *wrong = row_learn(row, &calls, said);

	if (wrong != NULL) {
		tests++;
		failed_tests++;
		printf("not ok %d - %s: %s\n# %s\n", tests, row->name, wrong, said);
		return;
	}
	for (size_t i = 0; i < NMODES; i++)
		sweep_mode(row, i, &calls);
	forget_findings();
	run_forget();
}

static void sweep_number(size_t n, char **wishes, int count)
{
	static struct row row;

	if (!row_make(n, &row))
		return;
	/* one call must write all of a header that has no journal */
	if (row.one_piece)
		setenv("NTH_SECTORS", "1", 1);
	else
		unsetenv("NTH_SECTORS");
	if (!full && count == 0 && !run_turn(n, ROWS))
		return;
	if (run_is_wanted(row.name, wishes, count))
		sweep_row(&row);
}

static void sweep_tar(char **wishes, int count)
{
	static struct row row;

	row = (struct row){ .setup = tar_setup, .archive = "x.tar", .result = "u", .is_tar = true };
	snprintf(row.name, sizeof row.name, "tar: extract");
	row_set_command(&row, "tar -x --force -C u -f @");
	if (run_is_wanted(row.name, wishes, count))
		sweep_row(&row);
}

/* ---- beginning and ending ---- */

/* Compile oracle2 against the library, if it is installed with its plugins: pack may choose filters
 * that are among them. */
static void make_oracle(void)
{
	const char *root = getenv("top_srcdir");
	char script[2 * PATH_MAX];

	if (getenv("BPK_CBLOSC2") == NULL || root == NULL)
		return;
	snprintf(script, sizeof script,
		 "grep -qa bytedelta \"$BPK_CBLOSC2\"/lib/libblosc2.so &&"
		 " ${CC:-cc} -O1 -I\"$BPK_CBLOSC2/include\" -o ../oracle2 '%s/tests/lib/oracle2.c'"
		 " -L\"$BPK_CBLOSC2/lib\" -Wl,-rpath,\"$BPK_CBLOSC2/lib\" -lblosc2",
		 root);
	has_oracle = row_shell(script) == 0;
	printf("# c-blosc2 %s\n",
	       has_oracle ? "reads frames too" : "is not installed with its plugins");
}

int main(int argc, char **argv)
{
	const char *build = getenv("abs_top_builddir");
	char tools[PATH_MAX], here[PATH_MAX];

	full = run_thin(THIN) == 1;
	snprintf(tools, sizeof tools, "%s/tests/fault", build != NULL ? build : ".");
	if (!run_begin(tools))
		return 99;
	if (run_cannot() != NULL) {
		printf("1..0 # SKIP %s\n", run_cannot());
		return 0;
	}
	if (getcwd(here, sizeof here) == NULL)
		run_die("the current folder");
	row_begin(here);
	make_oracle();
	for (size_t i = 0; i < row_count(); i++)
		sweep_number(i, argv + 1, argc - 1);
	sweep_tar(argv + 1, argc - 1);
	row_end();
	printf("1..%d\n# %ld of %ld cases\n", tests, cases_right, cases);
	return failed_tests > 0;
}
