/*
 * Text in columns that are as wide as their widest cell. Called by ls and by info --stats.
 */
#ifndef BPK_CLI_SHEET_H
#define BPK_CLI_SHEET_H

#include "base/base.h"

struct bpk_column {
	const char *title;
	bool to_right;
};

enum { BPK_SHEET_COLUMNS = 10 };

/* Caller storage, valid when columns (at most BPK_SHEET_COLUMNS of them, static) and ncolumns are
 * set and the rest is zero; for bpk_sheet_clear. */
struct bpk_sheet {
	const struct bpk_column *columns;
	size_t ncolumns, ncells;
	size_t widths[BPK_SHEET_COLUMNS]; /* in characters */
	struct bpk_buf cells;             /* row by row, each ended by a NUL */
};

/* Add a cell, or the titles as a row. */
int bpk_sheet_put(struct bpk_sheet *sheet, const char *text, struct bpk_err *err);
int bpk_sheet_put_titles(struct bpk_sheet *sheet, struct bpk_err *err);

/* Print all rows on standard output, each behind indent spaces. */
void bpk_sheet_print(const struct bpk_sheet *sheet, int indent);

void bpk_sheet_clear(struct bpk_sheet *sheet);

#endif
