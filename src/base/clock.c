/*
 * A clock for durations: progress reports, intervals between commits, elapsed time. Called by feeds
 * of archives and by cli.
 */
#include "base/clock.h"

#include <time.h>

double bpk_clock(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}
