/* repair --reseal: digests made anew after another program changed an archive. */
#ifndef BPK_CLI_RESEAL_H
#define BPK_CLI_RESEAL_H

#include "cli/edit.h"

/* Reseal the archive at path, report what fails, and say at -v, or as JSON, what was done. */
void bpk_reseal(const struct bpk_edit_args *args, const char *path);

#endif
