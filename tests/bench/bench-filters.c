/*
 * Speed of the filter kernels: GB/s (raw bytes over time) for every typesize and every set that
 * this machine runs, on one block that stays in cache. Prints tables, never fails. bench-filters
 * [block KiB, 256] [milliseconds per figure, 10]
 */
#include "chunk/filter/filter.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { MAX_SETS = 8 };

enum kernel { SHUFFLE, UNSHUFFLE, BITSHUFFLE, BITUNSHUFFLE, NKERNELS };

static const char *const kernel_names[NKERNELS] = { "shuffle", "unshuffle", "bitshuffle",
						    "bitunshuffle" };

struct block {
	uint8_t *in, *out;
	const uint8_t *planes[255];
	size_t typesize, nelems;
};

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void run(const struct bpk_filter_kernels *set, enum kernel kernel, const struct block *b)
{
	static _Alignas(64) uint8_t room[BPK_FILTER_ROOM];

	switch (kernel) {
	case SHUFFLE:
		set->shuffle(b->in, b->typesize, b->nelems, b->out, room);
		break;
	case UNSHUFFLE:
		set->unshuffle(b->planes, b->typesize, b->nelems, b->out);
		break;
	case BITSHUFFLE:
		set->bitshuffle(b->in, b->typesize, b->nelems, b->out, room);
		break;
	default:
		set->bitunshuffle(b->in, b->typesize, b->nelems, b->out, room);
		break;
	}
}

/* The best of three runs of that many seconds. */
static double gigabytes_per_second(const struct bpk_filter_kernels *set, enum kernel kernel,
				   const struct block *b, double seconds)
{
	double best = 0;

	run(set, kernel, b);
	for (int round = 0; round < 3; round++) {
		double start = now(), spent;
		size_t runs = 0;

		do {
			for (int i = 0; i < 8; i++)
				run(set, kernel, b);
			runs += 8;
			spent = now() - start;
		} while (spent < seconds / 3);
		spent = (double)(runs * b->nelems * b->typesize) / spent / 1e9;
		best = spent > best ? spent : best;
	}
	return best;
}

static void bench_typesize(enum kernel kernel, struct block *b, size_t size, size_t typesize,
			   double seconds)
{
	b->typesize = typesize;
	b->nelems = size / typesize & ~(size_t)7;
	for (size_t j = 0; j < typesize; j++)
		b->planes[j] = b->in + j * b->nelems;
	printf("%8zu", typesize);
	for (size_t i = 0; bpk_filter_kernel_sets[i] != NULL; i++) {
		if (bpk_cpu_has(bpk_filter_kernel_sets[i]->simd))
			printf(" %9.2f",
			       gigabytes_per_second(bpk_filter_kernel_sets[i], kernel, b, seconds));
	}
	putchar('\n');
	fflush(stdout);
}

static void bench_kernel(enum kernel kernel, struct block *b, size_t size, double seconds)
{
	static const size_t large[] = { 20, 24, 32, 48, 100, 255 };

	printf("%s, GB/s\n%8s", kernel_names[kernel], "typesize");
	for (size_t i = 0; bpk_filter_kernel_sets[i] != NULL; i++) {
		if (bpk_cpu_has(bpk_filter_kernel_sets[i]->simd))
			printf(" %9s", bpk_simd_name(bpk_filter_kernel_sets[i]->simd));
	}
	putchar('\n');
	for (size_t typesize = 1; typesize <= 16; typesize++)
		bench_typesize(kernel, b, size, typesize, seconds);
	for (size_t i = 0; i < sizeof large / sizeof large[0]; i++)
		bench_typesize(kernel, b, size, large[i], seconds);
	putchar('\n');
}

int main(int argc, char **argv)
{
	size_t size = (argc > 1 ? strtoul(argv[1], NULL, 10) : 256) * 1024;
	double seconds = (argc > 2 ? atof(argv[2]) : 10) / 1000;
	struct block b = { .in = bpk_calloc(1, size, NULL), .out = bpk_calloc(1, size, NULL) };

	if (b.in == NULL || b.out == NULL || size < 8 * 255) {
		fputs("bench-filters: a block of 2 KiB or more is needed, and memory for it\n",
		      stderr);
		return 1;
	}
	for (size_t i = 0; i < size; i++)
		b.in[i] = (uint8_t)(i * 2654435761u >> 13);
	printf("blocks of %zu KiB\n\n", size / 1024);
	for (enum kernel kernel = 0; kernel < NKERNELS; kernel++)
		bench_kernel(kernel, &b, size, seconds);
	free(b.in);
	free(b.out);
	return 0;
}
