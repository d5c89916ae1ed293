/* The seal of an archive as text, and the root that a user expects. Called by the commands that
 * show or test seals. */
#ifndef BPK_CLI_SEAL_H
#define BPK_CLI_SEAL_H

#include "format/format.h"

/* Print the root in hexadecimal, and return text. */
const char *bpk_seal_print(const struct bpk_seal_info *seal, char text[BPK_DIGEST_TEXT]);

/* Add seal_root and seal_generation to the record; null without a seal, or without info (NULL). */
void bpk_seal_record(const struct bpk_info *info);

/* The 64 hexadecimal digits of a root in text, which is these alone, or a line of verify
 * --print-root, "PATH: ROOT generation N"; NULL: it is neither, or NULL. */
const char *bpk_seal_find_root(const char *text);

/* Fail with BPK_USAGE if root, a user's, is not NULL and is no such text of one line. */
int bpk_seal_check_root(const char *root, struct bpk_err *err);

/* Fail with BPK_CORRUPT, without the path, if there is no seal, or root, which bpk_seal_find_root
 * returned, or NULL, is not that of the seal. */
int bpk_seal_expect(const struct bpk_seal_info *seal, const char *root, struct bpk_err *err);

/* Fail with BPK_FAILED, without the path, if the chunks of a sealed archive have a checksum for
 * which somebody can make another chunk: its seal then proves nothing against that. */
int bpk_seal_check_strong(const struct bpk_info *info, struct bpk_err *err);

#endif
