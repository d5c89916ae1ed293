/*
 * Text of SVG files. Called by scatter.c and canvas_svg.c, inside the room. One thread's at a time.
 */
#ifndef BPK_PLOT_SVG_H
#define BPK_PLOT_SVG_H

#include "base/base.h"

/* Output, up to the first failure. Caller storage. */
struct bpk_svg {
	struct bpk_buf *text;
	struct bpk_err *err;
	bool failed; /* err says why */
};

/* Append formatted text, at most 511 bytes, without escapes. */
void bpk_svg_put(struct bpk_svg *svg, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Append text of any bytes, escaped. */
void bpk_svg_put_text(struct bpk_svg *svg, const char *text);

/* A text element; attributes are its place and style. */
void bpk_svg_put_label(struct bpk_svg *svg, const char *attributes, const char *text);

/* The head of a drawing of this size, and its white ground; style is CSS. end closes it, and
 * returns -1 after any failure. */
void bpk_svg_begin(struct bpk_svg *svg, int width, int height, const char *style);
int bpk_svg_end(struct bpk_svg *svg);

#endif
