/*
 * How to pack when the user does not say. Every promising typesize is tried at level 1 on samples,
 * then the best two meet at the level that would be used, and the winner at the next. What differs
 * is decided by packed sizes and this table of costs, in percent that a dearer way must gain:
 *
 *      shuffle over none            1    bitshuffle over shuffle    1
 *      level 2 over level 1         1    level 3 over level 2       5
 *      chunks of 4 over 1 MiB      10    records over 16 bytes      1
 *
 * The levels, measured with 1 MiB blocks on one thread (ratio at MB/s; zstd -3 runs at 70 to 150
 * MB/s there, and is larger in every row but the last):
 *
 *      data                        level 1        level 2        level 3
 *      turbulence f64, shuffle     1.195 1860     1.201  900     1.212  570
 *      sorted i64, shuffle         5.30  1830     5.68  1530     5.82   880
 *      records of 20, bitshuffle   3.60  1630     3.72  1630     3.74   700
 *      positions, bitshuffle       1.488 1250     1.497  960     1.514  400
 *      text                        2.890  370     3.040  230     3.080  140
 *
 * Level 2 is within 3% of level 3 at twice its speed, so it is what we start from; level 1 is taken
 * where level 2 brings nothing, level 3 where it brings much.
 *
 * The other codecs are packed at level 5, as Blosc does: their lower levels hardly try. Their
 * windows are short, so large chunks gain nothing for them.
 *
 * A block is a whole chunk of 1 MiB: against the 256 KiB of other writers it is packed up to a
 * third faster and some percent smaller (longer planes, fewer streams), and still fits the cache.
 */
#include "flow/flow.h"

#include <stdlib.h>

#include "flow/sample.h"

enum {
	SCREEN_LEVEL = 1, /* three levels of Zstd */
	DEFAULT_LEVEL = 2,
	HIGH_LEVEL = 3,
	OTHER_LEVEL = 5, /* of the other codecs */
	LEVELS = 4,      /* that have a cost of their own */
	NEARLY = 5,      /* percent behind, and still worth a second look */
	WIDE = 16,       /* bytes of a typesize whose planes are packed as one */
	WIDE_COST = 1,
	CLEAR = 20,  /* one match in so many bytes is a clear lag, */
	FAINT = 100, /* and in so many none at all */
	CHUNK = 1 << 20,
	LARGE_CHUNK = BPK_SAMPLE_WINDOW,
	LARGE_CHUNK_GAIN = 10, /* percent */
	MAX_TRIALS = 12,
	MAX_NEAR = 64 << 10, /* bytes apart that the pieces show by themselves */
	TINY = 256,          /* bytes of samples that tell nothing */
};

static const unsigned filter_cost[] = {
	[BPK_FILTER_NONE] = 0, [BPK_FILTER_SHUFFLE] = 1, [BPK_FILTER_BITSHUFFLE] = 2
};

static const unsigned level_cost[LEVELS] = { 0, 0, 1, 6 };

/* One way to pack the samples, and what came of it. */
struct trial {
	struct bpk_recipe recipe;
	uint64_t size; /* packed */
	uint64_t cost; /* what is compared */
};

struct chooser {
	const struct bpk_wishes *wishes;
	struct bpk_recipe base; /* codec, level of screening, largest block */
	unsigned level;         /* wished, or where we start from */
	bool own_codec;         /* Zstd, whose levels and windows are known above */
	struct bpk_sample sample;
	struct bpk_chunk_ctx *ctx;
	struct bpk_buf packed; /* room for a trial's chunk */
	struct trial trials[MAX_TRIALS];
	size_t ntrials;
	struct bpk_buf *why;
	struct bpk_err *err;
};

/* ---- One trial ---- */

