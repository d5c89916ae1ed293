/*
 * Contenders race at the final level, on longer runs if the pieces do not separate them; then the
 * level is decided, and whether large chunks are worth it. choose.c calls this.
 */
#include "choose/chooser.h"

/* ---- Races ---- */

/* A run from the middle of the window. */
static struct bpk_view run_of(const struct bpk_chooser *c, size_t size)
{
	struct bpk_view window = c->sample.window;

	if (window.size <= size)
		return window;
	return bpk_view(window.data + (window.size - size) / 2, size);
}

/* The cost of a contender on a run, packed as one chunk. */
static uint64_t cost_on_run(struct bpk_chooser *c, const struct bpk_contender *contender,
			    struct bpk_view run)
{
	struct bpk_recipe recipes[BPK_SAMPLE_GROUPS];
	size_t count = 0;

	for (unsigned g = 0; g < c->sample.ngroups; g++) {
		bool is_new = true;

		for (unsigned h = 0; h < g; h++)
			is_new =
				is_new && !bpk_pipeline_equal(&contender->of[h], &contender->of[g]);
		if (is_new)
			recipes[count++] = bpk_candidates_recipe(c, contender, g);
	}
	return bpk_trials_run(&c->trials, recipes, count, run, run.size);
}

/* The size of the unpacked pieces, as a cost. */
static uint64_t raw_cost(const struct bpk_chooser *c)
{
	uint64_t raw = 0;

	for (size_t i = 0; i < c->sample.npieces; i++)
		raw += (uint64_t)1000 * c->sample.weights[i] * c->sample.pieces[i].size;
	return raw;
}

/* Add a contender of that element size and those filters, to be tried only on a run. */
static void add_untried(const struct bpk_chooser *c, unsigned typesize,
			const struct bpk_pipeline *pipeline, struct bpk_contenders *contenders)
{
	struct bpk_contender *contender = &contenders->all[contenders->count];

	if (contenders->count == BPK_CONTENDERS)
		return;
	for (size_t i = 0; i < contenders->count; i++)
		if (contenders->all[i].typesize == typesize &&
		    bpk_pipeline_equal(&contenders->all[i].of[0], pipeline))
			return;
	*contender = (struct bpk_contender){ .typesize = typesize,
					     .level = c->base.level,
					     .cost = UINT64_MAX };
	for (unsigned g = 0; g < c->sample.ngroups; g++)
		contender->of[g] = *pipeline;
	contenders->count++;
}

/* Add the remaining filters for the element sizes whose shuffles are among the best. */
static void add_filters(const struct bpk_chooser *c, struct bpk_contenders *contenders)
{
	const struct bpk_pipeline bits = bpk_pipeline_of(BPK_FILTER_BITSHUFFLE);
	size_t count = contenders->count;

	for (size_t i = 0; i < count && c->wishes->pipeline == NULL; i++) {
		unsigned typesize = contenders->all[i].typesize;

		if (typesize == 1)
			continue;
		add_untried(c, typesize, &bits, contenders);
		if (c->base.extended)
			add_untried(c, typesize, &bpk_pipeline_smooth, contenders);
	}
}

/* How far a contender is behind the first on the pieces and on the run together; the pieces count
 * pieces_weight quarters. Costs are below 2^45. */
static uint64_t behind(const struct bpk_contender *contender, const struct bpk_contender *first,
		       uint64_t on_run, uint64_t of_first, unsigned pieces_weight)
{
	return (contender->cost << 16) / bpk_max_u64(first->cost, 1) * pieces_weight +
	       (on_run << 16) / of_first * (4 - pieces_weight);
}

/* The contenders in a race: the first count of those that screening found. */
struct contest {
	size_t count;
	struct bpk_view run;
	unsigned pieces_weight; /* of 4: the share that the pieces have in the result */
};

/* The best of them at a level. */
static size_t race(struct bpk_chooser *c, const struct bpk_contenders *contenders,
		   const struct contest *contest, unsigned level)
{
	uint64_t least = UINT64_MAX, of_first = 1;
	size_t best = 0;

	for (size_t i = 0; i < contest->count && contest->count > 1 && !c->trials.failed; i++) {
		struct bpk_contender contender = contenders->all[i];
		uint64_t cost;

		contender.level = level;
		cost = cost_on_run(c, &contender, contest->run);
		if (i == 0)
			of_first = bpk_max_u64(cost, 1);
		cost = behind(&contender, &contenders->all[0], cost, of_first,
			      contest->pieces_weight);
		if (cost < least) {
			least = cost;
			best = i;
		}
	}
	return best;
}

/* ---- Levels ---- */

