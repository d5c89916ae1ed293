/*
 * Prediction, if the user asks for it. The arrays of an input give a few candidates. Trials on
 * three chunks keep those that pack one of them best. Each chunk then gets the candidate that packs
 * two pieces of it best, or no prediction. Only the bytes decide, so threads change nothing.
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
#include "choose/race.h"
#include "choose/tuning.h"

/* ---- Candidates ---- */

struct candidates {
	const struct bpk_grid *grid;
	struct bpk_predictions *to;
	bool by_value;
};

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
		if (memcmp(&c->to->all[i].prediction, &p, sizeof p) == 0)
			return;
	if (p.nstrides > 0 && c->to->count < BPK_PREDICTIONS)
		c->to->all[c->to->count++] =
			(struct bpk_candidate){ .typesize = o->size, .prediction = p };
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
	const uint64_t simple[][BPK_PREDICTION_STRIDES] = {
		{ p }, { p, p }, { u }, { u, x }, { u, x, y }, { u, q },
	};
	const uint64_t more[][BPK_PREDICTION_STRIDES] = {
		{ p, p, p },          { u, u },    { u, u, x, x }, { u, u, x, y },
		{ u, u, x, x, y, y }, { u, x, q }, { u, x, y, q }, { u, q, q },
	};

	for (size_t i = 0; i < sizeof simple / sizeof *simple; i++)
		add(c, simple[i]);
	for (size_t i = 0; i < sizeof more / sizeof *more && (c->by_value || !o->is_float); i++)
		add(c, more[i]);
}

/* ---- The size of chunks ---- */

static uint64_t whole_numbers(uint64_t size, unsigned width)
{
	return bpk_max_u64(8 * width, size - size % (8 * width));
}

/*
 * The size of a chunk of frames of period bytes. A chunk that does not begin at a frame ends in a
 * part of another, so it has one less: reading any frame unpacks no more than key_frames of them.
 */
static uint64_t frames_chunk(uint64_t period, unsigned key_frames, bool aligned)
{
	uint64_t frames = key_frames > 0 ? key_frames : KEY_FRAMES;

	if (key_frames == 0)
		frames = bpk_max_u64(frames, PREDICT_LEAST_CHUNK / period);
	frames = bpk_min_u64(frames, bpk_max_u64(PREDICT_MOST_CHUNK / period, 2));
	if (!aligned && frames > 2)
		frames--;
	return frames * period;
}

/* 0 where chunks cannot be so large. */
static uint64_t chunk_size_for(const struct bpk_grid *o, unsigned key_frames)
{
	uint64_t period = o->period * o->size;

	if (o->period > BPK_CHUNK_MAX_RAW_SIZE_EXTENDED / 2 / o->size)
		return 0;
	return period == 0 ? PREDICT_LEAST_CHUNK
			   : frames_chunk(period, key_frames, o->origin % period == 0);
}

static const struct bpk_pipeline *filters_at(size_t i)
{
	static const struct bpk_pipeline filters[PREDICT_FILTERS] = {
		{ 1, { { BPK_FILTER_SHUFFLE, 0 } } },
		{ 1, { { BPK_FILTER_BITSHUFFLE, 0 } } },
		{ 2, { { BPK_FILTER_SHUFFLE, 0 }, { BPK_FILTER_BYTEDELTA, 0 } } },
	};

	return &filters[i];
}

/* ---- Predictions ---- */

static void list_all(const struct bpk_grid *grid, struct bpk_predictions *predictions)
{
	struct candidates c = { .grid = grid, .to = predictions };

	list_candidates(&c);
	c.by_value = grid->is_float && grid->size >= 4;
	if (c.by_value)
		list_candidates(&c);
}

/* Combine each prediction with each list of filters, or with the filters wished for. */
static void combine(const struct bpk_wishes *wishes, struct bpk_predictions *predictions)
{
	const struct bpk_predictions listed = *predictions;

	predictions->count = 0;
	for (size_t i = 0; i < listed.count; i++) {
		/* differences of values have no bytes that change smoothly */
		size_t n = wishes->pipeline != NULL             ? 1
			   : listed.all[i].prediction.scale > 0 ? PREDICT_FILTERS - 1
								: PREDICT_FILTERS;

		for (size_t k = 0; k < n && predictions->count < BPK_PREDICTIONS; k++) {
			struct bpk_candidate *to = &predictions->all[predictions->count++];

			*to = listed.all[i];
			if (wishes->typesize != BPK_AUTO)
				to->typesize = (unsigned)wishes->typesize;
			to->pipeline =
				wishes->pipeline != NULL ? *wishes->pipeline : *filters_at(k);
		}
	}
}

