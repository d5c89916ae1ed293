/* Statistics of numbers that are in memory, inside archive. Pure functions, for any thread. */
#ifndef BPK_ARCHIVE_MEASURE_H
#define BPK_ARCHIVE_MEASURE_H

#include "archive/statistics.h"

/* Add the numbers of a type, whole ones, to those found. */
void bpk_measure(const struct bpk_scalar *type, struct bpk_view bytes,
		 struct bpk_statistics *found);

/* Merge the results of more numbers of the same type, which follow those of all. */
void bpk_measure_merge(const struct bpk_scalar *type, const struct bpk_statistics *more,
		       struct bpk_statistics *all);

#endif
