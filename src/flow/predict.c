/*
 * Prediction, where it is asked for: what an input's arrays say gives a few candidates; trials on
 * three chunks leave those that some chunk may want; and each chunk gets the one that packs two
 * pieces of it best, or none. All is decided by the bytes, so that threads change nothing.
 *
 *      {P}  {P,P}  {P,P,P}       the frame before, a line or a parabola through the last ones
 *      {1}  {1,1}  {1,X}  {1,X,XY}     neighbours in a row, in a plane, in a grid (Lorenzo)
 *      {P,1}  {P,1,X}            what changed, by its neighbours
 *
 * What it gains and costs is in tests/bench/RESULTS.md (bench-predict). A chunk's first frame leans
 * on none, so that chunks hold several of them; a frame is read by unpacking its chunk up to it.
 */
#include "flow/outlook.h"
#include "flow/trial.h"
#include "flow/work.h"

enum {
	PIECE = 16 << 10,
	KEY_FRAMES = 16,
	LEAST_CHUNK =
		4 << 20, /* frames are put into a chunk up to there, unless a number is said */
	MOST_CHUNK = 64 << 20, /* and no more than make this, unless these are but two */
	TRIED = 3,             /* chunks on which candidates are tried */
	COST = 3,              /* in thousandths, as in choose.c: what a prediction must gain */
	NFILTERS = 3,
};

/* ---- Candidates ---- */

struct candidates {
	const struct bpk_outlook *outlook;
	struct bpk_forecasts *to;
};

/* Strides of 0 are none at all. */
static void add(struct candidates *c, uint64_t s0, uint64_t s1, uint64_t s2, uint64_t s3)
{
	const uint64_t strides[BPK_PREDICTION_STRIDES] = { s0, s1, s2, s3 };
	struct bpk_prediction p = {
		.size = c->outlook->size,
		.is_float = c->outlook->is_float,
		.big_endian = c->outlook->big_endian,
		.phase = (unsigned)(c->outlook->origin % c->outlook->size),
	};

	for (size_t k = 0; k < BPK_PREDICTION_STRIDES && strides[k] > 0; k++) {
		if (strides[k] > UINT32_MAX)
			return;
		p.strides[p.nstrides++] = (uint32_t)strides[k];
	}
	if (c->to->count < BPK_FORECASTS)
		c->to->all[c->to->count++].prediction = p;
}

static void list_candidates(const struct bpk_outlook *o, struct bpk_forecasts *to)
{
	struct candidates c = { o, to };
	uint64_t p = o->period, u = o->strides[0], x = o->strides[1], y = o->strides[2];

	to->count = 0;
	if (p > 0) {
		add(&c, p, 0, 0, 0);
		add(&c, p, p, 0, 0);
		add(&c, p, p, p, 0);
	}
	if (o->nstrides > 0) {
		add(&c, u, 0, 0, 0);
		add(&c, u, u, 0, 0);
	}
	if (o->nstrides > 1)
		add(&c, u, x, 0, 0);
	if (o->nstrides > 2)
		add(&c, u, x, y, 0);
	/* where the period is that of the grid itself, these are there already */
	if (p > 0 && u > 0 && (o->nstrides < 2 || p > x))
		add(&c, p, u, 0, 0);
	if (p > 0 && o->nstrides > 1 && p > x && (o->nstrides < 3 || p > y))
		add(&c, p, u, x, 0);
	if (p > 0 && o->nstrides > 2 && p > y)
		add(&c, p, u, x, y);
}

/* ---- The size of chunks ---- */

static uint64_t whole_numbers(uint64_t size, unsigned width)
{
	return bpk_max_u64(8 * width, size - size % (8 * width));
}

/*
 * Frames of period bytes. A chunk that does not begin with one has the beginning of another at its
 * end, so it has one less: whatever frame is read, no more than key_frames of them are unpacked.
 */
static uint64_t frames_chunk(uint64_t period, unsigned key_frames, bool aligned)
{
	uint64_t frames = key_frames > 0 ? key_frames : KEY_FRAMES;

	if (key_frames == 0)
		frames = bpk_max_u64(frames, LEAST_CHUNK / period);
	frames = bpk_min_u64(frames, bpk_max_u64(MOST_CHUNK / period, 2));
	if (!aligned && frames > 2)
		frames--;
	return frames * period;
}

