/*
 * The answer to one request: libcurl's callbacks, and the verdict at the end. Called by request.c's
 * driver and named by prepare.c, for one request at a time.
 */
#ifndef BPK_IO_REMOTE_EXCHANGE_H
#define BPK_IO_REMOTE_EXCHANGE_H

#include "io/remote/curl.h"
#include "io/remote/joint.h"
#include "io/remote/request.h"

/* Callbacks of libcurl for a line of the head and for a piece of the body; arg is the request. They
 * return the bytes taken, or 0 to end the transfer. */
size_t bpk_exchange_head(char *line, size_t one, size_t size, void *arg);
size_t bpk_exchange_body(char *bytes, size_t one, size_t size, void *arg);

/* Callbacks of libcurl for the next bytes of the body that is sent, and to send it once more. */
size_t bpk_exchange_send(char *to, size_t one, size_t size, void *arg);
int bpk_exchange_rewind(void *arg, curl_off_t offset, int origin);

/* Set the outcome of a transfer that ended with code. Returns true if the request may be tried
 * again; err then says why it failed this time. */
bool bpk_exchange_judge(struct bpk_request *request, const struct bpk_curl_calls *curl,
			CURLcode code);

/* The same of the carrier of a joint request, which has no outcome itself; its err says why it
 * failed. */
enum bpk_joint_end bpk_exchange_judge_joint(struct bpk_request *carrier,
					    const struct bpk_curl_calls *curl, CURLcode code);

#endif
