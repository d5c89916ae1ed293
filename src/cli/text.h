/*
 * Text for people: sizes, tables of columns, paragraphs. For messages and results of all commands.
 */
#ifndef BPK_CLI_TEXT_H
#define BPK_CLI_TEXT_H

#include "base/base.h"

enum { BPK_SIZE_TEXT = 32 };

/* "4711 B", "12.3 KiB", "-" for BPK_UNKNOWN. */
const char *bpk_size_text(uint64_t size, char out[BPK_SIZE_TEXT]);

/* "2.415", "-" where a side is unknown or packed is 0. */
const char *bpk_ratio_text(uint64_t raw, uint64_t packed, char out[BPK_SIZE_TEXT]);

/* Print text on standard output in lines of at most width bytes, broken at spaces; the first line
 * begins at column, the others are indented by indent. Ends with a newline. */
void bpk_print_wrapped(const char *text, size_t column, size_t indent, size_t width);

/* text as bpk_text_show spells it; borrowed from out, cut when too long. */
const char *bpk_printable(const char *text, struct bpk_err *out);

/* Print text on standard output as bpk_text_show spells it, however long it is. */
void bpk_print_escaped(struct bpk_view text);

/* Copy text, cut when too long, without secrets: the user and the query of a web server's URL
 * become "...". */
void bpk_text_hide(const char *text, char out[BPK_ERR_TEXT]);

/* The name of an output in messages: "-" is "standard output". */
const char *bpk_output_name(const char *path);

#endif
