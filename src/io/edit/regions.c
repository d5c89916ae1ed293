/* A sorted list of disjoint regions. The journal calls it. */
#include "io/edit/regions.h"

#include <stdlib.h>

enum { FIRST_CAPACITY = 8 }; /* entries of the first allocation */

static int reserve_one(struct bpk_regions *regions, struct bpk_err *err)
{
	size_t capacity = regions->capacity == 0 ? FIRST_CAPACITY : 2 * regions->capacity;
	struct bpk_region *list;

	if (regions->count < regions->capacity)
		return 0;
	list = bpk_calloc(capacity, sizeof *list, err);
	if (list == NULL)
		return -1;
	bpk_copy(list, regions->list, regions->count * sizeof *list);
	free(regions->list);
	regions->list = list;
	regions->capacity = capacity;
	return 0;
}

/* The index of the first region that ends after offset. */
static size_t find(const struct bpk_regions *regions, uint64_t offset)
{
	size_t low = 0, high = regions->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct bpk_region *region = &regions->list[middle];

		if (region->offset + region->size > offset)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

int bpk_regions_add(struct bpk_regions *regions, const struct bpk_region *region,
		    struct bpk_err *err)
{
	size_t at = find(regions, region->offset);

	if (reserve_one(regions, err) != 0)
		return -1;
	memmove(regions->list + at + 1, regions->list + at,
		(regions->count - at) * sizeof *regions->list);
	regions->list[at] = *region;
	regions->count++;
	return 0;
}

const struct bpk_region *bpk_regions_from(const struct bpk_regions *regions, uint64_t offset)
{
	size_t at = find(regions, offset);

	return at < regions->count ? &regions->list[at] : NULL;
}

bool bpk_regions_gap(const struct bpk_regions *regions, uint64_t *offset, uint64_t end,
		     uint64_t *gap_end)
{
	size_t at = find(regions, *offset);

	while (at < regions->count && regions->list[at].offset <= *offset) {
		*offset = regions->list[at].offset + regions->list[at].size;
		at++;
	}
	if (*offset >= end)
		return false;
	*gap_end = at < regions->count ? bpk_min_u64(end, regions->list[at].offset) : end;
	return true;
}

void bpk_regions_clear(struct bpk_regions *regions)
{
	free(regions->list);
	*regions = (struct bpk_regions){ 0 };
}
