/* Numbers to the cells of a picture, as they come. Called by cli/plot.c. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "plot/plot.h"

/* ---- Begin ---- */

/* Cells for total numbers, each of the same number of them, and that number. */
static size_t divide(uint64_t total, size_t most, uint64_t *per)
{
	*per = total / most + (total % most != 0);
	return (size_t)(total / *per + (total % *per != 0));
}

static double *new_numbers(size_t count, struct bpk_err *err)
{
	double *numbers = bpk_calloc(count, sizeof *numbers, err);

	for (size_t i = 0; numbers != NULL && i < count; i++)
		numbers[i] = NAN;
	return numbers;
}

static int begin_lines(struct bpk_plot *plot, struct bpk_err *err)
{
	plot->width = divide(plot->ny, plot->most_x, &plot->per_x);
	plot->height = (size_t)plot->nx;
	plot->low = new_numbers(plot->width * plot->height, err);
	plot->high = new_numbers(plot->width * plot->height, err);
	plot->at = new_numbers(plot->width, err);
	return plot->low == NULL || plot->high == NULL || plot->at == NULL ? -1 : 0;
}

static int new_cells(struct bpk_plot *plot, struct bpk_err *err)
{
	plot->mean = new_numbers(plot->width * plot->height, err);
	plot->count = bpk_calloc(plot->width * plot->height, sizeof *plot->count, err);
	return plot->mean == NULL || plot->count == NULL ? -1 : 0;
}

/* Nothing is seen yet: any number makes the range its own. */
static const struct bpk_scale nothing = { INFINITY, -INFINITY };

int bpk_plot_begin(struct bpk_plot *plot, struct bpk_err *err)
{
	plot->x = plot->y = plot->values = nothing;
	if (plot->kind == BPK_PLOT_LINES)
		return begin_lines(plot, err);
	if (plot->kind != BPK_PLOT_GRID)
		return 0;
	plot->width = divide(plot->nx, plot->most_x, &plot->per_x);
	plot->height = divide(plot->ny, plot->most_y, &plot->per_y);
	return new_cells(plot, err);
}

void bpk_plot_clear(struct bpk_plot *plot)
{
	free(plot->low);
	free(plot->high);
	free(plot->at);
	free(plot->mean);
	free(plot->count);
}

/* ---- Looking ---- */

bool bpk_plot_looks(const struct bpk_plot *plot)
{
	return plot->kind == BPK_PLOT_POINTS || plot->kind == BPK_PLOT_BARS;
}

static void stretch(struct bpk_scale *scale, double number)
{
	scale->low = bpk_least(scale->low, number);
	scale->high = bpk_most(scale->high, number);
}

/* Count a number that is not finite; of a point, once. */
static void count_odd(struct bpk_plot *plot, double number)
{
	if (isnan(number))
		plot->nnan++;
	else
		plot->ninfinite++;
}

/* The next number is x, y or z of a point: true after y if both are finite. */
static bool take_point(struct bpk_plot *plot, double number)
{
	uint64_t part = plot->position++ % 3;

	if (part == 0)
		plot->point_x = number;
	return part == 1 && isfinite(plot->point_x) && isfinite(number);
}

void bpk_plot_look(struct bpk_plot *plot, const double *numbers, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (plot->kind == BPK_PLOT_POINTS ? !take_point(plot, numbers[i])
						  : !isfinite(numbers[i]))
			continue;
		plot->ntaken++;
		stretch(&plot->x, plot->kind == BPK_PLOT_POINTS ? plot->point_x : numbers[i]);
		stretch(&plot->y, numbers[i]);
	}
}

/* As many bars as the root of the count of numbers, and at least 10. */
static size_t choose_bars(const struct bpk_plot *plot)
{
	size_t bars = 10;

	while (bars < BPK_PLOT_MOST_BARS && bars * bars < plot->ntaken)
		bars++;
	return bars;
}

