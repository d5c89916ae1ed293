/*
 * The same chunk of another archive; inside flow alone. Two archives of one content, packed in the
 * same way, are compared as they lie.
 */
#ifndef BPK_FLOW_TWIN_H
#define BPK_FLOW_TWIN_H

#include <stdatomic.h>

#include "flow/work.h"

/* The chunks of a run that were looked up; valid when zeroed. Any thread. */
struct bpk_twins {
	_Atomic uint64_t hits, misses;
};

/*
 * True if the flow's twin has the same packed bytes for a fetched parcel, and both seals are right.
 * False, too, where that cannot be found out, or archives that are packed otherwise were asked too
 * often: then the chunk is worked on like others, which reports its damage. Any thread,
 * with its own worker.
 */
bool bpk_twin_holds(struct bpk_twins *twins, struct bpk_worker *worker, const struct bpk_flow *flow,
		    const struct bpk_parcel *parcel);

#endif
