/*
 * Inside the room layout: the head of an .npy file, wherever it lies.
 * Source: NumPy's description of its format (numpy.lib.format), versions 1.0, 2.0 and 3.0.
 */
#ifndef BPK_LAYOUT_NPY_H
#define BPK_LAYOUT_NPY_H

#include "layout/member.h"

enum {
	/* Longest text of a head that is accepted. NumPy itself refuses more than 10,000 bytes
	 * unless it is asked not to. */
	BPK_NPY_MAX_TEXT = 1 << 20,
};

/* What the text of a head says. descr points into it. */
struct bpk_npy_dict {
	struct bpk_view descr; /* a Python literal */
	bool fortran;
	size_t ndimensions;
	uint64_t shape[BPK_ARRAY_MAX_DIMENSIONS];
};

/*
 * Take the literal of a Python dict with exactly the three keys of the format; nothing is
 * evaluated. text is UTF-8. Fails with BPK_CORRUPT or BPK_LIMIT.
 */
int bpk_npy_dict_parse(struct bpk_view text, struct bpk_npy_dict *dict, struct bpk_err *err);

/*
 * The bytes of one item of a type that bpk_dtype_parse may not know, such as records with padding.
 * False when that cannot be told. opaque: it holds Python objects.
 */
bool bpk_npy_item_size(struct bpk_view descr, uint64_t *size, bool *opaque);

/* The head of an .npy. Owns array. */
struct bpk_npy {
	uint8_t version; /* 1 to 3 */
	uint64_t offset; /* of the array's first byte in the source */
	uint64_t shape;  /* of the shape's text, which ends there; offset: something follows it */
	struct bpk_array array;
	bool foreign; /* its type is not the head's, but what stands for it */
	bool objects; /* Python's: the bytes are a pickle */
};

/*
 * Read the head of what lies in size bytes at offset, all of them inside source. Types that base
 * does not know become items of bytes ("|V12"); where not even their size is known, or the array
 * holds Python objects and so is a pickle, all that follows the head is bytes ("|u1"). The array's
 * bytes may be more than size has room for; else what is behind them is left alone.
 * Fails with BPK_CORRUPT, BPK_UNSUPPORTED (another version), BPK_LIMIT, or as reading does.
 */
int bpk_npy_read(struct bpk_source *source, uint64_t offset, uint64_t size, struct bpk_npy *npy,
		 struct bpk_err *err);

#endif
