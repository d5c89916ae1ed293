/*
 * Reads and writes bloscpack's metadata of arrays (Bloscpack format, "Metadata section"). Called by
 * Bloscpack files, chunked directories, frames, merged.c and unpack.
 */
#include "format/array_metadata.h"

#include <inttypes.h>

/* The type: a string with Python's text; before 0.7.2 plain text or nested JSON lists. */
static int read_dtype(struct bpk_view value, struct bpk_dtype *dtype, struct bpk_err *err)
{
	struct bpk_buf text = { 0 };
	int rc;

	if (bpk_json_kind(value) != BPK_JSON_STRING)
		return bpk_dtype_parse(value, dtype, err);
	rc = bpk_json_string(value, &text, err);
	if (rc == 0)
		rc = bpk_dtype_parse(bpk_buf_view(&text), dtype, err);
	bpk_buf_clear(&text);
	return rc;
}

static int read_array(struct bpk_view text, struct bpk_array *array, struct bpk_err *err)
{
	struct bpk_view order = bpk_json_member(text, "order");
	uint64_t shape[BPK_ARRAY_MAX_DIMENSIONS];
	size_t ndimensions;

	if (bpk_array_read_shape(bpk_json_member(text, "shape"), shape, &ndimensions, err) != 0)
		return -1;
	if (order.size > 0 && !bpk_json_string_is(order, "C") && !bpk_json_string_is(order, "F"))
		return bpk_fail(err, BPK_USAGE, "order is '%.*s', expected \"C\" or \"F\"",
				(int)bpk_min_size(order.size, 40), (const char *)order.data);
	array->fortran = bpk_json_string_is(order, "F");
	if (read_dtype(bpk_json_member(text, "dtype"), &array->dtype, err) != 0)
		return -1;
	return bpk_array_set_shape(array, shape, ndimensions, err);
}

static int is_canonical(struct bpk_view text, const struct bpk_array *array, bool *canonical,
			struct bpk_err *err)
{
	struct bpk_buf ours = { 0 };
	int rc = bpk_array_print(array, &ours, err);

	*canonical =
		rc == 0 && ours.size == text.size && memcmp(ours.data, text.data, text.size) == 0;
	bpk_buf_clear(&ours);
	return rc;
}

int bpk_array_from_metadata(struct bpk_view text, struct bpk_array *array, bool *is_array,
			    bool *canonical, struct bpk_err *err)
{
	*array = (struct bpk_array){ 0 };
	*is_array = bpk_json_string_is(bpk_json_member(text, "container"), "numpy") &&
		    bpk_json_member(text, "dtype").size > 0 &&
		    bpk_json_member(text, "shape").size > 0;
	if (canonical != NULL)
		*canonical = false;
	if (!*is_array)
		return 0;
	if (read_array(text, array, err) != 0 ||
	    (canonical != NULL && is_canonical(text, array, canonical, err) != 0)) {
		bpk_array_clear(array);
		return -1;
	}
	return 0;
}

/* Print Python's repr of dtype.str, or of dtype.descr, as a JSON string. */
static int print_dtype(const struct bpk_dtype *dtype, struct bpk_buf *out, struct bpk_err *err)
{
	const char *quote = dtype->nfields == 0 && dtype->ndimensions == 0 ? "'" : "";
	struct bpk_buf text = { 0 };
	int rc = -1;

	if (bpk_buf_printf(&text, err, "%s", quote) == 0 &&
	    bpk_dtype_print(dtype, &text, err) == 0 && bpk_buf_printf(&text, err, "%s", quote) == 0)
		rc = bpk_json_put_string(out, bpk_buf_view(&text), err);
	bpk_buf_clear(&text);
	return rc;
}

int bpk_array_print(const struct bpk_array *array, struct bpk_buf *out, struct bpk_err *err)
{
	if (bpk_buf_printf(out, err, "{\"dtype\":") != 0 ||
	    print_dtype(&array->dtype, out, err) != 0 ||
	    bpk_buf_printf(out, err, ",\"shape\":[") != 0)
		return -1;
	for (size_t i = 0; i < array->ndimensions; i++)
		if (bpk_buf_printf(out, err, i == 0 ? "%" PRIu64 : ",%" PRIu64, array->shape[i]) !=
		    0)
			return -1;
	return bpk_buf_printf(out, err, "],\"order\":\"%s\",\"container\":\"numpy\"}",
			      array->fortran ? "F" : "C");
}

static const char *const own_members[] = { "dtype", "shape", "order", "container" };

static bool is_own(struct bpk_view key)
{
	for (size_t i = 0; i < sizeof own_members / sizeof *own_members; i++)
		if (bpk_json_string_is(key, own_members[i]))
			return true;
	return false;
}

int bpk_array_join_metadata(const struct bpk_array *array, struct bpk_view members,
			    struct bpk_buf *out, struct bpk_err *err)
{
	struct bpk_view key, value;

	if (bpk_array_print(array, out, err) != 0)
		return -1;
	if (bpk_json_kind(members) != BPK_JSON_OBJECT)
		return 0;
	out->size--; /* the closing brace */
	for (size_t at = 0; bpk_json_next(members, &at, &key, &value);)
		if (!is_own(key) && (bpk_buf_append(out, bpk_view(",", 1), err) != 0 ||
				     bpk_buf_append(out, key, err) != 0 ||
				     bpk_buf_append(out, bpk_view(":", 1), err) != 0 ||
				     bpk_buf_append(out, value, err) != 0))
			return -1;
	return bpk_buf_append(out, bpk_view("}", 1), err);
}

int bpk_array_strip_metadata(struct bpk_view text, struct bpk_buf *out, struct bpk_err *err)
{
	struct bpk_view value;
	size_t at = 0;
	bool found;

	out->size = 0;
	if (bpk_buf_append(out, text, err) != 0)
		return -1;
	for (size_t i = 0; i < sizeof own_members / sizeof *own_members; i++)
		if (bpk_json_remove(out, own_members[i], &found, err) != 0)
			return -1;
	if (!bpk_json_next(bpk_buf_view(out), &at, NULL, &value))
		out->size = 0;
	return 0;
}

int bpk_array_set_rows(struct bpk_view text, uint64_t rows, struct bpk_buf *out,
		       struct bpk_err *err)
{
	struct bpk_view first;
	size_t at = 0, start, end;

	if (!bpk_json_next(bpk_json_member(text, "shape"), &at, NULL, &first))
		return bpk_fail(err, BPK_BUG, "rows for an array without a dimension");
	start = (size_t)(first.data - text.data);
	end = start + first.size;
	if (bpk_buf_append(out, bpk_view(text.data, start), err) != 0 ||
	    bpk_buf_printf(out, err, "%" PRIu64, rows) != 0)
		return -1;
	return bpk_buf_append(out, bpk_view(text.data + end, text.size - end), err);
}
