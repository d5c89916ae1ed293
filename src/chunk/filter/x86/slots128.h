/*
 * Vector operations for lanes.h in SSE2: a vector of one slot of 16 bytes. For sse2.c and ssse3.c.
 */

#define v_load(p)                   _mm_loadu_si128((const __m128i *)(const void *)(p))
#define v_store(p, v)               _mm_storeu_si128((__m128i *)(void *)(p), v)
#define v_load_slots(p, step)       v_load(p)
#define v_store_slots(p, step, v)   v_store(p, v)
#define v_load_columns(p, step)     v_load(p)
#define v_store_columns(p, step, v) v_store(p, v)
#define v_zero()                    _mm_setzero_si128()
#define v_add(a, b)                 _mm_add_epi8(a, b)
#define v_sums(v)                   sums_of(v)

static inline __attribute__((always_inline)) V_TARGET void v_zip(size_t run, V a, V b, V *lo, V *hi)
{
	switch (run) {
	case 1:
		*lo = _mm_unpacklo_epi8(a, b);
		*hi = _mm_unpackhi_epi8(a, b);
		break;
	case 2:
		*lo = _mm_unpacklo_epi16(a, b);
		*hi = _mm_unpackhi_epi16(a, b);
		break;
	case 4:
		*lo = _mm_unpacklo_epi32(a, b);
		*hi = _mm_unpackhi_epi32(a, b);
		break;
	default:
		*lo = _mm_unpacklo_epi64(a, b);
		*hi = _mm_unpackhi_epi64(a, b);
		break;
	}
}

static inline __attribute__((always_inline)) V_TARGET V sums_of(V v)
{
	v = _mm_add_epi8(v, _mm_slli_si128(v, 1));
	v = _mm_add_epi8(v, _mm_slli_si128(v, 2));
	v = _mm_add_epi8(v, _mm_slli_si128(v, 4));
	return _mm_add_epi8(v, _mm_slli_si128(v, 8));
}
