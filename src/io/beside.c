#include "io/beside.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "io/beneath.h"
#include "io/record.h"

/* .NAME.bpkj; of a name too long for that as much as there is room for, and its CRC. */
static void spell_journal(char text[NAME_MAX + 1], const char *name)
{
	static const char suffix[] = ".bpkj";
	size_t size = strlen(name);
	size_t kept = NAME_MAX - 1 - (sizeof "-00000000" - 1) - (sizeof suffix - 1);

	if (1 + size + sizeof suffix - 1 <= NAME_MAX) {
		snprintf(text, NAME_MAX + 1, ".%s%s", name, suffix);
		return;
	}
	while (kept > 0 && ((uint8_t)name[kept] & 0xc0) == 0x80)
		kept--;
	snprintf(text, NAME_MAX + 1, ".%.*s-%08x%s", (int)kept, name,
		 (unsigned)bpk_record_crc(0, bpk_view(name, size)), suffix);
}

bool bpk_beside_is_journal(const char *name)
{
	size_t size = strlen(name);

	return name[0] == '.' && size > sizeof "..bpkj" - 1 &&
	       strcmp(name + size - (sizeof ".bpkj" - 1), ".bpkj") == 0;
}

int bpk_beside_find(const char *path, struct bpk_beside *beside, struct bpk_err *err)
{
	char folder[PATH_MAX];
	char *slash;

	*beside = (struct bpk_beside){ .folder = -1 };
	beside->path = realpath(path, NULL);
	if (beside->path == NULL)
		return bpk_fail_errno(err, errno, "cannot open");
	slash = strrchr(beside->path, '/');
	beside->name = slash + 1;
	/* its slash is kept: "/" is a folder, "" is none */
	if (snprintf(folder, sizeof folder, "%.*s", (int)(beside->name - beside->path),
		     beside->path) >= (int)sizeof folder) {
		bpk_fail_errno(err, ENAMETOOLONG, "cannot open");
		goto fail;
	}
	beside->folder = bpk_folder_open(folder);
	if (beside->folder < 0) {
		bpk_fail_errno(err, errno, "cannot open its folder");
		goto fail;
	}
	spell_journal(beside->journal, beside->name);
	return 0;
fail:
	bpk_beside_clear(beside);
	return -1;
}

void bpk_beside_clear(struct bpk_beside *beside)
{
	if (beside->folder >= 0)
		close(beside->folder);
	free(beside->path);
	*beside = (struct bpk_beside){ .folder = -1 };
}

int bpk_beside_open(const struct bpk_beside *beside, int flags)
{
	int fd;

	do
		fd = openat(beside->folder, beside->name,
			    flags | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	while (fd < 0 && errno == EINTR);
	return fd;
}

bool bpk_beside_is(const struct bpk_beside *beside, int fd)
{
	struct stat named, opened;

	return fstatat(beside->folder, beside->name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
	       fstat(fd, &opened) == 0 && named.st_dev == opened.st_dev &&
	       named.st_ino == opened.st_ino;
}

bool bpk_beside_has_journal(const struct bpk_beside *beside, struct stat *found)
{
	return fstatat(beside->folder, beside->journal, found, AT_SYMLINK_NOFOLLOW) == 0;
}
