/*
 * Names that nobody else takes: random numbers as text. Called by io/remote for its uploads, and by
 * format/chunkdir for its reservations.
 */
#ifndef BPK_BASE_UNIQUE_H
#define BPK_BASE_UNIQUE_H

#include "base/err.h"

/* A name of 128 random bits: 32 hexadecimal digits and a NUL. */
struct bpk_unique {
	char text[33];
};

/* A new name, of random numbers of the kernel. Any thread. Returns 0, or -1 with ERR set where the
 * kernel gives none. */
int bpk_unique_make(struct bpk_unique *unique, struct bpk_err *err);

#endif
