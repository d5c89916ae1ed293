/* Ranges resolved against a size. cat, slices and the choice of frames call it. */
#include "cli/opt.h"

#include <inttypes.h>

static int resolve_side(int64_t side, uint64_t total, uint64_t *out, struct bpk_err *err)
{
	/* -(side + 1) + 1 also holds for the smallest number */
	uint64_t back = side < 0 ? (uint64_t) - (side + 1) + 1 : 0;

	if (side >= 0) {
		*out = bpk_min_u64((uint64_t)side, total);
		return 0;
	}
	if (total == BPK_UNKNOWN)
		return bpk_fail(
			err, BPK_FAILED,
			"the range counts from the end, but the size is not known in a pipe");
	*out = back < total ? total - back : 0;
	return 0;
}

int bpk_range_resolve(const struct bpk_opt_range *range, uint64_t total, uint64_t *start,
		      uint64_t *end, struct bpk_err *err)
{
	*start = 0;
	*end = total;
	if (range->has_start && resolve_side(range->start, total, start, err) != 0)
		return -1;
	if (range->has_end && resolve_side(range->end, total, end, err) != 0)
		return -1;
	*end = bpk_max_u64(*start, *end);
	return 0;
}

int bpk_part_resolve(const struct bpk_opt_range *range, const char *items, uint64_t total,
		     uint64_t *start, uint64_t *end, struct bpk_err *err)
{
	if (bpk_range_resolve(range, total, start, end, err) != 0)
		return -1;
	if (!range->is_index || total == BPK_UNKNOWN || *start < *end)
		return 0;
	return bpk_fail(err, BPK_FAILED, "%s %" PRId64 ": outside; there are %" PRIu64, items,
			range->start, total);
}
