/*
 * A limit on the bytes that are read in a second, by all threads and runs together. A part of the
 * room's door: verify sets it, flow.c waits.
 */
#ifndef BPK_FLOW_PACE_H
#define BPK_FLOW_PACE_H

#include "base/base.h"

/* Caller storage. */
struct bpk_pace {
	struct bpk_mutex lock;
	uint64_t rate; /* fixed: bytes a second */
	double free;   /* on bpk_clock: bytes read from here on are within the rate */
};

/* rate is at least 1. */
void bpk_pace_init(struct bpk_pace *pace, uint64_t rate);
void bpk_pace_clear(struct bpk_pace *pace);

/* Account for size bytes that were read, and wait until they are within the rate. Any thread; pace
 * may be NULL: no limit. */
void bpk_pace_wait(struct bpk_pace *pace, uint64_t size);

#endif
