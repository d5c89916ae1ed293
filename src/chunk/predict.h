/*
 * Internal to chunk: prediction of a whole chunk, and its stored form.
 *
 * Prediction is bpk's own extension; other readers cannot undo it. Byte 16 of an extended header,
 * the first of the six filter slots, holds BPK_FILTER_PREDICT. Its parameter, in byte 24, is
 *
 *     bits 0-1   size of a number: 1, 2, 4 or 8 bytes
 *     bit  2     floats
 *     bit  3     big-endian
 *     bits 4-6   number of strides: 1 to 6
 *     bit  7     a scale is stored
 *
 * The phase, the strides and the optional scale follow the block starts, where blocks begin in
 * other chunks: 4 bytes each, little-endian. The blocks hold little-endian numbers.
 */
#ifndef BPK_CHUNK_PREDICT_H
#define BPK_CHUNK_PREDICT_H

#include "chunk/block.h"

/* Adapt a prediction to a chunk of raw_size bytes: drop strides that reach beyond the chunk, and
 * the prediction if no stride is left. */
struct bpk_prediction bpk_prediction_fit(const struct bpk_prediction *wanted, size_t raw_size);

/* Check a prediction and its use in an extended recipe. Fails with BPK_USAGE. */
int bpk_prediction_check(const struct bpk_recipe *recipe, struct bpk_err *err);

/* The parameter of the slot, and back. The way back leaves phase and strides unset and sets a scale
 * to 1. Fails with BPK_UNSUPPORTED (more strides) or BPK_CORRUPT. */
unsigned bpk_prediction_meta(const struct bpk_prediction *prediction);
int bpk_prediction_of_meta(unsigned meta, struct bpk_prediction *prediction, struct bpk_err *err);

/* Bytes stored after the block starts. */
static inline uint32_t bpk_prediction_stored_size(const struct bpk_prediction *prediction)
{
	if (prediction->size == 0)
		return 0;
	return 4 + 4 * prediction->nstrides + (prediction->scale > 0 ? 4 : 0);
}

void bpk_prediction_put(const struct bpk_prediction *prediction, uint8_t *out);

/* Read phase, strides and scale from the start of bytes. BPK_CORRUPT if they do not fit raw_size
 * bytes. */
int bpk_prediction_take(struct bpk_view bytes, size_t raw_size, struct bpk_prediction *prediction,
			struct bpk_err *err);

/* Raw bytes from the chunk's start that decoding of the first end bytes needs: whole numbers. */
size_t bpk_prediction_reach(const struct bpk_prediction *prediction, size_t end, size_t raw_size);

/* Apply a fitted prediction: raw to as many bytes at out, which do not overlap. Undo it in place,
 * for a chunk or its beginning. With a scale, both use scratch of 8 bytes per number within all
 * strides, and may fail with BPK_NO_MEMORY. */
int bpk_prediction_apply(const struct bpk_filter_kernels *kernels,
			 const struct bpk_prediction *prediction, struct bpk_view raw, uint8_t *out,
			 struct bpk_buf *scratch, struct bpk_err *err);
int bpk_prediction_undo(const struct bpk_filter_kernels *kernels,
			const struct bpk_prediction *prediction, struct bpk_span bytes,
			struct bpk_buf *scratch, struct bpk_err *err);

/* ---- predict_fixed.c: little-endian floats of 4 or 8 bytes ---- */

bool bpk_fixed_is_scale(unsigned scale, size_t width);

/* Apply or undo (back) in place. Fails with BPK_NO_MEMORY. */
int bpk_fixed_run(const struct bpk_prediction *prediction, bool back, uint8_t *numbers,
		  size_t count, struct bpk_buf *scratch, struct bpk_err *err);

/* Convert numbers to multiples of the unit, 8 bytes each; and compute the stored form of numbers
 * from the differences of those multiples over all strides. out may be numbers. */
void bpk_fixed_take(const struct bpk_prediction *prediction, const uint8_t *numbers, size_t count,
		    uint8_t *out);
void bpk_fixed_leave(const struct bpk_prediction *prediction, const uint8_t *numbers,
		     const uint8_t *differences, size_t count, uint8_t *out);

#endif
