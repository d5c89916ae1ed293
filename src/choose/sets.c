/*
 * Sets: one element size for all chunks, since an archive names but one, with the filters that suit
 * each group of samples then.
 */
#include "choose/chooser.h"

enum { OWN = 3 }; /* ways of a group that are tried at another element size */

struct bpk_recipe bpk_contender_recipe(const struct bpk_chooser *c,
				       const struct bpk_contender *contender, unsigned group)
{
	struct bpk_recipe recipe = c->base;

	recipe.typesize = contender->typesize;
	recipe.pipeline = contender->of[group];
	recipe.level = contender->level;
	return recipe;
}

/* What was tried on the whole is the same for every group. */
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

bool bpk_recipe_retype(const struct bpk_recipe *recipe, unsigned typesize, struct bpk_pipeline *out)
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

/* The cheapest filters for a group among those that elements of typesize bytes can have. */
static uint64_t best_of_group(struct bpk_chooser *c, unsigned group, unsigned typesize,
			      struct bpk_pipeline *best)
{
	struct bpk_ranking *ranking = &c->of_group[group];
	struct bpk_trial *own[BPK_RANKING];
	size_t nown = ranking->count;
	uint64_t least = UINT64_MAX;

	/* the best of them, that is */
	nown = bpk_min_size(nown, OWN);
	memcpy(own, ranking->all, sizeof own);
	for (unsigned filter = BPK_FILTER_NONE; filter <= BPK_FILTER_BITSHUFFLE; filter++) {
		const struct bpk_pipeline pipeline = bpk_pipeline_of(filter);

		bpk_screen_candidate(c, ranking, typesize, &pipeline);
	}
	if (c->base.extended)
		bpk_screen_candidate(c, ranking, typesize, &bpk_pipeline_smooth);
	for (size_t i = 0; i < nown; i++) {
		struct bpk_pipeline pipeline;

		if (own[i]->recipe.typesize != typesize &&
		    bpk_recipe_retype(&own[i]->recipe, typesize, &pipeline) && pipeline.nsteps > 0)
			bpk_screen_candidate(c, ranking, typesize, &pipeline);
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

/* Element sizes that suit a group, and one that may do for all of them. */
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

/* Leave of the contenders of one element size the first, where groups have filters of their own. */
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

void bpk_contenders_find(struct bpk_chooser *c, struct bpk_contenders *contenders)
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
