/*
 * Candidates: element sizes and filters that promise something for pieces that look alike. Each is
 * tried at a low level. Contenders follow: one element size for all chunks, since an archive
 * records only one, with the best filters for each group of pieces. choose.c calls both steps.
 */
#include "choose/chooser.h"

#include <stdlib.h>

/* ---- One candidate ---- */

void bpk_candidates_try(struct bpk_chooser *c, struct bpk_ranking *ranking, unsigned typesize,
			const struct bpk_pipeline *pipeline)
{
	const struct bpk_wishes *wishes = c->wishes;
	/* filters that are bad for one group may be good for another */
	bool may_give_up = ranking->count > 0 && (ranking != &c->whole || c->sample.ngroups == 1);
	struct bpk_recipe recipe = c->base;
	struct bpk_trial *trial;

	recipe.typesize = wishes->typesize != BPK_AUTO ? (unsigned)wishes->typesize : typesize;
	recipe.pipeline = wishes->pipeline != NULL ? *wishes->pipeline : *pipeline;
	/* without a filter elements mean nothing */
	if (recipe.pipeline.nsteps == 0 && wishes->typesize == BPK_AUTO)
		recipe.typesize = 1;
	trial = bpk_trials_try(&c->trials, &recipe, ranking->pieces,
			       may_give_up ? ranking->all[0] : NULL);
	if (trial != NULL)
		bpk_ranking_add(&c->trials, ranking, trial);
}

static void screen(struct bpk_chooser *c, struct bpk_ranking *ranking, unsigned typesize,
		   enum bpk_filter filter)
{
	const struct bpk_pipeline pipeline = bpk_pipeline_of(filter);

