/*
 * Chunked directories, inside the room: what meta files, layouts, reader, writer and editor share.
 * Every format fact comes from the chunked directory layouts, whose sections are named at each.
 *
 *      Blaze            data/__1__.bin ...           columns: data/x/__1__.bin, data/y/z/__1__.bin
 *                       meta/sizes storage attributes
 *      bcolz, BLZ       data/__0.blp ...             tables: __rootdirs__, and each column such an
 *                       meta/sizes storage, __attrs__        array of its own, below x/, y/
 *
 * A dataset is rows; a row is items (the product of the inner dimensions); an item is what the
 * dtype says. A record is kept as columns, one for each leaf of its dtype. Column or not, data
 * files are superchunks: Bloscpack files, each with superchunk_chunks chunks but the last.
 */
#ifndef BPK_FORMAT_CHUNKDIR_H
#define BPK_FORMAT_CHUNKDIR_H

#include "format/format.h"

/* "Validation checklist" */
enum {
	BPK_CHUNKDIR_MAX_JSON = 1 << 20,        /* bytes of sizes, storage and __rootdirs__ */
	BPK_CHUNKDIR_MAX_ATTRIBUTES = 16 << 20, /* of attributes */
	BPK_CHUNKDIR_OWN_ATTRIBUTES = 1 << 10,  /* of them, what "numpy" and our key may take */
	BPK_CHUNKDIR_MAX_COLUMNS = BPK_DTYPE_MAX_FIELDS,
	BPK_CHUNKDIR_MAX_DEPTH = BPK_DTYPE_MAX_DEPTH,
	BPK_CHUNKDIR_MAX_SPAN = 2147483631, /* raw bytes of a chunk */
};

/* What the names of files and the keys of storage are like. */
enum bpk_chunkdir_layout {
	BPK_CHUNKDIR_BLAZE,
	BPK_CHUNKDIR_BCOLZ,
	BPK_CHUNKDIR_BLZ, /* bcolz's forerunner; read only */
};

/* "Blaze", "bcolz", "BLZ"; and as --layout has it: "blaze", "bcolz". */
const char *bpk_chunkdir_variant(enum bpk_chunkdir_layout layout);

/* ---- Meta files ---- */

/*
 * Digests of our own, in the member "bpk" of sizes, which other readers pass over, and which is
 * gone when another writer has written sizes anew. They tell what the digests of chunks cannot:
 * that chunks or files were swapped, are of another state of the dataset, or that a bit of a meta
 * file was turned. They lie in the file whose rename is the commit, and are kept current by adding
 * and subtracting the shares of those chunks alone that change:
 *
 *      "bpk": {"data": "0123456789abcdef", "last": "0123456789abcdef", "storage": "01234567",
 *              "attributes": "01234567", "sizes": "01234567"}
 *
 * data is the sum (of 64 bits, wrapping) of the shares of all full chunks that rows reach, over all
 * columns that this sizes speaks of; last the same of the chunks that rows fill in part, which an
 * append packs anew before it commits: it is not compared where such a chunk holds more rows.
 * storage and attributes are the crc32 of these files, byte for byte; the latter is left out where
 * other programs write that file (bcolz). sizes covers the numbers of the file itself. Hexadecimal
 * digits, lower case.
 */
struct bpk_chunkdir_digests {
	bool given; /* the member is there */
	uint64_t data;
	uint64_t last;
	uint32_t storage;
	bool has_attributes;
	uint32_t attributes;
};

/*
 * What one chunk adds to data or last. number is its own in its column; column counts those that
 * the sizes at hand speaks of (in a bcolz table: 0). chunk is the whole chunk; seal its digest,
 * size 0 when it has none: then all of its bytes count, else its header and digest alone, so that
 * nothing else must be read.
 */
uint64_t bpk_chunkdir_share(size_t column, uint64_t number, struct bpk_view chunk,
			    struct bpk_view seal);

/* The crc32 of a meta file. */
uint32_t bpk_chunkdir_crc(struct bpk_view text);

/* The file sizes ("meta files"). Caller storage, valid when zeroed; plain values. */
struct bpk_chunkdir_sizes {
	size_t ndimensions; /* at least 1 */
	uint64_t shape[BPK_ARRAY_MAX_DIMENSIONS];
	uint64_t nbytes; /* BPK_UNKNOWN: not said */
	uint64_t cbytes; /* the same; bcolz's number means nothing */
	bool by_bpk;     /* it has digests of bpk's, whether they are to be tested or not */
	struct bpk_chunkdir_digests digests;
};

