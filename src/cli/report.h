/*
 * Reports errors once, and keeps the exit status that follows from them. Called by every command.
 * For the main thread alone.
 */
#ifndef BPK_CLI_REPORT_H
#define BPK_CLI_REPORT_H

#include "base/base.h"

/* A row of the table from kind of error to exit status, which the manual prints as EXIT STATUS. */
struct bpk_exit {
	int status;
	/* Over several files the highest wins; from BPK_RANK_END on the process ends at once. */
	unsigned rank;
	unsigned kinds;      /* bit 1 << kind for every enum bpk_kind that has this status */
	const char *meaning; /* for the manual */
};

enum { BPK_RANK_END = 6 };

/* In ascending order, ended by a row whose meaning is NULL. */
extern const struct bpk_exit bpk_exits[];

/*
 * Print "bpk: SUBJECT: line" on standard error and remember the status. subject is a path as the
 * user gave it (bpk_input_name translates "-"), or NULL. Wrong usage and a broken promise (BPK_BUG)
 * end the process at once. So does BPK_PIPE, silently, by SIGPIPE, once all drafts are dropped; if
 * the parent ignored SIGPIPE it is an error like others.
 */
void bpk_report(const char *subject, const struct bpk_err *err);

/* The status and the line of the gravest failure since the last call, or since the start; the first
 * of equal ones. 0 and "" without one; "" for a difference. */
int bpk_report_recent(char line[BPK_ERR_TEXT]);

/* Remember the status of a difference, whose line is a result and was printed. */
void bpk_report_difference(void);

/* Print "bpk: SUBJECT: line" without any consequence. */
void bpk_note(const char *subject, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * Begin to keep failures instead of reporting them: another process reports them. Ends with the
 * last of them, or one without a kind.
 */
void bpk_report_withhold(void);
struct bpk_err bpk_report_withheld(void);

/* Print nothing from here on, or print again. Returns the state before. The text of the last line
 * that was not printed; "" before the first. */
bool bpk_report_silence(bool now);
const char *bpk_report_silenced(void);

/* Forget the worst status so far and return it, to be added later, perhaps by another process. */
unsigned bpk_report_take(void);
void bpk_report_add(unsigned taken);

/* Set a function that is called before a failure ends the process; it may end it in another way. */
void bpk_report_on_end(void (*end)(void));

/* The worst status reported so far; 0 without a report. */
int bpk_report_status(void);

/* Flush standard output, and report a failure. */
void bpk_flush_results(void);

#endif
