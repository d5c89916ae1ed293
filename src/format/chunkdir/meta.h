/*
 * Chunked directories, inside the room: reading meta files, and the cache of open data files.
 */
#ifndef BPK_FORMAT_CHUNKDIR_META_H
#define BPK_FORMAT_CHUNKDIR_META_H

#include "format/chunkdir/chunkdir.h"
#include "format/digest_number.h"

/* Bytes that the digest of sizes covers, at most. */
enum { BPK_CHUNKDIR_NUMBERS = 8 * (7 + BPK_ARRAY_MAX_DIMENSIONS) };

/* The bytes that the digest of sizes covers: its numbers, written to out. */
struct bpk_view bpk_chunkdir_sizes_numbers(const struct bpk_chunkdir_sizes *sizes,
					   uint8_t out[BPK_CHUNKDIR_NUMBERS]);

/* Fails with BPK_CORRUPT if the crc32 of bytes differs; in fuzz builds it never does. */
int bpk_chunkdir_check_crc(struct bpk_view bytes, uint32_t expected, struct bpk_err *err);

/*
 * Read the whole file name into text, if it has at most limit bytes. Errors name it. Fails with
 * BPK_CORRUPT (missing, not a regular file), BPK_LIMIT, or an error of the directory.
 */
int bpk_chunkdir_read(struct bpk_dir *dir, const char *name, uint64_t limit, struct bpk_buf *text,
		      struct bpk_err *err);

/* Set path to name below home ("" or "x/"), with a NUL that size counts. */
int bpk_chunkdir_path(const char *home, const char *name, struct bpk_buf *path,
		      struct bpk_err *err);

/* A text without white space at its ends. */
struct bpk_view bpk_chunkdir_trimmed(struct bpk_view text);

/* Test that text is one JSON object, with NaN and the like only in the member dflt. */
int bpk_chunkdir_check_object(struct bpk_view text, struct bpk_err *err);

/* Make the columns of set from its layout, array, has_columns and is_table. */
int bpk_chunkdir_add_columns(struct bpk_chunkdir *set, struct bpk_err *err);

/* Compute rows, items, chunks and files from the array's shape. chunk_rows and superchunk_chunks of
 * all columns must be set. Fails with BPK_LIMIT. */
int bpk_chunkdir_count(struct bpk_chunkdir *set, struct bpk_err *err);

/* ---- Data files ---- */

/* An open data file. Fixed until it is closed. */
struct bpk_chunkdir_file {
	size_t column;
	uint64_t number;
	char *name; /* from the root */
	struct bpk_source *whole;
	/* Of whole: the one chunk of a bcolz file; or NULL. */
	struct bpk_source *part;
	uint64_t tail; /* bytes after that part */
	void *reader;  /* of the Bloscpack reader ops */
	const struct bpk_info *info;
	bool positional;

	unsigned users; /* guarded by the lock of the files */
	uint64_t used;  /* time of the last use; guarded as well */
	bool kept;      /* it stays open in the cache; guarded as well */
};

/* A cache of a dataset's open data files, of limited size; any thread may open and close. */
struct bpk_chunkdir_files;

/* dir, set and moment, before which files belong to the set, are borrowed; options is copied. NULL
 * with BPK_NO_MEMORY. */
struct bpk_chunkdir_files *bpk_chunkdir_files_new(struct bpk_dir *dir,
						  const struct bpk_chunkdir *set,
						  const struct bpk_dir_moment *moment,
						  const struct bpk_read_options *options,
						  struct bpk_err *err);
void bpk_chunkdir_files_free(struct bpk_chunkdir_files *files); /* accepts NULL */

/* Open superchunk number of a column, or find it in the cache. If its chunks cannot be found
 * without a walk, the file is the caller's alone. Errors name the file. */
int bpk_chunkdir_file_open(struct bpk_chunkdir_files *files, size_t column, uint64_t number,
			   struct bpk_chunkdir_file **file, struct bpk_err *err);
void bpk_chunkdir_file_close(struct bpk_chunkdir_files *files, struct bpk_chunkdir_file *file);

/* Fails with BPK_CORRUPT if bytes follow the last chunk, except bcolz's zeros. Errors do not name
 * the file. */
int bpk_chunkdir_file_check_end(const struct bpk_chunkdir_file *file, struct bpk_err *err);

/* Empty the cache: later opens get the files that have these names then. Any thread; files in use
 * stay valid until they are closed. */
void bpk_chunkdir_files_drop(struct bpk_chunkdir_files *files);

/*
 * Fails with BPK_FAILED, "changed while it was read", when another program has written to a file
 * while it was open, or to files that were opened later than the set was read. sizes is the first
 * file of that name, as the set was read from. Appends of bpk are no change: they replace sizes and
 * the last file of each column. No other thread opens files meanwhile.
 */
int bpk_chunkdir_files_settle(struct bpk_chunkdir_files *files, struct bpk_source *sizes,
			      const char *sizes_name, struct bpk_err *err);

/* ---- Reader ---- */

struct bpk_chunkdir_reader {
	/* fixed after open */
	struct bpk_dir *dir;
	struct bpk_read_options options;
	struct bpk_chunkdir set;
	struct bpk_chunkdir_attributes described; /* array and metadata, restored */
	struct bpk_info info;
	struct bpk_chunkdir_files *files;
	uint64_t generation;          /* of the directory, read first */
	struct bpk_dir_moment moment; /* before the meta files were read */
	struct bpk_source *sizes;     /* the first file of that name, open since; NULL: fixed */
	char *sizes_name;
	struct bpk_seal_leaves *leaves; /* of parcels that were checked; NULL: not wanted */
	struct bpk_seal_proof
		*proof; /* of parcels that may be fetched; NULL: of none, and all may */
};

/* Set info and described from set and files. */
int bpk_chunkdir_fill_info(struct bpk_chunkdir_reader *reader, struct bpk_err *err);

/* Fetch a chunk of a column into parcel (packed, packed_size, raw_size, packed_offset), and return
 * the checksum of its seal. Errors name file and chunk. Any thread. */
int bpk_chunkdir_bring(const struct bpk_chunkdir_reader *reader, size_t column, uint64_t number,
		       struct bpk_parcel *parcel, const struct bpk_checksum **checksum,
		       struct bpk_err *err);

/* ---- While a writer is active ---- */

/* Combine seen, the state of some files sizes, with the text of one more; the first seen is 0. */
uint64_t bpk_chunkdir_concurrent_add(uint64_t seen, struct bpk_view text);

/*
 * A step of reader failed with *err, which is not NULL. If that is BPK_CORRUPT, and sizes differs
 * from its state at open, *err becomes that of bpk_fail_changed. True if the change may only have
 * added rows: the step can be repeated after bpk_chunkdir_files_drop. Any thread.
 */
bool bpk_chunkdir_concurrent_judge(const struct bpk_chunkdir_reader *reader, struct bpk_err *err);

/* The checksum of the file from which a parcel of an array was fetched. */
static inline const struct bpk_checksum *bpk_chunkdir_checksum_of(const struct bpk_parcel *parcel)
{
	return bpk_checksum_of_number(parcel->packed.data[parcel->packed.size - 1]);
}

/* Prepend file, chunk position in it, and offset to a report. Returns -1. */
int bpk_chunkdir_subject(const struct bpk_chunkdir *set, const struct bpk_chunkdir_column *column,
			 uint64_t chunk, uint64_t offset, struct bpk_err *err);

#endif