/* Fails with BPK_CORRUPT or BPK_LIMIT; the digest of sizes itself is tested unless no_check. */
int bpk_chunkdir_sizes_parse(struct bpk_view text, bool no_check, struct bpk_chunkdir_sizes *sizes,
			     struct bpk_err *err);

/* Append the whole file, strict JSON and a newline. nbytes and cbytes are known. */
int bpk_chunkdir_sizes_print(const struct bpk_chunkdir_sizes *sizes, struct bpk_buf *out,
			     struct bpk_err *err);

/* The file storage. Owns dtype; for bpk_chunkdir_storage_clear. Valid when zeroed. */
struct bpk_chunkdir_storage {
	struct bpk_dtype dtype;     /* byte order as the key endianness has it */
	uint64_t chunk_rows;        /* chunklen, or the first of chunkshape; at least 1 */
	uint64_t superchunk_chunks; /* superchunksize; 0: not said */
	bool fortran;               /* the key order */
	bool blz;                   /* bparams instead of cparams */
};

int bpk_chunkdir_storage_parse(struct bpk_view text, struct bpk_chunkdir_storage *storage,
			       struct bpk_err *err);
void bpk_chunkdir_storage_clear(struct bpk_chunkdir_storage *storage);

/* ---- The dataset: what the meta files say, in one ---- */

/* One run of data files. Fixed after open. */
struct bpk_chunkdir_column {
	char *name;   /* "x", "y.z"; empty when the dataset has no columns */
	char *home;   /* bcolz tables: folder of its data/ and meta/, "x/"; elsewhere "" */
	char *folder; /* of its data files, from the root: "data", "data/y/z", "x/data" */
	const struct bpk_dtype *dtype; /* of an item of it; borrowed from the dataset's array */
	uint64_t item_offset;          /* where it lies in the dataset's item */
	uint64_t item_size;
	uint64_t chunk_rows;
	uint64_t superchunk_chunks; /* in every file but the last; at least 1 */
	uint64_t nchunks;           /* that rows need: ceil(rows / chunk_rows), 0 without bytes */
	uint64_t nfiles;            /* ceil(nchunks / superchunk_chunks) */
	struct bpk_chunkdir_digests digests; /* of a bcolz table: from its own sizes */
};

/* Owns everything in it; for bpk_chunkdir_clear. Valid when zeroed. */
struct bpk_chunkdir {
	enum bpk_chunkdir_layout layout;
	bool is_table;          /* bcolz: __rootdirs__ is there */
	struct bpk_array array; /* a record where there are columns */
	uint64_t rows;
	uint64_t row_items;  /* product of the inner dimensions */
	uint64_t row_size;   /* bytes: row_items times the dtype's size */
	uint64_t chunk_rows; /* of a parcel: the columns' own, the largest where they differ */
	uint64_t nchunks;    /* parcels */
	size_t ncolumns;     /* at least 1; its parts are empty for elements that are opaque */
	struct bpk_chunkdir_column *columns;
	bool has_columns;  /* false: columns[0] is the array itself */
	bool mixed_chunks; /* columns differ in chunk_rows: parcels are no column's chunks */

	struct bpk_chunkdir_sizes sizes;  /* not of a bcolz table, whose columns have their own */
	struct bpk_buf attributes;        /* JSON text as it is in the file; may be empty */
	bool has_attributes;              /* and is an object with something in it */
	struct bpk_err attributes_damage; /* why it is not good; BPK_OK: it is */
	const char *attributes_name; /* "meta/attributes" or "__attrs__": the file it was in, or
					    would be in; never NULL */
	uint64_t meta_size;          /* bytes of all meta files */
	uint64_t sizes_seen;         /* state of all sizes read (meta.h); of a failed load too */
};

/*
 * Read the meta files of dir and lay out the columns. Looks at no data file, but for a first one
 * where storage does not say superchunksize. Fails with BPK_CORRUPT, BPK_UNSUPPORTED, BPK_LIMIT, or
 * as the directory fails.
 */