/* 0 where chunks cannot be so large. */
static uint64_t chunk_size_for(const struct bpk_outlook *o, unsigned key_frames)
{
	uint64_t period = o->period * o->size;

	if (o->period > BPK_CHUNK_MAX_RAW_SIZE_EXTENDED / 2 / o->size)
		return 0;
	return period == 0 ? LEAST_CHUNK
			   : frames_chunk(period, key_frames, o->origin % period == 0);
}

/* ---- Trials ---- */

static const struct bpk_pipeline *filters_at(size_t i)
{
	static const struct bpk_pipeline filters[NFILTERS] = {
		{ 1, { { BPK_FILTER_SHUFFLE, 0 } } },
		{ 1, { { BPK_FILTER_BITSHUFFLE, 0 } } },
		{ 2, { { BPK_FILTER_SHUFFLE, 0 }, { BPK_FILTER_BYTEDELTA, 0 } } },
	};

	return &filters[i];
}

/* What the sample that the worker has comes to. */
static int weigh(struct bpk_worker *worker, const struct bpk_recipe *recipe, uint64_t *cost,
		 struct bpk_err *err)
{
	struct bpk_recipe trial = *recipe;
	size_t bound = bpk_chunk_bound(worker->sample.size), packed_size;

	trial.block_size = (uint32_t)worker->sample.size;
	trial.prediction = (struct bpk_prediction){ 0 };
	if (bpk_buf_reserve(&worker->packed, bound, err) != 0 ||
	    bpk_chunk_encode(worker->ctx, &trial, bpk_buf_view(&worker->sample),
			     bpk_span(worker->packed.data, bound), &packed_size, err) != 0)
		return -1;
	*cost = packed_size * (1000 + bpk_pipeline_cost(&recipe->pipeline));
	return 0;
}

/* Two pieces of raw, or of what the prediction leaves of it (NULL: itself). */
static int sample(struct bpk_worker *worker, const struct bpk_prediction *prediction, size_t phase,
		  size_t unit, struct bpk_view raw, struct bpk_err *err)
{
	size_t room = raw.size - phase, size = bpk_min_size(PIECE, room / 2) / unit * unit;

	if (bpk_buf_resize(&worker->sample, 2 * size, err) != 0)
		return -1;
	for (size_t i = 0; i < 2; i++) {
		size_t at = phase + (room / 4 * (2 * i + 1) - size / 2) / unit * unit;
		struct bpk_span to = bpk_span(worker->sample.data + i * size, size);

		if (prediction == NULL)
			memcpy(to.data, raw.data + at, size);
		else if (bpk_prediction_piece(prediction, raw, at, to, &worker->scratch, err) != 0)
			return -1;
	}
	return 0;
}

/* How a chunk at raw offset is packed with a forecast; no prediction where none fits. */
static struct bpk_recipe recipe_with(const struct bpk_forecasts *forecasts, size_t i,
				     const struct bpk_recipe *recipe, uint64_t offset)
{
	const struct bpk_forecast *forecast = &forecasts->all[i];
	struct bpk_recipe own = *recipe;
	unsigned size = forecast->prediction.size;

	own.pipeline = forecast->pipeline;
	own.prediction = forecast->prediction;
	own.prediction.phase =
		(unsigned)((forecast->prediction.phase + size - offset % size) % size);
	own.typesize = forecasts->typesize > 0 ? forecasts->typesize : size;
	return own;
}

