/*
 * The steps of choosing for one input, which choose.c calls in turn; inside choose alone.
 */
#ifndef BPK_CHOOSE_CHOOSER_H
#define BPK_CHOOSE_CHOOSER_H

#include "choose/race.h"
#include "choose/tuning.h"

enum { BPK_CHOOSER_RECIPES = 32, BPK_CHOOSER_SIZES = 16 };

struct bpk_chooser {
	const struct bpk_wishes *wishes;
	struct bpk_source *source;
	uint64_t raw_size;      /* of it; may be unknown */
	struct bpk_recipe base; /* codec, level of screening, largest block */
	unsigned level;         /* the wished level, or the first one to try */
	bool own_codec;         /* Zstd, whose levels and windows are known */
	struct bpk_sample sample;
	struct bpk_race race;
	bool repeats;                /* long runs repeat far apart, which pieces do not show */
	struct bpk_ranking screened; /* candidates, on the pieces */
	size_t nsizes;
	unsigned sizes[BPK_CHOOSER_SIZES]; /* of elements that are worth several filters */
	bool uniform;                      /* one candidate is the best for each group, or nearly */
	size_t nrecipes;
	struct bpk_recipes recipes[BPK_CHOOSER_RECIPES]; /* the cheapest first */
	struct bpk_buf bytes[BPK_SAMPLE_GROUPS];
	struct bpk_views runs;    /* longer than pieces: one, or one of each group */
	struct bpk_ranking raced; /* recipes, on the runs */
};

/* Filters that are tried for elements of any size. The last ones are differences inside shuffled
 * planes, for data that change smoothly: extended chunks only. */
enum { BPK_CANDIDATES_FILTERS = 3 };
extern const struct bpk_pipeline bpk_candidates_filters[BPK_CANDIDATES_FILTERS];

/* Round size down to whole units, at least one. */
static inline uint64_t bpk_whole_units(uint64_t size, uint64_t unit)
{
	return bpk_max_u64(unit, size - size % unit);
}

/* Try promising candidates on all pieces. Sets race.failed. */
void bpk_candidates_find(struct bpk_chooser *c);

/* True if pieces tell too little: they pack to almost nothing, which shows how pieces begin, or
 * long runs repeat. */
bool bpk_candidates_need_runs(const struct bpk_chooser *c);

/* Make recipes of the candidates: each of them, or combinations for the groups. */
void bpk_candidates_make_recipes(struct bpk_chooser *c);

/* The cheapest trial on the views in the mask whose cost is more than above, for elements of
 * typesize bytes (0: any), at a level. NULL if there is none. */
const struct bpk_trial *bpk_candidates_next(const struct bpk_ranking *ranking, uint32_t mask,
					    unsigned typesize, unsigned level, uint64_t above);

/* Combine the trials at a level that are the best for each group, with elements of typesize bytes,
 * unless others are nearly as good. */
void bpk_candidates_combine(const struct bpk_ranking *ranking, unsigned typesize, unsigned level,
			    struct bpk_recipes *recipes);

/* Rewrite filters for elements of the recipe's size for elements of another size, as far as
 * extended chunks can: a shuffle has a width of its own. Returns false if they cannot. */
bool bpk_candidates_retype(const struct bpk_recipe *recipe, unsigned typesize,
			   struct bpk_pipeline *out);

#endif
