/* bpk append --follow --rotate: the archives of files that lost their name. For append.c alone. */
#ifndef BPK_CLI_ROTATE_H
#define BPK_CLI_ROTATE_H

#include "cli/args.h"

/*
 * Give the archive at path the next free number, "log.1.blp" for "log.blp", and print a line with
 * it unless -q is given; file was rotated. The archive is closed. Fails with BPK_FAILED, in a line
 * that names it.
 */
int bpk_rotate_archive(const struct bpk_args *args, const char *path, const char *file,
		       struct bpk_err *err);

#endif
