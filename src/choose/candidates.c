/*
 * Candidates: element sizes and filters that promise something for the pieces. Each is tried at a
 * low level. Recipes follow: one element size for all chunks, since an archive records only one,
 * with filters for all of them or for each group of pieces. choose.c calls both steps.
 */
#include "choose/chooser.h"

#include <stdlib.h>

const struct bpk_pipeline bpk_candidates_filters[BPK_CANDIDATES_FILTERS] = {
	{ 1, { { BPK_FILTER_SHUFFLE, 0 } } },
	{ 1, { { BPK_FILTER_BITSHUFFLE, 0 } } },
	{ 2, { { BPK_FILTER_SHUFFLE, 0 }, { BPK_FILTER_BYTEDELTA, 0 } } },
};

/* ---- One candidate ---- */

/* Try filters for elements of typesize bytes, or the filters that the user fixed. */
static void try_filters(struct bpk_chooser *c, unsigned typesize, struct bpk_pipeline pipeline)
{
	const struct bpk_wishes *wishes = c->wishes;
	struct bpk_recipe recipe = c->base;

	recipe.typesize = wishes->typesize != BPK_AUTO ? (unsigned)wishes->typesize : typesize;
	recipe.pipeline = wishes->pipeline != NULL ? *wishes->pipeline : pipeline;
	/* without a filter elements mean nothing */
	if (recipe.pipeline.nsteps == 0 && wishes->typesize == BPK_AUTO)
		recipe.typesize = 1;
	bpk_race_try(&c->race, &c->screened, &recipe, bpk_views_all(&c->sample.pieces));
}

/* ---- Lags ---- */

static int by_count(const void *a, const void *b)
{
	uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;

	return (left > right) - (left < right);
}

/* The first lag whose matches reach share percent of the way from common to best; 0: no lag
 * does. */
static unsigned first_lag(const uint32_t *matches, uint32_t common, uint32_t best, unsigned share)
{
	for (unsigned lag = 2; lag <= BPK_SAMPLE_MAX_LAG; lag++) {
		if (matches[lag] > common &&
		    (uint64_t)(matches[lag] - common) * 100 >= (uint64_t)(best - common) * share)
			return lag;
	}
	return 0;
}

/*
 * Find the distances at which bytes equal those before them: elements repeat their high bytes at
 * every multiple of the typesize, records at every multiple of their size. The strongest lag is
 * tried, and the first lag that is half as strong (a field of a record). Pieces in the mask are
 * compared. Returns true if the lags are clear.
 */
static bool try_lags(struct bpk_chooser *c, uint32_t mask)
{
	static const unsigned shares[] = { 95, 50 };
	uint32_t matches[BPK_SAMPLE_MAX_LAG + 1], sorted[BPK_SAMPLE_MAX_LAG], compared, common,
		best;

	bpk_sample_lags(&c->sample, mask, matches, &compared);
	memcpy(sorted, matches + 1, sizeof sorted);
	qsort(sorted, BPK_SAMPLE_MAX_LAG, sizeof *sorted, by_count);
	common = sorted[BPK_SAMPLE_MAX_LAG / 2];
	best = sorted[BPK_SAMPLE_MAX_LAG - 1];
	for (size_t i = 0; i < sizeof shares / sizeof *shares; i++) {
		unsigned lag = first_lag(matches, common, best, shares[i]);

		if (best - common > compared / LAG_CLEAR && lag > 0)
			try_filters(c, lag, bpk_pipeline_of(BPK_FILTER_SHUFFLE));
	}
	return best - common > compared / LAG_CLEAR;
}

/* ---- Screening ---- */

/* Elements of 4 and 8 bytes are tried if no lag is clear: noise in the low bytes hides them. */
static void try_sizes(struct bpk_chooser *c)
{
	const struct bpk_views *pieces = &c->sample.pieces;
	const struct bpk_wishes *wishes = c->wishes;
	bool clear = wishes->hints[0] != 0;

	for (unsigned g = 0; g < pieces->ngroups && !wishes->only_hints; g++)
		clear |= try_lags(c, bpk_views_group(pieces, g));
	/* single bytes may be small numbers, whose upper bits are all alike */
	for (size_t i = 0; i < BPK_WISHES_HINTS && wishes->hints[i] != 0; i++)
		try_filters(c, wishes->hints[i],
			    bpk_pipeline_of(wishes->hints[i] == 1 ? BPK_FILTER_BITSHUFFLE
								  : BPK_FILTER_SHUFFLE));
	for (unsigned size = 4; size <= 8 && !clear; size += 4)
		try_filters(c, size, bpk_pipeline_of(BPK_FILTER_SHUFFLE));
}

