/*
 * Zones: an input as the arrays in it divide it; inside choose alone.
 *
 *     arrays   |head|f4 x 3 ......|f4 x 3 ......|u1 ..|f8|f4|f8|f4|f8|f4|
 *     zones    |f4 x 3 ...........................|u1 ..|mixed ...........|
 */
#ifndef BPK_CHOOSE_ZONES_H
#define BPK_CHOOSE_ZONES_H

#include "choose/choose.h"

enum {
	BPK_ZONE_KINDS = 64, /* distinct kinds at most, the mixed one among them */
	BPK_ZONE_NAME = 48,  /* bytes of a name, with its NUL; longer ones are cut off */
};

/* An array in the input: its bytes, and the type of its elements. */
struct bpk_segment {
	uint64_t offset, size;
	unsigned element; /* bytes; 0: mixed, or no arrays at all */
	unsigned row;     /* bytes of the fastest dimension's elements together; 0: too many */
	char letter;      /* of the elements, NumPy's */
	char name[BPK_ZONE_NAME];
};

/* From offset to where the next one begins. Neighbours are of different kinds. */
struct bpk_zone {
	uint64_t offset;
	uint32_t kind;
};

/* Caller storage, valid when zeroed. Kind 0 is the mixed one, even if no zone has it. */
struct bpk_zones {
	size_t count, room;
	struct bpk_zone *all; /* the first at offset 0 */
	uint64_t size;        /* of the input */
	size_t nkinds;
	struct bpk_segment kinds[BPK_ZONE_KINDS]; /* the first array; size is that of all zones */
};

/*
 * Make the zones of size bytes that hold these arrays: next returns one array after another, and 1
 * behind the last. Arrays that overlap an earlier one, lie before it or leave the input are
 * ignored, since zones are only a hint. Memory is proportional to the number of
 * zones, which have at least some ten KiB on average. Fails with the errors of next, and
 * BPK_NO_MEMORY.
 */
int bpk_zones_make(uint64_t size,
		   int (*next)(void *arg, struct bpk_segment *segment, struct bpk_err *err),
		   void *arg, struct bpk_zones *zones, struct bpk_err *err);

/* The zones of an input of a known layout; any other input is a single mixed zone. */
int bpk_zones_find(struct bpk_source *source, struct bpk_zones *zones, struct bpk_err *err);

void bpk_zones_clear(struct bpk_zones *zones);

/* The offset behind zone i. */
static inline uint64_t bpk_zone_end(const struct bpk_zones *zones, size_t i)
{
	return i + 1 < zones->count ? zones->all[i + 1].offset : zones->size;
}

/* The bytes of all zones of a kind, concatenated, as a source. zones and whole, which is seekable,
 * are borrowed until it is closed. */
int bpk_zones_source(const struct bpk_zones *zones, uint32_t kind, struct bpk_source *whole,
		     struct bpk_source **source, struct bpk_err *err);

#endif
