/*
 * PNG files in memory, by libpng. Called by canvas_png.c.
 */
#ifndef BPK_PLOT_PNG_H
#define BPK_PLOT_PNG_H

#include "base/base.h"

/* Append a PNG file of width x height pixels, red, green and blue a byte each, by rows from above.
 * Fails with BPK_NO_MEMORY; with BPK_FAILED if libpng is missing; with BPK_UNSUPPORTED in a bpk
 * that was built without it. */
int bpk_png_encode(const uint8_t *pixels, uint32_t width, uint32_t height, struct bpk_buf *out,
		   struct bpk_err *err);

#endif
