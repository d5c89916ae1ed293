/*
 * Where requests go: a URL as it is sent, and the store of S3 that it belongs to. Called by the
 * files of this folder.
 * Source: RFC 3986, "Percent-Encoding"; Amazon S3 API, "Create a canonical request".
 */
#ifndef BPK_IO_REMOTE_URL_H
#define BPK_IO_REMOTE_URL_H

#include "base/base.h"

/* How all URLs of S3 are reached. Fixed once made; it lives until the process ends. */
struct bpk_store {
	char *endpoint; /* "http://127.0.0.1:9000", without a slash behind; NULL: Amazon's */
	char *region;
	char *signer;          /* for CURLOPT_AWS_SIGV4 */
	char *key_id, *secret; /* NULL: requests are not signed */
	char *token_field;     /* the header field with the session's token; NULL: none */
};

/* Caller storage, valid when zeroed; for bpk_url_clear. Fixed once made. */
struct bpk_url {
	char *text;                    /* http:// or https://, percent-encoded */
	const struct bpk_store *store; /* NULL: a plain web server */
	size_t bucket_size;            /* of a store: bytes of text before the key */
};

/*
 * Make a URL of what the user wrote: http://, https:// or s3://BUCKET/KEY. Fails with BPK_USAGE (a
 * password, no host, no such bucket name), BPK_FAILED (files of the user's) or BPK_UNSUPPORTED
 * (libcurl is too old for a store). Reads environment and files at the first URL of a store. Any
 * thread.
 */
int bpk_url_make(const char *path, struct bpk_url *url, struct bpk_err *err);

/* The URL of name, checked as names of io/dir.h are, below folder, whose text ends with "/"; ""
 * copies it. */
int bpk_url_below(const struct bpk_url *folder, const char *name, struct bpk_url *url,
		  struct bpk_err *err);

void bpk_url_clear(struct bpk_url *url);

/* Append text, with every byte but letters, digits, "-._~" and those of kept as %XX. */
int bpk_url_encode(struct bpk_buf *to, const char *text, const char *kept, struct bpk_err *err);

/* Fails with BPK_USAGE if an http URL has no host, or a user's name. */
int bpk_url_check_host(const char *url, struct bpk_err *err);

#endif
