/* The seal of an archive as text, for verify_work.c, info.c and describe.c. */
#ifndef BPK_CLI_SEAL_H
#define BPK_CLI_SEAL_H

#include "format/format.h"

/* Print the root in hexadecimal, and return text. */
const char *bpk_seal_print(const struct bpk_seal_info *seal, char text[BPK_DIGEST_TEXT]);

/* Add seal_root and seal_generation to the record; null without a seal, or without info (NULL). */
void bpk_seal_record(const struct bpk_info *info);

#endif
