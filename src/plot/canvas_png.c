/* A plot as PNG: drawn in pixels, two a unit each way. Called by cli/plot.c. */
#include <math.h>
#include <stdlib.h>

#include "plot/canvas.h"
#include "plot/font.h"
#include "plot/png.h"

enum {
	SCALE = 2, /* pixels of a unit, and of a dot of a letter */
	WIDTH = SCALE * BPK_CANVAS_WIDTH,
	HEIGHT = SCALE * BPK_CANVAS_HEIGHT,
	ADVANCE = SCALE * (BPK_FONT_WIDTH + 1),
	INK = 0x333333,
};

/* Three bytes a pixel. */
struct raster {
	uint8_t *pixels;
};

/* A place in pixels, from 0 to end. */
static int pixel_of(double units, int end)
{
	return (int)bpk_most(0, bpk_least(units * SCALE + 0.5, end));
}

/* Pixels that leave the picture are left out. */
static void fill(struct raster *r, int left, int top, int right, int bottom, unsigned colour)
{
	for (int y = top < 0 ? 0 : top; y < bottom && y < HEIGHT; y++)
		for (int x = left < 0 ? 0 : left; x < right && x < WIDTH; x++)
			for (int i = 0; i < 3; i++)
				r->pixels[3 * ((size_t)y * WIDTH + (size_t)x) + (size_t)i] =
					(uint8_t)(colour >> (16 - 8 * i));
}

static void put_rect(void *owner, double x, double y, double width, double height, unsigned colour)
{
	fill(owner, pixel_of(x, WIDTH), pixel_of(y, HEIGHT), pixel_of(x + width, WIDTH),
	     pixel_of(y + height, HEIGHT), colour);
}

/* Squares of side pixels, a pixel apart. */
static void put_stroke(struct raster *r, const double *from, const double *to, int side,
		       unsigned colour)
{
	double dx = (to[0] - from[0]) * SCALE, dy = (to[1] - from[1]) * SCALE;
	int steps = (int)bpk_most(1, bpk_most(fabs(dx), fabs(dy)));

	for (int i = 0; i <= steps; i++) {
		int x = pixel_of(from[0] + (to[0] - from[0]) * i / steps, WIDTH) - side / 2;
		int y = pixel_of(from[1] + (to[1] - from[1]) * i / steps, HEIGHT) - side / 2;

		fill(r, x, y, x + side, y + side, colour);
	}
}

static void put_line(void *owner, const double *points, size_t count, bool thin, unsigned colour)
{
	for (size_t i = 1; i < count; i++)
		put_stroke(owner, points + 2 * (i - 1), points + 2 * i, thin ? 2 : 3, colour);
}

static void put_letter(struct raster *r, int left, int top, char letter)
{
	const unsigned char *columns;

	if (letter < BPK_FONT_FIRST || letter > BPK_FONT_LAST)
		letter = '?';
	columns = bpk_font[letter - BPK_FONT_FIRST];
	for (int x = 0; x < BPK_FONT_WIDTH; x++)
		for (int y = 0; y < BPK_FONT_HEIGHT; y++)
			if ((columns[x] >> y & 1) != 0)
				fill(r, left + x * SCALE, top + y * SCALE, left + (x + 1) * SCALE,
				     top + (y + 1) * SCALE, INK);
}

/* Draw the letters of text, as bpk_text_show spells it; a character that is not ASCII is a '?'.
 * Returns their number; r is NULL: only count. */
static int each_letter(struct raster *r, const char *text, int left, int top)
{
	struct bpk_view rest = bpk_view(text, strlen(text));
	char shown[BPK_TEXT_SHOWN];
	int count = 0;

	while (rest.size > 0) {
		size_t taken = bpk_text_show(rest, shown);
		bool ascii = (unsigned char)shown[0] < 0x80;

		for (size_t i = 0; i < (ascii ? strlen(shown) : 1); i++, count++)
			if (r != NULL)
				put_letter(r, left + count * ADVANCE, top, ascii ? shown[i] : '?');
		rest = bpk_view(rest.data + taken, rest.size - taken);
	}
	return count;
}

static void put_text(void *owner, double x, double y, enum bpk_anchor anchor, const char *text)
{
	int width = each_letter(NULL, text, 0, 0) * ADVANCE - SCALE;
	int left = pixel_of(x, WIDTH);

	if (anchor != BPK_ANCHOR_START)
		left -= anchor == BPK_ANCHOR_MIDDLE ? width / 2 : width;
	each_letter(owner, text, left, pixel_of(y, HEIGHT) - BPK_FONT_HEIGHT * SCALE);
}

int bpk_plot_png(const struct bpk_plot *plot, struct bpk_buf *out, struct bpk_err *err)
{
	static const struct bpk_canvas_ops ops = { put_rect, put_line, put_text, NULL };
	const size_t size = (size_t)3 * WIDTH * HEIGHT;
	struct raster raster = { bpk_calloc(1, size, err) };
	const struct bpk_canvas canvas = { &ops, &raster };
	int rc;

	if (raster.pixels == NULL)
		return -1;
	memset(raster.pixels, 0xff, size);
	rc = bpk_plot_draw(plot, &canvas, err);
	if (rc == 0)
		rc = bpk_png_encode(raster.pixels, WIDTH, HEIGHT, out, err);
	free(raster.pixels);
	return rc;
}
