/* Fetches the pages of a listing. Called by tree.c. */
#include "io/remote/list.h"

#include <stdlib.h>

#include "io/remote/request.h"

enum {
	PAGE_MAX = 8 << 20, /* bytes of a page: 1000 keys of 1024 bytes, and markup */
	PAGES_MAX = 20000,
};

/* ---- entries ---- */

const struct bpk_listed *bpk_listing_at(const struct bpk_listing *listing, size_t n)
{
	return (const struct bpk_listed *)(const void *)listing->all.data + n;
}

const char *bpk_listing_name(const struct bpk_listing *listing, const struct bpk_listed *entry)
{
	return (const char *)listing->texts.data + entry->name_at;
}

static int compare(const void *a, const void *b, void *texts)
{
	const struct bpk_listed *first = a, *second = b;
	int order =
		strcmp((const char *)texts + first->name_at, (const char *)texts + second->name_at);

	return order != 0 ? order : first->is_folder - second->is_folder;
}

const struct bpk_listed *bpk_listing_find(const struct bpk_listing *listing, const char *name,
					  size_t size)
{
	size_t low = 0, high = listing->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const char *there = bpk_listing_name(listing, bpk_listing_at(listing, middle));

		if (strncmp(there, name, size) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < listing->count; low++) {
		const struct bpk_listed *entry = bpk_listing_at(listing, low);
		const char *there = bpk_listing_name(listing, entry);

		if (strncmp(there, name, size) != 0)
			return NULL;
		if (there[size] == '\0')
			return entry;
	}
	return NULL;
}

void bpk_listing_clear(struct bpk_listing *listing)
{
	bpk_buf_clear(&listing->texts);
	bpk_buf_clear(&listing->all);
	listing->count = 0;
}

/* ---- pages ---- */

/* The key of a folder's URL, decoded; for free(). */
static char *prefix_of(const struct bpk_url *folder, struct bpk_err *err)
{
	char *prefix = bpk_strdup(folder->text + folder->bucket_size, err), *to = prefix;

	for (const char *from = prefix; prefix != NULL && *from != '\0'; from++) {
		unsigned code = (uint8_t)*from;

		if (*from == '%') { /* written by bpk_url_encode */
			code = (unsigned)strtoul((char[]){ from[1], from[2], '\0' }, NULL, 16);
			from += 2;
		}
		*to++ = (char)code;
	}
	if (prefix != NULL)
		*to = '\0';
	return prefix;
}

/* The URL of a page; the signature needs the parameters in their order. */
static int make_url(const struct bpk_url *folder, const struct bpk_page *page, size_t most,
		    struct bpk_buf *text, struct bpk_err *err)
{
	text->size = 0;
	if (bpk_buf_printf(text, err, "%.*s?", (int)folder->bucket_size, folder->text) != 0)
		return -1;
	if (page->next != NULL &&
	    (bpk_buf_printf(text, err, "continuation-token=") != 0 ||
	     bpk_url_encode(text, page->next, "", err) != 0 || bpk_buf_printf(text, err, "&") != 0))
		return -1;
	if (bpk_buf_printf(text, err, "delimiter=%%2F&list-type=2") != 0 ||
	    (most < 1000 && bpk_buf_printf(text, err, "&max-keys=%zu", most) != 0) ||
	    bpk_buf_printf(text, err, "&prefix=") != 0 ||
	    bpk_url_encode(text, page->prefix, "", err) != 0)
		return -1;
	return bpk_buf_append(text, bpk_view("", 1), err);
}

static int take(void *arg, struct bpk_view bytes, struct bpk_err *err)
{
	struct bpk_buf *text = arg;

	if (bytes.size > PAGE_MAX - text->size)
		return bpk_fail(err, BPK_FAILED, "the store's listing is too long");
	return bpk_buf_append(text, bytes, err);
}

static int fetch(const struct bpk_url *url, struct bpk_buf *text, enum bpk_outcome *outcome,
		 struct bpk_err *err)
{
	struct bpk_request request = { .url = url, .take = take, .take_arg = text };
	int rc;

	text->size = 0;
	rc = bpk_request_run(&request, err);
	*outcome = request.outcome;
	return rc;
}

/* Fetch and read the page behind the last one. */
static int add_page(const struct bpk_url *folder, struct bpk_page *page, size_t most,
		    enum bpk_outcome *outcome, struct bpk_err *err)
{
	struct bpk_buf address = { 0 }, text = { 0 };
	struct bpk_url url = *folder;
	int rc = make_url(folder, page, most, &address, err);

	url.text = (char *)address.data;
	if (rc == 0)
		rc = fetch(&url, &text, outcome, err);
	free(page->next);
	*page = (struct bpk_page){ .listing = page->listing, .prefix = page->prefix };
	if (rc == 0)
		rc = bpk_page_read(page, bpk_buf_view(&text), err);
	bpk_buf_clear(&address);
	bpk_buf_clear(&text);
	return rc;
}

int bpk_listing_make(const struct bpk_url *folder, size_t most, struct bpk_listing *listing,
		     enum bpk_outcome *outcome, struct bpk_err *err)
{
	char *prefix = prefix_of(folder, err);
	struct bpk_page page = { .listing = listing, .prefix = prefix };
	int npages = 0, rc;

	*listing = (struct bpk_listing){ 0 };
	*outcome = BPK_OUTCOME_FAILED;
	if (prefix == NULL)
		return -1;
	do {
		rc = add_page(folder, &page, most, outcome, err);
		if (rc == 0 && ++npages > PAGES_MAX)
			rc = bpk_fail(err, BPK_LIMIT, "the folder has too many files to list");
	} while (rc == 0 && page.next != NULL && listing->count < most);
	if (rc == 0 && listing->count > 0)
		qsort_r(listing->all.data, listing->count, sizeof(struct bpk_listed), compare,
			listing->texts.data);
	free(page.next);
	free(prefix);
	if (rc != 0)
		bpk_listing_clear(listing);
	return rc;
}
