/*
 * Inside the room io: what a draft is, for the files that make it.
 */
#ifndef BPK_IO_DRAFT_INNER_H
#define BPK_IO_DRAFT_INNER_H

#include <pthread.h>

#include "io/draft.h"
#include "io/live.h"
#include "io/target.h"

struct bpk_draft {
	/* fixed after open */
	struct bpk_target target;
	bool is_file; /* a draft; else the target itself is written */
	bool seekable;
	bool overwrite, is_locked, sync;
	int fd;                          /* for writing; of a direct target, target.fd */
	int read_fd;                     /* for reading back; the same where it may be read */
	uint64_t start;                  /* where offset 0 lies in the file */
	const struct bpk_draft_ops *ops; /* NULL but for a part of something larger */
	void *owner;                     /* for ops */

	uint64_t tell; /* the writing thread's own */

	pthread_mutex_t end_lock;
	uint64_t end; /* guarded by end_lock: the length that the file must have */
	uint64_t run; /* guarded by end_lock: what was written before it goes to the disk */

	struct bpk_live live; /* of a file */
	char *draft_name;     /* guarded by its lock: in target.folder; NULL while nameless */
};

#endif
