/* Inside the room io: the members of a draft, for draft.c and draft_keep.c. */
#ifndef BPK_IO_FILE_DRAFT_INNER_H
#define BPK_IO_FILE_DRAFT_INNER_H

#include <pthread.h>

#include "io/file/draft.h"
#include "io/cleanup.h"
#include "io/file/target.h"

struct bpk_draft {
	/* fixed after open */
	struct bpk_target target;
	bool is_file; /* a draft; otherwise the target itself is written */
	bool seekable;
	bool overwrite, sync;
	bool is_named;  /* never nameless */
	bool is_shadow; /* fd is -1 until it joins */
	int replaces;   /* an open file whose name it takes; -1: of any */
	bool compares;  /* replaces a file only if that is still as in seen */
	struct stat seen;
	int fd;                          /* for writing; target.fd for a direct target */
	int folder;                      /* of a directory: the shadow's own, or borrowed; -1 */
	int read_fd;                     /* for reading back; fd if that can be read */
	int heir_of;                     /* the input whose attributes it gets; -1: none */
	bool *is_lost;                   /* borrowed: set if some cannot be kept */
	uint64_t start;                  /* where offset 0 lies in the file */
	const struct bpk_draft_ops *ops; /* NULL unless made by bpk_draft_of_ops */
	void *owner;                     /* for ops */

	uint64_t tell; /* belongs to the writing thread, as the next two do */
	struct bpk_withholding own;
	struct bpk_withholding *withholding; /* &own, or that of the directory. Borrowed */

	bool has_time; /* belongs to the writing thread, too */
	struct timespec time;

	pthread_mutex_t write_lock; /* of writes at offsets */
	pthread_mutex_t end_lock;
	uint64_t end; /* guarded by end_lock: the length that the file must have */
	uint64_t run; /* guarded by end_lock: bytes up to here were sent to the disk */

	struct bpk_cleanup cleanup; /* of a file */
	char *draft_name; /* guarded by the cleanup lock: in target.folder; NULL while nameless */
};

/* Copy the attributes of users (user.NAME, xattr(7)). False if some could not be copied though the
 * file system of the copy has attributes. */
bool bpk_draft_copy_attributes(int from, int to);

#endif