/* The cost of a contender at its level, on a run, or on the pieces without one. */
static uint64_t cost_at_level(struct bpk_chooser *c, const struct bpk_contender *contender,
			      struct bpk_view run)
{
	uint64_t cost = 0;

	if (run.size > 0)
		return cost_on_run(c, contender, run);
	for (unsigned g = 0; g < c->sample.ngroups && cost != UINT64_MAX; g++) {
		uint32_t pieces = c->uniform ? c->whole.pieces : c->of_group[g].pieces;
		struct bpk_recipe recipe = bpk_candidates_recipe(c, contender, g);
		struct bpk_trial *trial = bpk_trials_try(&c->trials, &recipe, pieces, NULL);

		if (trial == NULL)
			return UINT64_MAX;
		cost += bpk_trial_cost(&c->trials, trial, pieces);
		if (c->uniform)
			break;
	}
	return cost;
}

/* Give best another level if that is better. */
static void try_level(struct bpk_chooser *c, unsigned level, struct bpk_view run,
		      struct bpk_contender *best)
{
	struct bpk_contender contender = *best;

	contender.level = level;
	contender.cost = cost_at_level(c, &contender, run);
	if (contender.cost < best->cost)
		*best = contender;
}

/* The number of contenders, which are sorted, that are within so many percent of the first on the
 * pieces; wider elements may be farther behind. */
static size_t count_near(const struct bpk_contenders *contenders, unsigned percent, unsigned wider,
			 size_t most)
{
	const struct bpk_contender *first = &contenders->all[0];
	size_t count = 1;

	for (; count < contenders->count && count < most; count++) {
		const struct bpk_contender *contender = &contenders->all[count];
		unsigned more = contender->typesize > first->typesize ? wider : 0;

		if (contender->cost / (100 + percent + more) >= first->cost / 100)
			break;
	}
	return count;
}

/* The number of element sizes among the first count contenders. */
static size_t count_sizes(const struct bpk_contenders *contenders, size_t count)
{
	size_t sizes = 0;

	for (size_t i = 0; i < count; i++) {
		bool is_new = true;

		for (size_t j = 0; j < i && is_new; j++)
			is_new = contenders->all[j].typesize != contenders->all[i].typesize;
		sizes += is_new;
	}
	return sizes;
}

/* A run is as long as a chunk unless the input is small, since the planes of a chunk are longer
 * than those of pieces. It is shorter if the input has several kinds, since each has its own. */
static size_t race_size(const struct bpk_chooser *c)
{
	uint64_t size =
		c->sample.window.size / (c->wishes->only_hints ? HINTED_RUN_SHARE : RUN_SHARE);

	if (c->wishes->is_part)
		size = c->raw_size / KIND_RUN_SHARE;
	return (size_t)bpk_max_u64(SHORT_RUN, bpk_min_u64(size, BPK_CHUNK));
}

/* Plan a race on a run for contenders that the pieces do not separate. */
static struct contest plan_contest(const struct bpk_chooser *c, struct bpk_contenders *contenders)
{
	unsigned near = c->level == contenders->all[0].level ? NEARLY_EQUAL : NEARLY;
	uint64_t raw = raw_cost(c), first = contenders->all[0].cost;
	size_t count = count_near(contenders, c->uniform ? NEARLY_EQUAL : NEARLY, 0, MANY);
	size_t most = c->wishes->only_hints ? MANY : CONTENDERS;
	struct bpk_view run;

	/* the choice matters little for noise and for zeros */
	if (first > raw / 100 * INCOMPRESSIBLE || first < raw / ZEROS)
		return (struct contest){ .count = 1 };
	if (c->uniform && first <= raw / DENSE) {
		add_filters(c, contenders);
		count = bpk_min_size(contenders->count, MANY_DENSE);
		return (struct contest){ count, run_of(c, LONG_RUN), 0 };
	}
	if (count_sizes(contenders, count) > CONTENDERS)
		return (struct contest){ count, run_of(c, LONG_RUN), 0 };
	run = run_of(c, race_size(c));
	return (struct contest){ count_near(contenders, near, WIDER, most), run,
				 run.size >= LONG_RUN ? 0 : 2 };
}

/* Pieces are too short to compare levels, whose windows and tables differ. If they are unlike each
 * other, no run represents them all, unless the input is small. */
static void decide_level(struct bpk_chooser *c, struct bpk_contenders *contenders,
			 struct bpk_contender *best)
{
	struct contest contest = plan_contest(c, contenders);
	struct bpk_view run = bpk_view(NULL, 0);
	uint64_t low;
	unsigned level;

