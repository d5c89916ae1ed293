/*
 * Sets: one element size for all chunks, since an archive names but one, with the filters that suit
 * each group of samples then.
 */
#include "choose/chooser.h"

enum { OWN = 3 }; /* ways of a group that are tried at another element size */

struct bpk_recipe bpk_set_recipe(const struct bpk_chooser *c, const struct bpk_set *set,
				 unsigned group)
{
	struct bpk_recipe recipe = c->base;

	recipe.typesize = set->typesize;
	recipe.pipeline = set->of[group];
	recipe.level = set->level;
	return recipe;
}

/* What was tried on the whole is the same for every group. */
static void take_ways(const struct bpk_chooser *c, struct bpk_sets *sets)
{
	const struct bpk_likes *whole = &c->whole;

	for (size_t i = 0; i < whole->nways && sets->count < BPK_SETS; i++) {
		struct bpk_set *set = &sets->all[sets->count++];

		*set = (struct bpk_set){
			.typesize = whole->ways[i]->recipe.typesize,
			.cost = bpk_trial_cost(&c->trials, whole->ways[i], whole->pieces),
			.level = c->base.level,
		};
		for (unsigned g = 0; g < c->sample.ngroups; g++)
			set->of[g] = whole->ways[i]->recipe.pipeline;
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
	struct bpk_likes *likes = &c->likes[group];
	struct bpk_trial *own[BPK_WAYS];
	size_t nown = likes->nways;
	uint64_t least = UINT64_MAX;

	/* the best of them, that is */
	nown = bpk_min_size(nown, OWN);
	memcpy(own, likes->ways, sizeof own);
	for (unsigned filter = BPK_FILTER_NONE; filter <= BPK_FILTER_BITSHUFFLE; filter++) {
		const struct bpk_pipeline pipeline = bpk_pipeline_of(filter);

		bpk_screen_way(c, likes, typesize, &pipeline);
	}
	if (c->base.extended)
		bpk_screen_way(c, likes, typesize, &bpk_pipeline_smooth);
	for (size_t i = 0; i < nown; i++) {
		struct bpk_pipeline pipeline;

		if (own[i]->recipe.typesize != typesize &&
		    bpk_recipe_retype(&own[i]->recipe, typesize, &pipeline) && pipeline.nsteps > 0)
			bpk_screen_way(c, likes, typesize, &pipeline);
	}
	for (size_t i = 0; i < likes->nways && least == UINT64_MAX; i++) {
		const struct bpk_recipe *recipe = &likes->ways[i]->recipe;

		if (recipe->typesize != typesize && recipe->pipeline.nsteps > 0)
			continue;
		least = bpk_trial_cost(&c->trials, likes->ways[i], likes->pieces);
		*best = recipe->pipeline;
	}
	return least;
}

static void add_set(struct bpk_chooser *c, unsigned typesize, struct bpk_sets *sets)
{
	struct bpk_set *set = &sets->all[sets->count];

	if (sets->count == BPK_SETS || c->trials.failed)
		return;
	*set = (struct bpk_set){ .typesize = typesize, .level = c->base.level };
	for (unsigned g = 0; g < c->sample.ngroups; g++) {
		uint64_t cost = best_of_group(c, g, typesize, &set->of[g]);

		set->cost = cost > UINT64_MAX - set->cost ? UINT64_MAX : set->cost + cost;
	}
	sets->count++;
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
static void find_sets(struct bpk_chooser *c, struct bpk_sets *sets)
{
	unsigned sizes[BPK_SAMPLE_GROUPS], common = 1;

	for (unsigned g = 0; g < c->sample.ngroups; g++) {
		sizes[g] = c->likes[g].ways[0]->recipe.typesize;
		if (common <= BPK_CHUNK_MAX_TYPESIZE)
			common = common_multiple(common, sizes[g]);
	}
	for (unsigned g = 0; g < c->sample.ngroups; g++) {
		bool is_new = true;

		for (unsigned h = 0; h < g; h++)
			is_new = is_new && sizes[h] != sizes[g];
		if (is_new)
			add_set(c, sizes[g], sets);
	}
	for (unsigned g = 0; g < c->sample.ngroups; g++)
		if (sizes[g] == common)
			return;
	if (common <= BPK_CHUNK_MAX_TYPESIZE)
		add_set(c, common, sets);
}

static void sort_sets(struct bpk_sets *sets)
{
	for (size_t i = 1; i < sets->count; i++) {
		struct bpk_set set = sets->all[i];
		size_t at = i;

		for (; at > 0 && sets->all[at - 1].cost > set.cost; at--)
			sets->all[at] = sets->all[at - 1];
		sets->all[at] = set;
	}
}

/* Leave of the sets of one element size the first, where groups have filters of their own. */
static void unite_sizes(struct bpk_sets *sets)
{
	size_t kept = 0;

	for (size_t i = 0; i < sets->count; i++) {
		bool is_new = true;

		for (size_t j = 0; j < kept && is_new; j++)
			is_new = sets->all[j].typesize != sets->all[i].typesize;
		if (is_new)
			sets->all[kept++] = sets->all[i];
	}
	sets->count = kept;
}

void bpk_sets_find(struct bpk_chooser *c, struct bpk_sets *sets)
{
	take_ways(c, sets);
	if (!c->uniform)
		find_sets(c, sets);
	if (c->trials.failed)
		return;
	sort_sets(sets);
	if (!c->uniform)
		unite_sizes(sets);
}
