/*
 * A clock for durations.
 */
#ifndef BPK_BASE_CLOCK_H
#define BPK_BASE_CLOCK_H

/* Seconds on a clock that is never set. Any thread. */
double bpk_clock(void);

#endif
