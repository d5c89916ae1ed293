/*
 * Files that are no archives, recognised by their first bytes. A part of the room's door.
 */
#ifndef BPK_ARCHIVE_FOREIGN_H
#define BPK_ARCHIVE_FOREIGN_H

#include "format/format.h"

/*
 * source is a file, and no archive. Replace the line of *err, whose kind stays, by one that names
 * the file's format and the program to use, where its first bytes tell that. as_raw: no array was
 * found in it. Waits for a pipe.
 */
void bpk_foreign_name(struct bpk_source *source, bool as_raw, struct bpk_err *err);

/* True if they do: nothing of an archive is lost then. */
bool bpk_foreign_is_known(struct bpk_source *source);

/* Fails as bpk_format_fail_unknown, with such a line where place is a file. */
int bpk_foreign_fail(const struct bpk_place *place, bool as_raw, struct bpk_err *err);

#endif
