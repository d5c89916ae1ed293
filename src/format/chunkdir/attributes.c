/*
 * Converts an array's shape and the user's metadata to the attributes of a directory and back, by
 * the rules in chunkdir.h. Plan, editor and reader call it.
 */
#include "format/chunkdir/chunkdir.h"

#include <inttypes.h>

static const char numpy_key[] = "numpy", wrapper_key[] = "bpk_metadata";

/* ---- Texts ---- */

static bool is_space(uint8_t byte)
{
	return byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r';
}

static struct bpk_view trim(struct bpk_view text)
{
	while (text.size > 0 && is_space(text.data[text.size - 1]))
		text.size--;
	while (text.size > 0 && is_space(*text.data)) {
		text.data++;
		text.size--;
	}
	return text;
}

static bool is_empty(struct bpk_view members)
{
	return trim(members).size == 0;
}

/* The text between the braces of an object. */
static struct bpk_view inside(struct bpk_view object)
{
	return bpk_view(object.data + 1, object.size - 2);
}

static bool starts_with(struct bpk_view text, struct bpk_view start)
{
	return text.size >= start.size &&
	       (start.size == 0 || memcmp(text.data, start.data, start.size) == 0);
}

static bool same_text(struct bpk_view a, struct bpk_view b)
{
	return a.size == b.size && starts_with(a, b);
}

static struct bpk_view text_of(const char *text)
{
	return bpk_view(text, strlen(text));
}

static bool has_member(struct bpk_view object, const char *key)
{
	return bpk_json_member(object, key).size > 0;
}

/* True if object uses a name of ours, or (with an array) of bloscpack's. */
static bool has_reserved(struct bpk_view object, bool beside_array)
{
	static const char *const of_arrays[] = { "dtype", "shape", "order", "container" };

	if (has_member(object, numpy_key) || has_member(object, wrapper_key))
		return true;
	for (size_t i = 0; beside_array && i < sizeof of_arrays / sizeof *of_arrays; i++)
		if (has_member(object, of_arrays[i]))
			return true;
	return false;
}

/* ---- To the directory ---- */

/* How the user's text is stored: as these members, or whole under a key of its own. */
struct kept {
	struct bpk_view members;
	bool wrapped;
};

static struct kept sort_metadata(struct bpk_view canonical, struct bpk_view text)
{
	struct bpk_view front = bpk_view(canonical.data, canonical.size - 1);
	bool beside_array = canonical.size > 0;

	if (text.size == 0 || (beside_array && same_text(text, canonical)))
		return (struct kept){ 0 };
	if (beside_array && starts_with(text, front) && text.data[front.size] == ',' &&
	    text.data[text.size - 1] == '}' && !has_reserved(text, false))
		return (struct kept){
			bpk_view(text.data + canonical.size, text.size - canonical.size - 1), false
		};
	if (*text.data == '{' && text.data[text.size - 1] == '}' && !is_empty(inside(text)) &&
	    !has_reserved(text, beside_array))
		return (struct kept){ inside(text), false };
	return (struct kept){ text, true };
}

static int put_numpy(const struct bpk_array *array, struct bpk_buf *out, struct bpk_err *err)
{
	if (bpk_buf_printf(out, err, "\"%s\": {\"shape\": [", numpy_key) != 0)
		return -1;
	for (size_t i = 0; i < array->ndimensions; i++)
		if (bpk_buf_printf(out, err, "%s%" PRIu64, i > 0 ? ", " : "", array->shape[i]) != 0)
			return -1;
	return bpk_buf_printf(out, err, "], \"order\": \"%s\"}", array->fortran ? "F" : "C");
}

static int put_attributes(const struct bpk_array *numpy, const struct kept *kept,
			  struct bpk_buf *out, struct bpk_err *err)
{
	if (bpk_buf_printf(out, err, "{") != 0 ||
	    (numpy != NULL && put_numpy(numpy, out, err) != 0))
		return -1;
	if (numpy != NULL && kept->members.size > 0 && bpk_buf_printf(out, err, ", ") != 0)
		return -1;
	if (kept->wrapped && bpk_buf_printf(out, err, "\"%s\": ", wrapper_key) != 0)
		return -1;
	if (bpk_buf_append(out, kept->members, err) != 0)
		return -1;
	return bpk_buf_printf(out, err, "}");
}

int bpk_chunkdir_attributes_make(const struct bpk_array *array, bool with_shape,
				 struct bpk_view metadata, struct bpk_buf *attributes,
				 struct bpk_err *err)
{
	struct bpk_buf canonical = { 0 };
	struct kept kept;
	int rc = -1;

