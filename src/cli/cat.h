/*
 * bpk cat: cat.c reads the command line and opens the inputs, cat_work.c writes the parts of one
 * that are wanted, and rows.c converts numbers on the way. For the main thread alone.
 */
#ifndef BPK_CLI_CAT_H
#define BPK_CLI_CAT_H

#include "cli/rows.h"
#include "cli/transfer.h"

struct bpk_cat_args {
	struct bpk_shared shared;
	struct bpk_opt_range bytes, items;
	struct bpk_opt_slice slice;
	struct bpk_rows_args rows;
	bool prove;
	const char *root; /* 64 hexadecimal digits, or NULL */
};

/* True if numbers are converted, and no bytes are written as they lie. */
bool bpk_cat_converts(const struct bpk_cat_args *args);

/* True if the input may be a file with arrays that is not packed. */
bool bpk_cat_wants_arrays(const struct bpk_cat_args *args);

/* Write the wanted part of the transfer's input into its draft. Errors name the input. */
int bpk_cat_write(const struct bpk_cat_args *args, struct bpk_transfer *transfer,
		  struct bpk_err *err);

#endif
