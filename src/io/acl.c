/* Permissions of outputs under access control lists. source_open.c reads modes with it,
 * draft_keep.c and the trees set them. */
#include "io/acl.h"

#include <errno.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#define ACCESS_LIST  "system.posix_acl_access"
#define DEFAULT_LIST "system.posix_acl_default"

/* Source: linux/posix_acl_xattr.h. A version, then entries of tag, permissions and id, all
 * little-endian. */
enum {
	VERSION = 2,
	HEAD = 4,
	ENTRY = 8,
	USER_OBJ = 0x01,
	USER = 0x02,
	GROUP_OBJ = 0x04,
	GROUP = 0x08,
	MASK = 0x10,
	OTHER = 0x20,
	ENTRIES_MAX = 128, /* in a list; file systems allow fewer */
};

/* The permissions in a list, three bits each. */
struct given {
	unsigned user, group, other;
	unsigned mask;
	unsigned named; /* permissions that all named users and groups have */
	bool has_named;
};

static void take(struct given *given, unsigned tag, unsigned bits)
{
	switch (tag) {
	case USER_OBJ:
		given->user = bits;
		break;
	case GROUP_OBJ:
		given->group = bits;
		break;
	case USER:
	case GROUP:
		given->named &= bits;
		given->has_named = true;
		break;
	case MASK:
		given->mask = bits;
		break;
	case OTHER:
		given->other = bits;
		break;
	}
}

/* Returns 0; 1 when there is no list; -1 when it cannot be read. */
static int read_list(int fd, const char *name, struct given *given)
{
	uint8_t list[HEAD + ENTRY * ENTRIES_MAX];
	ssize_t size = fgetxattr(fd, name, list, sizeof list);

	*given = (struct given){ .mask = 7, .named = 7 };
	if (size < 0)
		return errno == ENODATA || errno == ENOTSUP ? 1 : -1;
	if (size < HEAD || bpk_get_le32(list) != VERSION || (size - HEAD) % ENTRY != 0)
		return -1;
	for (ssize_t at = HEAD; at < size; at += ENTRY)
		take(given, bpk_get_le16(list + at), bpk_get_le16(list + at + 2) & 7);
	return 0;
}

/* The largest mode that gives nobody more than the list does. */
static mode_t mode_of(const struct given *given)
{
	unsigned named = given->has_named ? given->named & given->mask : 7;

	return given->user << 6 | (given->group & given->mask & named) << 3 |
	       (given->other & named);
}

mode_t bpk_acl_mode(int fd, mode_t mode)
{
	struct given given;
	int rc = read_list(fd, ACCESS_LIST, &given);

	if (rc > 0)
		return mode;
	return rc < 0 ? mode & ~(mode_t)077 : mode & (~(mode_t)0777 | mode_of(&given));
}

/* For a file of another group: its members were others before, and those of the old group are
 * others now. */
static mode_t mode_without_group(mode_t mode)
{
	mode_t both = mode >> 3 & mode & 07;

	return (mode & ~(mode_t)077) | both << 3 | both;
}

void bpk_stat_narrow(struct stat *like, const struct stat *more)
{
	mode_t mode = more->st_mode & 0777;

	if (S_ISDIR(more->st_mode))
		mode &= (mode & 0111) << 2 | (mode & 0111) << 1;
	if (like->st_uid == (uid_t)-1)
		like->st_uid = more->st_uid;
	else if (like->st_uid != more->st_uid)
		like->st_uid = geteuid();
	if (like->st_gid == (gid_t)-1)
		like->st_gid = more->st_gid;
	if (like->st_gid != more->st_gid)
		mode = mode_without_group(mode);
	like->st_mode &= S_IFMT | mode;
}

