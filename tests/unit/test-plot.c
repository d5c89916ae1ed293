/* The room plot: scales, ticks, cells, bars, text. */
#include "unit/unit.h"

#include <math.h>
#include <stdlib.h>

#include "plot/plot.h"

/* ---- Axes ---- */

static void check_ticks(double low, double high)
{
	struct bpk_scale scale = { low, high };
	struct bpk_ticks ticks;

	bpk_scale_widen(&scale);
	assert_true(scale.low < scale.high && isfinite(scale.low) && isfinite(scale.high));
	bpk_ticks_find(&scale, 5, &ticks);
	assert_in_range(ticks.count, 1, 8);
	for (size_t i = 0; i < ticks.count; i++) {
		double place = bpk_scale_place(&scale, ticks.values[i]);

		assert_true(place >= 0 && place <= 1);
		assert_true(strtod(ticks.labels[i], NULL) == ticks.values[i]);
	}
}

static void test_ticks(void **state)
{
	const double numbers[] = { 0,      1,      -1,   0.3,      12345.678, 1e300,  -1.7e308,
				   5e-324, 1e-310, 1e15, 1e15 + 1, -7e-9,     1.7e308 };
	size_t count = sizeof numbers / sizeof numbers[0];

	(void)state;
	for (size_t i = 0; i < count * count; i++)
		if (numbers[i / count] <= numbers[i % count])
			check_ticks(numbers[i / count], numbers[i % count]);
}

static void test_round_ticks(void **state)
{
	const struct bpk_scale scale = { -0.1, 0.75 };
	struct bpk_ticks ticks;

	(void)state;
	bpk_ticks_find(&scale, 5, &ticks);
	assert_int_equal(ticks.count, 4);
	assert_string_equal(ticks.labels[0], "0");
	assert_string_equal(ticks.labels[1], "0.2");
	assert_string_equal(ticks.labels[3], "0.6");
}

/* ---- Cells ---- */

/* No number is lost, wherever the numbers are cut into calls. */
static void check_line(size_t count, size_t piece, size_t most)
{
	struct bpk_plot plot = { .kind = BPK_PLOT_LINES,
				 .title = "",
				 .x_title = "",
				 .y_title = "",
				 .nx = 1,
				 .ny = count,
				 .most_x = most };
	double *numbers = calloc(count, sizeof *numbers);

	assert_non_null(numbers);
	numbers[count / 3] = 7;
	numbers[count - 1] = -7;
	assert_int_equal(bpk_plot_begin(&plot, NULL), 0);
	assert_in_range(plot.width, 1, most);
	for (size_t i = 0; i < count; i += piece)
		bpk_plot_add(&plot, numbers + i, bpk_min_size(piece, count - i));
	bpk_plot_end(&plot);
	assert_true(plot.high[count / 3 / plot.per_x] == 7);
	assert_true(plot.low[plot.width - 1] == -7);
	bpk_plot_clear(&plot);
	free(numbers);
}

static void test_line(void **state)
{
	(void)state;
	check_line(4, 4, 10);
	check_line(10, 3, 10);
	check_line(11, 1, 10);
	check_line(12345, 100, 72);
}

/* Means of numbers whose sum is no double, and a cell without a number. */
static void test_grid(void **state)
{
	const double numbers[] = { 1e308, 1.5e308, NAN, INFINITY, 1e308, 1.5e308, NAN, NAN };
	struct bpk_plot plot = {
		.kind = BPK_PLOT_GRID, .nx = 4, .ny = 2, .most_x = 2, .most_y = 1
	};

	(void)state;
	assert_int_equal(bpk_plot_begin(&plot, NULL), 0);
	bpk_plot_add(&plot, numbers, 8);
	bpk_plot_end(&plot);
	assert_int_equal(plot.width, 2);
	assert_true(fabs(plot.mean[0] / 1.25e308 - 1) < 1e-15);
	assert_int_equal(plot.count[1], 0);
	assert_int_equal(plot.nnan, 3);
	assert_int_equal(plot.ninfinite, 1);
	bpk_plot_clear(&plot);
}

/* The last bar has the end of the range; integers have bars of their own. */
static void check_bars(bool integers, size_t width, double low)
{
	const double numbers[] = { 2, 5, 5, 3, NAN, 2, 5 };
	struct bpk_plot plot = { .kind = BPK_PLOT_BARS, .integers = integers, .most_x = 50 };
	uint64_t sum = 0;

	assert_int_equal(bpk_plot_begin(&plot, NULL), 0);
	bpk_plot_look(&plot, numbers, 7);
	assert_int_equal(bpk_plot_seen(&plot, NULL), 0);
	bpk_plot_add(&plot, numbers, 7);
	bpk_plot_end(&plot);
	assert_int_equal(plot.width, width);
	assert_true(plot.x.low == low);
	assert_int_equal(plot.count[0], 2);
	assert_int_equal(plot.count[width - 1], 3);
	for (size_t i = 0; i < width; i++)
		sum += plot.count[i];
	assert_int_equal(sum, 6);
	bpk_plot_clear(&plot);
}

static void test_bars(void **state)
{
	(void)state;
	check_bars(true, 4, 1.5);
	check_bars(false, 10, 2);
}

/* ---- Text ---- */

/* Every page has its lines, none of them too long. */
static void check_page(unsigned columns, unsigned lines)
{
	const double numbers[] = { 1, 5, NAN, 2 };
	struct bpk_plot plot = { .kind = BPK_PLOT_LINES,
				 .title = "a title that is longer than the page has columns",
				 .x_title = "",
				 .y_title = "",
				 .nx = 1,
				 .ny = 4 };
	struct bpk_buf text = { 0 };
	size_t count = 0, start = 0;

	bpk_plot_text_room(plot.kind, columns, lines, &plot.most_x, &plot.most_y);
	assert_int_equal(bpk_plot_begin(&plot, NULL), 0);
	bpk_plot_add(&plot, numbers, 4);
	bpk_plot_end(&plot);
	assert_int_equal(bpk_plot_text(&plot, columns, lines, false, &text, NULL), 0);
	for (size_t i = 0; i < text.size; i++)
		if (text.data[i] == '\n') {
			assert_true(i - start <= columns);
			start = i + 1;
			count++;
		}
	assert_int_equal(count, lines);
	bpk_buf_clear(&text);
	bpk_plot_clear(&plot);
}

static void test_text(void **state)
{
	(void)state;
	check_page(40, 10);
	check_page(80, 24);
	check_page(400, 200);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ticks), cmocka_unit_test(test_round_ticks),
		cmocka_unit_test(test_line),  cmocka_unit_test(test_grid),
		cmocka_unit_test(test_bars),  cmocka_unit_test(test_text),
	};

	return UNIT_RUN(tests);
}
