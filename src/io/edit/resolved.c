/* The names beside a regular file: its real path, its folder and its journal. The journal, edits,
 * shared sources and removal call it. */
#include "io/edit/resolved.h"

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
static void print_journal_name(char text[NAME_MAX + 1], const char *name)
{
	static const char suffix[] = ".bpkj";
	size_t size = strlen(name);
	size_t kept = NAME_MAX - 1 - (sizeof "-00000000" - 1) - (sizeof suffix - 1);

	if (1 + size + sizeof suffix - 1 <= NAME_MAX) {
		snprintf(text, NAME_MAX + 1, ".%s%s", name, suffix);
		return;
	}
	/* a character of UTF-8 has up to three more bytes */
	for (unsigned i = 0; i < 3 && ((uint8_t)name[kept] & 0xc0) == 0x80; i++)
		kept--;
	snprintf(text, NAME_MAX + 1, ".%.*s-%08x%s", (int)kept, name,
		 (unsigned)bpk_crc32(0, bpk_view(name, size)), suffix);
}

bool bpk_resolved_is_journal_name(const char *name)
{
	size_t size = strlen(name);

	return name[0] == '.' && size > sizeof "..bpkj" - 1 &&
	       strcmp(name + size - (sizeof ".bpkj" - 1), ".bpkj") == 0;
}

static int fail_find(struct bpk_resolved *resolved, int errnum, const char *action,
		     struct bpk_err *err)
{
	bpk_resolved_clear(resolved);
	bpk_fail_errno(err, errnum, "%s", action);
	return bpk_is_absent(errnum) || errnum == EACCES ? 1 : -1;
}

struct bpk_resolved bpk_resolved_in(int folder, const char *name)
{
	struct bpk_resolved resolved = { .name = name, .folder = folder };

	print_journal_name(resolved.journal, name);
	return resolved;
}

/* Open the folder of resolved->path and fill in the names in it. path is NULL where errno says why
 * there is none. */
static int open_folder(struct bpk_resolved *resolved, struct bpk_err *err)
{
	const char *slash = resolved->path == NULL ? NULL : strrchr(resolved->path, '/');
	char folder[PATH_MAX] = ".";

	if (resolved->path == NULL)
		return fail_find(resolved, errno, "cannot open", err);
	resolved->name = slash == NULL ? resolved->path : slash + 1;
	/* keep the slash: "/" is a folder, "" is not */
	if (slash != NULL &&
	    snprintf(folder, sizeof folder, "%.*s", (int)(resolved->name - resolved->path),
		     resolved->path) >= (int)sizeof folder)
		return fail_find(resolved, ENAMETOOLONG, "cannot open", err);
	resolved->folder = bpk_folder_open(folder);
	if (resolved->folder < 0)
		return fail_find(resolved, errno, "cannot open its folder", err);
	print_journal_name(resolved->journal, resolved->name);
	return 0;
}

static int look(const struct bpk_resolved *resolved, struct stat *found)
{
	return fstatat(resolved->folder, resolved->name, found, AT_SYMLINK_NOFOLLOW);
}

int bpk_resolved_find(const char *path, struct bpk_resolved *resolved, struct stat *found,
		      struct bpk_err *err)
{
	int rc;

	*resolved = (struct bpk_resolved){ .folder = -1, .path = strdup(path) };
	if (open_folder(resolved, NULL) == 0 && look(resolved, found) == 0 &&
	    S_ISREG(found->st_mode))
		return 0;
	bpk_resolved_clear(resolved);
	resolved->path = realpath(path, NULL);
	rc = open_folder(resolved, err);
	if (rc != 0 || look(resolved, found) == 0)
		return rc;
	*found = (struct stat){ 0 };
	if (bpk_is_missing(errno))
		return 0;
	fail_find(resolved, errno, "its name cannot stat", err);
	return -1;
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

int bpk_resolved_find_to_change(const char *path, struct bpk_resolved *resolved,
				struct bpk_err *err)
{
	char link_free[PATH_MAX];
	struct stat found;

