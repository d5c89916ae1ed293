/*
 * Rounds of a team, whose parcels rank 0 puts in order; inside flow alone.
 */
#ifndef BPK_FLOW_TEAM_ROUND_H
#define BPK_FLOW_TEAM_ROUND_H

#include "flow/flow.h"

/*
 * Run flow, whose team has met: in each round a rank packs up to size chunks. placed: all ranks
 * have joined rank 0's draft. On rank 0 the result is that of all ranks.
 */
int bpk_team_rounds(const struct bpk_flow *flow, uint64_t size, bool placed,
		    struct bpk_flow_result *result, struct bpk_err *err);

#endif
