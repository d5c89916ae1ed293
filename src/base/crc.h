/*
 * CRC-32 and Adler-32 (RFC 1952, RFC 1950): by libdeflate, which has vector code for them, or by
 * zlib. Where ISA-L is installed, CRC-32 of many bytes is by its wider vectors. A part of the
 * room's door, for checksum and io.
 */
#ifndef BPK_BASE_CRC_H
#define BPK_BASE_CRC_H

#include "base/bytes.h"

/* The CRC-32 of bytes behind those of crc, which is 0 at the beginning. Any thread. */
uint32_t bpk_crc32(uint32_t crc, struct bpk_view bytes);

/* The Adler-32, in the same way; it is 1 at the beginning. Any thread. */
uint32_t bpk_adler32(uint32_t adler, struct bpk_view bytes);

/* Name and version of the library for the CRC-32 of many bytes, beside the one that bpk is linked
 * with; NULL if it was left out. It is loaded when it is first needed; when it is missing then, the
 * linked one does its work. */
const char *bpk_crc32_library(void);

/* The libraries one by one, for tests: NULL behind the last. Bytes of size 0 are not for them. */
typedef uint32_t bpk_crc32_call(uint32_t crc, struct bpk_view bytes);
bpk_crc32_call *bpk_crc32_way(size_t i);

#endif
