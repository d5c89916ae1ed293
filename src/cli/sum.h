/*
 * bpk sum: sum.c reads the command line, sum_list.c the lists of --check, sum_work.c digests and
 * compares, and sum_show.c prints. For the main thread alone, but for the work on small files.
 */
#ifndef BPK_CLI_SUM_H
#define BPK_CLI_SUM_H

#include "archive/archive.h"
#include "cli/command.h"

struct bpk_sum_args {
	struct bpk_shared shared;
	bool check, tree, recorded, ignore_missing, strict;
};

/* A content to be digested. */
struct bpk_sum_entry {
	const char *name; /* as it is printed; borrowed */
	bool tree;        /* the root of the tree is wanted */
	bool is_expected; /* it comes from a list, and is to be compared with: */
	uint8_t expected[BPK_DIGEST_SIZE];
};

/* The number of lines of a list by their outcome. */
struct bpk_sum_tally {
	uint64_t nsame, ndifferent, nfailed, nmissing;
	uint64_t nmalformed;
	bool standard_input_is_read; /* by the list, or by a name "-" before */
};

/* Digest the entries, in their order as far as anybody sees, and print and report each. tally is
 * that of their list; NULL: they are operands. */
void bpk_sum_entries(const struct bpk_sum_args *args, const struct bpk_sum_entry *entries,
		     size_t count, struct bpk_sum_tally *tally);

/* Check the lines of a list, "-" being standard input, and report those that fail. */
void bpk_sum_check_list(const struct bpk_sum_args *args, const char *path);

/* Take a line apart, which is not kept and need not end with a newline; its last byte is followed
 * by room for a NUL. False: it is malformed. entry->name lies in the line, which is changed. */
bool bpk_sum_parse(char *line, size_t size, struct bpk_sum_entry *entry);

/* Undo the escapes of a name in place. False for one that no program writes. */
bool bpk_sum_unescape(char *name);

/* ---- sum_show.c ---- */

/* Begin the line of a name, with a backslash if it has escapes; and print it, with these. */
void bpk_sum_begin_line(const char *name);
void bpk_sum_print_name(const char *name);

/* Print "HEX  NAME", or the tagged line of a tree. */
void bpk_sum_show(const struct bpk_sum_entry *entry, const uint8_t digest[BPK_DIGEST_SIZE]);

/* Print "NAME: VERDICT". */
void bpk_sum_show_verdict(const char *name, const char *verdict);

#endif
