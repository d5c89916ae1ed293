/*
 * The pieces in which a large chunk is decoded, so that memory need not hold all of it. Called by
 * flow.
 * Source: Blosc chunk format, "Random access".
 */
#include "chunk/decode.h"

enum {
	LEAST_BLOCKS = 4, /* minimum blocks of a piece; larger blocks are pieces themselves */
	/* minimum with delta, where each piece also decodes block 0: 6 % more work */
	DELTA_BLOCKS = 16,
};

/* Read all streams of the blocks that hold a range, which is not empty. *runs: all are runs. */
static int survey(struct bpk_decoding *d, uint64_t start, uint64_t size, bool *runs,
		  struct bpk_err *err)
{
	uint32_t last = (uint32_t)((start + size - 1) / d->header.block_size);

	*runs = true;
	for (uint32_t k = (uint32_t)(start / d->header.block_size); k <= last; k++) {
		struct bpk_block b;

		if (bpk_block_open(d, k, &b, err) != 0 || bpk_block_survey(&b, runs, err) != 0)
			return -1;
	}
	return 0;
}

/* True for blocks of one size that are independent of earlier ones and match the header. */
static bool is_regular(const struct bpk_chunk_header *h)
{
	return h->prediction.size == 0 && !h->variable_blocks && !bpk_block_size_is_doubtful(h);
}

size_t bpk_chunk_likely_piece(const struct bpk_chunk_header *h, size_t about)
{
	bool delta = bpk_pipeline_has(&h->pipeline, BPK_FILTER_DELTA);
	uint64_t least = (uint64_t)h->block_size * (delta ? DELTA_BLOCKS : LEAST_BLOCKS);

	if (h->special != BPK_SPECIAL_NONE || h->memcpyed)
		return about;
	if (!is_regular(h))
		return 0;
	if (least <= about)
		return about - about % h->block_size;
	return (size_t)bpk_min_u64(delta ? least : h->block_size, h->raw_size);
}

int bpk_chunk_piece(struct bpk_chunk_ctx *ctx, struct bpk_view in, uint64_t start, uint64_t size,
		    size_t about, size_t *piece, struct bpk_err *err)
{
	struct bpk_decoding d;
	size_t likely;
	bool runs;

	*piece = 0;
	if (bpk_decoding_open(&d, ctx, in, err) != 0)
		return -1;
	if (size == 0 || start > d.header.raw_size || size > d.header.raw_size - start)
		return 0;
	likely = bpk_chunk_likely_piece(&d.header, about);
	if (likely == 0)
		return 0;
	if (d.header.special != BPK_SPECIAL_NONE || d.header.memcpyed) {
		*piece = likely;
		return 0;
	}
	if (bpk_decoding_find_blocks(&d, err) != 0)
		return -1;
	if (bpk_decoding_may_salvage(&d))
		return 0;
	if (survey(&d, start, size, &runs, err) != 0)
		return -1;
	*piece = runs ? about : likely;
	return 0;
}

/* A block passes through a buffer for each filter, at most three (decode_block.c). */
uint64_t bpk_chunk_decode_memory(const struct bpk_chunk_header *h, uint64_t size)
{
	enum { MOST_BUFFERS = 3 };
	uint64_t buffers;

	if (h->special != BPK_SPECIAL_NONE || h->memcpyed)
		return size;
	buffers = bpk_min_u64(h->pipeline.nsteps, MOST_BUFFERS);
	if (h->raw_size > h->block_size && bpk_pipeline_has(&h->pipeline, BPK_FILTER_DELTA))
		buffers++; /* for block 0 */
	return size + buffers * bpk_min_u64(h->block_size, size) +
	       (h->prediction.size > 0 ? size : 0);
}

bool bpk_chunk_is_pattern(struct bpk_chunk_ctx *ctx, struct bpk_view in)
{
	struct bpk_decoding d;
	bool runs = false;

	if (bpk_decoding_open(&d, ctx, in, NULL) != 0)
		return false;
	if (d.header.special != BPK_SPECIAL_NONE)
		return true;
	return !d.header.memcpyed && d.header.raw_size > 0 && is_regular(&d.header) &&
	       bpk_decoding_find_blocks(&d, NULL) == 0 && !bpk_decoding_may_salvage(&d) &&
	       survey(&d, 0, d.header.raw_size, &runs, NULL) == 0 && runs;
}
