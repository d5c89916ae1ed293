/*
 * Variants of simulation files as a bad disk or a hostile author makes them: truncated, with
 * flipped bits, with other numbers in lengths and offsets. The same seed gives the same variant.
 * mutants.c calls it.
 */
#ifndef BPK_TESTS_FAULT_MUTATE_H
#define BPK_TESTS_FAULT_MUTATE_H

#include <stddef.h>
#include <stdint.h>

enum {
	MUTATE_MOST = 256 << 10,   /* bytes used of a larger file */
	MUTATE_TABLES = 256 << 10, /* bytes used of a GSD file's tables */
};

/* Cut a file in place to its first MUTATE_MOST bytes. A GSD file keeps its tables behind them, and
 * its header is changed to point there. Returns its size, at most MUTATE_MOST + MUTATE_TABLES. */
size_t mutate_shorten(uint8_t *bytes, size_t size);

/* Make a variant of size bytes in out, which has room for as many. Returns its size. */
size_t mutate(const uint8_t *bytes, size_t size, uint64_t seed, uint8_t *out);

#endif