/* Races on some chunks: the best two of each are kept if they are better than no prediction. */
struct trials {
	struct bpk_race race;
	const struct bpk_recipe *recipe;
	const struct bpk_predictions *predictions;
	uint64_t kept; /* bits */
};

static int try_chunk(struct trials *t, struct bpk_view raw, uint64_t offset, struct bpk_err *err)
{
	const struct bpk_predictions *p = t->predictions;
	const struct bpk_ranking *ranking;

	if (bpk_race_chunk(&t->race, t->recipe, p->all, p->count, raw, offset, err) != 0)
		return -1;
	ranking = t->race.ranking;
	for (size_t i = 0; i < bpk_min_size(2, ranking->count); i++) {
		struct bpk_recipe best = ranking->all[i].recipe;

		if (best.prediction.size == 0)
			break;
		best.block_size = t->recipe->block_size;
		for (size_t k = 0; k < p->count; k++) {
			struct bpk_recipe own = bpk_race_recipe(t->recipe, &p->all[k], raw, offset);

			if (bpk_recipe_equal(&own, &best))
				t->kept |= (uint64_t)1 << k;
		}
	}
	return 0;
}

/* Try chunks spread over a source; of a pipe, chunks of the bytes that can be peeked at. */
static int try_source(struct trials *t, struct bpk_source *source, uint64_t raw_size,
		      uint64_t chunk_size, struct bpk_err *err)
{
	uint64_t nchunks = bpk_div_up(raw_size, chunk_size), before = UINT64_MAX;
	struct bpk_buf bytes = { 0 };
	struct bpk_view head;
	size_t got;
	int rc = 0;

	if (!bpk_source_seekable(source)) {
		if (bpk_source_peek(source, bpk_min_u64(chunk_size, PREDICT_LEAST_CHUNK), &head,
				    err) != 0)
			return -1;
		return try_chunk(t, head, 0, err);
	}
	for (uint64_t k = 0; k < PREDICT_TRIED && rc == 0; k++) {
		uint64_t number = (2 * k + 1) * nchunks / (2 * PREDICT_TRIED);
		uint64_t offset = number * chunk_size;

		if (number == before)
			continue;
		before = number;
		rc = bpk_buf_resize(
			&bytes,
			bpk_min_u64(bpk_min_u64(chunk_size, PREDICT_MOST_CHUNK), raw_size - offset),
			err);
		if (rc == 0)
			rc = bpk_source_read_at(source, offset, bpk_span(bytes.data, bytes.size),
						&got, err);
		if (rc == 0)
			rc = try_chunk(t, bpk_view(bytes.data, got), offset, err);
	}
	bpk_buf_clear(&bytes);
	return rc;
}

/* Keep the predictions that are best for some chunk. */
static int narrow(struct bpk_source *source, uint64_t raw_size, uint64_t chunk_size,
		  const struct bpk_recipe *recipe, struct bpk_predictions *predictions,
		  struct bpk_err *err)
{
	struct trials t = { .recipe = recipe, .predictions = predictions };
	size_t count = 0;
	int rc = bpk_race_open(&t.race, NULL, err);

	if (rc == 0)
		rc = try_source(&t, source, raw_size, chunk_size, err);
	bpk_race_close(&t.race);
	for (size_t i = 0; i < predictions->count; i++)
		if ((t.kept >> i & 1) != 0)
			predictions->all[count++] = predictions->all[i];
	predictions->count = rc == 0 ? count : 0;
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
	uint64_t chunk_size;

	*predictions = (struct bpk_predictions){ 0 };
	if (bpk_grid_find(source, raw_size, array, &grid, err) != 0)
		return -1;
	chunk_size = grid.size == 0 ? 0 : chunk_size_for(&grid, key_frames);
	if (chunk_size > 0 && wishes->chunk_size > 0)
		chunk_size = whole_numbers(
			bpk_min_u64(wishes->chunk_size, BPK_CHUNK_MAX_RAW_SIZE_EXTENDED),
			grid.size);
	if (chunk_size == 0 || choice->recipe.level == 0)
		return bpk_buf_printf(&choice->why, err, "prediction: nothing to predict\n");
	list_all(&grid, predictions);
	combine(wishes, predictions);
	if (narrow(source, raw_size, chunk_size, &choice->recipe, predictions, err) != 0)
		return -1;
	if (predictions->count > 0)
		choice->chunk_size = chunk_size;
	return say(&grid, chunk_size, predictions, &choice->why, err);
}
