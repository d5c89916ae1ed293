/*
 * What the elements of a dataset are: NumPy's type, shape and order. A part of the room's door.
 * Source: chunked directory layouts, "meta files" and "JSON values as bcolz writes them";
 * NumPy's own description of its type strings.
 */
#ifndef BPK_BASE_ARRAY_H
#define BPK_BASE_ARRAY_H

#include "base/buffer.h"
#include "base/error.h"

enum {
	BPK_ARRAY_MAX_DIMENSIONS = 32,
	BPK_DTYPE_MAX_FIELDS = 4096,
	BPK_DTYPE_MAX_DEPTH = 16,
};

/* One scalar type: how its bytes are to be taken. */
struct bpk_scalar {
	char kind;          /* NumPy's letter: b i u f c S U V M m; O is opaque */
	char byte_order;    /* '<', '>', or '|' where there is none to speak of */
	uint32_t item_size; /* bytes; at least 1 but for S0, U0, V0, which are refused */
	char unit[16];      /* of M and m: "D", "ns", "25s"; else empty */
};

/* A type: a scalar, or a record of named fields. Owns what it points to; for bpk_dtype_clear. */
struct bpk_dtype {
	struct bpk_scalar scalar; /* of a record: kind 'V', its whole size */
	size_t nfields;           /* 0: a scalar */
	struct bpk_field *fields; /* in the order of the bytes, one behind the other, no padding */
	size_t ndimensions;       /* of a field that is an array itself: (2,3)f4 */
	uint64_t shape[BPK_ARRAY_MAX_DIMENSIONS];
	uint64_t size; /* bytes in all: scalar or fields, times shape */
};

struct bpk_field {
	char *name; /* UTF-8, not empty */
	uint64_t offset;
	struct bpk_dtype dtype;
};

/*
 * Take a type from text by its grammar, never by evaluation: "<f8", "float64", "|S3",
 * "datetime64[D]", "'<f8'" (quoted once more), "[('x', '<f4', (2,)), ('y', '|u1')]"; JSON lists of
 * [name, type] pairs and JSON objects {"name": "type"} come as the same text. Native types are
 * little-endian. Caller storage, valid when zeroed. Fails with BPK_USAGE (no such type; the line
 * quotes it), BPK_UNSUPPORTED (padding, titles), BPK_LIMIT or BPK_NO_MEMORY.
 */
int bpk_dtype_parse(struct bpk_view text, struct bpk_dtype *dtype, struct bpk_err *err);

/* The same where native types have another order: '<' or '>'. */
int bpk_dtype_parse_native(struct bpk_view text, char native, struct bpk_dtype *dtype,
			   struct bpk_err *err);

void bpk_dtype_clear(struct bpk_dtype *dtype);

/* A copy, all of it its own. */
int bpk_dtype_copy(const struct bpk_dtype *from, struct bpk_dtype *to, struct bpk_err *err);

/* True when it holds Python objects, of which nobody but Python knows what they are. */
bool bpk_dtype_is_opaque(const struct bpk_dtype *dtype);

/* Append NumPy's own text of it (of dtype.descr or dtype.str): "<f8"; "[('x', '<f4', (2,))]". */
int bpk_dtype_print(const struct bpk_dtype *dtype, struct bpk_buf *out, struct bpk_err *err);

/* An array: valid when zeroed; owns dtype. */
struct bpk_array {
	struct bpk_dtype dtype;
	size_t ndimensions; /* 0: a single element */
	uint64_t shape[BPK_ARRAY_MAX_DIMENSIONS];
	bool fortran;  /* the first index changes fastest */
	uint64_t size; /* bytes in all */
};

void bpk_array_clear(struct bpk_array *array);

/* A copy, all of it its own. */
int bpk_array_copy(const struct bpk_array *from, struct bpk_array *to, struct bpk_err *err);

/* Are elements of one kind and size? The order of their bytes and the unit of times may differ. */
bool bpk_scalar_is_like(const struct bpk_scalar *a, const struct bpk_scalar *b);

/* Are arrays of such elements, and of one shape? What the fields of records are is not asked. */
bool bpk_array_is_like(const struct bpk_array *a, const struct bpk_array *b);

/* Set shape and size from a list of dimensions; BPK_LIMIT on overflow. */
int bpk_array_set_shape(struct bpk_array *array, const uint64_t *shape, size_t ndimensions,
			struct bpk_err *err);

/* Take the dimensions of a JSON list, none or more. Fails with BPK_USAGE or BPK_LIMIT. */
int bpk_array_read_shape(struct bpk_view list, uint64_t shape[BPK_ARRAY_MAX_DIMENSIONS],
			 size_t *ndimensions, struct bpk_err *err);

/*
 * How many rows of array, whose first dimension changes slowest, are in size bytes? False when they
 * are no whole number of them, and for arrays that have no such rows: in Fortran's order, without a
 * dimension, or with rows of no bytes.
 */
bool bpk_array_count_rows(const struct bpk_array *array, uint64_t size, uint64_t *rows);

/* ---- Parts of arrays ---- */

/* A part of an array: from start up to, not including, stop, for each of its dimensions. */
struct bpk_slice {
	size_t ndimensions;
	uint64_t start[BPK_ARRAY_MAX_DIMENSIONS], stop[BPK_ARRAY_MAX_DIMENSIONS];
};

/* Items of a part that lies inside an array. */
uint64_t bpk_slice_items(const struct bpk_slice *slice);

/* The bytes of a part as runs, each as long as can be, in the order in which they lie in the array
 * (its own, C's or Fortran's). Caller storage; nothing is owned. */
struct bpk_runs {
	size_t ndimensions; /* those that are counted through, the slowest first */
	uint64_t start[BPK_ARRAY_MAX_DIMENSIONS], stop[BPK_ARRAY_MAX_DIMENSIONS];
	uint64_t at[BPK_ARRAY_MAX_DIMENSIONS];
	uint64_t stride[BPK_ARRAY_MAX_DIMENSIONS]; /* bytes from one index to the next */
	uint64_t offset;                           /* of the next run, from the array's start */
	uint64_t size;                             /* of each */
	bool ended;
};

/* The slice lies inside the array. */
void bpk_runs_begin(const struct bpk_array *array, const struct bpk_slice *slice,
		    struct bpk_runs *runs);

/* The next run; false behind the last. */
bool bpk_runs_next(struct bpk_runs *runs, uint64_t *offset, uint64_t *size);

/* Bring the items of a part, which stand in in in Fortran's order, into C's, in out. Both have room
 * for all of them. */
void bpk_slice_transpose(const struct bpk_slice *slice, size_t item_size, struct bpk_view in,
			 struct bpk_span out);

#endif
