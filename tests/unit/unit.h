/*
 * Included by every unit program: cmocka's headers in the order that it requires, and TAP output.
 */
#ifndef BPK_TESTS_UNIT_H
#define BPK_TESTS_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

/* Run the tests of one program and print TAP, which Automake's driver reads. */
#define UNIT_RUN(tests)                                                                            \
	(cmocka_set_message_output(CM_OUTPUT_TAP), cmocka_run_group_tests((tests), NULL, NULL))

/* A small generator that does not depend on the C library. */
struct unit_random {
	uint64_t state;
};

static inline uint32_t unit_random_next(struct unit_random *r)
{
	r->state = r->state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(r->state >> 33);
}

#endif
