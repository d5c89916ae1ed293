/*
 * The steps of choosing for one input, which choose.c calls in turn; inside choose alone.
 */
#ifndef BPK_CHOOSE_CHOOSER_H
#define BPK_CHOOSE_CHOOSER_H

#include "choose/race.h"
#include "choose/tuning.h"

struct bpk_chooser {
	const struct bpk_wishes *wishes;
	struct bpk_source *source;
	uint64_t raw_size;      /* of it; may be unknown */
	struct bpk_recipe base; /* codec, level of screening, largest block */
	unsigned level;         /* the wished level, or the first one to try */
	bool own_codec;         /* Zstd, whose levels and windows are known */
	struct bpk_sample sample;
	struct bpk_trials trials;
	struct bpk_ranking whole; /* all pieces */
	bool uniform;             /* the best candidate for the whole is the best for each group */
	struct bpk_ranking of_group[BPK_SAMPLE_GROUPS]; /* the groups, unless uniform */
};

/* Differences inside shuffled planes, for data that change smoothly: extended chunks only. */
extern const struct bpk_pipeline bpk_pipeline_smooth;

/* Try promising candidates on all pieces. Unless one is the best for each group, try them on each
 * group by itself. Sets trials.failed. */
void bpk_candidates_find(struct bpk_chooser *c);

/* Try filters for elements of typesize bytes on pieces, or the filters that the user fixed. Put
 * them in their place in the ranking, unless they are given up. */
void bpk_candidates_try(struct bpk_chooser *c, struct bpk_ranking *ranking, unsigned typesize,
			const struct bpk_pipeline *pipeline);

/* An element size, and the best filters of that size for each group. */
struct bpk_contender {
	unsigned typesize;
	struct bpk_pipeline of[BPK_SAMPLE_GROUPS];
	uint64_t cost;
	unsigned level; /* of its trial */
};

enum { BPK_CONTENDERS = BPK_RANKING };

struct bpk_contenders {
	size_t count;
	struct bpk_contender all[BPK_CONTENDERS];
};

/* The contenders among the candidates, the cheapest first; unless uniform, one for each element
 * size. */
void bpk_candidates_contend(struct bpk_chooser *c, struct bpk_contenders *contenders);

/* The recipe that a contender has for a group. */
struct bpk_recipe bpk_candidates_recipe(const struct bpk_chooser *c,
					const struct bpk_contender *contender, unsigned group);

/* Rewrite filters for elements of the recipe's size for elements of another size, as far as
 * extended chunks can: a shuffle has a width of its own. Returns false if they cannot. */
bool bpk_candidates_retype(const struct bpk_recipe *recipe, unsigned typesize,
			   struct bpk_pipeline *out);

/* Settle the filters of each group in the winner, which is not uniform. */
void bpk_groups_refine(struct bpk_chooser *c, struct bpk_contender *contender);

/* The group that stands for the largest part of the input. */
unsigned bpk_groups_heaviest(const struct bpk_chooser *c);

/*
 * Decide on element size, level, and the filters of the groups. Sets recipe and candidates of
 * choice, and trials.failed.
 */
void bpk_level_decide(struct bpk_chooser *c, struct bpk_choice *choice);

/* True where chunks of BPK_LARGE_CHUNK bytes are worth it. Recipe and candidates are then the best
 * for these. */
bool bpk_level_large(struct bpk_chooser *c, struct bpk_choice *choice);

#endif
