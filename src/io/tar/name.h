/* Inside the room io: names of members in a tar, which may be hostile. For the other files of
 * tar/. */
#ifndef BPK_IO_TAR_NAME_H
#define BPK_IO_TAR_NAME_H

#include "io/io.h"

/*
 * Write the path below a folder that name leads to into clean, which has room for strlen(name) + 1
 * bytes: without "." and empty parts; "" is the folder itself. Returns NULL, or the words that say
 * why it leads to no path below: absolute, "..", a part that no folder can hold.
 */
const char *bpk_tar_clean(const char *name, char *clean);

/* True if a symbolic link at the clean path name with target link stays below the folder: it first
 * climbs no higher than the folder, and then only descends. */
bool bpk_tar_link_stays(const char *name, const char *link);

#endif
