/*
 * Estimates the memory that a run takes, before it begins. Called by threads.c and work.c.
 */
#include "flow/memory.h"

#include "flow/mode.h"

/* The archive's size times a factor; BPK_UNKNOWN if the size is unknown. */
static uint64_t times_stored(const struct bpk_flow *flow, uint64_t times)
{
	const struct bpk_info *info = flow->in->info == NULL ? NULL : flow->in->info(flow->reader);
	uint64_t size;

	if (info == NULL || info->stored_size == 0 || !bpk_mul_u64(info->stored_size, times, &size))
		return BPK_UNKNOWN;
	return size;
}

uint64_t bpk_memory_limit(const struct bpk_flow *flow, uint64_t any)
{
	enum { TIMES = 1024 };

	return bpk_max_u64(any, times_stored(flow, TIMES));
}

/* A packed chunk is no larger than its archive. */
uint64_t bpk_memory_of_packed(const struct bpk_flow *flow, uint64_t raw_size)
{
	uint64_t packed = raw_size + BPK_CHUNK_HEADER_SIZE + BPK_DIGEST_MAX;

	return flow->packing != NULL ? packed : bpk_min_u64(packed, times_stored(flow, 1));
}

/* A chunk that is only proved is unpacked stream by stream, up to the size that a stream may
 * have. */
uint64_t bpk_memory_of_parcel(const struct bpk_flow *flow, uint64_t raw_size)
{
	uint64_t packed = bpk_memory_of_packed(flow, raw_size), stream;

	if (bpk_mode_only_proves(flow)) {
		stream = times_stored(flow, BPK_CHUNK_PROOF_TIMES);
		if (stream < BPK_UNKNOWN - BPK_CHUNK_PROOF)
			raw_size = bpk_min_u64(raw_size, stream + BPK_CHUNK_PROOF);
	}
	return flow->decode || flow->packing != NULL ? raw_size + packed : packed;
}

/* Columns are split, or joined, in a buffer beside the parcel. */
static bool has_columns(const struct bpk_flow *flow)
{
	return bpk_mode_writer_packs(flow) ||
	       (flow->in->unpacks != NULL && flow->in->unpacks(flow->reader));
}

/* Blocks of Blosc2 may pass through several filters, and depend on another block. */
static uint64_t blocks_to_unpack(const struct bpk_flow *flow)
{
	const struct bpk_info *info = flow->in->info(flow->reader);

	return info->chunks.has_first && info->chunks.first.version > 2 ? 5 : 2;
}

/*
 * Several filters pass a block back and forth. A dictionary is trained on samples, with tables of
 * Zstd's that take 12 MiB, and then the chunk is packed once more.
 */
static uint64_t extra_packing(const struct bpk_recipe *recipe, uint64_t raw_size, uint64_t block)
{
	enum { LEARNING = 16 << 20 };

	return (recipe->pipeline.nsteps > 1 ? block : 0) +
	       (recipe->dictionary ? raw_size + LEARNING : 0);
}

/*
 * A thread keeps a filtered block or two, and the codec's state. An encoder's tables
 * follow the size of its streams: about twice that at the lower levels, and up to 16 times at the
 * highest (Zstd's search trees).
 */
static uint64_t packing_memory(const struct bpk_recipe *recipe, uint64_t raw_size)
{
	enum { CHOSEN_MOST = 4 << 20 }; /* the largest block that the encoder chooses */
	static const unsigned tables[] = { 0, 2, 2, 2, 8, 8, 8, 16, 16, 16 };
	uint64_t block = recipe->block_size > 0 ? recipe->block_size : CHOSEN_MOST;

	block = bpk_min_u64(block, raw_size);
	return (1 + tables[bpk_min_u64(recipe->level, 9)]) * block +
	       extra_packing(recipe, raw_size, block);
}

uint64_t bpk_memory_of_packing(const struct bpk_packing *packing, uint64_t raw_size)
{
	uint64_t most = packing_memory(&packing->choice.recipe, raw_size);
	const struct bpk_cuts *cuts = packing->cuts;

	for (size_t i = 0; cuts != NULL && i < cuts->nkinds; i++)
		most = bpk_max_u64(most, packing_memory(&cuts->kinds[i].recipe, raw_size));
	return most;
}

/* The largest block: that of any chunk, or, if the user set no limit, that of the first chunk. */
static uint64_t most_of_block(const struct bpk_flow *flow, uint64_t raw_size)
{
	const struct bpk_info *info = flow->in->info(flow->reader);

	if (!flow->limits.memory_is_default || !info->chunks.has_first ||
	    info->chunks.first.variable_blocks)
		return raw_size;
	return bpk_min_u64(raw_size, info->chunks.first.block_size);
}

uint64_t bpk_memory_of_thread(const struct bpk_flow *flow, uint64_t raw_size)
{
	enum { STATE = 2 << 20 };
	uint64_t fixed = flow->reader_memory + STATE;

	if (has_columns(flow))
		fixed += raw_size;
	if (bpk_mode_only_proves(flow))
		return fixed;
	if (flow->packing == NULL)
		return flow->decode ? blocks_to_unpack(flow) * most_of_block(flow, raw_size) + fixed
				    : 0;
	return bpk_memory_of_packing(flow->packing, raw_size) + fixed +
	       (flow->compare ? raw_size : 0) +
	       (flow->packing->predictions != NULL ? 3 * raw_size : 0);
}