int bpk_chunkdir_load(struct bpk_dir *dir, bool no_check, struct bpk_chunkdir *set,
		      struct bpk_err *err);
void bpk_chunkdir_clear(struct bpk_chunkdir *set);

/*
 * Lay out the columns of a dataset to be written: layout, array (with its shape), chunk_rows and
 * superchunk_chunks are taken, all else of set follows from them. A record makes a bcolz table of
 * its fields, or a Blaze directory with a column for each leaf: fields that are records themselves
 * go down a level, fields that are arrays of records are one column of their packed bytes.
 * Fails with BPK_UNSUPPORTED (a field's name is no safe file name; opaque elements) or BPK_LIMIT.
 */
int bpk_chunkdir_lay_out(struct bpk_chunkdir *set, uint64_t superchunk_chunks, struct bpk_err *err);

/* The rows of set are rows from now on: shape, sizes and the counts of all columns follow. Fails
 * with BPK_LIMIT on overflow, and then set is as it was. */
int bpk_chunkdir_set_rows(struct bpk_chunkdir *set, uint64_t rows, struct bpk_err *err);

/* ---- Names and places ---- */

/* The name from the root of superchunk number (from 0) of a column. For bpk_buf_clear; ends in a
 * NUL that size does not count. */
int bpk_chunkdir_file_name(const struct bpk_chunkdir *set, const struct bpk_chunkdir_column *column,
			   uint64_t number, struct bpk_buf *name, struct bpk_err *err);

/* Is text the name of a data file in its folder? *number is from 0, whatever the layout's is. */
bool bpk_chunkdir_is_blaze_file(const char *text, uint64_t *number);
bool bpk_chunkdir_is_bcolz_file(const char *text, uint64_t *number);

/* May a column have that name: one path component, within its folder ("Validation checklist")? */
bool bpk_chunkdir_is_safe_name(const char *name);

/* Where chunk number of a column lies. */
static inline uint64_t bpk_chunkdir_superchunk(const struct bpk_chunkdir_column *column,
					       uint64_t chunk)
{
	return chunk / column->superchunk_chunks;
}

static inline uint64_t bpk_chunkdir_position(const struct bpk_chunkdir_column *column,
					     uint64_t chunk)
{
	return chunk % column->superchunk_chunks;
}

/* Raw bytes of chunk number of a column, as far as rows fill it; 0 behind the last. */
uint64_t bpk_chunkdir_chunk_size(const struct bpk_chunkdir *set,
				 const struct bpk_chunkdir_column *column, uint64_t chunk);

/* ---- Parcels of records ---- */

/*
 * Where there are columns, a parcel's raw bytes are packed records, and its packed bytes are
 * pieces: this header, all npieces of them, and then what they point to. In memory alone.
 */
struct bpk_chunkdir_piece {
	uint32_t column;
	const struct bpk_checksum *checksum; /* of the seal */
	size_t offset;                       /* of the chunk, in packed; its seal lies behind it */
	size_t size;                         /* bytes of the chunk */
	size_t raw_size;                     /* what it unpacks to */
	size_t skip;          /* raw bytes of it that lie before the parcel's items */
	size_t item;          /* of the parcel, the first that this piece holds */
	size_t nitems;        /* how many; the chunk may hold more, before and behind them */
	uint64_t number;      /* of the chunk in its column */
	uint64_t file_offset; /* where the chunk was read, for reports; BPK_UNKNOWN: nowhere */
};

struct bpk_chunkdir_pieces {
	size_t npieces; /* ascending by column, then by item */
	struct bpk_chunkdir_piece piece[];
};

/* Make room for npieces at the start of packed, all zero; size is set behind them. */
int bpk_chunkdir_pieces_begin(struct bpk_buf *packed, size_t npieces, struct bpk_err *err);

static inline struct bpk_chunkdir_pieces *bpk_chunkdir_pieces(const struct bpk_buf *packed)
{
	void *start = packed->data; /* aligned for anything */

	return start;
}

/*
 * Unpack the want of a parcel of records (want_start, want_size, counted in its raw bytes) from its
 * pieces into out. Any thread, with its own ctx. An error names the piece.
 */
int bpk_chunkdir_unpack(const struct bpk_chunkdir *set, struct bpk_chunk_ctx *ctx,
			const struct bpk_parcel *parcel, struct bpk_span out, struct bpk_err *err);

