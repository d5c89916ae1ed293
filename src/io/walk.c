/*
 * All regular files below a folder, for bpk_walk. One descriptor is open at a time, however deep
 * the folders are. Called by cli, for trees of files.
 */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "io/edit/resolved.h"
#include "io/tree/dir.h"
#include "io/full.h"
#include "io/tree/dir_entries.h"
#include "io/file/hidden.h"

struct level {
	struct bpk_dir_entries entries;
	size_t next;
	size_t path_size; /* of the folder's path, without a trailing slash */
};

struct walk {
	bool (*enter)(void *arg, const char *folder);
	int (*visit)(void *arg, const char *file, uint64_t size);
	void (*report)(void *arg, const struct bpk_err *err);
	void *arg;
	struct bpk_buf path;   /* of the current entry, with its NUL */
	struct bpk_buf levels; /* of struct level: the folders on the way */
	size_t depth;
};

static void tell(const struct walk *walk, const struct bpk_err *why)
{
	if (walk->report != NULL)
		walk->report(walk->arg, why);
}

static const char *path_of(const struct walk *walk)
{
	return (const char *)walk->path.data;
}

/* Put name after the first size bytes of the path. */
static int set_path(struct walk *walk, size_t size, const char *name, struct bpk_err *err)
{
	walk->path.size = size;
	if (size > 0 && walk->path.data[size - 1] != '/' &&
	    bpk_buf_append(&walk->path, bpk_view("/", 1), err) != 0)
		return -1;
	return bpk_buf_append(&walk->path, bpk_view(name, strlen(name) + 1), err);
}

/* The URL of a folder ends with "/". */
static int end_folder(struct walk *walk, struct bpk_err *err)
{
	return bpk_path_is_url(path_of(walk)) ? set_path(walk, walk->path.size - 1, "", err) : 0;
}

static int read_folder(const struct walk *walk, int flags, struct bpk_dir_entries *entries,
		       struct bpk_err *err)
{
	int fd;

	if (bpk_path_is_url(path_of(walk)))
		return bpk_remote_entries(path_of(walk), entries, err);
	fd = bpk_full_open(path_of(walk), O_RDONLY | O_DIRECTORY | flags);
	if (fd < 0)
		return bpk_fail_errno(err, errno, "cannot read");
	return bpk_dir_entries_read(entries, fd, err);
}

static bool is_entered(const struct walk *walk)
{
	return walk->enter == NULL || walk->enter(walk->arg, path_of(walk));
}

/* A dataset in a store grows file by file: one that was completed after the first question and
 * before the listing is no folder of files. */
static bool is_still_entered(const struct walk *walk, const struct bpk_dir_entries *entries)
{
	size_t i = 0;

	if (!bpk_path_is_url(path_of(walk)))
		return true;
	while (i < entries->count && bpk_dir_entries_at(entries, i)->entry != BPK_ENTRY_FILE)
		i++;
	return i == entries->count || is_entered(walk);
}

/* Make the folder that the path names the next level, unless it is skipped. */
static int go_down(struct walk *walk, int flags, struct bpk_err *err)
{
	struct level level = { .path_size = strlen(path_of(walk)) };
	struct bpk_err why = { 0 };

	if (!is_entered(walk))
		return 0;
	if (read_folder(walk, flags, &level.entries, &why) != 0) {
		bpk_err_subject(&why, "%s", path_of(walk));
		tell(walk, &why);
		bpk_dir_entries_clear(&level.entries);
		return 0;
	}
	if (!is_still_entered(walk, &level.entries)) {
		bpk_dir_entries_clear(&level.entries);
		return 0;
	}
	bpk_dir_entries_sort(&level.entries);
	if (bpk_buf_append(&walk->levels, bpk_view(&level, sizeof level), err) != 0) {
		bpk_dir_entries_clear(&level.entries);
		return -1;
	}
	walk->depth++;
	return 0;
}

