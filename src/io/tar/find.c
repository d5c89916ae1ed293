/* Members of a tar as a source or a directory, for paths PATH:NAME. bpk_place_open calls
 * bpk_tar_find, walk.c opens folders. */
#include <stdlib.h>

#include "io/tree/dir.h"
#include "io/tar/index.h"
#include "io/tar/name.h"
#include "io/tar/read.h"

/* ---- A directory of members ---- */

struct folder {
	struct bpk_tar_index *index; /* fixed after open, like prefix */
	bool borrows;                /* the index; else it is owned */
	char *prefix;                /* "NAME/" */
};

/* The name in the tar of name in the folder, followed by tail; for free(). */
static char *full_name(const struct folder *folder, const char *name, const char *tail,
		       struct bpk_err *err)
{
	size_t size = strlen(folder->prefix) + strlen(name) + strlen(tail) + 1;
	char *full = bpk_calloc(1, size, err);

	if (full != NULL)
		strcat(strcat(strcpy(full, folder->prefix), name), tail);
	return full;
}

static int folder_look(void *dir, const char *name, enum bpk_entry *entry, uint64_t *size,
		       struct bpk_err *err)
{
	const struct folder *folder = dir;
	char *full = full_name(folder, name, *name != '\0' ? "/" : "", err);
	const struct bpk_tar_member_at *found;

	if (full == NULL)
		return -1;
	if (bpk_tar_index_lies_below(folder->index, bpk_tar_index_below(folder->index, full),
				     full)) {
		*entry = BPK_ENTRY_DIRECTORY;
	} else if (*name != '\0') {
		full[strlen(full) - 1] = '\0';
		found = bpk_tar_index_find(folder->index, full);
		if (found != NULL &&
		    (found->kind == BPK_TAR_PLAIN || found->kind == BPK_TAR_IN_PIECES)) {
			*entry = BPK_ENTRY_FILE;
			*size = found->size;
		} else if (found != NULL) {
			*entry = found->kind == BPK_TAR_FOLDER ? BPK_ENTRY_DIRECTORY
							       : BPK_ENTRY_OTHER;
		}
	}
	free(full);
	return 0;
}

static int folder_source(void *dir, const char *name, struct bpk_source **source,
			 struct bpk_err *err)
{
	const struct folder *folder = dir;
	char *full = full_name(folder, name, "", err);
	const struct bpk_tar_member_at *found;
	int rc;

	if (full == NULL)
		return -1;
	found = bpk_tar_index_find(folder->index, full);
	if (found == NULL)
		rc = bpk_fail(err, BPK_CORRUPT, "is missing");
	else
		rc = bpk_tar_index_open(folder->index, found, source, err);
	free(full);
	return rc;
}

/* A member is as public as its tar. */
static int folder_stat(void *dir, const char *name, struct stat *found, struct bpk_err *err)
{
	const struct folder *folder = dir;

	(void)name;
	(void)err;
	*found = *bpk_source_stat(folder->index->source);
	return 0;
}

static enum bpk_entry entry_of(const struct bpk_tar_index *index, const char *name)
{
	const struct bpk_tar_member_at *found = bpk_tar_index_find(index, name);

	if (found == NULL || found->kind == BPK_TAR_NO_FILE)
		return BPK_ENTRY_OTHER;
	return found->kind == BPK_TAR_FOLDER ? BPK_ENTRY_DIRECTORY : BPK_ENTRY_FILE;
}

/* Add the first part of each name below full, which ends in "/". */
static int add_below(const struct bpk_tar_index *index, const char *full,
		     struct bpk_dir_entries *entries, struct bpk_err *err)
{
	const char *before = "";
	size_t before_size = 0;

	for (size_t i = bpk_tar_index_below(index, full); bpk_tar_index_lies_below(index, i, full);
	     i++) {
		const char *rest = index->members[i].name + strlen(full);
		size_t size = strcspn(rest, "/");
		char *part;
		int rc;

		if (rest[size] == '/' && size == before_size && memcmp(rest, before, size) == 0)
			continue;
		part = strndup(rest, size);
		if (part == NULL)
			return bpk_fail_memory(err, size);
		rc = bpk_dir_entries_add(entries, part,
					 rest[size] == '/'
						 ? BPK_ENTRY_DIRECTORY
						 : entry_of(index, index->members[i].name),
					 err);
		free(part);
		if (rc != 0)
			return -1;
		before = rest[size] == '/' ? rest : "";
		before_size = rest[size] == '/' ? size : 0;
	}
	return 0;
}

