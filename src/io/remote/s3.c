/* URLs and error answers of stores of S3. Called by store.c and exchange.c. */
#include "io/remote/s3.h"

#include <stdio.h>

#include "io/remote/xml.h"

/* ---- URLs ---- */

/* True if the bucket may stand in front of a host's name: TLS certificates hold for one label. */
static bool is_label(const char *bucket, size_t size)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyz0123456789-";

	return size <= 63 && bucket[0] != '-' && bucket[size - 1] != '-' &&
	       strspn(bucket, allowed) >= size;
}

static int check_bucket(const char *bucket, size_t size, struct bpk_err *err)
{
	static const char allowed[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._";

	if (size == 0)
		return bpk_fail(err, BPK_USAGE, "a URL without a bucket, expected s3://BUCKET/KEY");
	if (size > 255 || strspn(bucket, allowed) < size || bucket[0] == '.')
		return bpk_fail(err, BPK_USAGE, "\"%.*s\" is no name of a bucket",
				(int)bpk_min_size(size, 255), bucket);
	return 0;
}

static int print_base(const struct bpk_store *store, const char *bucket, int size,
		      struct bpk_buf *text, struct bpk_err *err)
{
	if (store->endpoint != NULL)
		return bpk_buf_printf(text, err, "%s/%.*s/", store->endpoint, size, bucket);
	if (is_label(bucket, (size_t)size))
		return bpk_buf_printf(text, err, "https://%.*s.s3.%s.amazonaws.com/", size, bucket,
				      store->region);
	return bpk_buf_printf(text, err, "https://s3.%s.amazonaws.com/%.*s/", store->region, size,
			      bucket);
}

int bpk_s3_url_of(const struct bpk_store *store, const char *path, struct bpk_url *url,
		  struct bpk_err *err)
{
	const char *bucket = path + strlen("s3://"), *key = bucket + strcspn(bucket, "/");
	size_t size = (size_t)(key - bucket);
	struct bpk_buf text = { 0 };

	*url = (struct bpk_url){ .store = store };
	if (check_bucket(bucket, size, err) != 0 ||
	    print_base(store, bucket, (int)size, &text, err) != 0)
		goto failed;
	url->bucket_size = text.size;
	if (bpk_url_encode(&text, *key == '/' ? key + 1 : key, "/", err) == 0 &&
	    bpk_buf_append(&text, bpk_view("", 1), err) == 0) {
		url->text = (char *)text.data;
		return 0;
	}
failed:
	bpk_buf_clear(&text);
	return -1;
}

/* ---- error answers ---- */

struct refusal {
	char code[64], message[256], endpoint[128];
};

static int take_refusal(void *arg, const char *path, const char *value, struct bpk_err *err)
{
	struct refusal *refusal = arg;

	(void)err;
	if (strcmp(path, "Error/Code") == 0)
		snprintf(refusal->code, sizeof refusal->code, "%s", value);
	else if (strcmp(path, "Error/Message") == 0)
		snprintf(refusal->message, sizeof refusal->message, "%s", value);
	else if (strcmp(path, "Error/Endpoint") == 0)
		snprintf(refusal->endpoint, sizeof refusal->endpoint, "%s", value);
	return 0;
}

/* target: a URL, a host, or a path of the same host */
static void explain_redirect(const char *target, struct bpk_err *err)
{
	const char *host = strstr(target, "://") != NULL ? strstr(target, "://") + 3 : target;
	size_t size = strcspn(host, "/?#");

	bpk_fail(err, BPK_FAILED, "the store redirects to %.*s; name its --region or --endpoint",
		 (int)(size > 0 ? size : strlen("elsewhere")), size > 0 ? host : "elsewhere");
}

enum bpk_s3_meaning bpk_s3_explain(const struct bpk_answer *answer, struct bpk_view body,
				   struct bpk_err *err)
{
	struct refusal refusal = { 0 };

	(void)bpk_xml_scan(body, take_refusal, &refusal, NULL); /* it may be cut, or no XML */
	if (answer->status / 100 == 3) {
		explain_redirect(*refusal.endpoint != '\0' ? refusal.endpoint : answer->location,
				 err);
		return BPK_S3_FAILED;
	}
	if (strcmp(refusal.code, "NoSuchBucket") == 0) {
		bpk_fail(err, BPK_FAILED, "no such bucket");
		return BPK_S3_FAILED;
	}
	bpk_fail(err, BPK_FAILED, "the store answered %u%s%s%s%s%s%s%s", answer->status,
		 *answer->reason != '\0' ? " " : "", answer->reason,
		 *refusal.code != '\0' ? ": " : "", refusal.code,
		 *refusal.message != '\0' ? " (" : "", refusal.message,
		 *refusal.message != '\0' ? ")" : "");
	if (strcmp(refusal.code, "AccessDenied") == 0)
		return BPK_S3_DENIED;
	if (strcmp(refusal.code, "NoSuchKey") == 0 ||
	    (answer->status == 404 && *refusal.code == '\0'))
		return BPK_S3_MISSING;
	return BPK_S3_FAILED;
}
