/*
 * What the plan says of single parcels; inside flow alone.
 */
#ifndef BPK_FLOW_PLAN_H
#define BPK_FLOW_PLAN_H

#include "flow/flow.h"

/* Before a fetch: empty the parcel and fill in what the plan knows of chunk parcel->number. Where
 * chunk sizes differ, raw_offset is unknown and all of the chunk is wanted. */
void bpk_plan_parcel(const struct bpk_plan *plan, struct bpk_parcel *parcel);

/* After it: data_size follows raw_size where the fetch left it open. Fails when what was fetched,
 * for which size bytes were planned, is not what the plan has. */
int bpk_plan_judge(const struct bpk_plan *plan, struct bpk_parcel *parcel, uint64_t size,
		   struct bpk_err *err);

/* Set want_start and want_size from raw_offset and data_size. */
void bpk_plan_want(const struct bpk_plan *plan, struct bpk_parcel *parcel);

/* Where the chunk plan->first begins in the whole. */
uint64_t bpk_plan_first_offset(const struct bpk_plan *plan);

#endif
