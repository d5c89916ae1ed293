/*
 * Byte shuffle in portable C, the definition that the vector kernels are tested against, and the
 * choice of the kernel set. Called by the steps of a pipeline, by predict.c and by vector kernels.
 * Source: Blosc chunk format, "SHUFFLE (width w)".
 */
#include "chunk/filter/kernels.h"

#include <stdatomic.h>

/* Elements per strip, so that an element's cache line is still present for its last column. */
enum { STRIP = 256 };

void bpk_filter_shuffle_apart(const uint8_t *in, size_t typesize, size_t nelems, uint8_t *out,
			      size_t stride)
{
	for (size_t start = 0; start < nelems; start += STRIP) {
		size_t count = bpk_min_size(STRIP, nelems - start);

		for (size_t j = 0; j < typesize; j++) {
			const uint8_t *from = in + start * typesize + j;
			uint8_t *to = out + j * stride + start;

			for (size_t i = 0; i < count; i++)
				to[i] = from[i * typesize];
		}
	}
}

static void shuffle(const uint8_t *in, size_t typesize, size_t nelems, uint8_t *out, uint8_t *room)
{
	(void)room;
	if (typesize == 1)
		bpk_copy(out, in, nelems);
	else
		bpk_filter_shuffle_apart(in, typesize, nelems, out, nelems);
}

static void unshuffle(const uint8_t *const *planes, size_t typesize, size_t nelems, uint8_t *out)
{
	if (typesize == 1) {
		bpk_copy(out, planes[0], nelems);
		return;
	}
	for (size_t start = 0; start < nelems; start += STRIP) {
		size_t count = bpk_min_size(STRIP, nelems - start);

		for (size_t j = 0; j < typesize; j++) {
			const uint8_t *from = planes[j] + start;
			uint8_t *to = out + start * typesize + j;

			for (size_t i = 0; i < count; i++)
				to[i * typesize] = from[i];
		}
	}
}

const struct bpk_filter_kernels bpk_filter_portable = {
	.simd = BPK_SIMD_PORTABLE,
	.shuffle = shuffle,
	.unshuffle = unshuffle,
	.bitshuffle = bpk_filter_bitshuffle_portable,
	.bitunshuffle = bpk_filter_bitunshuffle_portable,
	.exclusive_or = bpk_filter_exclusive_or_portable,
	.differences = bpk_filter_differences_portable,
	.sums = bpk_filter_sums_portable,
	.convert = bpk_filter_convert_portable,
	.subtract = bpk_filter_subtract_portable,
	.add = bpk_filter_add_portable,
};

/* In ascending order: a later set is better on any machine that has it. */
const struct bpk_filter_kernels *const bpk_filter_kernel_sets[] = {
	&bpk_filter_portable,
#if defined(__x86_64__)
	&bpk_filter_sse2,
	&bpk_filter_ssse3,
	&bpk_filter_avx2,
	&bpk_filter_avx512,
#elif defined(__AARCH64EL__)
	&bpk_filter_neon,
#endif
	NULL,
};

static _Atomic(const struct bpk_filter_kernels *) chosen;

static const struct bpk_filter_kernels *choose(void)
{
	const struct bpk_filter_kernels *best = &bpk_filter_portable;

	for (size_t i = 0; bpk_filter_kernel_sets[i] != NULL; i++) {
		if (bpk_cpu_has(bpk_filter_kernel_sets[i]->simd))
			best = bpk_filter_kernel_sets[i];
	}
	return best;
}

const struct bpk_filter_kernels *bpk_filter_kernels(void)
{
	const struct bpk_filter_kernels *kernels =
		atomic_load_explicit(&chosen, memory_order_relaxed);

	/* threads that race here choose the same set, which is constant */
	if (kernels == NULL) {
		kernels = choose();
		atomic_store_explicit(&chosen, kernels, memory_order_relaxed);
	}
	return kernels;
}