static int folder_list(void *dir, const char *name, struct bpk_dir_entries *entries,
		       struct bpk_err *err)
{
	const struct folder *folder = dir;
	enum bpk_entry entry = BPK_ENTRY_NONE;
	uint64_t size;
	char *full;
	int rc;

	if (folder_look(dir, name, &entry, &size, err) != 0)
		return -1;
	if (entry != BPK_ENTRY_DIRECTORY)
		return bpk_fail(err, BPK_CORRUPT, "is not a directory");
	full = full_name(folder, name, *name != '\0' ? "/" : "", err);
	rc = full == NULL ? -1 : add_below(folder->index, full, entries, err);
	free(full);
	return rc;
}

static void folder_close(void *dir)
{
	struct folder *folder = dir;

	if (!folder->borrows)
		bpk_tar_index_free(folder->index);
	free(folder->prefix);
	free(folder);
}

static const struct bpk_dir_ops folder_ops = {
	.look = folder_look,
	.source = folder_source,
	.stat = folder_stat,
	.list = folder_list,
	.close = folder_close,
};

int bpk_tar_index_folder(struct bpk_tar_index *index, const char *prefix, bool borrows,
			 struct bpk_dir **dir, struct bpk_err *err)
{
	struct folder *folder = bpk_calloc(1, sizeof *folder, err);

	*dir = NULL;
	if (folder == NULL)
		return -1;
	folder->index = index;
	folder->borrows = true;
	folder->prefix = bpk_strdup(prefix, err);
	if (folder->prefix == NULL) {
		folder_close(folder);
		return -1;
	}
	if (bpk_dir_of(&folder_ops, folder, dir, err) != 0)
		return -1;
	folder->borrows = borrows;
	return 0;
}

/* ---- Finding ---- */

int bpk_tar_probe(struct bpk_source *source, bool is_named, bool *is_tar, struct bpk_err *err)
{
	uint8_t block[BPK_TAR_BLOCK];
	size_t got;

	*is_tar = false;
	if (!bpk_source_seekable(source))
		return 0;
	if (bpk_source_read_at(source, 0, bpk_span(block, sizeof block), &got, err) != 0)
		return -1;
	*is_tar = got == sizeof block &&
		  (bpk_tar_is_header(block) || (is_named && bpk_tar_is_end(block)));
	return 0;
}

int bpk_tar_find(struct bpk_source *source, const char *name, bool *is_tar,
		 struct bpk_source **member, struct bpk_dir **dir, struct bpk_err *err)
{
	char *clean = bpk_calloc(1, strlen(name) + 2, err);
	const struct bpk_tar_member_at *found;
	struct bpk_tar_index *index = NULL;
	int rc = -1;

	*is_tar = false;
	*member = NULL;
	*dir = NULL;
	if (clean != NULL)
		rc = bpk_tar_probe(source, true, is_tar, err);
	if (!*is_tar) {
		bpk_source_close(source);
		free(clean);
		return rc;
	}
	rc = -1;
	if (bpk_tar_clean(name, clean) != NULL)
		*clean = '\0';
	index = bpk_tar_index_new(source, err);
	if (index == NULL)
		goto out;
	if (index->is_broken) { /* a later member of that name would count */
		bpk_fail(err, BPK_CORRUPT, "%s; bpk tar -x -f TAR extracts the members before that",
			 index->behind.text);
		if (err != NULL)
			err->advises = true;
		goto out;
	}
	found = bpk_tar_index_find(index, clean);
	if (found != NULL && found->kind != BPK_TAR_FOLDER) {
		rc = bpk_tar_index_open(index, found, member, err);
		goto out;
	}
	if (index->behind.kind != BPK_OK) { /* the damage may hide it, or more of the folder */
		bpk_fail_as(err, &index->behind);
		goto out;
	}
	strcat(clean, "/");
	rc = 0;
	if (bpk_tar_index_lies_below(index, bpk_tar_index_below(index, clean), clean) ||
	    found != NULL) {
		rc = bpk_tar_index_folder(index, clean, false, dir, err);
		index = rc == 0 ? NULL : index; /* owned by the folder */
	}
out:
	bpk_tar_index_free(index);
	free(clean);
	return rc;
}
