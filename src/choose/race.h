/*
 * Races: recipes are tried on bytes of an input and compared by their cost; inside choose alone.
 * All trials are made here: of the pieces of a sample, of runs, and of single chunks.
 */
#ifndef BPK_CHOOSE_RACE_H
#define BPK_CHOOSE_RACE_H

#include "choose/sample.h"

/* The only formula that compares recipes: packed bytes in thousandths, and a surcharge for slow
 * recipes, which they must gain over a plain one. choose.c has the table. */
uint64_t bpk_race_cost(const struct bpk_recipe *recipe, uint64_t packed_size);

/* Make the scratch, and free it. */
int bpk_race_open(struct bpk_race *race, struct bpk_err *err);
void bpk_race_close(struct bpk_race *race);

/* The packed size of raw as one chunk. */
int bpk_race_pack(struct bpk_race *race, const struct bpk_recipe *recipe, struct bpk_view raw,
		  size_t *packed_size, struct bpk_err *err);

/* The recipe for raw, a chunk at offset of the input, with a candidate's filters and prediction. */
struct bpk_recipe bpk_race_recipe(const struct bpk_recipe *recipe,
				  const struct bpk_candidate *candidate, struct bpk_view raw,
				  uint64_t offset);

bool bpk_candidate_equal(const struct bpk_candidate *a, const struct bpk_candidate *b);

/* ---- On the pieces of a sample ---- */

/* A recipe, and the packed sizes of the pieces. */
struct bpk_trial {
	struct bpk_recipe recipe;
	uint32_t tried; /* bit i: piece i was packed */
	uint64_t sizes[BPK_SAMPLE_PIECES];
};

enum { BPK_TRIALS = 96, BPK_RANKING = 32 };

/* All trials of an input. Caller storage; everything it points to is borrowed. */
struct bpk_trials {
	const struct bpk_sample *sample;
	struct bpk_race race;
	struct bpk_buf *why;
	struct bpk_err *err;
	bool failed; /* err says why; no trial is made after it */
	size_t count;
	struct bpk_trial all[BPK_TRIALS];
};

/* Some pieces, and the trials on all of them, the cheapest first. */
struct bpk_ranking {
	uint32_t pieces;
	size_t count;
	struct bpk_trial *all[BPK_RANKING];
};

/* The pieces of a group, as bits. */
uint32_t bpk_trials_group(const struct bpk_trials *trials, unsigned group);

/* The pieces of all groups. */
uint32_t bpk_trials_all(const struct bpk_trials *trials);

/*
 * The trial of recipe on the pieces; pieces that it has packed before are not packed again. The
 * trial is given up between two pieces when it falls far behind rival (may be NULL), which was
 * tried on all of them. NULL if there is no room for another trial, or packing failed.
 */
struct bpk_trial *bpk_trials_try(struct bpk_trials *trials, const struct bpk_recipe *recipe,
				 uint32_t pieces, const struct bpk_trial *rival);

/* The cost of pieces, weighted by the share of the input that each represents. UINT64_MAX if one of
 * them was not tried. */
uint64_t bpk_trial_cost(const struct bpk_trials *trials, const struct bpk_trial *trial,
			uint32_t pieces);

/* Put a trial in its place, unless it is there already or was given up. */
void bpk_ranking_add(const struct bpk_trials *trials, struct bpk_ranking *ranking,
		     struct bpk_trial *trial);

/* ---- On a run ---- */

/* Pack run in chunks of chunk_size, each by the cheapest of the recipes; the cost of all.
 * UINT64_MAX when packing failed. */
uint64_t bpk_trials_run(struct bpk_trials *trials, const struct bpk_recipe *recipes, size_t count,
			struct bpk_view run, size_t chunk_size);

/* ---- On one chunk ---- */

/* Candidates for a chunk, the cheapest first: 0 is the recipe without any, i + 1 candidate i. */
struct bpk_chunk_ranking {
	size_t count;
	unsigned all[BPK_PREDICTIONS + 1];
	uint64_t costs[BPK_PREDICTIONS + 1];
};

/* Rank candidates by pieces of a chunk that begins at offset of the input. Candidates that are far
 * behind are left out. */
int bpk_race_chunk(struct bpk_race *race, const struct bpk_recipe *recipe,
		   const struct bpk_candidate *candidates, size_t count, struct bpk_view raw,
		   uint64_t offset, struct bpk_chunk_ranking *ranking, struct bpk_err *err);

#endif