/*
 * Items between records and columns, nitems of them: record i of item_size bytes at records, its
 * part of size bytes at column.
 */
void bpk_chunkdir_gather(const uint8_t *records, size_t item_size, size_t nitems, uint8_t *column,
			 size_t size);
void bpk_chunkdir_scatter(const uint8_t *column, size_t size, size_t nitems, uint8_t *records,
			  size_t item_size);

/* ---- Arrays and metadata, to a directory and back ---- */

/*
 * What a bpk_info says of its elements is kept in sizes and storage, and the user's metadata in the
 * attributes; on the way back both are put together again, to the byte:
 *
 *  1. No array: dtype uint8, shape [total bytes]. Without metadata the attributes are {}. The same
 *     is said of an array whose metadata contradict the data's size.
 *  2. An array has its shape in sizes and its type in storage. Where the true shape or order cannot
 *     stand there (Fortran order, no dimension, rows without bytes or that chunks cut, records of
 *     more than one dimension) it is stored flat, and the attributes have the member "numpy":
 *     {"shape": [2, 3], "order": "F"}. A one-dimensional uint8 array has that member too, which
 *     tells it from bytes; what bcolz and BLZ wrote is an array without it. When items are
 *     appended, the dimension that changes slowest grows.
 *  3. Metadata that are an object: their members stand in the attributes as they are, behind
 *     "numpy".
 *  4. Bloscpack's metadata of the very array, spelled as bpk_array_print does, are left out, since
 *     they follow from 2; and so is this spelling in front of other members.
 *  5. All other metadata are the text of one member, "bpk_metadata": what is no object, or an empty
 *     one, or has spaces around it; what has a member of these two names, or (beside an array) one
 *     that bloscpack gives to an array: "dtype", "shape", "order", "container".
 *
 * Back: members other than "numpy" are the metadata, behind those of 4 when there is an array; text
 * under "bpk_metadata" is taken out when it stands alone, and beside an array only when it tells of
 * that array itself, its shape as it is now. Foreign directories come by the same rules.
 */
struct bpk_chunkdir_carried {
	bool has_array;
	bool has_numpy; /* the attributes have the member "numpy" */
	struct bpk_array array;
	bool has_metadata;
	struct bpk_buf metadata;
};

/* Append the attributes, an object without a newline. array: what will be stored, with its true
 * shape; NULL: bytes. with_shape: it needs "numpy". metadata: the user's text, nothing when there
 * is none. Fails with BPK_CORRUPT (metadata is no JSON) or BPK_LIMIT (too much of it). */
int bpk_chunkdir_carry_in(const struct bpk_array *array, bool with_shape, struct bpk_view metadata,
			  struct bpk_buf *attributes, struct bpk_err *err);

/* May a one-dimensional uint8 array be plain bytes? Only bpk, and the Blaze layout, keep bytes. */
static inline bool bpk_chunkdir_keeps_bytes(const struct bpk_chunkdir *set)
{
	return set->layout == BPK_CHUNKDIR_BLAZE || set->sizes.by_bpk;
}

/* The way back. stored is the array as sizes and storage have it; keeps_bytes as above; attributes
 * is an object that bpk_json_check has passed, or empty. carried is valid when zeroed; for
 * carried_clear, also after a failure. */
int bpk_chunkdir_carry_out(const struct bpk_array *stored, bool keeps_bytes,
			   struct bpk_view attributes, struct bpk_chunkdir_carried *carried,
			   struct bpk_err *err);
void bpk_chunkdir_carried_clear(struct bpk_chunkdir_carried *carried);

/* ---- The row of the format table ---- */

extern const struct bpk_reader_ops bpk_chunkdir_reader_ops;
extern const struct bpk_writer_ops bpk_chunkdir_writer_ops;
extern const struct bpk_editor_ops bpk_chunkdir_editor_ops;

int bpk_chunkdir_probe(const struct bpk_place *place, struct bpk_view head, bool *found,
		       struct bpk_err *err);
bool bpk_chunkdir_owns(const char *name);

/* bpk_reader_ops.audit */
int bpk_chunkdir_audit(void *reader, bpk_remark_fn *remark, void *arg, struct bpk_err *err);

#endif
