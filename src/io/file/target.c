/* Checks on the target of a draft. bpk_draft_open and tree/new.c call it. */
#include "io/file/target.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "io/beneath.h"
#include "io/full.h"
#include "io/link.h"
#include "io/tree/erase.h"

/* The number of the descriptor that path stands for, or -1. */
static int descriptor_of(const char *path)
{
	static const char *const folders[] = { "/dev/fd/", "/proc/self/fd/" };

	if (strcmp(path, "-") == 0 || strcmp(path, "/dev/stdout") == 0)
		return STDOUT_FILENO;
	if (strcmp(path, "/dev/stderr") == 0)
		return STDERR_FILENO;
	for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
		const char *digits = path + strlen(folders[i]);
		size_t count;

		if (strncmp(path, folders[i], strlen(folders[i])) != 0)
			continue;
		count = strspn(digits, "0123456789");
		if (count > 0 && count < 9 && digits[count] == '\0')
			return atoi(digits);
	}
	return -1;
}

/*
 * True if writing to the file is would destroy the input was. Only files, directories and block
 * devices count: both ends of a pipeline may well be one socket, one terminal or /dev/null.
 */
static bool same_file(const struct stat *is, const struct stat *was)
{
	if (was == NULL)
		return false;
	if (S_ISBLK(is->st_mode) && S_ISBLK(was->st_mode))
		return is->st_rdev == was->st_rdev;
	return ((S_ISREG(is->st_mode) && S_ISREG(was->st_mode)) ||
		(S_ISDIR(is->st_mode) && S_ISDIR(was->st_mode))) &&
	       bpk_same_file(is, was);
}

static bool is_input(const struct stat *found, const struct bpk_draft_options *options)
{
	return same_file(found, options->not_this) || same_file(found, options->nor_this);
}

static int check_direct(int fd, const struct bpk_draft_options *options, struct bpk_err *err)
{
	struct stat found;

	if (fstat(fd, &found) != 0)
		return bpk_fail_errno(err, errno, "fstat");
	if (S_ISDIR(found.st_mode))
		return bpk_fail(err, BPK_FAILED, "is a directory");
	if (is_input(&found, options))
		return bpk_fail(err, BPK_FAILED, "input and output are the same file");
	return 0;
}

static int find_descriptor(int number, const struct bpk_draft_options *options,
			   struct bpk_target *target, struct bpk_err *err)
{
	if (options->directory)
		return bpk_fail(err, BPK_FAILED, "is a stream, but the output is a directory");
	target->is_descriptor = true;
	target->fd = fcntl(number, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	if (target->fd < 0)
		return bpk_fail_errno(err, errno, "cannot open");
	return check_direct(target->fd, options, err);
}

/* A device or FIFO. Opening a FIFO waits for its reader, as a shell's redirection does. */
static int find_device(const char *path, const struct stat *found,
		       const struct bpk_draft_options *options, struct bpk_target *target,
		       struct bpk_err *err)
{
	struct stat opened;

	target->fd = bpk_full_open(path, O_WRONLY | O_NOFOLLOW | O_NOCTTY);
	if (target->fd < 0 || fstat(target->fd, &opened) != 0)
		return bpk_fail_errno(err, errno, "cannot open");
	if (opened.st_dev != found->st_dev || opened.st_ino != found->st_ino)
		return bpk_fail(err, BPK_FAILED, "was replaced while it was opened");
	return check_direct(target->fd, options, err);
}

static int find_file(const char *path, struct bpk_target *target, struct bpk_err *err)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash == NULL ? path : slash + 1;
	char folder[PATH_MAX] = ".";

	if (*name == '\0' || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return bpk_fail(err, BPK_FAILED, "names no file");
	if (slash != NULL) /* keep the slash: "/" is a folder, "" is not */
		snprintf(folder, sizeof folder, "%.*s", (int)(name - path), path);
	target->folder = bpk_folder_open(folder);
	if (target->folder < 0)
		return bpk_fail_errno(err, errno, "cannot open its folder");
	target->name = bpk_strdup(name, err);
	return target->name == NULL ? -1 : 0;
}

/* Report a target that would be replaced with overwrite. */
static int fail_exists(const struct bpk_draft_options *options, const char *what,
		       struct bpk_err *err)
{
	const char *remedy = options->remedy;

