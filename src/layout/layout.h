/*
 * The room layout: the arrays inside raw bytes. Each member recognises one kind of simulation file
 * by its content and lists its arrays by name and frame: their types, shapes and offsets. It reads
 * raw bytes through any seekable source, a file or the unpacked view of an archive. It trusts no
 * number in them, and knows no chunks and no archives. Called by choose, archive and cli.
 *
 * The bytes of an array are contiguous. Data that a file stores in several pieces (records of
 * NetCDF, frames of trajectories) are several arrays of one name in different frames.
 */
#ifndef BPK_LAYOUT_LAYOUT_H
#define BPK_LAYOUT_LAYOUT_H

#include "base/base.h"
#include "io/io.h"

enum { BPK_LAYOUT_HEAD = 512 }; /* bytes that tell the format, fewer of shorter files */

struct bpk_layout;

/* A file as a whole. Texts belong to the layout, are UTF-8 without control bytes, and are NULL if
 * the file has no such text. */
struct bpk_layout_info {
	const char *kind;        /* "gsd", "npy": the name in options and messages */
	const char *variant;     /* "2.0", "64-bit offset" */
	const char *application; /* the writer */
	const char *schema;      /* "hoomd 1.4" */
	uint64_t narrays;        /* in all frames */
	uint64_t nframes;        /* BPK_UNKNOWN: the file has no frames */
	uint64_t last_step;      /* of the simulation, in the last frame; or BPK_UNKNOWN */

	/* The first damage after the readable part ("frame 12 is cut short"); NULL if undamaged. */
	const char *damage;

	/* A line on members that are not listed, as they are compressed; NULL: none. */
	const char *left_out;
};

/* One array of one frame. Points into the layout; valid until its next call from the same
 * thread. */
struct bpk_item {
	const char *name; /* UTF-8 without control bytes, never empty; parts separated by "/" */
	uint64_t frame;   /* from 0; BPK_UNKNOWN: no frames, or part of every frame */
	uint64_t step;    /* of the simulation; or BPK_UNKNOWN */
	const struct bpk_array *array; /* type, shape, order, size in bytes */

	/* Offset of its first byte: array->size bytes from there are inside the file, as of open.
	 * BPK_UNKNOWN: the array is not stored; its bytes are fill, repeated. The size of fill
	 * divides array->size, which may be 0. */
	uint64_t offset;
	struct bpk_view fill;

	bool pickled; /* items are Python objects, so the bytes are a pickle, not an array */
};

/*
 * Recognise the content of source. *layout is NULL, without an error, if no member knows it, or if
 * its head is too damaged: then it is plain bytes. source must be seekable and is borrowed until
 * close. Reads the file's own tables, at most once.
 * Fails with BPK_FAILED or another error of reading (a damaged archive below), and BPK_NO_MEMORY.
 */
int bpk_layout_open(struct bpk_source *source, struct bpk_layout **layout, struct bpk_err *err);

/* The name of the format that a file of size bytes begins like, as "DCD"; NULL: none, or a zip.
 * head has its first BPK_LAYOUT_HEAD bytes, fewer of a shorter file. */
const char *bpk_layout_title(struct bpk_view head, uint64_t size);
void bpk_layout_close(struct bpk_layout *layout); /* NULL is harmless */

const struct bpk_layout_info *bpk_layout_info(const struct bpk_layout *layout);

/* Array number, less than info's narrays, ordered by frame and then by offset, or as the file lists
 * them. Cheap for ascending numbers; bytes around the arrays are not read. One thread at a time, as
 * for all functions below. */
int bpk_layout_get(struct bpk_layout *layout, uint64_t number, struct bpk_item *item,
		   struct bpk_err *err);

/*
 * Find the array of that name in a frame. frame is BPK_UNKNOWN for arrays of no frame or of all
 * frames; these are also found in every frame. defaults: if the frame has no such array, return the
 * substitute that the file's schema defines (hoomd: that of frame 0, or a constant). Returns 1 if
 * the array or frame does not exist; fails with BPK_CORRUPT if the file has markers around its
 * arrays and they are wrong, with BPK_UNSUPPORTED for a compressed member of a zip.
 */
int bpk_layout_find(struct bpk_layout *layout, const char *name, uint64_t frame, bool defaults,
		    struct bpk_item *item, struct bpk_err *err);

/*
 * Read out.size bytes of an item, from its byte at on, within array->size. source is the source of
 * its layout. Fails as bpk_source_need_at.
 */
int bpk_item_read(struct bpk_source *source, const struct bpk_item *item, uint64_t at,
		  struct bpk_span out, struct bpk_err *err);

/* ---- Files that grow ---- */

/* Bytes that a writer changes while the file grows. */
struct bpk_layout_part {
	const char *name; /* "frame count"; static */
	uint64_t offset, size;
	bool fills; /* only zeros at its end are overwritten */
};

enum { BPK_LAYOUT_PARTS = 5 }; /* per file, at most */

/* List these parts and return their number; 0 for kinds that never change written bytes. Parts may
 * extend past the file's end. Constant after open. */
size_t bpk_layout_parts(const struct bpk_layout *layout,
			struct bpk_layout_part parts[BPK_LAYOUT_PARTS]);

/* The number of bytes from offset at on that no table and no array of the file has, such as those
 * of a table that was outgrown; 0 if one has the first, and for kinds without such bytes. */
uint64_t bpk_layout_unused(const struct bpk_layout *layout, uint64_t at);

/* ---- NumPy files ---- */

/* The first bytes of every .npy file. */
enum { BPK_NPY_MAGIC_SIZE = 6 };
extern const uint8_t bpk_npy_magic[BPK_NPY_MAGIC_SIZE];

/* True if the bytes that begin with head are an .npy file. */
bool bpk_npy_begins(struct bpk_view head);

/*
 * Read the head of the .npy file at source's cursor, also in a pipe; the cursor does not move.
 * array (zeroed; released by bpk_array_clear) is the described array, head_size the head's size in
 * bytes. The array's bytes are not checked. Fails with BPK_FAILED if this is not an .npy file,
 * BPK_UNSUPPORTED for Python objects and for types that bpk_dtype_parse refuses, BPK_CORRUPT,
 * BPK_LIMIT, or as reading does.
 */
int bpk_npy_peek(struct bpk_source *source, struct bpk_array *array, size_t *head_size,
		 struct bpk_err *err);

/*
 * Append the head of an .npy file for array (version 1.0, or 2.0 or 3.0 if necessary); the array's
 * bytes, array->size of them, follow unchanged. The head's size is a multiple of 64.
 * Source: NumPy's description of its format.
 */
int bpk_npy_head(const struct bpk_array *array, struct bpk_buf *out, struct bpk_err *err);

#include "layout/gsd_copy.h"
#include "layout/gsd_editor.h"
#include "layout/gsd_salvage.h"

#endif
