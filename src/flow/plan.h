/*
 * The plan for single parcels; inside flow alone.
 */
#ifndef BPK_FLOW_PLAN_H
#define BPK_FLOW_PLAN_H

#include "flow/flow.h"

/* Before a fetch: empty the parcel and fill in the numbers that the plan knows of chunk
 * parcel->number. If chunk sizes differ, raw_offset is unknown and all of the chunk is wanted. */
void bpk_plan_parcel(const struct bpk_plan *plan, struct bpk_parcel *parcel);

/* After a fetch: set data_size to raw_size if the fetch left it open. Fails if the parcel, for
 * which size bytes were planned, does not agree with the plan. */
int bpk_plan_judge(const struct bpk_plan *plan, struct bpk_parcel *parcel, uint64_t size,
		   struct bpk_err *err);

/* Set want_start and want_size from raw_offset and data_size. */
void bpk_plan_want(const struct bpk_plan *plan, struct bpk_parcel *parcel);

/* The number of chunks right after chunk number that are known to hold the same bytes; *size is the
 * raw size of one of them. One thread at a time. */
uint64_t bpk_plan_alike(const struct bpk_reader_ops *ops, void *reader, uint64_t number,
			uint64_t *size);

/* The offset of the chunk plan->first in the whole. */
uint64_t bpk_plan_first_offset(const struct bpk_plan *plan);

#endif
