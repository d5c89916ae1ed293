/*
 * A clock for durations. A part of the room's door, for archive and cli.
 */
#ifndef BPK_BASE_CLOCK_H
#define BPK_BASE_CLOCK_H

/* Seconds of a monotonic clock. Any thread. */
double bpk_clock(void);

#endif
