/*
 * The threads of a run; inside flow alone. Any thread.
 */
#ifndef BPK_FLOW_THREADS_H
#define BPK_FLOW_THREADS_H

#include "flow/flow.h"

/*
 * The number of parcels of a run. Without an order to keep each thread needs only one. So does a
 * single thread, which puts the parcel that it brought. Threads that share a chunk have one parcel.
 */
unsigned bpk_threads_parcels(const struct bpk_flow *flow, unsigned threads, bool put_in_order);

/*
 * The number of threads: those that the plan has work for, and that memory allows. *parcel_limit is
 * the most bytes that a parcel may take then; 0: any. Fails with BPK_LIMIT.
 */
int bpk_threads_limit(const struct bpk_flow *flow, bool put_in_order, unsigned *threads,
		      uint64_t *parcel_limit, struct bpk_err *err);

#endif