static void add_size(struct bpk_chooser *c, unsigned size)
{
	size_t i = 0;

	while (i < c->nsizes && c->sizes[i] != size)
		i++;
	if (i == c->nsizes && i < BPK_CHOOSER_SIZES && size <= BPK_CHUNK_MAX_TYPESIZE)
		c->sizes[c->nsizes++] = size;
}

/* List the element sizes that are worth other filters: one that may do for all groups, and the best
 * of each group for which it does not. All sizes are if pieces tell too little. */
static void list_sizes(struct bpk_chooser *c)
{
	const struct bpk_ranking *screened = &c->screened;
	const struct bpk_views *pieces = &c->sample.pieces;
	const struct bpk_trial *best[BPK_SAMPLE_GROUPS];
	size_t count = bpk_candidates_need_runs(c) ? screened->count : 1;
	unsigned common = 1;

	for (unsigned g = 0; g < pieces->ngroups; g++) {
		best[g] = bpk_candidates_next(screened, bpk_views_group(pieces, g), 0,
					      c->base.level, 0);
		common = (unsigned)bpk_lcm_u64(common, best[g]->recipe.typesize);
	}
	for (unsigned g = 0; g < pieces->ngroups; g++)
		add_size(c, best[g]->recipe.typesize);
	add_size(c, common);
	for (size_t i = 0; i < count; i++)
		add_size(c, screened->all[i].recipe.typesize);
}

/* Delta is left to users who ask for it: c-blosc2 3.3.3 reads a block of such a chunk without the
 * block that it depends on (_blosc_getitem), without an error. */
void bpk_candidates_find(struct bpk_chooser *c)
{
	/* version 2 chunks have one filter */
	size_t nfilters = c->base.extended ? BPK_CANDIDATES_FILTERS : BPK_CANDIDATES_FILTERS - 1;

	c->screened.views = &c->sample.pieces;
	try_filters(c, 1, bpk_pipeline_of(BPK_FILTER_NONE));
	try_sizes(c);
	if (c->race.failed)
		return;
	list_sizes(c);
	for (size_t i = 0; i < c->nsizes; i++)
		for (size_t k = 0; k < nfilters && c->sizes[i] > 1; k++)
			try_filters(c, c->sizes[i], bpk_candidates_filters[k]);
}

bool bpk_candidates_need_runs(const struct bpk_chooser *c)
{
	uint64_t cost = bpk_trial_cost(&c->screened.all[0], bpk_views_all(&c->sample.pieces));

	return c->repeats || cost <= bpk_views_cost(&c->sample.pieces) / DENSE;
}

/* ---- Recipes ---- */

bool bpk_candidates_retype(const struct bpk_recipe *recipe, unsigned typesize,
			   struct bpk_pipeline *out)
{
	*out = recipe->pipeline;
	if (recipe->typesize == typesize || out->nsteps == 0)
		return true;
	for (unsigned i = 0; i < out->nsteps; i++) {
		struct bpk_filter_step *step = &out->steps[i];

		if (step->filter != BPK_FILTER_SHUFFLE && step->filter != BPK_FILTER_BYTEDELTA)
			return false;
		if (step->meta == 0)
			step->meta = (uint8_t)recipe->typesize;
	}
	return recipe->extended;
}

const struct bpk_trial *bpk_candidates_next(const struct bpk_ranking *ranking, uint32_t mask,
					    unsigned typesize, unsigned level, uint64_t above)
{
	const struct bpk_trial *best = NULL;
	uint64_t least = UINT64_MAX;

	for (size_t i = 0; i < ranking->count; i++) {
		const struct bpk_trial *trial = &ranking->all[i];
		uint64_t cost = bpk_trial_cost(trial, mask);
		struct bpk_pipeline pipeline;

		if (cost <= above || cost >= least || trial->recipe.level != level ||
		    (typesize > 0 && !bpk_candidates_retype(&trial->recipe, typesize, &pipeline)))
			continue;
		least = cost;
		best = trial;
	}
	return best;
}