	return bpk_fail(err, BPK_FAILED, "already exists%s%s%s", what, remedy != NULL ? "; " : "",
			remedy != NULL ? remedy : "");
}

/* True if path is a directory without a file that overwrite would refuse to remove. */
static bool may_replace(const char *path, bool (*ours)(const char *name))
{
	int folder = bpk_full_open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
	struct bpk_stranger stranger;
	bool may;

	if (folder < 0)
		return false;
	may = bpk_erase_vet(folder, ours, &stranger, NULL) == 0 && stranger.name[0] == '\0';
	close(folder);
	return may;
}

/* The target exists: check whether a directory may replace it. */
static int find_directory(const char *path, const struct stat *found,
			  const struct bpk_draft_options *options, struct bpk_target *target,
			  struct bpk_err *err)
{
	if (is_input(found, options))
		return bpk_fail(err, BPK_FAILED, "input and output are the same %s",
				S_ISDIR(found->st_mode) ? "directory" : "file");
	if (!options->overwrite && may_replace(path, options->ours))
		return fail_exists(options, "", err);
	if (!options->overwrite)
		return bpk_fail(err, BPK_FAILED, "already exists");
	if (!S_ISDIR(found->st_mode))
		return bpk_fail(err, BPK_FAILED,
				"exists and is not a directory, but the output is one");
	return find_file(path, target, err);
}

/* The target exists: check whether a file may replace it, or open it to be written directly. */
static int find_existing(const char *path, const struct stat *found,
			 const struct bpk_draft_options *options, struct bpk_target *target,
			 struct bpk_err *err)
{
	bool is_link = S_ISLNK(found->st_mode);

	if (S_ISDIR(found->st_mode))
		return bpk_fail(err, BPK_FAILED, "is a directory");
	if (is_input(found, options))
		return bpk_fail(err, BPK_FAILED, "input and output are the same file");
	if (!S_ISREG(found->st_mode) && !is_link && options->follow_links)
		return find_device(path, found, options, target, err);
	if (!S_ISREG(found->st_mode) && !is_link)
		return bpk_fail(err, BPK_FAILED, "exists and is not a regular file");
	if (!options->overwrite)
		return fail_exists(options, is_link ? ", a symbolic link" : "", err);
	return find_file(path, target, err);
}

/* The name of a directory may end with slashes. */
static void cut_slashes(char *path)
{
	size_t size = strlen(path);

	while (size > 1 && path[size - 1] == '/')
		path[--size] = '\0';
}

int bpk_target_find(const char *path, const struct bpk_draft_options *options,
		    struct bpk_target *target, struct bpk_err *err)
{
	char here[PATH_MAX];
	struct stat found;

	*target = (struct bpk_target){ .folder = -1, .fd = -1 };
	if (strcmp(path, "-") == 0)
		return find_descriptor(STDOUT_FILENO, options, target, err);
	if (strlen(path) >= sizeof here)
		return bpk_fail_errno(err, ENAMETOOLONG, "cannot open");
	memcpy(here, path, strlen(path) + 1);
	if (options->directory)
		cut_slashes(here);
	for (int links = 0; links <= BPK_LINKS_MAX; links++) {
		if (options->follow_links && descriptor_of(here) >= 0)
			return find_descriptor(descriptor_of(here), options, target, err);
		if (lstat(here, &found) != 0) {
			if (errno == ENOENT)
				return find_file(here, target, err);
			return bpk_fail_errno(err, errno, "cannot open");
		}
		if (options->directory && (!S_ISLNK(found.st_mode) || !options->follow_links))
			return find_directory(here, &found, options, target, err);
		if (!S_ISLNK(found.st_mode) || !options->follow_links)
			return find_existing(here, &found, options, target, err);
		if (bpk_link_follow(here, err) != 0)
			return -1;
	}
	return bpk_fail_errno(err, ELOOP, "cannot follow the link");
}

void bpk_target_clear(struct bpk_target *target)
{
	if (target->folder >= 0)
		close(target->folder);
	if (target->fd >= 0)
		close(target->fd);
	free(target->name);
	*target = (struct bpk_target){ .folder = -1, .fd = -1 };
}