static int pack_run(struct chooser *c, const struct bpk_recipe *recipe, struct bpk_view run,
		    size_t chunk_size, uint64_t *total)
{
	for (size_t at = 0; at < run.size; at += chunk_size) {
		size_t size = bpk_min_size(chunk_size, run.size - at), packed_size;

		if (bpk_buf_reserve(&c->packed, bpk_chunk_bound(size), c->err) != 0 ||
		    bpk_chunk_encode(c->ctx, recipe, bpk_view(run.data + at, size),
				     bpk_buf_room(&c->packed), &packed_size, c->err) != 0)
			return -1;
		*total += packed_size;
	}
	return 0;
}

static enum bpk_filter plain_of(const struct bpk_pipeline *pipeline)
{
	return pipeline->nsteps == 0 ? BPK_FILTER_NONE : (enum bpk_filter)pipeline->steps[0].filter;
}

static enum bpk_filter filter_of(const struct bpk_recipe *recipe)
{
	return plain_of(&recipe->pipeline);
}

static uint64_t cost_of(const struct bpk_recipe *recipe, uint64_t size)
{
	unsigned level = recipe->level < LEVELS ? recipe->level : LEVELS - 1;
	unsigned percent = filter_cost[filter_of(recipe)] + level_cost[level];

	return size * (100 + percent + (recipe->typesize > WIDE ? WIDE_COST : 0));
}

static int try_pieces(struct chooser *c, struct trial *trial)
{
	const struct bpk_recipe *recipe = &trial->recipe;

	trial->size = 0;
	for (size_t i = 0; i < c->sample.npieces; i++) {
		struct bpk_view piece = c->sample.pieces[i];

		if (pack_run(c, recipe, piece, piece.size, &trial->size) != 0)
			return -1;
	}
	trial->cost = cost_of(recipe, trial->size);
	return bpk_buf_printf(c->why, c->err, "  level %u, typesize %u, %s: %llu bytes\n",
			      recipe->level, recipe->typesize, bpk_filter_name(filter_of(recipe)),
			      (unsigned long long)trial->size);
}

/* ---- Screening ---- */

/* Screen a typesize with a filter, unless the user wants others or it was screened before. */
static int screen(struct chooser *c, unsigned typesize, enum bpk_filter filter)
{
	const struct bpk_wishes *wishes = c->wishes;
	struct trial *trial = &c->trials[c->ntrials];

	if (wishes->typesize != BPK_AUTO)
		typesize = (unsigned)wishes->typesize;
	if (wishes->pipeline != NULL)
		filter = plain_of(wishes->pipeline);
	/* without a filter elements mean nothing */
	if (filter == BPK_FILTER_NONE && wishes->typesize == BPK_AUTO)
		typesize = 1;
	for (size_t i = 0; i < c->ntrials; i++) {
		const struct bpk_recipe *other = &c->trials[i].recipe;

		if (other->typesize == typesize && filter_of(other) == filter)
			return 0;
	}
	if (c->ntrials == MAX_TRIALS)
		return 0;
	*trial = (struct trial){ .recipe = c->base };
	trial->recipe.typesize = typesize;
	trial->recipe.pipeline = bpk_pipeline_of(filter);
	c->ntrials++;
	return try_pieces(c, trial);
}

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
 */
static int screen_lags(struct chooser *c, bool *clear)
{
	static const unsigned shares[] = { 100, 85, 50 };
	uint32_t matches[BPK_SAMPLE_MAX_LAG + 1], sorted[BPK_SAMPLE_MAX_LAG], compared, common,
		best;

	bpk_sample_lags(&c->sample, matches, &compared);
	memcpy(sorted, matches + 1, sizeof sorted);
	qsort(sorted, BPK_SAMPLE_MAX_LAG, sizeof *sorted, by_count);
	common = sorted[BPK_SAMPLE_MAX_LAG / 2];
	best = sorted[BPK_SAMPLE_MAX_LAG - 1];
	*clear = best - common > compared / CLEAR;
	if (best - common <= compared / FAINT)
		return 0;
	for (size_t i = 0; i < sizeof shares / sizeof *shares; i++) {
		unsigned lag = first_lag(matches, common, best, shares[i]);

		if (lag > 0 && screen(c, lag, BPK_FILTER_SHUFFLE) != 0)
			return -1;
	}
	return 0;
}

