/*
 * Prediction of whole chunks: checks, its stored form, and its arithmetic. Called by encoder,
 * decoder and trials. predict.h and struct bpk_prediction describe the format.
 */
#include "chunk/predict.h"

#include <stdio.h>

enum {
	META_FLOAT = 0x04,
	META_BIG_ENDIAN = 0x08,
	META_STRIDES_SHIFT = 4,
	META_STRIDES = 0x70,
	META_SCALE = 0x80,
};

static size_t count_of(const struct bpk_prediction *prediction, size_t size)
{
	return size < prediction->phase ? 0 : (size - prediction->phase) / prediction->size;
}

struct bpk_prediction bpk_prediction_fit(const struct bpk_prediction *wanted, size_t raw_size)
{
	struct bpk_prediction fit = *wanted;
	size_t left;

	if (wanted->size == 0)
		return fit;
	left = count_of(wanted, raw_size);
	fit.nstrides = 0;
	for (unsigned k = 0; k < wanted->nstrides; k++) {
		if (wanted->strides[k] >= left)
			continue;
		fit.strides[fit.nstrides++] = wanted->strides[k];
		left -= wanted->scale > 0 ? wanted->strides[k] : 0;
	}
	return fit.nstrides > 0 ? fit : (struct bpk_prediction){ 0 };
}

static bool is_number(unsigned size, bool is_float)
{
	return (size == 1 && !is_float) || size == 2 || size == 4 || size == 8;
}

static int refuse(const char *what, struct bpk_err *err)
{
	return bpk_fail(err, BPK_USAGE, "prediction does not go with %s", what);
}

int bpk_prediction_check_pipeline(const struct bpk_pipeline *pipeline, struct bpk_err *err)
{
	if (bpk_pipeline_has(pipeline, BPK_FILTER_DELTA))
		return refuse("filter delta", err);
	if (bpk_pipeline_is_lossy(pipeline))
		return refuse("lossy filters", err);
	if (pipeline->nsteps >= BPK_CHUNK_MAX_FILTERS)
		return refuse("six filters", err);
	return 0;
}

static int check_company(const struct bpk_recipe *recipe, struct bpk_err *err)
{
	if (!recipe->extended)
		return refuse("version 2 chunks", err);
	if (recipe->dictionary)
		return refuse("a dictionary", err);
	if (recipe->variable_blocks)
		return refuse("blocks of variable length", err);
	return bpk_prediction_check_pipeline(&recipe->pipeline, err);
}

int bpk_prediction_check(const struct bpk_recipe *recipe, struct bpk_err *err)
{
	const struct bpk_prediction *p = &recipe->prediction;

	if (p->size == 0)
		return 0;
	if (!is_number(p->size, p->is_float))
		return bpk_fail(err, BPK_USAGE, "prediction of %s of %u bytes",
				p->is_float ? "floats" : "integers", p->size);
	if (p->nstrides < 1 || p->nstrides > BPK_PREDICTION_STRIDES || p->phase >= p->size)
		return bpk_fail(err, BPK_USAGE, "prediction of %u strides from byte %u",
				p->nstrides, p->phase);
	if (p->scale > 0 && !(p->is_float && bpk_fixed_is_scale(p->scale, p->size)))
		return bpk_fail(err, BPK_USAGE, "prediction of %s of %u bytes with scale %u",
				p->is_float ? "floats" : "integers", p->size, p->scale);
	for (unsigned k = 0; k < p->nstrides; k++)
		if (p->strides[k] == 0)
			return bpk_fail(err, BPK_USAGE, "prediction with a stride of 0");
	return check_company(recipe, err);
}

/* ---- Stored form ---- */

unsigned bpk_prediction_meta(const struct bpk_prediction *prediction)
{
	unsigned size = prediction->size;

	return (size == 1   ? 0u
		: size == 2 ? 1u
		: size == 4 ? 2u
			    : 3u) |
	       (prediction->is_float ? META_FLOAT : 0u) |
	       (prediction->big_endian ? META_BIG_ENDIAN : 0u) |
	       prediction->nstrides << META_STRIDES_SHIFT |
	       (prediction->scale > 0 ? META_SCALE : 0u);
}

int bpk_prediction_of_meta(unsigned meta, struct bpk_prediction *prediction, struct bpk_err *err)
{
	*prediction = (struct bpk_prediction){
		.size = 1u << (meta & 3),
		.is_float = (meta & META_FLOAT) != 0,
		.big_endian = (meta & META_BIG_ENDIAN) != 0,
		.nstrides = (meta & META_STRIDES) >> META_STRIDES_SHIFT,
		.scale = (meta & META_SCALE) != 0,
	};
	if (prediction->nstrides > BPK_PREDICTION_STRIDES)
		return bpk_fail(err, BPK_UNSUPPORTED, "chunk's prediction 0x%02x is not supported",
				meta);
	if (prediction->nstrides == 0 || !is_number(prediction->size, prediction->is_float) ||
	    (prediction->scale > 0 && (!prediction->is_float || prediction->size < 4)))
		return bpk_fail(err, BPK_CORRUPT, "chunk's prediction 0x%02x is not valid", meta);
	return 0;
}

