/*
 * A clock for durations: progress reports, intervals between commits, elapsed time; and the order
 * of times. A part of the room's door, for io, archive and cli.
 */
#ifndef BPK_BASE_CLOCK_H
#define BPK_BASE_CLOCK_H

#include <stdbool.h>
#include <time.h>

/* Seconds of a monotonic clock. Any thread. */
double bpk_clock(void);

/* True if a is earlier than b. Any thread. */
bool bpk_time_is_before(const struct timespec *a, const struct timespec *b);

#endif
