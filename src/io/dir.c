#include "io/io.h"

#include <limits.h>
#include <stdlib.h>

#include "io/dir_ops.h"
#include "io/name.h"

struct bpk_dir {
	const struct bpk_dir_ops *ops;
	void *own;
};

int bpk_dir_of(const struct bpk_dir_ops *ops, void *own, struct bpk_dir **dir, struct bpk_err *err)
{
	*dir = bpk_calloc(1, sizeof **dir, err);
	if (*dir == NULL) {
		ops->close(own);
		return -1;
	}
	(*dir)->ops = ops;
	(*dir)->own = own;
	return 0;
}

void bpk_dir_close(struct bpk_dir *dir)
{
	if (dir == NULL)
		return;
	dir->ops->close(dir->own);
	free(dir);
}

/* ---- Names ---- */

static const char *why_bad_part(const char *part, size_t size)
{
	if (size == 0)
		return "has an empty part";
	if (size > NAME_MAX)
		return "has a part of more than 255 bytes";
	if (part[0] == '.' && (size == 1 || (size == 2 && part[1] == '.')))
		return "leads elsewhere";
	for (size_t i = 0; i < size; i++)
		if ((uint8_t)part[i] < 0x20 || part[i] == 0x7f)
			return "holds control bytes";
	return NULL;
}

int bpk_dir_check_name(const char *name, struct bpk_err *err)
{
	const char *part = name, *why;
	size_t size;

	if (strlen(name) >= PATH_MAX)
		return bpk_fail(err, BPK_CORRUPT, "a name of %zu bytes is too long", strlen(name));
	for (;; part += size + 1) {
		size = strcspn(part, "/");
		why = why_bad_part(part, size);
		if (why != NULL)
			return bpk_fail(err, BPK_CORRUPT, "the name \"%s\" %s", name, why);
		if (part[size] == '\0')
			return 0;
	}
}

bool bpk_dir_hides(const char *name)
{
	const char *slash = strrchr(name, '/');

	if (slash == NULL && (strcmp(name, BPK_DIR_LOCK) == 0 || strcmp(name, BPK_DIR_LIST) == 0 ||
			      strcmp(name, BPK_SIDECAR) == 0))
		return true;
	return bpk_draft_is_name(slash == NULL ? name : slash + 1);
}

static int check_or_root(const char *name, struct bpk_err *err)
{
	return *name == '\0' ? 0 : bpk_dir_check_name(name, err);
}

/* ---- Looking and opening ---- */

int bpk_dir_look(struct bpk_dir *dir, const char *name, enum bpk_entry *entry, uint64_t *size,
		 struct bpk_err *err)
{
	*entry = BPK_ENTRY_NONE;
	*size = 0;
	if (check_or_root(name, err) != 0)
		return -1;
	if (dir->ops->look(dir->own, name, entry, size, err) != 0)
		return bpk_err_subject(err, "%s", name);
	return 0;
}

int bpk_dir_source(struct bpk_dir *dir, const char *name, struct bpk_source **source,
		   struct bpk_err *err)
{
	*source = NULL;
	if (bpk_dir_check_name(name, err) != 0)
		return -1;
	if (dir->ops->source(dir->own, name, source, err) != 0)
		return bpk_err_subject(err, "%s", name);
	return 0;
}

bool bpk_dir_is_current(struct bpk_dir *dir, const char *name, struct bpk_source *source)
{
	if (bpk_source_unchanged(source, NULL) != 0)
		return false;
	return dir->ops->is_current == NULL || dir->ops->is_current(dir->own, name, source);
}

bool bpk_dir_pending(const struct bpk_dir *dir)
{
	return dir->ops->pending != NULL && dir->ops->pending(dir->own);
}

/* ---- Listing ---- */

struct entry {
	char *name;
	size_t turn; /* when it was added */
	enum bpk_entry entry;
};

struct bpk_dir_entries {
	struct bpk_buf all; /* of struct entry */
	size_t count;
};

static struct entry *entries_of(const struct bpk_dir_entries *entries)
{
	return (struct entry *)(void *)entries->all.data; /* aligned, and nothing else is there */
}

int bpk_dir_entries_add(struct bpk_dir_entries *entries, const char *entry_name,
			enum bpk_entry entry, struct bpk_err *err)
{
	struct entry added = { .turn = entries->count, .entry = entry };

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

static void clear_entries(struct bpk_dir_entries *entries)
{
	for (size_t i = 0; i < entries->count; i++)
		free(entries_of(entries)[i].name);
	bpk_buf_clear(&entries->all);
}

static int by_name_and_turn(const void *a, const void *b)
{
	const struct entry *left = a, *right = b;
	int order = strcmp(left->name, right->name);

	if (order != 0)
		return order;
	return left->turn < right->turn ? -1 : 1;
}

/* name is the directory's; what is hidden there depends on where it lies. */
static bool is_shown(const struct bpk_dir_entries *entries, size_t i, const char *name)
{
	const struct entry *entry = entries_of(entries) + i;

	if (entry->entry == BPK_ENTRY_NONE ||
	    (i + 1 < entries->count && strcmp(entry->name, entry[1].name) == 0))
		return false;
	return *name == '\0' ? !bpk_dir_hides(entry->name) : !bpk_draft_is_name(entry->name);
}

int bpk_dir_list(struct bpk_dir *dir, const char *name,
		 int (*visit)(void *arg, const char *entry_name, enum bpk_entry entry), void *arg,
		 struct bpk_err *err)
{
	struct bpk_dir_entries entries = { 0 };
	int rc;

	if (check_or_root(name, err) != 0)
		return -1;
	rc = dir->ops->list(dir->own, name, &entries, err);
	if (rc != 0 && *name != '\0')
		bpk_err_subject(err, "%s", name);
	if (entries.count > 0)
		qsort(entries.all.data, entries.count, sizeof(struct entry), by_name_and_turn);
	for (size_t i = 0; rc == 0 && i < entries.count; i++)
		if (is_shown(&entries, i, name))
			rc = visit(arg, entries_of(&entries)[i].name,
				   entries_of(&entries)[i].entry);
	clear_entries(&entries);
	return rc;
}
