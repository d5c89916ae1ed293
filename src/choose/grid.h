/*
 * The grid of an input, by which it can be predicted: frames of one period, rows and planes, as its
 * arrays lie; inside choose alone.
 */
#ifndef BPK_CHOOSE_GRID_H
#define BPK_CHOOSE_GRID_H

#include "choose/choose.h"

enum { BPK_GRID_DIMENSIONS = 3 };

/* Distances are counted in numbers. */
struct bpk_grid {
	unsigned size; /* of a number: 1, 2, 4 or 8 bytes; 0: nothing is known */
	bool is_float, big_endian;
	uint64_t origin; /* where a frame or the grid begins, in raw bytes */
	uint64_t period; /* from one frame to the next; 0: the input has no frames */
	/* of the grid that each frame is, or the whole input: the smallest first */
	size_t nstrides;
	uint64_t strides[BPK_GRID_DIMENSIONS];
};

/*
 * Find the grid of a seekable source of raw_size bytes: from its layout, if arrays of one name, or
 * one array, take at least half of it; or from array, which is all of source (NULL: not given).
 * grid->size is 0 if source has no grid of numbers. Fails as reading and bpk_layout_open do.
 */
int bpk_grid_find(struct bpk_source *source, uint64_t raw_size, const struct bpk_array *array,
		  struct bpk_grid *grid, struct bpk_err *err);

#endif
