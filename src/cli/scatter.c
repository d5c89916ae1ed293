/*
 * Draws scatter plots as SVG. bench_plot.c calls it.
 *
 *     title
 *     +--------------+   +--------------+   legend
 *     | panel        |   | panel        |   o series
 *     +--------------+   +--------------+   - line
 *        x title            x title
 */
#include "cli/scatter.h"

#include <stdio.h>
#include <stdlib.h>

enum {
	WIDTH = 400, /* of the field of a panel */
	HEIGHT = 360,
	LEFT = 60, /* beside each field, for numbers and the title of the axis */
	TOP = 50,
	BOTTOM = 50,
	LEGEND = 130,
	LEGEND_LINE = 20,
};

/* The colours of Okabe and Ito, which the colour-blind can tell apart. */
static const char *const colours[] = { "#0072b2", "#e69f00", "#009e73", "#cc79a7",
				       "#d55e00", "#56b4e9", "#000000" };

/* ---- Text ---- */

/* Output, up to the first failure. */
struct out {
	struct bpk_buf *svg;
	struct bpk_err *err;
	bool failed;
};

static void put(struct out *out, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void put(struct out *out, const char *format, ...)
{
	char text[512];
	va_list args;
	size_t size;

	va_start(args, format);
	size = (size_t)vsnprintf(text, sizeof text, format, args);
	va_end(args);
	out->failed = out->failed ||
		      bpk_buf_append(out->svg, bpk_view(text, bpk_min_size(size, sizeof text - 1)),
				     out->err) != 0;
}

static const char *entity_of(char c)
{
	return c == '&'   ? "&amp;"
	       : c == '<' ? "&lt;"
	       : c == '>' ? "&gt;"
	       : c == '"' ? "&quot;"
			  : NULL;
}

/* True for U+FFFE and U+FFFF, which XML does not have. */
static bool is_no_character(const char *shown)
{
	return strcmp(shown, "\xef\xbf\xbe") == 0 || strcmp(shown, "\xef\xbf\xbf") == 0;
}

static void put_text(struct out *out, const char *text)
{
	struct bpk_view rest = bpk_view(text, strlen(text));
	char shown[BPK_TEXT_SHOWN];

	while (rest.size > 0) {
		size_t taken = bpk_text_show(rest, shown);
		const char *entity = entity_of(shown[0]);

		put(out, "%s", entity != NULL ? entity : is_no_character(shown) ? "?" : shown);
		rest = bpk_view(rest.data + taken, rest.size - taken);
	}
}

/* A text element; attributes are its place and style. */
static void put_label(struct out *out, const char *attributes, const char *text)
{
	put(out, "<text %s>", attributes);
	put_text(out, text);
	put(out, "</text>\n");
}

/* ---- Axes ---- */

/* 10 to the power of an integer. */
static double power(int exponent)
{
	double value = 1;

	for (; exponent > 0; exponent--)
		value *= 10;
	for (; exponent < 0; exponent++)
		value /= 10;
	return value;
}

/* The logarithm to base 10 of a value above 0, bit by bit: bpk is not linked with libm, which would
 * make every command start later. */
static double logarithm(double value)
{
	double result = 0, bit = 1;

	for (; value >= 10; value /= 10)
		result += 1;
	for (; value < 1; value *= 10)
		result -= 1;
	while ((bit /= 2) > 1e-9) {
		value *= value;
		if (value < 10)
			continue;
		value /= 10;
		result += bit;
	}
	return result;
}

static double least(double a, double b)
{
	return a < b ? a : b;
}

static double most(double a, double b)
{
	return a > b ? a : b;
}

/* The largest integer that is not above a value. */
static int whole(double value)
{
	int part = (int)value;

	return part > value ? part - 1 : part;
}

/* An axis from pixel start to pixel end. */
struct axis {
	double low, high; /* of log10 of the values if logarithmic */
	double start, end;
	bool logarithmic;
};

static double pixel(const struct axis *axis, double value)
{
	double at = axis->logarithmic ? logarithm(value) : value;

	return axis->start +
	       (at - axis->low) / (axis->high - axis->low) * (axis->end - axis->start);
}

/* Make room for a value, the first or another one. */
static void stretch(struct axis *axis, double value, bool first)
{
	double at = axis->logarithmic ? logarithm(value) : value;

	axis->low = first ? at : least(axis->low, at);
	axis->high = first ? at : most(axis->high, at);
}

static void add_margins(struct axis *axis)
{
	double margin = most(0.05 * (axis->high - axis->low), 0.01);

	axis->low -= margin;
	axis->high += margin;
}

static void put_tick(struct out *out, const struct axis *axis, double value, double cross_start,
		     double cross_end)
{
	double at = pixel(axis, value);
	char place[128];

	if (at < least(axis->start, axis->end) || at > most(axis->start, axis->end))
		return;
	if (axis->logarithmic) {
		put(out, "<path class=\"grid\" d=\"M%.1f %.1fV%.1f\"/>\n", at, cross_start,
		    cross_end);
		snprintf(place, sizeof place, "x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\"", at,
			 cross_start + 16);
	} else {
		put(out, "<path class=\"grid\" d=\"M%.1f %.1fH%.1f\"/>\n", cross_start, at,
		    cross_end);
		snprintf(place, sizeof place, "x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\"",
			 cross_start - 6, at + 4);
	}
	put(out, "<text %s>%g</text>\n", place, value);
}

/* 1, 2 and 5 in each decade; 1 alone if there are many. */
static void put_x_ticks(struct out *out, const struct axis *x, const struct axis *y)
{
	unsigned last = x->high - x->low < 2.5 ? 5 : 1;

	for (int decade = whole(x->low); decade <= whole(x->high); decade++)
		for (unsigned step = 1; step <= last; step += step == 1 ? 1 : 3)
			put_tick(out, x, step * power(decade), y->start, y->end);
}

/* About five round numbers. */
static void put_y_ticks(struct out *out, const struct axis *y, const struct axis *x)
{
	double rough = (y->high - y->low) / 5, unit = power(whole(logarithm(rough)));
	double step = rough / unit > 5 ? 10 * unit : rough / unit > 2 ? 5 * unit : 2 * unit;

	for (int i = whole(y->low / step); i <= whole(y->high / step); i++)
		put_tick(out, y, i * step, x->start, x->end);
}

/* ---- Points ---- */

static int compare_x(const void *a, const void *b)
{
	const struct bpk_scatter_point *const *one = a, *const *two = b;

	return ((*one)->x > (*two)->x) - ((*one)->x < (*two)->x);
}

/* The line through points, by ascending x. */
static void put_line(struct out *out, const struct bpk_scatter_panel *panel, const struct axis *x,
		     const struct axis *y)
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
	put(out, "<polyline class=\"front\" points=\"");
	for (size_t i = 0; i < count; i++)
		put(out, "%.1f,%.1f ", pixel(x, sorted[i]->x), pixel(y, sorted[i]->y));
	put(out, "\"/>\n");
	free(sorted);
}