	*resolved = (struct bpk_resolved){ .folder = -1 };
	if (bpk_link_follow_all(path, link_free, err) != 0)
		return -1;
	resolved->given = bpk_strdup(path, err);
	if (resolved->given == NULL)
		return -1;
	resolved->path = real_path(link_free);
	if (open_folder(resolved, err) != 0)
		return -1;
	if (look(resolved, &found) == 0)
		return 0;
	fail_find(resolved, errno, "cannot open", err);
	return -1;
}

void bpk_resolved_clear(struct bpk_resolved *resolved)
{
	if (resolved->folder >= 0)
		close(resolved->folder);
	free(resolved->path);
	free(resolved->given);
	*resolved = (struct bpk_resolved){ .folder = -1 };
}

int bpk_resolved_open(const struct bpk_resolved *resolved, int flags)
{
	return bpk_full_openat(resolved->folder, resolved->name,
			       flags | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0);
}

int bpk_resolved_is(const struct bpk_resolved *resolved, int fd, bool *same, struct bpk_err *err)
{
	struct stat named, opened;

	*same = false;
	if (fstatat(resolved->folder, resolved->name, &named, AT_SYMLINK_NOFOLLOW) != 0)
		return bpk_is_missing(errno) ? 0
					     : bpk_fail_errno(err, errno, "its name cannot stat");
	if (fstat(fd, &opened) != 0)
		return bpk_fail_errno(err, errno, "fstat");
	*same = bpk_same_file(&named, &opened);
	return 0;
}

/* *other is true if the caller's path leads to another file than fd, through a link or a folder
 * that was replaced. If it leads nowhere, a folder of it was renamed, and the file has its name. */
static int leads_away(const struct bpk_resolved *resolved, int fd, bool *other, struct bpk_err *err)
{
	struct stat named, opened;

	*other = false;
	if (resolved->given == NULL)
		return 0;
	if (stat(resolved->given, &named) != 0)
		return bpk_is_missing(errno) ? 0
					     : bpk_fail_errno(err, errno, "its path cannot stat");
	if (fstat(fd, &opened) != 0)
		return bpk_fail_errno(err, errno, "fstat");
	*other = !bpk_same_file(&named, &opened);
	return 0;
}

int bpk_resolved_check(const struct bpk_resolved *resolved, int fd, bool committed,
		       struct bpk_err *err)
{
	struct bpk_err why = { 0 };
	struct stat found;
	bool same, other = false;
	int rc = bpk_resolved_is(resolved, fd, &same, &why);

	if (rc == 0 && same)
		rc = leads_away(resolved, fd, &other, &why);
	if (rc != 0)
		return committed ? 0 : bpk_fail_as(err, &why);
	if (same && !other)
		return 0;
	if (other || fstatat(resolved->folder, resolved->name, &found, AT_SYMLINK_NOFOLLOW) == 0)
		return bpk_fail(err, BPK_FAILED,
				"was replaced by another file while it was changed; %s",
				committed ? "the change is in the old one, not in the new one"
					  : "nothing was changed in the new one");
	return bpk_fail(err, BPK_FAILED, "was removed or renamed while it was changed; %s",
			committed ? "the file without this name has the change"
				  : "the change was not completed");
}

int bpk_resolved_has_journal(const struct bpk_resolved *resolved, struct stat *found, bool *there,
			     struct bpk_err *err)
{
	*there = fstatat(resolved->folder, resolved->journal, found, AT_SYMLINK_NOFOLLOW) == 0;
	if (!*there && !bpk_is_missing(errno))
		return bpk_fail_errno(err, errno, "its journal %s cannot stat", resolved->journal);
	return 0;
}

bool bpk_path_has_journal(const char *path)
{
	struct bpk_resolved resolved;
	struct stat found;
	bool there = false;

	if (bpk_resolved_find(path, &resolved, &found, NULL) != 0)
		return false;
	if (bpk_resolved_has_journal(&resolved, &found, &there, NULL) != 0)
		there = false;
	bpk_resolved_clear(&resolved);
	return there;
}
