/*
 * Writing heads of .npy files, byte for byte as NumPy 1.24 does. Called by pack, unpack and cat.
 */
#include "layout/npy.h"

#include <inttypes.h>
#include <stdio.h>

/* NumPy reserves space for the dimension along which a file may grow: the digits of 8 * 2^64 -
 * 1. */
enum { GROWTH_DIGITS = 21, ALIGN = 64 };

/* True if the array is in Fortran order and that differs from C order. NumPy writes True only
 * then. */
static bool is_fortran(const struct bpk_array *array)
{
	size_t wide = 0;

	for (size_t i = 0; i < array->ndimensions; i++) {
		if (array->shape[i] == 0)
			return false;
		wide += array->shape[i] > 1;
	}
	return array->fortran && wide > 1;
}

/* Append the dimensions of items to the array's shape, because .npy files have no item shapes. */
static int flat_shape(const struct bpk_array *array, struct bpk_array *flat, struct bpk_err *err)
{
	const struct bpk_dtype *item = &array->dtype;

	*flat = (struct bpk_array){ .ndimensions = array->ndimensions,
				    .fortran = is_fortran(array) };
	if (array->ndimensions + item->ndimensions > BPK_ARRAY_MAX_DIMENSIONS)
		return bpk_fail(err, BPK_LIMIT, "array has more than %d dimensions",
				BPK_ARRAY_MAX_DIMENSIONS);
	if (flat->fortran && item->ndimensions > 0)
		return bpk_fail(err, BPK_UNSUPPORTED,
				"arrays in Fortran's order of items that are arrays themselves "
				"cannot be written as npy");
	memcpy(flat->shape, array->shape, sizeof flat->shape);
	for (size_t i = 0; i < item->ndimensions; i++)
		flat->shape[flat->ndimensions++] = item->shape[i];
	return 0;
}

static int put_descr(const struct bpk_dtype *dtype, struct bpk_buf *text, struct bpk_err *err)
{
	struct bpk_dtype item = *dtype; /* borrowed */
	const char *quote = dtype->nfields == 0 ? "'" : "";

	item.ndimensions = 0;
	if (bpk_dtype_is_opaque(dtype))
		return bpk_fail(err, BPK_UNSUPPORTED,
				"arrays of Python objects cannot be written as npy");
	if (bpk_buf_printf(text, err, "{'descr': %s", quote) != 0 ||
	    bpk_dtype_print(&item, text, err) != 0)
		return -1;
	return bpk_buf_printf(text, err, "%s, ", quote);
}

static int put_shape(const struct bpk_array *flat, struct bpk_buf *text, struct bpk_err *err)
{
	if (bpk_buf_printf(text, err, "'fortran_order': %s, 'shape': (",
			   flat->fortran ? "True" : "False") != 0)
		return -1;
	for (size_t i = 0; i < flat->ndimensions; i++)
		if (bpk_buf_printf(text, err, i == 0 ? "%" PRIu64 : ", %" PRIu64, flat->shape[i]) !=
		    0)
			return -1;
	return bpk_buf_printf(text, err, "%s), }", flat->ndimensions == 1 ? "," : "");
}

static int put_spaces(size_t count, struct bpk_buf *text, struct bpk_err *err)
{
	return bpk_buf_printf(text, err, "%*s", (int)count, "");
}

static int put_growth(const struct bpk_array *flat, struct bpk_buf *text, struct bpk_err *err)
{
	char digits[GROWTH_DIGITS + 1];
	size_t last = flat->fortran ? flat->ndimensions - 1 : 0;

	if (flat->ndimensions == 0)
		return 0;
	return put_spaces(GROWTH_DIGITS - (size_t)snprintf(digits, sizeof digits, "%" PRIu64,
							   flat->shape[last]),
			  text, err);
}

/* Convert UTF-8 to Latin-1 in place. False, without changes, if a character has no Latin-1 code. */
static bool make_latin1(struct bpk_buf *text)
{
	size_t size = 0;

	for (size_t i = 0; i < text->size; i++)
		if (text->data[i] >= 0xc4)
			return false;
	for (size_t i = 0; i < text->size; i++) {
		uint8_t sign = text->data[i];

		if (sign >= 0xc0 && i + 1 < text->size)
			sign = (uint8_t)(sign << 6 | (text->data[++i] & 0x3f));
		text->data[size++] = sign;
	}
	text->size = size;
	return true;
}

/* Write the oldest version that can hold the text, padded. */
static int put_head(struct bpk_buf *text, struct bpk_buf *out, struct bpk_err *err)
{
	uint8_t fixed[12] = { 0 };
	int version = make_latin1(text) ? 1 : 3;
	size_t start = version == 1 ? 10 : 12;
	size_t size = text->size + 1 + ALIGN - (start + text->size + 1) % ALIGN;

	if (version == 1 && size > UINT16_MAX) {
		version = 2;
		start = 12;
		size = text->size + 1 + ALIGN - (start + text->size + 1) % ALIGN;
	}
	memcpy(fixed, bpk_npy_magic, BPK_NPY_MAGIC_SIZE);
	fixed[6] = (uint8_t)version;
	if (version == 1) {
		fixed[8] = (uint8_t)size;
		fixed[9] = (uint8_t)(size >> 8);
	} else {
		bpk_put_le32(fixed + 8, (uint32_t)size);
	}
	if (size > BPK_NPY_MAX_TEXT)
		return bpk_fail(err, BPK_LIMIT, "npy head needs %zu bytes, at most %d are accepted",
				size, BPK_NPY_MAX_TEXT);
	if (put_spaces(size - text->size - 1, text, err) != 0 ||
	    bpk_buf_append(text, bpk_view("\n", 1), err) != 0 ||
	    bpk_buf_append(out, bpk_view(fixed, start), err) != 0)
		return -1;
	return bpk_buf_append(out, bpk_buf_view(text), err);
}

int bpk_npy_head(const struct bpk_array *array, struct bpk_buf *out, struct bpk_err *err)
{
	struct bpk_buf text = { 0 };
	struct bpk_array flat;
	int rc = -1;

	if (flat_shape(array, &flat, err) == 0 && put_descr(&array->dtype, &text, err) == 0 &&
	    put_shape(&flat, &text, err) == 0 && put_growth(&flat, &text, err) == 0)
		rc = put_head(&text, out, err);
	bpk_buf_clear(&text);
	return rc;
}
