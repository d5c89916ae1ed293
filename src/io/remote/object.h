/*
 * The bytes of a remote file: a few parts in memory, each fetched by one request. Called by
 * remote.c.
 */
#ifndef BPK_IO_REMOTE_OBJECT_H
#define BPK_IO_REMOTE_OBJECT_H

#include "io/remote/request.h"

struct bpk_object;

/*
 * Fetch the first bytes of url: size, or a few if that is 0, or more than one request brings. With
 * *object set, url is taken, and zeroed. *object is NULL, and *outcome BPK_OUTCOME_WHOLE, if the
 * server does not send ranges: the caller downloads the file. Fails as bpk_remote_open; *outcome is
 * that of the request.
 */
int bpk_object_open(struct bpk_url *url, uint64_t size, struct bpk_object **object,
		    enum bpk_outcome *outcome, struct bpk_err *err);

/* Bytes of the whole file. */
uint64_t bpk_object_size(const struct bpk_object *object);

/* As bpk_source_read_at; any thread. arg is the object. */
int bpk_object_read_at(void *arg, uint64_t offset, struct bpk_span out, size_t *got,
		       struct bpk_err *err);

/* As bpk_source_ahead. At most as many bytes as may be under way at a time are fetched. */
void bpk_object_ahead(void *arg, uint64_t offset, uint64_t size);

/* One more user, who closes it, too. Returns arg. */
void *bpk_object_share(void *arg);

/* Frees the object once its last user closes it, and its requests have ended. */
void bpk_object_close(void *arg);

#endif
