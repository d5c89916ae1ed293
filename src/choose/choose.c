/*
 * The steps that choose.h describes, each a call, and the measurements behind the cost of recipes.
 * The cost is the packed size and, in thousandths, the gain that a slower recipe must bring:
 *
 *      shuffle over none            2    bitshuffle over none       8
 *      delta, bytedelta             3    records over 16 bytes      2
 *      level 2 over level 1        10    level 3 over level 2      50
 *      filters for each chunk      10    chunks of 4 over 1 MiB    50
 *      a prediction                 3    by value over by rank     20
 *
 * The choice is at most 1% larger than the best single recipe of the same level, as far as samples
 * show (tests/bench/bench-choice).
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
 * Level 2 is within 3% of level 3 at twice its speed, so trials start from it. Level 1 is chosen if
 * level 2 gains nothing, level 3 if it gains much.
 *
 * The other codecs have level 5, as in Blosc: their lower levels find few matches. Their windows
 * are short, so large chunks gain nothing for them.
 *
 * The filters, at level 1 on one thread in extended chunks (ratio, packed and unpacked at MB/s):
 *
 *      data              shuffle             bitshuffle          shuffle,bytedelta
 *      turbulence f32    1.244  920 2630     1.251 1030 2160     1.261  730 1420
 *      sorted i64        5.30  1300 5450     5.08  1880 3340     6.43  1420 3560
 *      records of 20     3.40   900 2190     3.54  1090 2110     3.89   790 1790
 *      records of 7      5.19  1010 2670     5.59  1450 2610     6.89   830 1970
 *
 * A block is a whole chunk of 1 MiB: against the 256 KiB of other writers it is packed up to a
 * third faster and some percent smaller (longer planes, fewer streams), and still fits the cache.
 * This holds for frames, too: with blocks of 512 KiB c-blosc2 takes 2% less time (7% with 256 KiB),
 * bpk itself 10% more, and archives are up to 0.8% larger (2% with 256 KiB).
 */
#include "choose/chooser.h"

#include <inttypes.h>
#include <stdlib.h>

/* ---- All of it ---- */

/* Fill in defaults for the choices that the wishes leave open. */
static void settle_without_trial(const struct bpk_chooser *c, struct bpk_recipe *recipe)
{
	const struct bpk_wishes *wishes = c->wishes;

	*recipe = c->base;
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

/* Round size to whole elements, and to whole eights of them, which a bitshuffle needs; at least one
 * element. */
static uint64_t whole_elements(uint64_t size, unsigned typesize)
{
	return whole_units(size, size >= 8 * typesize ? 8 * typesize : typesize);
}

/* A header of Blosc2 takes 16 bytes more of a chunk's 2^31-1 ("Limits"). */
static uint64_t largest_chunk(const struct bpk_wishes *wishes)
{
	return wishes->extended ? BPK_CHUNK_MAX_RAW_SIZE_EXTENDED : BPK_CHUNK_MAX_RAW_SIZE;
}

static void settle_sizes(const struct bpk_wishes *wishes, bool large, struct bpk_choice *choice)
{
	uint64_t chunk_size = large ? BPK_LARGE_CHUNK : BPK_CHUNK;
	struct bpk_recipe *recipe = &choice->recipe;

	recipe->block_size = wishes->block_size;
	if (wishes->block_size == 0)
		recipe->block_size = (uint32_t)whole_elements(chunk_size, recipe->typesize);
	if (wishes->chunk_size != 0)
		chunk_size = bpk_min_u64(wishes->chunk_size, largest_chunk(wishes));
	if (wishes->row_size != 0)
		choice->chunk_size = whole_units(chunk_size, wishes->row_size);
	else if (wishes->chunk_size != 0)
		choice->chunk_size = whole_units(chunk_size, recipe->typesize);
	else
		choice->chunk_size = whole_elements(chunk_size, recipe->typesize);
	if (recipe->block_size > choice->chunk_size)
		recipe->block_size = (uint32_t)choice->chunk_size;
}

static int run_trials(struct bpk_chooser *c, struct bpk_choice *choice, bool *large)
{
	const struct bpk_wishes *wishes = c->wishes;
	bool sizes_open = wishes->chunk_size == 0 && wishes->block_size == 0;
	bool repeats = false;

	if (bpk_buf_printf(c->race.why, c->race.err, "tried on %zu bytes in %zu pieces:\n",
			   c->sample.size, c->sample.pieces.count) != 0)
		return -1;
	bpk_candidates_find(c);
	if (c->race.failed)
		return -1;
	bpk_level_decide(c, choice);
	if (!c->race.failed && sizes_open && c->own_codec &&
	    bpk_sample_repeats_afar(&c->sample, REPEAT_DISTANCE, &repeats, c->race.err) != 0)
		return -1;
	if (repeats)
		*large = bpk_level_large(c, choice);
	return c->race.failed ? -1 : 0;
}

/* The level for a codec if the user names no level. */
static unsigned level_of(const struct bpk_codec *codec)
{
	return codec == bpk_codec_find("zstd") ? BPK_DEFAULT_LEVEL : BPK_OTHER_LEVEL;
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

static void settle_chooser(struct bpk_chooser *c, const struct bpk_wishes *wishes)
{
	const struct bpk_codec *own = bpk_codec_find("zstd");

	c->wishes = wishes;
	c->base.codec = wishes->codec != NULL ? wishes->codec : own;
	c->own_codec = c->base.codec == own;
	c->level = wishes->level != BPK_AUTO ? (unsigned)wishes->level : level_of(c->base.codec);
	c->base.level = c->own_codec ? (unsigned)SCREEN_LEVEL
				     : (unsigned)bpk_min_u64(c->level, BPK_OTHER_LEVEL);
	c->base.block_size = wishes->block_size != 0 ? wishes->block_size : BPK_LARGE_CHUNK;
	c->base.extended = wishes->extended;
	c->base.dictionary = wishes->extended && wishes->dictionary;
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

int bpk_choose(struct bpk_source *source, uint64_t raw_size, const struct bpk_wishes *wishes,
	       struct bpk_choice *choice, struct bpk_err *err)
{
	struct bpk_chooser *c = bpk_calloc(1, sizeof *c, err);
	struct bpk_wishes possible = *wishes;
	bool large = false;
	int rc = -1;

	*choice = (struct bpk_choice){ 0 };
	if (c == NULL)
		return -1;
	c->source = source;
	c->raw_size = raw_size;
	if (!wishes->extended && wishes->pipeline != NULL &&
	    !bpk_pipeline_is_plain(wishes->pipeline))
		possible.pipeline = NULL;
	settle_chooser(c, &possible);
	settle_without_trial(c, &choice->recipe);
	if (choice->recipe.level > 0) {
		if (bpk_sample_take(source, raw_size, &c->sample, err) != 0)
			goto out;
		if (bpk_race_open(&c->race, &choice->why, err) != 0)
			goto out;
		if (c->sample.size >= SAMPLE_LEAST && run_trials(c, choice, &large) != 0)
			goto out;
	}
	settle_sizes(wishes, large, choice);
	rc = say_choice(choice, &choice->why, err);
out:
	bpk_race_close(&c->race);
	for (unsigned g = 0; g < BPK_SAMPLE_GROUPS; g++)
		bpk_buf_clear(&c->bytes[g]);
	bpk_sample_clear(&c->sample);
	free(c);
	if (rc != 0)
		bpk_buf_clear(&choice->why);
	return rc;
}
