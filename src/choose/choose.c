/*
 * The steps that choose.h describes, each a call. The level is decided here: recipes race on
 * runs that are longer than the pieces, at the levels that are worth a trial, and perhaps in large
 * chunks. cli and archive call this.
 */
#include "choose/chooser.h"
#include "choose/known.h"

#include <inttypes.h>
#include <stdlib.h>

/* ---- Runs ---- */

/* A run is as long as a chunk unless the input is small, since the planes of a chunk are longer
 * than those of pieces. It is shorter if the input has several kinds, since each has its own, but
 * never if pieces tell too little. */
static size_t run_size(const struct bpk_chooser *c)
{
	uint64_t size = c->wishes->is_part ? c->raw_size / KIND_RUN_SHARE
					   : c->sample.window.size / RUN_SHARE;

	if (bpk_candidates_need_runs(c))
		return BPK_CHUNK;
	return (size_t)bpk_max_u64(SHORT_RUN, bpk_min_u64(size, BPK_CHUNK));
}

/* Cut raw into views of chunk_size bytes, or into fewer, longer ones. */
static struct bpk_views cut_views(struct bpk_view raw, size_t chunk_size)
{
	struct bpk_views views = { .ngroups = 1 };

	chunk_size = (size_t)bpk_max_u64(chunk_size, bpk_div_up(raw.size, BPK_VIEWS));
	for (size_t at = 0; at < raw.size; at += chunk_size) {
		views.weights[views.count] = 1;
		views.all[views.count++] =
			bpk_view(raw.data + at, bpk_min_size(chunk_size, raw.size - at));
	}
	return views;
}

/* Race on other views. */
static void set_views(struct bpk_chooser *c, struct bpk_views views)
{
	c->runs = views;
	c->raced.views = &c->runs;
	c->raced.count = 0;
}

/* Race on a run from the middle of the window, in chunks if the user wants them shorter. */
static void set_run(struct bpk_chooser *c)
{
	struct bpk_view window = c->sample.window;
	size_t size = bpk_min_size(run_size(c), window.size), chunk_size = size;

	if (c->wishes->chunk_size != 0)
		chunk_size = (size_t)bpk_min_u64(size, c->wishes->chunk_size);
	set_views(c, cut_views(bpk_view(window.data + (window.size - size) / 2, size), chunk_size));
}

/* Race on a shorter run around the piece of each group. */
static void set_group_runs(struct bpk_chooser *c)
{
	const struct bpk_views *pieces = &c->sample.pieces;

	set_views(c, (struct bpk_views){ .count = pieces->count, .ngroups = pieces->ngroups });
	memcpy(c->runs.weights, pieces->weights, sizeof c->runs.weights);
	for (size_t g = 0; g < pieces->count && !c->race.failed; g++)
		c->race.failed = bpk_sample_around(&c->sample, c->source, g, SHORT_RUN,
						   &c->bytes[g], &c->runs.all[g], c->race.err) != 0;
}

/* ---- Contests ---- */

static void set_level(struct bpk_recipes *recipes, unsigned level)
{
	for (size_t i = 0; i < recipes->count; i++)
		recipes->all[i].level = level;
}

/* The level of long trials: higher ones take too long, and seldom change the order of filters. */
static unsigned trial_level(const struct bpk_chooser *c, unsigned wanted)
{
	unsigned most = c->own_codec ? BPK_HIGH_LEVEL : BPK_OTHER_LEVEL;

	return (unsigned)bpk_min_u64(wanted, most);
}

/* The cost of recipes at a level, on the run. */
static uint64_t cost_at(struct bpk_chooser *c, const struct bpk_recipes *recipes, unsigned level)
{
	struct bpk_recipes trial = *recipes;

	set_level(&trial, level);
	return bpk_race_try_all(&c->race, &c->raced, &trial);
}

/* The size, without the price of its level; of several recipes as if they had the filters of the
 * first. */
