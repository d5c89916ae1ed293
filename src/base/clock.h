/*
 * A clock for durations.
 */
#ifndef BPK_BASE_CLOCK_H
#define BPK_BASE_CLOCK_H

/* Seconds of a monotonic clock. Any thread. */
double bpk_clock(void);

#endif
