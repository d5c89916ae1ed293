/*
 * Inside the room io: access control lists (acl(5)), as far as permissions of outputs depend on
 * them. With a list the group bits of a mode are the list's mask, which may allow more than the
 * owning group has.
 */
#ifndef BPK_IO_ACL_H
#define BPK_IO_ACL_H

#include "io/io.h"

/*
 * The mode of the file fd, reduced so that a file of this mode without a list gives nobody more
 * than the list does: the group bits are those of the owning group, and group and others have no
 * permission that a named user or group lacks. If the list cannot be read, only the owner's bits
 * remain.
 */
mode_t bpk_acl_mode(int fd, mode_t mode);

/* True if the file fd has neither an access list nor attributes of users (user.NAME, xattr(7)). */
bool bpk_acl_is_plain(int fd);

/*
 * The permissions of an output, open as fd and of that group, made of the input like: those of a
 * file. If the output cannot get the input's group, group and others get what both had.
 * Of root it gets the input's owner first. An owner or a group of -1 is that of the output.
 * A folder is searched by its readers.
 */
mode_t bpk_acl_like(int fd, gid_t group, const struct stat *like, bool is_folder);

/* Give the file fd to the user owner, if this process may: root alone may. */
void bpk_acl_give(int fd, uid_t owner);

/*
 * Give the file fd, which was created private in folder, this mode, without the entries inherited
 * from the folder's default list. is_new: the mode does not come from another file, so the default
 * list narrows it.
 */
void bpk_acl_set_mode(int fd, int folder, mode_t mode, bool is_new);

/*
 * Give the file to the access list of the file from, whose owner, group and mode like has: those of
 * a source. Nothing is done if from has no list, or is another file than like says: then its mode
 * says all. The umask narrows the list as it narrows a mode. Returns 0, or -1 if the list could not
 * be set, or is not, since to has another group.
 */
int bpk_acl_copy(int from, int to, const struct stat *like, mode_t umask);

/* Remove the default list of the folder fd, so that files made in it later inherit nothing. */
void bpk_acl_drop_default(int fd);

#endif
