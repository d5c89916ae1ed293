/*
 * Each step of a pipeline undone, on one block. Called by decode_block.c. Source: Blosc chunk
 * format, "Filters".
 */
#include "chunk/filter/kernels.h"

size_t bpk_filter_width(const struct bpk_filter_block *block, const struct bpk_filter_step *step)
{
	if (step->filter == BPK_FILTER_DELTA)
		return bpk_filter_delta_width(block->typesize);
	return step->filter == BPK_FILTER_SHUFFLE ? bpk_filter_shuffle_width(block, step)
						  : bpk_filter_bytedelta_width(block, step);
}

/* "BITSHUFFLE": the number of elements that are shuffled. */
static size_t bitshuffled(const struct bpk_filter_block *block)
{
	size_t nelems = block->size / block->typesize, rest = nelems % 8;

	return block->version2 && rest != 0 ? 0 : nelems - rest;
}

bool bpk_filter_is_identity(const struct bpk_filter_block *block,
			    const struct bpk_filter_step *step)
{
	size_t size = block->size, width;

	switch (step->filter) {
	case BPK_FILTER_NONE:
		return true;
	case BPK_FILTER_SHUFFLE:
		width = bpk_filter_width(block, step);
		return width == 1 || size < width;
	case BPK_FILTER_BITSHUFFLE:
		return bitshuffled(block) == 0;
	case BPK_FILTER_DELTA:
		width = bpk_filter_width(block, step);
		return size < (block->reference == NULL ? 2 * width : width);
	case BPK_FILTER_BYTEDELTA:
	case BPK_FILTER_BYTEDELTA_1:
		return size / bpk_filter_width(block, step) < 2;
	default:
		return size == 0;
	}
}

static void undo_shuffle(const struct bpk_filter_kernels *kernels, size_t size, size_t width,
			 const uint8_t *in, uint8_t *out)
{
	const uint8_t *planes[BPK_CHUNK_MAX_TYPESIZE];
	size_t nelems = size / width, body = nelems * width;

	for (size_t j = 0; j < width; j++)
		planes[j] = in + j * nelems;
	kernels->unshuffle(planes, width, nelems, out);
	bpk_copy(out + body, in + body, size - body);
}

static void undo_bitshuffle(const struct bpk_filter_kernels *kernels,
			    const struct bpk_filter_block *block, const uint8_t *in, uint8_t *out,
			    uint8_t *room)
{
	size_t nelems = bitshuffled(block), body = nelems * block->typesize;

	kernels->bitunshuffle(in, block->typesize, nelems, out, room);
	bpk_copy(out + body, in + body, block->size - body);
}

/*
 * Block 0 is its own reference: out[i] = in[i] ^ out[i - width]. Eight bytes at a time: words
 * within them are combined by shifts, then all of them with the last word before.
 */
static void undo_first_delta(const uint8_t *in, size_t size, size_t width, uint8_t *out)
{
	uint64_t last = 0, spread = width == 8   ? 1
				    : width == 4 ? 0x0000000100000001
				    : width == 2 ? 0x0001000100010001
						 : 0x0101010101010101;
	size_t i = 0;

	for (; i + 8 <= size; i += 8) {
		uint64_t x = bpk_get_le64(in + i);

		for (size_t shift = width; shift < 8; shift *= 2)
			x ^= x << 8 * shift;
		bpk_put_le64(out + i, x ^ last);
		last ^= (x >> 8 * (8 - width)) * spread;
	}
	for (; i < size; i++)
		out[i] = i < width ? in[i] : in[i] ^ out[i - width];
}

static void undo_delta(const struct bpk_filter_kernels *kernels,
		       const struct bpk_filter_block *block, const uint8_t *in, uint8_t *out)
{
	size_t width = bpk_filter_delta_width(block->typesize),
	       body = block->size - block->size % width;

	if (block->reference != NULL)
		kernels->exclusive_or(in, block->reference, body, out);
	else
		undo_first_delta(in, body, width, out);
	bpk_copy(out + body, in + body, block->size - body);
}

/* "BYTEDELTA": the first version restarted after the last whole 16 bytes of a run. */
static void undo_bytedelta(const struct bpk_filter_kernels *kernels,
			   const struct bpk_filter_block *block, const struct bpk_filter_step *step,
			   const uint8_t *in, uint8_t *out)
{
	size_t width = bpk_filter_width(block, step), run = block->size / width, body = run * width;
	size_t first = step->filter == BPK_FILTER_BYTEDELTA_1 ? run - run % 16 : run;

	for (size_t at = 0; at < body; at += run) {
		kernels->sums(in + at, first, 0, out + at);
		kernels->sums(in + at + first, run - first, 0, out + at + first);
	}
	bpk_copy(out + body, in + body, block->size - body);
}

void bpk_filter_undo(const struct bpk_filter_kernels *kernels, const struct bpk_filter_block *block,
		     const struct bpk_filter_step *step, const uint8_t *in, uint8_t *out,
		     uint8_t *room)
{
	if (bpk_filter_is_identity(block, step)) {
		bpk_copy(out, in, block->size);
		return;
	}
	switch (step->filter) {
	case BPK_FILTER_SHUFFLE:
		undo_shuffle(kernels, block->size, bpk_filter_width(block, step), in, out);
		break;
	case BPK_FILTER_BITSHUFFLE:
		undo_bitshuffle(kernels, block, in, out, room);
		break;
	case BPK_FILTER_DELTA:
		undo_delta(kernels, block, in, out);
		break;
	case BPK_FILTER_BYTEDELTA:
	case BPK_FILTER_BYTEDELTA_1:
		undo_bytedelta(kernels, block, step, in, out);
		break;
	default: /* lossy filters only act when encoding */
		memcpy(out, in, block->size);
		break;
	}
}