/* A bar for each integer where these are few, else bars of one width. */
static void begin_bars(struct bpk_plot *plot)
{
	size_t most = bpk_min_size(plot->most_x, BPK_PLOT_MOST_BARS);
	double range = plot->x.high - plot->x.low;

	plot->height = 1;
	plot->width = bpk_min_size(choose_bars(plot), most);
	if (plot->integers && range < (double)most && fabs(plot->x.low) < 1e15) {
		plot->width = (size_t)range + 1;
		plot->x.low -= 0.5;
		plot->x.high += 0.5;
	} else if (range == 0) {
		bpk_scale_widen(&plot->x);
	}
}

static void widen(struct bpk_scale *scale)
{
	if (scale->low > scale->high)
		*scale = (struct bpk_scale){ 0, 1 };
	bpk_scale_widen(scale);
}

int bpk_plot_seen(struct bpk_plot *plot, struct bpk_err *err)
{
	if (plot->kind == BPK_PLOT_BARS && plot->x.low <= plot->x.high) {
		begin_bars(plot);
	} else {
		plot->width = plot->most_x;
		plot->height = plot->kind == BPK_PLOT_BARS ? 1 : plot->most_y;
	}
	widen(&plot->x);
	widen(&plot->y);
	plot->position = plot->ntaken = 0;
	return new_cells(plot, err);
}

/* ---- Adding ---- */

void bpk_plot_put_at(struct bpk_plot *plot, double at)
{
	size_t column = (size_t)(plot->position / plot->nx / plot->per_x);

	if (column < plot->width && isnan(plot->at[column]))
		plot->at[column] = at;
}

static void add_to_line(struct bpk_plot *plot, double number)
{
	uint64_t row = plot->position / plot->nx;
	size_t column = (size_t)(row / plot->per_x);
	size_t cell = (size_t)(plot->position % plot->nx) * plot->width + column;

	if (row >= plot->ny)
		return;
	plot->low[cell] = plot->low[cell] <= number ? plot->low[cell] : number;
	plot->high[cell] = plot->high[cell] >= number ? plot->high[cell] : number;
}

/* Without overflow: the mean of two doubles is a double, their sum need not be. */
static void add_to_cell(struct bpk_plot *plot, size_t cell, double number)
{
	double count = (double)++plot->count[cell];

	if (count == 1)
		plot->mean[cell] = number;
	else
		plot->mean[cell] += number / count - plot->mean[cell] / count;
}

static void add_to_grid(struct bpk_plot *plot, double number)
{
	uint64_t row = plot->position / plot->nx, column = plot->position % plot->nx;

	if (row < plot->ny)
		add_to_cell(plot,
			    (size_t)(row / plot->per_y) * plot->width +
				    (size_t)(column / plot->per_x),
			    number);
}

/* The cell of a number, of count cells in a range; the last one has the end of the range. */
static size_t find_cell(const struct bpk_scale *scale, size_t count, double number)
{
	double place = bpk_scale_place(scale, number) * (double)count;

	return place > 0 ? bpk_min_size((size_t)place, count - 1) : 0;
}

static double edge_of(const struct bpk_plot *plot, size_t bar)
{
	double part = (double)bar / (double)plot->width;

	return bar == plot->width ? plot->x.high : plot->x.low * (1 - part) + plot->x.high * part;
}

/* A rounded place may be beyond the edge of the bar. */
static void add_to_bars(struct bpk_plot *plot, double number)
{
	size_t bar = find_cell(&plot->x, plot->width, number);

	if (bar > 0 && number < edge_of(plot, bar))
		bar--;
	else if (bar + 1 < plot->width && number >= edge_of(plot, bar + 1))
		bar++;
	plot->count[bar]++;
}

/* Rows of cells go down, y goes up. */
static void add_point(struct bpk_plot *plot, double y)
{
	size_t row = plot->height - 1 - find_cell(&plot->y, plot->height, y);

	plot->count[row * plot->width + find_cell(&plot->x, plot->width, plot->point_x)]++;
	plot->ntaken++;
}

