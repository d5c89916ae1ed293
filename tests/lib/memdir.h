/* A directory in memory, for tests of directory readers: files by their names relative to the root;
 * the folders follow from the names. */
#ifndef BPK_TESTS_MEMDIR_H
#define BPK_TESTS_MEMDIR_H

#include "io/tree/dir.h"

struct memdir_file {
	const char *name;
	struct bpk_view bytes;
	bool strange; /* a link, a device or a FIFO */
};

/* Borrowed by the directory made of it. */
struct memdir {
	size_t nfiles;
	const struct memdir_file *files;
};

/* The part of name below folder; NULL when name does not lie below it. */
static inline const char *memdir_below(const char *name, const char *folder)
{
	size_t size = strlen(folder);

	if (size == 0)
		return name;
	return strncmp(name, folder, size) == 0 && name[size] == '/' ? name + size + 1 : NULL;
}

static inline int memdir_look(void *own, const char *name, enum bpk_entry *entry, uint64_t *size,
			      struct bpk_err *err)
{
	const struct memdir *dir = own;

	(void)err;
	*entry = *name == '\0' ? BPK_ENTRY_DIRECTORY : BPK_ENTRY_NONE;
	*size = 0;
	for (size_t i = 0; i < dir->nfiles; i++) {
		if (strcmp(dir->files[i].name, name) == 0) {
			*entry = dir->files[i].strange ? BPK_ENTRY_OTHER : BPK_ENTRY_FILE;
			*size = dir->files[i].bytes.size;
		} else if (memdir_below(dir->files[i].name, name) != NULL) {
			*entry = BPK_ENTRY_DIRECTORY;
		}
	}
	return 0;
}

static inline int memdir_source(void *own, const char *name, struct bpk_source **source,
				struct bpk_err *err)
{
	const struct memdir *dir = own;

	for (size_t i = 0; i < dir->nfiles; i++)
		if (strcmp(dir->files[i].name, name) == 0 && !dir->files[i].strange)
			return bpk_source_of_memory(dir->files[i].bytes, source, err);
	return bpk_fail(err, BPK_CORRUPT, "is missing");
}

static inline int memdir_list(void *own, const char *name, struct bpk_dir_entries *entries,
			      struct bpk_err *err)
{
	const struct memdir *dir = own;
	bool found = *name == '\0';

	for (size_t i = 0; i < dir->nfiles; i++) {
		const char *rest = memdir_below(dir->files[i].name, name);
		const char *slash = rest == NULL ? NULL : strchr(rest, '/');
		char part[256] = { 0 };
		size_t size;

		if (rest == NULL)
			continue;
		found = true;
		size = slash == NULL ? strlen(rest) : (size_t)(slash - rest);
		memcpy(part, rest, bpk_min_size(size, sizeof part - 1));
		if (bpk_dir_entries_add(entries, part,
					slash != NULL           ? BPK_ENTRY_DIRECTORY
					: dir->files[i].strange ? BPK_ENTRY_OTHER
								: BPK_ENTRY_FILE,
					err) != 0)
			return -1;
	}
	return found ? 0 : bpk_fail(err, BPK_CORRUPT, "is not a directory");
}

static inline void memdir_close(void *own)
{
	(void)own;
}

static inline int memdir_open(struct memdir *files, struct bpk_dir **dir, struct bpk_err *err)
{
	static const struct bpk_dir_ops ops = { .look = memdir_look,
						.source = memdir_source,
						.list = memdir_list,
						.close = memdir_close };

	return bpk_dir_of(&ops, files, dir, err);
}

#endif
