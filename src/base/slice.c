/*
 * Parts of arrays: the runs of bytes that they cover. flow/slice.c, cat and archive/gsd_array.c
 * call it. With the shape 3,4,5 in C order, the part 1:3,1:2,: is
 *
 *     . . . . .   . . . . .   . . . . .      the last dimension is whole, so it makes one run with
 *     . . . . .   x x x x x   x x x x x      the one before it: two runs, one for each index of
 *     . . . . .   . . . . .   . . . . .      the first
 *     . . . . .   . . . . .   . . . . .
 */
#include "base/base.h"

static uint64_t step_of(const struct bpk_slice *slice, size_t dimension)
{
	return bpk_max_u64(1, slice->step[dimension]);
}

uint64_t bpk_slice_length(const struct bpk_slice *slice, size_t dimension)
{
	uint64_t size = slice->stop[dimension] - slice->start[dimension];

	return size == 0 ? 0 : (size - 1) / step_of(slice, dimension) + 1;
}

bool bpk_slice_has_steps(const struct bpk_slice *slice)
{
	bool has = false;

	for (size_t i = 0; i < slice->ndimensions; i++)
		has = has || step_of(slice, i) > 1;
	return has;
}

uint64_t bpk_slice_items(const struct bpk_slice *slice)
{
	uint64_t items = 1;

	for (size_t i = 0; i < slice->ndimensions; i++)
		if (slice->start[i] == slice->stop[i])
			return 0;
	for (size_t i = 0; i < slice->ndimensions; i++)
		items *= bpk_slice_length(slice, i);
	return items;
}

/* The i-th dimension in iteration order, the slowest first. */
static size_t dimension_of(const struct bpk_array *array, size_t i)
{
	return array->fortran ? array->ndimensions - 1 - i : i;
}

void bpk_runs_begin(const struct bpk_array *array, const struct bpk_slice *slice,
		    struct bpk_runs *runs)
{
	uint64_t stride = array->dtype.size;
	bool whole = true; /* the run continues into the next slower dimension */

	*runs = (struct bpk_runs){ .size = stride, .ended = bpk_slice_items(slice) == 0 };
	for (size_t i = array->ndimensions; i-- > 0 && !runs->ended;) {
		size_t d = dimension_of(array, i);
		uint64_t length = bpk_slice_length(slice, d), step = step_of(slice, d);

		runs->offset += slice->start[d] * stride;
		if (whole && step == 1) {
			runs->size *= length;
			whole = length == array->shape[d];
		} else {
			whole = false;
			if (runs->ndimensions == 0)
				runs->ndimensions = i + 1;
		}
		runs->stop[i] = length;
		/* in one step nothing follows, and the product could be too large */
		runs->stride[i] = length > 1 ? stride * step : stride;
		stride *= array->shape[d];
	}
}

bool bpk_runs_next(struct bpk_runs *runs, uint64_t *offset, uint64_t *size)
{
	if (runs->ended)
		return false;
	*offset = runs->offset;
	*size = runs->size;
	for (size_t i = runs->ndimensions; i-- > 0;) {
		runs->offset += runs->stride[i];
		if (++runs->at[i] < runs->stop[i])
			return true;
		runs->offset -= runs->stop[i] * runs->stride[i];
		runs->at[i] = 0;
	}
	runs->ended = true;
	return true;
}

void bpk_slice_transpose(const struct bpk_slice *slice, size_t item_size, struct bpk_view in,
			 struct bpk_span out)
{
	uint64_t at[BPK_ARRAY_MAX_DIMENSIONS] = { 0 };
	uint64_t stride[BPK_ARRAY_MAX_DIMENSIONS], length[BPK_ARRAY_MAX_DIMENSIONS];
	uint64_t from = 0, step = item_size, items = bpk_slice_items(slice);

	for (size_t i = 0; i < slice->ndimensions; i++) {
		length[i] = bpk_slice_length(slice, i);
		stride[i] = step;
		step *= length[i];
	}
	for (uint64_t n = 0; n < items; n++) {
		memcpy(out.data + n * item_size, in.data + from, item_size);
		for (size_t i = slice->ndimensions; i-- > 0;) {
			from += stride[i];
			if (++at[i] < length[i])
				break;
			from -= length[i] * stride[i];
			at[i] = 0;
		}
	}
}
