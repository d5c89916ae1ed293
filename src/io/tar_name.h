/*
 * Inside the room io: names of members as a tar holds them, which anybody may have written.
 */
#ifndef BPK_IO_TAR_NAME_H
#define BPK_IO_TAR_NAME_H

#include "io/io.h"

/*
 * Write the place below a folder that name leads to into clean, which has room for strlen(name) + 1
 * bytes: without "." and empty parts; "" is the folder itself. Returns NULL, or in words why it
 * leads nowhere below: absolute, "..", a part that no folder can hold.
 */
const char *bpk_tar_clean(const char *name, char *clean);

/* Does a symbolic link at the clean place name, that leads to link, stay below the folder? Only
 * when it first climbs no further than its own folder is deep, and then goes down. */
bool bpk_tar_link_stays(const char *name, const char *link);

#endif
