/*
 * AVX2 kernels: two slots of 16 bytes. The set bpk_filter_avx2, one of those that shuffle.c chooses
 * from.
 */
#include "chunk/filter/kernels.h"
#include "chunk/filter/places.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define V         __m256i
#define V_SLOT    16
#define V_SLOTS   2
#define V_TARGET  __attribute__((target("avx2")))
#define V_PERMUTE 1
#define V_NAME    bpk_filter_avx2
#define V_SIMD    BPK_SIMD_AVX2
#define V_BELOW   bpk_filter_ssse3

#define INLINE static inline __attribute__((always_inline)) V_TARGET

#define v_load(p)                   _mm256_loadu_si256((const __m256i *)(const void *)(p))
#define v_store(p, v)               _mm256_storeu_si256((__m256i *)(void *)(p), v)
#define v_load_columns(p, step)     v_load_slots(p, V_SLOT *(step))
#define v_store_columns(p, step, v) v_store_slots(p, V_SLOT *(step), v)
#define v_zero()                    _mm256_setzero_si256()
#define v_permute(v, p)             _mm256_shuffle_epi8(v, p)
#define v_add(a, b)                 _mm256_add_epi8(a, b)
#define v_sums(v)                   sums_of(v)
#define v_last(v)                   last_of(v)

INLINE V v_load_slots(const uint8_t *p, size_t step)
{
	const __m128i *lo = (const void *)p, *hi = (const void *)(p + step);

	return _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128(lo)),
				       _mm_loadu_si128(hi), 1);
}

INLINE void v_store_slots(uint8_t *p, size_t step, V v)
{
	__m128i *lo = (void *)p, *hi = (void *)(p + step);

	_mm_storeu_si128(lo, _mm256_castsi256_si128(v));
	_mm_storeu_si128(hi, _mm256_extracti128_si256(v, 1));
}

INLINE V v_places(const uint8_t *p)
{
	return _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)p));
}

INLINE V v_tail(V a, V b, V p)
{
	/* a place below 16 is in a, and keeps bit 7 clear with 0x70 added; the others are in b */
	return _mm256_or_si256(_mm256_shuffle_epi8(a, _mm256_add_epi8(p, _mm256_set1_epi8(0x70))),
			       _mm256_shuffle_epi8(b, _mm256_sub_epi8(p, _mm256_set1_epi8(16))));
}

INLINE void v_zip(size_t run, V a, V b, V *lo, V *hi)
{
	switch (run) {
	case 1:
		*lo = _mm256_unpacklo_epi8(a, b);
		*hi = _mm256_unpackhi_epi8(a, b);
		break;
	case 2:
		*lo = _mm256_unpacklo_epi16(a, b);
		*hi = _mm256_unpackhi_epi16(a, b);
		break;
	case 4:
		*lo = _mm256_unpacklo_epi32(a, b);
		*hi = _mm256_unpackhi_epi32(a, b);
		break;
	default:
		*lo = _mm256_unpacklo_epi64(a, b);
		*hi = _mm256_unpackhi_epi64(a, b);
		break;
	}
}

/* Prefix sums within each half; then the last byte of the lower half is added to the upper. */
INLINE V sums_of(V v)
{
	V last;

	v = _mm256_add_epi8(v, _mm256_slli_si256(v, 1));
	v = _mm256_add_epi8(v, _mm256_slli_si256(v, 2));
	v = _mm256_add_epi8(v, _mm256_slli_si256(v, 4));
	v = _mm256_add_epi8(v, _mm256_slli_si256(v, 8));
	last = _mm256_shuffle_epi8(v, _mm256_set1_epi8(15));
	return _mm256_add_epi8(v, _mm256_permute2x128_si256(last, last, 0x08));
}

INLINE V last_of(V v)
{
	v = _mm256_shuffle_epi8(v, _mm256_set1_epi8(15));
	return _mm256_permute2x128_si256(v, v, 0x11);
}

#include "chunk/filter/lanes.h"
#endif
