/* Inside the room io: the regions of a file that were saved, and their positions in the journal. */
#ifndef BPK_IO_EDIT_REGIONS_H
#define BPK_IO_EDIT_REGIONS_H

#include "base/base.h"

/* size bytes at offset of the file; the first of them lies at offset where of the journal. */
struct bpk_region {
	uint64_t offset, size, where;
};

/* Regions sorted by offset, not empty and without overlap. Valid when zeroed. */
struct bpk_regions {
	struct bpk_region *list;
	size_t count, capacity;
};

/* Add a region that overlaps no other. Its end is at most 2^63. */
int bpk_regions_add(struct bpk_regions *regions, const struct bpk_region *region,
		    struct bpk_err *err);

/* The first region that ends after offset, or NULL. */
const struct bpk_region *bpk_regions_from(const struct bpk_regions *regions, uint64_t offset);

/*
 * Find the first bytes from *offset up to end that lie in no region: they then begin at *offset and
 * end at *gap_end. False when all bytes lie in regions.
 */
bool bpk_regions_gap(const struct bpk_regions *regions, uint64_t *offset, uint64_t end,
		     uint64_t *gap_end);

void bpk_regions_clear(struct bpk_regions *regions);

#endif
