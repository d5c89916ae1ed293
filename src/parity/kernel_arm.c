/* The vector kernel of AArch64: a table lookup gives the products of 16 bytes at once. One of the
 * ways that kernel.c chooses from. */
#include "parity/kernel.h"

#ifdef __aarch64__
#include <arm_neon.h>

static bool neon_runs(void)
{
	return bpk_cpu_has(BPK_SIMD_NEON);
}

struct halves_neon {
	uint8x16_t low, high;
};

#define V_NAME(x) x##_neon
#define V_TARGET
#define V              uint8x16_t
#define V_ROWS         8
#define V_FACTOR       struct halves_neon
#define V_IN           struct halves_neon
#define V_LOAD(from)   vld1q_u8(from)
#define V_STORE(to, v) vst1q_u8(to, v)
#define V_XOR(a, b)    veorq_u8(a, b)
#define V_SPLIT(v)                                                                                 \
	{                                                                                          \
		vandq_u8(v, vdupq_n_u8(15)), vshrq_n_u8(v, 4)                                      \
	}
#define V_TABLE(table)                                                                             \
	{                                                                                          \
		vld1q_u8(table), vld1q_u8((table) + 16)                                            \
	}
#define V_PRODUCT(f, in) veorq_u8(vqtbl1q_u8(f.low, in.low), vqtbl1q_u8(f.high, in.high))
#define V_REST           bpk_code_add_bytes
#include "parity/kernel_lanes.h"

const struct bpk_code_way bpk_code_neon = { "neon", neon_runs, bpk_code_prepare, add_neon };
#endif