static int by_cost(const void *a, const void *b)
{
	const struct trial *left = a, *right = b;

	if (left->cost != right->cost)
		return left->cost < right->cost ? -1 : 1;
	return (int)left->recipe.typesize - (int)right->recipe.typesize;
}

static void sort_trials(struct chooser *c)
{
	qsort(c->trials, c->ntrials, sizeof *c->trials, by_cost);
}

/* Elements of 4 and 8 bytes are tried unless the lags are clear: noise in the low bytes hides
 * them. */
static int screen_all(struct chooser *c)
{
	bool clear;

	if (screen(c, 1, BPK_FILTER_NONE) != 0 || screen_lags(c, &clear) != 0)
		return -1;
	if (!clear &&
	    (screen(c, 4, BPK_FILTER_SHUFFLE) != 0 || screen(c, 8, BPK_FILTER_SHUFFLE) != 0))
		return -1;
	sort_trials(c);
	if (filter_of(&c->trials[0].recipe) == BPK_FILTER_SHUFFLE &&
	    screen(c, c->trials[0].recipe.typesize, BPK_FILTER_BITSHUFFLE) != 0)
		return -1;
	sort_trials(c);
	return 0;
}

/* ---- The final round ---- */

/* Try the way of trial at another level, and keep it when it is better than best. */
static int try_level(struct chooser *c, struct trial trial, unsigned level, struct trial *best)
{
	trial.recipe.level = level;
	if (try_pieces(c, &trial) != 0)
		return -1;
	if (trial.cost < best->cost)
		*best = trial;
	return 0;
}

/* Take the better of the two best ways at the level in use, unless the second is far behind; then
 * find the level. */
static int decide(struct chooser *c, struct trial *best)
{
	const struct trial *first = &c->trials[0], *second = &c->trials[1];
	bool fixed = c->wishes->level != BPK_AUTO;

	*best = *first;
	if (c->level == first->recipe.level)
		return 0;
	if (fixed && c->ntrials == 1) {
		best->recipe.level = c->level;
		return 0;
	}
	if (fixed)
		best->cost = UINT64_MAX; /* screening was at another level */
	if (try_level(c, *first, c->level, best) != 0)
		return -1;
	if (c->ntrials > 1 && second->cost / (100 + NEARLY) < first->cost / 100 &&
	    try_level(c, *second, c->level, best) != 0)
		return -1;
	if (!fixed && best->recipe.level == DEFAULT_LEVEL)
		return try_level(c, *best, HIGH_LEVEL, best);
	return 0;
}

/* ---- Data that repeats across megabytes ---- */

/* Pack the window in chunks of one block. */
static int try_window(struct chooser *c, struct trial *trial, size_t chunk_size)
{
	trial->size = 0;
	trial->recipe.block_size = (uint32_t)chunk_size;
	if (pack_run(c, &trial->recipe, c->sample.window, chunk_size, &trial->size) != 0)
		return -1;
	trial->cost = cost_of(&trial->recipe, trial->size);
	return bpk_buf_printf(c->why, c->err,
			      "  level %u, typesize %u, %s, chunks of %zu: %llu bytes\n",
			      trial->recipe.level, trial->recipe.typesize,
			      bpk_filter_name(filter_of(&trial->recipe)), chunk_size,
			      (unsigned long long)trial->size);
}

/*
 * Long repeats are best packed as they are, in blocks that hold both copies: a filter tears them
 * apart and changes them unless they lie whole elements apart. Levels above ours are not tried, as
 * they would take too long on a whole window; what wins is then packed at the level that is wanted.
 */
