/*
 * The files of a directory as one run of bytes, which parity covers: each has an extent of it, and
 * extents follow each other. An extent may be larger than its file, or have none, after a change of
 * the directory; the bytes behind a file's end are zeros. A part of the room's door.
 */
#ifndef BPK_PARITY_FILES_H
#define BPK_PARITY_FILES_H

#include "io/io.h"

struct bpk_parity_file {
	char *name; /* NULL: no file has the extent now */
	uint64_t start, room, size;
	struct timespec time; /* of the last change */
};

/* Caller storage, valid when zeroed; for bpk_parity_files_clear. */
struct bpk_parity_files {
	struct bpk_parity_file *files;
	size_t count, allocated;
	uint64_t size; /* of all extents */
};

void bpk_parity_files_clear(struct bpk_parity_files *files);

/* List the files of a directory that owns accepts, by name, each in an extent of its size. Fails
 * with BPK_FAILED. */
int bpk_parity_files_list(struct bpk_dir *dir, bool (*owns)(const char *name),
			  struct bpk_parity_files *files, struct bpk_err *err);

/* The file of that name in a list made by bpk_parity_files_list or _sort, or NULL. */
const struct bpk_parity_file *bpk_parity_files_find(const struct bpk_parity_files *files,
						    const char *name);

/* The files of any list that have an extent, by name, for bpk_parity_files_find. Names are
 * borrowed: release it by free(sorted->files), also after a failure, which is BPK_NO_MEMORY. */
int bpk_parity_files_sort(const struct bpk_parity_files *files, struct bpk_parity_files *sorted,
			  struct bpk_err *err);

/* The differences of a list from the present one, which bpk_parity_files_list made. */
struct bpk_parity_drift {
	uint64_t missing, resized, newer; /* newer: of another time */
	uint64_t grown, grown_size;       /* of the same time, and longer than it was; bytes */
	uint64_t tails;                   /* of these: of exactly that time, no whole second */
	uint64_t cut;                     /* of the same time in whole seconds */
	uint64_t added;
	uint64_t later; /* than all files were */
};

struct bpk_parity_drift bpk_parity_files_drift(const struct bpk_parity_files *then,
					       const struct bpk_parity_files *now);
bool bpk_parity_files_same(const struct bpk_parity_files *then, const struct bpk_parity_files *now);

/* Fail with BPK_FAILED, "changed while it was read", if the files of dir are not those of a list
 * that bpk_parity_files_list made. */
int bpk_parity_files_unchanged(struct bpk_dir *dir, bool (*owns)(const char *name),
			       const struct bpk_parity_files *listed, struct bpk_err *err);

/* The time of the file that was changed last. */
struct timespec bpk_parity_files_last(const struct bpk_parity_files *files);

struct bpk_parity_range;

/*
 * The list of the present files, with the extents of the old one: files that fit keep theirs, new
 * ones get one that is free, or one behind the others. *written: the extents whose bytes differ or
 * may differ, in a new array of *count, for free().
 */
int bpk_parity_files_follow(const struct bpk_parity_files *old, const struct bpk_parity_files *now,
			    struct bpk_parity_files *next, struct bpk_parity_range **written,
			    size_t *count, struct bpk_err *err);

/*
 * The bytes of all extents as a source. dir and files are borrowed. Bytes that are missing or
 * cannot be read are zeros with lenient; without it, a file that is not as it was listed fails with
 * BPK_FAILED. One thread reads.
 */
int bpk_parity_files_source(struct bpk_dir *dir, const struct bpk_parity_files *files, bool lenient,
			    struct bpk_source **source, struct bpk_err *err);

/* The list as bytes, and back. Fails with BPK_CORRUPT: names twice, sizes that are too large. */
int bpk_parity_files_put(const struct bpk_parity_files *files, struct bpk_buf *bytes,
			 struct bpk_err *err);
int bpk_parity_files_get(struct bpk_view bytes, struct bpk_parity_files *files,
			 struct bpk_err *err);

/* True if a file of which time then was noted has that time, which tools that copy may have cut to
 * whole seconds. */
bool bpk_parity_time_is(struct timespec then, struct timespec now);

/* True if now is later than that. */
bool bpk_parity_time_passed(struct timespec then, struct timespec now);

#endif