static uint64_t size_at(struct bpk_chooser *c, const struct bpk_recipes *recipes, unsigned level)
{
	struct bpk_recipe first = recipes->all[0];

	first.level = level;
	return cost_at(c, recipes, level) / bpk_race_cost(&first, 1);
}

/* The number of recipes that the pieces do not separate from the first. */
static size_t count_near(const struct bpk_chooser *c)
{
	const struct bpk_recipes *all = c->recipes;
	uint64_t raw = bpk_views_cost(&c->sample.pieces), first = all[0].cost;
	size_t count = 1;

	/* the choice matters little for noise and for zeros */
	if (first > raw / 100 * INCOMPRESSIBLE || first < raw / ZEROS)
		return 1;
	/* the other codecs are quick, and their filters differ more */
	if (bpk_candidates_need_runs(c))
		return c->own_codec ? bpk_min_size(c->nrecipes, RACED_MORE) : c->nrecipes;
	while (count < c->nrecipes && count < RACED &&
	       all[count].cost / (100 + NEARLY) < first / 100)
		count++;
	return count;
}

/* Sort the first recipes by their costs on the run. */
static void race(struct bpk_chooser *c, size_t count, unsigned level)
{
	for (size_t i = 0; i < count && count > 1; i++) {
		struct bpk_recipes next = c->recipes[i];

		next.cost = cost_at(c, &next, level);
		bpk_recipes_insert(c->recipes, i, &next);
	}
}

/* ---- Groups ---- */

/* Try filters for elements of typesize bytes on a group's run: those that are near the best on its
 * pieces. */
static void race_group(struct bpk_chooser *c, unsigned group, unsigned typesize, unsigned level)
{
	uint32_t mask = bpk_views_group(&c->sample.pieces, group);
	uint64_t first = 0, cost = 0;

	for (size_t k = 0; k < RACED; k++) {
		const struct bpk_trial *trial =
			bpk_candidates_next(&c->screened, mask, typesize, c->base.level, cost);
		struct bpk_recipe recipe;

		if (trial == NULL)
			return;
		cost = bpk_trial_cost(trial, mask);
		first = k == 0 ? cost : first;
		if (cost / (100 + NEARLY) > first / 100)
			return;
		recipe = trial->recipe;
		bpk_candidates_retype(&trial->recipe, typesize, &recipe.pipeline);
		recipe.typesize = typesize;
		recipe.level = level;
		bpk_race_try(&c->race, &c->raced, &recipe, UINT32_C(1) << group);
	}
}

/* Settle the element size and the filters of each group, on a run of each. */
static struct bpk_recipes race_groups(struct bpk_chooser *c, size_t count, unsigned level)
{
	struct bpk_recipes best = { .cost = UINT64_MAX }, recipes;

	set_group_runs(c);
	for (size_t i = 0; i < count; i++) {
		unsigned typesize = c->recipes[i].all[0].typesize;

		for (unsigned g = 0; g < c->runs.ngroups; g++)
			race_group(c, g, typesize, level);
		bpk_candidates_combine(&c->raced, typesize, level, &recipes);
		if (recipes.cost < best.cost)
			best = recipes;
	}
	/* one of them may be nearly as good for all groups */
	bpk_race_try_all(&c->race, &c->raced, &best);
	bpk_candidates_combine(&c->raced, best.all[0].typesize, level, &best);
	return best;
}

/* ---- The level ---- */

/* The level that is worth its time for recipes on the runs. Pieces are too short to compare levels,
 * whose windows and tables differ. */
static unsigned level_on_runs(struct bpk_chooser *c, const struct bpk_recipes *recipes)
{
	uint64_t low = cost_at(c, recipes, SCREEN_LEVEL);
	uint64_t middle = cost_at(c, recipes, BPK_DEFAULT_LEVEL);

	/* a level that gains little promises little of the next */
	if (middle / (100 - LEVEL_PROMISING) <= low / 100 &&
	    cost_at(c, recipes, BPK_HIGH_LEVEL) < middle)
		return BPK_HIGH_LEVEL;
	return middle < low ? BPK_DEFAULT_LEVEL : SCREEN_LEVEL;
}

