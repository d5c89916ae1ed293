/*
 * Chunked directories, for the reader alone: how meta files are read, and data files kept open.
 */
#ifndef BPK_FORMAT_CHUNKDIR_META_H
#define BPK_FORMAT_CHUNKDIR_META_H

#include "format/chunkdir/chunkdir.h"

enum { BPK_CHUNKDIR_NUMBERS = 8 * (7 + BPK_ARRAY_MAX_DIMENSIONS) };

/* What the digest of sizes covers: its numbers as bytes, written to out. */
struct bpk_view bpk_chunkdir_sizes_numbers(const struct bpk_chunkdir_sizes *sizes,
					   uint8_t out[BPK_CHUNKDIR_NUMBERS]);

/* BPK_CORRUPT when the crc32 of bytes is another; in fuzz builds it never is. */
int bpk_chunkdir_check_crc(struct bpk_view bytes, uint32_t expected, struct bpk_err *err);

/*
 * Read the file name whole into text (from its start), if it has at most limit bytes. Errors name
 * it. Fails with BPK_CORRUPT (missing, no regular file), BPK_LIMIT, or as the directory fails.
 */
int bpk_chunkdir_read(struct bpk_dir *dir, const char *name, uint64_t limit, struct bpk_buf *text,
		      struct bpk_err *err);

/* The path of name below home ("" or "x/") into path, with a NUL that size counts. */
int bpk_chunkdir_path(const char *home, const char *name, struct bpk_buf *path,
		      struct bpk_err *err);

/* Is text one JSON object, with NaN and its like nowhere but in the member dflt? */
int bpk_chunkdir_check_object(struct bpk_view text, struct bpk_err *err);

/* Make the columns of layout, array, has_columns and is_table. */
int bpk_chunkdir_add_columns(struct bpk_chunkdir *set, struct bpk_err *err);

/* Rows, items, chunks and files from the array's shape, once chunk_rows and superchunk_chunks of
 * all columns are there. Fails with BPK_LIMIT. */
int bpk_chunkdir_count(struct bpk_chunkdir *set, struct bpk_err *err);

/* ---- Data files ---- */

/* One that is open: fixed until it is given back. */
struct bpk_chunkdir_file {
	size_t column;
	uint64_t number;
	char *name; /* from the root */
	struct bpk_source *whole;
	struct bpk_source
		*part; /* of whole: the one chunk that a bcolz file is read for; or NULL */
	uint64_t tail; /* bytes behind that part */
	void *reader;  /* of the Bloscpack reader ops */
	const struct bpk_info *info;
	bool positional;

	unsigned users; /* guarded by the lock of the files */
	uint64_t used;  /* when last, likewise */
	bool kept;      /* stays open among the files; likewise */
};

/* Data files of a dataset that are open, so many at most; any thread may open and close. */
struct bpk_chunkdir_files;

/* dir, set and options are borrowed. NULL with BPK_NO_MEMORY. */
struct bpk_chunkdir_files *bpk_chunkdir_files_new(struct bpk_dir *dir,
						  const struct bpk_chunkdir *set,
						  const struct bpk_read_options *options,
						  struct bpk_err *err);
void bpk_chunkdir_files_free(struct bpk_chunkdir_files *files); /* NULL is harmless */

/* Open superchunk number of a column, or find it open. Where its chunks cannot be found without a
 * walk it is the caller's alone. Errors name the file. */
int bpk_chunkdir_file_open(struct bpk_chunkdir_files *files, size_t column, uint64_t number,
			   struct bpk_chunkdir_file **file, struct bpk_err *err);
void bpk_chunkdir_file_close(struct bpk_chunkdir_files *files, struct bpk_chunkdir_file *file);

/* Fails with BPK_CORRUPT where bytes lie behind its last chunk, but for bcolz's zeros. Errors do not
 * name the file. */
int bpk_chunkdir_file_check_end(const struct bpk_chunkdir_file *file, struct bpk_err *err);

/* Keep none of those that are open now: whoever opens one from here on gets what has its name then.
 * Any thread; files in use stay so until they are given back. */
void bpk_chunkdir_files_drop(struct bpk_chunkdir_files *files);

/* ---- Reader ---- */

struct bpk_chunkdir_reader {
	/* fixed after open */
	struct bpk_dir *dir;
	struct bpk_read_options options;
	struct bpk_chunkdir set;
	struct bpk_chunkdir_carried carried; /* array and metadata, as they were before */
	struct bpk_info info;
	struct bpk_chunkdir_files *files;
	uint64_t generation; /* of the directory, read before all else */
};

/* Fill info and carried from set and files, which are there. */
int bpk_chunkdir_fill_info(struct bpk_chunkdir_reader *reader, struct bpk_err *err);

/* Bring chunk number of a column into parcel (packed, packed_size, raw_size, packed_offset); the
 * checksum of its seal comes out. Errors name file and chunk. Any thread. */
int bpk_chunkdir_bring(const struct bpk_chunkdir_reader *reader, size_t column, uint64_t number,
		       struct bpk_parcel *parcel, const struct bpk_checksum **checksum,
		       struct bpk_err *err);

/* ---- Beside a writer ---- */

/* The state of some files sizes and then of text, one more; it begins as 0. */
uint64_t bpk_chunkdir_seen_add(uint64_t seen, struct bpk_view text);

/* BPK_FAILED, "changed while it was read". Returns -1. */
int bpk_chunkdir_fail_changed(struct bpk_err *err);

/*
 * A step of reader failed with *err, which is not NULL. When that is BPK_CORRUPT, and sizes is not
 * what it was at open, *err becomes that of fail_changed. True when the change may have added rows
 * alone: after bpk_chunkdir_files_drop the step can be done again. Any thread.
 */
bool bpk_chunkdir_judge(const struct bpk_chunkdir_reader *reader, struct bpk_err *err);

/* Put the file, and the number that a chunk has there, in front of a report. Returns -1. */
int bpk_chunkdir_subject(const struct bpk_chunkdir *set, const struct bpk_chunkdir_column *column,
			 uint64_t chunk, uint64_t offset, struct bpk_err *err);

#endif
