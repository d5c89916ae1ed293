/*
 * The race: each trial packs the views of a ranking by a recipe, and takes its place by its cost.
 * The steps of choosing call this, and the threads that pack chunks.
 */
#include "choose/race.h"

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>

#include "choose/tuning.h"

/* ---- The cost ---- */

/* In thousandths. */
static const unsigned filter_cost[] = {
	[BPK_FILTER_NONE] = 0,        [BPK_FILTER_SHUFFLE] = 2,    [BPK_FILTER_BITSHUFFLE] = 8,
	[BPK_FILTER_DELTA] = 3,       [BPK_FILTER_TRUNC_PREC] = 0, [BPK_FILTER_INT_TRUNC] = 0,
	[BPK_FILTER_BYTEDELTA_1] = 3, [BPK_FILTER_BYTEDELTA] = 3,
};
static const unsigned level_cost[LEVELS] = { 0, 0, 10, 60 };

uint64_t bpk_race_cost(const struct bpk_recipe *recipe, uint64_t packed_size)
{
	unsigned cost = level_cost[bpk_min_u64(recipe->level, LEVELS - 1)];

	for (unsigned i = 0; i < recipe->pipeline.nsteps; i++)
		cost += filter_cost[recipe->pipeline.steps[i].filter];
	if (recipe->prediction.scale > 0)
		cost += VALUE_COST;
	return packed_size * (1000 + cost);
}

/* ---- Packing ---- */

int bpk_race_open(struct bpk_race *race, struct bpk_buf *why, struct bpk_err *err)
{
	race->why = why;
	race->err = err;
	race->ctx = bpk_chunk_ctx_new(err);
	return race->ctx == NULL ? -1 : 0;
}

void bpk_race_clear(struct bpk_race *race)
{
	bpk_buf_clear(&race->sample);
	bpk_buf_clear(&race->packed);
	bpk_buf_clear(&race->differences);
	free(race->ranking);
	race->ranking = NULL;
}

void bpk_race_close(struct bpk_race *race)
{
	bpk_chunk_ctx_free(race->ctx);
	race->ctx = NULL;
	bpk_race_clear(race);
}

/* The packed size of raw as one chunk; race->failed says if packing failed. */
static size_t pack(struct bpk_race *race, const struct bpk_recipe *recipe, struct bpk_view raw)
{
	size_t bound = bpk_chunk_bound(raw.size), size = 0;

	race->failed = race->failed || bpk_buf_reserve(&race->packed, bound, race->err) != 0 ||
		       bpk_chunk_encode(race->ctx, recipe, raw, bpk_span(race->packed.data, bound),
					&size, race->err) != 0;
	return size;
}

/* ---- Trials ---- */

uint32_t bpk_views_group(const struct bpk_views *views, unsigned group)
{
	return views->ngroups == 1 ? bpk_views_all(views) : UINT32_C(1) << group;
}

uint64_t bpk_views_cost(const struct bpk_views *views)
{
	uint64_t cost = 0;

	for (size_t i = 0; i < views->count; i++)
		cost += (uint64_t)1000 * views->weights[i] * views->all[i].size;
	return cost;
}

bool bpk_recipe_equal(const struct bpk_recipe *a, const struct bpk_recipe *b)
{
	return a->level == b->level && a->typesize == b->typesize &&
	       a->block_size == b->block_size && bpk_pipeline_equal(&a->pipeline, &b->pipeline) &&
	       bpk_prediction_equal(&a->prediction, &b->prediction);
}

uint64_t bpk_trial_cost(const struct bpk_trial *trial, uint32_t mask)
{
	uint64_t cost = 0;

	if ((mask & ~trial->tried) != 0)
		return UINT64_MAX;
	for (size_t i = 0; i < BPK_VIEWS; i++)
		if ((mask >> i & 1) != 0)
			cost += trial->costs[i];
	return cost;
}

/* Move the trial of recipe, or a new one, to the end. NULL if there is no room. */
static struct bpk_trial *find_or_add(struct bpk_ranking *ranking, const struct bpk_recipe *recipe)
{
	struct bpk_trial *all = ranking->all, trial = { .recipe = *recipe };
	size_t i = 0;

	while (i < ranking->count && !bpk_recipe_equal(&all[i].recipe, recipe))
		i++;
	if (i == BPK_RANKING)
		return NULL;
	if (i == ranking->count)
		ranking->count++;
	else
		trial = all[i];
	for (; i + 1 < ranking->count; i++)
		all[i] = all[i + 1];
	all[i] = trial;
	return &all[i];
}