/* The runs of groups stand for the whole input, but are short. The run in the middle is long, but
 * may belong to one group. */
static unsigned decide_level(struct bpk_chooser *c, const struct bpk_recipes *recipes)
{
	unsigned level = level_on_runs(c, recipes);

	if (c->uniform || level != SCREEN_LEVEL)
		return level;
	set_run(c);
	return level_on_runs(c, recipes);
}

/* The wanted level, or level 2 if that packs the runs smaller, as it does mesh-i32 by 13% at 3:
 * quick levels search in another way. Sizes are compared, since the user has decided about time;
 * one who decides about filters, too, gets his level. */
static unsigned smaller_level(struct bpk_chooser *c, const struct bpk_recipes *recipes,
			      unsigned wanted)
{
	if (!c->uniform)
		set_run(c); /* runs of groups are too short to compare levels */
	return size_at(c, recipes, BPK_DEFAULT_LEVEL) < size_at(c, recipes, wanted)
		       ? BPK_DEFAULT_LEVEL
		       : wanted;
}

/* The unfiltered recipe like one, where the user left it open. */
static struct bpk_recipe unfiltered(const struct bpk_wishes *wishes, struct bpk_recipe recipe)
{
	if (wishes->level == BPK_AUTO)
		recipe.level = BPK_HIGH_LEVEL;
	if (wishes->pipeline == NULL)
		recipe.pipeline = bpk_pipeline_of(BPK_FILTER_NONE);
	if (wishes->typesize == BPK_AUTO && recipe.pipeline.nsteps == 0)
		recipe.typesize = 1;
	return recipe;
}

static bool is_text(const struct bpk_chooser *c)
{
	const struct bpk_views *pieces = &c->sample.pieces;

	for (size_t i = 0; i < pieces->count; i++)
		if (!bpk_text_is_lines(pieces->all[i]))
			return false;
	return pieces->count > 0;
}

/*
 * Lines of text that differ in length have no columns for a filter, and gain much by far matches: a
 * higher level in large chunks packs them as small as zstd -9. Where numbers leave few matches, low
 * levels pack as small, and columns pack smaller by filters: both stay. Sizes are compared, of all
 * of a small input, since a file may consist of sections of different columns.
 */
static bool try_text(struct bpk_chooser *c, struct bpk_recipes *best)
{
	struct bpk_recipes text = { .count = 1 };
	uint64_t low;

	if (c->wishes->level != BPK_AUTO || !c->own_codec || !is_text(c))
		return false;
	if (c->sample.window_is_all)
		set_views(c, cut_views(c->sample.window, BPK_CHUNK));
	else if (!c->uniform)
		set_run(c);
	text.all[0] = unfiltered(c->wishes, best->all[0]);
	low = bpk_min_u64(size_at(c, best, SCREEN_LEVEL), size_at(c, best, BPK_DEFAULT_LEVEL));
	if (size_at(c, &text, BPK_TEXT_LEVEL) >= low / 100 * (100 - TEXT_GAIN))
		return false;
	*best = text;
	return true;
}