/* What the pieces cost with each forecast, the last of costs without. */
static int weigh_all(struct bpk_worker *worker, const struct bpk_forecasts *forecasts,
		     const struct bpk_recipe *recipe, struct bpk_view raw, uint64_t offset,
		     uint64_t costs[BPK_FORECASTS + 1], struct bpk_err *err)
{
	const struct bpk_recipe first = recipe_with(forecasts, 0, recipe, offset);
	size_t unit = 8 * (size_t)first.prediction.size, phase = first.prediction.phase;
	const struct bpk_prediction *before = NULL;

	if (sample(worker, NULL, phase, unit, raw, err) != 0 ||
	    weigh(worker, recipe, &costs[forecasts->count], err) != 0)
		return -1;
	for (size_t i = 0; i < forecasts->count; i++) {
		const struct bpk_recipe trial = recipe_with(forecasts, i, recipe, offset);
		const struct bpk_prediction *prediction = &forecasts->all[i].prediction;

		if ((before == NULL || memcmp(before, prediction, sizeof *before) != 0) &&
		    sample(worker, &trial.prediction, phase, unit, raw, err) != 0)
			return -1;
		before = prediction;
		if (weigh(worker, &trial, &costs[i], err) != 0)
			return -1;
		costs[i] += costs[i] / 1000 * COST;
	}
	return 0;
}

int bpk_work_predict(struct bpk_worker *worker, const struct bpk_forecasts *forecasts,
		     struct bpk_view raw, uint64_t offset, struct bpk_recipe *recipe,
		     struct bpk_err *err)
{
	uint64_t costs[BPK_FORECASTS + 1];
	size_t best = forecasts->count;

	if (forecasts->count == 0 || raw.size < PIECE)
		return 0;
	if (weigh_all(worker, forecasts, recipe, raw, offset, costs, err) != 0)
		return -1;
	for (size_t i = 0; i < forecasts->count; i++)
		if (costs[i] < costs[best])
			best = i;
	if (best < forecasts->count)
		*recipe = recipe_with(forecasts, best, recipe, offset);
	return 0;
}

/* ---- Forecasts ---- */

/* Each prediction with each of the filters, or with those wished for. */
static void combine(const struct bpk_wishes *wishes, struct bpk_forecasts *forecasts)
{
	const struct bpk_forecasts listed = *forecasts;

	forecasts->count = 0;
	for (size_t i = 0; i < listed.count; i++) {
		for (size_t k = 0; k < NFILTERS; k++) {
			struct bpk_forecast *to = &forecasts->all[forecasts->count];

			if (forecasts->count == BPK_FORECASTS ||
			    (k > 0 && wishes->pipeline != NULL))
				break;
			to->prediction = listed.all[i].prediction;
			to->pipeline =
				wishes->pipeline != NULL ? *wishes->pipeline : *filters_at(k);
			forecasts->count++;
		}
	}
}

/* Trials on some chunks: of each its best two are kept, where they are better than none. */
struct trials {
	struct bpk_worker worker;
	const struct bpk_recipe *recipe;
	const struct bpk_forecasts *forecasts;
	uint32_t kept; /* bits: forecasts */
	uint64_t costs[BPK_FORECASTS + 1];
};

static void keep_best(struct trials *t)
{
	size_t count = t->forecasts->count;

	for (int round = 0; round < 2; round++) {
		size_t best = count;

		for (size_t i = 0; i < count; i++)
			if (t->costs[i] < t->costs[best])
				best = i;
		if (best == count)
			return;
		t->kept |= (uint32_t)1 << best;
		t->costs[best] = UINT64_MAX;
	}
}

static int try_chunk(struct trials *t, struct bpk_view raw, uint64_t offset, struct bpk_err *err)
{
	if (raw.size < PIECE)
		return 0;
	if (weigh_all(&t->worker, t->forecasts, t->recipe, raw, offset, t->costs, err) != 0)
		return -1;
	keep_best(t);
	return 0;
}