static const char *colour_of(size_t series)
{
	return colours[series % (sizeof colours / sizeof colours[0])];
}

static void put_dot(struct out *out, double x, double y, size_t series, bool marked)
{
	if (marked)
		put(out, "<circle class=\"mark\" cx=\"%.1f\" cy=\"%.1f\" r=\"8\"/>", x, y);
	put(out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4\" fill=\"%s\"/>", x, y, colour_of(series));
}

static void put_point(struct out *out, const struct bpk_scatter_point *point, const struct axis *x,
		      const struct axis *y)
{
	put(out, "<g><title>");
	put_text(out, point->title);
	put(out, "</title>");
	put_dot(out, pixel(x, point->x), pixel(y, point->y), point->series, point->marked);
	put(out, "</g>\n");
}

/* ---- The drawing ---- */

static void put_panel(struct out *out, const struct bpk_scatter_panel *panel, double left)
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
	put(out, "<rect class=\"field\" x=\"%.1f\" y=\"%d\" width=\"%d\" height=\"%d\"/>\n", left,
	    TOP, WIDTH, HEIGHT);
	snprintf(place, sizeof place, "x=\"%.1f\" y=\"%d\" text-anchor=\"middle\"",
		 left + WIDTH / 2.0, TOP + HEIGHT + 38);
	put_label(out, place, panel->x_title);
	snprintf(place, sizeof place,
		 "transform=\"translate(%.1f %d) rotate(-90)\" "
		 "text-anchor=\"middle\"",
		 left - 44, TOP + HEIGHT / 2);
	put_label(out, place, panel->y_title);
	put_line(out, panel, &x, &y);
	for (size_t i = 0; i < panel->npoints; i++)
		put_point(out, &panel->points[i], &x, &y);
}

static void put_legend(struct out *out, const struct bpk_scatter *scatter, int left)
{
	int y = TOP + 10;
	char place[64];

	for (size_t i = 0; i < scatter->nnames + 2; i++, y += LEGEND_LINE) {
		const char *name = i < scatter->nnames    ? scatter->names[i]
				   : i == scatter->nnames ? scatter->line
							  : scatter->mark;

		if (i == scatter->nnames)
			put(out, "<path class=\"front\" d=\"M%d %dH%d\"/>", left, y, left + 20);
		else if (i > scatter->nnames)
			put(out, "<circle class=\"mark\" cx=\"%d\" cy=\"%d\" r=\"8\"/>", left + 10,
			    y);
		else
			put_dot(out, left + 10, y, i, false);
		snprintf(place, sizeof place, "x=\"%d\" y=\"%d\"", left + 26, y + 4);
		put_label(out, place, name);
	}
}

int bpk_scatter_draw(const struct bpk_scatter *scatter, struct bpk_buf *svg, struct bpk_err *err)
{
	struct out out = { svg, err, false };
	int legend = LEFT + (int)scatter->npanels * (WIDTH + LEFT);
	char place[64];

	put(&out,
	    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
	    "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
	    "font-family=\"sans-serif\" font-size=\"12\">\n",
	    legend + LEGEND, TOP + HEIGHT + BOTTOM);
	put(&out, "<style>.grid{stroke:#ddd} .field{fill:none;stroke:#888} "
		  ".front{fill:none;stroke:#888;stroke-dasharray:4 3} "
		  ".mark{fill:none;stroke:#000;stroke-width:1.5}</style>\n"
		  "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n");
	snprintf(place, sizeof place, "x=\"%d\" y=\"%d\" font-size=\"15\"", LEFT, TOP - 20);
	put_label(&out, place, scatter->title);
	for (size_t i = 0; i < scatter->npanels; i++)
		put_panel(&out, &scatter->panels[i], LEFT + (double)i * (WIDTH + LEFT));
	put_legend(&out, scatter, legend);
	put(&out, "</svg>\n");
	return out.failed ? -1 : 0;
}
