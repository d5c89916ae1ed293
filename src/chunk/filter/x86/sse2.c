/*
 * SSE2 kernels, for every x86-64: typesizes 2, 4, 8, 16 and above, and bits of all typesizes. The
 * set bpk_filter_sse2, one of those that shuffle.c chooses from.
 */
#include "chunk/filter/kernels.h"

#if defined(__x86_64__)
#include <emmintrin.h>

#define V         __m128i
#define V_SLOT    16
#define V_SLOTS   1
#define V_TARGET  __attribute__((target("sse2")))
#define V_PERMUTE 0
#define V_NAME    bpk_filter_sse2
#define V_SIMD    BPK_SIMD_SSE2
#define V_BELOW   bpk_filter_portable

#include "chunk/filter/x86/slots128.h"

#define v_last(v) last_of(v)

static inline __attribute__((always_inline)) V_TARGET V last_of(V v)
{
	v = _mm_unpackhi_epi8(v, v);
	return _mm_shuffle_epi32(_mm_shufflehi_epi16(v, 0xff), 0xff);
}

#include "chunk/filter/lanes.h"
#endif
