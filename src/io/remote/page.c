/* Reads one page of a listing. Called by list.c, with text of a server that is not trusted. */
#include <stdlib.h>

#include "io/remote/list.h"
#include "io/remote/xml.h"
#include "io/tree/dir.h"

static const uint64_t NAMES_MAX = 256 << 20; /* bytes of a listing in memory */

static int add(struct bpk_listing *listing, const struct bpk_listed *entry, struct bpk_err *err)
{
	if (listing->texts.size + listing->all.size > NAMES_MAX)
		return bpk_fail(err, BPK_LIMIT, "the folder has too many files to list");
	listing->count++;
	return bpk_buf_append(&listing->all, bpk_view(entry, sizeof *entry), err);
}

/* Note the name that a key, or the prefix of several, has in the folder. *found is false for the
 * folder itself, for which some programs make an object. */
static int take_name(struct bpk_page *page, const char *key, bool is_folder, bool *found,
		     struct bpk_err *err)
{
	struct bpk_buf *texts = &page->listing->texts;
	size_t size = strlen(page->prefix), at = texts->size, length;
	char *name;

	*found = false;
	if (strncmp(key, page->prefix, size) != 0)
		return bpk_fail(err, BPK_FAILED,
				"the store lists \"%s\", which does not begin as was asked for",
				key);
	key += size;
	length = strlen(key);
	if (length == 0)
		return 0;
	if (is_folder && key[length - 1] == '/')
		length--;
	if (memchr(key, '/', length) != NULL)
		return bpk_fail(err, BPK_FAILED, "the store lists \"%s\", which lies deeper", key);
	if (bpk_buf_append(texts, bpk_view(key, length), err) != 0 ||
	    bpk_buf_append(texts, bpk_view("", 1), err) != 0)
		return -1;
	name = (char *)texts->data + at;
	if (bpk_dir_check_name(name, err) != 0)
		return bpk_err_subject(err, "the store's listing");
	page->entry.name_at = at;
	*found = true;
	return 0;
}

static int take_size(struct bpk_page *page, const char *value, struct bpk_err *err)
{
	uint64_t size = 0;

	for (; *value >= '0' && *value <= '9' && size <= (UINT64_MAX - 9) / 10; value++)
		size = size * 10 + (uint64_t)(*value - '0');
	if (*value != '\0')
		return bpk_fail(err, BPK_FAILED, "the store lists a size that is no number");
	page->entry.size = size;
	return 0;
}

static int end_entry(struct bpk_page *page, bool is_folder, struct bpk_err *err)
{
	int rc = 0;

	page->entry.is_folder = is_folder;
	if (page->has_key)
		rc = add(page->listing, &page->entry, err);
	page->has_key = false;
	page->entry = (struct bpk_listed){ 0 };
	return rc;
}

static int take(void *arg, const char *path, const char *value, struct bpk_err *err)
{
	static const char root[] = "ListBucketResult";
	struct bpk_page *page = arg;

	if (strncmp(path, root, sizeof root - 1) != 0)
		return strcmp(path, "Error/Code") == 0
			       ? bpk_fail(err, BPK_FAILED, "the store answered %s", value)
			       : 0;
	path += sizeof root - 1;
	if (*path == '\0')
		page->is_listing = true;
	else if (strcmp(path, "/Contents/Key") == 0)
		return take_name(page, value, false, &page->has_key, err);
	else if (strcmp(path, "/CommonPrefixes/Prefix") == 0)
		return take_name(page, value, true, &page->has_key, err);
	else if (strcmp(path, "/Contents/Size") == 0)
		return take_size(page, value, err);
	else if (strcmp(path, "/Contents") == 0 || strcmp(path, "/CommonPrefixes") == 0)
		return end_entry(page, path[2] == 'o' && path[3] == 'm', err);
	else if (strcmp(path, "/IsTruncated") == 0)
		page->is_truncated = strcmp(value, "true") == 0;
	else if (strcmp(path, "/NextContinuationToken") == 0 && page->next == NULL)
		return (page->next = bpk_strdup(value, err)) == NULL ? -1 : 0;
	return 0;
}

int bpk_page_read(struct bpk_page *page, struct bpk_view text, struct bpk_err *err)
{
	if (bpk_xml_scan(text, take, page, err) != 0)
		return -1;
	if (!page->is_listing || (page->is_truncated && page->next == NULL))
		return bpk_fail(err, BPK_FAILED, "the store's answer is no listing");
	if (!page->is_truncated) {
		free(page->next);
		page->next = NULL;
	}
	return 0;
}
