/* Messages on standard error, and the exit status of the process. All commands report through this
 * file, so a line has one form and a status one table. */
#include "cli/report.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/command.h"
#include "cli/progress.h"
#include "cli/signal.h"
#include "cli/text.h"

#define KIND(kind) (1u << (kind))

const struct bpk_exit bpk_exits[] = {
	{ 0, 0, KIND(BPK_OK), "all is well" },
	{ 1, 1, KIND(BPK_FAILED) | KIND(BPK_NO_MEMORY) | KIND(BPK_LIMIT) | KIND(BPK_UNSUPPORTED),
	  "could not be done: a missing file, no permission, no space, an existing target, a "
	  "limit, "
	  "something this bpk does not know" },
	{ 2, 5, KIND(BPK_CORRUPT), "data damaged" },
	{ 3, 4, KIND(BPK_REPAIRABLE),
	  "an interrupted change is pending, or left bytes behind the end, or parity "
	  "restores the damage, or a signature is of an older state; nothing is lost" },
	{ 4, 3, KIND(BPK_PARTIAL), "done in part: an input, or a member of a tar, was skipped" },
	{ 5, 2, KIND(BPK_DIFFERENT), "compared and different" },
	{ 64, 6, KIND(BPK_USAGE), "wrong usage" },
	{ 70, 7, KIND(BPK_BUG), "a bug in bpk" },
	{ 128 + SIGPIPE, 8, KIND(BPK_PIPE), "the reader of the output went away (SIGPIPE)" },
	{ 0, 0, 0, NULL },
};

static const struct bpk_exit *worst = &bpk_exits[0];
static const struct bpk_exit *recent = &bpk_exits[0];
static char recent_line[BPK_ERR_TEXT];
static bool silent, withholds;
static struct bpk_err silenced;  /* the last line that was not printed */
static struct bpk_err withheld;  /* the last failure since then */
static void (*before_end)(void); /* or NULL */

static const struct bpk_exit *exit_of(enum bpk_kind kind)
{
	for (const struct bpk_exit *row = bpk_exits; row->meaning != NULL; row++)
		if (row->kinds & KIND(kind))
			return row;
	abort(); /* a kind without a row is our own mistake */
}

/* text becomes the line as it is printed, without the program's name. */
static void print(const char *subject, const char *line, char text[BPK_ERR_TEXT])
{
	struct bpk_err shown = { 0 };

	bpk_progress_hide();
	bpk_fail(&shown, BPK_FAILED, "%s", line);
	if (subject != NULL)
		bpk_err_subject(&shown, "%s", subject);
	bpk_text_hide(shown.text, text);
	if (silent) {
		silenced = shown;
		return;
	}
	fprintf(stderr, "%s: %s\n", bpk_program->name, text);
}

static void remember(const struct bpk_exit *row, const char *line)
{
	if (row->rank > worst->rank)
		worst = row;
	if (row->rank <= recent->rank)
		return;
	recent = row;
	memcpy(recent_line, line, strlen(line) + 1);
}

int bpk_report_recent(char line[BPK_ERR_TEXT])
{
	int status = recent->status;

	memcpy(line, recent_line, strlen(recent_line) + 1);
	recent = &bpk_exits[0];
	recent_line[0] = '\0';
	return status;
}

void bpk_report(const char *subject, const struct bpk_err *err)
{
	const struct bpk_exit *row = exit_of(err->kind);
	char line[BPK_ERR_TEXT];

	bpk_signals_await_end();
	if (withholds) {
		withheld = *err;
		return;
	}
	if (err->kind == BPK_PIPE) {
		bpk_signals_die_of_pipe();
		row = exit_of(BPK_FAILED);
	}
	print(subject, err->text, line);
	remember(row, line);
	if (row->rank >= BPK_RANK_END) {
		bpk_signals_drop_all();
		if (before_end != NULL)
			before_end();
		exit(row->status);
	}
}

void bpk_report_difference(void)
{
	remember(exit_of(BPK_DIFFERENT), "");
}

void bpk_note(const char *subject, const char *format, ...)
{
	char line[BPK_ERR_TEXT], text[BPK_ERR_TEXT];
	va_list args;

	va_start(args, format);
	if (vsnprintf(line, sizeof line, format, args) < 0)
		line[0] = '\0';
	va_end(args);
	print(subject, line, text);
}

bool bpk_report_silence(bool now)
{
	bool before = silent;

	silent = now;
	return before;
}

const char *bpk_report_silenced(void)
{
	return silenced.text;
}

void bpk_report_withhold(void)
{
	withholds = true;
	withheld = (struct bpk_err){ 0 };
}

struct bpk_err bpk_report_withheld(void)
{
	withholds = false;
	return withheld;
}

unsigned bpk_report_take(void)
{
	unsigned taken = (unsigned)(worst - bpk_exits);

	worst = &bpk_exits[0];
	return taken;
}

void bpk_report_add(unsigned taken)
{
	if (bpk_exits[taken].rank > worst->rank)
		worst = &bpk_exits[taken];
}

void bpk_report_on_end(void (*end)(void))
{
	before_end = end;
}

int bpk_report_status(void)
{
	return worst->status;
}

void bpk_flush_results(void)
{
	static bool is_told;
	struct bpk_err err = { 0 };
	bool failed_before = ferror(stdout) != 0;
	char line[BPK_ERR_TEXT];

	errno = EIO; /* an earlier write failed, and its errno is lost */
	if (fflush(stdout) == 0 && !failed_before)
		return;
	bpk_fail_errno(&err, errno, "write");
	clearerr(stdout);
	if (is_told && err.kind != BPK_PIPE)
		remember(exit_of(err.kind), "");
	else
		bpk_report("standard output", &err);
	is_told = true;
	bpk_report_recent(line); /* no record can tell of it */
}
