/*
 * Prediction, if the user asks for it. Called by pack. The arrays of an input give a few
 * candidates. A race on the chunk in its middle keeps the best two. Each chunk then gets the
 * candidate that packs two pieces of it best, or no prediction. Only the bytes decide, so threads
 * change nothing.
 *
 *      {P}  {P,P}  {P,P,P}        the frame before, a line or a parabola through the last ones
 *      {1}  {X,1}  {XY,X,1}       neighbours in a row, in a plane, in a grid (Lorenzo)
 *      {X,X,1,1} ...              the same by lines and planes through two of them
 *      {P,1}  {P,1,X}             changes since the last frame, by their neighbours
 *
 * Floats are predicted by value, or by rank, which is quicker, if that is about as good.
 *
 * tests/bench/RESULTS.md has the gains and costs (bench-predict). The first frame of a chunk
 * depends on no other, so chunks hold several frames; reading a frame unpacks its chunk up to it.
 */
#include "choose/grid.h"

#include <inttypes.h>

#include "choose/chooser.h"

/* ---- Candidates ---- */

struct candidates {
	const struct bpk_grid *grid;
	const struct bpk_wishes *wishes;
	struct bpk_predictions *to;
	bool by_value;
};

/* Combine a prediction with each list of filters, or with the filters wished for. */
static void add_filters(struct candidates *c, const struct bpk_prediction *prediction)
{
	const struct bpk_pipeline *wished = c->wishes->pipeline;
	/* differences of values have no bytes that change smoothly */
	size_t n = BPK_CANDIDATES_FILTERS - c->by_value;

	if (wished != NULL)
		n = 1;

	for (size_t k = 0; k < n && c->to->count < BPK_PREDICTIONS; k++)
		c->to->all[c->to->count++] = (struct bpk_candidate){
			.typesize = c->wishes->typesize != BPK_AUTO ? (unsigned)c->wishes->typesize
								    : prediction->size,
			.pipeline = wished != NULL ? *wished : bpk_candidates_filters[k],
			.prediction = *prediction,
		};
}

/* A prediction has no strides of 0: no candidate if one comes before others, or first. */
static void add(struct candidates *c, const uint64_t strides[BPK_PREDICTION_STRIDES])
{
	const struct bpk_grid *o = c->grid;
	struct bpk_prediction p = {
		.size = o->size,
		.is_float = o->is_float,
		.big_endian = o->big_endian,
		.phase = (unsigned)(o->origin % o->size),
		.scale = c->by_value,
	};

	for (size_t k = 0; k < BPK_PREDICTION_STRIDES; k++) {
		if (strides[k] > UINT32_MAX || (strides[k] > 0 && p.nstrides < k))
			return;
		if (strides[k] > 0)
			p.strides[p.nstrides++] = (uint32_t)strides[k];
	}
	/* with fewer dimensions some candidates are equal */
	for (size_t i = 0; i < c->to->count; i++)
		if (bpk_prediction_equal(&c->to->all[i].prediction, &p))
			return;
	if (p.nstrides > 0)
		add_filters(c, &p);
}

/* The period, if the first dimension of an array gives it, is also one of the grid's strides. */
static uint64_t period_beside(const struct bpk_grid *o)
{
	for (size_t i = 0; i < o->nstrides; i++)
		if (o->period <= o->strides[i])
			return 0;
	return o->period;
}

/* The shortest strides come first: a decoder waits for the numbers that they refer to. */
static void list_candidates(struct candidates *c)
{
	const struct bpk_grid *o = c->grid;
	uint64_t p = o->period, q = period_beside(o), u = o->strides[0], x = o->strides[1],
		 y = o->strides[2];
	const uint64_t all[][BPK_PREDICTION_STRIDES] = {
		{ p },
		{ p, p },
		{ u },
		{ u, x },
		{ u, x, y },
		{ u, q },
		{ p, p, p },
		{ u, u },
		{ u, u, x, x },
		{ u, u, x, y },
		{ u, u, x, x, y, y },
		{ u, x, q },
		{ u, x, y, q },
		{ u, q, q },
	};
	/* by rank, floats have the simple ones alone */
	size_t n = o->is_float && !c->by_value ? 6 : sizeof all / sizeof *all;

	for (size_t i = 0; i < n; i++)
		add(c, all[i]);
}

/* ---- The size of chunks ---- */

/*
 * Whole frames, 0 where chunks cannot be so large. A chunk that does not begin at a frame ends in a
 * part of another, so it has one less: reading any frame unpacks no more than key_frames of them.
 */
static uint64_t chunk_size_for(const struct bpk_grid *o, unsigned key_frames)
{
	uint64_t period = o->period * o->size, frames = key_frames;

	if (o->period > BPK_CHUNK_MAX_RAW_SIZE_EXTENDED / 2 / o->size)
		return 0;
	if (period == 0)
		return PREDICT_LEAST_CHUNK;
	if (key_frames == 0)
		frames = bpk_max_u64(KEY_FRAMES, PREDICT_LEAST_CHUNK / period);
	frames = bpk_min_u64(frames, bpk_max_u64(PREDICT_MOST_CHUNK / period, 2));
	if (o->origin % period != 0 && frames > 2)
		frames--;
	return frames * period;
}

/* ---- Predictions ---- */

