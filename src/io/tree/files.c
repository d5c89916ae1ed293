/* A directory whose files the caller opens: bpk_dir_of_files, for archive's merged copies. */
#include "io/io.h"

#include <stdlib.h>

#include "io/tree/dir.h"

struct files {
	struct bpk_dir_files is;
};

static int compare_names(const void *a, const void *b)
{
	const char *const *one = a, *const *other = b;

	return strcmp(*one, *other);
}

/* The place of a name; the count if there is none. */
static size_t find(const struct files *files, const char *name)
{
	const char *const *at = files->is.count == 0
					? NULL
					: bsearch(&name, files->is.names, files->is.count,
						  sizeof *files->is.names, compare_names);

	return at != NULL ? (size_t)(at - files->is.names) : files->is.count;
}

/* The rest of a file's name below the folder name; NULL: it lies elsewhere. */
static const char *rest_of(const char *file, const char *folder)
{
	size_t size = strlen(folder);

	if (size == 0)
		return file;
	return strncmp(file, folder, size) == 0 && file[size] == '/' ? file + size + 1 : NULL;
}

static bool is_folder(const struct files *files, const char *name)
{
	bool is = *name == '\0';

	for (size_t i = 0; !is && i < files->is.count; i++)
		is = rest_of(files->is.names[i], name) != NULL;
	return is;
}

static int files_look(void *dir, const char *name, enum bpk_entry *entry, uint64_t *size,
		      struct bpk_err *err)
{
	const struct files *files = dir;
	size_t at = find(files, name);
	struct bpk_source *source = NULL;

	if (at == files->is.count) {
		*entry = is_folder(files, name) ? BPK_ENTRY_DIRECTORY : BPK_ENTRY_NONE;
		return 0;
	}
	if (files->is.open(files->is.arg, at, &source, err) != 0)
		return -1;
	*entry = BPK_ENTRY_FILE;
	*size = bpk_source_size(source);
	bpk_source_close(source);
	return 0;
}

static int files_source(void *dir, const char *name, struct bpk_source **source,
			struct bpk_err *err)
{
	const struct files *files = dir;
	size_t at = find(files, name);

	if (at == files->is.count)
		return bpk_fail(err, BPK_CORRUPT, "is missing");
	return files->is.open(files->is.arg, at, source, err);
}

static int add_part(const char *rest, struct bpk_dir_entries *entries, struct bpk_err *err)
{
	size_t size = strcspn(rest, "/");
	char *part = strndup(rest, size);
	int rc;

	if (part == NULL)
		return bpk_fail_memory(err, size);
	rc = bpk_dir_entries_add(entries, part,
				 rest[size] == '/' ? BPK_ENTRY_DIRECTORY : BPK_ENTRY_FILE, err);
	free(part);
	return rc;
}

static int files_list(void *dir, const char *name, struct bpk_dir_entries *entries,
		      struct bpk_err *err)
{
	const struct files *files = dir;

	if (!is_folder(files, name))
		return bpk_fail(err, BPK_CORRUPT, "is not a directory");
	for (size_t i = 0; i < files->is.count; i++) {
		const char *rest = rest_of(files->is.names[i], name);

		if (rest != NULL && add_part(rest, entries, err) != 0)
			return -1;
	}
	return 0;
}

static const struct bpk_dir_ops files_ops = {
	.look = files_look,
	.source = files_source,
	.list = files_list,
	.close = free,
};

int bpk_dir_of_files(const struct bpk_dir_files *is, struct bpk_dir **dir, struct bpk_err *err)
{
	struct files *files = bpk_calloc(1, sizeof *files, err);

	*dir = NULL;
	if (files == NULL)
		return -1;
	files->is = *is;
	return bpk_dir_of(&files_ops, files, dir, err);
}
