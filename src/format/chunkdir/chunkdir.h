/*
 * Chunked directories, inside the room: the declarations that meta files, layouts, reader, writer
 * and editor share. All format facts come from the chunked directory layouts; comments name its
 * sections. The files of chunkdir include it, and formats.c.
 *
 *      Blaze            data/__1__.bin ...           columns: data/x/__1__.bin, data/y/z/__1__.bin
 *                       meta/sizes storage attributes
 *      bcolz, BLZ       data/__0.blp ...             tables: __rootdirs__, and each column such an
 *                       meta/sizes storage, __attrs__        array of its own, below x/, y/
 *
 * A dataset is rows; a row is items (the product of the inner dimensions); an item has the dtype of
 * storage. A record is stored as columns, one for each leaf of its dtype. With or without columns,
 * data files are superchunks: Bloscpack files with superchunk_chunks chunks each, except the last.
 */
#ifndef BPK_FORMAT_CHUNKDIR_H
#define BPK_FORMAT_CHUNKDIR_H

#include "format/sealed.h"

/* "Validation checklist" */
enum {
	BPK_CHUNKDIR_MAX_JSON = 1 << 20,        /* bytes of sizes, storage and __rootdirs__ */
	BPK_CHUNKDIR_MAX_ATTRIBUTES = 16 << 20, /* of attributes */
	BPK_CHUNKDIR_OWN_ATTRIBUTES = 1 << 10,  /* of them, reserved for "numpy" and our key */
	BPK_CHUNKDIR_MAX_COLUMNS = BPK_DTYPE_MAX_FIELDS,
	BPK_CHUNKDIR_MAX_DEPTH = BPK_DTYPE_MAX_DEPTH,
	BPK_CHUNKDIR_MAX_SPAN = 2147483631, /* raw bytes of a chunk */
};

/* Decides the names of files and the keys of storage. */
enum bpk_chunkdir_layout {
	BPK_CHUNKDIR_BLAZE,
	BPK_CHUNKDIR_BCOLZ,
	BPK_CHUNKDIR_BLZ, /* predecessor of bcolz; read only */
};

/* "Blaze", "bcolz" or "BLZ". */
const char *bpk_chunkdir_variant(enum bpk_chunkdir_layout layout);

/* ---- Meta files ---- */

/*
 * Digests of our own, in the member "bpk" of sizes. Other readers ignore it, and it is gone after
 * another writer has rewritten sizes. They detect errors that the chunks' digests cannot: swapped
 * chunks or files, chunks of another state of the dataset, or a flipped bit in a meta file. They
 * lie in the file whose rename is the commit. An update adds and subtracts only the shares of
 * chunks that change:
 *
 *      "bpk": {"data": "0123456789abcdef", "last": "0123456789abcdef", "storage": "01234567",
 *              "attributes": "01234567", "sizes": "01234567"}
 *
 * data is the sum (64 bits, wrapping) of the shares of all full chunks within the rows, over all
 * columns that this sizes describes. last is the same sum for the chunks that rows fill in part; an
 * append recompresses these before it commits, so where such a chunk holds more rows, the audit
 * packs the others again in each way in which bpk may have packed them. storage and attributes are
 * the crc32 of these files, byte for byte; attributes is left out if other programs write that file
 * (bcolz). sizes covers the numbers of the file itself. Digits are hexadecimal, in lower case.
 */
struct bpk_chunkdir_digests {
	bool given; /* the member exists */
	uint64_t data;
	uint64_t last;
	uint32_t storage;
	bool has_attributes;
	uint32_t attributes;
};

/*
 * The share of one chunk in data or last. number counts within its column; column counts within the
 * columns of the same sizes (in a bcolz table: 0). chunk is the whole chunk; seal is its digest, of
 * size 0 if it has no digest. The share covers header and digest, so that nothing else must be
 * read, or all bytes of a chunk without a digest.
 */
uint64_t bpk_chunkdir_share(size_t column, uint64_t number, struct bpk_view chunk,
			    struct bpk_view seal);

/* Its two steps: the part that is the chunk's own, and the share that it has at a place. */
uint32_t bpk_chunkdir_brief(struct bpk_view chunk, struct bpk_view seal);
uint64_t bpk_chunkdir_share_of(size_t column, uint64_t number, uint32_t brief);

/* A last chunk that holds more rows than sizes counts. */
struct bpk_chunkdir_longer {
	struct bpk_source *source; /* of its file, without what follows the archive */
	const struct bpk_where *where;
	const struct bpk_checksum *checksum;  /* of its file */
	const struct bpk_chunk_header *first; /* of the dataset's first chunk; NULL: it has none */
	size_t column;                        /* as for bpk_chunkdir_share */
	uint64_t number, need;                /* need: raw bytes that sizes counts */
};