/* Choose among the recipes, and decide on the level. */
static void decide(struct bpk_chooser *c, struct bpk_choice *choice, bool *text)
{
	unsigned level = trial_level(c, c->level), wanted = c->level;
	struct bpk_recipes best;
	size_t count;

	bpk_candidates_make_recipes(c);
	count = count_near(c);
	if (c->uniform) {
		set_run(c);
		race(c, count, level);
		best = c->recipes[0];
	} else {
		best = race_groups(c, bpk_min_size(count, GROUP_SIZES), level);
	}
	*text = try_text(c, &best);
	if (*text)
		wanted = BPK_TEXT_LEVEL;
	else if (c->wishes->level == BPK_AUTO && c->own_codec)
		wanted = decide_level(c, &best);
	else if (wanted >= BPK_HIGH_LEVEL && wanted < BPK_SMALLEST_LEVEL && c->own_codec &&
		 c->wishes->pipeline == NULL)
		wanted = smaller_level(c, &best, wanted);
	/* the first two may change places at another level */
	if (c->uniform && wanted < level) {
		race(c, bpk_min_size(count, 2), wanted);
		best = c->recipes[0];
	}
	if (c->race.failed)
		return;
	set_level(&best, wanted);
	choice->recipe = best.all[0];
	for (size_t i = 1; i < best.count; i++)
		choice->candidates[choice->ncandidates++] =
			(struct bpk_candidate){ .typesize = best.all[i].typesize,
						.pipeline = best.all[i].pipeline };
}

/* ---- Data that repeats across megabytes ---- */

/* Planes of wide elements are packed by themselves, and do not find what repeats in another. Try
 * the best recipe for single bytes, with a shuffle of the same width. */
static void try_unsplit(struct bpk_chooser *c)
{
	struct bpk_recipe recipe = c->raced.all[0].recipe;

	if (c->wishes->typesize != BPK_AUTO || c->wishes->pipeline != NULL ||
	    !bpk_candidates_retype(&c->raced.all[0].recipe, 1, &recipe.pipeline))
		return;
	recipe.typesize = 1;
	bpk_race_try(&c->race, &c->raced, &recipe, 1);
}

/*
 * Long repeats pack best unfiltered, in blocks that hold both copies: a filter tears them apart and
 * changes them unless they lie whole elements apart. So the best in large chunks need not be the
 * best on a run. Levels above the one wanted are not tried, as they would take too long on a whole
 * window; the best is then packed at the wanted level.
 */
static bool try_large(struct bpk_chooser *c, struct bpk_choice *choice)
{
	unsigned wanted = choice->recipe.level;
	struct bpk_recipe plain;
	uint64_t of_small;

	if (bpk_buf_printf(c->race.why, c->race.err,
			   "long runs repeat across more than a sample:\n") != 0)
		c->race.failed = true;
	choice->recipe.level = trial_level(c, wanted);
	plain = unfiltered(c->wishes, choice->recipe);
	set_views(c, cut_views(c->sample.window, BPK_CHUNK));
	bpk_race_try(&c->race, &c->raced, &choice->recipe, bpk_views_all(&c->runs));
	of_small = bpk_trial_cost(&c->raced.all[0], bpk_views_all(&c->runs));
	set_views(c, cut_views(c->sample.window, BPK_LARGE_CHUNK));
	bpk_race_try(&c->race, &c->raced, &plain, 1);
	bpk_race_try(&c->race, &c->raced, &choice->recipe, 1);
	try_unsplit(c);
	choice->recipe.level = wanted;
	if (c->race.failed ||
	    bpk_trial_cost(&c->raced.all[0], 1) * (100 + LARGE_CHUNK_GAIN) >= of_small * 100)
		return false;
	choice->recipe = c->raced.all[0].recipe;
	if (c->wishes->level != BPK_AUTO)
		choice->recipe.level = wanted;
	return true;
}

/* ---- Settings ---- */

/* Round size to whole elements, and to whole eights of them, which a bitshuffle needs; at least one
 * element. */
static uint64_t whole_elements(uint64_t size, unsigned typesize)
{
	return bpk_whole_units(size, size >= 8 * typesize ? 8 * typesize : typesize);
}

/* A header of Blosc2 takes 16 bytes more of a chunk's 2^31-1 ("Limits"). */
static uint64_t largest_chunk(const struct bpk_wishes *wishes)
{
	return wishes->extended ? BPK_CHUNK_MAX_RAW_SIZE_EXTENDED : BPK_CHUNK_MAX_RAW_SIZE;
}

