/*
 * A way for one chunk, where an input has regions that are unlike each other: each of the few in
 * question packs the same sample of the chunk, two pieces of it.
 *
 *     one block     |      [piece]               [piece]      |   packed as one block
 *     several       |  [piece]  |           |  [piece]  |         as two, so that a delta finds in
 *                                                                 the first what it leans on
 */
#include "choose/trial.h"

enum {
	PIECE = 16 << 10,
	LONG_PIECE = 64 << 10,
	NEAR = 15, /* percent: then the short pieces do not tell */
};

/* Two pieces of raw, whole elements in both, and the block size to pack them with. */
static int take_sample(struct bpk_race *race, struct bpk_view raw, size_t piece,
		       const struct bpk_recipe *recipe, uint32_t *block_size, struct bpk_err *err)
{
	size_t unit = 8 * (size_t)recipe->typesize, size = piece - piece % unit;
	size_t block =
		recipe->block_size == 0 ? raw.size : bpk_min_size(raw.size, recipe->block_size);
	size_t first, second, blocks;

	race->sample.size = 0;
	if (raw.size <= 4 * piece) {
		*block_size = recipe->block_size;
		return bpk_buf_append(&race->sample, raw, err);
	}
	if (block >= 2 * size && block < raw.size) {
		blocks = raw.size / block;
		first = (block - size) / 2 / unit * unit;
		second = first + blocks / 2 * block;
		*block_size = (uint32_t)size;
	} else {
		first = (raw.size / 4 - size / 2) / unit * unit;
		second = (raw.size / 4 * 3 - size / 2) / unit * unit;
		*block_size = (uint32_t)(2 * size);
	}
	if (bpk_buf_append(&race->sample, bpk_view(raw.data + first, size), err) != 0)
		return -1;
	return bpk_buf_append(&race->sample, bpk_view(raw.data + second, size), err);
}

/* Ways in question, the cheapest first once they were tried. */
struct candidates {
	size_t count;
	struct bpk_way ways[1 + BPK_CHOICE_OTHERS];
	uint64_t costs[1 + BPK_CHOICE_OTHERS];
};

static void sort_candidates(struct candidates *c)
{
	for (size_t i = 1; i < c->count; i++) {
		struct bpk_way way = c->ways[i];
		uint64_t cost = c->costs[i];
		size_t at = i;

		for (; at > 0 && c->costs[at - 1] > cost; at--) {
			c->ways[at] = c->ways[at - 1];
			c->costs[at] = c->costs[at - 1];
		}
		c->ways[at] = way;
		c->costs[at] = cost;
	}
}

/* Pack the sample with each of the candidates; those that are not near the best fall out. */
static int try_candidates(struct bpk_race *race, struct bpk_recipe trial, struct candidates *c,
			  struct bpk_err *err)
{
	size_t packed_size;

	for (size_t i = 0; i < c->count; i++) {
		trial.typesize = c->ways[i].typesize;
		trial.pipeline = c->ways[i].pipeline;
		if (bpk_race_weigh(race, &trial, bpk_buf_view(&race->sample), &packed_size, err) !=
		    0)
			return -1;
		c->costs[i] = packed_size * (1000 + bpk_pipeline_cost(&trial.pipeline));
	}
	sort_candidates(c);
	while (c->costs[c->count - 1] / (100 + NEAR) > c->costs[0] / 100)
		c->count--;
	return 0;
}

int bpk_choose_for_chunk(struct bpk_race *race, const struct bpk_way *others, size_t nothers,
			 struct bpk_view raw, struct bpk_recipe *recipe, struct bpk_err *err)
{
	struct candidates candidates = { .count = 1 + nothers };
	struct bpk_recipe trial = *recipe;

	if (nothers == 0)
		return 0;
	candidates.ways[0] = (struct bpk_way){ recipe->typesize, recipe->pipeline };
	for (size_t i = 0; i < nothers; i++)
		candidates.ways[i + 1] = others[i];
	for (size_t piece = PIECE; piece <= LONG_PIECE && candidates.count > 1;
	     piece *= LONG_PIECE / PIECE)
		if (take_sample(race, raw, piece, recipe, &trial.block_size, err) != 0 ||
		    try_candidates(race, trial, &candidates, err) != 0)
			return -1;
	recipe->typesize = candidates.ways[0].typesize;
	recipe->pipeline = candidates.ways[0].pipeline;
	return 0;
}