	if (metadata.size > BPK_CHUNKDIR_MAX_ATTRIBUTES - BPK_CHUNKDIR_OWN_ATTRIBUTES)
		return bpk_fail(
			err, BPK_LIMIT, "metadata of %zu bytes, a chunked directory takes %d",
			metadata.size, BPK_CHUNKDIR_MAX_ATTRIBUTES - BPK_CHUNKDIR_OWN_ATTRIBUTES);
	if (metadata.size > 0 && bpk_json_check(metadata, err) != 0)
		return -1;
	if (array != NULL && bpk_array_print(array, &canonical, err) != 0)
		goto out;
	kept = sort_metadata(bpk_buf_view(&canonical), metadata);
	rc = put_attributes(with_shape ? array : NULL, &kept, attributes, err);
out:
	bpk_buf_clear(&canonical);
	return rc;
}

/* ---- And back: the array ---- */

/* Read the shape and order in "numpy"; false if it is malformed. */
static bool read_numpy(struct bpk_view numpy, struct bpk_array *said)
{
	struct bpk_view shape = bpk_json_member(numpy, "shape"), item;
	struct bpk_view order = bpk_json_member(numpy, "order");
	size_t at = 0;

	if (bpk_json_kind(shape) != BPK_JSON_LIST)
		return false;
	while (bpk_json_next(shape, &at, NULL, &item)) {
		if (said->ndimensions == BPK_ARRAY_MAX_DIMENSIONS ||
		    !bpk_json_u64(item, &said->shape[said->ndimensions++]))
			return false;
	}
	said->fortran = same_text(order, text_of("\"F\""));
	return said->fortran || same_text(order, text_of("\"C\""));
}

/* Set the slowest dimension of said so that it has nitems items; false if that is impossible. */
static bool fit_shape(struct bpk_array *said, uint64_t nitems)
{
	size_t slowest = said->fortran ? said->ndimensions - 1 : 0;
	uint64_t others = 1;

	if (said->ndimensions == 0)
		return nitems == 1;
	for (size_t i = 0; i < said->ndimensions; i++)
		if (i != slowest && !bpk_mul_u64(others, said->shape[i], &others))
			return false;
	if (others == 0)
		return nitems == 0;
	said->shape[slowest] = nitems / others;
	return nitems % others == 0;
}

static bool is_bytes(const struct bpk_array *array)
{
	const struct bpk_dtype *dtype = &array->dtype;

	return dtype->nfields == 0 && dtype->ndimensions == 0 && dtype->scalar.kind == 'u' &&
	       dtype->size == 1 && array->ndimensions == 1 && !array->fortran;
}

static int array_back(const struct bpk_array *stored, bool keeps_bytes, struct bpk_view attributes,
		      struct bpk_chunkdir_attributes *described, struct bpk_err *err)
{
	struct bpk_array said = { 0 };
	struct bpk_array *array = &described->array;
	bool numpy = read_numpy(bpk_json_member(attributes, numpy_key), &said);

	if (!numpy && keeps_bytes && is_bytes(stored))
		return 0;
	if (bpk_array_copy(stored, array, err) != 0)
		return -1;
	described->has_array = true;
	described->has_numpy = numpy;
	if (!numpy || stored->dtype.size == 0 ||
	    !fit_shape(&said, stored->size / stored->dtype.size))
		return 0;
	array->fortran = said.fortran;
	return bpk_array_set_shape(array, said.shape, said.ndimensions, err);
}

/* ---- And back: the metadata ---- */

/* Restore the user's object: attributes without "numpy", undoing put_attributes to the byte. */
static int put_user_object(struct bpk_view attributes, struct bpk_buf *out, struct bpk_err *err)
{
	struct bpk_view object = trim(attributes), numpy = bpk_json_member(object, numpy_key), rest;
	size_t front = strlen("{\"\": ") + strlen(numpy_key);
	bool found;

	if (object.size == 0)
		return bpk_buf_printf(out, err, "{}");
	if (numpy.size > 0 && numpy.data == object.data + front) {
		rest = bpk_view(numpy.data + numpy.size, object.size - front - numpy.size);
		if (starts_with(rest, text_of(", ")))
			return bpk_buf_printf(out, err, "{") != 0
				       ? -1
				       : bpk_buf_append(out, bpk_view(rest.data + 2, rest.size - 2),
							err);
	}
	if (bpk_buf_append(out, object, err) != 0)
		return -1;
	return bpk_json_remove(out, numpy_key, &found, err);
}

/* The text under our key, if object has no other member; with its spaces if we wrote it. */
static struct bpk_view unwrap(struct bpk_view object)
{
	struct bpk_view text = bpk_json_member(object, wrapper_key), value;
	size_t front = strlen("{\"\": ") + strlen(wrapper_key), at = 0;
	bool first = bpk_json_next(object, &at, NULL, &value) && value.data == text.data;

