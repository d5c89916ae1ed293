/*
 * Inside the room io: symbolic links that a command writes through. For drafts, edits, trees and
 * paths.
 */
#ifndef BPK_IO_LINK_H
#define BPK_IO_LINK_H

#include <limits.h>

#include "io/io.h"

enum { BPK_LINKS_MAX = 40 }; /* as many as Linux follows */

/*
 * Replace path, a link, by its target, which need not exist. The rule is the kernel's
 * protected_symlinks, applied even where that is switched off: a link in a sticky folder that
 * everyone may write to is followed only when it belongs to the user or to the folder's owner; any
 * other link could lead into a file of the user that a neighbour chose. The link is checked and
 * read through one descriptor. Fails with BPK_FAILED. Source: Linux,
 * Documentation/admin-guide/sysctl/fs.rst.
 */
int bpk_link_follow(char path[PATH_MAX], struct bpk_err *err);

/* Repeat this while path is a link, into real. A path that cannot be examined is copied unchanged.
 * The folders on the way are not checked. */
int bpk_link_follow_all(const char *path, char real[PATH_MAX], struct bpk_err *err);

/* Open the directory path, following such links, for reading. Returns a descriptor, or -1. */
int bpk_link_open_folder(const char *path, struct bpk_err *err);

#endif
