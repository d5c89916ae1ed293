/*
 * Screening: which element sizes and filters may suit pieces that look alike. Every promising one
 * is tried at a low level.
 */
#include "choose/chooser.h"

#include <stdlib.h>

enum {
	CLEAR = 20,  /* one match in so many bytes is a clear lag, */
	FAINT = 100, /* and in so many none at all */
	UNLIKE = 2,  /* percent that another way must be better for a group */
};

/* ---- One candidate ---- */

void bpk_screen_candidate(struct bpk_chooser *c, struct bpk_ranking *ranking, unsigned typesize,
			  const struct bpk_pipeline *pipeline)
{
	const struct bpk_wishes *wishes = c->wishes;
	/* what is bad for one group may be good for another */
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

	bpk_screen_candidate(c, ranking, typesize, &pipeline);
}

/* ---- Lags ---- */

static int by_count(const void *a, const void *b)
{
	uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;

	return (left > right) - (left < right);
}

/* The first lag whose matches reach share percent of the way from common to best; 0: none. */
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
 * The lengths at which bytes look like those before them: elements repeat their high bytes at every
 * multiple of the typesize, records at every multiple of theirs. So the strongest lag is tried, the
 * first that is nearly as strong, and the first that is half as strong (a field of a record).
 * pieces are those that are looked at. Returns whether they are clear.
 */
static bool screen_lags(struct bpk_chooser *c, struct bpk_ranking *ranking, uint32_t pieces)
{
	static const unsigned shares[] = { 100, 85, 50 };
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

		if (best - common > compared / FAINT && lag > 0)
			screen(c, ranking, lag, BPK_FILTER_SHUFFLE);
	}
	return best - common > compared / CLEAR;
}

/* ---- All of it ---- */

const struct bpk_pipeline bpk_pipeline_smooth = {
	2, { { BPK_FILTER_SHUFFLE, 0 }, { BPK_FILTER_BYTEDELTA, 0 } }
};

/* Filters of Blosc2's chunks, for the two element sizes that are best so far: differences of
 * planes. Delta is for who asks for it: c-blosc2 3.3.3 reads a block of such a chunk without the
 * one that it leans on (_blosc_getitem), and tells nobody. */
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
	bpk_screen_candidate(c, ranking, best.typesize, &bpk_pipeline_smooth);
	if (second > 0)
		bpk_screen_candidate(c, ranking, second, &bpk_pipeline_smooth);
}

/* Single bytes may be small numbers, whose upper bits are all alike. */
static void screen_hints(struct bpk_chooser *c, struct bpk_ranking *ranking)
{
	for (size_t i = 0; i < BPK_WISHES_HINTS && c->wishes->hints[i] != 0; i++)
		screen(c, ranking, c->wishes->hints[i],
		       c->wishes->hints[i] == 1 ? BPK_FILTER_BITSHUFFLE : BPK_FILTER_SHUFFLE);
}

/* What is hinted at, and unless that is all, what lags tell; elements of 4 and 8 bytes where
 * neither is clear: noise in the low bytes hides them. */
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

/* Does the best way for the whole do for every group, as far as the others that were tried tell? */
static bool is_uniform(const struct bpk_chooser *c)
{
	const struct bpk_ranking *whole = &c->whole;

	for (unsigned g = 0; g < c->sample.ngroups; g++) {
		uint32_t pieces = c->of_group[g].pieces;
		uint64_t cost = bpk_trial_cost(&c->trials, whole->all[0], pieces);

		for (size_t i = 1; i < whole->count; i++)
			if (bpk_trial_cost(&c->trials, whole->all[i], pieces) / 100 <
			    cost / (100 + UNLIKE))
				return false;
	}
	return true;
}

void bpk_screen(struct bpk_chooser *c)
{
	c->whole.pieces = bpk_trials_all(&c->trials);
	for (unsigned g = 0; g < c->sample.ngroups; g++)
		c->of_group[g].pieces = bpk_trials_group(&c->trials, g);
	screen_pieces(c, &c->whole);
	c->uniform = c->trials.failed || is_uniform(c);
	for (unsigned g = 0; g < c->sample.ngroups && !c->uniform; g++)
		screen_pieces(c, &c->of_group[g]);
}
