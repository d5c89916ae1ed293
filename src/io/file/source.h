/* Inside the room io: the members of a source, for the files that implement its kinds. */
#ifndef BPK_IO_FILE_SOURCE_H
#define BPK_IO_FILE_SOURCE_H

#include <stdatomic.h>

#include "io/io.h"

struct bpk_source_shared;

enum bpk_source_nature {
	BPK_SOURCE_MEMORY,
	BPK_SOURCE_SEEKABLE, /* a file, or ops that are positional */
	BPK_SOURCE_STREAM,
};

/* Sources made of other sources pass holds on to them through these calls. */
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
	bool is_draft; /* opened by a name that a commit of bpk is about to change */
	const struct bpk_source_ops *ops;     /* NULL for files and memory */
	const struct bpk_source_holds *holds; /* of ops; NULL: there is nothing to hold */
	void *arg;                            /* for both */
	bool expects;                         /* a stream ends after this many bytes: */
	uint64_t expected;
	struct bpk_source_shared *shared; /* NULL unless bpk may change the file meanwhile */

	struct bpk_buf head; /* of a file: bpk_source_keep_head */

	/* BPK_UNKNOWN for most streams. For a shared source any thread updates it after commits. */
	_Atomic uint64_t size;

	/* the cursor: one thread's at a time */
	uint64_t tell;
	struct bpk_buf ahead; /* the bytes of the last peek; of a stream, all bytes read ahead */
	size_t ahead_used;    /* of a stream: the number that the cursor has passed */
	bool ended;           /* a stream's end was seen; a terminal would offer more */
};

/* A source over the regular file fd, from its beginning; takes fd, also on failure. */
int bpk_source_of_descriptor(int fd, struct bpk_source **source, struct bpk_err *err);

/* The same, if fd is a regular file; fails with BPK_CORRUPT otherwise. */
int bpk_source_of_regular(int fd, struct bpk_source **source, struct bpk_err *err);

/* Move the cursor of a file over the hole at its position, to data or the end. Returns the number
 * of zeros passed, 0 when no hole is known. */
uint64_t bpk_source_skip_hole(struct bpk_source *source);

/*
 * Make reads of a regular file that was opened from path obey its locks and its journal. A source
 * whose path no longer exists stays plain. Returns 1, and the source stays plain, if another file
 * has taken the name meanwhile. Fails as bpk_source_hold does.
 */
int bpk_source_share(struct bpk_source *source, const char *path, struct bpk_err *err);

/* Implementations for a source with shared set. */
int bpk_source_shared_hold(struct bpk_source *source, struct bpk_err *err);
void bpk_source_shared_release(struct bpk_source *source);
unsigned bpk_source_shared_glance(struct bpk_source *source);
bool bpk_source_shared_is_still(struct bpk_source *source, unsigned state);
bool bpk_source_shared_in_change(const struct bpk_source *source);
bool bpk_source_shared_pending(const struct bpk_source *source);
bool bpk_source_shared_keeps(const struct bpk_source *source, const struct timespec *time);
bool bpk_source_shared_saved(const struct bpk_source *source, uint64_t offset, uint64_t size);
bool bpk_source_shared_is_plain(const struct bpk_source *source); /* no journal is read through */
const char *bpk_source_shared_remark(const struct bpk_source *source);
int bpk_source_shared_read_at(const struct bpk_source *source, uint64_t offset, struct bpk_span out,
			      size_t *got, struct bpk_err *err);
void bpk_source_shared_free(struct bpk_source_shared *shared); /* NULL is harmless */

#endif
