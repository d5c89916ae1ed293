/*
 * Copying and comparing single arrays of GSD files, piece by piece. Called by gsd_copy.c,
 * gsd_first.c and archive/join_follow.c.
 */
#include "layout/gsd_first.h"
#include "layout/layout.h"

enum { STEP = 1 << 20 }; /* bytes per piece */

/* Read the next bytes of an array, from at on. */
static int read_piece(const struct bpk_gsd_file *file, const struct bpk_item *item, uint64_t at,
		      struct bpk_buf *piece, struct bpk_err *err)
{
	if (bpk_buf_resize(piece, (size_t)bpk_min_u64(item->array->size - at, STEP), err) != 0)
		return -1;
	return bpk_item_read(file->source, item, at, bpk_span(piece->data, piece->size), err);
}

int bpk_gsd_copy_put(struct bpk_gsd_copy *copy, const char *name, const struct bpk_item *item,
		     struct bpk_err *err)
{
	const struct bpk_array *array = item->array;
	struct bpk_scalar scalar = array->dtype.scalar;
	uint64_t nrows = array->ndimensions > 0 ? array->shape[0] : 1;
	uint64_t ncolumns = array->ndimensions > 1 ? array->shape[1] : 1;
	int rc;

	/* text is one string in layouts, and single characters in the file */
	if (scalar.kind == 'S') {
		nrows = array->size;
		scalar.item_size = 1;
	}
	rc = bpk_gsd_editor_put(copy->editor, name, &scalar, nrows, ncolumns, err);
	for (uint64_t at = 0; rc == 0 && at < array->size; at += STEP) {
		rc = read_piece(&copy->more, item, at, &copy->piece, err);
		if (rc == 0)
			rc = bpk_gsd_editor_write(copy->editor, bpk_buf_view(&copy->piece), err);
	}
	return rc;
}

int bpk_gsd_copy_compare(struct bpk_gsd_copy *copy, const struct bpk_item *held,
			 const struct bpk_item *more, bool *same, struct bpk_err *err)
{
	struct bpk_buf other = { 0 };
	int rc = 0;

	*same = bpk_array_is_like(held->array, more->array);
	for (uint64_t at = 0; rc == 0 && *same && at < held->array->size; at += STEP) {
		rc = read_piece(&copy->held, held, at, &other, err);
		if (rc == 0)
			rc = read_piece(&copy->more, more, at, &copy->piece, err);
		*same = rc == 0 && memcmp(other.data, copy->piece.data, other.size) == 0;
	}
	bpk_buf_clear(&other);
	return rc;
}