/* Put the last trial in its place. */
static const struct bpk_trial *place(struct bpk_ranking *ranking)
{
	uint32_t mask = bpk_views_all(ranking->views);
	size_t at = ranking->count - 1;
	struct bpk_trial trial = ranking->all[at];
	uint64_t cost = bpk_trial_cost(&trial, mask);

	for (; at > 0 && bpk_trial_cost(&ranking->all[at - 1], mask) > cost; at--)
		ranking->all[at] = ranking->all[at - 1];
	ranking->all[at] = trial;
	return &ranking->all[at];
}

static void say(struct bpk_race *race, const struct bpk_views *views, const struct bpk_trial *trial)
{
	char filters[BPK_PIPELINE_TEXT];
	uint64_t packed = 0, raw = 0;

	for (size_t i = 0; i < views->count; i++) {
		if ((trial->tried >> i & 1) == 0)
			continue;
		raw += views->all[i].size;
		packed += trial->costs[i] / views->weights[i] / bpk_race_cost(&trial->recipe, 1);
	}
	if (race->why != NULL && !race->failed &&
	    bpk_buf_printf(race->why, race->err,
			   "  level %u, typesize %u, %s: %" PRIu64 " bytes of %" PRIu64 "\n",
			   trial->recipe.level, trial->recipe.typesize,
			   bpk_pipeline_print(&trial->recipe.pipeline, filters), packed, raw) != 0)
		race->failed = true;
}

const struct bpk_trial *bpk_race_try(struct bpk_race *race, struct bpk_ranking *ranking,
				     const struct bpk_recipe *recipe, uint32_t mask)
{
	const struct bpk_views *views = ranking->views;
	struct bpk_trial *trial = find_or_add(ranking, recipe);
	struct bpk_recipe plain = *recipe; /* the views are differences already */

	if (trial == NULL)
		return NULL;
	plain.prediction = (struct bpk_prediction){ 0 };
	mask &= ~trial->tried;
	for (size_t i = 0; i < views->count; i++)
		if ((mask >> i & 1) != 0)
			trial->costs[i] = views->weights[i] *
					  bpk_race_cost(recipe, pack(race, &plain, views->all[i]));
	trial->tried |= mask;
	if (mask != 0)
		say(race, views, trial);
	return race->failed ? NULL : place(ranking);
}

uint64_t bpk_race_try_all(struct bpk_race *race, struct bpk_ranking *ranking,
			  const struct bpk_recipes *recipes)
{
	uint64_t least[BPK_VIEWS], total = 0;
	size_t count = ranking->views->count;

	memset(least, 0xff, sizeof least);
	for (size_t k = 0; k < recipes->count; k++) {
		const struct bpk_trial *trial = bpk_race_try(race, ranking, &recipes->all[k],
							     bpk_views_all(ranking->views));

		if (trial == NULL)
			return UINT64_MAX;
		for (size_t i = 0; i < count; i++)
			least[i] = bpk_min_u64(least[i], trial->costs[i]);
	}
	for (size_t i = 0; i < count; i++)
		total += least[i];
	return total;
}

void bpk_recipes_insert(struct bpk_recipes *all, size_t count, const struct bpk_recipes *recipes)
{
	for (; count > 0 && all[count - 1].cost > recipes->cost; count--)
		all[count] = all[count - 1];
	all[count] = *recipes;
}

/* ---- On one chunk ---- */

/* Each candidate packs the same two pieces of the chunk as one block, after its prediction. */
struct chunk {
	const struct bpk_recipe *recipe;
	struct bpk_view raw;
	bool predicts;      /* some candidates do, and depend on all bytes before */
	size_t unit, phase; /* pieces are whole units, from the phase on */
};

/* The recipe for raw, a chunk at offset of the input, with a candidate's filters and prediction. */
static struct bpk_recipe recipe_for(const struct bpk_recipe *recipe,
				    const struct bpk_candidate *candidate, struct bpk_view raw,
				    uint64_t offset)
{
	unsigned size = candidate->prediction.size;
	struct bpk_recipe own = *recipe;

	own.typesize = candidate->typesize;
	own.pipeline = candidate->pipeline;
	own.prediction = candidate->prediction;
	if (size > 0)
		own.prediction.phase =
			(unsigned)((own.prediction.phase + size - offset % size) % size);
	if (own.prediction.scale > 0)
		own.prediction.scale = bpk_prediction_scale(&own.prediction, raw);
	return own;
}

