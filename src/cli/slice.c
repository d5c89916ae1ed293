/* Slices as users write them, parsed and resolved against an array. Options and cat call it. */
#include "cli/slice.h"

#include <inttypes.h>

/* ---- As users write it ---- */

enum { SIDE_TEXT = 72 }; /* three numbers and two colons */

static int parse_side(const char *text, struct bpk_opt_slice *slice, struct bpk_err *err)
{
	struct bpk_opt_range *side = &slice->sides[slice->count];

	if (strcmp(text, "...") == 0) {
		if (slice->has_ellipsis)
			return bpk_fail(err, BPK_USAGE, "more than one '...'");
		slice->has_ellipsis = true;
		slice->before_ellipsis = slice->count;
		return 0;
	}
	if (slice->count == BPK_ARRAY_MAX_DIMENSIONS)
		return bpk_fail(err, BPK_USAGE, "more than %d dimensions",
				BPK_ARRAY_MAX_DIMENSIONS);
	slice->count++;
	return bpk_parse_part(text, INT64_MAX, side, err);
}

int bpk_parse_slice(const char *text, struct bpk_opt_slice *out, struct bpk_err *err)
{
	struct bpk_opt_slice slice = { .given = true };
	char side[SIDE_TEXT];

	for (;;) {
		size_t length, size;

		text += strspn(text, " ");
		length = strcspn(text, ",");
		for (size = length; size > 0 && text[size - 1] == ' '; size--)
			;
		if (size >= sizeof side)
			return bpk_fail(
				err, BPK_USAGE,
				"'%.*s' is not a part of a dimension, expected N, A:B or A:B:STEP",
				SIDE_TEXT, text);
		memcpy(side, text, size);
		side[size] = '\0';
		if (parse_side(side, &slice, err) != 0)
			return -1;
		if (text[length] == '\0')
			break;
		text += length + 1;
	}
	*out = slice;
	return 0;
}

/* ---- In an array ---- */

static int resolve_index(int64_t index, size_t dimension, uint64_t length, uint64_t *start,
			 struct bpk_err *err)
{
	bool good = index < 0 ? (uint64_t)-index <= length : (uint64_t)index < length;

	if (!good)
		return bpk_fail(err, BPK_USAGE,
				"index %" PRId64
				" leaves dimension %zu of the array, which is %" PRIu64 " long",
				index, dimension, length);
	*start = index < 0 ? length - (uint64_t)-index : (uint64_t)index;
	return 0;
}

static int resolve_side(const struct bpk_opt_range *side, size_t dimension, uint64_t length,
			uint64_t *start, uint64_t *stop, struct bpk_err *err)
{
	if (!side->is_index)
		return bpk_range_resolve(side, length, start, stop, err);
	/* beyond the end there is nothing to be cut off */
	if (resolve_index(side->start, dimension, length, start, err) != 0)
		return -1;
	*stop = *start + 1;
	return 0;
}

int bpk_slice_resolve(const struct bpk_opt_slice *slice, const struct bpk_array *array,
		      struct bpk_slice *out, struct bpk_err *err)
{
	size_t before = slice->has_ellipsis ? slice->before_ellipsis : slice->count;
	size_t count = array->ndimensions;
	uint64_t length;

	if (slice->count > count)
		return bpk_fail(err, BPK_USAGE, "the slice has %zu dimensions, the array has %zu",
				slice->count, count);
	*out = (struct bpk_slice){ .ndimensions = count };
	memcpy(out->stop, array->shape, sizeof out->stop);
	for (size_t k = 0; k < slice->count; k++) {
		size_t i = k < before ? k : count - slice->count + k;

		if (resolve_side(&slice->sides[k], i, array->shape[i], &out->start[i],
				 &out->stop[i], err) != 0)
			return -1;
		out->step[i] = slice->sides[k].step;
		/* nothing behind the last index is read */
		length = bpk_slice_length(out, i);
		if (length > 0)
			out->stop[i] =
				out->start[i] + (length - 1) * bpk_max_u64(1, out->step[i]) + 1;
	}
	return 0;
}
