/*
 * Numbers in the bytes of arrays: integers, floats and the parts of complex numbers, in any byte
 * order. A part of the room's door. Pure functions, for any thread.
 */
#ifndef BPK_ARCHIVE_NUMBER_H
#define BPK_ARCHIVE_NUMBER_H

#include "base/base.h"

/* True if items of this type are numbers: integers, floats and complex numbers of all sizes up to 8
 * bytes a part. The functions below take these types. */
bool bpk_is_number(const struct bpk_dtype *dtype);

/* Integers, and booleans. */
bool bpk_number_is_integer(const struct bpk_scalar *type);

/* Bytes of a number: of a complex one, of a part. */
uint32_t bpk_number_size(const struct bpk_scalar *type);

/* Take count numbers that follow each other, of complex ones parts. bits are those of each number;
 * an integer with a sign is extended to 64 bits. */
void bpk_number_take_bits(const struct bpk_scalar *type, const uint8_t *bytes, size_t count,
			  uint64_t *bits);

/* The same numbers, rounded to doubles. */
void bpk_number_of_bits(const struct bpk_scalar *type, const uint64_t *bits, size_t count,
			double *numbers);

/* True if numbers of several bytes are stored as this machine has them. */
bool bpk_number_is_native(const struct bpk_scalar *type);

#endif
