/*
 * Decide between one list of filters for all chunks and one for each group. Filters of groups are
 * tried again on runs that are longer than their pieces, and a contender keeps several only if that
 * pays. level.c calls this.
 */
#include "choose/chooser.h"

/* The share of the input that each group represents. */
static void weigh_groups(const struct bpk_chooser *c, uint64_t weights[BPK_SAMPLE_GROUPS])
{
	memset(weights, 0, BPK_SAMPLE_GROUPS * sizeof *weights);
	for (size_t i = 0; i < c->sample.npieces; i++)
		weights[c->sample.groups[i]] += c->sample.weights[i];
}

unsigned bpk_groups_heaviest(const struct bpk_chooser *c)
{
	uint64_t weights[BPK_SAMPLE_GROUPS];
	unsigned most = 0;

	weigh_groups(c, weights);
	for (unsigned g = 1; g < c->sample.ngroups; g++)
		if (weights[g] > weights[most])
			most = g;
	return most;
}

/* A longer run of each group, for filters whose cost on its pieces is nearly the same. */
struct runs {
	struct bpk_view of[BPK_SAMPLE_GROUPS];
	struct bpk_buf bufs[BPK_SAMPLE_GROUPS];
};

static void take_runs(struct bpk_chooser *c, struct runs *runs)
{
	for (unsigned g = 0; g < c->sample.ngroups && !c->trials.failed; g++) {
		size_t piece = 0;

		while (c->sample.groups[piece] != g)
			piece++;
		if (bpk_sample_around(&c->sample, c->source, piece, SHORT_RUN, &runs->bufs[g],
				      &runs->of[g], c->trials.err) != 0)
			c->trials.failed = true;
	}
}

/* The cost of a group's run with a contender's element size and these filters. */
static uint64_t cost_of_group(struct bpk_chooser *c, const struct runs *runs, unsigned group,
			      const struct bpk_contender *contender,
			      const struct bpk_pipeline *pipeline)
{
	struct bpk_recipe recipe = bpk_candidates_recipe(c, contender, group);

	recipe.pipeline = *pipeline;
	recipe.level = (unsigned)bpk_min_u64(contender->level, BPK_HIGH_LEVEL);
	return bpk_trials_run(&c->trials, &recipe, 1, runs->of[group],
			      bpk_max_u64(runs->of[group].size, 1));
}

/* Give a group the filters that pack its run best, of those near the best on its pieces. Returns
 * their cost. */
static uint64_t refine_group(struct bpk_chooser *c, const struct runs *runs, unsigned group,
			     struct bpk_contender *contender)
{
	const struct bpk_ranking *ranking = &c->of_group[group];
	uint64_t first = UINT64_MAX, least = UINT64_MAX;

	for (size_t i = 0, met = 0; i < ranking->count && met < GROUP_MEETING && !c->trials.failed;
	     i++) {
		const struct bpk_recipe *recipe = &ranking->all[i]->recipe;
		uint64_t cost = bpk_trial_cost(&c->trials, ranking->all[i], ranking->pieces);

		if (recipe->typesize != contender->typesize && recipe->pipeline.nsteps > 0)
			continue;
		first = bpk_min_u64(first, cost);
		if (cost / (100 + GROUP_NEAR) > first / 100)
			continue;
		cost = cost_of_group(c, runs, group, contender, &recipe->pipeline);
		met++;
		if (cost < least) {
			least = cost;
			contender->of[group] = recipe->pipeline;
		}
	}
	return least;
}

/* Keep only the filters of one group if they are good enough for all. */
static void try_single(struct bpk_chooser *c, const struct runs *runs, const uint64_t costs[],
		       struct bpk_contender *contender)
{
	uint64_t weights[BPK_SAMPLE_GROUPS], all = 0, least = UINT64_MAX;
	unsigned best = 0, ngroups = c->sample.ngroups;

	weigh_groups(c, weights);
	for (unsigned g = 0; g < ngroups; g++)
		all += costs[g] * weights[g];
	for (unsigned g = 0; g < ngroups; g++) {
		uint64_t single = 0;

		for (unsigned h = 0; h < ngroups && single < least; h++)
			single +=
				weights[h] *
				(bpk_pipeline_equal(&contender->of[g], &contender->of[h])
					 ? costs[h]
					 : cost_of_group(c, runs, h, contender, &contender->of[g]));
		if (single < least) {
			least = single;
			best = g;
		}
	}
	for (unsigned g = 0; g < ngroups && least / (1000 + GROUP_WORTH) <= all / 1000; g++)
		contender->of[g] = contender->of[best];
}

/* Settle the filters of each group. */
void bpk_groups_refine(struct bpk_chooser *c, struct bpk_contender *contender)
{
	struct runs runs = { 0 };
	uint64_t costs[BPK_SAMPLE_GROUPS];

	take_runs(c, &runs);
	for (unsigned g = 0; g < c->sample.ngroups; g++)
		costs[g] = refine_group(c, &runs, g, contender);
	if (!c->trials.failed)
		try_single(c, &runs, costs, contender);
	for (unsigned g = 0; g < c->sample.ngroups; g++)
		bpk_buf_clear(&runs.bufs[g]);
}
