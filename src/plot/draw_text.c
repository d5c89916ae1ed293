/*
 * Draws a plot as plain text: lines in braille dots, histograms in half blocks, heat maps in
 * shades. Called by cli/plot.c.
 *
 *     title
 *     10 |field
 *      0 |
 *        +------
 *         0    5
 *     note
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "plot/plot.h"

enum {
	AROUND = 4, /* lines that are no field: title, axis, numbers, note */
	MARGIN = 8, /* columns beside the field, as a rule */
	DOTS_X = 2, /* of a character of braille */
	DOTS_Y = 4,
	BRAILLE = 0x2800,
	FULL_BLOCK = 0x2588,
	LOWER_HALF = 0x2584,
	NO_NUMBER = '?',
};

/* Blank to dark. */
static const unsigned shades[] = { ' ', 0x2591, 0x2592, 0x2593, FULL_BLOCK };
static const char ascii_shades[] = " .:-=+*#%@";

struct page {
	const struct bpk_plot *plot;
	bool utf8;
	size_t columns;         /* of a line */
	size_t width, height;   /* of the field, characters */
	size_t margin;          /* columns to its left, with the axis */
	unsigned *field;        /* code points, by lines */
	struct bpk_scale scale; /* of the y axis */
	struct bpk_ticks x, y;
	struct bpk_buf *out;
};

void bpk_plot_text_room(enum bpk_plot_kind kind, unsigned columns, unsigned lines, size_t *most_x,
			size_t *most_y)
{
	*most_x = (columns - MARGIN) * (kind == BPK_PLOT_LINES ? (size_t)DOTS_X : 1);
	*most_y = lines - AROUND;
}

/* ---- Lines ---- */

static const unsigned char dots[DOTS_X][DOTS_Y] = { { 0x01, 0x02, 0x04, 0x40 },
						    { 0x08, 0x10, 0x20, 0x80 } };

/* A number of count dots. */
static double dot_of(const struct bpk_scale *scale, double number, size_t count)
{
	return bpk_scale_place(scale, number) * (double)(count - 1);
}

/* x and y are dots from the lower left corner; the field holds the bits of dots. */
static void put_dot(struct page *p, double x, double y)
{
	size_t column = (size_t)(x + 0.5), row = p->height * DOTS_Y - 1 - (size_t)(y + 0.5);

	p->field[row / DOTS_Y * p->width + column / DOTS_X] |= dots[column % DOTS_X][row % DOTS_Y];
}

static void put_stroke(struct page *p, double x0, double y0, double x1, double y1)
{
	double steps = bpk_most(1, bpk_most(fabs(x1 - x0), fabs(y1 - y0)));

	for (double i = 0; i <= steps; i++)
		put_dot(p, x0 + (x1 - x0) * i / steps, y0 + (y1 - y0) * i / steps);
	put_dot(p, x1, y1);
}

static void put_line(struct page *p, const double *low, const double *high)
{
	double x, bottom, top, last_x = 0, last_y = 0;

	for (size_t i = 0; i < p->plot->width; i++) {
		if (isnan(low[i]))
			continue;
		x = dot_of(&p->plot->x, p->plot->at[i], p->width * DOTS_X);
		bottom = dot_of(&p->scale, low[i], p->height * DOTS_Y);
		top = dot_of(&p->scale, high[i], p->height * DOTS_Y);
		if (i > 0 && !isnan(low[i - 1]))
			put_stroke(p, last_x, last_y, x, bottom);
		put_stroke(p, x, bottom, x, top);
		last_x = x;
		last_y = top;
	}
}

static unsigned letter_of_dots(unsigned bits, bool utf8)
{
	const unsigned upper = 0x01 | 0x02 | 0x08 | 0x10;

	if (bits == 0)
		return ' ';
	if (utf8)
		return BRAILLE + bits;
	return (bits & upper) == 0 ? '.' : (bits & ~upper) == 0 ? '\'' : ':';
}

static void put_lines(struct page *p)
{
	const struct bpk_plot *plot = p->plot;

	for (size_t i = 0; i < plot->height; i++)
		put_line(p, plot->low + i * plot->width, plot->high + i * plot->width);
	for (size_t i = 0; i < p->width * p->height; i++)
		p->field[i] = letter_of_dots(p->field[i], p->utf8);
}

/* ---- Bars and shades ---- */

