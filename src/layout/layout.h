/*
 * The room layout: what raw bytes are. Each member recognises one kind of simulation file by its
 * content and tells of the arrays inside it, by name and frame: their types and shapes, and the
 * bytes where they lie. It sees raw bytes through any seekable source, a file or the unpacked view
 * of an archive alike, trusts no number in them, and knows no chunks and no archives.
 *
 * An array's bytes lie in one piece. What files hold in several pieces (the records of NetCDF, the
 * frames of trajectories) are as many arrays of one name in frames of their own.
 */
#ifndef BPK_LAYOUT_LAYOUT_H
#define BPK_LAYOUT_LAYOUT_H

#include "base/base.h"
#include "io/io.h"

struct bpk_layout;

/* What a file is, as a whole. Texts belong to the layout, are UTF-8 without control bytes, and may
 * be NULL where the file has nothing of the kind. */
struct bpk_layout_info {
	const char *kind;        /* "gsd", "npy": as users name it */
	const char *variant;     /* "2.0", "64-bit offset" */
	const char *application; /* that wrote it */
	const char *schema;      /* "hoomd 1.4" */
	uint64_t narrays;        /* in all frames together */
	uint64_t nframes;        /* BPK_UNKNOWN: the file knows no frames */
	uint64_t last_step;      /* of the simulation, in the last frame; BPK_UNKNOWN */

	/* The first thing that is wrong behind what can be read ("frame 12 is cut short"); NULL:
	 * nothing was found. */
	const char *damage;
};

/* One array of one frame. Points into the layout, and is valid until its next call from the same
 * thread. */
struct bpk_item {
	const char *name; /* UTF-8 without control bytes, never empty; parts divided by "/" */
	uint64_t frame;   /* from 0; BPK_UNKNOWN: the file knows none, or it belongs to all */
	uint64_t step;    /* of the simulation; BPK_UNKNOWN */
	const struct bpk_array *array; /* type, shape, order, size in bytes */

	/* Its first byte in the file: array->size bytes from there are inside it, as it was at
	 * open. BPK_UNKNOWN: it does not stand there, and is the bytes of fill again and again,
	 * a divisor of array->size (which may be 0) long. */
	uint64_t offset;
	struct bpk_view fill;

	bool pickled; /* the items are Python's objects, and the bytes their pickle: no array */
};

/*
 * Recognise what source holds. *layout is NULL, without an error, when no member knows it, or its
 * head is too damaged to be followed: then these are plain bytes. source must be seekable and is
 * borrowed until close. Reads what it must to know where everything lies, at most once over the
 * file's own tables. Fails with BPK_FAILED or what else reading fails with (a damaged archive
 * below), and BPK_NO_MEMORY.
 */
int bpk_layout_open(struct bpk_source *source, struct bpk_layout **layout, struct bpk_err *err);
void bpk_layout_close(struct bpk_layout *layout); /* NULL is harmless */

const struct bpk_layout_info *bpk_layout_info(const struct bpk_layout *layout);

/* Array number, below info's narrays, in the order of frames and then of their bytes, or as the
 * file lists them. Cheap for ascending numbers: what lies around the arrays is not looked at. One
 * thread at a time, as all that follows. */
int bpk_layout_get(struct bpk_layout *layout, uint64_t number, struct bpk_item *item,
		   struct bpk_err *err);

/*
 * The array of that name in a frame; frame is BPK_UNKNOWN for those that belong to none or to all,
 * which are found in every frame, too. defaults: where the frame has none, what the file's schema
 * says stands for it (hoomd's: that of frame 0, or a constant). Returns 1 when there is none, or no
 * such frame; fails with BPK_CORRUPT where the file marks its arrays and the marks are wrong.
 */
int bpk_layout_find(struct bpk_layout *layout, const char *name, uint64_t frame, bool defaults,
		    struct bpk_item *item, struct bpk_err *err);

/*
 * Read out.size bytes of an item, from its byte at on; they lie inside array->size. source is that
 * of its layout. Fails as bpk_source_need_at.
 */
int bpk_item_read(struct bpk_source *source, const struct bpk_item *item, uint64_t at,
		  struct bpk_span out, struct bpk_err *err);

/* ---- Files that grow ---- */

/* Bytes that a writer changes while the file grows. */
struct bpk_layout_part {
	const char *name; /* "frame count"; static */
	uint64_t offset, size;
	bool fills; /* only the zeros at its end are written over */
};

enum { BPK_LAYOUT_PARTS = 3 }; /* of a file, at most */

/* Tell these parts and return how many they are; none for kinds whose bytes stay as they were
 * written. They may reach past the file's end. Fixed after open. */
size_t bpk_layout_parts(const struct bpk_layout *layout,
			struct bpk_layout_part parts[BPK_LAYOUT_PARTS]);

/* ---- NumPy's files ---- */

/* What every .npy file begins with. */
enum { BPK_NPY_MAGIC_SIZE = 6 };
extern const uint8_t bpk_npy_magic[BPK_NPY_MAGIC_SIZE];

/*
 * Take the head of the .npy file that source's cursor is at, in a pipe, too; the cursor stays where
 * it is. array (zeroed; for bpk_array_clear) is what the head tells of, head_size how many bytes
 * it has; whether the array's bytes follow is not looked at. Fails with BPK_FAILED where this is no
 * .npy file, BPK_UNSUPPORTED for Python's objects and types that bpk_dtype_parse does not take,
 * BPK_CORRUPT, BPK_LIMIT, or as reading does.
 */
int bpk_npy_peek(struct bpk_source *source, struct bpk_array *array, size_t *head_size,
		 struct bpk_err *err);

/*
 * Append the head of an .npy file (version 1.0, or 2.0 or 3.0 where it must be) that tells of
 * array; its bytes, array->size of them, follow as they are. The head's size is a multiple of 64.
 * Source: NumPy's description of its format.
 */
int bpk_npy_head(const struct bpk_array *array, struct bpk_buf *out, struct bpk_err *err);

#include "layout/gsd_copy.h"
#include "layout/gsd_editor.h"

#endif
