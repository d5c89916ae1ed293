/*
 * CRC-32 and Adler-32 (RFC 1952, RFC 1950): by libdeflate, which has vector code for them, or by
 * zlib. A part of the room's door, for checksum and io.
 */
#ifndef BPK_BASE_CRC_H
#define BPK_BASE_CRC_H

#include "base/bytes.h"

/* The CRC-32 of bytes behind those of crc, which is 0 at the beginning. Any thread. */
uint32_t bpk_crc32(uint32_t crc, struct bpk_view bytes);

/* The Adler-32, in the same way; it is 1 at the beginning. Any thread. */
uint32_t bpk_adler32(uint32_t adler, struct bpk_view bytes);

#endif