static int decide_large(struct chooser *c, struct trial *best, bool *large)
{
	const struct bpk_wishes *wishes = c->wishes;
	unsigned wanted = best->recipe.level, level = (unsigned)bpk_min_u64(wanted, HIGH_LEVEL);
	unsigned high = wishes->level == BPK_AUTO ? HIGH_LEVEL : level;
	struct trial small = *best, plain = *best, filtered = *best, winner;

	if (bpk_buf_printf(c->why, c->err, "long runs repeat across more than a sample:\n") != 0)
		return -1;
	small.recipe.level = filtered.recipe.level = level;
	plain.recipe.level = high;
	if (wishes->pipeline == NULL)
		plain.recipe.pipeline = bpk_pipeline_of(BPK_FILTER_NONE);
	if (wishes->typesize == BPK_AUTO && plain.recipe.pipeline.nsteps == 0)
		plain.recipe.typesize = 1;
	if (try_window(c, &small, CHUNK) != 0 || try_window(c, &plain, LARGE_CHUNK) != 0 ||
	    try_window(c, &filtered, LARGE_CHUNK) != 0)
		return -1;
	winner = plain.cost <= filtered.cost ? plain : filtered;
	*large = winner.cost * (100 + LARGE_CHUNK_GAIN) < small.cost * 100;
	if (!*large)
		return 0;
	*best = winner;
	if (wishes->level != BPK_AUTO)
		best->recipe.level = wanted;
	return 0;
}

/* ---- All of it ---- */

/* What the wishes leave open is filled in with what suits anything. */
static void settle_without_trial(const struct chooser *c, struct bpk_recipe *recipe)
{
	const struct bpk_wishes *wishes = c->wishes;

	recipe->codec = c->base.codec;
	recipe->level = c->level;
	recipe->extended = wishes->extended;
	recipe->dictionary = wishes->dictionary;
	recipe->typesize = wishes->typesize == BPK_AUTO ? 1 : (unsigned)wishes->typesize;
	if (wishes->pipeline != NULL)
		recipe->pipeline = *wishes->pipeline;
	else
		recipe->pipeline = bpk_pipeline_of(recipe->typesize > 1 ? BPK_FILTER_SHUFFLE
									: BPK_FILTER_NONE);
}

static uint64_t whole_units(uint64_t size, uint64_t unit)
{
	return bpk_max_u64(unit, size - size % unit);
}

/* Whole elements, and whole eights of them, which a bitshuffle needs; at least one. */
static uint64_t whole_elements(uint64_t size, unsigned typesize)
{
	return whole_units(size, size >= 8 * typesize ? 8 * typesize : typesize);
}

static void settle_sizes(const struct bpk_wishes *wishes, bool large, struct bpk_choice *choice)
{
	uint64_t chunk_size = large ? LARGE_CHUNK : CHUNK;
	struct bpk_recipe *recipe = &choice->recipe;

	recipe->block_size = wishes->block_size;
	if (wishes->block_size == 0)
		recipe->block_size = (uint32_t)whole_elements(chunk_size, recipe->typesize);
	if (wishes->chunk_size != 0)
		chunk_size = bpk_min_u64(wishes->chunk_size, BPK_CHUNK_MAX_RAW_SIZE);
	if (wishes->row_size != 0)
		choice->chunk_size = whole_units(chunk_size, wishes->row_size);
	else if (wishes->chunk_size != 0)
		choice->chunk_size = whole_units(chunk_size, recipe->typesize);
	else
		choice->chunk_size = whole_elements(chunk_size, recipe->typesize);
	if (recipe->block_size > choice->chunk_size)
		recipe->block_size = (uint32_t)choice->chunk_size;
}

