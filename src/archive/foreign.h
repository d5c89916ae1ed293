/*
 * Files that are no archives, recognised by their first bytes. Internal to archive: for input.c.
 */
#ifndef BPK_ARCHIVE_FOREIGN_H
#define BPK_ARCHIVE_FOREIGN_H

#include "archive/input.h"

/*
 * in is a file, and no archive. Replace the line of *err, whose kind stays, by one that names the
 * file's format and the program to use, where its first bytes tell that. Waits for a pipe.
 */
void bpk_foreign_name(const struct bpk_input *in, struct bpk_err *err);

#endif
