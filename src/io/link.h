/*
 * Inside the room io: symbolic links that a command writes through.
 */
#ifndef BPK_IO_LINK_H
#define BPK_IO_LINK_H

#include <limits.h>

#include "io/io.h"

enum { BPK_LINKS_MAX = 40 }; /* as many as Linux follows */

/*
 * Replace path, a link, by what it leads to, which need not be there. As the kernel's rule
 * protected_symlinks has it, whether that is switched on or not, a link in a sticky folder that
 * everyone may write to is followed only when it is the user's own or the folder owner's: any
 * other may lead into a file of the user that a neighbour chose. The link is judged and read by one
 * descriptor. Fails with BPK_FAILED. Source: Linux, Documentation/admin-guide/sysctl/fs.rst.
 */
int bpk_link_follow(char path[PATH_MAX], struct bpk_err *err);

/* The same as long as path is a link, into real. What cannot be looked at stays as it is. The
 * folders on the way are not judged. */
int bpk_link_follow_all(const char *path, char real[PATH_MAX], struct bpk_err *err);

/* Open the directory that path leads to by such links, for reading. A descriptor, or -1. */
int bpk_link_open_folder(const char *path, struct bpk_err *err);

#endif
