/*
 * A part of a run, by the threads of one process; inside flow alone.
 */
#ifndef BPK_FLOW_PART_H
#define BPK_FLOW_PART_H

#include "flow/flow.h"

/* Check the numbers and sizes of all chunks of a run. Fails with BPK_LIMIT. */
int bpk_flow_check(const struct bpk_flow *flow, struct bpk_err *err);

/* bpk_flow_run without a team. *failed is the number of the lowest chunk that failed, the first one
 * where the run did not begin; it has no meaning after success. */
int bpk_flow_run_part(const struct bpk_flow *flow, struct bpk_flow_result *result, uint64_t *failed,
		      struct bpk_err *err);

#endif
