/*
 * Internal to chunk: single numbers of 1, 2, 4 or 8 bytes, and the steps of predictions on them. A
 * number is held in 64 bits; the bits above its width are unspecified, except after bpk_number_get.
 * A constant width is folded away by the compiler.
 */
#ifndef BPK_CHUNK_NUMBER_H
#define BPK_CHUNK_NUMBER_H

#include "base/base.h"

#define BPK_NUMBER_FN static inline __attribute__((always_inline))

/* Load, little-endian; the bits above width are 0. */
BPK_NUMBER_FN uint64_t bpk_number_get(const uint8_t *p, size_t width)
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

BPK_NUMBER_FN void bpk_number_put(uint8_t *p, size_t width, uint64_t x)
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

/* The highest bit: the sign of a float. */
BPK_NUMBER_FN uint64_t bpk_number_high(size_t width)
{
	return (uint64_t)1 << (8 * width - 1);
}

BPK_NUMBER_FN uint64_t bpk_number_all(size_t width)
{
	return bpk_number_high(width) | (bpk_number_high(width) - 1);
}

/* BPK_NUMBER_ORDER: map a float's bits to an integer of the same order. */
BPK_NUMBER_FN uint64_t bpk_number_order(uint64_t x, size_t width)
{
	uint64_t high = bpk_number_high(width);

	return x ^ ((x & high) != 0 ? bpk_number_all(width) : high);
}

/* BPK_NUMBER_UNORDER: the inverse. */
BPK_NUMBER_FN uint64_t bpk_number_unorder(uint64_t x, size_t width)
{
	uint64_t high = bpk_number_high(width);

	return x ^ ((x & high) != 0 ? high : bpk_number_all(width));
}

/* BPK_NUMBER_FOLD: 0, -1, 1, -2 ... to 0, 1, 2, 3 ... */
BPK_NUMBER_FN uint64_t bpk_number_fold(uint64_t x, size_t width)
{
	return (x << 1) ^ ((x & bpk_number_high(width)) != 0 ? bpk_number_all(width) : 0);
}

/* BPK_NUMBER_UNFOLD: the inverse; the bits of x above width must be 0. */
BPK_NUMBER_FN uint64_t bpk_number_unfold(uint64_t x, size_t width)
{
	return (x >> 1) ^ ((x & 1) != 0 ? bpk_number_all(width) : 0);
}

#endif
