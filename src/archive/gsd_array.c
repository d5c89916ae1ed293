/* Arrays from NumPy's files, put into frames of a GSD file. Called by append. */
#include "archive/trajectory.h"

enum { STEP = 1 << 20 }; /* bytes that are read at a time; a multiple of every element size */

/* ---- Opening ---- */

/* A pipe is copied to a spool first, since the layout reads at offsets. */
static int open_source(struct bpk_gsd_array *array, struct bpk_source **source, struct bpk_err *err)
{
	if (bpk_source_open(array->path, &array->source, err) != 0)
		return -1;
	*source = array->source;
	if (bpk_source_seekable(array->source))
		return 0;
	if (bpk_spool_open(&array->spool, err) != 0 ||
	    bpk_spool_fill(array->spool, array->source, err) != 0 ||
	    bpk_spool_source(array->spool, &array->spooled, err) != 0)
		return -1;
	*source = array->spooled;
	return 0;
}

static int fail_type(const struct bpk_array *array, struct bpk_err *err)
{
	struct bpk_buf text = { 0 };

	if (bpk_dtype_print(&array->dtype, &text, err) == 0)
		bpk_fail(err, BPK_UNSUPPORTED,
			 "has elements of type %.*s, a GSD file has integers of 1 to 8 bytes and "
			 "floats of 4 and 8; text goes in as int8",
			 (int)bpk_min_size(text.size, 200), (const char *)text.data);
	bpk_buf_clear(&text);
	return -1;
}

static int check(const struct bpk_array *array, struct bpk_err *err)
{
	const struct bpk_scalar *scalar = &array->dtype.scalar;
	uint32_t size = scalar->item_size;
	bool whole = (scalar->kind == 'u' || scalar->kind == 'i') &&
		     (size == 1 || size == 2 || size == 4 || size == 8);
	bool real = scalar->kind == 'f' && (size == 4 || size == 8);

	if (array->dtype.nfields > 0 || array->dtype.ndimensions > 0 || (!whole && !real))
		return fail_type(array, err);
	if (array->ndimensions > 2)
		return bpk_fail(err, BPK_UNSUPPORTED,
				"has %zu dimensions, arrays in a GSD file have two at most",
				array->ndimensions);
	return 0;
}

/* The layout takes an array of Python objects for bytes: the head tells. */
static int check_head(struct bpk_source *source, struct bpk_err *err)
{
	struct bpk_array told = { 0 };
	size_t head_size;
	int rc = bpk_npy_peek(source, &told, &head_size, err);

	bpk_array_clear(&told);
	return rc;
}

static int open_layout(struct bpk_gsd_array *array, struct bpk_source *source, struct bpk_err *err)
{
	const struct bpk_layout_info *info;

	if (bpk_layout_open(source, &array->layout, err) != 0)
		return -1;
	info = array->layout != NULL ? bpk_layout_info(array->layout) : NULL;
	if (info == NULL || strcmp(info->kind, "npy") != 0)
		return bpk_fail(err, BPK_UNSUPPORTED, "is not an .npy file");
	if (info->damage != NULL)
		return bpk_fail(err, BPK_CORRUPT, "%s", info->damage);
	if (check_head(source, err) != 0 ||
	    bpk_layout_get(array->layout, 0, &array->item, err) != 0)
		return -1;
	return check(array->item.array, err);
}

int bpk_gsd_array_open(struct bpk_gsd_array *array, const char *name, const char *path,
		       struct bpk_err *err)
{
	struct bpk_source *source = NULL;

	*array = (struct bpk_gsd_array){ .name = name, .path = path };
	if (open_source(array, &source, err) != 0 || open_layout(array, source, err) != 0)
		return bpk_err_subject(err, "%s", bpk_input_name(array->path));
	return 0;
}