/* Add to sums the shares that the chunk has without these rows, packed in each way in which bpk may
 * have packed it; nothing for one that is not packed again. Fails with BPK_CORRUPT. */
enum { BPK_CHUNKDIR_WAYS = 80 };
int bpk_chunkdir_longer_shares(const struct bpk_chunkdir_longer *longer,
			       uint64_t sums[BPK_CHUNKDIR_WAYS], struct bpk_err *err);

/* The crc32 of a meta file. */
uint32_t bpk_chunkdir_crc(struct bpk_view text);

/* The file sizes ("meta files"). Caller storage, valid when zeroed; plain values. */
struct bpk_chunkdir_sizes {
	size_t ndimensions; /* at least 1 */
	uint64_t shape[BPK_ARRAY_MAX_DIMENSIONS];
	uint64_t nbytes; /* BPK_UNKNOWN: not recorded */
	uint64_t cbytes; /* the same; bcolz's number is meaningless */
	bool by_bpk;     /* it has digests of bpk's, tested or not */
	struct bpk_chunkdir_digests digests;
};

/* Fails with BPK_CORRUPT or BPK_LIMIT; the digest of sizes itself is tested, unless no_check. */
int bpk_chunkdir_sizes_parse(struct bpk_view text, bool no_check, struct bpk_chunkdir_sizes *sizes,
			     struct bpk_err *err);

/* Append the whole file, strict JSON and a newline. nbytes and cbytes must be known. */
int bpk_chunkdir_sizes_print(const struct bpk_chunkdir_sizes *sizes, struct bpk_buf *out,
			     struct bpk_err *err);

/* The file storage. Owns dtype; freed by bpk_chunkdir_storage_clear. Valid when zeroed. */
struct bpk_chunkdir_storage {
	struct bpk_dtype dtype;     /* with the byte order of the key endianness */
	uint64_t chunk_rows;        /* chunklen, or the first of chunkshape; at least 1 */
	uint64_t superchunk_chunks; /* superchunksize; 0: not recorded */
	bool fortran;               /* the key order */
	bool blz;                   /* bparams instead of cparams */
};

int bpk_chunkdir_storage_parse(struct bpk_view text, struct bpk_chunkdir_storage *storage,
			       struct bpk_err *err);
void bpk_chunkdir_storage_clear(struct bpk_chunkdir_storage *storage);

/* ---- The dataset: the combined content of the meta files ---- */

/* One series of data files. Fixed after open. */
struct bpk_chunkdir_column {
	char *name;   /* "x", "y.z"; empty if the dataset has no columns */
	char *home;   /* bcolz tables: folder of its data/ and meta/, "x/"; elsewhere "" */
	char *folder; /* of its data files, from the root: "data", "data/y/z", "x/data" */
	const struct bpk_dtype *dtype; /* of one of its items; borrowed from the dataset's array */
	uint64_t item_offset;          /* within the dataset's item */
	uint64_t item_size;
	uint64_t chunk_rows;
	uint64_t superchunk_chunks; /* in every file but the last; at least 1 */
	uint64_t nchunks;           /* for all rows: ceil(rows / chunk_rows), 0 without bytes */
	uint64_t nfiles;            /* ceil(nchunks / superchunk_chunks) */
	struct bpk_chunkdir_digests digests; /* of a bcolz table: from its own sizes */
};

/* Owns everything in it; freed by bpk_chunkdir_clear. Valid when zeroed. */
struct bpk_chunkdir {
	enum bpk_chunkdir_layout layout;
	bool is_table;          /* bcolz: __rootdirs__ exists */
	struct bpk_array array; /* a record if there are columns */
	uint64_t rows;
	uint64_t row_items;  /* product of the inner dimensions */
	uint64_t row_size;   /* bytes: row_items times the dtype's size */
	uint64_t chunk_rows; /* of a parcel: as in the columns; see choose_parcel if they differ */
	uint64_t nchunks;    /* parcels */
	size_t ncolumns;     /* at least 1 */
	struct bpk_chunkdir_column *columns;
	bool has_columns;  /* false: columns[0] is the array itself */
	bool mixed_chunks; /* columns differ in chunk_rows: a parcel is not one chunk of each */

	struct bpk_chunkdir_sizes sizes; /* unused in a bcolz table, whose columns have their own */
	struct {
		struct bpk_buf text;   /* JSON text of the file; may be empty */
		bool has_members;      /* the text is an object with at least one */
		struct bpk_err damage; /* BPK_OK: no damage */
		/* Path of the file, existing or not: "meta/attributes" or "__attrs__"; never
		 * NULL. */
		const char *name;
	} attributes;
	struct bpk_buf record;                   /* of a seal, as sizes has it; empty: none */
	struct bpk_seal seal;                    /* as claimed, not tested; not of a bcolz table */
	uint8_t storage_digest[BPK_MERKLE_SIZE]; /* SHA-256 of storage, where seal is not empty */
	uint64_t meta_size;                      /* bytes of all meta files */
	uint64_t sizes_seen; /* state of all sizes read (meta.h); also set by a failed load */
};

