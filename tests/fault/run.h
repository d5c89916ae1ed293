/* Running one command, with or without a fault, and recording how it ended. The sweeps call it. */
#ifndef BPK_TESTS_FAULT_RUN_H
#define BPK_TESTS_FAULT_RUN_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

/* A fault to inject into a command. */
struct fault {
	enum { BY_NOBODY, BY_NTH, BY_NOMEMORY } doer;
	/* for nth */
	const char *action;
	bool for_ever, reads, looks; /* looks: all calls that read, nth -R */
	long point;                  /* the number of the call; 0: only count */
	/* for nomemory: number of the allocation or thread; 0: only count */
	long allocation, thread;
};

enum { CALLS_MOST = 1 << 11 }; /* of one command */

/* The system calls of a command, as nth counted them. */
struct calls {
	size_t count;
	char names[CALLS_MOST][20];
	char first[20]; /* the first call that met the fault; empty: no call did */
	char last[20];
};

/* A command; fixed. */
struct command {
	const char *const *argv; /* the program first, ended by NULL */
	const char *in;          /* standard input is this file; NULL: nothing */
	bool pipe;               /* ... through a pipe */
	const char *out;         /* standard output is this file; NULL: nothing */
};

/* How it ended. */
struct ran {
	int status;     /* 128 + N after signal N */
	char said[512]; /* the lines of standard error, with " | " between them */
	size_t lines;
	struct calls calls;
	long allocations, threads; /* requested; 0 if it did not reach its end */
};

extern char bpk_program[PATH_MAX];

/*
 * Find nth and nomemory.so in the folder tools, and bpk by the variable BPK; set the environment
 * and the signals for commands. Returns false, with a line on standard error, when BPK names no
 * program.
 */
bool run_begin(const char *tools);

/* NULL, or the reason why faults cannot be injected here. */
const char *run_cannot(void);

/* A sweep tries one point in so many: BPK_FAULT_THIN, or usual where that is not set, twice that
 * with BPK_TEST_LIGHT; 1 is every point. */
unsigned run_thin(unsigned usual);

/* True for one number in so many; BPK_FAULT_SEED moves the choice, so runs of other seeds try
 * others. */
bool run_turn(size_t number, unsigned every);

/* True if the point is tried. */
bool run_tries(size_t point, unsigned usual);

/* Run the command in the current folder; reports go to the folder above. Dies when that is
 * impossible. */
void run_command(const struct command *command, const struct fault *fault, struct ran *ran);

/* True if name is in the list, which NULL ends; true if the system call of that name moves
 * bytes. */
bool run_is_one_of(const char *name, const char *const *names);
bool run_moves_bytes(const char *call);

/*
 * True if the fault repeats another case on the same command, whose undisturbed calls are given.
 * Not for a command of several threads, whose calls come in any order.
 * - A kill after a call leaves the files of a kill before the next one, since every call that
 *   changes files is counted. Only the last call is killed afterwards.
 * - An error for ever is a single error, if the run with the single one made no later call that the
 *   fault would have met.
 */
bool run_repeats(const struct fault *fault, const struct calls *calls);

/* Forget the runs so far: another command follows, or the same on other files. */
void run_forget(void);

/* True if there are no words, or one of the count words is in name. */
bool run_is_wanted(const char *name, char **words, int count);

_Noreturn void run_die(const char *what);

#endif
