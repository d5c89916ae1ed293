/*
 * The engine of all choosing. Trials are compared by their packed sizes and by the time that
 * recipes take: choose.c has the table and the measurements.
 */
#include "choose/race.h"

#include <inttypes.h>
#include <limits.h>

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
	if (recipe->typesize > WIDE)
		cost += WIDE_COST;
	if (recipe->prediction.size > 0)
		cost += PREDICTION_COST;
	if (recipe->prediction.scale > 0)
		cost += VALUE_COST;
	return packed_size * (1000 + cost);
}

/* ---- Packing ---- */

int bpk_race_open(struct bpk_race *race, struct bpk_err *err)
{
	race->ctx = bpk_chunk_ctx_new(err);
	return race->ctx == NULL ? -1 : 0;
}

void bpk_race_clear(struct bpk_race *race)
{
	bpk_buf_clear(&race->sample);
	bpk_buf_clear(&race->packed);
	bpk_buf_clear(&race->differences);
}

void bpk_race_close(struct bpk_race *race)
{
	bpk_chunk_ctx_free(race->ctx);
	race->ctx = NULL;
	bpk_race_clear(race);
}

int bpk_race_pack(struct bpk_race *race, const struct bpk_recipe *recipe, struct bpk_view raw,
		  size_t *packed_size, struct bpk_err *err)
{
	size_t bound = bpk_chunk_bound(raw.size);

	if (bpk_buf_reserve(&race->packed, bound, err) != 0)
		return -1;
	return bpk_chunk_encode(race->ctx, recipe, raw, bpk_span(race->packed.data, bound),
				packed_size, err);
}

