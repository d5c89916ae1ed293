/*
 * CRC-32 as zlib has it, faster where the machine multiplies without carries.
 */
#ifndef BPK_CHECKSUM_CRC32_H
#define BPK_CHECKSUM_CRC32_H

#include "base/base.h"

/* Any thread. */
uint32_t bpk_crc32(struct bpk_view bytes);

#endif
