/*
 * The look of a region of an input: the distances at which its bytes are equal. Inside choose
 * alone; sample.c and known.c call it.
 */
#ifndef BPK_CHOOSE_LOOK_H
#define BPK_CHOOSE_LOOK_H

#include <stddef.h>
#include <stdint.h>

/* Bytes that equal the one lag before them, in p[0 .. size). The size is a multiple of 16, and at
 * most 4080: 255 vectors, so that no lane of the count wraps. */
uint32_t bpk_look_matches(const uint8_t *p, size_t size, size_t lag);

/* A region has BPK_LOOK_REGION bytes. */
enum {
	BPK_LOOK_LAGS = 32,
	BPK_LOOK_COMPARED = 2048,
	BPK_LOOK_REGION = BPK_LOOK_LAGS + BPK_LOOK_COMPARED
};

/* Bytes of a region that equal the one lag bytes before them, for each lag from 1 on. */
struct bpk_look {
	uint16_t matches[BPK_LOOK_LAGS];
};

void bpk_look_at(const uint8_t *region, struct bpk_look *look);

/* The largest difference between two looks, without those due to chance and a change of scale; 0:
 * they are alike. */
unsigned bpk_look_distance(const struct bpk_look *a, const struct bpk_look *b);

#endif