void bpk_gsd_array_close(struct bpk_gsd_array *array)
{
	bpk_layout_close(array->layout);
	bpk_source_close(array->spooled);
	bpk_spool_close(array->spool);
	bpk_source_close(array->source);
	*array = (struct bpk_gsd_array){ 0 };
}

/* ---- Putting ---- */

static void swap_bytes(uint8_t *bytes, size_t size, size_t item_size)
{
	for (size_t at = 0; at < size; at += item_size)
		for (size_t i = 0; i < item_size / 2; i++) {
			uint8_t byte = bytes[at + i];

			bytes[at + i] = bytes[at + item_size - 1 - i];
			bytes[at + item_size - 1 - i] = byte;
		}
}

static struct bpk_source *source_of(const struct bpk_gsd_array *array)
{
	return array->spooled != NULL ? array->spooled : array->source;
}

static int write_turned(const struct bpk_gsd_array *array, struct bpk_gsd_editor *editor,
			struct bpk_span bytes, struct bpk_err *err)
{
	const struct bpk_scalar *scalar = &array->item.array->dtype.scalar;

	if (scalar->byte_order == '>')
		swap_bytes(bytes.data, bytes.size, scalar->item_size);
	return bpk_gsd_editor_write(editor, bpk_view_of_span(bytes), err);
}

static int put_rows(const struct bpk_gsd_array *array, struct bpk_gsd_editor *editor,
		    struct bpk_err *err)
{
	uint64_t left = array->item.array->size, offset = array->item.offset;
	struct bpk_buf buf = { 0 };
	int rc = bpk_buf_resize(&buf, (size_t)bpk_min_u64(left, STEP), err);

	while (rc == 0 && left > 0) {
		struct bpk_span bytes = bpk_span(buf.data, (size_t)bpk_min_u64(left, STEP));

		rc = bpk_source_need_at(source_of(array), offset, bytes, err);
		if (rc == 0)
			rc = write_turned(array, editor, bytes, err);
		offset += bytes.size;
		left -= bytes.size;
	}
	bpk_buf_clear(&buf);
	return rc;
}

/* Write an array in Fortran's order row by row. Costs twice the array in memory; a file of that
 * size is there. */
static int put_columns(const struct bpk_gsd_array *array, struct bpk_gsd_editor *editor,
		       struct bpk_err *err)
{
	const struct bpk_array *a = array->item.array;
	const struct bpk_slice all = { .ndimensions = 2, .stop = { a->shape[0], a->shape[1] } };
	struct bpk_buf columns = { 0 }, rows = { 0 };
	int rc = -1;

	if (a->size > SIZE_MAX / 2) {
		bpk_fail_memory(err, a->size);
	} else if (bpk_buf_resize(&columns, (size_t)a->size, err) == 0 &&
		   bpk_buf_resize(&rows, (size_t)a->size, err) == 0 &&
		   bpk_source_need_at(source_of(array), array->item.offset,
				      bpk_span(columns.data, columns.size), err) == 0) {
		bpk_slice_transpose(&all, a->dtype.scalar.item_size, bpk_buf_view(&columns),
				    bpk_span(rows.data, rows.size));
		rc = write_turned(array, editor, bpk_span(rows.data, rows.size), err);
	}
	bpk_buf_clear(&columns);
	bpk_buf_clear(&rows);
	return rc;
}

int bpk_gsd_array_put(struct bpk_gsd_array *array, struct bpk_gsd_editor *editor,
		      struct bpk_err *err)
{
	const struct bpk_array *a = array->item.array;
	uint64_t nrows = a->ndimensions > 0 ? a->shape[0] : 1;
	uint64_t ncolumns = a->ndimensions > 1 ? a->shape[1] : 1;

	if (bpk_gsd_editor_put(editor, array->name, &a->dtype.scalar, nrows, ncolumns, err) != 0)
		return -1;
	if (a->fortran && a->ndimensions == 2)
		return put_columns(array, editor, err);
	return put_rows(array, editor, err);
}