static void set_sizes(const struct bpk_wishes *wishes, bool large, struct bpk_choice *choice)
{
	uint64_t chunk_size = large ? BPK_LARGE_CHUNK : BPK_CHUNK;
	struct bpk_recipe *recipe = &choice->recipe;

	recipe->block_size = wishes->block_size;
	if (wishes->block_size == 0)
		recipe->block_size = (uint32_t)whole_elements(chunk_size, recipe->typesize);
	if (wishes->chunk_size != 0)
		chunk_size = bpk_min_u64(wishes->chunk_size, largest_chunk(wishes));
	if (wishes->row_size != 0)
		choice->chunk_size = bpk_whole_units(chunk_size, wishes->row_size);
	else if (wishes->chunk_size != 0)
		choice->chunk_size = bpk_whole_units(chunk_size, recipe->typesize);
	else
		choice->chunk_size = whole_elements(chunk_size, recipe->typesize);
	if (recipe->block_size > choice->chunk_size)
		recipe->block_size = (uint32_t)choice->chunk_size;
}

static int run_trials(struct bpk_chooser *c, struct bpk_choice *choice, bool *large)
{
	const struct bpk_wishes *wishes = c->wishes;
	bool sizes_open = wishes->chunk_size == 0 && wishes->block_size == 0;

	if (sizes_open && bpk_sample_repeats_afar(&c->sample, &c->repeats, c->race.err) != 0)
		return -1;
	if (bpk_buf_printf(c->race.why, c->race.err, "tried on %zu bytes in %zu piece%s:\n",
			   c->sample.size, c->sample.pieces.count,
			   c->sample.pieces.count == 1 ? "" : "s") != 0)
		return -1;
	bpk_candidates_find(c);
	if (c->race.failed)
		return -1;
	decide(c, choice, large);
	if (!c->race.failed && !*large && c->repeats && c->own_codec)
		*large = try_large(c, choice);
	return c->race.failed ? -1 : 0;
}

/* The level for a codec if the user names no level. */
static unsigned level_of(const struct bpk_codec *codec)
{
	return codec == bpk_codec_find("zstd") ? BPK_DEFAULT_LEVEL : BPK_OTHER_LEVEL;
}

bool bpk_recipe_is_shown(const struct bpk_chunk_header *header)
{
	return !header->memcpyed && header->special == BPK_SPECIAL_NONE && header->raw_size > 0;
}

struct bpk_recipe bpk_recipe_like(const struct bpk_chunk_header *header)
{
	struct bpk_recipe recipe = { .codec = bpk_codec_of_chunk(header),
				     .typesize = header->typesize,
				     .block_size = header->block_size };

	/* a stored chunk may name a codec that is not built in */
	if (recipe.codec == NULL)
		recipe.codec = bpk_codec_find("zstd");
	recipe.level = level_of(recipe.codec);
	recipe.pipeline = bpk_pipeline_exact(&header->pipeline);
	recipe.extended = header->header_size == BPK_CHUNK_EXTENDED_HEADER_SIZE;
	recipe.dictionary = header->dictionary;
	recipe.variable_blocks = header->variable_blocks;
	return recipe;
}

static void init_chooser(struct bpk_chooser *c, const struct bpk_wishes *wishes)
{
	const struct bpk_codec *own = bpk_codec_find("zstd");

	c->wishes = wishes;
	c->base.codec = wishes->codec != NULL ? wishes->codec : own;
	c->own_codec = c->base.codec == own;
	c->level = wishes->level != BPK_AUTO ? (unsigned)wishes->level : level_of(c->base.codec);
	c->base.level = c->own_codec ? (unsigned)SCREEN_LEVEL : trial_level(c, c->level);
	c->base.block_size = wishes->block_size != 0 ? wishes->block_size : BPK_LARGE_CHUNK;
	c->base.extended = wishes->extended;
	c->base.dictionary = wishes->extended && wishes->dictionary;
	c->base.typesize = wishes->typesize == BPK_AUTO ? 1 : (unsigned)wishes->typesize;
	if (wishes->pipeline != NULL)
		c->base.pipeline = *wishes->pipeline;
	else if (c->base.typesize > 1)
		c->base.pipeline = bpk_pipeline_of(BPK_FILTER_SHUFFLE);
}