/*
 * Read the meta files of dir and lay out the columns. Reads no data file, except the first one of a
 * column if storage has no superchunksize. Fails with BPK_CORRUPT, BPK_UNSUPPORTED, BPK_LIMIT, or
 * an error of the directory.
 */
int bpk_chunkdir_load(struct bpk_dir *dir, bool no_check, struct bpk_chunkdir *set,
		      struct bpk_err *err);
void bpk_chunkdir_clear(struct bpk_chunkdir *set);

/*
 * Lay out the columns of a dataset to be written. set has layout, array (with its shape) and
 * chunk_rows; all other members are computed. A record becomes a bcolz table of its fields, or a
 * Blaze directory with a column for each leaf: a field that is a record becomes a level of folders,
 * a field that is an array of records becomes one column of their packed bytes. Fails with
 * BPK_UNSUPPORTED (a field's name is not a safe file name; opaque elements) or BPK_LIMIT.
 */
int bpk_chunkdir_lay_out(struct bpk_chunkdir *set, uint64_t superchunk_chunks, struct bpk_err *err);

/* Set the number of rows, and with it shape, sizes and the counts of all columns. Fails with
 * BPK_LIMIT on overflow, and then leaves set unchanged. */
int bpk_chunkdir_set_rows(struct bpk_chunkdir *set, uint64_t rows, struct bpk_err *err);

/* ---- Names and positions ---- */

/* The path, from the root, of superchunk number (from 0) of a column. name must be cleared with
 * bpk_buf_clear; it ends in a NUL that size does not count. */
int bpk_chunkdir_file_name(const struct bpk_chunkdir *set, const struct bpk_chunkdir_column *column,
			   uint64_t number, struct bpk_buf *name, struct bpk_err *err);

/* Test whether text names a data file in its folder. *number counts from 0 in every layout. */
bool bpk_chunkdir_is_blaze_file(const char *text, uint64_t *number);
bool bpk_chunkdir_is_bcolz_file(const char *text, uint64_t *number);

/* Test whether a column may have that name: one path component ("Validation checklist"). */
bool bpk_chunkdir_is_safe_name(const char *name);

/* The file of a chunk, and its position there. */
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

/* Raw bytes of a chunk of a column that rows fill; 0 after the last. */
uint64_t bpk_chunkdir_chunk_size(const struct bpk_chunkdir *set,
				 const struct bpk_chunkdir_column *column, uint64_t chunk);

/*
 * Check the raw size of a fetched chunk: that of its rows; the last may have more, from an append
 * before its commit. Fails with BPK_CORRUPT, and names the file and the chunk.
 */
int bpk_chunkdir_check_size(const struct bpk_chunkdir *set,
			    const struct bpk_chunkdir_column *column, uint64_t number,
			    const struct bpk_parcel *parcel, struct bpk_err *err);

/* ---- Parcels of records ---- */

/*
 * With columns, a parcel's raw bytes are packed records, and its packed bytes are pieces: this
 * header, npieces descriptions, and then the chunks they describe. In memory only.
 */
struct bpk_chunkdir_piece {
	uint32_t column;
	const struct bpk_checksum *checksum; /* of the seal */
	size_t offset;                       /* of the chunk, in packed; its seal follows it */
	size_t size;                         /* bytes of the chunk */
	size_t raw_size;                     /* of the chunk */
	size_t skip;                         /* raw bytes of it that precede the parcel's items */
	size_t item;                         /* the parcel's first item in this piece */
	size_t nitems;        /* items in it; the chunk may hold more before and after */
	uint64_t number;      /* of the chunk in its column */
	uint64_t file_offset; /* source of the chunk, for reports; BPK_UNKNOWN: not from a file */
};

struct bpk_chunkdir_pieces {
	size_t npieces; /* ascending by column, then by item */
	struct bpk_chunkdir_piece piece[];
};

/* Reserve npieces descriptions at the start of packed, all zero; size then ends after them. */
int bpk_chunkdir_pieces_begin(struct bpk_buf *packed, size_t npieces, struct bpk_err *err);

static inline struct bpk_chunkdir_pieces *bpk_chunkdir_pieces(const struct bpk_buf *packed)
{
	void *start = packed->data; /* aligned for anything */

	return start;
}

