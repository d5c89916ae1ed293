/*
 * Estimates of the memory that a run takes, before it begins; inside flow alone. Any thread.
 */
#ifndef BPK_FLOW_MEMORY_H
#define BPK_FLOW_MEMORY_H

#include "flow/flow.h"

/* Memory that an archive of this size may take if the user set no limit: any, or 1024 times its
 * size; BPK_UNKNOWN if the size is unknown. */
uint64_t bpk_memory_limit(const struct bpk_flow *flow, uint64_t any);

/* The most memory, in bytes, that a packed chunk, a parcel, and a thread's scratch, take for
 * chunks of raw_size. */
uint64_t bpk_memory_of_packed(const struct bpk_flow *flow, uint64_t raw_size);
uint64_t bpk_memory_of_parcel(const struct bpk_flow *flow, uint64_t raw_size);
uint64_t bpk_memory_of_thread(const struct bpk_flow *flow, uint64_t raw_size);

/* The memory that packing takes in a thread besides the chunk itself, by the recipe that takes
 * the most. */
uint64_t bpk_memory_of_packing(const struct bpk_packing *packing, uint64_t raw_size);

#endif
