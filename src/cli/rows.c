/* cat --text and --native: the numbers of arrays as text, and in this machine's byte order. Called
 * by cat_work.c. */
#include "cli/rows.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/content.h"
#include "cli/text.h"

enum {
	GATHERED = 64 << 10, /* bytes that are written at a time */
	LARGEST_UNIT = 16,   /* bytes of a number, or of a part of one */
	LARGEST_WIDTH = 512, /* of a format, and its precision */
	CELL = 2048,         /* bytes of the longest number: 310 digits and the precision */
	FORMAT = 24,         /* bytes of a format that was checked */
};

/* One conversion of printf. */
struct format {
	char text[FORMAT]; /* with the modifier j, if it is one of integers; empty: none is given */
	bool is_integer;
};

struct bpk_rows {
	const struct bpk_rows_args *args;
	struct bpk_draft *draft; /* where the result goes; owned */
	struct format format;
	struct bpk_scalar type; /* of the current array */
	size_t unit;            /* bytes that are converted at a time; 0: bytes pass unchanged */
	uint64_t row, column;   /* numbers in a row, and in the current one so far */
	bool in_line;           /* a number stands on the current line */
	uint8_t partial[LARGEST_UNIT];
	size_t npartial;
	struct bpk_buf out;
};

/* ---- Formats ---- */

static int fail_format(const char *text, struct bpk_err *err)
{
	return bpk_fail(
		err, BPK_USAGE,
		"--number-format: '%s' is not one conversion of a number, such as %%.6g or %%08x",
		text);
}

/* Pass over a number of at most LARGEST_WIDTH. */
static bool skip_number(const char **at)
{
	unsigned value = 0;

	while (**at >= '0' && **at <= '9' && value <= LARGEST_WIDTH)
		value = 10 * value + (unsigned)(*(*at)++ - '0');
	return value <= LARGEST_WIDTH;
}

/* "%-+ #0" WIDTH "." PRECISION and a letter; nothing else comes near printf. */
static int parse_format(const char *text, struct format *format, struct bpk_err *err)
{
	const char *at = text;
	size_t size;

	if (*at++ != '%')
		return fail_format(text, err);
	at += strspn(at, "-+ #0");
	if (!skip_number(&at) || (*at == '.' && (at++, !skip_number(&at))))
		return fail_format(text, err);
	if (*at == '\0' || strchr("efgEGFaAdixX", *at) == NULL || at[1] != '\0')
		return fail_format(text, err);
	size = (size_t)(at - text);
	if (size > FORMAT - 3)
		return fail_format(text, err);
	format->is_integer = strchr("dixX", *at) != NULL;
	snprintf(format->text, FORMAT, "%.*s%s%c", (int)size, text, format->is_integer ? "j" : "",
		 *at);
	return 0;
}

int bpk_rows_check(const struct bpk_rows_args *args, struct bpk_err *err)
{
	struct format format;

	if (!args->text && (args->format != NULL || args->header))
		return bpk_fail(err, BPK_USAGE, "%s needs --text",
				args->format != NULL ? "--number-format" : "--header");
	return args->format == NULL ? 0 : parse_format(args->format, &format, err);
}

/* ---- One number ---- */

/* format was checked: it has one conversion, of this type. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
static void print_double(const struct format *format, double value, char out[CELL])
{
	snprintf(out, CELL, format->text, value);
}

static void print_integer(const struct format *format, uint64_t bits, char out[CELL])
{
	snprintf(out, CELL, format->text, (uintmax_t)bits);
}
#pragma GCC diagnostic pop

/* Signed formats of an unsigned type become those of one. */
static struct format fit_format(const struct format *format, const struct bpk_scalar *type)
{
	struct format fit = *format;
	char *letter = fit.text + strlen(fit.text) - 1;

	if (type->kind != 'i' && (*letter == 'd' || *letter == 'i'))
		*letter = 'u';
	return fit;
}

/* The bits of a negative number are those of its own size where they are printed as such. */
static uint64_t fit_bits(const struct format *format, const struct bpk_scalar *type, uint64_t bits)
{
	bool is_hex = strchr("xX", format->text[strlen(format->text) - 1]) != NULL;

	return is_hex && type->item_size < 8 ? bits & ((UINT64_C(1) << 8 * type->item_size) - 1)
					     : bits;
}

/* Any NaN is the same here. */
static double plain(double value)
{
	return isnan(value) ? (double)NAN : value;
}

static void print_shortest(const struct bpk_scalar *type, uint64_t bits, double value,
			   char out[CELL])
{
	char text[BPK_NUMBER_TEXT];

	if (type->kind == 'i')
		snprintf(out, CELL, "%" PRId64, (int64_t)bits);
	else if (bpk_number_is_integer(type))
		snprintf(out, CELL, "%" PRIu64, bits);
	else
		snprintf(out, CELL, "%s",
			 bpk_number_size(type) == 8 ? bpk_double_text(value, text)
						    : bpk_float_text((float)value, text));
}

