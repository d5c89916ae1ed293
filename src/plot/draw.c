/*
 * Draws a plot on a canvas. Called by canvas_svg.c and canvas_png.c.
 *
 *     title
 *     y title
 *     +------------------+   +--+
 *     | field            |   |  | colours
 *     +------------------+   +--+
 *           x title
 *     note
 */
#include "plot/canvas.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum {
	TOP = 56,
	BOTTOM = 76,
	RIGHT = 24,
	COLOURS = 16, /* width of the scale of colours, and its steps */
	STEPS = 64,
	BESIDE = 6, /* between a field and its numbers */
};

static const unsigned GRID = 0xdddddd, FRAME = 0x888888, NO_NUMBER = 0xb0b0b0, PAPER = 0xffffff;

struct drawing {
	const struct bpk_plot *plot;
	const struct bpk_canvas_ops *ops;
	void *owner;
	double left, right, top, bottom; /* of the field */
	struct bpk_ticks x, y, values;
};

/* ---- Colours ---- */

/* Some of the colours of matplotlib's viridis, which are even to the eye. */
static const unsigned char ramp[][3] = { { 68, 1, 84 },    { 71, 45, 123 },  { 59, 82, 139 },
					 { 44, 114, 142 }, { 33, 145, 140 }, { 40, 174, 128 },
					 { 94, 201, 98 },  { 173, 220, 48 }, { 253, 231, 37 } };

/* place is from 0 to 1. */
static unsigned colour_of(double place)
{
	size_t last = sizeof ramp / sizeof ramp[0] - 1;
	double at = bpk_most(0, bpk_least(1, place)) * (double)last;
	size_t lower = bpk_min_size((size_t)at, last - 1);
	double part = at - (double)lower;
	unsigned colour = 0;

	for (size_t i = 0; i < 3; i++)
		colour = colour << 8 |
			 (unsigned)(ramp[lower][i] * (1 - part) + ramp[lower + 1][i] * part + 0.5);
	return colour;
}

/* ---- Axes ---- */

static double x_of(const struct drawing *d, double number)
{
	return d->left + bpk_scale_place(&d->plot->x, number) * (d->right - d->left);
}

/* The rows of a grid are numbered from above. */
static double y_of(const struct drawing *d, double number)
{
	double place = bpk_scale_place(
		d->plot->kind == BPK_PLOT_BARS ? &d->plot->values : &d->plot->y, number);

	if (d->plot->kind == BPK_PLOT_GRID)
		place = 1 - place;
	return d->bottom - place * (d->bottom - d->top);
}

static double width_of(const struct bpk_ticks *ticks)
{
	size_t longest = 0;

	for (size_t i = 0; i < ticks->count; i++)
		longest = longest < strlen(ticks->labels[i]) ? strlen(ticks->labels[i]) : longest;
	return (double)(longest * BPK_CANVAS_LETTER);
}

static bool has_colours(const struct bpk_plot *plot)
{
	return plot->kind == BPK_PLOT_GRID || plot->kind == BPK_PLOT_POINTS;
}

/* Room for the numbers of the axes decides on the field. */
static void lay_out(struct drawing *d)
{
	const struct bpk_plot *plot = d->plot;

	bpk_ticks_find(plot->kind == BPK_PLOT_BARS ? &plot->values : &plot->y, 6, &d->y);
	bpk_ticks_find(&plot->values, 6, &d->values);
	d->left = bpk_most(40, width_of(&d->y) + 3 * BESIDE);
	d->right = BPK_CANVAS_WIDTH - RIGHT;
	if (has_colours(plot))
		d->right -= 2.0 * COLOURS + width_of(&d->values);
	d->top = TOP;
	d->bottom = BPK_CANVAS_HEIGHT - BOTTOM;
	bpk_ticks_find(&plot->x, 6, &d->x);
	if (d->x.count > 1 && width_of(&d->x) + 2 * BPK_CANVAS_LETTER >
				      x_of(d, d->x.values[1]) - x_of(d, d->x.values[0]))
		bpk_ticks_find(&plot->x, 3, &d->x);
}

static void draw_tick(const struct drawing *d, double x0, double y0, double x1, double y1)
{
	const double points[] = { x0, y0, x1, y1 };

	d->ops->line(d->owner, points, 2, true, GRID);
}

