/*
 * One fuzz target a program. Built with --enable-fuzzing the fuzzer's library calls it; otherwise
 * replay.c does, over files.
 */
#ifndef BPK_TESTS_FUZZ_H
#define BPK_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>

/* Read size hostile bytes. Returns 0; aborts when a promise is broken. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
