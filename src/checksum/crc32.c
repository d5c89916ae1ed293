/*
 * A message is a polynomial, and its CRC the remainder by P. Sixteen bytes may be moved d bits down
 * the message as long as the remainder stays: each half is multiplied by a power of x mod P.
 *
 *      | 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 | ... | n |  rest
 *        \___\___\___\___^   ^   ^   ^                       four at a time, d = 512
 *                                    ... | n-3 | n-2 | n-1 | n |     then each to the next, d = 128
 *
 * What is left are sixteen bytes whose remainder is that of all before them, and the rest; those
 * are zlib's. CRC-32 has the lowest bit first, so the powers stand with their bits reversed, 32 of
 * them one place to the left: x^(d + 32) for the half that comes first, x^(d - 32) for the other.
 */
#include "checksum/crc32.h"

#include <zlib.h>

static uint32_t crc32_of(uint32_t before, struct bpk_view bytes)
{
	/* zlib takes an address of NULL for a request of the start value */
	return bytes.size == 0 ? before : (uint32_t)crc32_z(before, bytes.data, bytes.size);
}

#if defined(__x86_64__)
#include <wmmintrin.h>

#define TARGET __attribute__((target("pclmul,sse2")))

enum { LANE = 16, LANES = 4, LEAST = 256 };

static inline __attribute__((always_inline)) TARGET __m128i load(const uint8_t *p)
{
	return _mm_loadu_si128((const __m128i_u *)p);
}

/* a moved to where b lies */
static inline __attribute__((always_inline)) TARGET __m128i moved(__m128i a, __m128i by, __m128i b)
{
	__m128i first = _mm_clmulepi64_si128(a, by, 0x00);
	__m128i second = _mm_clmulepi64_si128(a, by, 0x11);

	return _mm_xor_si128(_mm_xor_si128(first, second), b);
}

static TARGET uint32_t crc32_by_products(struct bpk_view bytes)
{
	const __m128i by_512 = _mm_set_epi64x(0x1c6e41596, 0x154442bd4);
	const __m128i by_128 = _mm_set_epi64x(0x0ccaa009e, 0x1751997d0);
	const uint8_t *p = bytes.data, *end = bytes.data + bytes.size;
	__m128i lanes[LANES];
	uint8_t left[LANE];
	uint32_t crc;

	for (int i = 0; i < LANES; i++, p += LANE)
		lanes[i] = load(p);
	/* CRC-32 begins with all ones */
	lanes[0] = _mm_xor_si128(lanes[0], _mm_cvtsi32_si128(-1));
	for (; end - p >= LANES * LANE; p += LANES * LANE)
		for (int i = 0; i < LANES; i++)
			lanes[i] = moved(lanes[i], by_512, load(p + i * LANE));
	for (int i = 1; i < LANES; i++)
		lanes[i] = moved(lanes[i - 1], by_128, lanes[i]);
	_mm_storeu_si128((__m128i_u *)left, lanes[LANES - 1]);
	/* the ones at the beginning are in the lanes: zlib, which inverts, is told of zeros */
	crc = crc32_of(UINT32_MAX, bpk_view(left, LANE));
	return crc32_of(crc, bpk_view(p, (size_t)(end - p)));
}

uint32_t bpk_crc32(struct bpk_view bytes)
{
	if (bytes.size >= LEAST && bpk_cpu_has(BPK_SIMD_PCLMUL))
		return crc32_by_products(bytes);
	return crc32_of(0, bytes);
}
#else
uint32_t bpk_crc32(struct bpk_view bytes)
{
	return crc32_of(0, bytes);
}
#endif
