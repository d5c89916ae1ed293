/*
 * Internal to chunk/filter: the kernel sets by name, and the portable kernels that vector kernels
 * call for the remainders.
 */
#ifndef BPK_CHUNK_FILTER_KERNELS_H
#define BPK_CHUNK_FILTER_KERNELS_H

#include "chunk/filter/filter.h"

extern const struct bpk_filter_kernels bpk_filter_portable;

#if defined(__x86_64__)
extern const struct bpk_filter_kernels bpk_filter_sse2;
extern const struct bpk_filter_kernels bpk_filter_ssse3;
extern const struct bpk_filter_kernels bpk_filter_avx2;
extern const struct bpk_filter_kernels bpk_filter_avx512;
#elif defined(__AARCH64EL__)
extern const struct bpk_filter_kernels bpk_filter_neon;
#endif

/* out[j*stride + i] = in[i*typesize + j]: shuffle into planes that are stride bytes apart. */
void bpk_filter_shuffle_apart(const uint8_t *in, size_t typesize, size_t nelems, uint8_t *out,
			      size_t stride);

/* Members of bpk_filter_portable in bitshuffle.c. */
void bpk_filter_bitshuffle_portable(const uint8_t *in, size_t typesize, size_t nelems, uint8_t *out,
				    uint8_t *room);
void bpk_filter_bitunshuffle_portable(const uint8_t *in, size_t typesize, size_t nelems,
				      uint8_t *out, uint8_t *room);

/* Members in differences.c. */
void bpk_filter_exclusive_or_portable(const uint8_t *a, const uint8_t *b, size_t size,
				      uint8_t *out);
void bpk_filter_differences_portable(const uint8_t *in, size_t size, uint8_t *out);

/* "DELTA": bytes of the words that are XORed. */
static inline size_t bpk_filter_delta_width(unsigned typesize)
{
	if (typesize == 1 || typesize == 2 || typesize == 4 || typesize == 8)
		return typesize;
	return typesize % 8 == 0 ? 8 : 1;
}

static inline size_t bpk_filter_shuffle_width(const struct bpk_filter_block *block,
					      const struct bpk_filter_step *step)
{
	return step->meta != 0 ? step->meta : block->typesize;
}

static inline size_t bpk_filter_bytedelta_width(const struct bpk_filter_block *block,
						const struct bpk_filter_step *step)
{
	return step->meta != 0 ? step->meta : block->width;
}

/* Members in numbers.c. */
void bpk_filter_convert_portable(enum bpk_filter_number what, const uint8_t *in, size_t width,
				 size_t count, uint8_t *out);
void bpk_filter_subtract_portable(uint8_t *numbers, size_t width, size_t stride, size_t count);
void bpk_filter_add_portable(uint8_t *numbers, size_t width, size_t stride, size_t count);

/* The member in undo.c. */
void bpk_filter_sums_portable(const uint8_t *in, size_t size, uint8_t before, uint8_t *out);

#endif
