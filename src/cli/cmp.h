/*
 * bpk cmp: cmp.c reads the command line, cmp_tree.c compares two trees, cmp_work.c two inputs,
 * cmp_arrays.c the arrays inside them, cmp_recorded.c the recorded identities, and cmp_show.c
 * prints the difference. For the main thread alone.
 */
#ifndef BPK_CLI_CMP_H
#define BPK_CLI_CMP_H

#include "cli/content.h"
#include "cli/tree.h"

struct bpk_cmp_args {
	struct bpk_shared shared;
	bool recorded;
	const char *tolerance_text;
	const char *dtype_text;
	struct bpk_tolerance tolerance; /* of the text */
	struct bpk_dtype dtype;         /* size 0: not given */
};

/* Two inputs on their way, and their difference. */
struct bpk_cmp {
	const struct bpk_cmp_args *args;
	struct bpk_input in[2];

	bool differ;
	char *line;      /* in words, behind the names; owned */
	uint64_t offset; /* of the first byte; BPK_UNKNOWN: arrays differ */
	uint64_t item;   /* its number in the array, or in the data; or BPK_UNKNOWN */
	char *name;      /* of the array, owned, or NULL */
	uint64_t frame;  /* or BPK_UNKNOWN */
	double largest;  /* the largest difference of numbers; negative: not asked for */
};

/* Compare two files, print the difference, and report failures: 0 for equal ones, 1 or -1. */
int bpk_cmp_files(const struct bpk_cmp_args *args, const char *a, const char *b);

/* Compare the files below two directories, each with that of the same name. */
void bpk_cmp_trees(const struct bpk_cmp_args *args, const char *a, const char *b);

/* Compare the arrays that the options name, or all numbers. Both inputs are read. *known is false
 * for files of a tree in which no arrays are known: they are not compared. */
int bpk_cmp_arrays(struct bpk_cmp *cmp, bool *known, struct bpk_err *err);

/* Compare the contents by the trees that they record. */
int bpk_cmp_recorded(struct bpk_cmp *cmp, struct bpk_err *err);

/* Find the array that holds the byte which differs, and its item. */
void bpk_cmp_locate(struct bpk_cmp *cmp);

/* Note a difference in words, the first one; offset and place are set by the caller. */
int bpk_cmp_note(struct bpk_cmp *cmp, struct bpk_err *err, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Say which byte differs, or who ends there. */
int bpk_cmp_note_bytes(struct bpk_cmp *cmp, const struct bpk_compared *compared,
		       struct bpk_err *err);

/* Print the result, or a record of it or of err, which is not reported yet. */
void bpk_cmp_show(const struct bpk_cmp *cmp, const struct bpk_err *err);

#endif
