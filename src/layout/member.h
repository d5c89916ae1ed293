/*
 * Inside the room layout: what each kind of file brings.
 */
#ifndef BPK_LAYOUT_MEMBER_H
#define BPK_LAYOUT_MEMBER_H

#include "layout/layout.h"

enum { BPK_LAYOUT_HEAD = 512 }; /* bytes that probe sees, less of shorter files */

/*
 * open reads source (borrowed until close), fills info and makes *own, which the other calls get.
 * It fails with BPK_CORRUPT, BPK_UNSUPPORTED or BPK_LIMIT for what it cannot follow from the start:
 * the file is plain bytes then. What is wrong further on ends the arrays there, and is told in
 * info.damage. Counts from the file are checked against the bytes that are there before anything
 * is allocated.
 */
struct bpk_layout_ops {
	bool (*probe)(struct bpk_view head, uint64_t size); /* of the file */
	int (*open)(struct bpk_source *source, void **own, struct bpk_layout_info *info,
		    struct bpk_err *err);
	int (*get)(void *own, uint64_t number, struct bpk_item *item, struct bpk_err *err);
	/* NULL: all arrays are looked through. */
	int (*find)(void *own, const char *name, uint64_t frame, bool defaults,
		    struct bpk_item *item, struct bpk_err *err);
	/* As bpk_layout_parts. NULL: there are none. */
	size_t (*parts)(const void *own, struct bpk_layout_part parts[BPK_LAYOUT_PARTS]);
	void (*close)(void *own);
};

extern const struct bpk_layout_ops bpk_layout_dcd, bpk_layout_fits_file, bpk_layout_gsd,
	bpk_layout_netcdf, bpk_layout_npy, bpk_layout_npz, bpk_layout_trr, bpk_layout_wav;

/* A text of the file's for people to see: bytes up to the first NUL (or size), with what is no
 * UTF-8, and control bytes, as \\xHH. Owned by the caller. NULL: no memory. */
char *bpk_layout_text(struct bpk_view bytes, struct bpk_err *err);

/* Set array to a scalar type, "<f4" or so, and a shape; its size with it. Fails with BPK_LIMIT. */
int bpk_layout_set_array(struct bpk_array *array, char kind, char byte_order, uint32_t item_size,
			 const uint64_t *shape, size_t ndimensions, struct bpk_err *err);

/* size bytes from offset lie inside a file of file_size bytes. */
static inline bool bpk_layout_fits(uint64_t file_size, uint64_t offset, uint64_t size)
{
	return offset <= file_size && size <= file_size - offset;
}

#endif