	bpk_candidates_try(c, ranking, typesize, &pipeline);
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
 * tried, and the first lag that is half as strong (a field of a record). pieces are the pieces that
 * are compared. Returns true if the lags are clear.
 */
static bool screen_lags(struct bpk_chooser *c, struct bpk_ranking *ranking, uint32_t pieces)
{
	static const unsigned shares[] = { 100, 50 };
	size_t nshares = pieces == ranking->pieces ? sizeof shares / sizeof *shares : 1;
	uint32_t matches[BPK_SAMPLE_MAX_LAG + 1], sorted[BPK_SAMPLE_MAX_LAG], compared, common,
		best;

	bpk_sample_lags(&c->sample, pieces, matches, &compared);
	memcpy(sorted, matches + 1, sizeof sorted);
	qsort(sorted, BPK_SAMPLE_MAX_LAG, sizeof *sorted, by_count);
	common = sorted[BPK_SAMPLE_MAX_LAG / 2];
	best = sorted[BPK_SAMPLE_MAX_LAG - 1];
	for (size_t i = 0; i < nshares; i++) {
		unsigned lag = first_lag(matches, common, best, shares[i]);

		if (best - common > compared / LAG_FAINT && lag > 0)
			screen(c, ranking, lag, BPK_FILTER_SHUFFLE);
	}
	return best - common > compared / LAG_CLEAR;
}

/* ---- Screening ---- */

const struct bpk_pipeline bpk_pipeline_smooth = {
	2, { { BPK_FILTER_SHUFFLE, 0 }, { BPK_FILTER_BYTEDELTA, 0 } }
};

/* Filters of Blosc2's chunks, for the two element sizes that are best so far: differences of
 * planes. Delta is left to users who ask for it: c-blosc2 3.3.3 reads a block of such a chunk
 * without the block that it depends on (_blosc_getitem), without an error. */
static void screen_extended(struct bpk_chooser *c, struct bpk_ranking *ranking)
{
	const struct bpk_recipe best = ranking->all[0]->recipe;
	unsigned second = 0;

	if (best.pipeline.nsteps == 0)
		return;
	for (size_t i = 1; i < ranking->count && second == 0; i++) {
		unsigned typesize = ranking->all[i]->recipe.typesize;

		if (typesize > 1 && typesize != best.typesize)
			second = typesize;
	}
	bpk_candidates_try(c, ranking, best.typesize, &bpk_pipeline_smooth);
	if (second > 0)
		bpk_candidates_try(c, ranking, second, &bpk_pipeline_smooth);
}

/* Single bytes may be small numbers, whose upper bits are all alike. */
static void screen_hints(struct bpk_chooser *c, struct bpk_ranking *ranking)
{
	for (size_t i = 0; i < BPK_WISHES_HINTS && c->wishes->hints[i] != 0; i++)
		screen(c, ranking, c->wishes->hints[i],
		       c->wishes->hints[i] == 1 ? BPK_FILTER_BITSHUFFLE : BPK_FILTER_SHUFFLE);
}

/* Try the hinted sizes and, unless the hints exclude others, those that lags show. Elements of 4
 * and 8 bytes are tried if no lag is clear: noise in the low bytes hides them. */
static void screen_pieces(struct bpk_chooser *c, struct bpk_ranking *ranking)
{
	bool hinted = c->wishes->only_hints, clear;
	const struct bpk_recipe *best;

	screen(c, ranking, 1, BPK_FILTER_NONE);
	clear = !hinted && screen_lags(c, ranking, ranking->pieces);
	for (unsigned g = 0; g < c->sample.ngroups && c->sample.ngroups > 1 && !hinted; g++)
		if (ranking == &c->whole)
			screen_lags(c, ranking, c->of_group[g].pieces);
	screen_hints(c, ranking);
	if (!clear && c->wishes->hints[0] == 0) {
		screen(c, ranking, 4, BPK_FILTER_SHUFFLE);
		screen(c, ranking, 8, BPK_FILTER_SHUFFLE);
	}
	if (c->trials.failed)
		return;
	best = &ranking->all[0]->recipe;
	if (best->pipeline.nsteps > 0)
		screen(c, ranking, best->typesize, BPK_FILTER_BITSHUFFLE);
	if (c->base.extended && c->wishes->pipeline == NULL && !c->trials.failed)
		screen_extended(c, ranking);
}

/* True if the best tried candidate for the whole is nearly the best for each group. */
static bool is_uniform(const struct bpk_chooser *c)
{
	const struct bpk_ranking *whole = &c->whole;

	for (unsigned g = 0; g < c->sample.ngroups; g++) {
		uint32_t pieces = c->of_group[g].pieces;
		uint64_t cost = bpk_trial_cost(&c->trials, whole->all[0], pieces);

		for (size_t i = 1; i < whole->count; i++)
			if (bpk_trial_cost(&c->trials, whole->all[i], pieces) / 100 <
			    cost / (100 + GROUP_UNLIKE))
				return false;
	}
	return true;
}

void bpk_candidates_find(struct bpk_chooser *c)
{
	c->whole.pieces = bpk_trials_all(&c->trials);
	for (unsigned g = 0; g < c->sample.ngroups; g++)
		c->of_group[g].pieces = bpk_trials_group(&c->trials, g);
	screen_pieces(c, &c->whole);
	c->uniform = c->trials.failed || is_uniform(c);
	for (unsigned g = 0; g < c->sample.ngroups && !c->uniform; g++)
		screen_pieces(c, &c->of_group[g]);
}

/* ---- Contenders ---- */

struct bpk_recipe bpk_candidates_recipe(const struct bpk_chooser *c,
					const struct bpk_contender *contender, unsigned group)
{
	struct bpk_recipe recipe = c->base;

	recipe.typesize = contender->typesize;
	recipe.pipeline = contender->of[group];
	recipe.level = contender->level;
	return recipe;
}

/* A candidate of the whole is the same for every group. */
static void take_ways(const struct bpk_chooser *c, struct bpk_contenders *contenders)
{
	const struct bpk_ranking *whole = &c->whole;

	for (size_t i = 0; i < whole->count && contenders->count < BPK_CONTENDERS; i++) {
		struct bpk_contender *contender = &contenders->all[contenders->count++];

		*contender = (struct bpk_contender){
			.typesize = whole->all[i]->recipe.typesize,
			.cost = bpk_trial_cost(&c->trials, whole->all[i], whole->pieces),
			.level = c->base.level,
		};
		for (unsigned g = 0; g < c->sample.ngroups; g++)
			contender->of[g] = whole->all[i]->recipe.pipeline;
	}
}

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

/* The cheapest filters for a group among those possible for elements of typesize bytes. */
static uint64_t best_of_group(struct bpk_chooser *c, unsigned group, unsigned typesize,
			      struct bpk_pipeline *best)
{
	struct bpk_ranking *ranking = &c->of_group[group];
	struct bpk_trial *own[BPK_RANKING];
	size_t nown = ranking->count;
	uint64_t least = UINT64_MAX;

