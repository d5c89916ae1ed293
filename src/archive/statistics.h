/*
 * Statistics of the numbers in arrays. A part of the room's door. Errors name the input.
 */
#ifndef BPK_ARCHIVE_STATISTICS_H
#define BPK_ARCHIVE_STATISTICS_H

#include "archive/content.h"
#include "archive/number.h"

/* Of the numbers so far; valid when zeroed. NaN and infinities are counted and else left out. */
struct bpk_statistics {
	uint64_t count; /* of all numbers */
	uint64_t nnan, ninfinite;
	uint64_t nfinite;
	/* Of the finite ones, if there is one. A mean and a sum that a double cannot hold are
	 * infinite, or no number. */
	double mean,
		rest;   /* the mean is the sum of both; rest are digits behind those of a double */
	double squares; /* the sum of squared differences from the mean */
	double min, max;
	/* The same of integers, exact: with a sign, as the bits of an int64_t. */
	uint64_t least, greatest;
};

double bpk_statistics_mean(const struct bpk_statistics *statistics);

/* Standard deviation of the population. */
double bpk_statistics_deviation(const struct bpk_statistics *statistics);

enum { BPK_STATISTICS_NONE = -1 };

/*
 * Find the statistics of an opened content's arrays, or of item alone, if it is not NULL. row_of
 * names the place in rows (zeroed) to which the numbers of an array are added, or returns
 * BPK_STATISTICS_NONE to pass over it; these arrays are integers and floats, and all of one place
 * are of one kind and size. It is called twice for each array, by the calling thread. The numbers
 * are read in pieces by all threads, and the results are merged in the order of the pieces, so any
 * number of threads finds the same. Memory depends on threads alone. Fails as reading does.
 */
int bpk_statistics_find(const struct bpk_content *content, const struct bpk_item *item,
			int64_t (*row_of)(void *arg, const struct bpk_item *item), void *arg,
			unsigned threads, struct bpk_statistics *rows, struct bpk_err *err);

#endif
