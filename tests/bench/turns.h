/*
 * Two programs' work timed in turns (ours, theirs, ours, theirs ...), so that a disturbance of
 * the machine affects both. For benches that compare calls in one process.
 */
#ifndef BPK_TESTS_BENCH_TURNS_H
#define BPK_TESTS_BENCH_TURNS_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TURNS_MAX = 101 };

/* This thread's own time in seconds: other work of the machine is not counted. */
static inline double turns_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static inline void turns_die(const char *what)
{
	fprintf(stderr, "bench: %s\n", what);
	exit(1);
}

/* Memory whose pages are all there, so that no page fault occurs while the clock runs. */
static inline void *turns_allocate(size_t size)
{
	void *bytes = malloc(size);

	if (bytes == NULL)
		turns_die("no memory");
	memset(bytes, 1, size);
	return bytes;
}

static inline int turns_ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static inline double turns_median(double *values, unsigned n)
{
	qsort(values, n, sizeof values[0], turns_ascending);
	return values[n / 2];
}

static inline double turns_time(void (*call)(void *), void *arg)
{
	double start = turns_now();

	call(arg);
	return turns_now() - start;
}

/* Medians of both sides' times, and of the rounds' own ratios, theirs / ours. */
static inline void turns_run(unsigned rounds, void (*ours)(void *), void (*theirs)(void *),
			     void *arg, double times[2], double *gain)
{
	static double a[TURNS_MAX], b[TURNS_MAX], ratio[TURNS_MAX];

	ours(arg);
	theirs(arg);
	for (unsigned r = 0; r < rounds; r++) {
		a[r] = turns_time(ours, arg);
		b[r] = turns_time(theirs, arg);
		ratio[r] = b[r] / a[r];
	}
	times[0] = turns_median(a, rounds);
	times[1] = turns_median(b, rounds);
	*gain = turns_median(ratio, rounds);
}

#endif
