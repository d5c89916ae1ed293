#include "choose/trial.h"

enum { HOPELESS = 20 }; /* percent behind on what was tried so far */

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

int bpk_race_weigh(struct bpk_race *race, const struct bpk_recipe *recipe, struct bpk_view raw,
		   size_t *packed_size, struct bpk_err *err)
{
	size_t bound = bpk_chunk_bound(raw.size);

	if (bpk_buf_reserve(&race->packed, bound, err) != 0)
		return -1;
	return bpk_chunk_encode(race->ctx, recipe, raw, bpk_span(race->packed.data, bound),
				packed_size, err);
}

/* ---- What was tried ---- */

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
	uint64_t cost = 0;

	if ((pieces & ~trial->tried) != 0)
		return UINT64_MAX;
	for (size_t i = 0; i < trials->sample->npieces; i++)
		if ((pieces >> i & 1) != 0)
			cost += trial->sizes[i] * trials->sample->weights[i];
	return cost * (1000 + bpk_recipe_cost(&trial->recipe));
}

/* ---- Trying ---- */

static bool is_same(const struct bpk_recipe *a, const struct bpk_recipe *b)
{
	return a->level == b->level && a->typesize == b->typesize &&
	       a->block_size == b->block_size && bpk_pipeline_equal(&a->pipeline, &b->pipeline);
}

/* The one of that recipe, or a new one; NULL when there is no room. */
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
			 bpk_race_weigh(&trials->race, recipe, raw, &packed_size, trials->err) != 0;
	return packed_size;
}

static bool is_hopeless(const struct bpk_trials *trials, const struct bpk_trial *trial,
			const struct bpk_trial *rival, uint32_t pieces)
{
	uint32_t both = trial->tried & pieces;

	return rival != NULL && both != 0 && both != pieces &&
	       bpk_trial_cost(trials, trial, both) / (100 + HOPELESS) >
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
	if (bpk_buf_printf(trials->why, trials->err, "  level %u, typesize %u, %s: %llu bytes",
			   trial->recipe.level, trial->recipe.typesize, filters,
			   (unsigned long long)size) != 0 ||
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

static void say_run(struct bpk_trials *trials, const struct bpk_recipe *recipe, size_t count,
		    size_t run_size, size_t chunk_size, uint64_t cost)
{
	char filters[BPK_PIPELINE_TEXT];

	if (bpk_buf_printf(
		    trials->why, trials->err,
		    "  level %u, typesize %u, %s%s, %zu bytes in chunks of %zu: %llu bytes\n",
		    recipe->level, recipe->typesize, bpk_pipeline_print(&recipe->pipeline, filters),
		    count > 1 ? " and others" : "", run_size, chunk_size,
		    (unsigned long long)(cost / (1000 + bpk_recipe_cost(recipe)))) != 0)
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
			best = bpk_min_u64(best, pack(trials, &recipes[i], chunk) *
							 (1000 + bpk_recipe_cost(&recipes[i])));
		total += best;
	}
	if (!trials->failed)
		say_run(trials, recipes, count, run.size, chunk_size, total);
	return trials->failed ? UINT64_MAX : total;
}