/* The first entry that does not sort before the size bytes at prefix. */
static size_t find_prefix(const struct bpk_dir_entries *entries, const char *prefix, size_t size)
{
	size_t low = 0, high = entries->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (strncmp(bpk_dir_entries_at(entries, middle)->name, prefix, size) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* True if the folder holds the file that the journal is named after. The journal's name contains
 * the file's, or as much of a long one as leaves room for its CRC (io/edit/resolved.c). */
static bool has_file(const struct bpk_dir_entries *entries, const char *journal)
{
	enum { DOT = 1, SUFFIX = sizeof ".bpkj" - 1, CRC = sizeof "-00000000" - 1, CUT = 3 };
	size_t size = strlen(journal) - DOT - SUFFIX;
	bool is_long = strlen(journal) >= NAME_MAX - CUT;

	if (is_long)
		size -= CRC;
	for (size_t i = find_prefix(entries, journal + DOT, size); i < entries->count; i++) {
		const char *name = bpk_dir_entries_at(entries, i)->name;

		if (strncmp(name, journal + DOT, size) != 0)
			return false;
		if (strcmp(bpk_resolved_in(-1, name).journal, journal) == 0)
			return true;
		if (!is_long) /* the name itself sorts before all longer ones */
			return false;
	}
	return false;
}

/* Report a journal without its file, which may have been moved away with half of a change. */
static int check_journal(struct walk *walk, const struct level *level, const char *name,
			 struct bpk_err *err)
{
	struct bpk_err found = { 0 };

	if (has_file(&level->entries, name))
		return 0;
	if (set_path(walk, level->path_size, name, err) != 0)
		return -1;
	bpk_fail(&found, BPK_FAILED,
		 "%s: is a journal without its archive, which may hold half of a change",
		 path_of(walk));
	tell(walk, &found);
	return 0;
}

static int meet(struct walk *walk, const struct level *level, const struct bpk_dir_entry *entry,
		struct bpk_err *err)
{
	/* any folder may be the root of a dataset, with a lock and a list */
	bool folder = entry->entry == BPK_ENTRY_DIRECTORY;

	if (entry->entry == BPK_ENTRY_FILE && bpk_resolved_is_journal_name(entry->name))
		return check_journal(walk, level, entry->name, err);
	if (folder ? bpk_hidden_is_draft(entry->name)
		   : entry->entry != BPK_ENTRY_FILE || bpk_hidden_is_name(entry->name))
		return 0;
	if (set_path(walk, level->path_size, entry->name, err) != 0 ||
	    (folder && end_folder(walk, err) != 0))
		return -1;
	return folder ? go_down(walk, O_NOFOLLOW, err)
		      : walk->visit(walk->arg, path_of(walk), entry->size);
}

/* The current folder, a pointer into levels, which go_down moves. */
static struct level *top(struct walk *walk)
{
	return (struct level *)(void *)walk->levels.data + walk->depth - 1;
}

static int go_through(struct walk *walk, struct bpk_err *err)
{
	int rc = 0;

	while (rc == 0 && walk->depth > 0) {
		struct level level = *top(walk);

		if (level.next < level.entries.count) {
			top(walk)->next++;
			rc = meet(walk, &level, bpk_dir_entries_at(&level.entries, level.next),
				  err);
			continue;
		}
		bpk_dir_entries_clear(&level.entries);
		walk->depth--;
		walk->levels.size -= sizeof level;
	}
	return rc;
}

static int check_root(const char *path, struct bpk_err *err)
{
	struct stat found;
	bool there;

	if (bpk_path_is_url(path))
		return 0;
	if (bpk_path_look(path, &found, &there, err) != 0)
		return -1;
	return there && !S_ISDIR(found.st_mode) ? bpk_fail(err, BPK_FAILED, "is not a directory")
						: 0;
}

int bpk_walk(const char *path, bool (*enter)(void *arg, const char *folder),
	     int (*visit)(void *arg, const char *file, uint64_t size),
	     void (*report)(void *arg, const struct bpk_err *err), void *arg, struct bpk_err *err)
{
	struct walk walk = { enter, visit, report, arg, { 0 }, { 0 }, 0 };
	int rc;

	/* the user's own path may be a link; the names below it are not followed */
	if (check_root(path, err) != 0 || set_path(&walk, 0, path, err) != 0)
		return -1;
	rc = go_down(&walk, 0, err);
	if (rc == 0)
		rc = go_through(&walk, err);
	for (; walk.depth > 0; walk.depth--)
		bpk_dir_entries_clear(&top(&walk)->entries);
	bpk_buf_clear(&walk.levels);
	bpk_buf_clear(&walk.path);
	return rc;
}
