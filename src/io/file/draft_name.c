/* The names and locks of drafts: making a draft, naming a nameless one, removing leftovers.
 * draft.c, draft_keep.c, edits, tree/new.c and removal.c call it. */
#include "io/file/draft_name.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/tree/erase.h"
#include "io/full.h"

enum {
	NUMBERS_CLEANED = 4, /* names searched for leftovers; more at a time are rare */
	NUMBERS_MAX = 1000,  /* names tried before a folder counts as full */
};

/* .NAME.bpk-NNNNNN; a long name is cut, between characters, to leave room for the suffix. */
static void spell(char text[NAME_MAX + 1], const char *name, unsigned number)
{
	size_t size = strlen(name);

	if (size > NAME_MAX - 1 - BPK_DRAFT_SUFFIX) {
		size = NAME_MAX - 1 - BPK_DRAFT_SUFFIX;
		while (size > 0 && ((uint8_t)name[size] & 0xc0) == 0x80)
			size--;
	}
	snprintf(text, NAME_MAX + 1, ".%.*s.bpk-%06u", (int)size, name, number);
}

bool bpk_draft_lock(int fd)
{
	struct stat found;

	if (flock(fd, LOCK_EX | LOCK_NB) != 0)
		return errno != EWOULDBLOCK; /* no locks here: then nobody removes it either */
	return fstat(fd, &found) == 0 && found.st_nlink > 0;
}

/* True if name still leads to the file or folder fd. */
static bool leads_to(int folder, const char *name, int fd)
{
	struct stat named, opened;

	return fstatat(folder, name, &named, AT_SYMLINK_NOFOLLOW) == 0 && fstat(fd, &opened) == 0 &&
	       (S_ISREG(opened.st_mode) || S_ISDIR(opened.st_mode)) &&
	       bpk_same_file(&named, &opened);
}

/* True if no process holds the draft and it belongs to the folder's owner or to us: then it may be
 * removed. */
static bool is_left_behind(int folder, const char *name, int fd)
{
	struct stat found, parent;

	return fstat(fd, &found) == 0 && fstat(folder, &parent) == 0 &&
	       bpk_erase_may(parent.st_uid, &found) && flock(fd, LOCK_EX | LOCK_NB) == 0 &&
	       leads_to(folder, name, fd);
}

/* A lock over NFS needs a descriptor open for writing; the final mode of a finished draft may
 * forbid that. */
static int open_old(int folder, const char *name)
{
	int flags = O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
	int fd = bpk_full_openat(folder, name, O_RDWR | flags, 0);

	return fd < 0 && errno == EACCES ? bpk_full_openat(folder, name, O_RDONLY | flags, 0) : fd;
}

static void clean_file(int folder, const char *text)
{
	int fd = open_old(folder, text);

	if (fd < 0)
		return;
	if (is_left_behind(folder, text, fd))
		unlinkat(folder, text, 0);
	close(fd);
}

/* One with the second number may lie there alone: its writer died beside another one, which went
 * on. */
void bpk_draft_clean(int folder, const char *name)
{
	char text[NAME_MAX + 1];
	unsigned missing = 0;
	struct stat found;

	for (unsigned number = 0; number < NUMBERS_CLEANED && missing < 2; number++) {
		spell(text, name, number);
		/* to open a missing file takes longer */
		if (fstatat(folder, text, &found, AT_SYMLINK_NOFOLLOW) == 0)
			clean_file(folder, text);
		else
			missing++;
	}
}

void bpk_draft_clean_folders(int folder, const char *name, bool (*ours)(const char *name))
{
	struct bpk_stranger stranger;
	char text[NAME_MAX + 1];

	for (unsigned number = 0; number < NUMBERS_CLEANED; number++) {
		int fd;

		spell(text, name, number);
		fd = bpk_full_openat(folder, text, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
		if (fd < 0)
			continue;
		if (is_left_behind(folder, text, fd) &&
		    bpk_erase_below(fd, ours, &stranger, NULL) == 0)
			unlinkat(folder, text, AT_REMOVEDIR); /* refused while it holds others */
		close(fd);
	}
}

/* Creates a draft of that name. Returns a descriptor, or -1 with errno. */
typedef int make_fn(int folder, const char *text);

static int make_file(int folder, const char *text)
{
	return bpk_full_openat(folder, text, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
}

static int make_folder(int folder, const char *text)
{
	int fd, errnum;

	if (mkdirat(folder, text, 0700) != 0)
		return -1;
	fd = bpk_full_openat(folder, text, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
	errnum = errno;
	if (fd < 0)
		unlinkat(folder, text, AT_REMOVEDIR);
	errno = errnum;
	return fd;
}

static int create(int folder, const char *name, make_fn *make, int *fd, char **draft_name,
		  struct bpk_err *err)
{
	char *text = bpk_calloc(1, NAME_MAX + 1, err);

	*fd = -1;
	if (text == NULL)
		return -1;
	for (unsigned number = 0; number < NUMBERS_MAX; number++) {
		spell(text, name, number);
		*fd = make(folder, text);
		if (*fd < 0 && errno != EEXIST && errno != EINTR) {
			bpk_fail_errno(err, errno, "cannot write in its directory");
			goto fail;
		}
		if (*fd >= 0 && bpk_draft_lock(*fd)) {
			*draft_name = text;
			return 0;
		}
		if (*fd >= 0)
			close(*fd); /* the process that took it for a leftover removes it */
		*fd = -1;
	}
	bpk_fail(err, BPK_FAILED, "its folder is full of drafts for it");
fail:
	free(text);
	return -1;
}

int bpk_draft_create(int folder, const char *name, int *fd, char **draft_name, struct bpk_err *err)
{
	return create(folder, name, make_file, fd, draft_name, err);
}

int bpk_draft_create_folder(int folder, const char *name, int *fd, char **draft_name,
			    struct bpk_err *err)
{
	return create(folder, name, make_folder, fd, draft_name, err);
}

int bpk_link_nameless(int fd, int folder, const char *name)
{
	char path[sizeof "/proc/self/fd/" + 3 * sizeof fd];

	/* AT_EMPTY_PATH would need a privilege */
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	return linkat(AT_FDCWD, path, folder, name, AT_SYMLINK_FOLLOW);
}

int bpk_draft_link(int folder, const char *name, int fd, char **draft_name, struct bpk_err *err)
{
	char *text = bpk_calloc(1, NAME_MAX + 1, err);

	if (text == NULL)
		return -1;
	(void)flock(fd, LOCK_EX | LOCK_NB); /* it has no name, and so no rival yet */
	for (unsigned number = 0; number < NUMBERS_MAX; number++) {
		spell(text, name, number);
		if (bpk_link_nameless(fd, folder, text) == 0) {
			*draft_name = text;
			return 0;
		}
		if (errno != EEXIST) {
			bpk_fail_errno(err, errno, "cannot name the draft");
			goto fail;
		}
	}
	bpk_fail(err, BPK_FAILED, "its folder is full of drafts for it");
fail:
	free(text);
	return -1;
}
