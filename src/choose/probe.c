/*
 * Regions of an input that are unlike each other, told by how often a byte equals the one some
 * bytes before it: elements of four bytes match at 4, 8, 12 ..., prose a little everywhere, noise
 * nowhere. Whether two regions need different filters is for trials to say; this only keeps the
 * samples from missing one of them.
 */
#include "choose/sample.h"

/* Alike are counts whose difference is chance, so many percent of what is compared, or so many
 * percent of the larger one. */
enum {
	LAGS = 32,
	COMPARED = BPK_PROBE_REGION - LAGS,
	SCATTER = 4,
	SHARE = 30,
};

/* What a region looks like: matches at each lag from 1 on. */
struct look {
	uint16_t matches[LAGS];
};

static void look_at(const uint8_t *region, struct look *look)
{
	for (size_t lag = 1; lag <= LAGS; lag++)
		look->matches[lag - 1] = (uint16_t)bpk_sample_matches(region + LAGS, COMPARED, lag);
}

/* The largest of the differences, less what chance and a change of scale do; 0: alike. */
static unsigned distance(const struct look *a, const struct look *b)
{
	unsigned most = 0;

	for (size_t i = 0; i < LAGS; i++) {
		unsigned more = a->matches[i], less = b->matches[i], slack;

		if (more < less) {
			more = less;
			less = a->matches[i];
		}
		slack = (COMPARED * SCATTER + more * SHARE) / 100;
		if (more - less > slack + most)
			most = more - less - slack;
	}
	return most;
}

/* Each region joins the nearest leader, or becomes one where all are far. */
unsigned bpk_probe_group(const uint8_t *const regions[], size_t n, uint8_t groups[])
{
	struct look leaders[BPK_SAMPLE_GROUPS], look;
	unsigned ngroups = 0;

	for (size_t i = 0; i < n; i++) {
		unsigned nearest = UINT16_MAX + 1;

		look_at(regions[i], &look);
		for (unsigned g = 0; g < ngroups; g++) {
			unsigned far = distance(&look, &leaders[g]);

			if (far < nearest) {
				nearest = far;
				groups[i] = (uint8_t)g;
			}
		}
		if (nearest > 0 && ngroups < BPK_SAMPLE_GROUPS) {
			leaders[ngroups] = look;
			groups[i] = (uint8_t)ngroups++;
		}
	}
	return ngroups;
}
