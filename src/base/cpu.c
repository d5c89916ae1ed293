/*
 * Vector instruction sets, for the choice of filter kernels, and the number of processors, for the
 * default of --threads. Called by chunk and cli.
 */
#include "base/cpu.h"

#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

bool bpk_cpu_has(enum bpk_simd simd)
{
	switch (simd) {
	case BPK_SIMD_PORTABLE:
		return true;
#if defined(__x86_64__) || defined(__i386__)
	case BPK_SIMD_SSE2:
		return __builtin_cpu_supports("sse2");
	case BPK_SIMD_SSSE3:
		return __builtin_cpu_supports("ssse3");
	case BPK_SIMD_AVX2:
		return __builtin_cpu_supports("avx2");
	case BPK_SIMD_AVX512:
		return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
		       __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vbmi") &&
		       __builtin_cpu_supports("gfni");
#endif
#if defined(__aarch64__)
	case BPK_SIMD_NEON:
		return true; /* part of the base architecture */
#endif
	default:
		return false;
	}
}

const char *bpk_simd_name(enum bpk_simd simd)
{
	switch (simd) {
	case BPK_SIMD_SSE2:
		return "sse2";
	case BPK_SIMD_SSSE3:
		return "ssse3";
	case BPK_SIMD_AVX2:
		return "avx2";
	case BPK_SIMD_AVX512:
		return "avx512";
	case BPK_SIMD_NEON:
		return "neon";
	default:
		return "portable";
	}
}

static unsigned count_by_affinity(void)
{
	cpu_set_t set;
	long online;

	/* fails on machines with more processors than cpu_set_t holds */
	if (sched_getaffinity(0, sizeof set, &set) == 0)
		return (unsigned)CPU_COUNT(&set);
	online = sysconf(_SC_NPROCESSORS_ONLN);
	return online > 0 && online < INT_MAX ? (unsigned)online : 1;
}

/* Read "QUOTA PERIOD" of control groups version 2; UINT_MAX without a limit ("max"). */
static unsigned count_by_cgroup(void)
{
	double quota = 0, period = 0;
	FILE *file = fopen("/sys/fs/cgroup/cpu.max", "re");
	int got = 0;

	if (file != NULL) {
		got = fscanf(file, "%lf %lf", &quota, &period);
		fclose(file);
	}
	if (got != 2 || quota <= 0 || period <= 0 || quota / period >= UINT_MAX)
		return UINT_MAX;
	return (unsigned)((quota + period - 1) / period);
}

static unsigned count_by_slurm(void)
{
	const char *text = getenv("SLURM_CPUS_PER_TASK");
	char *end = NULL;
	long count;

	if (text == NULL)
		return UINT_MAX;
	count = strtol(text, &end, 10);
	return end != text && *end == '\0' && count > 0 && count < INT_MAX ? (unsigned)count
									   : UINT_MAX;
}

unsigned bpk_cpu_count(void)
{
	unsigned count = count_by_affinity();
	unsigned cgroup = count_by_cgroup();
	unsigned slurm = count_by_slurm();

	count = cgroup < count ? cgroup : count;
	count = slurm < count ? slurm : count;
	return count > 0 ? count : 1;
}