static int add_number(struct bpk_rows *rows, const uint8_t *bytes, struct bpk_err *err)
{
	char cell[CELL];
	uint64_t bits;
	double value;
	bool ends = ++rows->column >= rows->row;

	bpk_number_take_bits(&rows->type, bytes, 1, &bits);
	bpk_number_of_bits(&rows->type, &bits, 1, &value);
	if (rows->format.text[0] == '\0')
		print_shortest(&rows->type, bits, plain(value), cell);
	else if (rows->format.is_integer)
		print_integer(&rows->format, fit_bits(&rows->format, &rows->type, bits), cell);
	else
		print_double(&rows->format, plain(value), cell);
	if (bpk_buf_printf(&rows->out, err, "%s%s%s", rows->in_line ? " " : "", cell,
			   ends ? "\n" : "") != 0)
		return -1;
	rows->in_line = !ends;
	if (ends)
		rows->column = 0;
	return 0;
}

static int add_swapped(struct bpk_rows *rows, const uint8_t *bytes, struct bpk_err *err)
{
	uint8_t swapped[LARGEST_UNIT];

	for (size_t i = 0; i < rows->unit; i++)
		swapped[i] = bytes[rows->unit - 1 - i];
	return bpk_buf_append(&rows->out, bpk_view(swapped, rows->unit), err);
}

/* ---- The draft ---- */

static int flush(struct bpk_rows *rows, size_t most, struct bpk_err *err)
{
	struct bpk_view bytes = bpk_buf_view(&rows->out);

	if (bytes.size <= most)
		return 0;
	rows->out.size = 0;
	return bpk_draft_write(rows->draft, bytes, err);
}

static int add_unit(struct bpk_rows *rows, const uint8_t *bytes, struct bpk_err *err)
{
	return (rows->args->text ? add_number : add_swapped)(rows, bytes, err) != 0
		       ? -1
		       : flush(rows, GATHERED, err);
}

/* Take the rest of a unit that the last write has begun. */
static int complete(struct bpk_rows *rows, struct bpk_view *bytes, struct bpk_err *err)
{
	size_t n = bpk_min_size(rows->unit - rows->npartial, bytes->size);

	memcpy(rows->partial + rows->npartial, bytes->data, n);
	rows->npartial += n;
	*bytes = bpk_view(bytes->data + n, bytes->size - n);
	if (rows->npartial < rows->unit)
		return 0;
	rows->npartial = 0;
	return add_unit(rows, rows->partial, err);
}

static int rows_write(void *owner, struct bpk_view bytes, struct bpk_err *err)
{
	struct bpk_rows *rows = owner;

	if (bytes.size == 0)
		return 0;
	if (rows->unit == 0)
		return flush(rows, 0, err) != 0 ? -1 : bpk_draft_write(rows->draft, bytes, err);
	if (rows->npartial > 0 && complete(rows, &bytes, err) != 0)
		return -1;
	for (; bytes.size >= rows->unit;
	     bytes = bpk_view(bytes.data + rows->unit, bytes.size - rows->unit))
		if (add_unit(rows, bytes.data, err) != 0)
			return -1;
	return bytes.size > 0 ? complete(rows, &bytes, err) : 0;
}

static void clear(struct bpk_rows *rows)
{
	bpk_buf_clear(&rows->out);
	free(rows);
}

/* A range of items may end inside a row. */
static int end_row(struct bpk_rows *rows, struct bpk_err *err)
{
	if (rows->in_line && bpk_buf_printf(&rows->out, err, "\n") != 0)
		return -1;
	rows->in_line = false;
	return flush(rows, 0, err);
}

static int rows_keep(void *owner, const struct stat *like, struct bpk_err *err)
{
	struct bpk_rows *rows = owner;
	struct bpk_draft *draft = rows->draft;
	int rc = rows->npartial == 0 ? end_row(rows, err)
				     : bpk_fail(err, BPK_CORRUPT, "ends inside a number");

	clear(rows);
	if (rc == 0)
		return bpk_draft_keep(draft, like, err);
	bpk_draft_drop(draft);
	return -1;
}

/* After a failure the rows in front of it are written, as cat writes the bytes there. */
static void rows_drop(void *owner)
{
	struct bpk_rows *rows = owner;

	(void)end_row(rows, NULL);
	bpk_draft_drop(rows->draft);
	clear(rows);
}

int bpk_rows_open(const struct bpk_rows_args *args, struct bpk_draft **draft,
		  struct bpk_rows **rows, struct bpk_err *err)
{
	static const struct bpk_draft_ops ops = { .write = rows_write,
						  .keep = rows_keep,
						  .drop = rows_drop };
	struct bpk_draft *made;
	struct bpk_rows *r = bpk_calloc(1, sizeof *r, err);

