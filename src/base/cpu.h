/*
 * What the machine offers: vector instructions and processors this process may use.
 */
#ifndef BPK_BASE_CPU_H
#define BPK_BASE_CPU_H

#include <stdbool.h>

/* Vector instruction sets that kernels are written for, each a promise about the ones it needs. */
enum bpk_simd {
	BPK_SIMD_PORTABLE = 0,
	BPK_SIMD_SSE2,  /* x86-64 baseline; SSE2 alone */
	BPK_SIMD_SSSE3, /* adds the byte shuffle */
	BPK_SIMD_AVX2,
	BPK_SIMD_AVX512, /* F, BW, VL, VBMI and GFNI together */
	BPK_SIMD_NEON,   /* AArch64 */
};

/* True when this machine (and its operating system) runs that set. Any thread. */
bool bpk_cpu_has(enum bpk_simd simd);

/* Its name for `bpk --version`: "avx2". Never NULL. */
const char *bpk_simd_name(enum bpk_simd simd);

/*
 * Processors this process may keep busy, at least 1: the least of CPU affinity, the control group's
 * CPU quota (rounded up) and SLURM_CPUS_PER_TASK, as far as each is set and makes sense. Any
 * thread.
 */
unsigned bpk_cpu_count(void);

#endif
