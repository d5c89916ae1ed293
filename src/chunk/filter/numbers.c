/*
 * Number kernels of prediction in portable C, little-endian: the definition that the vector kernels
 * are tested against. Called through the portable set in shuffle.c.
 */
#include "chunk/filter/kernels.h"
#include "chunk/number.h"

/* With a constant width the switches are folded out of the loops. */
#define INLINE static inline __attribute__((always_inline))

INLINE void swap(const uint8_t *in, size_t width, uint8_t *out)
{
	uint8_t bytes[8];

	for (size_t j = 0; j < width; j++)
		bytes[j] = in[width - 1 - j];
	memcpy(out, bytes, width);
}

INLINE uint64_t convert(enum bpk_filter_number what, uint64_t x, size_t width)
{
	switch (what) {
	case BPK_NUMBER_ORDER:
		return bpk_number_order(x, width);
	case BPK_NUMBER_UNORDER:
		return bpk_number_unorder(x, width);
	case BPK_NUMBER_FOLD:
		return bpk_number_fold(x, width);
	default:
		return bpk_number_unfold(x, width);
	}
}

INLINE void convert_all(enum bpk_filter_number what, const uint8_t *in, size_t width, size_t count,
			uint8_t *out)
{
	for (size_t i = 0; i < count * width; i += width) {
		if (what == BPK_NUMBER_SWAP)
			swap(in + i, width, out + i);
		else
			bpk_number_put(out + i, width,
				       convert(what, bpk_number_get(in + i, width), width));
	}
}

INLINE void subtract_all(uint8_t *numbers, size_t width, size_t stride, size_t count)
{
	for (size_t i = count; i > stride; i--) {
		uint8_t *p = numbers + (i - 1) * width;

		bpk_number_put(p, width,
			       bpk_number_get(p, width) -
				       bpk_number_get(p - stride * width, width));
	}
}

/* The running sum stays in a register: reading it back would wait for the store. */
INLINE void add_next(uint8_t *numbers, size_t width, size_t count)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < count; i++) {
		sum += bpk_number_get(numbers + i * width, width);
		bpk_number_put(numbers + i * width, width, sum);
	}
}

INLINE void add_all(uint8_t *numbers, size_t width, size_t stride, size_t count)
{
	if (stride == 1) {
		add_next(numbers, width, count);
		return;
	}
	for (size_t i = stride; i < count; i++) {
		uint8_t *p = numbers + i * width;

		bpk_number_put(p, width,
			       bpk_number_get(p, width) +
				       bpk_number_get(p - stride * width, width));
	}
}

void bpk_filter_convert_portable(enum bpk_filter_number what, const uint8_t *in, size_t width,
				 size_t count, uint8_t *out)
{
	switch (width) {
	case 1:
		convert_all(what, in, 1, count, out);
		break;
	case 2:
		convert_all(what, in, 2, count, out);
		break;
	case 4:
		convert_all(what, in, 4, count, out);
		break;
	default:
		convert_all(what, in, 8, count, out);
		break;
	}
}

void bpk_filter_subtract_portable(uint8_t *numbers, size_t width, size_t stride, size_t count)
{
	switch (width) {
	case 1:
		subtract_all(numbers, 1, stride, count);
		break;
	case 2:
		subtract_all(numbers, 2, stride, count);
		break;
	case 4:
		subtract_all(numbers, 4, stride, count);
		break;
	default:
		subtract_all(numbers, 8, stride, count);
		break;
	}
}

void bpk_filter_add_portable(uint8_t *numbers, size_t width, size_t stride, size_t count)
{
	switch (width) {
	case 1:
		add_all(numbers, 1, stride, count);
		break;
	case 2:
		add_all(numbers, 2, stride, count);
		break;
	case 4:
		add_all(numbers, 4, stride, count);
		break;
	default:
		add_all(numbers, 8, stride, count);
		break;
	}
}
