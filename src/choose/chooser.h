/*
 * The parts of choosing: screening, and deciding between contenders of filters; inside choose alone.
 */
#ifndef BPK_CHOOSE_CHOOSER_H
#define BPK_CHOOSE_CHOOSER_H

#include "choose/race.h"

enum {
	BPK_SCREEN_LEVEL = 1, /* three levels of Zstd */
	BPK_DEFAULT_LEVEL = 2,
	BPK_HIGH_LEVEL = 3,
	BPK_OTHER_LEVEL = 5, /* of the other codecs */
	BPK_CHUNK = 1 << 20,
	BPK_LARGE_CHUNK = BPK_SAMPLE_WINDOW,
};

struct bpk_chooser {
	const struct bpk_wishes *wishes;
	struct bpk_source *source;
	uint64_t raw_size;      /* of it; may be unknown */
	struct bpk_recipe base; /* codec, level of screening, largest block */
	unsigned level;         /* wished, or where we start from */
	bool own_codec;         /* Zstd, whose levels and windows are known */
	struct bpk_sample sample;
	struct bpk_trials trials;
	struct bpk_ranking whole;                       /* all pieces */
	bool uniform;                                   /* what suits the whole suits every group */
	struct bpk_ranking of_group[BPK_SAMPLE_GROUPS]; /* the groups, unless uniform */
};

/* Differences inside shuffled planes, for what changes smoothly: extended chunks only. */
extern const struct bpk_pipeline bpk_pipeline_smooth;

/* Try on the pieces what may suit them; all of them first, and then, unless the best way does for
 * every group, on each group by itself. Look at trials.failed behind it. */
void bpk_screen(struct bpk_chooser *c);

/* Try an element size with filters on pieces, unless the wishes say another, and put it in its
 * place among the ways, unless it is given up. */
void bpk_screen_candidate(struct bpk_chooser *c, struct bpk_ranking *ranking, unsigned typesize,
			  const struct bpk_pipeline *pipeline);

/* An element size, and the filters that suit each group then. */
struct bpk_contender {
	unsigned typesize;
	struct bpk_pipeline of[BPK_SAMPLE_GROUPS];
	uint64_t cost;
	unsigned level; /* at which that is so */
};

enum { BPK_CONTENDERS = BPK_RANKING };

struct bpk_contenders {
	size_t count;
	struct bpk_contender all[BPK_CONTENDERS];
};

/* What screening found, the cheapest first; of each element size only the first, unless uniform. */
void bpk_contenders_find(struct bpk_chooser *c, struct bpk_contenders *contenders);

/* How a group is packed by a contender. */
struct bpk_recipe bpk_contender_recipe(const struct bpk_chooser *c,
				       const struct bpk_contender *contender, unsigned group);

/* Filters for elements of the recipe's size said for elements of another, as far as extended
 * chunks can: a shuffle has a width of its own. False: they cannot. */
bool bpk_recipe_retype(const struct bpk_recipe *recipe, unsigned typesize,
		       struct bpk_pipeline *out);

/* Settle the filters of each group in a contender, not uniform, that was decided for. */
void bpk_refine(struct bpk_chooser *c, struct bpk_contender *contender);

/* The group that stands for the largest part of the input. */
unsigned bpk_heaviest(const struct bpk_chooser *c);

/*
 * Decide from what screening found: element size, level, and the filters that suit the groups.
 * choice gets recipe and others. Look at trials.failed behind it.
 */
void bpk_decide(struct bpk_chooser *c, struct bpk_choice *choice);

/* Are chunks of BPK_LARGE_CHUNK bytes worth it? Then recipe and others become what is best in
 * them. */
bool bpk_decide_large(struct bpk_chooser *c, struct bpk_choice *choice);

#endif
