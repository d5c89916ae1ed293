/*
 * Arrays as rows of numbers in text, or in this machine's byte order: a draft that converts the
 * bytes on their way to another one. Called by cat. For one thread at a time.
 */
#ifndef BPK_CLI_ROWS_H
#define BPK_CLI_ROWS_H

#include "cli/transfer.h"

struct bpk_rows_args {
	bool text, header, native;
	const char *format; /* of printf; NULL: as few digits as give the same number */
};

/* Fails with BPK_USAGE for options that need --text, and for a format that is not exactly one
 * conversion of a number. */
int bpk_rows_check(const struct bpk_rows_args *args, struct bpk_err *err);

struct bpk_rows;

/*
 * Put a conversion in front of *draft, which belongs to the new one from then on: kept or dropped
 * with it. rows is valid until that. Bytes that are written after bpk_rows_begin are those of its
 * array. args is borrowed.
 */
int bpk_rows_open(const struct bpk_rows_args *args, struct bpk_draft **draft,
		  struct bpk_rows **rows, struct bpk_err *err);

/*
 * The bytes of item, or of a part of it in C order, come next. A row of text is a row of its last
 * dimension, of an array of one dimension a number. skipped is the number of items in front of the
 * first. Fails with BPK_UNSUPPORTED for types that cannot be converted, BPK_USAGE where the format
 * is one of integers and the array has none.
 */
int bpk_rows_begin(struct bpk_rows *rows, const struct bpk_item *item,
		   const struct bpk_slice *slice, uint64_t skipped, struct bpk_err *err);

#endif