/* The cell of a character: cells are stretched, or some left out where the margin is wide. */
static size_t cell_of(size_t at, size_t room, size_t cells)
{
	return at * cells / room;
}

static void put_bar(struct page *p, size_t column)
{
	uint64_t count = p->plot->count[cell_of(column, p->width, p->plot->width)];
	size_t halves =
		(size_t)(bpk_scale_place(&p->scale, (double)count) * (double)(2 * p->height) + 0.5);

	if (count > 0 && halves == 0)
		halves = 1;
	for (size_t row = 0; row < p->height; row++) {
		size_t below = 2 * (p->height - 1 - row);

		p->field[row * p->width + column] = halves > below + 1 ? p->utf8 ? FULL_BLOCK : '#'
						    : halves > below   ? p->utf8 ? LOWER_HALF : '.'
								       : ' ';
	}
}

static unsigned shade_of(const struct page *p, size_t cell)
{
	const struct bpk_plot *plot = p->plot;
	size_t count = p->utf8 ? sizeof shades / sizeof shades[0] : sizeof ascii_shades - 1, shade;
	bool points = plot->kind == BPK_PLOT_POINTS;
	double number = points ? (double)plot->count[cell] : plot->mean[cell];

	if (plot->count[cell] == 0)
		return points ? ' ' : NO_NUMBER;
	shade = bpk_min_size((size_t)(bpk_scale_place(&plot->values, number) * (double)count),
			     count - 1);
	if (points && shade == 0)
		shade = 1;
	return p->utf8 ? shades[shade] : (unsigned)ascii_shades[shade];
}

static void put_field(struct page *p)
{
	const struct bpk_plot *plot = p->plot;

	if (plot->kind == BPK_PLOT_LINES)
		put_lines(p);
	for (size_t i = 0; plot->kind == BPK_PLOT_BARS && i < p->width; i++)
		put_bar(p, i);
	for (size_t i = 0;
	     plot->mean != NULL && plot->kind != BPK_PLOT_BARS && i < p->width * p->height; i++)
		p->field[i] =
			shade_of(p, cell_of(i / p->width, p->height, plot->height) * plot->width +
					    cell_of(i % p->width, p->width, plot->width));
}

/* ---- Text ---- */

/* A code point below 0x10000 as UTF-8. */
static int put_letter(struct page *p, unsigned code, struct bpk_err *err)
{
	char text[4];
	size_t size = 0;

	if (code < 0x80) {
		text[size++] = (char)code;
	} else {
		text[size++] = (char)(0xe0 | code >> 12);
		text[size++] = (char)(0x80 | (code >> 6 & 0x3f));
		text[size++] = (char)(0x80 | (code & 0x3f));
	}
	return bpk_buf_append(p->out, bpk_view(text, size), err);
}

static int put_spaces(struct page *p, size_t count, struct bpk_err *err)
{
	return bpk_buf_printf(p->out, err, "%*s", (int)count, "");
}

/* A line of text of any bytes, cut to the width of the page. */
static int put_text(struct page *p, const char *text, struct bpk_err *err)
{
	struct bpk_view rest = bpk_view(text, strlen(text));
	char shown[BPK_TEXT_SHOWN];
	size_t used = 0;
	int rc = 0;

	while (rc == 0 && rest.size > 0) {
		size_t taken = bpk_text_show(rest, shown);
		bool ascii = (unsigned char)shown[0] < 0x80;
		size_t width = ascii ? strlen(shown) : 1;

		if (used + width > p->columns)
			break;
		used += width;
		rc = bpk_buf_printf(p->out, err, "%s", ascii || p->utf8 ? shown : "?");
		rest = bpk_view(rest.data + taken, rest.size - taken);
	}
	return rc == 0 ? bpk_buf_printf(p->out, err, "\n") : -1;
}

/* The line of the field on which a number of the y axis stands; rows of a grid go down. */
static size_t row_of(const struct page *p, double number)
{
	double place = bpk_scale_place(&p->scale, number);

	if (p->plot->kind != BPK_PLOT_GRID)
		place = 1 - place;
	return bpk_min_size((size_t)(place * (double)p->height), p->height - 1);
}

static const char *label_of(const struct page *p, size_t row)
{
	for (size_t i = 0; i < p->y.count; i++)
		if (row_of(p, p->y.values[i]) == row)
			return p->y.labels[i];
	return "";
}

