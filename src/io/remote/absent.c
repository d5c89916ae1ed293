/* The calls of io/remote.h in a bpk that was built without libcurl. */
#include "io/remote.h"

void bpk_remote_set(const struct bpk_remote_options *options)
{
	(void)options;
}

int bpk_remote_open(const char *url, struct bpk_source **source, struct bpk_err *err)
{
	(void)url;
	*source = NULL;
	return bpk_fail(err, BPK_UNSUPPORTED, "is a URL, and this bpk was built without libcurl");
}

struct bpk_remote_counts bpk_remote_counted(void)
{
	return (struct bpk_remote_counts){ 0 };
}

const char *bpk_remote_library(void)
{
	return NULL;
}