	if (c->sample.window.size < BPK_SAMPLE_WINDOW)
		run = run_of(c, BPK_CHUNK);
	else if (c->uniform)
		run = run_of(c, LONG_RUN);
	*best = contenders->all[race(c, contenders, &contest, c->level)];
	if (c->wishes->level != BPK_AUTO || !c->own_codec) {
		best->level = c->level;
		return;
	}
	if (run.size > 0)
		best->cost = cost_at_level(c, best, run);
	low = best->cost;
	try_level(c, BPK_DEFAULT_LEVEL, run, best);
	/* a level that gains little promises little of the next */
	if (best->level == BPK_DEFAULT_LEVEL && best->cost / (100 - LEVEL_PROMISING) <= low / 100)
		try_level(c, BPK_HIGH_LEVEL, run, best);
	level = best->level;
	if (level == c->level)
		return;
	*best = contenders->all[race(c, contenders, &contest, level)];
	best->level = level;
}

/* ---- All of it ---- */

static void settle(const struct bpk_chooser *c, const struct bpk_contender *contender,
		   struct bpk_choice *choice)
{
	unsigned first = bpk_groups_heaviest(c);

	choice->recipe = bpk_candidates_recipe(c, contender, first);
	for (unsigned g = 0; g < c->sample.ngroups; g++) {
		bool is_new = !bpk_pipeline_equal(&contender->of[g], &contender->of[first]);

		for (size_t i = 0; i < choice->ncandidates && is_new; i++)
			is_new = !bpk_pipeline_equal(&contender->of[g],
						     &choice->candidates[i].pipeline);
		if (is_new)
			choice->candidates[choice->ncandidates++] =
				(struct bpk_candidate){ .typesize = contender->typesize,
							.pipeline = contender->of[g] };
	}
}

void bpk_level_decide(struct bpk_chooser *c, struct bpk_choice *choice)
{
	struct bpk_contenders contenders = { 0 };
	struct bpk_contender best;

	bpk_candidates_contend(c, &contenders);
	if (c->trials.failed)
		return;
	decide_level(c, &contenders, &best);
	if (!c->uniform)
		bpk_groups_refine(c, &best);
	settle(c, &best, choice);
}

/* ---- Data that repeats across megabytes ---- */

/* Pack the window in chunks of one block, by recipe or with one of the candidates. */
static uint64_t try_window(struct bpk_chooser *c, const struct bpk_recipe *recipe,
			   const struct bpk_choice *choice, size_t chunk_size)
{
	struct bpk_recipe recipes[1 + BPK_CHOICE_CANDIDATES] = { *recipe };
	size_t count = 1 + (choice == NULL ? 0 : choice->ncandidates);

	for (size_t i = 0; i < count; i++) {
		recipes[i] = *recipe;
		recipes[i].block_size = (uint32_t)chunk_size;
		if (i > 0)
			recipes[i].pipeline = choice->candidates[i - 1].pipeline;
	}
	return bpk_trials_run(&c->trials, recipes, count, c->sample.window, chunk_size);
}

/*
 * Long repeats pack best unfiltered, in blocks that hold both copies: a filter tears them apart and
 * changes them unless they lie whole elements apart. Levels above the one wanted are not tried, as
 * they would take too long on a whole window; the winner is then packed at the wanted level.
 */
bool bpk_level_large(struct bpk_chooser *c, struct bpk_choice *choice)
{
	const struct bpk_wishes *wishes = c->wishes;
	struct bpk_recipe small = choice->recipe, plain = small, filtered = small, *winner;
	unsigned wanted = small.level, level = (unsigned)bpk_min_u64(wanted, BPK_HIGH_LEVEL);
	uint64_t of_small, of_plain, of_filtered;

	if (bpk_buf_printf(c->trials.why, c->trials.err,
			   "long runs repeat across more than a sample:\n") != 0)
		c->trials.failed = true;
	small.level = filtered.level = level;
	plain.level = wishes->level == BPK_AUTO ? (unsigned)BPK_HIGH_LEVEL : level;
	if (wishes->pipeline == NULL)
		plain.pipeline = bpk_pipeline_of(BPK_FILTER_NONE);
	if (wishes->typesize == BPK_AUTO && plain.pipeline.nsteps == 0)
		plain.typesize = 1;
	of_small = try_window(c, &small, choice, BPK_CHUNK);
	of_plain = try_window(c, &plain, NULL, BPK_LARGE_CHUNK);
	of_filtered = try_window(c, &filtered, NULL, BPK_LARGE_CHUNK);
	winner = of_plain <= of_filtered ? &plain : &filtered;
	if (c->trials.failed ||
	    bpk_min_u64(of_plain, of_filtered) * (100 + LARGE_CHUNK_GAIN) >= of_small * 100)
		return false;
	choice->recipe = *winner;
	choice->ncandidates = 0;
	if (wishes->level != BPK_AUTO)
		choice->recipe.level = wanted;
	return true;
}
