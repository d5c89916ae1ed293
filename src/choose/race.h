/*
 * The race: recipes are tried on views of an input, and a ranking holds them in the order of their
 * cost; inside choose alone. All trials are made here. The views are the pieces of a sample, runs,
 * or pieces of one chunk.
 */
#ifndef BPK_CHOOSE_RACE_H
#define BPK_CHOOSE_RACE_H

#include "choose/sample.h"

/* The only formula that compares recipes: packed bytes in thousandths, and a surcharge for slow
 * recipes, which they must gain over a plain one. tuning.h has the table. */
uint64_t bpk_race_cost(const struct bpk_recipe *recipe, uint64_t packed_size);

/* A recipe, and its costs on some views. */
struct bpk_trial {
	struct bpk_recipe recipe;
	uint32_t tried; /* bit i: view i was packed */
	uint64_t costs[BPK_VIEWS];
};

enum { BPK_RANKING = 96 };

/* Trials on some views: those that packed all of them first, and of these the cheapest. */
struct bpk_ranking {
	const struct bpk_views *views;
	size_t count;
	struct bpk_trial all[BPK_RANKING];
};

/* Recipes that differ in their filters alone: each chunk is packed by the cheapest. */
struct bpk_recipes {
	size_t count;
	struct bpk_recipe all[1 + BPK_CHOICE_CANDIDATES];
	uint64_t cost; /* on the pieces */
};

/* Put recipes in their place by cost among count others, behind which is room. */
void bpk_recipes_insert(struct bpk_recipes *all, size_t count, const struct bpk_recipes *recipes);

/* Make the scratch, and free it. Lines on each trial are added to why. */
int bpk_race_open(struct bpk_race *race, struct bpk_buf *why, struct bpk_err *err);
void bpk_race_close(struct bpk_race *race);

/*
 * Pack the views in the mask (bit i: view i) by recipe, unless they were packed before, and put the
 * trial in its place. Returns the trial, which stays there until the next one, or NULL if there is
 * no room or packing failed.
 */
const struct bpk_trial *bpk_race_try(struct bpk_race *race, struct bpk_ranking *ranking,
				     const struct bpk_recipe *recipe, uint32_t mask);

/* The cost of all views, each packed by the cheapest of recipes. UINT64_MAX if one of these was not
 * tried. */
uint64_t bpk_race_try_all(struct bpk_race *race, struct bpk_ranking *ranking,
			  const struct bpk_recipes *recipes);

/* The cost of the views in the mask. UINT64_MAX if one of them was not packed. */
uint64_t bpk_trial_cost(const struct bpk_trial *trial, uint32_t mask);

bool bpk_recipe_equal(const struct bpk_recipe *a, const struct bpk_recipe *b);

/* All views. */
static inline uint32_t bpk_views_all(const struct bpk_views *views)
{
	return (UINT32_C(1) << views->count) - 1;
}

/* The cost of all views as they are. */
uint64_t bpk_views_cost(const struct bpk_views *views);

/* The views of a group. */
uint32_t bpk_views_group(const struct bpk_views *views, unsigned group);

/* ---- On one chunk ---- */

/* Rank the recipe and candidates by pieces of raw, a chunk at offset of the input, in
 * race->ranking. The recipes in it have the blocks of these pieces. */
int bpk_race_chunk(struct bpk_race *race, const struct bpk_recipe *recipe,
		   const struct bpk_candidate *candidates, size_t count, struct bpk_view raw,
		   uint64_t offset, struct bpk_err *err);

#endif