	/* only the best of them */
	nown = bpk_min_size(nown, GROUP_OWN);
	memcpy(own, ranking->all, sizeof own);
	for (unsigned filter = BPK_FILTER_NONE; filter <= BPK_FILTER_BITSHUFFLE; filter++) {
		const struct bpk_pipeline pipeline = bpk_pipeline_of(filter);

		bpk_candidates_try(c, ranking, typesize, &pipeline);
	}
	if (c->base.extended)
		bpk_candidates_try(c, ranking, typesize, &bpk_pipeline_smooth);
	for (size_t i = 0; i < nown; i++) {
		struct bpk_pipeline pipeline;

		if (own[i]->recipe.typesize != typesize &&
		    bpk_candidates_retype(&own[i]->recipe, typesize, &pipeline) &&
		    pipeline.nsteps > 0)
			bpk_candidates_try(c, ranking, typesize, &pipeline);
	}
	for (size_t i = 0; i < ranking->count && least == UINT64_MAX; i++) {
		const struct bpk_recipe *recipe = &ranking->all[i]->recipe;

		if (recipe->typesize != typesize && recipe->pipeline.nsteps > 0)
			continue;
		least = bpk_trial_cost(&c->trials, ranking->all[i], ranking->pieces);
		*best = recipe->pipeline;
	}
	return least;
}

static void add_set(struct bpk_chooser *c, unsigned typesize, struct bpk_contenders *contenders)
{
	struct bpk_contender *contender = &contenders->all[contenders->count];

	if (contenders->count == BPK_CONTENDERS || c->trials.failed)
		return;
	*contender = (struct bpk_contender){ .typesize = typesize, .level = c->base.level };
	for (unsigned g = 0; g < c->sample.ngroups; g++) {
		uint64_t cost = best_of_group(c, g, typesize, &contender->of[g]);

		contender->cost =
			cost > UINT64_MAX - contender->cost ? UINT64_MAX : contender->cost + cost;
	}
	contenders->count++;
}

static unsigned common_multiple(unsigned a, unsigned b)
{
	unsigned product = a * b;

	while (b != 0) {
		unsigned rest = a % b;

		a = b;
		b = rest;
	}
	return product / a;
}

/* The best element size of each group, and one that may do for all of them. */
static void find_sets(struct bpk_chooser *c, struct bpk_contenders *contenders)
{
	unsigned sizes[BPK_SAMPLE_GROUPS], common = 1;

	for (unsigned g = 0; g < c->sample.ngroups; g++) {
		sizes[g] = c->of_group[g].all[0]->recipe.typesize;
		if (common <= BPK_CHUNK_MAX_TYPESIZE)
			common = common_multiple(common, sizes[g]);
	}
	for (unsigned g = 0; g < c->sample.ngroups; g++) {
		bool is_new = true;

		for (unsigned h = 0; h < g; h++)
			is_new = is_new && sizes[h] != sizes[g];
		if (is_new)
			add_set(c, sizes[g], contenders);
	}
	for (unsigned g = 0; g < c->sample.ngroups; g++)
		if (sizes[g] == common)
			return;
	if (common <= BPK_CHUNK_MAX_TYPESIZE)
		add_set(c, common, contenders);
}

static void sort_sets(struct bpk_contenders *contenders)
{
	for (size_t i = 1; i < contenders->count; i++) {
		struct bpk_contender contender = contenders->all[i];
		size_t at = i;

		for (; at > 0 && contenders->all[at - 1].cost > contender.cost; at--)
			contenders->all[at] = contenders->all[at - 1];
		contenders->all[at] = contender;
	}
}

/* Keep only the first contender of each element size if groups have filters of their own. */
static void unite_sizes(struct bpk_contenders *contenders)
{
	size_t kept = 0;

	for (size_t i = 0; i < contenders->count; i++) {
		bool is_new = true;

		for (size_t j = 0; j < kept && is_new; j++)
			is_new = contenders->all[j].typesize != contenders->all[i].typesize;
		if (is_new)
			contenders->all[kept++] = contenders->all[i];
	}
	contenders->count = kept;
}

void bpk_candidates_contend(struct bpk_chooser *c, struct bpk_contenders *contenders)
{
	take_ways(c, contenders);
	if (!c->uniform)
		find_sets(c, contenders);
	if (c->trials.failed)
		return;
	sort_sets(contenders);
	if (!c->uniform)
		unite_sizes(contenders);
}
