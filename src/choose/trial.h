/*
 * Trials: ways to pack, tried on samples, and what they cost; inside choose alone.
 */
#ifndef BPK_CHOOSE_TRIAL_H
#define BPK_CHOOSE_TRIAL_H

#include "choose/sample.h"

/* Thousandths that a way of packing must gain over none at all; choose.c has the table. */
unsigned bpk_pipeline_cost(const struct bpk_pipeline *pipeline);
unsigned bpk_recipe_cost(const struct bpk_recipe *recipe);

/* Make the scratch, and free it. */
int bpk_race_open(struct bpk_race *race, struct bpk_err *err);
void bpk_race_close(struct bpk_race *race);

/* The packed size of raw as one chunk. */
int bpk_race_weigh(struct bpk_race *race, const struct bpk_recipe *recipe, struct bpk_view raw,
		   size_t *packed_size, struct bpk_err *err);

/* One way to pack the samples, and what came of it. */
struct bpk_trial {
	struct bpk_recipe recipe;
	uint32_t tried;                    /* bit i: piece i was packed */
	uint64_t sizes[BPK_SAMPLE_PIECES]; /* packed */
};

enum { BPK_TRIALS = 96 };

/* All that were made. Caller storage; what it points to is borrowed. */
struct bpk_trials {
	const struct bpk_sample *sample;
	struct bpk_race race;
	struct bpk_buf *why;
	struct bpk_err *err;
	bool failed; /* and why is in err: nothing is tried any more */
	size_t count;
	struct bpk_trial all[BPK_TRIALS];
};

/* The pieces of a group, as bits. */
uint32_t bpk_trials_group(const struct bpk_trials *trials, unsigned group);

/* The pieces of all groups. */
uint32_t bpk_trials_all(const struct bpk_trials *trials);

/*
 * The trial of recipe on the pieces, which are packed unless they were before. Gives up between two
 * pieces when it falls far behind rival (NULL: none), which was tried on all of them. NULL when
 * there is no room for another trial, or packing failed.
 */
struct bpk_trial *bpk_trials_try(struct bpk_trials *trials, const struct bpk_recipe *recipe,
				 uint32_t pieces, const struct bpk_trial *rival);

/* Pack run in chunks of chunk_size, each by that of the recipes that packs it best; the cost of
 * all. UINT64_MAX when packing failed. */
uint64_t bpk_trials_run(struct bpk_trials *trials, const struct bpk_recipe *recipes, size_t count,
			struct bpk_view run, size_t chunk_size);

/* What a trial comes to on pieces: packed sizes, by what each piece stands for, and the cost of the
 * way. UINT64_MAX where one of them was not tried. */
uint64_t bpk_trial_cost(const struct bpk_trials *trials, const struct bpk_trial *trial,
			uint32_t pieces);

#endif
