/* The store of this process, from options, the environment and the user's files; and URLs, which
 * may be in it. Called by remote.c and tree.c. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "io/remote.h"
#include "io/remote/curl.h"
#include "io/remote/request.h"
#include "io/remote/s3.h"

/* Older ones do not sign with the digest of the body that a request names. */
enum { CURL_NEEDED = 0x075700 };

static struct {
	pthread_mutex_t lock;
	bool is_made;
	struct bpk_store store; /* fixed once made */
} process = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* ---- the parts of a store ---- */

static const char *first_of(const char *given, const char *const *variables)
{
	for (; (given == NULL || *given == '\0') && *variables != NULL; variables++)
		given = getenv(*variables);
	return given != NULL && *given != '\0' ? given : NULL;
}

/* The region becomes a part of a host's name. */
static bool is_region(const char *region)
{
	return *region != '\0' && strlen(region) < 64 &&
	       region[strspn(region, "abcdefghijklmnopqrstuvwxyz0123456789-")] == '\0';
}

static int set_endpoint(struct bpk_store *store, struct bpk_err *err)
{
	/* the first is for commands without the option */
	static const char *const variables[] = { "BPK_ENDPOINT", "AWS_ENDPOINT_URL_S3",
						 "AWS_ENDPOINT_URL", NULL };
	const char *given = first_of(bpk_request_options().endpoint, variables);

	if (given == NULL)
		return 0;
	if ((strncmp(given, "http://", 7) != 0 && strncmp(given, "https://", 8) != 0) ||
	    given[strcspn(given, "?#")] != '\0')
		return bpk_fail(err, BPK_USAGE,
				"the endpoint is \"%s\", expected http://HOST or https://HOST",
				given);
	if (bpk_url_check_host(given, err) != 0)
		return bpk_err_subject(err, "the endpoint");
	store->endpoint = bpk_strdup(given, err);
	if (store->endpoint == NULL)
		return -1;
	for (size_t size = strlen(given); store->endpoint[size - 1] == '/'; size--)
		store->endpoint[size - 1] = '\0';
	return 0;
}

static int set_region(struct bpk_store *store, const struct bpk_s3_profile *profile,
		      struct bpk_err *err)
{
	static const char *const variables[] = { "AWS_REGION", "AWS_DEFAULT_REGION", NULL };
	const char *region = first_of(bpk_request_options().region, variables);

	if (region == NULL)
		region = profile->region != NULL ? profile->region : "us-east-1";
	if (!is_region(region))
		return bpk_fail(err, BPK_USAGE, "\"%s\" is no name of a region", region);
	store->region = bpk_strdup(region, err);
	return store->region == NULL ? -1 : 0;
}

/* Take the keys of the environment, which count more than those of files. */
static int take_environment(struct bpk_s3_profile *keys, struct bpk_err *err)
{
	static const char *const id[] = { "AWS_ACCESS_KEY_ID", NULL },
				 *const secret[] = { "AWS_SECRET_ACCESS_KEY", NULL },
				 *const token[] = { "AWS_SESSION_TOKEN", NULL };

	if (first_of(NULL, id) == NULL && first_of(NULL, secret) == NULL)
		return 0;
	if (first_of(NULL, id) == NULL || first_of(NULL, secret) == NULL)
		return bpk_fail(err, BPK_FAILED,
				"of AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY only one is set");
	keys->key_id = bpk_strdup(first_of(NULL, id), err);
	keys->secret = bpk_strdup(first_of(NULL, secret), err);
	if (first_of(NULL, token) != NULL)
		keys->token = bpk_strdup(first_of(NULL, token), err);
	return keys->key_id == NULL || keys->secret == NULL ||
			       (first_of(NULL, token) != NULL && keys->token == NULL)
		       ? -1
		       : 0;
}

static bool is_printable(const char *text)
{
	for (; *text > ' ' && *text < 0x7f; text++)
		;
	return *text == '\0';
}

static int set_keys(struct bpk_store *store, struct bpk_s3_profile *keys, struct bpk_err *err)
{
	if (keys->key_id == NULL)
		return 0;
	if (keys->secret == NULL)
		return bpk_fail(err, BPK_FAILED, "an aws_access_key_id without its secret");
	if (!is_printable(keys->key_id) || !is_printable(keys->secret) ||
	    (keys->token != NULL && !is_printable(keys->token)))
		return bpk_fail(err, BPK_FAILED,
				"the keys of the store hold blanks or control bytes");
	if (keys->token != NULL &&
	    asprintf(&store->token_field, "x-amz-security-token: %s", keys->token) < 0) {
		store->token_field = NULL;
		return bpk_fail_memory(err, strlen(keys->token));
	}
	if (asprintf(&store->signer, "aws:amz:%s:s3", store->region) < 0) {
		store->signer = NULL;
		return bpk_fail_memory(err, strlen(store->region));
	}
	store->key_id = keys->key_id;
	store->secret = keys->secret;
	keys->key_id = keys->secret = NULL;
	return 0;
}

static int check_library(struct bpk_err *err)
{
	const struct bpk_curl_calls *curl = bpk_curl(err);

	if (curl == NULL)
		return -1;
	if (curl->curl_version_info(CURLVERSION_NOW)->version_num < CURL_NEEDED ||
	    LIBCURL_VERSION_NUM < CURL_NEEDED)
		return bpk_fail(err, BPK_UNSUPPORTED,
				"a store of S3 needs libcurl 7.87 or later, here is %s",
				curl->curl_version_info(CURLVERSION_NOW)->version);
	return 0;
}

static void clear_store(struct bpk_store *store)
{
	free(store->endpoint);
	free(store->region);
	free(store->signer);
	free(store->key_id);
	free(store->secret);
	free(store->token_field);
	*store = (struct bpk_store){ 0 };
}

/* With the lock. */
static int make_store(struct bpk_store *store, struct bpk_err *err)
{
	struct bpk_s3_profile keys = { 0 }, files = { 0 };
	int rc = -1;

	if (check_library(err) != 0 || take_environment(&keys, err) != 0)
		goto out;
	/* the files tell the region, too */
	if (bpk_s3_profile_load(&files, keys.key_id != NULL ? NULL : err) != 0 &&
	    keys.key_id == NULL)
		goto out;
	if (set_endpoint(store, err) == 0 && set_region(store, &files, err) == 0)
		rc = set_keys(store, keys.key_id != NULL ? &keys : &files, err);
out:
	bpk_s3_profile_clear(&keys);
	bpk_s3_profile_clear(&files);
	if (rc != 0)
		clear_store(store);
	return rc;
}

/* ---- URLs ---- */

static int make_s3(const char *path, struct bpk_url *url, struct bpk_err *err)
{
	bool is_made;

	pthread_mutex_lock(&process.lock);
	if (!process.is_made)
		process.is_made = make_store(&process.store, err) == 0;
	is_made = process.is_made;
	pthread_mutex_unlock(&process.lock);
	return is_made ? bpk_s3_url_of(&process.store, path, url, err) : -1;
}

int bpk_url_make(const char *path, struct bpk_url *url, struct bpk_err *err)
{
	*url = (struct bpk_url){ 0 };
	if (bpk_path_is_s3(path))
		return make_s3(path, url, err);
	if (bpk_url_check_host(path, err) != 0)
		return -1;
	url->text = bpk_strdup(path, err);
	return url->text == NULL ? -1 : 0;
}