static int run_trials(struct chooser *c, struct bpk_choice *choice, bool *large)
{
	const struct bpk_wishes *wishes = c->wishes;
	bool sizes_open = wishes->chunk_size == 0 && wishes->block_size == 0;
	struct trial best;

	if (bpk_buf_printf(c->why, c->err, "tried on %zu bytes in %zu pieces:\n", c->sample.size,
			   c->sample.npieces) != 0 ||
	    screen_all(c) != 0)
		return -1;
	if (decide(c, &best) != 0)
		return -1;
	if (sizes_open && c->own_codec && bpk_sample_repeats_afar(&c->sample, MAX_NEAR) &&
	    decide_large(c, &best, large) != 0)
		return -1;
	choice->recipe = best.recipe;
	return 0;
}

/* The level of a codec that nobody names. */
static unsigned level_of(const struct bpk_codec *codec)
{
	return codec == bpk_codec_find("zstd") ? DEFAULT_LEVEL : OTHER_LEVEL;
}

struct bpk_recipe bpk_recipe_like(const struct bpk_chunk_header *header)
{
	struct bpk_recipe recipe = { .codec = bpk_codec_of_chunk(header),
				     .typesize = header->typesize,
				     .block_size = header->block_size };

	/* a stored chunk may name a codec that was never built in */
	if (recipe.codec == NULL)
		recipe.codec = bpk_codec_find("zstd");
	recipe.level = level_of(recipe.codec);
	recipe.pipeline = bpk_pipeline_exact(&header->pipeline);
	recipe.extended = header->header_size == BPK_CHUNK_EXTENDED_HEADER_SIZE;
	recipe.dictionary = header->dictionary;
	recipe.variable_blocks = header->variable_blocks;
	return recipe;
}

static void settle_chooser(struct chooser *c, const struct bpk_wishes *wishes)
{
	const struct bpk_codec *own = bpk_codec_find("zstd");

	c->wishes = wishes;
	c->base.codec = wishes->codec != NULL ? wishes->codec : own;
	c->own_codec = c->base.codec == own;
	c->level = wishes->level != BPK_AUTO ? (unsigned)wishes->level : level_of(c->base.codec);
	c->base.level = c->own_codec ? SCREEN_LEVEL : bpk_min_u64(c->level, OTHER_LEVEL);
	c->base.extended = wishes->extended;
	c->base.dictionary = wishes->dictionary;
	c->base.block_size = wishes->block_size != 0 ? wishes->block_size : LARGE_CHUNK;
}

static int say_choice(const struct bpk_choice *choice, struct bpk_buf *why, struct bpk_err *err)
{
	const struct bpk_recipe *recipe = &choice->recipe;

	return bpk_buf_printf(why, err,
			      "chosen: %s level %u, typesize %u, %s, chunks of %llu bytes, blocks "
			      "of %u bytes\n",
			      bpk_codec_name(recipe->codec), recipe->level, recipe->typesize,
			      bpk_filter_name(filter_of(recipe)),
			      (unsigned long long)choice->chunk_size, (unsigned)recipe->block_size);
}

int bpk_choose(struct bpk_source *source, uint64_t raw_size, const struct bpk_wishes *wishes,
	       struct bpk_choice *choice, struct bpk_err *err)
{
	struct chooser c = { .why = &choice->why, .err = err };
	bool large = false;
	int rc = -1;

	*choice = (struct bpk_choice){ 0 };
	settle_chooser(&c, wishes);
	settle_without_trial(&c, &choice->recipe);
	if (choice->recipe.level > 0) {
		if (bpk_sample_take(source, raw_size, &c.sample, err) != 0)
			goto out;
		c.ctx = bpk_chunk_ctx_new(err);
		if (c.ctx == NULL)
			goto out;
		if (c.sample.size >= TINY && run_trials(&c, choice, &large) != 0)
			goto out;
	}
	settle_sizes(wishes, large, choice);
	rc = say_choice(choice, &choice->why, err);
out:
	bpk_chunk_ctx_free(c.ctx);
	bpk_buf_clear(&c.packed);
	bpk_sample_clear(&c.sample);
	if (rc != 0)
		bpk_buf_clear(&choice->why);
	return rc;
}
