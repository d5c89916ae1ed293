/* Opens URLs as sources: by ranges, or downloaded where the server sends only whole files. Called
 * by place.c and tree.c and, for the version, by bpk version. */
#include "io/remote.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "io/remote/cache.h"
#include "io/remote/curl.h"
#include "io/remote/object.h"
#include "io/remote/request.h"
#include "io/remote/source.h"

/* ---- files that are sent as a whole ---- */

struct download {
	struct bpk_spool *spool;
	struct bpk_source *source; /* over the spool */
	uint64_t left;             /* of max_download */
	atomic_uint sharers;       /* users beside the first */
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

static void *share_download(void *arg)
{
	struct download *download = arg;

	atomic_fetch_add(&download->sharers, 1);
	return download;
}

static void close_download(void *arg)
{
	struct download *download = arg;

	if (atomic_fetch_sub(&download->sharers, 1) > 0)
		return;
	bpk_source_close(download->source);
	bpk_spool_close(download->spool);
	free(download);
}

/* Fetch all bytes into the spool. */
static int fetch_all(const struct bpk_url *url, struct download *download, struct bpk_err *err)
{
	struct bpk_request request = { .url = url, .take = take, .take_arg = download };

	if (bpk_spool_open(&download->spool, err) != 0 || bpk_request_run(&request, err) != 0)
		return -1;
	return bpk_spool_source(download->spool, &download->source, err);
}

static int open_whole(const struct bpk_url *url, struct bpk_source **source, struct bpk_err *err)
{
	static const struct bpk_source_ops ops = { .read_at = read_download,
						   .close = close_download,
						   .share = share_download,
						   .positional = true };
	struct download *download = bpk_calloc(1, sizeof *download, err);

	if (download == NULL)
		return -1;
	bpk_request_tell(url->text,
			 "the server does not send ranges; the whole file is downloaded");
	download->left = bpk_request_options().max_download;
	if (fetch_all(url, download, err) == 0 &&
	    bpk_source_of(&ops, download, bpk_spool_size(download->spool), source, err) == 0)
		return 0;
	close_download(download);
	return -1;
}

/* ---- the calls ---- */

int bpk_remote_source(struct bpk_url *url, uint64_t size, struct bpk_source **source,
		      enum bpk_outcome *outcome, struct bpk_err *err)
{
	static const struct bpk_source_ops ops = { .read_at = bpk_object_read_at,
						   .ahead = bpk_object_ahead,
						   .close = bpk_object_close,
						   .share = bpk_object_share,
						   .positional = true,
						   .remote = true };
	struct bpk_object *object;
	int rc = bpk_object_open(url, size, &object, outcome, err);

	*source = NULL;
	if (rc == 0 && object == NULL)
		rc = open_whole(url, source, err);
	else if (rc == 0)
		rc = bpk_source_of(&ops, object, bpk_object_size(object), source, err);
	if (rc != 0 && object != NULL)
		bpk_object_close(object);
	bpk_url_clear(url);
	return rc;
}

int bpk_remote_open(const char *path, struct bpk_source **source, bool *missing,
		    struct bpk_err *err)
{
	enum bpk_outcome outcome;
	struct bpk_url url;

	*source = NULL;
	*missing = false;
	if (bpk_url_make(path, &url, err) != 0)
		return -1;
	if (bpk_remote_source(&url, 0, source, &outcome, err) == 0)
		return 0;
	*missing = outcome == BPK_OUTCOME_MISSING || outcome == BPK_OUTCOME_DENIED;
	if (outcome == BPK_OUTCOME_MISSING)
		bpk_fail(err, BPK_FAILED, "does not exist");
	return -1;
}

bool bpk_remote_is_folder(const char *path)
{
	size_t size = strlen(path);

	if (bpk_path_is_s3(path))
		return path[size - 1] == '/' || strchr(path + strlen("s3://"), '/') == NULL;
	return bpk_path_is_url(path) && path[size - 1] == '/' && path[strcspn(path, "?#")] == '\0';
}

struct bpk_remote_counts bpk_remote_counted(void)
{
	struct bpk_remote_counts counts = bpk_request_counted();

	counts.cached = bpk_cached_bytes();
	return counts;
}

const char *bpk_remote_library(void)
{
	return LIBCURL_VERSION;
}
