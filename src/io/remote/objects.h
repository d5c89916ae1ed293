/*
 * A directory on its way into a store of S3: each file is an object below the directory's URL, put
 * under a name that must be free. The file that is staged last makes the others an archive: it is
 * put when all of them are stored.
 *
 *     new.c       the tree: a new directory as a draft, or an existing one that is added to
 *     objects.c   the files on their way, the stored ones, and their removal after a failure
 *     upload.h    one file
 *
 * Objects that are removed are known to be of this command, since their conditional PUT succeeded.
 * A removal is sent once: a second one might meet a file that another command has put meanwhile.
 * Where names are shared, another command may have replaced a file that this one put, and taken it
 * into its archive: none is removed.
 * Source: Amazon S3 API, PutObject ("If-None-Match", "If-Match"), DeleteObject.
 *
 * A file is replaced in these steps: its ETag is read; the pivot is replaced by a reservation; the
 * file is replaced if it still has that ETag; the pivot is replaced by the new index, if it is
 * still the reservation. So no other command replaces a file that a committed index was made
 * for: it must have read the file's ETag after the file was put, and reserves after that. If the
 * index is not committed by then, its commit fails; if it is, the other command's reservation
 * fails, unless it has opened the directory since.
 */
#ifndef BPK_IO_REMOTE_OBJECTS_H
#define BPK_IO_REMOTE_OBJECTS_H

#include "io/remote/list.h"
#include "io/remote/upload.h"
#include "io/tree/tree.h"

/* Belongs to the thread that writes, but for the members that a lock guards. Valid when zeroed. */
struct bpk_objects {
	/* fixed after open */
	char *path;         /* as the user wrote it, without a slash behind */
	struct bpk_url url; /* ends with "/" */
	unsigned connections;
	struct bpk_cleanup cleanup;

	bool shares_names; /* another command may put, or replace, a file of the same name */

	char *pivot_tag;         /* of the file that the last one replaces; NULL: none is there */
	struct bpk_upload *last; /* complete, and not sent yet */
	struct bpk_upload *queue[BPK_UPLOAD_SLOTS]; /* on their way, the oldest at first */
	size_t first, count;
	bool has_claim; /* a file is stored, so that the name is ours */

	/* guarded by the cleanup lock */
	struct bpk_upload *open; /* all files that are not stored yet */
	struct bpk_names stored;
	bool is_committing; /* the last file is on its way, or its outcome is unknown */
	bool is_kept;       /* a commit has succeeded, and no file was begun since */
	bool is_cleaning;   /* the thread that writes removes its files; then these are its own */
	bool is_clean;      /* nothing is left to be done, nor for a signal */
};

/* Set path and url, which must name a directory in a bucket. Fails as bpk_remote_open. */
int bpk_objects_open(struct bpk_objects *objects, const char *path, struct bpk_err *err);

/* List some names in the directory, for bpk_listing_clear: none where the store denies it. Fails as
 * bpk_listing_make. */
int bpk_objects_list(const struct bpk_objects *objects, size_t most, struct bpk_listing *listing,
		     struct bpk_err *err);

/* Begin the file name, which replaces the one of that ETag; NULL: there must be none. The draft's
 * drop leaves it to objects. */
int bpk_objects_begin(struct bpk_objects *objects, const char *name, const char *tag,
		      struct bpk_draft **draft, struct bpk_err *err);

/* Replace the pivot by text, which no other command writes, and note its new ETag. Fails with
 * BPK_FAILED if it is another one by now. */
int bpk_objects_reserve(struct bpk_objects *objects, const char *pivot, struct bpk_view text,
			struct bpk_err *err);

/* Send the file staged before, and take this one, which is complete, as the last so far. Takes
 * draft, also on failure, which may be that of an earlier file. */
int bpk_objects_stage(struct bpk_objects *objects, struct bpk_draft *draft, struct bpk_err *err);

/*
 * Wait for all files, then put the last one. On success all are kept. Fails with BPK_FAILED where a
 * name is taken, or the file to be replaced is another one; objects are still to be removed then,
 * by bpk_objects_close, unless the line says that the outcome is uncertain.
 */
int bpk_objects_commit(struct bpk_objects *objects, struct bpk_err *err);

/* Remove files of the directory, in any order; a line says how many may be left. */
void bpk_objects_remove(struct bpk_objects *objects, const struct bpk_names *names);

/* Remove everything that was stored and not kept, and free all members. */
void bpk_objects_close(struct bpk_objects *objects);

#endif
