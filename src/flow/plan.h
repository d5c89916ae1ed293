/*
 * What the plan says of single parcels; inside flow alone.
 */
#ifndef BPK_FLOW_PLAN_H
#define BPK_FLOW_PLAN_H

#include "flow/flow.h"

/* Before a fetch: empty the parcel and fill in what the plan knows of chunk parcel->number. Where
 * chunk sizes differ, raw_offset is unknown and all of the chunk is wanted. */
void bpk_plan_parcel(const struct bpk_plan *plan, struct bpk_parcel *parcel);

/* Set want_start and want_size from raw_offset and raw_size. */
void bpk_plan_want(const struct bpk_plan *plan, struct bpk_parcel *parcel);

/* Where the chunk plan->first begins in the whole. */
uint64_t bpk_plan_first_offset(const struct bpk_plan *plan);

#endif