/* Lines at the ticks lie behind curves and bars; cells would cover them. */
static void draw_axes(const struct drawing *d)
{
	for (size_t i = 0; i < d->x.count; i++) {
		double at = x_of(d, d->x.values[i]);

		draw_tick(d, at, has_colours(d->plot) ? d->bottom : d->top, at, d->bottom + 4);
		d->ops->text(d->owner, at, d->bottom + 4 + BPK_CANVAS_TEXT, BPK_ANCHOR_MIDDLE,
			     d->x.labels[i]);
	}
	for (size_t i = 0; i < d->y.count; i++) {
		double at = y_of(d, d->y.values[i]);

		draw_tick(d, d->left - 4, at, has_colours(d->plot) ? d->left : d->right, at);
		d->ops->text(d->owner, d->left - BESIDE, at + 4, BPK_ANCHOR_END, d->y.labels[i]);
	}
}

static void draw_frame(const struct drawing *d, double left, double right)
{
	const double points[] = { left,      d->top, right,     d->top, right,
				  d->bottom, left,   d->bottom, left,   d->top };

	d->ops->line(d->owner, points, 5, true, FRAME);
}

/* As much of a text as fits into a line; the bytes of a character stay together. */
static void draw_line_of_text(const struct drawing *d, double x, double y, enum bpk_anchor anchor,
			      const char *text)
{
	char cut[BPK_CANVAS_WIDTH / BPK_CANVAS_LETTER + 1];
	size_t size = bpk_min_size(strlen(text), sizeof cut - 4);
	bool fits = text[size] == '\0';

	while (!fits && size > 0 && ((unsigned char)text[size] & 0xc0) == 0x80)
		size--;
	snprintf(cut, sizeof cut, "%.*s%s", (int)size, text, fits ? "" : "...");
	d->ops->text(d->owner, x, y, anchor, cut);
}

static void draw_texts(const struct drawing *d)
{
	const struct bpk_plot *plot = d->plot;

	draw_line_of_text(d, 10, 20, BPK_ANCHOR_START, plot->title);
	draw_line_of_text(d, 10, 44, BPK_ANCHOR_START, plot->y_title);
	draw_line_of_text(d, (d->left + d->right) / 2, d->bottom + 38, BPK_ANCHOR_MIDDLE,
			  plot->x_title);
	draw_line_of_text(d, 10, BPK_CANVAS_HEIGHT - 10, BPK_ANCHOR_START, plot->note);
}

/* The scale of colours with its numbers. */
static void draw_colours(const struct drawing *d)
{
	double left = d->right + COLOURS, step = (d->bottom - d->top) / STEPS;

	for (unsigned i = 0; i < STEPS; i++)
		d->ops->rect(d->owner, left, d->bottom - (i + 1) * step, COLOURS, step,
			     colour_of((i + 0.5) / STEPS));
	draw_frame(d, left, left + COLOURS);
	for (size_t i = 0; i < d->values.count; i++) {
		double place = bpk_scale_place(&d->plot->values, d->values.values[i]);
		double at = d->bottom - place * (d->bottom - d->top);

		draw_tick(d, left + COLOURS, at, left + COLOURS + 4, at);
		d->ops->text(d->owner, left + COLOURS + BESIDE, at + 4, BPK_ANCHOR_START,
			     d->values.labels[i]);
	}
}

/* ---- Lines ---- */

/* Keep the numbers of a line for programs. */
static void note_line(const struct drawing *d, size_t number)
{
	const struct bpk_plot *plot = d->plot;
	char id[40];

	if (d->ops->note == NULL)
		return;
	snprintf(id, sizeof id, "low-%zu", number);
	d->ops->note(d->owner, id, plot->low + number * plot->width, plot->width);
	snprintf(id, sizeof id, "high-%zu", number);
	d->ops->note(d->owner, id, plot->high + number * plot->width, plot->width);
}

/* Through the least and the greatest number of each column, with gaps where a column has none. */
static void draw_line(const struct drawing *d, size_t number, double *points)
{
	const struct bpk_plot *plot = d->plot;
	const double *low = plot->low + number * plot->width;
	const double *high = plot->high + number * plot->width;
	size_t count = 0;

	for (size_t i = 0; i <= plot->width; i++) {
		if (i < plot->width && !isnan(low[i])) {
			points[2 * count] = points[2 * count + 2] = x_of(d, plot->at[i]);
			points[2 * count + 1] = y_of(d, low[i]);
			points[2 * count + 3] = y_of(d, high[i]);
			count += 2;
		} else if (count > 0) {
			d->ops->line(d->owner, points, count, false, bpk_series_colour(number));
			count = 0;
		}
	}
	note_line(d, number);
}

/* The numbers of several lines, in their colours, over the field. */
static void draw_legend(const struct drawing *d)
{
	for (size_t i = 0; i < d->plot->height; i++) {
		double x = d->right - 34.0 * (double)(d->plot->height - i);
		const double points[] = { x, 40, x + 14, 40 };
		char text[24];

		snprintf(text, sizeof text, "%zu", i);
		d->ops->line(d->owner, points, 2, false, bpk_series_colour(i));
		d->ops->text(d->owner, x + 18, 44, BPK_ANCHOR_START, text);
	}
}

