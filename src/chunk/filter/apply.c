/*
 * Each step of a pipeline in the direction of encoding, on one block. Called by encode_block.c and,
 * for lossy filters, by flow.
 * Source: Blosc chunk format, "Filters".
 */
#include "chunk/filter/kernels.h"

/* ---- Lossy filters ---- */

/*
 * "TRUNC_PREC and INT_TRUNC": the number of low bits to clear in words of the typesize; 0 if the
 * parameter is out of range (which bpk_pipeline_check refuses).
 */
static unsigned cleared_bits(unsigned typesize, const struct bpk_filter_step *step)
{
	int bits = step->filter == BPK_FILTER_INT_TRUNC ? 8 * (int)typesize
		   : typesize == 4                      ? BPK_FILTER_MANTISSA_32
							: BPK_FILTER_MANTISSA_64;
	int parameter = (int8_t)step->meta;
	int cleared = parameter >= 0 ? bits - parameter : -parameter;

	return cleared < 0 || cleared >= bits ? 0 : (unsigned)cleared;
}

/* Clear bits in words whose size divides 8: 8 bytes at a time, then the remaining words. in may be
 * out. */
static void clear_bits(const struct bpk_filter_block *block, const struct bpk_filter_step *step,
		       const uint8_t *in, uint8_t *out)
{
	unsigned ts = block->typesize;
	uint64_t word = ~(uint64_t)0 << cleared_bits(ts, step), mask = 0;
	size_t body = block->size - block->size % ts, i;
	uint8_t bytes[8];

	for (unsigned j = 0; j < 8; j++)
		bytes[j] = (uint8_t)(word >> 8 * (j % ts));
	memcpy(&mask, bytes, 8);
	for (i = 0; i + 8 <= body; i += 8) {
		uint64_t x;

		memcpy(&x, in + i, 8);
		x &= mask;
		memcpy(out + i, &x, 8);
	}
	for (; i < body; i++)
		out[i] = in[i] & bytes[i % 8];
	if (in != out)
		bpk_copy(out + body, in + body, block->size - body);
}

void bpk_pipeline_degrade(const struct bpk_pipeline *pipeline, unsigned typesize,
			  struct bpk_span raw)
{
	const struct bpk_filter_block all = { .size = raw.size, .typesize = typesize };

	for (unsigned i = 0; i < pipeline->nsteps; i++) {
		const struct bpk_filter_step *step = &pipeline->steps[i];

		if (step->filter == BPK_FILTER_TRUNC_PREC || step->filter == BPK_FILTER_INT_TRUNC)
			clear_bits(&all, step, raw.data, raw.data);
	}
}

/* ---- Lossless filters ---- */

static void shuffle(const struct bpk_filter_kernels *kernels, const struct bpk_filter_block *block,
		    const struct bpk_filter_step *step, const uint8_t *in, uint8_t *out,
		    uint8_t *room)
{
	size_t width = bpk_filter_shuffle_width(block, step);
	size_t nelems = block->size / width, body = nelems * width;

	kernels->shuffle(in, width, nelems, out, room);
	bpk_copy(out + body, in + body, block->size - body);
}

/* "BITSHUFFLE": multiples of 8 elements. In version 2 the caller excludes other blocks. */
static void bitshuffle(const struct bpk_filter_kernels *kernels,
		       const struct bpk_filter_block *block, const uint8_t *in, uint8_t *out,
		       uint8_t *room)
{
	size_t ts = block->typesize, nelems = block->size / ts, body;

	nelems -= nelems % 8;
	body = nelems * ts;
	kernels->bitshuffle(in, ts, nelems, out, room);
	bpk_copy(out + body, in + body, block->size - body);
}

/* "DELTA": XOR with block 0; inside block 0, with the previous word. */
static void delta(const struct bpk_filter_kernels *kernels, const struct bpk_filter_block *block,
		  const uint8_t *in, uint8_t *out)
{
	size_t width = bpk_filter_delta_width(block->typesize);
	size_t body = block->size - block->size % width;

	if (block->reference != NULL) {
		kernels->exclusive_or(in, block->reference, body, out);
	} else {
		size_t first = bpk_min_size(width, body);

		bpk_copy(out, in, first);
		kernels->exclusive_or(in + first, in, body - first, out + first);
	}
	bpk_copy(out + body, in + body, block->size - body);
}

/* "BYTEDELTA": differences within each of width runs. */
static void bytedelta(const struct bpk_filter_kernels *kernels,
		      const struct bpk_filter_block *block, const struct bpk_filter_step *step,
		      const uint8_t *in, uint8_t *out)
{
	size_t width = bpk_filter_bytedelta_width(block, step), run = block->size / width,
	       body = run * width;

	for (size_t at = 0; at < body; at += run)
		kernels->differences(in + at, run, out + at);
	bpk_copy(out + body, in + body, block->size - body);
}

void bpk_filter_apply(const struct bpk_filter_kernels *kernels,
		      const struct bpk_filter_block *block, const struct bpk_filter_step *step,
		      const uint8_t *in, uint8_t *out, uint8_t *room)
{
	if (bpk_filter_is_identity(block, step)) {
		bpk_copy(out, in, block->size);
		return;
	}
	switch (step->filter) {
	case BPK_FILTER_SHUFFLE:
		shuffle(kernels, block, step, in, out, room);
		break;
	case BPK_FILTER_BITSHUFFLE:
		bitshuffle(kernels, block, in, out, room);
		break;
	case BPK_FILTER_DELTA:
		delta(kernels, block, in, out);
		break;
	case BPK_FILTER_BYTEDELTA:
		bytedelta(kernels, block, step, in, out);
		break;
	default:
		clear_bits(block, step, in, out);
		break;
	}
}
