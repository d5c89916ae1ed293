/*
 * Vector instructions of this machine, and the processors that this process may use. A part of the
 * room's door, for chunk, archive and cli.
 */
#ifndef BPK_BASE_CPU_H
#define BPK_BASE_CPU_H

#include <stdbool.h>

/* The instruction sets that kernels are written for. Each name stands for all sets that its kernels
 * need. */
enum bpk_simd {
	BPK_SIMD_PORTABLE = 0,
	BPK_SIMD_SSE2,  /* x86-64 baseline; SSE2 alone */
	BPK_SIMD_SSSE3, /* adds the byte shuffle */
	BPK_SIMD_AVX2,
	BPK_SIMD_AVX512, /* F, BW, VL, VBMI and GFNI together */
	BPK_SIMD_NEON,   /* AArch64 */
};

/* True if this machine and its operating system run that set. Any thread. */
bool bpk_cpu_has(enum bpk_simd simd);

/* The name in `bpk --version`: "avx2". Never NULL. */
const char *bpk_simd_name(enum bpk_simd simd);

/*
 * Processors that this process may use, at least 1: the minimum of CPU affinity, the control
 * group's CPU quota (rounded up) and SLURM_CPUS_PER_TASK. A limit that is unset or invalid is
 * ignored. Any thread.
 */
unsigned bpk_cpu_count(void);

#endif
