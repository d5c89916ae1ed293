/* Loads libcurl. Called by request.c. */
#include "io/remote/curl.h"

#include <pthread.h>

#include "config.h"

#undef curl_easy_getinfo
#undef curl_easy_setopt
#undef curl_multi_setopt

static struct bpk_curl_calls calls = { BPK_CURL_CALLS(CURL_ADDRESS) };
static const char *const names[] = { BPK_CURL_CALLS(BPK_LIBRARY_NAME) NULL };
static struct bpk_library library = BPK_LIBRARY(CURL_SONAME, names, calls);

static pthread_once_t once = PTHREAD_ONCE_INIT;
static CURLcode begun;

static void begin(void)
{
	begun = calls.curl_global_init(CURL_GLOBAL_DEFAULT);
}

const struct bpk_curl_calls *bpk_curl(struct bpk_err *err)
{
	if (bpk_library_need(&library, err) != 0)
		return NULL;
	pthread_once(&once, begin);
	if (begun == CURLE_OK)
		return &calls;
	bpk_fail(err, BPK_FAILED, "libcurl cannot start: %s", calls.curl_easy_strerror(begun));
	return NULL;
}
