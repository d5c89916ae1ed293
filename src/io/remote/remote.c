/* Opens URLs as sources: by ranges, or downloaded where the server sends only whole files. Called
 * by place.c and, for the version, by bpk version. */
#include "io/remote.h"

#include <inttypes.h>
#include <stdlib.h>
#include <strings.h>

#include "io/remote/curl.h"
#include "io/remote/object.h"
#include "io/remote/request.h"

/* ---- the URL ---- */

/* Its host must be there, and no password, which would be shown in messages and process lists. */
static int check_url(const char *url, struct bpk_err *err)
{
	const char *host = strstr(url, "://") + 3;
	size_t size = strcspn(host, "/?#");

	if (memchr(host, '@', size) != NULL)
		return bpk_fail(err, BPK_USAGE,
				"a URL with a user's name; name and password belong into ~/.netrc");
	if (size == 0 || *host == ':')
		return bpk_fail(err, BPK_USAGE, "a URL without a host");
	return 0;
}

/* ---- files that are sent as a whole ---- */

struct download {
	struct bpk_spool *spool;
	struct bpk_source *source; /* over the spool */
	uint64_t left;             /* of max_download */
};

static int take(void *arg, struct bpk_view bytes, struct bpk_err *err)
{
	struct download *download = arg;

	if (bytes.size > download->left)
		return bpk_fail(err, BPK_LIMIT,
				"the server sends only the whole file, which has more than %" PRIu64
				" bytes; --max-download allows more",
				bpk_request_options().max_download);
	download->left -= bytes.size;
	return bpk_spool_write(download->spool, bytes, err);
}

static int read_download(void *arg, uint64_t offset, struct bpk_span out, size_t *got,
			 struct bpk_err *err)
{
	struct download *download = arg;

	return bpk_source_read_at(download->source, offset, out, got, err);
}

static void close_download(void *arg)
{
	struct download *download = arg;

	bpk_source_close(download->source);
	bpk_spool_close(download->spool);
	free(download);
}

/* Fetch all bytes into the spool. */
static int fetch_all(const char *url, struct download *download, struct bpk_err *err)
{
	struct bpk_request request = { .url = url, .take = take, .take_arg = download };
	int rc;

	if (bpk_spool_open(&download->spool, err) != 0 || bpk_request_start(&request, err) != 0)
		return -1;
	bpk_request_wait(&request);
	rc = request.outcome == BPK_OUTCOME_BYTES
		     ? 0
		     : bpk_fail(err, request.err.kind, "%s", request.err.text);
	bpk_request_stop(&request);
	return rc != 0 ? -1 : bpk_spool_source(download->spool, &download->source, err);
}

static int open_whole(const char *url, struct bpk_source **source, struct bpk_err *err)
{
	static const struct bpk_source_ops ops = { .read_at = read_download,
						   .close = close_download,
						   .positional = true };
	struct bpk_remote_options options = bpk_request_options();
	struct download *download = bpk_calloc(1, sizeof *download, err);

	if (download == NULL)
		return -1;
	if (options.tell != NULL)
		options.tell(url, "the server does not send ranges; the whole file is downloaded");
	download->left = options.max_download;
	if (fetch_all(url, download, err) == 0 &&
	    bpk_source_of(&ops, download, bpk_spool_size(download->spool), source, err) == 0)
		return 0;
	close_download(download);
	return -1;
}

/* ---- the calls ---- */

int bpk_remote_open(const char *url, struct bpk_source **source, struct bpk_err *err)
{
	static const struct bpk_source_ops ops = { .read_at = bpk_object_read_at,
						   .ahead = bpk_object_ahead,
						   .close = bpk_object_close,
						   .positional = true,
						   .remote = true };
	struct bpk_object *object;

	*source = NULL;
	if (check_url(url, err) != 0 || bpk_object_open(url, &object, err) != 0)
		return -1;
	if (object == NULL)
		return open_whole(url, source, err);
	if (bpk_source_of(&ops, object, bpk_object_size(object), source, err) == 0)
		return 0;
	bpk_object_close(object);
	return -1;
}

const char *bpk_remote_library(void)
{
	return LIBCURL_VERSION;
}
