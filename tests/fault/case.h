/* One command in a folder of its own: prepare the folder, run the command under a fault, and
 * examine the files afterwards. sweep.c and its judgements use it. */
#ifndef BPK_TESTS_FAULT_CASE_H
#define BPK_TESTS_FAULT_CASE_H

#include "fault/run.h"

/* Where a command's result goes. */
enum where {
	TO_NEW,    /* a file that does not exist yet */
	TO_OLD,    /* an existing file, replaced with -f */
	TO_STDOUT, /* standard output, a file */
};

/* One command, fixed. The folder holds a (raw), b.blp and b.b2frame (packed), c.tar (a as its
 * member b), s.blp and s.b2frame (packed, sealed, with an identity), s.blp.bpp (parity of s.blp)
 * and d.blp and d.b2frame (copies of those with a damaged chunk). */
struct row {
	const char *name;
	const char *args[12]; /* arguments without the program's name; force goes after the first */
	const char *force;    /* the option to replace a file; NULL: -f */
	const char *in;       /* standard input is this file; NULL: nothing */
	bool pipe;            /* ... through a pipe */
	const char *target;   /* the result's file; NULL: standard output */
	/* The result: these bytes of a, or when both are 0 the result of a plain run. */
	size_t raw_from, raw_to;
	bool removes; /* it removes a after its result was kept */
	bool follows; /* its result has the generation after that of the one that it replaces */
	bool prints;  /* it prints lines through stdio, not data */
	bool threads; /* the order of its calls depends on timing */
	bool damaged; /* its input is damaged, which it reports ... */
	int status;   /* ... with this status */
	/* a read that fails may be damage, which parity or another copy restores */
	bool spare;
	/* the old target is read, too: what is lost of it is replaced */
	bool renews;
	bool careless; /* the careless program replaces bpk */
};

enum seen { NOTHING, EMPTY, OLD, WHOLE, OTHER };

/* The files that a command left. */
struct outcome {
	struct ran ran;
	enum seen seen;  /* of the result */
	size_t drafts;   /* files .NAME.bpk-* */
	char stray[256]; /* the name of an unexpected file; empty: there is no such file */
	bool source_changed;
	bool source_gone; /* removed by a row that removes */
};

extern char careless_program[PATH_MAX];

/* Make the scratch folder and the files. Returns false, with a line on standard error, on
 * failure. */
bool case_begin(const char *tools);

/* Remove the scratch folder. */
void case_end(void);

/* True when the folder's file system has nameless files. */
bool case_has_nameless(void);

/* Restore the folder as before the first run, with an old result in it for TO_OLD. */
void case_restore(const struct row *row, enum where where);

/* Restore only the sources that were removed or changed. */
void case_restore_sources(void);

/* Restore them, and wait until nobody takes one for a file that may still be written: such a file
 * is read with other calls. */
void case_settle(void);

/* Run the command in the folder as it is, and examine the files afterwards. force adds -f, as
 * TO_OLD does. */
void case_run(const struct row *row, enum where where, bool force, const struct fault *fault,
	      struct outcome *outcome);

/* Compare later results with the present one. False when it does not exist or is wrong. */
bool case_learn(const struct row *row);

#endif
