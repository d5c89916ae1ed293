/*
 * Rows of the sweeps over archives that are changed: a state of an archive and a command on it. Of
 * an undisturbed run a row learns the old content and the new. living.c,
 * powercuts.c and shutdown.c use it.
 */
#ifndef BPK_TESTS_FAULT_ROW_H
#define BPK_TESTS_FAULT_ROW_H

#include <stdbool.h>
#include <sys/types.h>

#include "fault/run.h"

enum { TEXT_MAX = 1 << 14 };

/* A frame that an append or a write replaces by a copy without holes, after the commit. */
#define HOLES "holes.b2frame"

/* The state of a folder: the content by its checksum, and the names of all files. */
struct state {
	char content[TEXT_MAX];
	char names[TEXT_MAX];
	off_t size;  /* of an archive that is one file, otherwise 0 */
	bool tail;   /* the status reported bytes behind its end */
	bool silent; /* reading it gave no message */
};

struct row {
	char name[96];
	const char *setup;   /* a shell script, for an empty folder with the files of row_begin */
	const char *archive; /* its path */
	const char *result;  /* the path to examine */
	const char *argv[16];
	const char *in; /* standard input, through a pipe */
	bool is_tar;
	bool threads;     /* the order of calls depends on timing */
	bool exact;       /* the content stays, and sizes of files count too */
	bool one_piece;   /* no journal: one call must write all of a sector */
	bool long_header; /* its header is longer than a sector */
	bool parity;      /* a parity file is beside it, or is made; bytes are compared */
	bool heals; /* it is damaged, and the command restores keep: any bytes are its old state */
	bool reseals; /* its seal is broken and the command renews it; verify refuses the old one */
	struct state states[3]; /* before, after the command, after it ran twice */
	int again;              /* the status of the second run, which may find nothing to do */
	char words[256];        /* where argv points to */
};

/* Make a scratch folder with sources, and go into its folder work. tools: as for run_begin, which
 * was called. Dies on failure. */
void row_begin(const char *above);

/* Remove the scratch folder. */
void row_end(void);

/* The number of rows, and row n; false if that one makes no sense. */
size_t row_count(void);
bool row_make(size_t n, struct row *row);

/* Make row n for a sweep of power cuts: false if it makes no sense or commits more than once, is
 * none of the wanted ones, or, unless all are wanted or count words name it, has no turn among so
 * many. */
bool row_is_cut(size_t n, struct row *row, bool all, unsigned rows, char **words, int count);

/* The cases of a row, those of all rows before, and the lines of TAP. */
struct row_tally {
	long points, right, all_points, all_right;
	int tests, failed;
};

/* Print the line of a row, behind a word of the sweep, and add its cases to those of all; wrong and
 * said: those of row_learn. And print the plan; returns the exit status. */
void row_tell(struct row_tally *tally, const struct row *row, const char *word, const char *unit,
	      const char *wrong, const char *said);
int row_tell_all(const struct row_tally *tally, const char *unit);

/* Set argv; @ in args is the archive. */
void row_set_command(struct row *row, const char *args);

/* True for a GSD file that is no archive; for that, or an archive of it. */
bool row_is_raw_gsd(const char *name);
bool row_is_gsd(const char *name);

/* Run a shell script in the current folder, its output in ../text. Returns its status. */
int row_shell(const char *script);

/* That output. */
void row_text(char text[TEXT_MAX]);

/* Make the pristine folder, restore it, and record the undisturbed runs. Returns NULL, or the
 * failure; said is the command's message then. */
const char *row_learn(struct row *row, struct calls *calls, char said[512]);

/* Make the current folder, work, as the pristine one. */
void row_restore(void);

/* Run the row's command. */
void row_run(const struct row *row, const struct fault *fault, struct ran *ran);

/* Examine the result. */
void row_look(const struct row *row, struct state *state);

/* The number of the state before or after the command that has the same content, or -1. */
int row_find_state(const struct row *row, const struct state *state);

/* The status of bpk verify: 0, or 3 if a change is pending; a missing result counts as 0. */
int row_verify(const struct row *row);

/* Run the command again, without a fault, on files that are in that state: it must make the same of
 * them as ever. Returns NULL, or the finding. */
const char *row_judge_next(const struct row *row, int state);

#endif
