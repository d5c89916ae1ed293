/*
 * Regions of inputs are unlike each other if they differ in the distances at which bytes are equal:
 * elements of four bytes match at 4, 8, 12 ..., prose a little everywhere, noise nowhere. Trials
 * decide whether two regions need different filters. Called by sample.c, whose groups keep samples
 * from missing a kind of region, and by known.c for whole inputs.
 */
#include "choose/look.h"

#include <string.h>

#include "choose/tuning.h"

/* The compiler makes vector instructions of these on any machine. */
typedef uint8_t vector __attribute__((vector_size(16)));

static vector load(const uint8_t *p)
{
	vector v;

	memcpy(&v, p, sizeof v);
	return v;
}

uint32_t bpk_look_matches(const uint8_t *p, size_t size, size_t lag)
{
	vector lanes = { 0 };
	uint32_t matches = 0;

	/* saves a twentieth of the instructions for a file of 20 KB */
#pragma GCC unroll 4
	for (size_t at = 0; at + sizeof lanes <= size; at += sizeof lanes)
		lanes -= (vector)(load(p + at) == load(p + at - lag));
	for (size_t i = 0; i < sizeof lanes; i++)
		matches += lanes[i];
	return matches;
}

void bpk_look_at(const uint8_t *region, struct bpk_look *look)
{
	for (size_t lag = 1; lag <= BPK_LOOK_LAGS; lag++)
		look->matches[lag - 1] =
			(uint16_t)bpk_look_matches(region + BPK_LOOK_LAGS, BPK_LOOK_COMPARED, lag);
}

/* Counts are alike if their difference is chance: GROUP_SCATTER percent of the compared bytes, or
 * GROUP_SHARE percent of the larger count. */
unsigned bpk_look_distance(const struct bpk_look *a, const struct bpk_look *b)
{
	unsigned most = 0;

	for (size_t i = 0; i < BPK_LOOK_LAGS; i++) {
		unsigned more = a->matches[i], less = b->matches[i], slack;

		if (more < less) {
			more = less;
			less = a->matches[i];
		}
		slack = (BPK_LOOK_COMPARED * GROUP_SCATTER + more * GROUP_SHARE) / 100;
		if (more - less > slack + most)
			most = more - less - slack;
	}
	return most;
}
