/* The interface of a fuzz target; each target is a program. With --enable-fuzzing the fuzzer's
 * library calls it, otherwise replay.c does, for files. */
#ifndef BPK_TESTS_FUZZ_H
#define BPK_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>

/* Process size hostile bytes. Returns 0; aborts when a promise is broken. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
