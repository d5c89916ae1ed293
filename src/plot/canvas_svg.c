/* A plot as SVG. Called by cli/plot.c. */
#include <stdio.h>

#include "plot/canvas.h"
#include "plot/svg.h"

static void put_rect(void *owner, double x, double y, double width, double height, unsigned colour)
{
	bpk_svg_put(owner,
		    "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" "
		    "fill=\"#%06x\"/>\n",
		    x, y, width, height, colour);
}

static void put_line(void *owner, const double *points, size_t count, bool thin, unsigned colour)
{
	bpk_svg_put(owner, "<polyline class=\"%s\" stroke=\"#%06x\" points=\"",
		    thin ? "thin" : "line", colour);
	for (size_t i = 0; i < count; i++)
		bpk_svg_put(owner, "%s%.2f,%.2f", i > 0 ? " " : "", points[2 * i],
			    points[2 * i + 1]);
	bpk_svg_put(owner, "\"/>\n");
}

static void put_text(void *owner, double x, double y, enum bpk_anchor anchor, const char *text)
{
	static const char *const anchors[] = { "start", "middle", "end" };
	char place[96];

	snprintf(place, sizeof place, "x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\"", x, y,
		 anchors[anchor]);
	bpk_svg_put_label(owner, place, text);
}

static void put_note(void *owner, const char *id, const double *numbers, size_t count)
{
	char text[BPK_NUMBER_TEXT];

	bpk_svg_put(owner, "<metadata id=\"%s\">", id);
	for (size_t i = 0; i < count; i++)
		bpk_svg_put(owner, "%s%s", i > 0 ? " " : "", bpk_double_text(numbers[i], text));
	bpk_svg_put(owner, "</metadata>\n");
}

void bpk_plot_file_room(enum bpk_plot_kind kind, size_t *most_x, size_t *most_y)
{
	*most_x = kind == BPK_PLOT_LINES ? 600 : kind == BPK_PLOT_BARS ? BPK_PLOT_MOST_BARS : 128;
	*most_y = kind == BPK_PLOT_BARS ? 1 : 96;
}

int bpk_plot_svg(const struct bpk_plot *plot, struct bpk_buf *out, struct bpk_err *err)
{
	static const struct bpk_canvas_ops ops = { put_rect, put_line, put_text, put_note };
	struct bpk_svg svg = { out, err, false };
	const struct bpk_canvas canvas = { &ops, &svg };

	bpk_svg_begin(&svg, BPK_CANVAS_WIDTH, BPK_CANVAS_HEIGHT,
		      "rect{shape-rendering:crispEdges} polyline{fill:none} "
		      ".line{stroke-width:1.5;stroke-linecap:round;stroke-linejoin:round}");
	if (bpk_plot_draw(plot, &canvas, err) != 0)
		return -1;
	return bpk_svg_end(&svg);
}
