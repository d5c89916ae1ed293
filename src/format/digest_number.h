/*
 * Inside the room format: the numbers that identify a digest in Bloscpack files, and in the parts
 * that bpk adds to other formats. Source: Bloscpack format, "Checksums".
 */
#ifndef BPK_FORMAT_DIGEST_NUMBER_H
#define BPK_FORMAT_DIGEST_NUMBER_H

#include "checksum/checksum.h"

enum { BPK_CHECKSUM_NUMBERS = 9 };

/* The checksum with a number, NULL if unknown; and the number of a checksum. */
const struct bpk_checksum *bpk_checksum_of_number(unsigned number);
unsigned bpk_checksum_number(const struct bpk_checksum *checksum);

#endif
