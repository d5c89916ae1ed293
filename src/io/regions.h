/*
 * Inside the room io: which bytes of a file were saved, and where.
 */
#ifndef BPK_IO_REGIONS_H
#define BPK_IO_REGIONS_H

#include "base/base.h"

/* size bytes at offset of the file; where: the offset of the first of them in the journal. */
struct bpk_region {
	uint64_t offset, size, where;
};

/* Regions by their offsets, none empty, none over another. Valid when zeroed. */
struct bpk_regions {
	struct bpk_region *list;
	size_t count, capacity;
};

/* Add a region that lies over none. Its end is no more than 2^63. */
int bpk_regions_add(struct bpk_regions *regions, const struct bpk_region *region,
		    struct bpk_err *err);

/* The first region that ends behind offset; NULL when there is none. */
const struct bpk_region *bpk_regions_from(const struct bpk_regions *regions, uint64_t offset);

/*
 * The first bytes from *offset up to end that are in no region: they begin at *offset then and
 * end at *gap_end. False when there are none.
 */
bool bpk_regions_gap(const struct bpk_regions *regions, uint64_t *offset, uint64_t end,
		     uint64_t *gap_end);

void bpk_regions_clear(struct bpk_regions *regions);

#endif
