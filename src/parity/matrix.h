/*
 * Numbers of GF(2^8) with the polynomial 0x11d, as ISA-L has them, and the Cauchy matrix of the
 * code: every square part of it has an inverse, so any m lost cells of a group are restored by its
 * m parity cells. A part of the room's door.
 */
#ifndef BPK_PARITY_MATRIX_H
#define BPK_PARITY_MATRIX_H

#include "base/base.h"

/* The data and parity cells of a group are at most so many. */
enum { BPK_CODE_MAX = 255 };

/* The product, and the inverse of a number that is not 0. Any thread. */
uint8_t bpk_gf_multiply(uint8_t a, uint8_t b);
uint8_t bpk_gf_inverse(uint8_t a);

/* The factor of data cell i in parity cell j, 1 / (i + (255 - j)); i + j < BPK_CODE_MAX, so the
 * sum, which is an exclusive or, is never 0. */
uint8_t bpk_code_factor(unsigned parity, unsigned data);

/* Invert the matrix of n rows of n numbers in place; scratch has room for as many. False: it has no
 * inverse. */
bool bpk_gf_invert(uint8_t *matrix, uint8_t *scratch, unsigned n);

#endif
