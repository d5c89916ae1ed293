/*
 * Inside the room io: access control lists (acl(5)) as far as permissions of outputs need them.
 * With a list the group bits of a mode are its mask, and say more than the owning group may do.
 */
#ifndef BPK_IO_ACL_H
#define BPK_IO_ACL_H

#include "io/io.h"

/*
 * The mode of the file fd, such that a file of this mode and without a list gives nobody more than
 * the list does: group bits are those of the owning group, and none of group and others that a
 * named user or group has not. A list that cannot be read leaves the owner's bits alone.
 */
mode_t bpk_acl_mode(int fd, mode_t mode);

/*
 * Give the file fd, which was made private in folder, this mode, without the entries that the
 * folder's default list gave it. is_new: the mode is not another file's, and the default list
 * narrows it.
 */
void bpk_acl_set_mode(int fd, int folder, mode_t mode, bool is_new);

#endif
