/*
 * Inside the room chunk: prediction, of a whole chunk at a time, and what of it a chunk says.
 *
 * It is bpk's own, so no other reader undoes it. Byte 16 of an extended header, the first of the
 * six slots of filters, holds BPK_FILTER_PREDICT, and its parameter in byte 24 is
 *
 *     bits 0-1   size of a number: 1, 2, 4 or 8 bytes
 *     bit  2     floats
 *     bit  3     big-endian
 *     bits 4-6   how many strides: 1 to 6
 *     bit  7     a scale
 *
 * Behind the block starts, where the blocks of other chunks begin, stand the phase, the strides and
 * the scale, if there is one, 4 bytes each, little-endian. What the blocks hold are little-endian
 * numbers.
 */
#ifndef BPK_CHUNK_PREDICT_H
#define BPK_CHUNK_PREDICT_H

#include "chunk/block.h"

/* What recipe asks of a chunk of raw_size bytes: strides that reach out of it, and a prediction
 * that has none left, fall away. */
struct bpk_prediction bpk_prediction_fit(const struct bpk_prediction *wanted, size_t raw_size);

/* Is it one, that goes with the rest of an extended recipe? Fails with BPK_USAGE. */
int bpk_prediction_check(const struct bpk_recipe *recipe, struct bpk_err *err);

/* The parameter of its slot, and back: the phase and strides are not set, a scale is 1. Fails with
 * BPK_UNSUPPORTED (more strides) or BPK_CORRUPT. */
unsigned bpk_prediction_meta(const struct bpk_prediction *prediction);
int bpk_prediction_of_meta(unsigned meta, struct bpk_prediction *prediction, struct bpk_err *err);

/* Bytes behind the block starts. */
static inline uint32_t bpk_prediction_stored_size(const struct bpk_prediction *prediction)
{
	if (prediction->size == 0)
		return 0;
	return 4 + 4 * prediction->nstrides + (prediction->scale > 0 ? 4 : 0);
}

void bpk_prediction_put(const struct bpk_prediction *prediction, uint8_t *out);

/* Take phase and strides from the start of bytes. BPK_CORRUPT unless they fit raw_size bytes. */
int bpk_prediction_take(struct bpk_view bytes, size_t raw_size, struct bpk_prediction *prediction,
			struct bpk_err *err);

/* Raw bytes from the chunk's start that must be there for the first end of them: whole numbers. */
size_t bpk_prediction_reach(const struct bpk_prediction *prediction, size_t end, size_t raw_size);

/* One that fits: raw to as many bytes at out, which is apart; and back in place, for a chunk or the
 * beginning of one. With a scale either needs scratch, 8 bytes for each number that the strides
 * reach over, and may fail with BPK_NO_MEMORY. */
int bpk_prediction_apply(const struct bpk_filter_kernels *kernels,
			 const struct bpk_prediction *prediction, struct bpk_view raw, uint8_t *out,
			 struct bpk_buf *scratch, struct bpk_err *err);
int bpk_prediction_undo(const struct bpk_filter_kernels *kernels,
			const struct bpk_prediction *prediction, struct bpk_span bytes,
			struct bpk_buf *scratch, struct bpk_err *err);

/* ---- predict_fixed.c: little-endian floats of 4 or 8 bytes ---- */

bool bpk_fixed_is_scale(unsigned scale, size_t width);

/* All of it at once, in place. Fails with BPK_NO_MEMORY. */
int bpk_fixed_run(const struct bpk_prediction *prediction, bool back, uint8_t *numbers,
		  size_t count, struct bpk_buf *scratch, struct bpk_err *err);

/* Numbers as multiples of the unit, 8 bytes each; and what is stored for them, by the differences
 * of these at all strides. out may be numbers. */
void bpk_fixed_take(const struct bpk_prediction *prediction, const uint8_t *numbers, size_t count,
		    uint8_t *out);
void bpk_fixed_leave(const struct bpk_prediction *prediction, const uint8_t *numbers,
		     const uint8_t *differences, size_t count, uint8_t *out);

#endif
