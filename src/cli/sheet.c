/* Text in columns. Called by ls_show.c and stats.c. */
#include "cli/sheet.h"

#include <stdio.h>

/* Characters of UTF-8. */
static size_t width_of(const char *text)
{
	size_t width = 0;

	for (; *text != '\0'; text++)
		width += ((unsigned char)*text & 0xc0) != 0x80;
	return width;
}

int bpk_sheet_put(struct bpk_sheet *sheet, const char *text, struct bpk_err *err)
{
	size_t *width = &sheet->widths[sheet->ncells++ % sheet->ncolumns];

	if (width_of(text) > *width)
		*width = width_of(text);
	return bpk_buf_append(&sheet->cells, bpk_view(text, strlen(text) + 1), err);
}

int bpk_sheet_put_titles(struct bpk_sheet *sheet, struct bpk_err *err)
{
	for (size_t i = 0; i < sheet->ncolumns; i++)
		if (bpk_sheet_put(sheet, sheet->columns[i].title, err) != 0)
			return -1;
	return 0;
}

void bpk_sheet_print(const struct bpk_sheet *sheet, int indent)
{
	const char *text = (const char *)sheet->cells.data;

	for (size_t cell = 0; cell < sheet->ncells; cell++, text += strlen(text) + 1) {
		size_t column = cell % sheet->ncolumns;
		bool is_last = column + 1 == sheet->ncolumns;
		int pad = (int)(sheet->widths[column] - width_of(text));

		if (column == 0)
			printf("%*s", indent, "");
		if (sheet->columns[column].to_right)
			printf("%*s", pad, "");
		fputs(text, stdout);
		if (!sheet->columns[column].to_right && !is_last)
			printf("%*s", pad, "");
		fputs(is_last ? "\n" : "  ", stdout);
	}
}

void bpk_sheet_clear(struct bpk_sheet *sheet)
{
	bpk_buf_clear(&sheet->cells);
}
