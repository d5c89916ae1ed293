/*
 * SHA-256, for names that stand for secrets. A part of the room's door, for io.
 * Digests of archives are the room checksum's, which has a faster one.
 */
#ifndef BPK_BASE_SHA256_H
#define BPK_BASE_SHA256_H

#include "base/bytes.h"

enum { BPK_SHA256_SIZE = 32 };

/* The digest of bytes. Any thread. */
void bpk_sha256(struct bpk_view bytes, uint8_t digest[BPK_SHA256_SIZE]);

#endif
