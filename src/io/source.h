/*
 * Inside the room io: what a source is made of, for the files that make the kinds of it.
 */
#ifndef BPK_IO_SOURCE_H
#define BPK_IO_SOURCE_H

#include <stdatomic.h>

#include "io/io.h"

struct bpk_shared;

enum bpk_source_nature {
	BPK_SOURCE_MEMORY,
	BPK_SOURCE_SEEKABLE, /* a file, or ops that are positional */
	BPK_SOURCE_STREAM,
};

/* What sources made of others pass on to them. */
struct bpk_source_holds {
	int (*hold)(void *arg, struct bpk_err *err);
	void (*release)(void *arg);
	bool (*in_change)(void *arg);
	bool (*pending)(void *arg);
};

struct bpk_source {
	/* fixed after open */
	enum bpk_source_nature nature;
	int fd; /* -1 for memory and ops */
	bool is_stdin;
	struct bpk_view memory;
	uint64_t start; /* where offset 0 lies in the file, or in the stream */
	struct stat stat;
	const struct bpk_source_ops *ops;     /* NULL for files and memory */
	const struct bpk_source_holds *holds; /* of ops; NULL: there is nothing to hold */
	void *arg;                            /* for both */
	struct bpk_shared *shared; /* NULL but for files that writers of ours may change */

	/* BPK_UNKNOWN for most streams; of a shared one it follows the commits, by any thread */
	_Atomic uint64_t size;

	/* the cursor: one thread's at a time */
	uint64_t tell;
	struct bpk_buf ahead; /* what peek returned; of a stream, bytes that were read already */
	size_t ahead_used;    /* of a stream: how many of them the cursor has passed */
	bool ended;           /* a stream's end was seen; a terminal would offer more */
};

/* The regular file fd, from its beginning; takes fd, also when it fails. */
int bpk_source_of_descriptor(int fd, struct bpk_source **source, struct bpk_err *err);

/* size bytes from offset of a seekable file, or of memory, as a source of their own: unlike a slice
 * it outlives the whole, and knows when the file has changed. Fails with BPK_CORRUPT when they are
 * not all there. */
int bpk_source_part(const struct bpk_source *whole, uint64_t offset, uint64_t size,
		    struct bpk_source **part, struct bpk_err *err);

/* Move the cursor of a file over the hole that it stands in, to data or the end. Returns the number
 * of zeros passed, 0 where no hole is known. */
uint64_t bpk_source_skip_hole(struct bpk_source *source);

/* Let reads of a regular file that was opened from path go by its locks and its journal. Where the
 * path cannot be found any more it stays as it was. Fails as bpk_source_hold does. 1: it stays as
 * it was, because another file has got the name meanwhile. */
int bpk_source_share(struct bpk_source *source, const char *path, struct bpk_err *err);

/* What bpk_source_share added. */
int bpk_shared_hold(struct bpk_source *source, struct bpk_err *err);
void bpk_shared_release(struct bpk_source *source);
bool bpk_shared_in_change(const struct bpk_source *source);
bool bpk_shared_pending(const struct bpk_source *source);
const char *bpk_shared_remark(const struct bpk_source *source);
int bpk_shared_read_at(const struct bpk_source *source, uint64_t offset, struct bpk_span out,
		       size_t *got, struct bpk_err *err);
void bpk_shared_free(struct bpk_shared *shared); /* NULL is harmless */

#endif
