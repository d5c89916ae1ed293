/*
 * Arrays grow and shrink by rows: bloscpack's metadata of an array record their number, and its own
 * reader relies on that number alone (Bloscpack format, "Metadata section", NumPy conventions). If
 * the new content is whole rows, the editor changes the first number of the shape in the same
 * commit. Called by editor.c, add.c and rewrite.c.
 */
#include "format/bloscpack/editor.h"

bool bpk_bloscpack_shape_follows(const struct bpk_bloscpack_editor *e)
{
	uint64_t rows;

	return !e->metadata.set && e->reader->metadata.good && e->reader->array.dtype.size > 0 &&
	       bpk_array_count_rows(&e->reader->array, 0, &rows);
}

int bpk_bloscpack_shape_follow(struct bpk_bloscpack_editor *e, struct bpk_err *err)
{
	const struct bpk_bloscpack_added *added = &e->added;
	const struct bpk_array *array = &e->reader->array;
	uint64_t rows;

	if (!bpk_bloscpack_shape_follows(e) ||
	    !bpk_array_count_rows(array, added->kept_raw + added->raw_size, &rows) ||
	    rows == array->shape[0])
		return 0;
	e->metadata.text.size = 0;
	if (bpk_array_set_rows(e->reader->info.metadata.text, rows, &e->metadata.text, err) != 0)
		return -1;
	e->metadata.set = true;
	e->rewrite.has_text = false;
	return 0;
}
