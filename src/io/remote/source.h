/* Inside the room io: URLs as sources. Called by remote.c and tree.c. */
#ifndef BPK_IO_REMOTE_SOURCE_H
#define BPK_IO_REMOTE_SOURCE_H

#include "io/remote/request.h"

/*
 * Open url, which is taken, also on failure; size: of the file, 0 where it is not known. Fails as
 * bpk_remote_open; *outcome is that of the request.
 */
int bpk_remote_source(struct bpk_url *url, uint64_t size, struct bpk_source **source,
		      enum bpk_outcome *outcome, struct bpk_err *err);

#endif
