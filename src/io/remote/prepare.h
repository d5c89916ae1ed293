/* What libcurl is told of a request, before it is sent. Called by request.c. */
#ifndef BPK_IO_REMOTE_PREPARE_H
#define BPK_IO_REMOTE_PREPARE_H

#include "io/remote/curl.h"
#include "io/remote/request.h"

/* Set all options of request->handle, and request->fields, which the caller frees in any case.
 * Fails where libcurl refuses an option. */
int bpk_prepare(const struct bpk_curl_calls *curl, struct bpk_request *request,
		const struct bpk_remote_options *options);

#endif
