/*
 * Blocks of remote files that are kept on disk from run to run, in the folder that the user names
 * (bpk_remote_options.cache). Called by object.c, parts.c and remote.c.
 *
 * It never makes a read fail: whatever is missing, damaged or of another version is fetched. A
 * folder that cannot be written to is reported once. Only files with a strong ETag are kept.
 */
#ifndef BPK_IO_REMOTE_CACHE_H
#define BPK_IO_REMOTE_CACHE_H

#include "io/remote/answer.h"
#include "io/remote/url.h"

/* The kept blocks of a remote file. Any thread. */
struct bpk_cached;

/*
 * Look up a URL. *known is the answer that brought the version that is kept; its status is 0 if
 * there is none. NULL: there is no cache, or no memory.
 */
struct bpk_cached *bpk_cached_open(const struct bpk_url *url, struct bpk_answer *known);

/* NULL is harmless in all that follows. */
void bpk_cached_close(struct bpk_cached *cached);

/* Set the version that is read and kept from now on: that of an answer. Once, before the calls
 * below. */
void bpk_cached_set(struct bpk_cached *cached, const struct bpk_answer *answer);

/* True if the block that begins at offset is probably there. */
bool bpk_cached_has(struct bpk_cached *cached, uint64_t offset);

/* Read whole blocks at offset, where one begins; the last one may end the file. Returns the bytes
 * read, which end at the first block that is not there. */
size_t bpk_cached_read(struct bpk_cached *cached, uint64_t offset, struct bpk_span out);

/* Keep whole blocks, as for reads. */
void bpk_cached_write(struct bpk_cached *cached, uint64_t offset, struct bpk_view bytes);

/* Bytes that all reads returned. */
uint64_t bpk_cached_bytes(void);

#endif
