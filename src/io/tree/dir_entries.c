/* Listings of one folder. dir.c, folder.c, the tar directory and bpk_walk call it. */
#include "io/tree/dir_entries.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "io/tree/dir.h"

struct bpk_dir_entry *bpk_dir_entries_at(const struct bpk_dir_entries *entries, size_t n)
{
	/* the buffer is aligned and holds entries only */
	return (struct bpk_dir_entry *)(void *)entries->all.data + n;
}

int bpk_dir_entries_add(struct bpk_dir_entries *entries, const char *entry_name,
			enum bpk_entry entry, struct bpk_err *err)
{
	struct bpk_dir_entry added = { .turn = entries->count,
				       .entry = entry,
				       .size = BPK_UNKNOWN };

	added.name = bpk_strdup(entry_name, err);
	if (added.name == NULL)
		return -1;
	if (bpk_buf_append(&entries->all, bpk_view(&added, sizeof added), err) != 0) {
		free(added.name);
		return -1;
	}
	entries->count++;
	return 0;
}

void bpk_dir_entries_clear(struct bpk_dir_entries *entries)
{
	for (size_t i = 0; i < entries->count; i++)
		free(bpk_dir_entries_at(entries, i)->name);
	bpk_buf_clear(&entries->all);
	entries->count = 0;
}

static int by_name_and_turn(const void *a, const void *b)
{
	const struct bpk_dir_entry *left = a, *right = b;
	int order = strcmp(left->name, right->name);

	if (order != 0)
		return order;
	return left->turn < right->turn ? -1 : 1;
}

void bpk_dir_entries_sort(struct bpk_dir_entries *entries)
{
	if (entries->count > 0)
		qsort(entries->all.data, entries->count, sizeof(struct bpk_dir_entry),
		      by_name_and_turn);
}

/* ---- Folders ---- */

static enum bpk_entry entry_of(mode_t mode)
{
	if (S_ISREG(mode))
		return BPK_ENTRY_FILE;
	return S_ISDIR(mode) ? BPK_ENTRY_DIRECTORY : BPK_ENTRY_OTHER;
}

static int look_at(int folder, const struct dirent *found, enum bpk_entry *entry,
		   struct bpk_err *err)
{
	struct stat seen;

	switch (found->d_type) {
	case DT_REG:
		*entry = BPK_ENTRY_FILE;
		return 0;
	case DT_DIR:
		*entry = BPK_ENTRY_DIRECTORY;
		return 0;
	case DT_UNKNOWN:
		break;
	default:
		*entry = BPK_ENTRY_OTHER;
		return 0;
	}
	*entry = BPK_ENTRY_NONE; /* gone meanwhile */
	if (fstatat(folder, found->d_name, &seen, AT_SYMLINK_NOFOLLOW) == 0)
		*entry = entry_of(seen.st_mode);
	else if (!bpk_is_missing(errno))
		return bpk_fail_errno(err, errno, "%s: cannot stat", found->d_name);
	return 0;
}

static int add_all(struct bpk_dir_entries *entries, DIR *stream, struct bpk_err *err)
{
	const struct dirent *found;

	while ((errno = 0, found = readdir(stream)) != NULL) {
		enum bpk_entry entry;

		if (strcmp(found->d_name, ".") == 0 || strcmp(found->d_name, "..") == 0)
			continue;
		if (look_at(dirfd(stream), found, &entry, err) != 0)
			return -1;
		if (entry != BPK_ENTRY_NONE &&
		    bpk_dir_entries_add(entries, found->d_name, entry, err) != 0)
			return -1;
	}
	return errno == 0 ? 0 : bpk_fail_errno(err, errno, "cannot be listed");
}

int bpk_dir_entries_read(struct bpk_dir_entries *entries, int fd, struct bpk_err *err)
{
	DIR *stream = fdopendir(fd);
	int rc;

	if (stream == NULL) {
		bpk_fail_errno(err, errno, "cannot be listed");
		close(fd);
		return -1;
	}
	rc = add_all(entries, stream, err);
	closedir(stream);
	return rc;
}
