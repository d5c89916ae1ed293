/*
 * Shared by tests against other libraries: data to encode, and the extent of the test matrix.
 */
#ifndef BPK_TESTS_ORACLE_H
#define BPK_TESTS_ORACLE_H

#include <stdio.h>

#include "base/bytes.h"
#include "unit/unit.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define ORACLE_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define ORACLE_SANITIZED 1
#endif
#endif
#ifndef ORACLE_SANITIZED
#define ORACLE_SANITIZED 0
#endif

/* True if part of the matrix is enough. */
static inline bool oracle_is_thin(void)
{
	return ORACLE_SANITIZED || getenv("BPK_TEST_THIN") != NULL;
}

/* Slowly ascending elements, with noise in the lowest byte and a constant stretch. */
static inline void oracle_fill(uint8_t *raw, size_t size, unsigned typesize, uint32_t seed)
{
	struct unit_random r = { seed };
	uint64_t value = seed;

	for (size_t i = 0; i < size; i++) {
		size_t j = i % typesize;

		if (j == 0 && (i / typesize) % 512 < 400)
			value += 200 + unit_random_next(&r) % 256;
		raw[i] = j < 8 ? (uint8_t)(value >> 8 * j) : (uint8_t)(j + (i >> 14));
	}
}

/* Text like a simulation's log: lines with equal words and different numbers. */
static inline void oracle_fill_text(uint8_t *raw, size_t size)
{
	static const char *const names[] = { "pressure", "temperature", "energy", "displacement" };
	struct unit_random r = { 3 };
	size_t used = 0;

	while (used < size) {
		/* one by one: the order of evaluation of arguments is unspecified */
		uint32_t step = unit_random_next(&r), name = unit_random_next(&r) % 4;
		uint32_t whole = unit_random_next(&r) % 1000, part_of_it = unit_random_next(&r);
		char line[128];
		int n = snprintf(line, sizeof line,
				 "{ \"step\": %u, \"quantity\": \"%s\", \"value\": %u.%u }\n",
				 step % 100000, names[name], whole, part_of_it);
		size_t part = bpk_min_size((size_t)n, size - used);

		memcpy(raw + used, line, part);
		used += part;
	}
}

#endif