static int copy_piece(struct bpk_race *race, const struct chunk *c,
		      const struct bpk_prediction *prediction, size_t start, struct bpk_span out,
		      struct bpk_err *err)
{
	if (prediction->size > 0)
		return bpk_prediction_piece(prediction, c->raw, start, out, &race->differences,
					    err);
	memcpy(out.data, c->raw.data + start, out.size);
	return 0;
}

/* Copy two pieces of at most piece bytes, or the whole of a chunk that has less than two units. */
static int copy_pieces(struct bpk_race *race, const struct chunk *c,
		       const struct bpk_prediction *prediction, size_t piece, struct bpk_err *err)
{
	size_t room = c->raw.size - c->phase;
	size_t size = bpk_min_size(piece, room / 2) / c->unit * c->unit;

	race->sample.size = 0;
	if (size == 0)
		return bpk_buf_append(&race->sample, c->raw, err);
	if (bpk_buf_resize(&race->sample, 2 * size, err) != 0)
		return -1;
	for (size_t i = 0; i < 2; i++) {
		size_t start = (room / 4 * (2 * i + 1) - size / 2) / c->unit * c->unit;

		if (copy_piece(race, c, prediction, c->phase + start,
			       bpk_span(race->sample.data + i * size, size), err) != 0)
			return -1;
	}
	return 0;
}

/* Pack pieces of that size by all recipes. Keeps those that are nearly the best. */
static int run_heat(struct bpk_race *race, const struct chunk *c, size_t piece,
		    struct bpk_recipe *recipes, size_t *count)
{
	struct bpk_ranking *ranking = race->ranking;
	struct bpk_prediction taken = { .size = UINT_MAX };
	struct bpk_views views = { .count = 1, .weights = { 1 } };

	ranking->views = &views;
	ranking->count = 0;
	for (size_t i = 0; i < *count; i++) {
		const struct bpk_prediction *prediction = &recipes[i].prediction;

		if (!bpk_prediction_equal(&taken, prediction) &&
		    copy_pieces(race, c, prediction, piece, race->err) != 0)
			return -1;
		taken = *prediction;
		recipes[i].block_size = (uint32_t)race->sample.size;
		views.all[0] = bpk_buf_view(&race->sample);
		if (bpk_race_try(race, ranking, &recipes[i], 1) == NULL)
			return -1;
	}
	for (*count = 0; *count < ranking->count; (*count)++) {
		if (ranking->all[*count].costs[0] / (100 + CHUNK_NEAR) >
		    ranking->all[0].costs[0] / 100)
			break;
		recipes[*count] = ranking->all[*count].recipe;
	}
	ranking->count = *count;
	ranking->views = NULL;
	return 0;
}

int bpk_race_chunk(struct bpk_race *race, const struct bpk_recipe *recipe,
		   const struct bpk_candidate *candidates, size_t count, struct bpk_view raw,
		   uint64_t offset, struct bpk_err *err)
{
	struct bpk_recipe recipes[1 + BPK_PREDICTIONS] = { *recipe };
	struct chunk c = { .recipe = recipe,
			   .raw = raw,
			   .predicts = count > 0 && candidates[0].prediction.size > 0,
			   .unit = 8 * (size_t)recipe->typesize };

	race->err = err;
	if (race->ranking == NULL) {
		race->ranking = bpk_calloc(1, sizeof *race->ranking, err);
		if (race->ranking == NULL)
			return -1;
	}
	race->ranking->count = 0;
	if (count == 0 || (c.predicts && raw.size < CHUNK_PIECE))
		return 0;
	for (size_t i = 0; i < count; i++)
		recipes[i + 1] = recipe_for(recipe, &candidates[i], raw, offset);
	if (c.predicts) {
		c.unit = 8 * (size_t)candidates[0].prediction.size;
		c.phase = recipes[1].prediction.phase;
	}
	count++;
	if (run_heat(race, &c, CHUNK_PIECE, recipes, &count) != 0)
		return -1;
	return c.predicts || count == 1 ? 0 : run_heat(race, &c, CHUNK_LONG_PIECE, recipes, &count);
}

int bpk_choose_for_chunk(struct bpk_race *race, const struct bpk_candidate *candidates,
			 size_t count, struct bpk_view raw, uint64_t offset,
			 struct bpk_recipe *recipe, struct bpk_err *err)
{
	uint32_t block_size = recipe->block_size;

	if (count == 0)
		return 0;
	if (bpk_race_chunk(race, recipe, candidates, count, raw, offset, err) != 0)
		return -1;
	if (race->ranking->count > 0)
		*recipe = race->ranking->all[0].recipe;
	recipe->block_size = block_size;
	return 0;
}