bool bpk_choice_line_is_trial(const char *line)
{
	static const char *const begins[] = { "tried on ", "  level " }; /* race.c has the second */
	bool is = false;

	for (size_t i = 0; i < sizeof begins / sizeof begins[0]; i++)
		is = is || strncmp(line, begins[i], strlen(begins[i])) == 0;
	return is;
}

static int say_choice(const struct bpk_choice *choice, struct bpk_buf *why, struct bpk_err *err)
{
	const struct bpk_recipe *recipe = &choice->recipe;
	char filters[BPK_PIPELINE_TEXT];

	if (bpk_buf_printf(why, err, "chosen: %s level %u, typesize %u, %s",
			   bpk_codec_name(recipe->codec), recipe->level, recipe->typesize,
			   bpk_pipeline_print(&recipe->pipeline, filters)) != 0)
		return -1;
	for (size_t i = 0; i < choice->ncandidates; i++)
		if (bpk_buf_printf(why, err, " or %s",
				   bpk_pipeline_print(&choice->candidates[i].pipeline, filters)) !=
		    0)
			return -1;
	return bpk_buf_printf(why, err, ", chunks of %" PRIu64 " bytes, blocks of %u bytes\n",
			      choice->chunk_size, (unsigned)recipe->block_size);
}

/* Run trials unless an earlier input looked alike. */
static int choose_by_sample(struct bpk_chooser *c, struct bpk_choice *choice, struct bpk_err *err)
{
	const struct bpk_choice *known;
	struct bpk_known_input input;
	bool large = false;

	if (bpk_sample_take(c->source, c->raw_size, &c->sample, err) != 0)
		return -1;
	if (c->sample.size == 0)
		return 0;
	input = bpk_known_look(&c->sample);
	known = bpk_known_find(c->wishes, &input);
	if (known != NULL) {
		*choice = *known;
		return bpk_buf_printf(&choice->why, err, "looks like an earlier input:\n");
	}
	if (bpk_race_open(&c->race, &choice->why, err) != 0 || run_trials(c, choice, &large) != 0)
		return -1;
	set_sizes(c->wishes, large, choice);
	bpk_known_add(c->wishes, &input, choice);
	return 0;
}

int bpk_choose(struct bpk_source *source, uint64_t raw_size, const struct bpk_wishes *wishes,
	       struct bpk_choice *choice, struct bpk_err *err)
{
	struct bpk_chooser *c = bpk_calloc(1, sizeof *c, err);
	struct bpk_wishes possible = *wishes;
	int rc = -1;

	*choice = (struct bpk_choice){ 0 };
	if (c == NULL)
		return -1;
	c->source = source;
	c->raw_size = raw_size;
	if (!wishes->extended && wishes->pipeline != NULL &&
	    !bpk_pipeline_is_plain(wishes->pipeline))
		possible.pipeline = NULL;
	init_chooser(c, &possible);
	choice->recipe = c->base;
	choice->recipe.level = c->level;
	rc = c->level > 0 ? choose_by_sample(c, choice, err) : 0;
	if (rc == 0 && choice->chunk_size == 0)
		set_sizes(wishes, false, choice);
	if (rc == 0)
		rc = say_choice(choice, &choice->why, err);
	bpk_race_close(&c->race);
	for (unsigned g = 0; g < BPK_SAMPLE_GROUPS; g++)
		bpk_buf_clear(&c->bytes[g]);
	bpk_sample_clear(&c->sample);
	free(c);
	if (rc != 0)
		bpk_buf_clear(&choice->why);
	return rc;
}
