/*
 * Element types as NumPy prints them: dtype.str of a scalar, the repr of dtype.descr of a record.
 * Called by .npy heads, formats of arrays, archive and info.
 */
#include "base/base.h"
#include "base/scalar.h"

#include <inttypes.h>

/* As Python's repr: double quotes only around a name with a single quote and no double quote. */
static int print_name(const char *name, struct bpk_buf *out, struct bpk_err *err)
{
	char quote = strchr(name, '\'') != NULL && strchr(name, '"') == NULL ? '"' : '\'';

	if (bpk_buf_printf(out, err, "%c", quote) != 0)
		return -1;
	for (; *name != '\0'; name++) {
		uint8_t byte = (uint8_t)*name;
		const char *format = byte < 0x20 || byte == 0x7f     ? "\\x%02x"
				     : byte == quote || byte == '\\' ? "\\%c"
								     : "%c";

		if (bpk_buf_printf(out, err, format, byte) != 0)
			return -1;
	}
	return bpk_buf_printf(out, err, "%c", quote);
}

static int print_shape(const struct bpk_dtype *dtype, struct bpk_buf *out, struct bpk_err *err)
{
	if (bpk_buf_printf(out, err, ", (") != 0)
		return -1;
	for (size_t i = 0; i < dtype->ndimensions; i++)
		if (bpk_buf_printf(out, err, i == 0 ? "%" PRIu64 : ", %" PRIu64, dtype->shape[i]) !=
		    0)
			return -1;
	return bpk_buf_printf(out, err, dtype->ndimensions == 1 ? ",)" : ")");
}

/* The type without its shape. Scalars are quoted inside a record. */
static int print_base(const struct bpk_dtype *dtype, bool quoted, struct bpk_buf *out,
		      struct bpk_err *err)
{
	char text[BPK_SCALAR_TEXT];

	if (dtype->nfields == 0) {
		bpk_scalar_print(&dtype->scalar, text);
		return bpk_buf_printf(out, err, quoted ? "'%s'" : "%s", text);
	}
	for (size_t i = 0; i < dtype->nfields; i++) {
		const struct bpk_field *field = &dtype->fields[i];

		if (bpk_buf_printf(out, err, i == 0 ? "[(" : ", (") != 0 ||
		    print_name(field->name, out, err) != 0 || bpk_buf_printf(out, err, ", ") != 0 ||
		    print_base(&field->dtype, true, out, err) != 0 ||
		    (field->dtype.ndimensions > 0 && print_shape(&field->dtype, out, err) != 0) ||
		    bpk_buf_printf(out, err, ")") != 0)
			return -1;
	}
	return bpk_buf_printf(out, err, "]");
}

int bpk_dtype_print(const struct bpk_dtype *dtype, struct bpk_buf *out, struct bpk_err *err)
{
	if (dtype->ndimensions == 0)
		return print_base(dtype, false, out, err);
	if (bpk_buf_printf(out, err, "(") != 0 || print_base(dtype, true, out, err) != 0 ||
	    print_shape(dtype, out, err) != 0)
		return -1;
	return bpk_buf_printf(out, err, ")");
}
