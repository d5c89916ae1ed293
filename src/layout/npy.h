/*
 * Internal to layout: the head of an .npy file, at any offset. Used by npy.c and npz.c.
 * Source: NumPy's description of its format (numpy.lib.format), versions 1.0, 2.0 and 3.0.
 */
#ifndef BPK_LAYOUT_NPY_H
#define BPK_LAYOUT_NPY_H

#include "layout/member.h"

enum {
	/* The longest accepted text of a head. NumPy's own default limit is 10,000 bytes. */
	BPK_NPY_MAX_TEXT = 1 << 20,
};

/* The parsed text of a head. descr points into the text. */
struct bpk_npy_dict {
	struct bpk_view descr; /* a Python literal */
	bool fortran;
	size_t ndimensions;
	uint64_t shape[BPK_ARRAY_MAX_DIMENSIONS];
};

/*
 * Parse the literal of a Python dict with exactly the three keys of the format, without evaluation.
 * text is UTF-8. Fails with BPK_CORRUPT or BPK_LIMIT.
 */
int bpk_npy_dict_parse(struct bpk_view text, struct bpk_npy_dict *dict, struct bpk_err *err);

/*
 * The size of one item of a type that bpk_dtype_parse may refuse, such as records with padding.
 * False if unknown. opaque: the type holds Python objects.
 */
bool bpk_npy_item_size(struct bpk_view descr, uint64_t *size, bool *opaque);

/* A parsed .npy head. Owns array. */
struct bpk_npy {
	uint8_t version; /* 1 to 3 */
	uint64_t offset; /* of the array's first byte in the source */
	uint64_t shape;  /* offset of the shape's text, if it ends the head; else equal to offset */
	struct bpk_array array;
	bool foreign; /* array has a substitute for the head's type */
	bool objects; /* Python objects: the bytes are a pickle */
};

/*
 * Read the head of an .npy in size bytes at offset, all within source. Types unknown to base become
 * opaque items ("|V12"). If their size is unknown, or the array holds Python objects and so is a
 * pickle, all bytes after the head are one array of bytes ("|u1"). The array may exceed size; bytes
 * after a shorter array are ignored.
 * Fails with BPK_CORRUPT, BPK_UNSUPPORTED (another version), BPK_LIMIT, or as reading does.
 */
int bpk_npy_read(struct bpk_source *source, uint64_t offset, uint64_t size, struct bpk_npy *npy,
		 struct bpk_err *err);

#endif
