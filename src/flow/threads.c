/* The number of threads and parcels of a run, by its chunks and the limits on memory. Called by
 * flow.c. */
#include "flow/threads.h"

#include <inttypes.h>

#include "flow/memory.h"
#include "flow/work.h"

/* Memory that threads may share in an archive of any size, if the user set no limit: all that one
 * processor needs for the chunks that pack makes. */
enum { COMMON = 48 << 20 };

/* The chunk size for memory estimates; 0 if it is unknown. */
static uint64_t expected_chunk_size(const struct bpk_flow *flow)
{
	const struct bpk_info *info;

	if (flow->plan.runs != NULL)
		return bpk_sizes_largest(flow->plan.runs);
	if (flow->plan.chunk_size != BPK_UNKNOWN)
		return bpk_min_u64(flow->plan.chunk_size, flow->plan.raw_size);
	info = flow->in->info == NULL ? NULL : flow->in->info(flow->reader);
	return info != NULL && info->chunks.has_first ? info->chunks.first.raw_size : 0;
}

/* Parcels finish in any order; while one is slow, the others go on for a round. */
unsigned bpk_threads_parcels(const struct bpk_flow *flow, unsigned threads, bool put_in_order)
{
	unsigned parcels = put_in_order && threads > 1 ? 2 * threads + 1 : threads;

	return flow->packing != NULL ? (unsigned)bpk_min_u64(parcels, flow->plan.count) : parcels;
}

/* Memory of each thread besides parcels: with chunks that are split, also the packed bytes of
 * one. */
static uint64_t fixed_memory(const struct bpk_flow *flow, uint64_t chunk_size)
{
	uint64_t at_once = bpk_work_at_once(flow, chunk_size);

	return bpk_memory_of_thread(flow, at_once) +
	       (at_once < chunk_size ? bpk_memory_of_packed(flow, chunk_size) : 0);
}

static uint64_t memory_for(const struct bpk_flow *flow, unsigned threads, bool put_in_order,
			   uint64_t chunk_size)
{
	uint64_t parcel = bpk_memory_of_parcel(flow, bpk_work_at_once(flow, chunk_size));

	return bpk_threads_parcels(flow, threads, put_in_order) * parcel +
	       threads * fixed_memory(flow, chunk_size);
}

/* The wanted number of threads, at most one for each chunk or piece of one. */
static unsigned most_threads(const struct bpk_flow *flow, uint64_t chunk_size)
{
	uint64_t for_one = bpk_max_u64(1, bpk_work_for_one(flow, chunk_size));
	uint64_t items = bpk_max_u64(1, bpk_div_up(chunk_size, for_one));

	if (!bpk_mul_u64(flow->plan.count, items, &items))
		items = BPK_UNKNOWN;
	return (unsigned)bpk_min_u64(bpk_max_u64(1, flow->limits.threads), bpk_max_u64(1, items));
}

int bpk_threads_limit(const struct bpk_flow *flow, bool put_in_order, unsigned *threads,
		      uint64_t *parcel_limit, struct bpk_err *err)
{
	uint64_t limit = flow->limits.memory, chunk_size = expected_chunk_size(flow), fixed, soft;

	*threads = most_threads(flow, chunk_size);
	*parcel_limit = 0;
	if (limit == 0)
		return 0;
	soft = flow->limits.memory_is_default && flow->packing == NULL
		       ? bpk_min_u64(limit, bpk_memory_limit(flow, COMMON))
		       : limit;
	while (*threads > 1 && memory_for(flow, *threads, put_in_order, chunk_size) > soft)
		--*threads;
	if (memory_for(flow, *threads, put_in_order, chunk_size) > limit && flow->packing != NULL &&
	    flow->limits.memory_is_default)
		return 0;
	if (memory_for(flow, *threads, put_in_order, chunk_size) > limit)
		return bpk_fail(err, BPK_LIMIT,
				"needs %" PRIu64 " bytes of memory, the limit is %" PRIu64,
				memory_for(flow, 1, put_in_order, chunk_size), limit);
	fixed = *threads * fixed_memory(flow, chunk_size);
	*parcel_limit = (limit - fixed) / bpk_threads_parcels(flow, *threads, put_in_order);
	return 0;
}
