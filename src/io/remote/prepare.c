/*
 * Tells libcurl about a request: its target, header fields, signature, range or body.
 * Called by request.c's driver.
 */
#include "io/remote/prepare.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "config.h"
#include "io/remote/exchange.h"
#include "io/remote/joint.h"

enum {
	REDIRECTS = 5,       /* followed by one request */
	SLOWEST = 1000,      /* bytes a second; a connection that brings less is given up */
	RECEIVE = 256 << 10, /* bytes of libcurl's buffer */
};

static int add_field(const struct bpk_curl_calls *curl, struct curl_slist **fields,
		     const char *line)
{
	struct curl_slist *longer = curl->curl_slist_append(*fields, line);

	if (longer == NULL)
		return -1;
	*fields = longer;
	return 0;
}

/* What a store demands: the digest of the body, and the session's token. libcurl 7.88 does not send
 * the first of itself. A body is protected by its connection and, if it is data, by a CRC. */
static int add_signed(const struct bpk_curl_calls *curl, const struct bpk_request *request,
		      struct curl_slist **fields)
{
	static const char nothing[] = "x-amz-content-sha256: e3b0c44298fc1c149afbf4c8996fb924"
				      "27ae41e4649b934ca495991b7852b855",
			  unsigned_body[] = "x-amz-content-sha256: UNSIGNED-PAYLOAD";
	const struct bpk_store *store = request->url->store;

	if (store == NULL)
		return 0;
	if (store->signer != NULL &&
	    add_field(curl, fields, request->body.size > 0 ? unsigned_body : nothing) != 0)
		return -1;
	return store->token_field != NULL ? add_field(curl, fields, store->token_field) : 0;
}

/* The header fields of a signature, those that make the server compare versions, and the caller's;
 * *fields is NULL where none is needed, and is to be freed in any case. */
static int make_fields(const struct bpk_curl_calls *curl, const struct bpk_request *request,
		       struct curl_slist **fields)
{
	char line[BPK_ANSWER_TEXT + 20];

	*fields = NULL;
	if (add_signed(curl, request, fields) != 0)
		return -1;
	for (size_t i = 0; request->method != NULL && request->lines[i] != NULL; i++)
		if (add_field(curl, fields, request->lines[i]) != 0)
			return -1;
	if (request->known != NULL) {
		snprintf(line, sizeof line, "If-None-Match: %s", request->known);
		return add_field(curl, fields, line);
	}
	if (request->seen == NULL || !request->seen->is_strong)
		return 0;
	snprintf(line, sizeof line, "If-Match: %s", request->seen->version);
	return add_field(curl, fields, line);
}

/* The certificates to trust, where the user names a file as for other programs. */
static const char *trusted_file(void)
{
	const char *name = getenv("CURL_CA_BUNDLE");

	return name != NULL && *name != '\0' ? name : getenv("SSL_CERT_FILE");
}

static bool is_post(const struct bpk_request *request)
{
	return request->method != NULL && strcmp(request->method, "POST") == 0;
}

/* A store takes its time to put a file together, and sends next to nothing meanwhile. */
static bool set_limits(const struct bpk_curl_calls *curl, const struct bpk_request *request,
		       unsigned timeout)
{
	CURL *handle = request->handle;
	long patience = timeout < 4 ? 1 : (long)timeout / 4;

	/* only a handle that has no buffer yet takes the size */
	(void)curl->curl_easy_setopt(handle, CURLOPT_BUFFERSIZE, (long)RECEIVE);
	return curl->curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L) == CURLE_OK &&
	       curl->curl_easy_setopt(handle, CURLOPT_CONNECTTIMEOUT, patience) == CURLE_OK &&
	       curl->curl_easy_setopt(handle, CURLOPT_LOW_SPEED_TIME, patience) == CURLE_OK &&
	       curl->curl_easy_setopt(handle, CURLOPT_LOW_SPEED_LIMIT,
				      is_post(request) ? 0L : (long)SLOWEST) == CURLE_OK;
}

/* A signed request goes to the store alone: no redirection, and no name from ~/.netrc. */
static bool set_store(const struct bpk_curl_calls *curl, CURL *handle,
		      const struct bpk_store *store)
{
#if LIBCURL_VERSION_NUM >= 0x075700
	return curl->curl_easy_setopt(handle, CURLOPT_FOLLOWLOCATION, 0L) == CURLE_OK &&
	       curl->curl_easy_setopt(handle, CURLOPT_PATH_AS_IS, 1L) == CURLE_OK &&
	       curl->curl_easy_setopt(handle, CURLOPT_NETRC, (long)CURL_NETRC_IGNORED) ==
		       CURLE_OK &&
	       (store->signer == NULL ||
		(curl->curl_easy_setopt(handle, CURLOPT_AWS_SIGV4, store->signer) == CURLE_OK &&
		 curl->curl_easy_setopt(handle, CURLOPT_USERNAME, store->key_id) == CURLE_OK &&
		 curl->curl_easy_setopt(handle, CURLOPT_PASSWORD, store->secret) == CURLE_OK));
#else
	(void)curl;
	(void)handle;
	return store == NULL; /* none was made: s3.c */
#endif
}

