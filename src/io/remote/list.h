/*
 * Listings of a store's folders: the keys that begin with a URL's key, up to the next "/". Called
 * by tree.c.
 * Source: Amazon S3 API, ListObjectsV2.
 */
#ifndef BPK_IO_REMOTE_LIST_H
#define BPK_IO_REMOTE_LIST_H

#include "io/remote/request.h"

struct bpk_listed {
	size_t name_at; /* in texts */
	bool is_folder;
	uint64_t size; /* of a file, as it was listed */
};

/* Caller storage, valid when zeroed; for bpk_listing_clear. Fixed once made. */
struct bpk_listing {
	struct bpk_buf texts, all; /* all: of struct bpk_listed, by name, files first */
	size_t count;
};

/*
 * List a folder, whose URL is of a store and ends with "/"; most: stop after about so many names.
 * It is empty where no key begins so. Names are single parts by the rules of io/dir.h. Fails with
 * BPK_FAILED (the store refuses, or answers anything else than a listing; *outcome is that of the
 * request) or BPK_LIMIT (names of more than 256 MiB).
 */
int bpk_listing_make(const struct bpk_url *folder, size_t most, struct bpk_listing *listing,
		     enum bpk_outcome *outcome, struct bpk_err *err);

void bpk_listing_clear(struct bpk_listing *listing);

/* The nth entry, and its name. */
const struct bpk_listed *bpk_listing_at(const struct bpk_listing *listing, size_t n);
const char *bpk_listing_name(const struct bpk_listing *listing, const struct bpk_listed *entry);

/* The entry of the size bytes at name, a file rather than a folder; NULL: none. */
const struct bpk_listed *bpk_listing_find(const struct bpk_listing *listing, const char *name,
					  size_t size);

/* ---- one page ---- */

/* A page of a listing, in XML. Caller storage, valid when zeroed but for the first members. */
struct bpk_page {
	struct bpk_listing *listing; /* takes the entries */
	const char *prefix;          /* of all keys, as it is; borrowed */
	/* for free(); NULL: it is the last page */
	char *next;

	bool is_truncated, has_key, is_listing;
	struct bpk_listed entry; /* the one being read */
};

/* Add the entries of a page. Fails as bpk_listing_make. */
int bpk_page_read(struct bpk_page *page, struct bpk_view text, struct bpk_err *err);

#endif
