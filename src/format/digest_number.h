/*
 * Inside the room format: the numbers by which Bloscpack files, and what bpk itself keeps in other
 * formats, name a digest. Source: Bloscpack format, "Checksums".
 */
#ifndef BPK_FORMAT_DIGEST_NUMBER_H
#define BPK_FORMAT_DIGEST_NUMBER_H

#include "checksum/checksum.h"

enum { BPK_CHECKSUM_NUMBERS = 9 };

/* By its number, NULL when unknown; and the number of one. */
const struct bpk_checksum *bpk_checksum_of_number(unsigned number);
unsigned bpk_checksum_number(const struct bpk_checksum *checksum);

#endif
