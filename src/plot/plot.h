/*
 * Pictures of numbers: lines, heat maps, points as density, histograms, and scatter plots. This is
 * the room's door. The room takes numbers and texts, and gives SVG, PNG or plain text in memory; it
 * knows neither arrays nor files. One thread's at a time.
 *
 *     numbers --bpk_plot_look--> ranges        (points and histograms, the first time)
 *     numbers --bpk_plot_add---> cells, as many as the picture shows --draw--> SVG, PNG, text
 */
#ifndef BPK_PLOT_PLOT_H
#define BPK_PLOT_PLOT_H

#include "plot/axis.h"
#include "plot/scatter.h"

enum bpk_plot_kind {
	BPK_PLOT_LINES,  /* rows of nx numbers, one a line: against the number of the row */
	BPK_PLOT_GRID,   /* ny rows of nx numbers: a heat map */
	BPK_PLOT_POINTS, /* x, y and z of each point: a heat map of counts over x and y */
	BPK_PLOT_BARS,   /* numbers: a histogram */
};

enum { BPK_PLOT_MOST_LINES = 8, BPK_PLOT_MOST_BARS = 50, BPK_PLOT_NOTE = 200 };

/*
 * Memory is bounded by most_x and most_y, however many numbers come. Caller storage; the first
 * group is set by the caller, the rest is zero; for bpk_plot_clear.
 */
struct bpk_plot {
	enum bpk_plot_kind kind;
	const char *title, *x_title, *y_title; /* of any bytes, borrowed */
	uint64_t nx, ny;       /* numbers in a row, and rows, at least 1; of lines and grids */
	size_t most_x, most_y; /* cells that the picture has room for */
	bool integers;

	size_t width, height;  /* cells; of lines: columns, and lines */
	uint64_t per_x, per_y; /* numbers of a cell */
	/* Of lines: height times width, the least and the greatest finite number; NAN: none. */
	double *low, *high;
	double *at; /* of lines: place of each column on the x axis */
	/* Of the others, by rows: the mean of the finite numbers of a cell, and their count. */
	double *mean;
	uint64_t *count;
	/* Of the axes, and of a cell's mean or count. */
	struct bpk_scale x, y, values;
	uint64_t ntaken;          /* numbers so far, and points of finite x and y */
	uint64_t nnan, ninfinite; /* that are not drawn; of points, points */
	char note[BPK_PLOT_NOTE]; /* a line below the picture */

	uint64_t position; /* in the numbers */
	double point_x;    /* of the point that comes */
};

/* Begin to take numbers. Fails with BPK_NO_MEMORY. */
int bpk_plot_begin(struct bpk_plot *plot, struct bpk_err *err);

/* True if all numbers are to be looked at before they are added. */
bool bpk_plot_looks(const struct bpk_plot *plot);

/* The next numbers, in order: look at them, or add them. */
void bpk_plot_look(struct bpk_plot *plot, const double *numbers, size_t count);
void bpk_plot_add(struct bpk_plot *plot, const double *numbers, size_t count);

/* Between looking and adding: fix the ranges and the bars. Fails with BPK_NO_MEMORY. */
int bpk_plot_seen(struct bpk_plot *plot, struct bpk_err *err);

/* The place on the x axis of the numbers of lines that are added next, instead of their row. */
void bpk_plot_put_at(struct bpk_plot *plot, double at);

/* All numbers are added: fix the scales, and write the note. */
void bpk_plot_end(struct bpk_plot *plot);

void bpk_plot_clear(struct bpk_plot *plot);

/* ---- Pictures; all append to out, and fail with BPK_NO_MEMORY ---- */

/* An SVG file. The numbers drawn are in elements "metadata", by the ids shape, at, low-N, high-N,
 * cells, edges and counts; edges are the ends of the x axis of a histogram. */
int bpk_plot_svg(const struct bpk_plot *plot, struct bpk_buf *out, struct bpk_err *err);

/* A PNG file of 1440 x 960 pixels. Also fails with BPK_UNSUPPORTED where bpk was built without
 * libpng, and BPK_FAILED where it cannot be loaded. */
int bpk_plot_png(const struct bpk_plot *plot, struct bpk_buf *out, struct bpk_err *err);

/* The version of libpng that bpk was built with; NULL: none. */
const char *bpk_plot_png_library(void);

/* Cells that an SVG or PNG has room for. */
void bpk_plot_file_room(enum bpk_plot_kind kind, size_t *most_x, size_t *most_y);

/* Cells of text that a picture of this size has room for. */
void bpk_plot_text_room(enum bpk_plot_kind kind, unsigned columns, unsigned lines, size_t *most_x,
			size_t *most_y);

/* Text of lines lines of columns columns, in UTF-8 or ASCII; at least 40 x 10. */
int bpk_plot_text(const struct bpk_plot *plot, unsigned columns, unsigned lines, bool utf8,
		  struct bpk_buf *out, struct bpk_err *err);

#endif
