/*
 * Run one command, with or without a fault, and tell how it ended.
 */
#ifndef BPK_TESTS_FAULT_RUN_H
#define BPK_TESTS_FAULT_RUN_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

/* What is done to a command. */
struct fault {
	enum { BY_NOBODY, BY_NTH, BY_NOMEMORY } doer;
	/* for nth */
	const char *action;
	bool for_ever, reads, looks; /* looks: all calls that read, nth -R */
	long point;                  /* 0: only count */
	/* for nomemory; 0: only count */
	long allocation, thread;
};

/* A command's calls as nth counted them. */
struct calls {
	size_t count;
	char names[1 << 11][20];
	char first[20]; /* the first where something was done; empty: none */
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
	int status;     /* 128 + N: of signal N */
	char said[512]; /* the first line of standard error */
	size_t lines;
	struct calls calls;
	long allocations, threads; /* asked for; 0 where it did not get to the end */
};

extern char bpk_program[PATH_MAX];

/* Find nth and nomemory.so in the folder tools, and bpk by the variable BPK; sets the environment
 * and signals that commands are to see. False, with a line on standard error, when BPK names
 * none. */
bool run_begin(const char *tools);

/* Faults cannot be made here: NULL, or why. */
const char *run_cannot(void);

/* Run it in the present folder; reports go to the one above. Dies when that is impossible. */
void run_command(const struct command *command, const struct fault *fault, struct ran *ran);

/* Is name in the list, which NULL ends? Does the system call of that name move bytes? */
bool run_is_one_of(const char *name, const char *const *names);
bool run_moves_bytes(const char *call);

_Noreturn void run_die(const char *what);

#endif