/*
 * Unpack the wanted raw bytes of a parcel of records (want_start, want_size) from its pieces into
 * out. Any thread, with its own ctx. An error names the piece.
 */
int bpk_chunkdir_unpack(const struct bpk_chunkdir *set, struct bpk_chunk_ctx *ctx,
			const struct bpk_parcel *parcel, struct bpk_span out, struct bpk_err *err);

/*
 * Copy nitems items between records and a column: records are item_size bytes apart, and the
 * column's part of each is size bytes.
 */
void bpk_chunkdir_gather(const uint8_t *records, size_t item_size, size_t nitems, uint8_t *column,
			 size_t size);
void bpk_chunkdir_scatter(const uint8_t *column, size_t size, size_t nitems, uint8_t *records,
			  size_t item_size);

/* ---- Arrays and metadata: conversion to a directory and back ---- */

/*
 * The element type of a bpk_info is stored in sizes and storage, and the user's metadata in the
 * attributes; reading restores both, to the byte:
 *
 *  1. No array: dtype uint8, shape [total bytes]. Without metadata the attributes are {}. The same
 *     holds for an array whose metadata contradict the data's size.
 *  2. An array has its shape in sizes and its type in storage. If they cannot hold the true shape
 *     or order (Fortran order, no dimension, rows without bytes or cut by chunks, records of more
 *     than one dimension) it is stored flat, and the attributes have the member "numpy":
 *     {"shape": [2, 3], "order": "F"}. A one-dimensional uint8 array also has that member, which
 *     distinguishes it from bytes; bcolz and BLZ write arrays without it. Appended items extend
 *     the slowest dimension.
 *  3. Metadata that are an object: their members become members of the attributes, unchanged,
 *     after "numpy".
 *  4. Bloscpack's metadata of the same array, spelled as by bpk_array_print, are left out, since
 *     they follow from 2; so is this spelling at the start of an object with other members.
 *  5. All other metadata become the text of one member, "bpk_metadata": texts that are not an
 *     object, or an empty one, or have spaces around them; and objects that use one of these two
 *     names, or (with an array) a name that bloscpack uses for arrays: "dtype", "shape", "order",
 *     "container".
 *
 * Reading: members other than "numpy" are the metadata, after those of 4 if there is an array. The
 * text under "bpk_metadata" is unwrapped if it stands alone; with an array, only if it describes
 * that array, and then with the current shape. The same rules apply to foreign directories.
 */
struct bpk_chunkdir_attributes {
	bool has_array;
	bool has_numpy; /* the attributes have the member "numpy" */
	struct bpk_array array;
	bool has_metadata;
	struct bpk_buf metadata;
};

/* Append the attributes, an object without a newline. array: the array to be stored, with its true
 * shape; NULL: bytes. with_shape: it needs "numpy". metadata: the user's text; empty: no metadata.
 * Fails with BPK_CORRUPT (metadata is not JSON) or BPK_LIMIT (it is too large). */
int bpk_chunkdir_attributes_make(const struct bpk_array *array, bool with_shape,
				 struct bpk_view metadata, struct bpk_buf *attributes,
				 struct bpk_err *err);

/* True if a one-dimensional uint8 array may stand for bytes: only bpk and the Blaze layout do
 * so. */
static inline bool bpk_chunkdir_keeps_bytes(const struct bpk_chunkdir *set)
{
	return set->layout == BPK_CHUNKDIR_BLAZE || set->sizes.by_bpk;
}

/* The reverse. stored is the array in sizes and storage; keeps_bytes as above; attributes is an
 * object that bpk_json_check has passed, or empty. described is valid when zeroed, and must be
 * cleared with attributes_clear, also after a failure. */
int bpk_chunkdir_attributes_read(const struct bpk_array *stored, bool keeps_bytes,
				 struct bpk_view attributes,
				 struct bpk_chunkdir_attributes *described, struct bpk_err *err);
void bpk_chunkdir_attributes_clear(struct bpk_chunkdir_attributes *described);

/* ---- The row of the format table ---- */

extern const struct bpk_reader_ops bpk_chunkdir_reader_ops;
extern const struct bpk_writer_ops bpk_chunkdir_writer_ops;
extern const struct bpk_editor_ops bpk_chunkdir_editor_ops;

int bpk_chunkdir_probe(const struct bpk_place *place, struct bpk_view head, bool *found,
		       struct bpk_err *err);
bool bpk_chunkdir_owns(const char *name);

/* bpk_format.salvage */
int bpk_chunkdir_salvage(const struct bpk_place *place, struct bpk_salvage *salvage,
			 struct bpk_err *err);

/* bpk_reader_ops.audit */
int bpk_chunkdir_audit(void *reader, bpk_remark_fn *remark, void *arg, struct bpk_err *err);

#endif
