/* The damage of one group, by the bits of a comparison. Inside the room. */
#ifndef BPK_PARITY_LOST_H
#define BPK_PARITY_LOST_H

#include "parity/side.h"

struct bpk_group {
	unsigned bad, bad_parity;     /* cells of the archive, and of the side file */
	uint8_t rows[BPK_CODE_MAX];   /* the row of each bad cell: its number over groups */
	uint8_t good_j[BPK_CODE_MAX]; /* the good parity cells: s->m - bad_parity */
};

struct bpk_group bpk_group_of(const struct bpk_parity_scan *scan, const struct bpk_segment *s,
			      uint64_t group);

#endif
