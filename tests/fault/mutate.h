/*
 * Simulation files as they may come out of a bad disk or a bad mind: cut short, with bits flipped,
 * with other numbers where lengths and offsets stand. The same seed gives the same variant.
 */
#ifndef BPK_TESTS_FAULT_MUTATE_H
#define BPK_TESTS_FAULT_MUTATE_H

#include <stddef.h>
#include <stdint.h>

enum {
	MUTATE_MOST = 256 << 10, /* of a file that is larger so much is looked at */
	MUTATE_TABLES = 256 << 10,
};

/* Cut a file in place to its first MUTATE_MOST bytes, with a GSD file's tables behind them, and its
 * header leading there. Returns its size, MUTATE_MOST + MUTATE_TABLES at most. */
size_t mutate_shorten(uint8_t *bytes, size_t size);

/* Make a variant of size bytes in out, which has room for as many. Returns its size. */
size_t mutate(const uint8_t *bytes, size_t size, uint64_t seed, uint8_t *out);

#endif
