/*
 * The element type, shape and order of a dataset, in NumPy's terms. Part of the room's door.
 * Source: chunked directory layouts, "meta files" and "JSON values as bcolz writes them"; NumPy's
 * own description of its type strings.
 */
#ifndef BPK_BASE_ARRAY_H
#define BPK_BASE_ARRAY_H

#include "base/buf.h"
#include "base/err.h"

enum {
	BPK_ARRAY_MAX_DIMENSIONS = 32,
	BPK_DTYPE_MAX_FIELDS = 4096,
	BPK_DTYPE_MAX_DEPTH = 16,
};

/* One scalar type. */
struct bpk_scalar {
	char kind;          /* NumPy's letter: b i u f c S U V M m; O is opaque */
	char byte_order;    /* '<', '>', or '|' for types without a byte order */
	uint32_t item_size; /* bytes; at least 1: S0, U0 and V0 are refused */
	char unit[16];      /* of M and m: "D", "ns", "25s"; empty for the other kinds */
};

/* A type: a scalar, or a record of named fields. Owns its fields; released by bpk_dtype_clear. */
struct bpk_dtype {
	struct bpk_scalar scalar; /* of a record: kind 'V' and the size of the record */
	size_t nfields;           /* 0: a scalar */
	struct bpk_field *fields; /* in byte order, adjacent, without padding */
	size_t ndimensions;       /* of a field that is an array: (2,3)f4 */
	uint64_t shape[BPK_ARRAY_MAX_DIMENSIONS];
	uint64_t size; /* total bytes: scalar or fields, times shape */
};

struct bpk_field {
	char *name; /* UTF-8, not empty */
	uint64_t offset;
	struct bpk_dtype dtype;
};

/*
 * Parse a type by its grammar, without evaluation: "<f8", "float64", "|S3", "datetime64[D]",
 * "'<f8'" (quoted once more), "[('x', '<f4', (2,)), ('y', '|u1')]"; JSON lists of [name, type]
 * pairs and JSON objects {"name": "type"} are the same text. Native types are little-endian. dtype
 * is caller storage, valid when zeroed. Fails with BPK_USAGE (unknown type, quoted in the line),
 * BPK_UNSUPPORTED (padding, titles), BPK_LIMIT or BPK_NO_MEMORY.
 */
int bpk_dtype_parse(struct bpk_view text, struct bpk_dtype *dtype, struct bpk_err *err);

/* The same with native byte order '<' or '>'. */
int bpk_dtype_parse_native(struct bpk_view text, char native, struct bpk_dtype *dtype,
			   struct bpk_err *err);

void bpk_dtype_clear(struct bpk_dtype *dtype);

/* Deep copy. */
int bpk_dtype_copy(const struct bpk_dtype *from, struct bpk_dtype *to, struct bpk_err *err);

/* True when the type holds Python objects, whose bytes only Python can read. */
bool bpk_dtype_is_opaque(const struct bpk_dtype *dtype);

/* Append NumPy's text of the type (dtype.descr or dtype.str): "<f8"; "[('x', '<f4', (2,))]". */
int bpk_dtype_print(const struct bpk_dtype *dtype, struct bpk_buf *out, struct bpk_err *err);

/* An array. Valid when zeroed; owns dtype. */
struct bpk_array {
	struct bpk_dtype dtype;
	size_t ndimensions; /* 0: a single element */
	uint64_t shape[BPK_ARRAY_MAX_DIMENSIONS];
	bool fortran;  /* the first index changes fastest */
	uint64_t size; /* total bytes */
};

void bpk_array_clear(struct bpk_array *array);

/* Deep copy. */
int bpk_array_copy(const struct bpk_array *from, struct bpk_array *to, struct bpk_err *err);

/* True if both have the same text. */
bool bpk_dtype_equal(const struct bpk_dtype *a, const struct bpk_dtype *b);

/* True for equal kind and item size. Byte order and date unit may differ. */
bool bpk_scalar_is_like(const struct bpk_scalar *a, const struct bpk_scalar *b);

/* True for equal kind, item size and shape. The fields of records are not compared. */
bool bpk_array_is_like(const struct bpk_array *a, const struct bpk_array *b);

/* Set shape and size from a list of dimensions; BPK_LIMIT on overflow. */
int bpk_array_set_shape(struct bpk_array *array, const uint64_t *shape, size_t ndimensions,
			struct bpk_err *err);

/* Parse the dimensions in a JSON list, which may be empty. Fails with BPK_USAGE or BPK_LIMIT. */
int bpk_array_read_shape(struct bpk_view list, uint64_t shape[BPK_ARRAY_MAX_DIMENSIONS],
			 size_t *ndimensions, struct bpk_err *err);

/*
 * The number of rows of array in size bytes; the first dimension counts rows. False when size is
 * not a multiple of the row size, and for arrays without such rows: Fortran order, no dimension, or
 * rows of 0 bytes.
 */
bool bpk_array_count_rows(const struct bpk_array *array, uint64_t size, uint64_t *rows);

/* ---- Parts of arrays ---- */

/* A part of an array: in each dimension start up to, not including, stop, in steps of step; 0 is a
 * step of 1. Formats take no other steps. */
struct bpk_slice {
	size_t ndimensions;
	uint64_t start[BPK_ARRAY_MAX_DIMENSIONS], stop[BPK_ARRAY_MAX_DIMENSIONS];
	uint64_t step[BPK_ARRAY_MAX_DIMENSIONS];
};

/* Number of indexes in a dimension of a part. */
uint64_t bpk_slice_length(const struct bpk_slice *slice, size_t dimension);

/* True if a step is more than 1. */
bool bpk_slice_has_steps(const struct bpk_slice *slice);

/* Number of items in a part that lies inside the array. */
uint64_t bpk_slice_items(const struct bpk_slice *slice);

/* The bytes of a part as runs, each as long as possible, in the array's own order (C or Fortran).
 * Caller storage; nothing is owned. */
struct bpk_runs {
	size_t ndimensions; /* dimensions that the iteration counts through, the slowest first */
	uint64_t at[BPK_ARRAY_MAX_DIMENSIONS], stop[BPK_ARRAY_MAX_DIMENSIONS]; /* from 0 */
	uint64_t stride[BPK_ARRAY_MAX_DIMENSIONS]; /* bytes from one index to the next */
	uint64_t offset;                           /* of the next run, from the array's start */
	uint64_t size;                             /* of each run */
	bool ended;
};

/* Start the iteration. The slice lies inside the array. */
void bpk_runs_begin(const struct bpk_array *array, const struct bpk_slice *slice,
		    struct bpk_runs *runs);

/* The next run; false after the last. */
bool bpk_runs_next(struct bpk_runs *runs, uint64_t *offset, uint64_t *size);

/* Copy the items of a part from Fortran order (in) to C order (out). Both hold the whole part. */
void bpk_slice_transpose(const struct bpk_slice *slice, size_t item_size, struct bpk_view in,
			 struct bpk_span out);

#endif