void bpk_prediction_put(const struct bpk_prediction *prediction, uint8_t *out)
{
	bpk_put_le32(out, prediction->phase);
	for (unsigned k = 0; k < prediction->nstrides; k++)
		bpk_put_le32(out + 4 + (size_t)4 * k, prediction->strides[k]);
	if (prediction->scale > 0)
		bpk_put_le32(out + 4 + (size_t)4 * prediction->nstrides, prediction->scale);
}

/* Check that each stride is less than the count of numbers, with a scale also their sum. */
static int check_strides(const struct bpk_prediction *prediction, size_t raw_size,
			 struct bpk_err *err)
{
	size_t count = count_of(prediction, raw_size), left = count;

	for (unsigned k = 0; k < prediction->nstrides; k++) {
		if (prediction->strides[k] == 0 || prediction->strides[k] >= left)
			return bpk_fail(err, BPK_CORRUPT,
					"prediction with stride %u in %zu numbers",
					prediction->strides[k], count);
		left -= prediction->scale > 0 ? prediction->strides[k] : 0;
	}
	return 0;
}

int bpk_prediction_take(struct bpk_view bytes, size_t raw_size, struct bpk_prediction *prediction,
			struct bpk_err *err)
{
	struct bpk_cursor cursor = bpk_cursor(bytes);
	bool scaled = prediction->scale > 0;
	uint32_t phase = bpk_cursor_le32(&cursor), scale;

	for (unsigned k = 0; k < prediction->nstrides; k++)
		prediction->strides[k] = bpk_cursor_le32(&cursor);
	scale = scaled ? bpk_cursor_le32(&cursor) : 0;
	if (cursor.bad)
		return bpk_fail(
			err, BPK_CORRUPT, "prediction of %u strides needs %u bytes, %zu are left",
			prediction->nstrides, bpk_prediction_stored_size(prediction), bytes.size);
	if (phase >= prediction->size)
		return bpk_fail(err, BPK_CORRUPT, "prediction from byte %u of numbers of %u", phase,
				prediction->size);
	if (scaled && !bpk_fixed_is_scale(scale, prediction->size))
		return bpk_fail(err, BPK_CORRUPT, "prediction of floats of %u bytes has scale %u",
				prediction->size, scale);
	prediction->phase = phase;
	prediction->scale = scale;
	return check_strides(prediction, raw_size, err);
}

const char *bpk_prediction_print(const struct bpk_prediction *prediction,
				 char out[BPK_PREDICTION_TEXT])
{
	snprintf(out, BPK_PREDICTION_TEXT, "predict:%u", prediction->nstrides);
	return out;
}

/* ---- Arithmetic ---- */

size_t bpk_prediction_reach(const struct bpk_prediction *prediction, size_t end, size_t raw_size)
{
	size_t numbers = end < prediction->phase ? 0 : end - prediction->phase;
	size_t whole = prediction->phase + bpk_div_up(numbers, prediction->size) * prediction->size;

	return bpk_min_size(whole, raw_size);
}

/* Replace little-endian numbers by their folded differences, in place. */
static void leave_differences(const struct bpk_filter_kernels *kernels,
			      const struct bpk_prediction *prediction, uint8_t *numbers,
			      size_t count)
{
	size_t width = prediction->size;

	if (prediction->is_float)
		kernels->convert(BPK_NUMBER_ORDER, numbers, width, count, numbers);
	for (unsigned k = 0; k < prediction->nstrides; k++)
		kernels->subtract(numbers, width, prediction->strides[k], count);
	kernels->convert(BPK_NUMBER_FOLD, numbers, width, count, numbers);
}

static void undo_differences(const struct bpk_filter_kernels *kernels,
			     const struct bpk_prediction *prediction, uint8_t *numbers,
			     size_t count)
{
	size_t width = prediction->size;

	kernels->convert(BPK_NUMBER_UNFOLD, numbers, width, count, numbers);
	for (unsigned k = 0; k < prediction->nstrides; k++)
		kernels->add(numbers, width, prediction->strides[k], count);
	if (prediction->is_float)
		kernels->convert(BPK_NUMBER_UNORDER, numbers, width, count, numbers);
}