/* A redirection stays within the scheme, and takes no password to another host. */
static bool set_target(const struct bpk_curl_calls *curl, CURL *handle, const char *url)
{
	const char *trusted = trusted_file();
#if LIBCURL_VERSION_NUM >= 0x075500
	char scheme[8];

	snprintf(scheme, sizeof scheme, "%.*s", (int)strcspn(url, ":"), url);
	if (curl->curl_easy_setopt(handle, CURLOPT_PROTOCOLS_STR, scheme) != CURLE_OK ||
	    curl->curl_easy_setopt(handle, CURLOPT_REDIR_PROTOCOLS_STR, scheme) != CURLE_OK)
		return false;
#else
	long scheme = url[4] == ':' ? CURLPROTO_HTTP : CURLPROTO_HTTPS;

	if (curl->curl_easy_setopt(handle, CURLOPT_PROTOCOLS, scheme) != CURLE_OK ||
	    curl->curl_easy_setopt(handle, CURLOPT_REDIR_PROTOCOLS, scheme) != CURLE_OK)
		return false;
#endif
	return curl->curl_easy_setopt(handle, CURLOPT_URL, url) == CURLE_OK &&
	       curl->curl_easy_setopt(handle, CURLOPT_FOLLOWLOCATION, 1L) == CURLE_OK &&
	       curl->curl_easy_setopt(handle, CURLOPT_MAXREDIRS, (long)REDIRECTS) == CURLE_OK &&
	       curl->curl_easy_setopt(handle, CURLOPT_NETRC, (long)CURL_NETRC_OPTIONAL) ==
		       CURLE_OK &&
	       curl->curl_easy_setopt(handle, CURLOPT_PIPEWAIT, 1L) == CURLE_OK &&
	       curl->curl_easy_setopt(handle, CURLOPT_USERAGENT, "bpk/" PACKAGE_VERSION) ==
		       CURLE_OK &&
	       (trusted == NULL ||
		curl->curl_easy_setopt(handle, CURLOPT_CAINFO, trusted) == CURLE_OK);
}

/* What is asked for: a range, several, the whole file, or something else than content. */
static bool set_wish(const struct bpk_curl_calls *curl, CURL *handle,
		     const struct bpk_request *request)
{
	char range[BPK_JOINT_TEXT];

	if (request->method != NULL)
		return curl->curl_easy_setopt(handle, CURLOPT_CUSTOMREQUEST, request->method) ==
			       CURLE_OK &&
		       (strcmp(request->method, "HEAD") != 0 ||
			curl->curl_easy_setopt(handle, CURLOPT_NOBODY, 1L) == CURLE_OK);
	if (request->joint != NULL)
		bpk_joint_text(request->joint, range);
	else
		snprintf(range, sizeof range, "%" PRIu64 "-%" PRIu64, request->offset,
			 request->offset + (request->out.size - 1));
	return request->take != NULL ||
	       curl->curl_easy_setopt(handle, CURLOPT_RANGE, range) == CURLE_OK;
}

/* libcurl sends a request once more by itself if a kept connection ends without an answer; a POST
 * may then be carried out twice, so that it gets a connection of its own. */
static bool set_connection(const struct bpk_curl_calls *curl, CURL *handle,
			   const struct bpk_request *request)
{
	long is_fresh = is_post(request) || request->fresh || request->once;

	return curl->curl_easy_setopt(handle, CURLOPT_FRESH_CONNECT, is_fresh) == CURLE_OK;
}

/* The body of a PUT or POST, which may be empty. Servers that wait for it are not asked first. */
static bool set_body(const struct bpk_curl_calls *curl, CURL *handle, struct bpk_request *request)
{
	curl_off_t size = (curl_off_t)request->body.size;

	if (request->method == NULL || request->method[0] != 'P')
		return true;
	return curl->curl_easy_setopt(handle, CURLOPT_UPLOAD, 1L) == CURLE_OK &&
	       curl->curl_easy_setopt(handle, CURLOPT_INFILESIZE_LARGE, size) == CURLE_OK &&
	       curl->curl_easy_setopt(handle, CURLOPT_READFUNCTION, bpk_exchange_send) ==
		       CURLE_OK &&
	       curl->curl_easy_setopt(handle, CURLOPT_READDATA, request) == CURLE_OK &&
	       curl->curl_easy_setopt(handle, CURLOPT_SEEKFUNCTION, bpk_exchange_rewind) ==
		       CURLE_OK &&
	       curl->curl_easy_setopt(handle, CURLOPT_SEEKDATA, request) == CURLE_OK;
}

static bool set_content(const struct bpk_curl_calls *curl, CURL *handle,
			struct bpk_request *request)
{
	return curl->curl_easy_setopt(handle, CURLOPT_HTTPHEADER, request->fields) == CURLE_OK &&
	       curl->curl_easy_setopt(handle, CURLOPT_ERRORBUFFER, request->why) == CURLE_OK &&
	       curl->curl_easy_setopt(handle, CURLOPT_HEADERFUNCTION, bpk_exchange_head) ==
		       CURLE_OK &&
	       curl->curl_easy_setopt(handle, CURLOPT_HEADERDATA, request) == CURLE_OK &&
	       curl->curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, bpk_exchange_body) ==
		       CURLE_OK &&
	       curl->curl_easy_setopt(handle, CURLOPT_WRITEDATA, request) == CURLE_OK &&
	       curl->curl_easy_setopt(handle, CURLOPT_PRIVATE, request) == CURLE_OK;
}

int bpk_prepare(const struct bpk_curl_calls *curl, struct bpk_request *request,
		const struct bpk_remote_options *options)
{
	const struct bpk_store *store = request->url->store;
	struct curl_slist *fields;
	int rc = make_fields(curl, request, &fields);

	request->fields = fields;
	return rc == 0 && set_limits(curl, request, options->timeout) &&
			       set_target(curl, request->handle, request->url->text) &&
			       (store == NULL || set_store(curl, request->handle, store)) &&
			       set_connection(curl, request->handle, request) &&
			       set_body(curl, request->handle, request) &&
			       set_wish(curl, request->handle, request) &&
			       set_content(curl, request->handle, request)
		       ? 0
		       : -1;
}