	if (!first || bpk_json_next(object, &at, NULL, &value))
		return bpk_view(NULL, 0);
	if (starts_with(object, text_of("{\"bpk_metadata\": ")))
		return bpk_view(object.data + front, object.size - front - 1);
	return text;
}

static int set_shape(struct bpk_buf *metadata, const struct bpk_array *array, struct bpk_err *err)
{
	struct bpk_buf shape = { 0 };
	int rc = bpk_buf_printf(&shape, err, "[");

	for (size_t i = 0; rc == 0 && i < array->ndimensions; i++)
		rc = bpk_buf_printf(&shape, err, "%s%" PRIu64, i > 0 ? "," : "", array->shape[i]);
	if (rc == 0)
		rc = bpk_buf_append(&shape, bpk_view("]", sizeof "]"), err);
	if (rc == 0)
		rc = bpk_json_set(metadata, "shape", (const char *)shape.data, err);
	bpk_buf_clear(&shape);
	return rc;
}

/* If text is bloscpack's metadata of array, put it, with the current shape. */
static int put_if_of_array(const struct bpk_array *array, struct bpk_view text, struct bpk_buf *out,
			   bool *put_it, struct bpk_err *err)
{
	struct bpk_array said = { 0 };
	struct bpk_err strange = { 0 };
	bool is_array = false;
	int rc = 0;

	if (bpk_array_from_metadata(text, &said, &is_array, NULL, &strange) != 0) {
		if (strange.kind == BPK_NO_MEMORY)
			rc = bpk_fail_as(err, &strange);
		is_array = false;
	}
	*put_it = rc == 0 && is_array && said.fortran == array->fortran &&
		  bpk_dtype_equal(&said.dtype, &array->dtype);
	if (*put_it)
		rc = bpk_buf_append(out, text, err);
	if (rc == 0 && *put_it &&
	    (said.ndimensions != array->ndimensions ||
	     memcmp(said.shape, array->shape, said.ndimensions * sizeof *said.shape) != 0))
		rc = set_shape(out, array, err);
	bpk_array_clear(&said);
	return rc;
}

/* Put bloscpack's description of the array, then the user's members; or the whole object under our
 * key, if one of its members has a reserved name. */
static int put_merged(const struct bpk_array *array, struct bpk_view object, struct bpk_buf *out,
		      struct bpk_err *err)
{
	struct bpk_view members = inside(object);

	if (bpk_array_print(array, out, err) != 0)
		return -1;
	if (is_empty(members))
		return 0;
	out->size--; /* the closing brace */
	if (has_reserved(object, true) && !has_member(object, wrapper_key))
		return bpk_buf_printf(out, err, ",\"%s\": ", wrapper_key) != 0 ||
				       bpk_buf_append(out, object, err) != 0
			       ? -1
			       : bpk_buf_printf(out, err, "}");
	if (bpk_buf_printf(out, err, ",") != 0 || bpk_buf_append(out, members, err) != 0)
		return -1;
	return bpk_buf_printf(out, err, "}");
}

static int metadata_back(struct bpk_view object, struct bpk_chunkdir_attributes *described,
			 struct bpk_err *err)
{
	struct bpk_view text = unwrap(object);
	bool done = false;

	described->has_metadata = described->has_array || !is_empty(inside(object));
	if (!described->has_metadata)
		return 0;
	if (!described->has_array)
		return bpk_buf_append(&described->metadata, text.size > 0 ? text : object, err);
	if (text.size > 0 &&
	    put_if_of_array(&described->array, text, &described->metadata, &done, err) != 0)
		return -1;
	return done ? 0 : put_merged(&described->array, object, &described->metadata, err);
}

/* ---- The whole ---- */

int bpk_chunkdir_attributes_read(const struct bpk_array *stored, bool keeps_bytes,
				 struct bpk_view attributes,
				 struct bpk_chunkdir_attributes *described, struct bpk_err *err)
{
	struct bpk_buf object = { 0 };
	int rc = -1;

	if (array_back(stored, keeps_bytes, attributes, described, err) == 0 &&
	    put_user_object(attributes, &object, err) == 0)
		rc = metadata_back(bpk_buf_view(&object), described, err);
	bpk_buf_clear(&object);
	return rc;
}

void bpk_chunkdir_attributes_clear(struct bpk_chunkdir_attributes *described)
{
	bpk_array_clear(&described->array);
	bpk_buf_clear(&described->metadata);
	*described = (struct bpk_chunkdir_attributes){ 0 };
}
