/*
 * SSSE3 kernels: the byte shuffle adds all other typesizes. The set bpk_filter_ssse3, one of those
 * that shuffle.c chooses from.
 */
#include "chunk/filter/kernels.h"
#include "chunk/filter/places.h"

#if defined(__x86_64__)
#include <tmmintrin.h>

#define V         __m128i
#define V_SLOT    16
#define V_SLOTS   1
#define V_TARGET  __attribute__((target("ssse3")))
#define V_PERMUTE 1
#define V_NAME    bpk_filter_ssse3
#define V_SIMD    BPK_SIMD_SSSE3
#define V_BELOW   bpk_filter_portable

#include "chunk/filter/x86/slots128.h"

#define v_places(p)     v_load(p)
#define v_permute(v, p) _mm_shuffle_epi8(v, p)
#define v_last(v)       _mm_shuffle_epi8(v, _mm_set1_epi8(15))

static inline __attribute__((always_inline)) V_TARGET V v_tail(V a, V b, V p)
{
	/* a place below 16 is in a, and keeps bit 7 clear with 0x70 added; the others are in b */
	return _mm_or_si128(_mm_shuffle_epi8(a, _mm_add_epi8(p, _mm_set1_epi8(0x70))),
			    _mm_shuffle_epi8(b, _mm_sub_epi8(p, _mm_set1_epi8(16))));
}

#include "chunk/filter/lanes.h"
#endif
