/*
 * One command in a folder of its own: make the folder ready, run the command under a fault, look at
 * what it left. Judging is the sweep's.
 */
#ifndef BPK_TESTS_FAULT_CASE_H
#define BPK_TESTS_FAULT_CASE_H

#include "fault/run.h"

/* Where a command's result goes. */
enum where {
	TO_NEW,    /* a file that is not there yet */
	TO_OLD,    /* one that is there and is replaced with -f */
	TO_STDOUT, /* standard output, a file */
};

/* One command. The folder holds a (raw), b.blp and b.b2frame (packed) and c.tar (a as its member
 * b); fixed once it is described. */
struct row {
	const char *name;
	const char *args[12]; /* the program's, without its name; force is put behind the first */
	const char *force;    /* what lets it replace a file; NULL: -f */
	const char *in;       /* standard input is this file; NULL: nothing */
	bool pipe;            /* ... through a pipe */
	const char *target;   /* the result's file; NULL: standard output */
	/* The result: these bytes of a, or when both are 0 what a plain run makes. */
	size_t raw_from, raw_to;
	bool removes; /* a, when its result is kept */
	bool prints;  /* through stdio: lines, not data */
	bool threads; /* the order of calls depends on timing */
	/* libarchive is at work, which ends or crashes by itself when memory is missing */
	bool libarchive;
	bool careless; /* the program that does it wrong takes bpk's place */
};

enum seen { NOTHING, OLD, WHOLE, OTHER };

/* What a command left. */
struct outcome {
	struct ran ran;
	enum seen seen;  /* of the result */
	size_t drafts;   /* files .NAME.bpk-* */
	char stray[256]; /* the name of a file that nobody should have made; empty: none */
	bool source_changed;
	bool source_gone; /* removed by a row that removes */
};

extern char careless_program[PATH_MAX];

/* Make the scratch folder and the files; false with a line on standard error when that fails. */
bool case_begin(const char *tools);

/* Remove it all. */
void case_end(void);

/* True when a nameless file can be made in the folder. */
bool case_has_nameless(void);

/* The folder as before the first run, an old result in it or none. */
void case_restore(const struct row *row, enum where where);

/* Only what was removed or changed of the sources. */
void case_restore_sources(void);

/*
 * Run the command in the folder as it is, and look at what it left. force adds -f, as TO_OLD does.
 */
void case_run(const struct row *row, enum where where, bool force, const struct fault *fault,
	      struct outcome *outcome);

/* Later results are held against the present one; false when there is none or it is wrong. */
bool case_learn(const struct row *row);

#endif
