/*
 * Bitshuffle in portable C: the definition that the vector kernels are tested against. Called
 * through the portable set in shuffle.c.
 * Source: Blosc chunk format, "BITSHUFFLE".
 *
 * Eight elements at a time. The bytes at column j of elements 8g .. 8g+7 are the rows of an 8x8
 * matrix of bits; row b of its transpose is byte g of plane 8j+b.
 */
#include "chunk/filter/kernels.h"

/*
 * Transpose: byte r of x is row r, its bit c column c. Swap the 1x1 corners in every 2x2 square,
 * then the 2x2 corners in every 4x4 square, then the 4x4 corners.
 */
static inline uint64_t transpose(uint64_t x)
{
	uint64_t swap;

	swap = (x ^ (x >> 7)) & 0x00aa00aa00aa00aa;
	x ^= swap ^ (swap << 7);
	swap = (x ^ (x >> 14)) & 0x0000cccc0000cccc;
	x ^= swap ^ (swap << 14);
	swap = (x ^ (x >> 28)) & 0x00000000f0f0f0f0;
	return x ^ swap ^ (swap << 28);
}

static inline uint64_t gather(const uint8_t *from, size_t step)
{
	uint64_t x = 0;

	for (unsigned r = 0; r < 8; r++)
		x |= (uint64_t)from[r * step] << (8 * r);
	return x;
}

static inline void scatter(uint64_t x, uint8_t *to, size_t step)
{
	for (unsigned r = 0; r < 8; r++)
		to[r * step] = (uint8_t)(x >> (8 * r));
}

/* Groups per strip: a whole cache line of each of the eight planes of one column. */
enum { STRIP = 64 };

void bpk_filter_bitshuffle_portable(const uint8_t *in, size_t typesize, size_t nelems, uint8_t *out,
				    uint8_t *room)
{
	size_t plane = nelems / 8;

	(void)room;
	for (size_t start = 0; start < plane; start += STRIP) {
		size_t end = bpk_min_size(start + STRIP, plane);

		for (size_t j = 0; j < typesize; j++) {
			for (size_t g = start; g < end; g++)
				scatter(transpose(gather(in + 8 * g * typesize + j, typesize)),
					out + 8 * j * plane + g, plane);
		}
	}
}

void bpk_filter_bitunshuffle_portable(const uint8_t *in, size_t typesize, size_t nelems,
				      uint8_t *out, uint8_t *room)
{
	size_t plane = nelems / 8;

	(void)room;
	for (size_t start = 0; start < plane; start += STRIP) {
		size_t end = bpk_min_size(start + STRIP, plane);

		for (size_t j = 0; j < typesize; j++) {
			for (size_t g = start; g < end; g++)
				scatter(transpose(gather(in + 8 * j * plane + g, plane)),
					out + 8 * g * typesize + j, typesize);
		}
	}
}
