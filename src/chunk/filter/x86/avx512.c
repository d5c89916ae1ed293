/*
 * AVX-512 kernels with VBMI and GFNI: one slot of 64 bytes, because bytes and runs can move
 * anywhere in it, and one matrix multiplication transposes bits. The set bpk_filter_avx512, one of
 * those that shuffle.c chooses from.
 */
#include "chunk/filter/kernels.h"
#include "chunk/filter/places.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define V         __m512i
#define V_SLOT    64
#define V_SLOTS   1
#define V_TARGET  __attribute__((target("avx512f,avx512bw,avx512vl,avx512vbmi,gfni")))
#define V_PERMUTE 1
#define V_NAME    bpk_filter_avx512
#define V_SIMD    BPK_SIMD_AVX512
#define V_BELOW   bpk_filter_avx2

#define INLINE static inline __attribute__((always_inline)) V_TARGET

#define v_load(p)                 _mm512_loadu_si512(p)
#define v_store(p, v)             _mm512_storeu_si512(p, v)
#define v_load_slots(p, step)     v_load(p)
#define v_store_slots(p, step, v) v_store(p, v)
#define v_zero()                  _mm512_setzero_si512()
#define v_places(p)               v_load(p)
#define v_permute(v, p)           _mm512_permutexvar_epi8(p, v)
#define v_tail(a, b, p)           _mm512_permutex2var_epi8(a, p, b)

#define v_bits(v) turn(v)

#define ROW(p) _mm_loadu_si128((const __m128i *)(const void *)(p))

INLINE V v_load_columns(const uint8_t *p, size_t step)
{
	V v = _mm512_castsi128_si512(ROW(p));

	v = _mm512_inserti32x4(v, ROW(p + step), 1);
	v = _mm512_inserti32x4(v, ROW(p + 2 * step), 2);
	return _mm512_inserti32x4(v, ROW(p + 3 * step), 3);
}

INLINE void v_store_columns(uint8_t *p, size_t step, V v)
{
	_mm_storeu_si128((__m128i *)(void *)p, _mm512_castsi512_si128(v));
	_mm_storeu_si128((__m128i *)(void *)(p + step), _mm512_extracti32x4_epi32(v, 1));
	_mm_storeu_si128((__m128i *)(void *)(p + 2 * step), _mm512_extracti32x4_epi32(v, 2));
	_mm_storeu_si128((__m128i *)(void *)(p + 3 * step), _mm512_extracti32x4_epi32(v, 3));
}

/* Indices select 8-byte (or 4-byte) words of a, and from 8 (16) on of b. */
INLINE void v_zip(size_t run, V a, V b, V *lo, V *hi)
{
	switch (run) {
	case 4:
		*lo = _mm512_permutex2var_epi32(
			a,
			_mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23),
			b);
		*hi = _mm512_permutex2var_epi32(a,
						_mm512_setr_epi32(8, 24, 9, 25, 10, 26, 11, 27, 12,
								  28, 13, 29, 14, 30, 15, 31),
						b);
		break;
	case 8:
		*lo = _mm512_permutex2var_epi64(a, _mm512_setr_epi64(0, 8, 1, 9, 2, 10, 3, 11), b);
		*hi = _mm512_permutex2var_epi64(a, _mm512_setr_epi64(4, 12, 5, 13, 6, 14, 7, 15),
						b);
		break;
	case 16:
		*lo = _mm512_permutex2var_epi64(a, _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11), b);
		*hi = _mm512_permutex2var_epi64(a, _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15),
						b);
		break;
	default: /* 32 */
		*lo = _mm512_shuffle_i64x2(a, b, 0x44);
		*hi = _mm512_shuffle_i64x2(a, b, 0xee);
		break;
	}
}

/*
 * gf2p8affineqb multiplies the matrix in every 8 bytes of its second operand (first row in the last
 * byte) by each byte of its first. Unit vectors times x are the columns of x, with reversed bit
 * order; the anti-diagonal matrix times these columns restores the order.
 */
INLINE V turn(V x)
{
	V unit = _mm512_set1_epi64((int64_t)0x8040201008040201);

	return _mm512_gf2p8affine_epi64_epi8(_mm512_gf2p8affine_epi64_epi8(unit, x, 0), unit, 0);
}

#include "chunk/filter/lanes.h"
#endif
