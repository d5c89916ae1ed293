/*
 * Draws scatter plots as SVG. Called by cli/bench_plot.c.
 *
 *     title
 *     +--------------+   +--------------+   legend
 *     | panel        |   | panel        |   o series
 *     +--------------+   +--------------+   - line
 *        x title            x title
 */
#include "plot/scatter.h"

#include <stdio.h>
#include <stdlib.h>

#include "plot/axis.h"
#include "plot/svg.h"

enum {
	WIDTH = 400, /* of the field of a panel */
	HEIGHT = 360,
	LEFT = 60, /* beside each field, for numbers and the title of the axis */
	TOP = 50,
	BOTTOM = 50,
	LEGEND = 130,
	LEGEND_LINE = 20,
};

/* ---- Axes ---- */

/* An axis from pixel start to pixel end. */
struct axis {
	double low, high; /* of log10 of the values if logarithmic */
	double start, end;
	bool logarithmic;
};

static double pixel(const struct axis *axis, double value)
{
	double at = axis->logarithmic ? bpk_axis_logarithm(value) : value;

	return axis->start +
	       (at - axis->low) / (axis->high - axis->low) * (axis->end - axis->start);
}

/* Make room for a value, the first or another one. */
static void stretch(struct axis *axis, double value, bool first)
{
	double at = axis->logarithmic ? bpk_axis_logarithm(value) : value;

	axis->low = first ? at : bpk_least(axis->low, at);
	axis->high = first ? at : bpk_most(axis->high, at);
}

static void add_margins(struct axis *axis)
{
	double margin = bpk_most(0.05 * (axis->high - axis->low), 0.01);

	axis->low -= margin;
	axis->high += margin;
}

static void put_tick(struct bpk_svg *out, const struct axis *axis, double value, double cross_start,
		     double cross_end)
{
	double at = pixel(axis, value);
	char place[128];

	if (at < bpk_least(axis->start, axis->end) || at > bpk_most(axis->start, axis->end))
		return;
	if (axis->logarithmic) {
		bpk_svg_put(out, "<path class=\"grid\" d=\"M%.1f %.1fV%.1f\"/>\n", at, cross_start,
			    cross_end);
		snprintf(place, sizeof place, "x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\"", at,
			 cross_start + 16);
	} else {
		bpk_svg_put(out, "<path class=\"grid\" d=\"M%.1f %.1fH%.1f\"/>\n", cross_start, at,
			    cross_end);
		snprintf(place, sizeof place, "x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\"",
			 cross_start - 6, at + 4);
	}
	bpk_svg_put(out, "<text %s>%g</text>\n", place, value);
}

/* 1, 2 and 5 in each decade; 1 alone if there are many. */
static void put_x_ticks(struct bpk_svg *out, const struct axis *x, const struct axis *y)
{
	unsigned last = x->high - x->low < 2.5 ? 5 : 1;

	for (int decade = (int)bpk_axis_whole(x->low); decade <= x->high; decade++)
		for (unsigned step = 1; step <= last; step += step == 1 ? 1 : 3)
			put_tick(out, x, step * bpk_axis_power(decade), y->start, y->end);
}

/* About five round numbers. */
static void put_y_ticks(struct bpk_svg *out, const struct axis *y, const struct axis *x)
{
	const struct bpk_scale scale = { y->low, y->high };
	struct bpk_ticks ticks;

	bpk_ticks_find(&scale, 5, &ticks);
	for (size_t i = 0; i < ticks.count; i++)
		put_tick(out, y, ticks.values[i], x->start, x->end);
}

/* ---- Points ---- */

static int compare_x(const void *a, const void *b)
{
	const struct bpk_scatter_point *const *one = a, *const *two = b;

	return ((*one)->x > (*two)->x) - ((*one)->x < (*two)->x);
}

/* The line through points, by ascending x. */
static void put_line(struct bpk_svg *out, const struct bpk_scatter_panel *panel,
		     const struct axis *x, const struct axis *y)
{
	const struct bpk_scatter_point **sorted =
		bpk_calloc(panel->npoints, sizeof(*sorted), out->err);
	size_t count = 0;

	if (sorted == NULL) {
		out->failed = true;
		return;
	}
	for (size_t i = 0; i < panel->npoints; i++)
		if (panel->points[i].on_line)
			sorted[count++] = &panel->points[i];
	qsort(sorted, count, sizeof(*sorted), compare_x);
	bpk_svg_put(out, "<polyline class=\"front\" points=\"");
	for (size_t i = 0; i < count; i++)
		bpk_svg_put(out, "%.1f,%.1f ", pixel(x, sorted[i]->x), pixel(y, sorted[i]->y));
	bpk_svg_put(out, "\"/>\n");
	free(sorted);
}