/* The cost of all views, each packed by the cheapest of the trials but one. */
static uint64_t cost_without(const struct bpk_ranking *ranking,
			     const struct bpk_trial *const trials[], size_t count, size_t but)
{
	uint64_t total = 0;

	for (size_t i = 0; i < ranking->views->count; i++) {
		uint64_t least = UINT64_MAX;

		for (size_t k = 0; k < count; k++)
			if (k != but)
				least = bpk_min_u64(least,
						    bpk_trial_cost(trials[k], UINT32_C(1) << i));
		if (least == UINT64_MAX)
			return UINT64_MAX;
		total += least;
	}
	return total;
}

/* Take out trials while the others are nearly as good without them. Returns the number of those
 * that are left. */
static size_t prune(const struct bpk_ranking *ranking, const struct bpk_trial *trials[],
		    size_t count)
{
	uint64_t all = cost_without(ranking, trials, count, count);

	while (count > 1) {
		uint64_t least = UINT64_MAX;
		size_t useless = 0;

		for (size_t k = 0; k < count; k++) {
			uint64_t cost = cost_without(ranking, trials, count, k);

			if (cost < least) {
				least = cost;
				useless = k;
			}
		}
		if (least / (1000 + GROUP_WORTH) > all / 1000)
			break;
		trials[useless] = trials[--count];
	}
	return count;
}

void bpk_candidates_combine(const struct bpk_ranking *ranking, unsigned typesize, unsigned level,
			    struct bpk_recipes *recipes)
{
	const struct bpk_trial *trials[BPK_SAMPLE_GROUPS] = { NULL };
	size_t count = 0;

	for (unsigned g = 0; g < ranking->views->ngroups; g++) {
		const struct bpk_trial *best = bpk_candidates_next(
			ranking, bpk_views_group(ranking->views, g), typesize, level, 0);
		bool is_new = best != NULL;

		for (size_t k = 0; k < count; k++)
			is_new = is_new && trials[k] != best;
		if (is_new)
			trials[count++] = best;
	}
	count = prune(ranking, trials, count);
	recipes->count = count;
	recipes->cost = cost_without(ranking, trials, count, count);
	for (size_t k = 0; k < count; k++) {
		recipes->all[k] = trials[k]->recipe;
		bpk_candidates_retype(&trials[k]->recipe, typesize, &recipes->all[k].pipeline);
		recipes->all[k].typesize = typesize;
	}
}

static void add_recipes(struct bpk_chooser *c, const struct bpk_recipes *recipes)
{
	if (c->nrecipes < BPK_CHOOSER_RECIPES && recipes->cost != UINT64_MAX)
		bpk_recipes_insert(c->recipes, c->nrecipes++, recipes);
}

/* True if the best candidate is nearly the best for each group. */
static bool is_uniform(const struct bpk_chooser *c)
{
	for (unsigned g = 0; g < c->sample.pieces.ngroups; g++) {
		uint32_t mask = bpk_views_group(&c->sample.pieces, g);
		const struct bpk_trial *best =
			bpk_candidates_next(&c->screened, mask, 0, c->base.level, 0);

		if (bpk_trial_cost(&c->screened.all[0], mask) / (100 + GROUP_UNLIKE) >
		    bpk_trial_cost(best, mask) / 100)
			return false;
	}
	return true;
}

void bpk_candidates_make_recipes(struct bpk_chooser *c)
{
	const struct bpk_ranking *screened = &c->screened;
	struct bpk_recipes recipes = { .count = 1 };

	c->uniform = c->repeats || is_uniform(c);
	for (size_t i = 0; i < screened->count && c->uniform; i++) {
		recipes.all[0] = screened->all[i].recipe;
		recipes.cost = bpk_trial_cost(&screened->all[i], bpk_views_all(screened->views));
		add_recipes(c, &recipes);
	}
	for (size_t i = 0; i < c->nsizes && !c->uniform; i++) {
		/* chunks are rounded to whole elements */
		if (c->sizes[i] == 1 && c->nsizes > 1)
			continue;
		bpk_candidates_combine(screened, c->sizes[i], c->base.level, &recipes);
		add_recipes(c, &recipes);
	}
}