/* The chunk in the middle of a source; of a pipe, the first bytes, which can be peeked at. */
static int read_chunk(struct bpk_source *source, uint64_t raw_size, uint64_t chunk_size,
		      struct bpk_buf *bytes, struct bpk_view *chunk, uint64_t *offset,
		      struct bpk_err *err)
{
	uint64_t size;
	size_t got;

	*offset = 0;
	if (!bpk_source_seekable(source))
		return bpk_source_peek(source, bpk_min_u64(chunk_size, PREDICT_LEAST_CHUNK), chunk,
				       err);
	*offset = (bpk_div_up(raw_size, chunk_size) - 1) / 2 * chunk_size;
	size = bpk_min_u64(bpk_min_u64(chunk_size, PREDICT_MOST_CHUNK), raw_size - *offset);
	if (bpk_buf_resize(bytes, size, err) != 0 ||
	    bpk_source_read_at(source, *offset, bpk_span(bytes->data, size), &got, err) != 0)
		return -1;
	*chunk = bpk_view(bytes->data, got);
	return 0;
}

/* Keep the best two of the predictions in a ranking, if they are better than no prediction. */
static void keep_best(const struct bpk_ranking *ranking, struct bpk_predictions *predictions)
{
	unsigned phase = predictions->all[0].prediction.phase;

	predictions->count = 0;
	for (size_t i = 0; i < bpk_min_size(2, ranking->count); i++) {
		const struct bpk_recipe *recipe = &ranking->all[i].recipe;
		struct bpk_candidate *kept = &predictions->all[predictions->count];

		if (recipe->prediction.size == 0)
			break;
		*kept = (struct bpk_candidate){ recipe->typesize, recipe->pipeline,
						recipe->prediction };
		kept->prediction.phase = phase;
		predictions->count++;
	}
}

static int narrow(struct bpk_source *source, uint64_t raw_size, uint64_t chunk_size,
		  const struct bpk_recipe *recipe, struct bpk_predictions *predictions,
		  struct bpk_err *err)
{
	struct bpk_race race = { 0 };
	struct bpk_buf bytes = { 0 };
	struct bpk_view raw;
	uint64_t offset;
	int rc = -1;

	if (bpk_race_open(&race, NULL, err) == 0 &&
	    read_chunk(source, raw_size, chunk_size, &bytes, &raw, &offset, err) == 0)
		rc = bpk_race_chunk(&race, recipe, predictions->all, predictions->count, raw,
				    offset, err);
	if (rc == 0)
		keep_best(race.ranking, predictions);
	else
		predictions->count = 0;
	bpk_race_close(&race);
	bpk_buf_clear(&bytes);
	return rc;
}

static int say(const struct bpk_grid *o, uint64_t chunk_size,
	       const struct bpk_predictions *predictions, struct bpk_buf *why, struct bpk_err *err)
{
	char filters[BPK_PIPELINE_TEXT];

	if (bpk_buf_printf(why, err,
			   "prediction: numbers of %u bytes, period %" PRIu64 ", chunks of %" PRIu64
			   " bytes%s\n",
			   o->size, o->period * o->size, chunk_size,
			   predictions->count == 0 ? ": nothing is gained" : "") != 0)
		return -1;
	for (size_t i = 0; i < predictions->count; i++) {
		const struct bpk_candidate *predicted = &predictions->all[i];

		if (bpk_buf_printf(why, err, "  differences at") != 0)
			return -1;
		for (unsigned k = 0; k < predicted->prediction.nstrides; k++)
			if (bpk_buf_printf(why, err, " %u",
					   (unsigned)predicted->prediction.strides[k]) != 0)
				return -1;
		if (bpk_buf_printf(why, err, "%s, %s\n",
				   predicted->prediction.scale > 0 ? " by value" : "",
				   bpk_pipeline_print(&predicted->pipeline, filters)) != 0)
			return -1;
	}
	return 0;
}

int bpk_predict(struct bpk_source *source, uint64_t raw_size, const struct bpk_array *array,
		unsigned key_frames, const struct bpk_wishes *wishes, struct bpk_choice *choice,
		struct bpk_predictions *predictions, struct bpk_err *err)
{
	struct bpk_grid grid;
	struct candidates c = { .grid = &grid, .wishes = wishes, .to = predictions };
	uint64_t chunk_size;

	*predictions = (struct bpk_predictions){ 0 };
	if (bpk_grid_find(source, raw_size, array, &grid, err) != 0)
		return -1;
	chunk_size = grid.size == 0 ? 0 : chunk_size_for(&grid, key_frames);
	if (chunk_size > 0 && wishes->chunk_size > 0)
		chunk_size = bpk_whole_units(
			bpk_min_u64(wishes->chunk_size, BPK_CHUNK_MAX_RAW_SIZE_EXTENDED),
			8 * grid.size);
	if (chunk_size == 0 || choice->recipe.level == 0)
		return bpk_buf_printf(&choice->why, err, "prediction: nothing to predict\n");
	list_candidates(&c);
	c.by_value = grid.is_float && grid.size >= 4;
	if (c.by_value)
		list_candidates(&c);
	if (narrow(source, raw_size, chunk_size, &choice->recipe, predictions, err) != 0)
		return -1;
	if (predictions->count > 0)
		choice->chunk_size = chunk_size;
	return say(&grid, chunk_size, predictions, &choice->why, err);
}