	*rows = NULL;
	if (r == NULL)
		return -1;
	r->args = args;
	r->draft = *draft;
	if ((args->format != NULL && parse_format(args->format, &r->format, err) != 0) ||
	    bpk_draft_of_ops(&ops, r, &made, err) != 0) {
		clear(r);
		return -1;
	}
	*draft = made;
	*rows = r;
	return 0;
}

/* ---- Arrays ---- */

static bool is_native(char order)
{
	return order == '|' || order == (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? '<' : '>');
}

/* True if no number of the type needs another byte order. */
static bool all_native(const struct bpk_dtype *dtype)
{
	for (size_t i = 0; i < dtype->nfields; i++)
		if (!all_native(&dtype->fields[i].dtype))
			return false;
	return dtype->nfields > 0 || is_native(dtype->scalar.byte_order);
}

/* The bytes that are turned round at a time. */
static int choose_unit(struct bpk_rows *rows, const struct bpk_dtype *dtype, struct bpk_err *err)
{
	const struct bpk_scalar *type = &dtype->scalar;

	rows->unit = 0;
	if (all_native(dtype))
		return 0;
	if (dtype->nfields > 0)
		return bpk_fail(err, BPK_UNSUPPORTED,
				"the array has structured items of another byte order");
	rows->unit = type->kind == 'U'   ? 4
		     : type->kind == 'c' ? type->item_size / 2
					 : type->item_size;
	if (rows->unit <= LARGEST_UNIT)
		return 0;
	return bpk_fail(err, BPK_UNSUPPORTED, "the array has numbers of %zu bytes", rows->unit);
}

static int choose_format(struct bpk_rows *rows, const struct bpk_dtype *dtype, struct bpk_err *err)
{
	if (!bpk_is_number(dtype))
		return bpk_fail(err, BPK_UNSUPPORTED,
				"the array holds no numbers, and --text prints numbers");
	if (rows->args->format != NULL && parse_format(rows->args->format, &rows->format, err) != 0)
		return -1;
	rows->type = dtype->scalar;
	rows->unit = bpk_number_size(&rows->type);
	if (!rows->format.is_integer)
		return 0;
	if (!bpk_number_is_integer(&rows->type))
		return bpk_fail(err, BPK_USAGE,
				"--number-format: '%s' is for integers, the array has none",
				rows->args->format);
	rows->format = fit_format(&rows->format, &rows->type);
	return 0;
}

/* Numbers in a row. */
static uint64_t row_of(const struct bpk_item *item, const struct bpk_slice *slice)
{
	size_t last = item->array->ndimensions - 1;
	uint64_t parts = item->array->dtype.scalar.kind == 'c' ? 2 : 1;

	if (item->array->ndimensions < 2)
		return parts;
	return parts * (slice != NULL ? bpk_slice_length(slice, last) : item->array->shape[last]);
}

/* "# NAME TYPE SHAPE", of the part that follows, and the frame. */
static int add_header(struct bpk_rows *rows, const struct bpk_item *item,
		      const struct bpk_slice *slice, struct bpk_err *err)
{
	const struct bpk_array *array = item->array;
	struct bpk_buf dtype = { 0 };
	int rc = bpk_content_dtype_text(&array->dtype, &dtype, err);

	if (rc == 0)
		rc = bpk_buf_printf(&rows->out, err, "# %s %s ",
				    item->name != NULL ? item->name : "-",
				    (const char *)dtype.data);
	if (rc == 0 && array->ndimensions == 0)
		rc = bpk_buf_printf(&rows->out, err, "-");
	for (size_t i = 0; rc == 0 && i < array->ndimensions; i++)
		rc = bpk_buf_printf(&rows->out, err, "%s%" PRIu64, i == 0 ? "" : "x",
				    slice != NULL ? bpk_slice_length(slice, i) : array->shape[i]);
	if (rc == 0 && item->frame != BPK_UNKNOWN)
		rc = bpk_buf_printf(&rows->out, err, " frame %" PRIu64, item->frame);
	bpk_buf_clear(&dtype);
	return rc == 0 ? bpk_buf_printf(&rows->out, err, "\n") : -1;
}

int bpk_rows_begin(struct bpk_rows *rows, const struct bpk_item *item,
		   const struct bpk_slice *slice, uint64_t skipped, struct bpk_err *err)
{
	const struct bpk_dtype *dtype = &item->array->dtype;

	if (!rows->args->text)
		return choose_unit(rows, dtype, err);
	if (choose_format(rows, dtype, err) != 0)
		return -1;
	rows->row = bpk_max_u64(1, row_of(item, slice));
	rows->column = skipped * (dtype->scalar.kind == 'c' ? 2 : 1) % rows->row;
	return rows->args->header ? add_header(rows, item, slice, err) : 0;
}