struct bpk_recipe bpk_race_recipe(const struct bpk_recipe *recipe,
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

bool bpk_candidate_equal(const struct bpk_candidate *a, const struct bpk_candidate *b)
{
	return a->typesize == b->typesize && bpk_pipeline_equal(&a->pipeline, &b->pipeline);
}

/* ---- On the pieces of a sample ---- */

uint32_t bpk_trials_group(const struct bpk_trials *trials, unsigned group)
{
	uint32_t pieces = 0;

	for (size_t i = 0; i < trials->sample->npieces; i++)
		if (trials->sample->groups[i] == group)
			pieces |= UINT32_C(1) << i;
	return pieces;
}

uint32_t bpk_trials_all(const struct bpk_trials *trials)
{
	return (UINT32_C(1) << trials->sample->npieces) - 1;
}

uint64_t bpk_trial_cost(const struct bpk_trials *trials, const struct bpk_trial *trial,
			uint32_t pieces)
{
	uint64_t size = 0;

	if ((pieces & ~trial->tried) != 0)
		return UINT64_MAX;
	for (size_t i = 0; i < trials->sample->npieces; i++)
		if ((pieces >> i & 1) != 0)
			size += trial->sizes[i] * trials->sample->weights[i];
	return bpk_race_cost(&trial->recipe, size);
}

static bool is_same(const struct bpk_recipe *a, const struct bpk_recipe *b)
{
	return a->level == b->level && a->typesize == b->typesize &&
	       a->block_size == b->block_size && bpk_pipeline_equal(&a->pipeline, &b->pipeline);
}

/* The trial of that recipe, or a new one; NULL if there is no room. */
static struct bpk_trial *find(struct bpk_trials *trials, const struct bpk_recipe *recipe)
{
	for (size_t i = 0; i < trials->count; i++)
		if (is_same(&trials->all[i].recipe, recipe))
			return &trials->all[i];
	if (trials->count == BPK_TRIALS)
		return NULL;
	trials->all[trials->count] = (struct bpk_trial){ .recipe = *recipe };
	return &trials->all[trials->count++];
}

/* The packed size; 0 when packing failed. */
static size_t pack(struct bpk_trials *trials, const struct bpk_recipe *recipe, struct bpk_view raw)
{
	size_t packed_size = 0;

	trials->failed = trials->failed ||
			 bpk_race_pack(&trials->race, recipe, raw, &packed_size, trials->err) != 0;
	return packed_size;
}

static bool is_hopeless(const struct bpk_trials *trials, const struct bpk_trial *trial,
			const struct bpk_trial *rival, uint32_t pieces)
{
	uint32_t both = trial->tried & pieces;

	return rival != NULL && both != 0 && both != pieces &&
	       bpk_trial_cost(trials, trial, both) / (100 + TRIAL_HOPELESS) >
		       bpk_trial_cost(trials, rival, both) / 100;
}

static void say(struct bpk_trials *trials, const struct bpk_trial *trial, uint32_t pieces)
{
	char filters[BPK_PIPELINE_TEXT];
	unsigned count = 0, wanted = 0;
	uint64_t size = 0;

	for (size_t i = 0; i < trials->sample->npieces; i++) {
		wanted += pieces >> i & 1;
		if ((pieces & trial->tried) >> i & 1) {
			size += trial->sizes[i];
			count++;
		}
	}
	bpk_pipeline_print(&trial->recipe.pipeline, filters);
	if (bpk_buf_printf(trials->why, trials->err,
			   "  level %u, typesize %u, %s: %" PRIu64 " bytes", trial->recipe.level,
			   trial->recipe.typesize, filters, size) != 0 ||
	    (wanted < trials->sample->npieces || count < wanted
		     ? bpk_buf_printf(trials->why, trials->err, ", %u %s%s\n", count,
				      count == 1 ? "piece" : "pieces",
				      count < wanted ? ", given up" : "")
		     : bpk_buf_printf(trials->why, trials->err, "\n")) != 0)
		trials->failed = true;
}

struct bpk_trial *bpk_trials_try(struct bpk_trials *trials, const struct bpk_recipe *recipe,
				 uint32_t pieces, const struct bpk_trial *rival)
{
	struct bpk_trial *trial = find(trials, recipe);

	if (trial == NULL || trials->failed)
		return NULL;
	if ((pieces & ~trial->tried) == 0)
		return trial;
	for (size_t i = 0; i < trials->sample->npieces; i++) {
		if (((pieces & ~trial->tried) >> i & 1) == 0 ||
		    is_hopeless(trials, trial, rival, pieces))
			continue;
		trial->sizes[i] = pack(trials, recipe, trials->sample->pieces[i]);
		trial->tried |= UINT32_C(1) << i;
	}
	say(trials, trial, pieces);
	return trials->failed ? NULL : trial;
}

void bpk_ranking_add(const struct bpk_trials *trials, struct bpk_ranking *ranking,
		     struct bpk_trial *trial)
{
	uint64_t cost = bpk_trial_cost(trials, trial, ranking->pieces);
	size_t at = ranking->count;

	for (size_t i = 0; i < ranking->count; i++)
		if (ranking->all[i] == trial)
			return;
	if (cost == UINT64_MAX || ranking->count == BPK_RANKING)
		return;
	for (; at > 0 && bpk_trial_cost(trials, ranking->all[at - 1], ranking->pieces) > cost; at--)
		ranking->all[at] = ranking->all[at - 1];
	ranking->all[at] = trial;
	ranking->count++;
}

/* ---- On a run ---- */

static void say_run(struct bpk_trials *trials, const struct bpk_recipe *recipe, size_t count,
		    size_t run_size, size_t chunk_size, uint64_t cost)
{
	char filters[BPK_PIPELINE_TEXT];

	if (bpk_buf_printf(trials->why, trials->err,
			   "  level %u, typesize %u, %s%s, %zu bytes in chunks of %zu: %" PRIu64
			   " bytes\n",
			   recipe->level, recipe->typesize,
			   bpk_pipeline_print(&recipe->pipeline, filters),
			   count > 1 ? " and others" : "", run_size, chunk_size,
			   cost / bpk_race_cost(recipe, 1)) != 0)
		trials->failed = true;
}

uint64_t bpk_trials_run(struct bpk_trials *trials, const struct bpk_recipe *recipes, size_t count,
			struct bpk_view run, size_t chunk_size)
{
	uint64_t total = 0;

	for (size_t at = 0; at < run.size; at += chunk_size) {
		struct bpk_view chunk =
			bpk_view(run.data + at, bpk_min_size(chunk_size, run.size - at));
		uint64_t best = UINT64_MAX;

		for (size_t i = 0; i < count; i++)
			best = bpk_min_u64(
				best, bpk_race_cost(&recipes[i], pack(trials, &recipes[i], chunk)));
		total += best;
	}
	if (!trials->failed)
		say_run(trials, recipes, count, run.size, chunk_size, total);
	return trials->failed ? UINT64_MAX : total;
}

/* ---- On one chunk ---- */

/*
 * Each candidate packs the same two pieces of the chunk, after its prediction.
 *
 *     one block     |      [piece]               [piece]      |   packed as one block
 *     several       |  [piece]  |           |  [piece]  |         as two, so that a delta finds in
 *                                                                 its reference in the first
 */

struct chunk {
	const struct bpk_recipe *recipe;
	const struct bpk_candidate *candidates;
	struct bpk_view raw;
	uint64_t offset;
	bool predicts;      /* some candidates do, and depend on all bytes before */
	size_t unit, phase; /* pieces are whole units, from the phase on */
};

/* The recipe of the chunk with a candidate, or without one. */
static struct bpk_recipe recipe_with(const struct chunk *c, unsigned entrant)
{
	struct bpk_recipe own = *c->recipe;

	return entrant == 0 ? own
			    : bpk_race_recipe(&own, &c->candidates[entrant - 1], c->raw, c->offset);
}

static int take_piece(struct bpk_race *race, const struct chunk *c,
		      const struct bpk_prediction *prediction, size_t start, struct bpk_span out,
		      struct bpk_err *err)
{
	if (prediction->size > 0)
		return bpk_prediction_piece(prediction, c->raw, start, out, &race->differences,
					    err);
	memcpy(out.data, c->raw.data + start, out.size);
	return 0;
}

/* Take two pieces of at most piece bytes, or the whole of a chunk that has less than two units. */
static int take_pieces(struct bpk_race *race, const struct chunk *c,
		       const struct bpk_prediction *prediction, size_t piece, uint32_t *block_size,
		       struct bpk_err *err)
{
	size_t room = c->raw.size - c->phase, size = bpk_min_size(piece, room / 2);
	size_t block = c->recipe->block_size, first, second;
	bool several = !c->predicts && block >= 2 * size && block < c->raw.size;

	size = size / c->unit * c->unit;
	first = ((several ? block / 2 : room / 4) - size / 2) / c->unit * c->unit;
	second = several ? first + c->raw.size / block / 2 * block
			 : (room / 4 * 3 - size / 2) / c->unit * c->unit;
	*block_size = (uint32_t)(several ? size : 2 * size);
	race->sample.size = 0;
	if (size == 0)
		return bpk_buf_append(&race->sample, c->raw, err);
	if (bpk_buf_resize(&race->sample, 2 * size, err) != 0 ||
	    take_piece(race, c, prediction, c->phase + first, bpk_span(race->sample.data, size),
		       err) != 0)
		return -1;
	return take_piece(race, c, prediction, c->phase + second,
			  bpk_span(race->sample.data + size, size), err);
}

static void sort(struct bpk_chunk_ranking *r)
{
	for (size_t i = 1; i < r->count; i++) {
		unsigned entrant = r->all[i];
		uint64_t cost = r->costs[i];
		size_t at = i;

		for (; at > 0 && r->costs[at - 1] > cost; at--) {
			r->all[at] = r->all[at - 1];
			r->costs[at] = r->costs[at - 1];
		}
		r->all[at] = entrant;
		r->costs[at] = cost;
	}
}

/* Pack pieces of that size with all candidates that are still in the ranking. */
static int run_heat(struct bpk_race *race, const struct chunk *c, size_t piece,
		    struct bpk_chunk_ranking *r, struct bpk_err *err)
{
	struct bpk_prediction taken = { .size = UINT_MAX };
	uint32_t block_size = 0;
	size_t packed_size;

	for (size_t i = 0; i < r->count; i++) {
		const struct bpk_recipe recipe = recipe_with(c, r->all[i]);
		struct bpk_recipe trial = recipe;

		if (memcmp(&taken, &recipe.prediction, sizeof taken) != 0 &&
		    take_pieces(race, c, &recipe.prediction, piece, &block_size, err) != 0)
			return -1;
		taken = recipe.prediction;
		trial.prediction = (struct bpk_prediction){ 0 };
		trial.block_size = block_size;
		if (bpk_race_pack(race, &trial, bpk_buf_view(&race->sample), &packed_size, err) !=
		    0)
			return -1;
		r->costs[i] = bpk_race_cost(&recipe, packed_size);
	}
	sort(r);
	while (r->costs[r->count - 1] / (100 + CHUNK_NEAR) > r->costs[0] / 100)
		r->count--;
	return 0;
}

int bpk_race_chunk(struct bpk_race *race, const struct bpk_recipe *recipe,
		   const struct bpk_candidate *candidates, size_t count, struct bpk_view raw,
		   uint64_t offset, struct bpk_chunk_ranking *ranking, struct bpk_err *err)
{
	struct chunk c = { .recipe = recipe,
			   .candidates = candidates,
			   .raw = raw,
			   .offset = offset,
			   .predicts = count > 0 && candidates[0].prediction.size > 0,
			   .unit = 8 * (size_t)recipe->typesize };

	*ranking = (struct bpk_chunk_ranking){ .count = 1 };
	if (count == 0 || (c.predicts && raw.size < CHUNK_PIECE))
		return 0;
	for (; ranking->count <= count; ranking->count++)
		ranking->all[ranking->count] = (unsigned)ranking->count;
	if (c.predicts) {
		c.unit = 8 * (size_t)candidates[0].prediction.size;
		c.phase = recipe_with(&c, 1).prediction.phase;
	}
	if (run_heat(race, &c, CHUNK_PIECE, ranking, err) != 0)
		return -1;
	return c.predicts || ranking->count == 1
		       ? 0
		       : run_heat(race, &c, CHUNK_LONG_PIECE, ranking, err);
}

int bpk_choose_for_chunk(struct bpk_race *race, const struct bpk_candidate *candidates,
			 size_t count, struct bpk_view raw, uint64_t offset,
			 struct bpk_recipe *recipe, struct bpk_err *err)
{
	struct bpk_chunk_ranking ranking;

	if (count == 0)
		return 0;
	if (bpk_race_chunk(race, recipe, candidates, count, raw, offset, &ranking, err) != 0)
		return -1;
	if (ranking.all[0] > 0)
		*recipe = bpk_race_recipe(recipe, &candidates[ranking.all[0] - 1], raw, offset);
	return 0;
}
