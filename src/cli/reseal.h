/* repair --reseal: renew the digests after another program changed an archive. Called by
 * repair.c. */
#ifndef BPK_CLI_RESEAL_H
#define BPK_CLI_RESEAL_H

#include "cli/edit.h"

/* Reseal the archive at path, report failures, and print the result at -v, or as JSON. */
void bpk_reseal(const struct bpk_args *args, const char *path);

#endif
