/*
 * NEON kernels of AArch64, little-endian: one slot of 16 bytes. The set bpk_filter_neon, one of
 * those that shuffle.c chooses from.
 */
#include "chunk/filter/kernels.h"
#include "chunk/filter/places.h"

#if defined(__AARCH64EL__)
#include <arm_neon.h>

#define V       uint8x16_t
#define V_SLOT  16
#define V_SLOTS 1
#define V_TARGET
#define V_PERMUTE 1
#define V_NAME    bpk_filter_neon
#define V_SIMD    BPK_SIMD_NEON
#define V_BELOW   bpk_filter_portable

#define INLINE static inline __attribute__((always_inline))

#define v_load(p)                   vld1q_u8(p)
#define v_store(p, v)               vst1q_u8(p, v)
#define v_load_slots(p, step)       v_load(p)
#define v_store_slots(p, step, v)   v_store(p, v)
#define v_load_columns(p, step)     v_load(p)
#define v_store_columns(p, step, v) v_store(p, v)
#define v_zero()                    vdupq_n_u8(0)
#define v_places(p)                 v_load(p)
#define v_permute(v, p)             vqtbl1q_u8(v, p)
#define v_add(a, b)                 vaddq_u8(a, b)
#define v_sums(v)                   sums_of(v)
#define v_last(v)                   vdupq_laneq_u8(v, 15)
#define v_tail(a, b, p)             vqtbl2q_u8((uint8x16x2_t){ { a, b } }, p)

#define ZIP(which, size, a, b)                                                                     \
	vreinterpretq_u8_##size(                                                                   \
		vzip##which##q_##size(vreinterpretq_##size##_u8(a), vreinterpretq_##size##_u8(b)))

INLINE void v_zip(size_t run, V a, V b, V *lo, V *hi)
{
	switch (run) {
	case 1:
		*lo = vzip1q_u8(a, b);
		*hi = vzip2q_u8(a, b);
		break;
	case 2:
		*lo = ZIP(1, u16, a, b);
		*hi = ZIP(2, u16, a, b);
		break;
	case 4:
		*lo = ZIP(1, u32, a, b);
		*hi = ZIP(2, u32, a, b);
		break;
	default:
		*lo = ZIP(1, u64, a, b);
		*hi = ZIP(2, u64, a, b);
		break;
	}
}

INLINE V sums_of(V v)
{
	V none = v_zero();

	v = vaddq_u8(v, vextq_u8(none, v, 15));
	v = vaddq_u8(v, vextq_u8(none, v, 14));
	v = vaddq_u8(v, vextq_u8(none, v, 12));
	return vaddq_u8(v, vextq_u8(none, v, 8));
}

#include "chunk/filter/lanes.h"
#endif