bool bpk_acl_is_plain(int fd)
{
	char names[1024];
	ssize_t size = flistxattr(fd, names, sizeof names);

	if (size < 0)
		return errno == ENOTSUP || errno == EOPNOTSUPP || errno == ENOSYS;
	for (const char *name = names; name < names + size; name += strlen(name) + 1)
		if (strncmp(name, "user.", 5) == 0 || strcmp(name, ACCESS_LIST) == 0)
			return false;
	return true;
}

void bpk_acl_give(int fd, uid_t owner)
{
	if (fchown(fd, owner, (gid_t)-1) != 0)
		return; /* it stays the caller's */
}

mode_t bpk_acl_like(int fd, gid_t group, const struct stat *like, bool is_folder)
{
	mode_t mode = like->st_mode & 0777;

	/* root gives it away, unless it is root's; others keep it, and lose nothing */
	if (like->st_uid != 0 && like->st_uid != (uid_t)-1 && geteuid() == 0)
		bpk_acl_give(fd, like->st_uid);
	if (group != like->st_gid && fchown(fd, (uid_t)-1, like->st_gid) != 0)
		mode = mode_without_group(mode);
	return is_folder ? (mode & 0666) | (mode & 0444) >> 2 : mode;
}

void bpk_acl_set_mode(int fd, int folder, mode_t mode, bool is_new)
{
	struct given given;
	int inherited = is_new ? read_list(folder, DEFAULT_LIST, &given) : 1;

	if (inherited == 0)
		mode &= ~(mode_t)0777 | mode_of(&given);
	/* if the folder cannot be read, or the list cannot be removed, its mask must not grow */
	if (read_list(fd, ACCESS_LIST, &given) <= 0 &&
	    (fremovexattr(fd, ACCESS_LIST) != 0 || inherited < 0))
		mode &= ~(mode_t)077;
	(void)fchmod(fd, mode);
}

/* True if the entry of that tag is narrowed by the group's bits of a umask: the mask, or else that
 * of the group. */
static bool is_group_of_mode(unsigned tag, bool has_mask)
{
	return tag == (has_mask ? MASK : GROUP_OBJ);
}

/* Take the umask off a list of that size. */
static void narrow_list(uint8_t *list, ssize_t size, mode_t umask)
{
	bool has_mask = false;

	for (ssize_t at = HEAD; at < size; at += ENTRY)
		has_mask |= bpk_get_le16(list + at) == MASK;
	for (ssize_t at = HEAD; at < size; at += ENTRY) {
		unsigned tag = bpk_get_le16(list + at), bits = bpk_get_le16(list + at + 2);

		if (tag == USER_OBJ)
			bits &= ~(umask >> 6);
		else if (is_group_of_mode(tag, has_mask))
			bits &= ~(umask >> 3);
		else if (tag == OTHER)
			bits &= ~umask;
		list[at + 2] = (uint8_t)(bits & 7); /* the upper bits mean nothing */
	}
}

int bpk_acl_copy(int from, int to, const struct stat *like, mode_t umask)
{
	uint8_t list[HEAD + ENTRY * ENTRIES_MAX];
	ssize_t size = fgetxattr(from, ACCESS_LIST, list, sizeof list);
	struct stat old, new;

	if (size < 0)
		return errno == ENODATA || errno == ENOTSUP ? 0 : -1;
	if (size < HEAD || bpk_get_le32(list) != VERSION || (size - HEAD) % ENTRY != 0 ||
	    fstat(from, &old) != 0 || fstat(to, &new) != 0)
		return -1;
	if (old.st_uid != like->st_uid || old.st_gid != like->st_gid ||
	    (bpk_acl_mode(from, old.st_mode) & 0777) != (like->st_mode & 0777))
		return 0;
	if (new.st_gid != old.st_gid)
		return -1;
	narrow_list(list, size, umask);
	return fsetxattr(to, ACCESS_LIST, list, (size_t)size, 0) == 0 || errno == ENOTSUP ? 0 : -1;
}

void bpk_acl_drop_default(int fd)
{
	(void)fremovexattr(fd, DEFAULT_LIST);
}
