/*
 * Numbers of axes: logarithms and powers of ten, and round numbers between two ends; colours. A
 * part of the room's door. Pure functions, for any thread. bpk is not linked with libm, which would
 * make every command start later.
 */
#ifndef BPK_PLOT_AXIS_H
#define BPK_PLOT_AXIS_H

#include "base/base.h"

/* 10 to the power of an integer. */
double bpk_axis_power(int exponent);

/* The logarithm to base 10 of a value above 0. */
double bpk_axis_logarithm(double value);

/* The largest integer that is not above a value. */
int64_t bpk_axis_whole(double value);

static inline double bpk_least(double a, double b)
{
	return a < b ? a : b;
}

static inline double bpk_most(double a, double b)
{
	return a > b ? a : b;
}

/* A range that can be divided: finite, and low is less than high. */
struct bpk_scale {
	double low, high;
};

/* Widen a range of finite numbers, low <= high, until it can be divided: one of a single number, of
 * numbers that differ in their last digits, and of numbers too near to 0. */
void bpk_scale_widen(struct bpk_scale *scale);

/* The place of a number in a range: 0 for low, 1 for high. */
double bpk_scale_place(const struct bpk_scale *scale, double number);

/* The colour of a series, 0xrrggbb: eight that the colour-blind can tell apart, in turn. */
unsigned bpk_series_colour(size_t series);

enum { BPK_MOST_TICKS = 16 };

/* Round numbers, 1, 2 or 5 times a power of ten apart, inside a range. */
struct bpk_ticks {
	size_t count;
	double values[BPK_MOST_TICKS];
	char labels[BPK_MOST_TICKS][BPK_NUMBER_TEXT];
};

/* About wanted ticks, at least 2, at most 8. */
void bpk_ticks_find(const struct bpk_scale *scale, unsigned wanted, struct bpk_ticks *ticks);

#endif
