/*
 * What prediction does to little-endian numbers, in portable C: the definition.
 */
#include "chunk/filter/kernels.h"

/* Where the width is a constant the switches vanish from the loops. */
#define INLINE static inline __attribute__((always_inline))

INLINE uint64_t get_number(const uint8_t *p, size_t width)
{
	switch (width) {
	case 1:
		return *p;
	case 2:
		return bpk_get_le16(p);
	case 4:
		return bpk_get_le32(p);
	default:
		return bpk_get_le64(p);
	}
}

/* The lowest width bytes of x. */
INLINE void put_number(uint8_t *p, size_t width, uint64_t x)
{
	switch (width) {
	case 1:
		*p = (uint8_t)x;
		break;
	case 2:
		p[0] = (uint8_t)x;
		p[1] = (uint8_t)(x >> 8);
		break;
	case 4:
		bpk_put_le32(p, (uint32_t)x);
		break;
	default:
		bpk_put_le64(p, x);
		break;
	}
}

INLINE void swap(const uint8_t *in, size_t width, uint8_t *out)
{
	uint8_t bytes[8];

	for (size_t j = 0; j < width; j++)
		bytes[j] = in[width - 1 - j];
	memcpy(out, bytes, width);
}

INLINE uint64_t convert(enum bpk_filter_number what, uint64_t x, size_t width)
{
	unsigned top = 8 * (unsigned)width - 1;
	uint64_t high = (uint64_t)1 << top, all = high | (high - 1);
	bool set = (x & high) != 0;

	switch (what) {
	case BPK_NUMBER_ORDER:
		return x ^ (set ? all : high);
	case BPK_NUMBER_UNORDER:
		return x ^ (set ? high : all);
	case BPK_NUMBER_FOLD:
		return (x << 1) ^ (set ? all : 0);
	default:
		return (x >> 1) ^ ((x & 1) != 0 ? all : 0);
	}
}

INLINE void convert_all(enum bpk_filter_number what, const uint8_t *in, size_t width, size_t count,
			uint8_t *out)
{
	for (size_t i = 0; i < count * width; i += width) {
		if (what == BPK_NUMBER_SWAP)
			swap(in + i, width, out + i);
		else
			put_number(out + i, width, convert(what, get_number(in + i, width), width));
	}
}

INLINE void subtract_all(uint8_t *numbers, size_t width, size_t stride, size_t count)
{
	for (size_t i = count; i > stride; i--) {
		uint8_t *p = numbers + (i - 1) * width;

		put_number(p, width, get_number(p, width) - get_number(p - stride * width, width));
	}
}

/* The sum so far is at hand: reading it back would wait for its write. */
INLINE void add_next(uint8_t *numbers, size_t width, size_t count)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < count; i++) {
		sum += get_number(numbers + i * width, width);
		put_number(numbers + i * width, width, sum);
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

		put_number(p, width, get_number(p, width) + get_number(p - stride * width, width));
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
