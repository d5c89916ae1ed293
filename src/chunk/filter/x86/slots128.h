/* What lanes.h asks of a vector that is one slot of 16 bytes, in SSE2. */

#define v_load(p)		    _mm_loadu_si128((const __m128i *)(const void *)(p))
#define v_store(p, v)		    _mm_storeu_si128((__m128i *)(void *)(p), v)
#define v_load_slots(p, step)	    v_load(p)
#define v_store_slots(p, step, v)   v_store(p, v)
#define v_load_columns(p, step)	    v_load(p)
#define v_store_columns(p, step, v) v_store(p, v)
#define v_zero()		    _mm_setzero_si128()

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

/* The steps of transpose() in bitshuffle.c. */
static inline __attribute__((always_inline)) V_TARGET V v_bits(V x)
{
	V swap;

	swap = _mm_and_si128(_mm_xor_si128(x, _mm_srli_epi64(x, 7)),
			     _mm_set1_epi64x(0x00aa00aa00aa00aa));
	x = _mm_xor_si128(x, _mm_xor_si128(swap, _mm_slli_epi64(swap, 7)));
	swap = _mm_and_si128(_mm_xor_si128(x, _mm_srli_epi64(x, 14)),
			     _mm_set1_epi64x(0x0000cccc0000cccc));
	x = _mm_xor_si128(x, _mm_xor_si128(swap, _mm_slli_epi64(swap, 14)));
	swap = _mm_and_si128(_mm_xor_si128(x, _mm_srli_epi64(x, 28)),
			     _mm_set1_epi64x(0x00000000f0f0f0f0));
	return _mm_xor_si128(x, _mm_xor_si128(swap, _mm_slli_epi64(swap, 28)));
}