/* Chunks spread over a source; of a pipe, what can be peeked at. */
static int try_source(struct trials *t, struct bpk_source *source, uint64_t raw_size,
		      uint64_t chunk_size, struct bpk_err *err)
{
	uint64_t nchunks = bpk_div_up(raw_size, chunk_size), before = UINT64_MAX;
	struct bpk_buf bytes = { 0 };
	struct bpk_view head;
	size_t got;
	int rc = 0;

	if (!bpk_source_seekable(source)) {
		if (bpk_source_peek(source, bpk_min_u64(chunk_size, LEAST_CHUNK), &head, err) != 0)
			return -1;
		return try_chunk(t, head, 0, err);
	}
	for (uint64_t k = 0; k < TRIED && rc == 0; k++) {
		uint64_t number = (2 * k + 1) * nchunks / (2 * TRIED);
		uint64_t offset = number * chunk_size;

		if (number == before)
			continue;
		before = number;
		rc = bpk_buf_resize(&bytes, bpk_min_u64(chunk_size, raw_size - offset), err);
		if (rc == 0)
			rc = bpk_source_read_at(source, offset, bpk_span(bytes.data, bytes.size),
						&got, err);
		if (rc == 0)
			rc = try_chunk(t, bpk_view(bytes.data, got), offset, err);
	}
	bpk_buf_clear(&bytes);
	return rc;
}

/* Leave of the forecasts those that some chunk wants. */
static int narrow(struct bpk_source *source, uint64_t raw_size, uint64_t chunk_size,
		  const struct bpk_recipe *recipe, struct bpk_forecasts *forecasts,
		  struct bpk_err *err)
{
	struct trials t = { .recipe = recipe, .forecasts = forecasts };
	size_t count = 0;
	int rc = bpk_worker_ready(&t.worker, err);

	if (rc == 0)
		rc = try_source(&t, source, raw_size, chunk_size, err);
	bpk_worker_clear(&t.worker);
	for (size_t i = 0; i < forecasts->count; i++)
		if ((t.kept >> i & 1) != 0)
			forecasts->all[count++] = forecasts->all[i];
	forecasts->count = rc == 0 ? count : 0;
	return rc;
}

static int say(const struct bpk_outlook *o, uint64_t chunk_size,
	       const struct bpk_forecasts *forecasts, struct bpk_buf *why, struct bpk_err *err)
{
	char filters[BPK_PIPELINE_TEXT];

	if (bpk_buf_printf(why, err,
			   "prediction: numbers of %u bytes, period %llu, chunks of %llu bytes%s\n",
			   o->size, (unsigned long long)(o->period * o->size),
			   (unsigned long long)chunk_size,
			   forecasts->count == 0 ? ": nothing is gained" : "") != 0)
		return -1;
	for (size_t i = 0; i < forecasts->count; i++) {
		const struct bpk_forecast *forecast = &forecasts->all[i];

		if (bpk_buf_printf(why, err, "  differences at") != 0)
			return -1;
		for (unsigned k = 0; k < forecast->prediction.nstrides; k++)
			if (bpk_buf_printf(why, err, " %u",
					   (unsigned)forecast->prediction.strides[k]) != 0)
				return -1;
		if (bpk_buf_printf(why, err, ", %s\n",
				   bpk_pipeline_print(&forecast->pipeline, filters)) != 0)
			return -1;
	}
	return 0;
}

int bpk_predict(struct bpk_source *source, uint64_t raw_size, const struct bpk_array *array,
		unsigned key_frames, const struct bpk_wishes *wishes, struct bpk_choice *choice,
		struct bpk_forecasts *forecasts, struct bpk_err *err)
{
	struct bpk_outlook outlook;
	uint64_t chunk_size;

	*forecasts = (struct bpk_forecasts){ .typesize = 0 };
	if (bpk_outlook_take(source, raw_size, array, &outlook, err) != 0)
		return -1;
	chunk_size = outlook.size == 0 ? 0 : chunk_size_for(&outlook, key_frames);
	if (chunk_size > 0 && wishes->chunk_size > 0)
		chunk_size = whole_numbers(wishes->chunk_size, outlook.size);
	if (chunk_size == 0 || choice->recipe.level == 0)
		return bpk_buf_printf(&choice->why, err, "prediction: nothing to predict\n");
	list_candidates(&outlook, forecasts);
	combine(wishes, forecasts);
	if (wishes->typesize != BPK_AUTO)
		forecasts->typesize = (unsigned)wishes->typesize;
	if (narrow(source, raw_size, chunk_size, &choice->recipe, forecasts, err) != 0)
		return -1;
	if (forecasts->count > 0)
		choice->chunk_size = chunk_size;
	return say(&outlook, chunk_size, forecasts, &choice->why, err);
}