int bpk_prediction_apply(const struct bpk_filter_kernels *kernels,
			 const struct bpk_prediction *prediction, struct bpk_view raw, uint8_t *out,
			 struct bpk_buf *scratch, struct bpk_err *err)
{
	size_t count = count_of(prediction, raw.size), width = prediction->size;
	uint8_t *numbers = out + prediction->phase;

	memcpy(out, raw.data, raw.size);
	if (prediction->big_endian)
		kernels->convert(BPK_NUMBER_SWAP, numbers, width, count, numbers);
	if (prediction->scale > 0)
		return bpk_fixed_run(prediction, false, numbers, count, scratch, err);
	leave_differences(kernels, prediction, numbers, count);
	return 0;
}

int bpk_prediction_undo(const struct bpk_filter_kernels *kernels,
			const struct bpk_prediction *prediction, struct bpk_span bytes,
			struct bpk_buf *scratch, struct bpk_err *err)
{
	size_t count = count_of(prediction, bytes.size), width = prediction->size;
	uint8_t *numbers = bytes.data + bpk_min_size(prediction->phase, bytes.size);

	if (prediction->scale == 0)
		undo_differences(kernels, prediction, numbers, count);
	else if (bpk_fixed_run(prediction, true, numbers, count, scratch, err) != 0)
		return -1;
	if (prediction->big_endian)
		kernels->convert(BPK_NUMBER_SWAP, numbers, width, count, numbers);
	return 0;
}

/* ---- A piece ---- */

/* Bytes per number while differences are taken. */
static size_t wide(const struct bpk_prediction *prediction)
{
	return prediction->scale > 0 ? 8 : prediction->size;
}

/* Copy numbers of raw, within bounds, as little-endian. */
static void copy_numbers(const struct bpk_filter_kernels *kernels,
			 const struct bpk_prediction *prediction, struct bpk_view raw, size_t first,
			 size_t count, uint8_t *out)
{
	size_t width = prediction->size;

	memcpy(out, raw.data + prediction->phase + first * width, count * width);
	if (prediction->big_endian)
		kernels->convert(BPK_NUMBER_SWAP, out, width, count, out);
}

/* The same as integers, with 0 before the first number. spare has room for count numbers. */
static void take_numbers(const struct bpk_filter_kernels *kernels,
			 const struct bpk_prediction *prediction, struct bpk_view raw,
			 int64_t first, size_t count, uint8_t *out, uint8_t *spare)
{
	size_t none = first < 0 ? bpk_min_u64(0 - (uint64_t)first, count) : 0;

	memset(out, 0, none * wide(prediction));
	out += none * wide(prediction);
	count -= none;
	first += (int64_t)none;
	if (count == 0)
		return;
	if (prediction->scale > 0) {
		copy_numbers(kernels, prediction, raw, (size_t)first, count, spare);
		bpk_fixed_take(prediction, spare, count, out);
		return;
	}
	copy_numbers(kernels, prediction, raw, (size_t)first, count, out);
	if (prediction->is_float)
		kernels->convert(BPK_NUMBER_ORDER, out, prediction->size, count, out);
}

/* Apply the strides from k on to count numbers, into the start of buf. buf has room for one more
 * row of numbers per stride, and two rows. */
static void take_differences(const struct bpk_filter_kernels *kernels,
			     const struct bpk_prediction *prediction, struct bpk_view raw,
			     unsigned k, int64_t first, size_t count, uint8_t *buf)
{
	size_t size = count * wide(prediction);

	if (k == prediction->nstrides) {
		take_numbers(kernels, prediction, raw, first, count, buf, buf + size);
		return;
	}
	take_differences(kernels, prediction, raw, k + 1, first - prediction->strides[k], count,
			 buf);
	take_differences(kernels, prediction, raw, k + 1, first, count, buf + size);
	kernels->subtract(buf, wide(prediction), count, 2 * count);
	memcpy(buf, buf + size, size);
}

int bpk_prediction_piece(const struct bpk_prediction *prediction, struct bpk_view raw, size_t start,
			 struct bpk_span out, struct bpk_buf *scratch, struct bpk_err *err)
{
	const struct bpk_filter_kernels *kernels = bpk_filter_kernels();
	size_t width = prediction->size, count = out.size / width;
	size_t first = (start - prediction->phase) / width;

	if (count == 0)
		return 0;
	if (bpk_buf_reserve(scratch, (prediction->nstrides + 3) * count * wide(prediction), err) !=
	    0)
		return -1;
	take_differences(kernels, prediction, raw, 0, (int64_t)first, count, scratch->data);
	if (prediction->scale == 0) {
		kernels->convert(BPK_NUMBER_FOLD, scratch->data, width, count, out.data);
		return 0;
	}
	copy_numbers(kernels, prediction, raw, first, count, out.data);
	bpk_fixed_leave(prediction, out.data, scratch->data, count, out.data);
	return 0;
}
