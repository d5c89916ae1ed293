/*
 * The kind of work that a run does, by its two formats; inside flow alone. Any thread.
 */
#ifndef BPK_FLOW_MODE_H
#define BPK_FLOW_MODE_H

#include "flow/flow.h"

/* True if parcels are single chunks whose bytes nobody wants: they are proved, not unpacked. */
static inline bool bpk_mode_only_proves(const struct bpk_flow *flow)
{
	return flow->out == NULL && flow->packing == NULL &&
	       (flow->in->unpacks == NULL || !flow->in->unpacks(flow->reader));
}

/* True if parcels are single chunks, put as they are or unpacked. */
static inline bool bpk_mode_puts_chunks(const struct bpk_flow *flow)
{
	return flow->out != NULL && flow->packing == NULL &&
	       (flow->in->unpacks == NULL || !flow->in->unpacks(flow->reader));
}

/* True if the writer packs parcels by itself. */
static inline bool bpk_mode_writer_packs(const struct bpk_flow *flow)
{
	return flow->out != NULL && flow->out->packs != NULL && flow->out->packs(flow->writer);
}

#endif
