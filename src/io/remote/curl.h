/* Inside the room io: the calls of libcurl, which is loaded when the first URL is opened. Called by
 * request.c and exchange.c. */
#ifndef BPK_IO_REMOTE_CURL_H
#define BPK_IO_REMOTE_CURL_H

/* the checks of option types are macros, which cannot take a loaded function */
#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>

#include "base/base.h"

#define BPK_CURL_CALLS(X)                                                                          \
	X(curl_easy_cleanup)                                                                       \
	X(curl_easy_getinfo)                                                                       \
	X(curl_easy_init)                                                                          \
	X(curl_easy_reset)                                                                         \
	X(curl_easy_setopt)                                                                        \
	X(curl_easy_strerror)                                                                      \
	X(curl_global_init)                                                                        \
	X(curl_multi_add_handle)                                                                   \
	X(curl_multi_info_read)                                                                    \
	X(curl_multi_init)                                                                         \
	X(curl_multi_perform)                                                                      \
	X(curl_multi_poll)                                                                         \
	X(curl_multi_remove_handle)                                                                \
	X(curl_multi_setopt)                                                                       \
	X(curl_multi_wakeup)                                                                       \
	X(curl_slist_append)                                                                       \
	X(curl_slist_free_all)                                                                     \
	X(curl_version_info)

struct bpk_curl_calls {
	BPK_CURL_CALLS(BPK_LIBRARY_CALL)
};

/* The calls, loaded and initialized; NULL on failure, BPK_FAILED. Any thread. */
const struct bpk_curl_calls *bpk_curl(struct bpk_err *err);

#endif
