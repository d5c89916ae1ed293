/*
 * Deterministic data sets for the benches: outputs of simulations and similar data, made from
 * a seed by integer arithmetic alone, so that every machine makes the same bytes.
 */
#ifndef BPK_TESTS_BENCH_DATA_H
#define BPK_TESTS_BENCH_DATA_H

#include <stddef.h>
#include <stdint.h>

struct bench_data {
	const char *name;
	unsigned typesize;   /* of one element, as pack would be told */
	const char *summary; /* one line for a listing */
};

/* The sets in their order of presentation, NULL behind the last. */
const struct bench_data *bench_data_at(size_t index);

/* By name, NULL if no set has it. */
const struct bench_data *bench_data_find(const char *name);

/*
 * Fill size bytes of buf with set name from seed. A larger size begins with the bytes of a smaller
 * one. Returns 0, or -1 when there is no such set or no memory. Any thread.
 */
int bench_data_make(const char *name, uint64_t seed, size_t size, uint8_t *buf);

#endif