static void add_points(struct bpk_plot *plot, double number)
{
	bool is_y = plot->position % 3 == 1;

	if (take_point(plot, number))
		add_point(plot, number);
	else if (is_y)
		count_odd(plot, isnan(plot->point_x) ? plot->point_x
				: isfinite(number)   ? plot->point_x
						     : number);
}

static void add_number(struct bpk_plot *plot, double number)
{
	if (!isfinite(number))
		count_odd(plot, number);
	else if (plot->kind == BPK_PLOT_LINES)
		add_to_line(plot, number);
	else if (plot->kind == BPK_PLOT_GRID)
		add_to_grid(plot, number);
	else
		add_to_bars(plot, number);
	plot->ntaken += isfinite(number) ? 1 : 0;
	plot->position++;
}

void bpk_plot_add(struct bpk_plot *plot, const double *numbers, size_t count)
{
	for (size_t i = 0; i < count; i++)
		(plot->kind == BPK_PLOT_POINTS ? add_points : add_number)(plot, numbers[i]);
}

/* ---- End ---- */

static void end_lines(struct bpk_plot *plot)
{
	for (size_t i = 0; i < plot->width * plot->height; i++)
		if (!isnan(plot->low[i])) {
			stretch(&plot->y, plot->low[i]);
			stretch(&plot->y, plot->high[i]);
		}
	for (size_t i = 0; i < plot->width; i++) {
		uint64_t first = i * plot->per_x;
		uint64_t size = bpk_min_u64(plot->per_x, plot->ny - first);

		if (isnan(plot->at[i]))
			plot->at[i] = (double)first + (double)(size - 1) / 2;
		stretch(&plot->x, plot->at[i]);
	}
}

static void end_cells(struct bpk_plot *plot)
{
	bool counts = plot->kind != BPK_PLOT_GRID;

	for (size_t i = 0; i < plot->width * plot->height; i++)
		if (counts || plot->count[i] > 0)
			stretch(&plot->values, counts ? (double)plot->count[i] : plot->mean[i]);
	if (counts)
		plot->values.low = 0;
	if (counts && plot->values.high == 0)
		plot->values.high = 1;
	if (plot->kind == BPK_PLOT_GRID) {
		plot->x = (struct bpk_scale){ 0, (double)plot->nx };
		plot->y = (struct bpk_scale){ 0, (double)plot->ny };
	}
}

/* The caption: cells that stand for several numbers, and numbers that no cell shows. */
static void write_note(struct bpk_plot *plot)
{
	char *note = plot->note;
	size_t room = sizeof plot->note;
	int used = 0;

	if (plot->kind == BPK_PLOT_GRID && (plot->per_x > 1 || plot->per_y > 1))
		used = snprintf(note, room, "a cell is the mean of %" PRIu64 " x %" PRIu64 "; ",
				plot->per_y, plot->per_x);
	else if (plot->kind == BPK_PLOT_LINES && plot->per_x > 1)
		used = snprintf(note, room, "a column is the range of %" PRIu64 "; ", plot->per_x);
	used += snprintf(note + used, room - (size_t)used, "%" PRIu64 " %s", plot->ntaken,
			 plot->kind == BPK_PLOT_POINTS ? "points" : "numbers");
	if (plot->nnan > 0)
		used += snprintf(note + used, room - (size_t)used, ", %" PRIu64 " NaN left out",
				 plot->nnan);
	if (plot->ninfinite > 0)
		snprintf(note + used, room - (size_t)used, ", %" PRIu64 " infinite left out",
			 plot->ninfinite);
}

void bpk_plot_end(struct bpk_plot *plot)
{
	if (plot->kind == BPK_PLOT_LINES)
		end_lines(plot);
	else
		end_cells(plot);
	widen(&plot->x);
	widen(&plot->y);
	widen(&plot->values);
	write_note(plot);
}
