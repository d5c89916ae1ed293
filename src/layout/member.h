/*
 * Internal to layout: the operations of a member, and helpers.
 */
#ifndef BPK_LAYOUT_MEMBER_H
#define BPK_LAYOUT_MEMBER_H

#include "layout/layout.h"

/*
 * open reads source (borrowed until close), fills info and creates *own for the other calls. It
 * fails with BPK_CORRUPT, BPK_UNSUPPORTED or BPK_LIMIT for a file that it cannot read from the
 * start: the file is plain bytes then. Damage further on ends the list of arrays and is reported in
 * info.damage. Counts from the file are checked against the existing bytes before any allocation.
 */
struct bpk_layout_ops {
	const char *title;                                  /* as bpk_layout_title */
	bool (*probe)(struct bpk_view head, uint64_t size); /* as bpk_layout_title */
	int (*open)(struct bpk_source *source, void **own, struct bpk_layout_info *info,
		    struct bpk_err *err);
	int (*get)(void *own, uint64_t number, struct bpk_item *item, struct bpk_err *err);
	/* NULL: all arrays are searched. */
	int (*find)(void *own, const char *name, uint64_t frame, bool defaults,
		    struct bpk_item *item, struct bpk_err *err);
	/* As bpk_layout_parts. NULL: no parts. */
	size_t (*parts)(const void *own, struct bpk_layout_part parts[BPK_LAYOUT_PARTS]);
	/* As bpk_layout_unused. NULL: no such bytes. */
	uint64_t (*unused)(const void *own, uint64_t at);
	void (*close)(void *own);
};

extern const struct bpk_layout_ops bpk_layout_dcd, bpk_layout_fits_file, bpk_layout_gsd,
	bpk_layout_netcdf, bpk_layout_npy, bpk_layout_npz, bpk_layout_trr, bpk_layout_wav;

/* A text from the file for display: bytes up to the first NUL (or size); control bytes and bytes
 * that are not UTF-8 become \xHH. Owned by the caller. NULL without memory. */
char *bpk_layout_text(struct bpk_view bytes, struct bpk_err *err);

/* Set array to a scalar type, such as "<f4", and a shape, including its size. Fails with
 * BPK_LIMIT. */
int bpk_layout_set_array(struct bpk_array *array, char kind, char byte_order, uint32_t item_size,
			 const uint64_t *shape, size_t ndimensions, struct bpk_err *err);

/* True if size bytes from offset are inside a file of file_size bytes. */
static inline bool bpk_layout_fits(uint64_t file_size, uint64_t offset, uint64_t size)
{
	return offset <= file_size && size <= file_size - offset;
}

#endif
