/*
 * A surface to draw on, of BPK_CANVAS_WIDTH x BPK_CANVAS_HEIGHT units, from the upper left corner.
 * Used inside the room.
 */
#ifndef BPK_PLOT_CANVAS_H
#define BPK_PLOT_CANVAS_H

#include "plot/plot.h"

enum {
	BPK_CANVAS_WIDTH = 720,
	BPK_CANVAS_HEIGHT = 480,
	BPK_CANVAS_LETTER = 7, /* units of a letter: as many as a digit has at most */
	BPK_CANVAS_TEXT = 12,  /* height of a line of text */
};

enum bpk_anchor { BPK_ANCHOR_START, BPK_ANCHOR_MIDDLE, BPK_ANCHOR_END };

/* Colours are 0xrrggbb. Calls do not fail; a surface remembers its first failure. */
struct bpk_canvas_ops {
	void (*rect)(void *owner, double x, double y, double width, double height, unsigned colour);
	/* A line through count points, x and y in turn; a thin one is 1 unit wide. */
	void (*line)(void *owner, const double *points, size_t count, bool thin, unsigned colour);
	/* y is that of the base line. */
	void (*text)(void *owner, double x, double y, enum bpk_anchor anchor, const char *text);
	/* Numbers behind the picture, for programs; NULL: they are not kept. */
	void (*note)(void *owner, const char *id, const double *numbers, size_t count);
};

struct bpk_canvas {
	const struct bpk_canvas_ops *ops;
	void *owner;
};

/* Draw a plot that has ended. Fails with BPK_NO_MEMORY. */
int bpk_plot_draw(const struct bpk_plot *plot, const struct bpk_canvas *canvas,
		  struct bpk_err *err);

#endif