/* A line of the field, without blanks at its end. */
static int put_row(struct page *p, size_t row, struct bpk_err *err)
{
	const unsigned *letters = p->field + row * p->width;
	size_t width = p->width;
	int rc = bpk_buf_printf(p->out, err, "%*s|", (int)p->margin - 1, label_of(p, row));

	while (width > 0 && letters[width - 1] == ' ')
		width--;
	for (size_t i = 0; rc == 0 && i < width; i++)
		rc = put_letter(p, letters[i], err);
	return rc == 0 ? bpk_buf_printf(p->out, err, "\n") : -1;
}

static size_t column_of(const struct page *p, double number)
{
	return bpk_min_size((size_t)(bpk_scale_place(&p->plot->x, number) * (double)p->width),
			    p->width - 1);
}

static int put_x_axis(struct page *p, struct bpk_err *err)
{
	size_t next = 0;
	int rc = bpk_buf_printf(p->out, err, "%*s+", (int)p->margin - 1, "");

	for (size_t i = 0; rc == 0 && i < p->width; i++) {
		while (next < p->x.count && column_of(p, p->x.values[next]) < i)
			next++;
		rc = put_letter(
			p, next < p->x.count && column_of(p, p->x.values[next]) == i ? '+' : '-',
			err);
	}
	return rc == 0 ? bpk_buf_printf(p->out, err, "\n") : -1;
}

/* Each number begins below its tick, where there is room. */
static int put_x_numbers(struct page *p, struct bpk_err *err)
{
	size_t used = 0;
	int rc = put_spaces(p, p->margin, err);

	for (size_t i = 0; rc == 0 && i < p->x.count; i++) {
		size_t at = column_of(p, p->x.values[i]), size = strlen(p->x.labels[i]);

		if ((used > 0 && at < used + 1) || at + size > p->width)
			continue;
		rc = put_spaces(p, at - used, err);
		if (rc == 0)
			rc = bpk_buf_printf(p->out, err, "%s", p->x.labels[i]);
		used = at + size;
	}
	return rc == 0 ? bpk_buf_printf(p->out, err, "\n") : -1;
}

/* The note, and the numbers of the lightest and the darkest shade. */
static int put_note(struct page *p, struct bpk_err *err)
{
	const struct bpk_plot *plot = p->plot;
	char text[BPK_PLOT_NOTE + 64];

	if (plot->kind == BPK_PLOT_GRID || plot->kind == BPK_PLOT_POINTS)
		snprintf(text, sizeof text, "%s; blank %.6g, %s %.6g", plot->note, plot->values.low,
			 p->utf8 ? "\xe2\x96\x88" : "@", plot->values.high);
	else
		snprintf(text, sizeof text, "%s", plot->note);
	return put_text(p, text, err);
}

/* ---- A page ---- */

static void lay_out(struct page *p, unsigned lines)
{
	const struct bpk_plot *plot = p->plot;

	p->height = lines - AROUND;
	p->scale = plot->kind == BPK_PLOT_BARS ? plot->values : plot->y;
	bpk_ticks_find(&p->scale, 4, &p->y);
	p->margin = 2;
	for (size_t i = 0; i < p->y.count; i++)
		if (p->margin < strlen(p->y.labels[i]) + 1)
			p->margin = strlen(p->y.labels[i]) + 1;
	p->width = p->columns - p->margin;
	bpk_ticks_find(&plot->x, 6, &p->x);
}

int bpk_plot_text(const struct bpk_plot *plot, unsigned columns, unsigned lines, bool utf8,
		  struct bpk_buf *out, struct bpk_err *err)
{
	struct page p = { .plot = plot, .utf8 = utf8, .columns = columns, .out = out };
	int rc;

	lay_out(&p, lines);
	p.field = bpk_calloc(p.width * p.height, sizeof *p.field, err);
	if (p.field == NULL)
		return -1;
	put_field(&p);
	rc = put_text(&p, plot->title, err);
	for (size_t i = 0; rc == 0 && i < p.height; i++)
		rc = put_row(&p, i, err);
	if (rc == 0)
		rc = put_x_axis(&p, err);
	if (rc == 0)
		rc = put_x_numbers(&p, err);
	if (rc == 0)
		rc = put_note(&p, err);
	free(p.field);
	return rc;
}
