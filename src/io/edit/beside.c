/* The names beside a regular file: its real path, its folder and its journal. The journal, edits,
 * shared sources and removal call it. */
#include "io/edit/beside.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "io/beneath.h"
#include "io/full.h"
#include "io/link.h"
#include "io/edit/record.h"

/* .NAME.bpkj. A name too long for that is cut to the room there is and gets its CRC. */
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

static int fail_find(struct bpk_beside *beside, int errnum, const char *action, struct bpk_err *err)
{
	bpk_beside_clear(beside);
	bpk_fail_errno(err, errnum, "%s", action);
	return bpk_is_missing(errnum) || errnum == EACCES || errnum == ENAMETOOLONG ? 1 : -1;
}

struct bpk_beside bpk_beside_in(int folder, const char *name)
{
	struct bpk_beside beside = { .name = name, .folder = folder };

	spell_journal(beside.journal, name);
	return beside;
}

/* Open the folder of beside->path and fill in the names in it. */
static int open_folder(struct bpk_beside *beside, struct bpk_err *err)
{
	char folder[PATH_MAX];

	beside->name = strrchr(beside->path, '/') + 1;
	/* keep the slash: "/" is a folder, "" is not */
	if (snprintf(folder, sizeof folder, "%.*s", (int)(beside->name - beside->path),
		     beside->path) >= (int)sizeof folder)
		return fail_find(beside, ENAMETOOLONG, "cannot open", err);
	beside->folder = bpk_folder_open(folder);
	if (beside->folder < 0)
		return fail_find(beside, errno, "cannot open its folder", err);
	spell_journal(beside->journal, beside->name);
	return 0;
}

int bpk_beside_find(const char *path, struct bpk_beside *beside, struct bpk_err *err)
{
	*beside = (struct bpk_beside){ .folder = -1 };
	beside->path = realpath(path, NULL);
	if (beside->path == NULL)
		return fail_find(beside, errno, "cannot open", err);
	return open_folder(beside, err);
}

/* The real path of a name that is no longer a link; if it becomes a link now, it is not
 * followed. */
static char *real_path(const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash == NULL ? path : slash + 1;
	char folder[PATH_MAX] = ".";
	char *real, *joined;

	if (*name == '\0' || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return realpath(path, NULL); /* a folder */
	if (slash != NULL)
		snprintf(folder, sizeof folder, "%.*s", (int)(name - path), path);
	real = realpath(folder, NULL);
	if (real == NULL)
		return NULL;
	if (asprintf(&joined, "%s/%s", real[1] == '\0' ? "" : real, name) < 0)
		joined = NULL;
	free(real);
	return joined;
}

int bpk_beside_find_to_change(const char *path, struct bpk_beside *beside, struct bpk_err *err)
{
	char link_free[PATH_MAX];
	struct stat found;
	int rc;

	*beside = (struct bpk_beside){ .folder = -1 };
	if (bpk_link_follow_all(path, link_free, err) != 0)
		return -1;
	beside->path = real_path(link_free);
	rc = beside->path == NULL ? fail_find(beside, errno, "cannot open", err)
				  : open_folder(beside, err);
	if (rc == 0 && fstatat(beside->folder, beside->name, &found, AT_SYMLINK_NOFOLLOW) != 0)
		rc = fail_find(beside, errno, "cannot open", err);
	return rc == 0 ? 0 : -1;
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
	return bpk_full_openat(beside->folder, beside->name,
			       flags | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0);
}

int bpk_beside_is(const struct bpk_beside *beside, int fd, bool *same, struct bpk_err *err)
{
	struct stat named, opened;

	*same = false;
	if (fstatat(beside->folder, beside->name, &named, AT_SYMLINK_NOFOLLOW) != 0)
		return bpk_is_missing(errno) ? 0
					     : bpk_fail_errno(err, errno, "its name cannot stat");
	if (fstat(fd, &opened) != 0)
		return bpk_fail_errno(err, errno, "fstat");
	*same = bpk_same_file(&named, &opened);
	return 0;
}

int bpk_beside_has_journal(const struct bpk_beside *beside, struct stat *found, bool *there,
			   struct bpk_err *err)
{
	*there = fstatat(beside->folder, beside->journal, found, AT_SYMLINK_NOFOLLOW) == 0;
	if (!*there && !bpk_is_missing(errno))
		return bpk_fail_errno(err, errno, "its journal %s cannot stat", beside->journal);
	return 0;
}
