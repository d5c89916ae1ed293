/*
 * The first kind of directory: a folder of the file system.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "io/beneath.h"
#include "io/dir_ops.h"
#include "io/source.h"

struct folder {
	int root; /* fixed after open */
};

static bool is_missing(int errnum)
{
	return errnum == ENOENT || errnum == ENOTDIR;
}

static enum bpk_entry entry_of(mode_t mode)
{
	if (S_ISREG(mode))
		return BPK_ENTRY_FILE;
	return S_ISDIR(mode) ? BPK_ENTRY_DIRECTORY : BPK_ENTRY_OTHER;
}

static int folder_look(void *dir, const char *name, enum bpk_entry *entry, uint64_t *size,
		       struct bpk_err *err)
{
	const struct folder *folder = dir;
	struct stat found;

	if (bpk_beneath_stat(folder->root, name, &found) != 0) {
		if (errno == ELOOP)
			*entry = BPK_ENTRY_OTHER; /* behind a link on the way */
		else if (!is_missing(errno))
			return bpk_fail_errno(err, errno, "cannot be looked at");
		return 0;
	}
	*entry = entry_of(found.st_mode);
	if (*entry == BPK_ENTRY_FILE)
		*size = (uint64_t)found.st_size;
	return 0;
}

/* What is no regular file is not opened, but for one that takes its place just now. */
static int open_file(int root, const char *name, struct bpk_err *err)
{
	struct stat found;
	int fd;

	if (bpk_beneath_stat(root, name, &found) != 0) {
		if (is_missing(errno))
			return bpk_fail(err, BPK_CORRUPT, "is missing");
		if (errno == ELOOP)
			return bpk_fail(err, BPK_CORRUPT, "lies behind a symbolic link");
		return bpk_fail_errno(err, errno, "cannot open");
	}
	if (!S_ISREG(found.st_mode))
		return bpk_fail(err, BPK_CORRUPT, "is no regular file");
	fd = bpk_beneath_open(root, name, O_RDONLY);
	if (fd < 0)
		return bpk_fail_errno(err, errno, "cannot open");
	if (fstat(fd, &found) == 0 && S_ISREG(found.st_mode))
		return fd;
	close(fd);
	return bpk_fail(err, BPK_CORRUPT, "is no regular file");
}

static int folder_source(void *dir, const char *name, struct bpk_source **source,
			 struct bpk_err *err)
{
	const struct folder *folder = dir;
	int fd = open_file(folder->root, name, err);

	return fd < 0 ? -1 : bpk_source_of_descriptor(fd, source, err);
}

static enum bpk_entry entry_in(int folder, const struct dirent *entry)
{
	struct stat found;

	switch (entry->d_type) {
	case DT_REG:
		return BPK_ENTRY_FILE;
	case DT_DIR:
		return BPK_ENTRY_DIRECTORY;
	case DT_UNKNOWN:
		if (fstatat(folder, entry->d_name, &found, AT_SYMLINK_NOFOLLOW) == 0)
			return entry_of(found.st_mode);
		return BPK_ENTRY_NONE; /* gone meanwhile */
	default:
		return BPK_ENTRY_OTHER;
	}
}

static int add_entries(DIR *stream, struct bpk_dir_entries *entries, struct bpk_err *err)
{
	const struct dirent *found;

	while ((errno = 0, found = readdir(stream)) != NULL) {
		enum bpk_entry entry;

		if (strcmp(found->d_name, ".") == 0 || strcmp(found->d_name, "..") == 0)
			continue;
		entry = entry_in(dirfd(stream), found);
		if (entry != BPK_ENTRY_NONE &&
		    bpk_dir_entries_add(entries, found->d_name, entry, err) != 0)
			return -1;
	}
	return errno == 0 ? 0 : bpk_fail_errno(err, errno, "cannot be listed");
}

static int folder_list(void *dir, const char *name, struct bpk_dir_entries *entries,
		       struct bpk_err *err)
{
	const struct folder *folder = dir;
	int fd = bpk_beneath_open(folder->root, name, O_RDONLY | O_DIRECTORY);
	DIR *stream;
	int rc;

	if (fd < 0 && (is_missing(errno) || errno == ELOOP))
		return bpk_fail(err, BPK_CORRUPT, "is no directory");
	stream = fd < 0 ? NULL : fdopendir(fd);
	if (stream == NULL) {
		bpk_fail_errno(err, errno, "cannot be listed");
		if (fd >= 0)
			close(fd);
		return -1;
	}
	rc = add_entries(stream, entries, err);
	closedir(stream);
	return rc;
}

static void folder_close(void *dir)
{
	struct folder *folder = dir;

	close(folder->root);
	free(folder);
}

static const struct bpk_dir_ops folder_ops = {
	.look = folder_look,
	.source = folder_source,
	.list = folder_list,
	.close = folder_close,
};

int bpk_dir_open(const char *path, struct bpk_dir **dir, struct bpk_err *err)
{
	struct folder *folder = bpk_calloc(1, sizeof *folder, err);

	*dir = NULL;
	if (folder == NULL)
		return -1;
	folder->root = bpk_folder_open(path);
	if (folder->root < 0) {
		bpk_fail_errno(err, errno, "cannot open");
		free(folder);
		return -1;
	}
	return bpk_dir_of(&folder_ops, folder, dir, err);
}
