/* Numbers of axes. Called by scatter.c, draw.c and draw_text.c. */
#include "plot/axis.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* A number times a power of ten, rounded once. */
static double scaled(int64_t number, int exponent)
{
	char text[BPK_NUMBER_TEXT];

	snprintf(text, sizeof text, "%" PRId64 "e%d", number, exponent);
	return strtod(text, NULL);
}

double bpk_axis_power(int exponent)
{
	return scaled(1, exponent);
}

/* Bit by bit. */
double bpk_axis_logarithm(double value)
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

int64_t bpk_axis_whole(double value)
{
	int64_t part = (int64_t)value;

	return (double)part > value ? part - 1 : part;
}

/* ---- Ranges ---- */

/* A range smaller than this part of its numbers has no digits left for ticks; and one below
 * SMALLEST has no power of ten that is a normal number. */
static const double FINEST = 1e-11, SMALLEST = 1e-300;

void bpk_scale_widen(struct bpk_scale *scale)
{
	double largest = bpk_most(fabs(scale->low), fabs(scale->high));
	double margin = largest < SMALLEST ? 1 : 0.1 * largest;

	if (largest < SMALLEST && scale->low != scale->high)
		margin = SMALLEST;
	else if (scale->high / 2 - scale->low / 2 > FINEST * largest)
		return;
	scale->low = bpk_most(scale->low - margin, -DBL_MAX);
	scale->high = bpk_least(scale->high + margin, DBL_MAX);
}

/* By halves, as the difference of two numbers need not be one. */
double bpk_scale_place(const struct bpk_scale *scale, double number)
{
	return (number / 2 - scale->low / 2) / (scale->high / 2 - scale->low / 2);
}

/* ---- Colours ---- */

unsigned bpk_series_colour(size_t series)
{
	/* those of Okabe and Ito, and one more */
	static const unsigned colours[] = { 0x0072b2, 0xe69f00, 0x009e73, 0xcc79a7,
					    0xd55e00, 0x56b4e9, 0x000000, 0x999933 };

	return colours[series % (sizeof colours / sizeof colours[0])];
}

/* ---- Ticks ---- */

/* Digits without an exponent where these are few. */
static void print(double value, char out[BPK_NUMBER_TEXT])
{
	snprintf(out, BPK_NUMBER_TEXT, "%.7g", value);
	if (strtod(out, NULL) != value)
		bpk_double_text(value, out);
}

void bpk_ticks_find(const struct bpk_scale *scale, unsigned wanted, struct bpk_ticks *ticks)
{
	double rough = (scale->high / 2 - scale->low / 2) / wanted * 2;
	int exponent = (int)bpk_axis_whole(bpk_axis_logarithm(rough));
	double unit = bpk_axis_power(exponent);
	int64_t step = rough / unit > 5 ? 10 : rough / unit > 2 ? 5 : 2;
	int64_t first = bpk_axis_whole(scale->low / ((double)step * unit));

	ticks->count = 0;
	for (int64_t i = first; ticks->count < BPK_MOST_TICKS; i++) {
		double value = scaled(i * step, exponent);

		if (value > scale->high)
			break;
		if (value < scale->low)
			continue;
		print(value, ticks->labels[ticks->count]);
		ticks->values[ticks->count++] = value;
	}
}