static int draw_lines(const struct drawing *d, struct bpk_err *err)
{
	double *points = bpk_calloc(d->plot->width, 4 * sizeof *points, err);

	if (points == NULL)
		return -1;
	for (size_t i = 0; i < d->plot->height; i++)
		draw_line(d, i, points);
	free(points);
	if (d->ops->note != NULL)
		d->ops->note(d->owner, "at", d->plot->at, d->plot->width);
	if (d->plot->height > 1)
		draw_legend(d);
	return 0;
}

/* ---- Cells ---- */

/* The end of cell number of count between two ends; cells share ends, so that no gap shows. */
static double cut(double start, double end, uint64_t number, double count)
{
	return start +
	       (double)(int64_t)((end - start) * bpk_least(1, (double)number / count) + 0.5);
}

static unsigned cell_colour(const struct bpk_plot *plot, size_t cell)
{
	if (plot->kind == BPK_PLOT_POINTS)
		return plot->count[cell] == 0
			       ? PAPER
			       : colour_of((double)plot->count[cell] / plot->values.high);
	return plot->count[cell] == 0 ? NO_NUMBER
				      : colour_of(bpk_scale_place(&plot->values, plot->mean[cell]));
}

/* Numbers of a row, and rows: the last cell may have fewer. */
static void draw_cells(const struct drawing *d)
{
	const struct bpk_plot *plot = d->plot;
	bool grid = plot->kind == BPK_PLOT_GRID;
	double nx = grid ? (double)plot->nx / (double)plot->per_x : (double)plot->width;
	double ny = grid ? (double)plot->ny / (double)plot->per_y : (double)plot->height;

	for (size_t i = 0; i < plot->width * plot->height; i++) {
		size_t column = i % plot->width, row = i / plot->width;
		double x = cut(d->left, d->right, column, nx), y = cut(d->top, d->bottom, row, ny);
		unsigned colour = cell_colour(plot, i);

		if (colour != PAPER)
			d->ops->rect(d->owner, x, y, cut(d->left, d->right, column + 1, nx) - x,
				     cut(d->top, d->bottom, row + 1, ny) - y, colour);
	}
}

/* The means or counts of all cells, and their shape, for programs. */
static int note_cells(const struct drawing *d, struct bpk_err *err)
{
	const struct bpk_plot *plot = d->plot;
	size_t count = plot->width * plot->height;
	const double shape[] = { (double)plot->height, (double)plot->width };
	double *numbers;

	if (d->ops->note == NULL)
		return 0;
	numbers = bpk_calloc(count, sizeof *numbers, err);
	if (numbers == NULL)
		return -1;
	for (size_t i = 0; i < count; i++)
		numbers[i] = plot->kind == BPK_PLOT_GRID ? plot->mean[i] : (double)plot->count[i];
	d->ops->note(d->owner, "shape", shape, 2);
	d->ops->note(d->owner, plot->kind == BPK_PLOT_BARS ? "counts" : "cells", numbers, count);
	free(numbers);
	return 0;
}

/* ---- Bars ---- */

static void draw_bars(const struct drawing *d)
{
	const struct bpk_plot *plot = d->plot;
	const double edges[] = { plot->x.low, plot->x.high };

	for (size_t i = 0; i < plot->width; i++) {
		double x = cut(d->left, d->right, i, (double)plot->width);
		double end = cut(d->left, d->right, i + 1, (double)plot->width);
		double y = y_of(d, (double)plot->count[i]);

		if (plot->count[i] > 0)
			d->ops->rect(d->owner, x, y, end - x - 1, d->bottom - y,
				     bpk_series_colour(0));
	}
	if (d->ops->note != NULL)
		d->ops->note(d->owner, "edges", edges, 2);
}

/* ---- A plot ---- */

int bpk_plot_draw(const struct bpk_plot *plot, const struct bpk_canvas *canvas, struct bpk_err *err)
{
	struct drawing d = { .plot = plot, .ops = canvas->ops, .owner = canvas->owner };
	int rc = 0;

	lay_out(&d);
	draw_axes(&d);
	if (plot->kind == BPK_PLOT_LINES)
		rc = draw_lines(&d, err);
	else if (plot->kind == BPK_PLOT_BARS)
		draw_bars(&d);
	else
		draw_cells(&d);
	if (rc == 0 && plot->kind != BPK_PLOT_LINES)
		rc = note_cells(&d, err);
	draw_frame(&d, d.left, d.right);
	if (has_colours(plot))
		draw_colours(&d);
	draw_texts(&d);
	return rc;
}
