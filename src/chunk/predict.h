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
 *     bit  7     0
 *
 * Behind the block starts, where the blocks of other chunks begin, stand the phase and the strides,
 * 4 bytes each, little-endian. What the blocks hold are little-endian numbers.
 */
#ifndef BPK_CHUNK_PREDICT_H
#define BPK_CHUNK_PREDICT_H

#include "chunk/block.h"

/* What recipe asks of a chunk of raw_size bytes: strides that reach out of it, and a prediction
 * that has none left, fall away. */
struct bpk_prediction bpk_prediction_fit(const struct bpk_prediction *wanted, size_t raw_size);

/* Is it one, that goes with the rest of an extended recipe? Fails with BPK_USAGE. */
int bpk_prediction_check(const struct bpk_recipe *recipe, struct bpk_err *err);

/* The parameter of its slot, and back: the phase and strides are not set. Fails with
 * BPK_UNSUPPORTED (bits that mean nothing) or BPK_CORRUPT. */
unsigned bpk_prediction_meta(const struct bpk_prediction *prediction);
int bpk_prediction_of_meta(unsigned meta, struct bpk_prediction *prediction, struct bpk_err *err);

/* Bytes behind the block starts. */
static inline uint32_t bpk_prediction_stored_size(const struct bpk_prediction *prediction)
{
	return prediction->size == 0 ? 0 : 4 + 4 * prediction->nstrides;
}

void bpk_prediction_put(const struct bpk_prediction *prediction, uint8_t *out);

/* Take phase and strides from the start of bytes. BPK_CORRUPT unless they fit raw_size bytes. */
int bpk_prediction_take(struct bpk_view bytes, size_t raw_size, struct bpk_prediction *prediction,
			struct bpk_err *err);

/* Raw bytes from the chunk's start that must be there for the first end of them: whole numbers. */
size_t bpk_prediction_reach(const struct bpk_prediction *prediction, size_t end, size_t raw_size);

/* One that fits: raw to as many bytes at out, which is apart; and back in place, for a chunk or the
 * beginning of one. */
void bpk_prediction_apply(const struct bpk_filter_kernels *kernels,
			  const struct bpk_prediction *prediction, struct bpk_view raw,
			  uint8_t *out);
void bpk_prediction_undo(const struct bpk_filter_kernels *kernels,
			 const struct bpk_prediction *prediction, struct bpk_span bytes);

#endif
