/*
 * Arrays: copies, comparison, shapes and rows. Called by layouts, formats, choose, archive and cli.
 */
#include "base/base.h"

#include <inttypes.h>

void bpk_array_clear(struct bpk_array *array)
{
	bpk_dtype_clear(&array->dtype);
	*array = (struct bpk_array){ 0 };
}

int bpk_array_copy(const struct bpk_array *from, struct bpk_array *to, struct bpk_err *err)
{
	*to = *from;
	return bpk_dtype_copy(&from->dtype, &to->dtype, err);
}

static bool scalar_equal(const struct bpk_scalar *a, const struct bpk_scalar *b)
{
	return a->kind == b->kind && a->byte_order == b->byte_order &&
	       a->item_size == b->item_size && strcmp(a->unit, b->unit) == 0;
}

bool bpk_dtype_equal(const struct bpk_dtype *a, const struct bpk_dtype *b)
{
	if (!scalar_equal(&a->scalar, &b->scalar) || a->nfields != b->nfields ||
	    a->ndimensions != b->ndimensions ||
	    memcmp(a->shape, b->shape, a->ndimensions * sizeof *a->shape) != 0)
		return false;
	for (size_t i = 0; i < a->nfields; i++)
		if (strcmp(a->fields[i].name, b->fields[i].name) != 0 ||
		    !bpk_dtype_equal(&a->fields[i].dtype, &b->fields[i].dtype))
			return false;
	return true;
}

bool bpk_scalar_is_like(const struct bpk_scalar *a, const struct bpk_scalar *b)
{
	return a->kind == b->kind && a->item_size == b->item_size;
}

bool bpk_array_is_like(const struct bpk_array *a, const struct bpk_array *b)
{
	return bpk_scalar_is_like(&a->dtype.scalar, &b->dtype.scalar) &&
	       a->ndimensions == b->ndimensions &&
	       memcmp(a->shape, b->shape, a->ndimensions * sizeof *a->shape) == 0;
}

int bpk_array_set_shape(struct bpk_array *array, const uint64_t *shape, size_t ndimensions,
			struct bpk_err *err)
{
	uint64_t size = array->dtype.size;
	bool empty = false;

	if (ndimensions > BPK_ARRAY_MAX_DIMENSIONS)
		return bpk_fail(err, BPK_LIMIT, "array has %zu dimensions, at most %d are accepted",
				ndimensions, BPK_ARRAY_MAX_DIMENSIONS);
	for (size_t i = 0; i < ndimensions; i++)
		empty = empty || shape[i] == 0;
	for (size_t i = 0; i < ndimensions && !empty; i++)
		if (!bpk_mul_u64(size, shape[i], &size) || size > INT64_MAX)
			return bpk_fail(err, BPK_LIMIT, "array has 2^63 bytes or more");
	array->size = empty ? 0 : size;
	array->ndimensions = ndimensions;
	memset(array->shape, 0, sizeof array->shape);
	bpk_copy(array->shape, shape, ndimensions * sizeof *shape);
	return 0;
}

int bpk_array_read_shape(struct bpk_view list, uint64_t shape[BPK_ARRAY_MAX_DIMENSIONS],
			 size_t *ndimensions, struct bpk_err *err)
{
	struct bpk_view value;

	*ndimensions = 0;
	if (bpk_json_kind(list) != BPK_JSON_LIST)
		return bpk_fail(err, BPK_USAGE, "shape is not a list");
	for (size_t at = 0; bpk_json_next(list, &at, NULL, &value);) {
		if (*ndimensions == BPK_ARRAY_MAX_DIMENSIONS)
			return bpk_fail(err, BPK_LIMIT, "shape has more than %d dimensions",
					BPK_ARRAY_MAX_DIMENSIONS);
		if (!bpk_json_u64(value, &shape[*ndimensions]))
			return bpk_fail(err, BPK_USAGE,
					"shape has the dimension '%.*s', expected an integer from "
					"0 to 2^63-1",
					(int)bpk_min_size(value.size, 40),
					(const char *)value.data);
		++*ndimensions;
	}
	return 0;
}

bool bpk_array_count_rows(const struct bpk_array *array, uint64_t size, uint64_t *rows)
{
	uint64_t row_size = array->dtype.size;

	if (array->fortran || array->ndimensions == 0)
		return false;
	for (size_t i = 1; i < array->ndimensions; i++)
		if (!bpk_mul_u64(row_size, array->shape[i], &row_size))
			return false;
	if (row_size == 0 || size % row_size != 0)
		return false;
	*rows = size / row_size;
	return true;
}
