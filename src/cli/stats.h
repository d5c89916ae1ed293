/*
 * bpk info --stats: the statistics of the arrays in an input. Called by info.c. Errors name the
 * input.
 */
#ifndef BPK_CLI_STATS_H
#define BPK_CLI_STATS_H

#include "cli/content.h"

/* Find the statistics of all arrays of numbers, or of the one that shared->pick names, and print
 * them as a table, or as the member "stats" of a record. A content that was not opened has none. */
int bpk_stats_print(const struct bpk_content *content, const struct bpk_shared *shared,
		    struct bpk_err *err);
int bpk_stats_record(const struct bpk_content *content, const struct bpk_shared *shared,
		     struct bpk_err *err);

#endif