static void put_dot(struct bpk_svg *out, double x, double y, size_t series, bool marked)
{
	if (marked)
		bpk_svg_put(out, "<circle class=\"mark\" cx=\"%.1f\" cy=\"%.1f\" r=\"8\"/>", x, y);
	bpk_svg_put(out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4\" fill=\"#%06x\"/>", x, y,
		    bpk_series_colour(series));
}

static void put_point(struct bpk_svg *out, const struct bpk_scatter_point *point,
		      const struct axis *x, const struct axis *y)
{
	bpk_svg_put(out, "<g><title>");
	bpk_svg_put_text(out, point->title);
	bpk_svg_put(out, "</title>");
	put_dot(out, pixel(x, point->x), pixel(y, point->y), point->series, point->marked);
	bpk_svg_put(out, "</g>\n");
}

/* ---- The drawing ---- */

static void put_panel(struct bpk_svg *out, const struct bpk_scatter_panel *panel, double left)
{
	struct axis x = { .start = left, .end = left + WIDTH, .logarithmic = true };
	struct axis y = { .start = TOP + HEIGHT, .end = TOP };
	char place[128];

	for (size_t i = 0; i < panel->npoints; i++) {
		stretch(&x, panel->points[i].x, i == 0);
		stretch(&y, panel->points[i].y, i == 0);
	}
	add_margins(&x);
	add_margins(&y);
	put_x_ticks(out, &x, &y);
	put_y_ticks(out, &y, &x);
	bpk_svg_put(out, "<rect class=\"field\" x=\"%.1f\" y=\"%d\" width=\"%d\" height=\"%d\"/>\n",
		    left, TOP, WIDTH, HEIGHT);
	snprintf(place, sizeof place, "x=\"%.1f\" y=\"%d\" text-anchor=\"middle\"",
		 left + WIDTH / 2.0, TOP + HEIGHT + 38);
	bpk_svg_put_label(out, place, panel->x_title);
	snprintf(place, sizeof place,
		 "transform=\"translate(%.1f %d) rotate(-90)\" "
		 "text-anchor=\"middle\"",
		 left - 44, TOP + HEIGHT / 2);
	bpk_svg_put_label(out, place, panel->y_title);
	put_line(out, panel, &x, &y);
	for (size_t i = 0; i < panel->npoints; i++)
		put_point(out, &panel->points[i], &x, &y);
}

static void put_legend(struct bpk_svg *out, const struct bpk_scatter *scatter, int left)
{
	int y = TOP + 10;
	char place[64];

	for (size_t i = 0; i < scatter->nnames + 2; i++, y += LEGEND_LINE) {
		const char *name = i < scatter->nnames    ? scatter->names[i]
				   : i == scatter->nnames ? scatter->line
							  : scatter->mark;

		if (i == scatter->nnames)
			bpk_svg_put(out, "<path class=\"front\" d=\"M%d %dH%d\"/>", left, y,
				    left + 20);
		else if (i > scatter->nnames)
			bpk_svg_put(out, "<circle class=\"mark\" cx=\"%d\" cy=\"%d\" r=\"8\"/>",
				    left + 10, y);
		else
			put_dot(out, left + 10, y, i, false);
		snprintf(place, sizeof place, "x=\"%d\" y=\"%d\"", left + 26, y + 4);
		bpk_svg_put_label(out, place, name);
	}
}

int bpk_scatter_draw(const struct bpk_scatter *scatter, struct bpk_buf *svg, struct bpk_err *err)
{
	struct bpk_svg out = { svg, err, false };
	int legend = LEFT + (int)scatter->npanels * (WIDTH + LEFT);
	char place[64];

	bpk_svg_begin(&out, legend + LEGEND, TOP + HEIGHT + BOTTOM,
		      ".grid{stroke:#ddd} .field{fill:none;stroke:#888} "
		      ".front{fill:none;stroke:#888;stroke-dasharray:4 3} "
		      ".mark{fill:none;stroke:#000;stroke-width:1.5}");
	snprintf(place, sizeof place, "x=\"%d\" y=\"%d\" font-size=\"15\"", LEFT, TOP - 20);
	bpk_svg_put_label(&out, place, scatter->title);
	for (size_t i = 0; i < scatter->npanels; i++)
		put_panel(&out, &scatter->panels[i], LEFT + (double)i * (WIDTH + LEFT));
	put_legend(&out, scatter, legend);
	return bpk_svg_end(&out);
}
