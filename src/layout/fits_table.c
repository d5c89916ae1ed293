/*
 * Rows of a FITS binary table as records, for fits.c: TFORMn is the type of a column, TTYPEn its
 * name. Numbers are big-endian and as stored: TSCALn, TZEROn and TDIMn are not applied.
 *
 *      L  logical: 'T', 'F' or NUL    "|S1"        E D  floating point     ">f4" ">f8"
 *      X  bits, in whole bytes        "|u1"        C M  complex            ">c8" ">c16"
 *      B I J K  integers     "|u1" ">i2" ...       P Q  offsets into heap  two ">i4", ">i8"
 *      A  text                        "|S12"
 */
#include "layout/fits.h"
#include "layout/name.h"

#include <stdio.h>
#include <stdlib.h>

static const struct {
	char letter, kind;
	uint8_t size;
	uint8_t each; /* items per element of the column */
} forms[] = {
	{ 'L', 'S', 1, 1 },  { 'B', 'u', 1, 1 }, { 'I', 'i', 2, 1 }, { 'J', 'i', 4, 1 },
	{ 'K', 'i', 8, 1 },  { 'E', 'f', 4, 1 }, { 'D', 'f', 8, 1 }, { 'C', 'c', 8, 1 },
	{ 'M', 'c', 16, 1 }, { 'P', 'i', 4, 2 }, { 'Q', 'i', 8, 2 },
};

/* The columns while the cards are scanned. */
struct columns {
	struct bpk_field *fields;
	uint64_t count;
	bool unknown; /* a column has an unknown form */
};

/* ---- Forms ---- */

static void set_scalar(struct bpk_dtype *dtype, char kind, uint32_t size, uint64_t count)
{
	dtype->scalar = (struct bpk_scalar){ .kind = kind,
					     .byte_order = size > 1 && kind != 'S' ? '>' : '|',
					     .item_size = size };
	dtype->ndimensions = count != 1;
	dtype->shape[0] = count != 1 ? count : 0;
	dtype->size = size * count;
}

/* Parse "12A", "E", "1PJ(30)": an optional count (default 1) and a letter. Counts are less than
 * 2^32. */
static bool take_form(const char *form, struct bpk_dtype *dtype)
{
	uint64_t count = 0;
	const char *p = form;

	for (; *p >= '0' && *p <= '9' && count <= UINT32_MAX; p++)
		count = 10 * count + (uint64_t)(*p - '0');
	if (p == form)
		count = 1;
	if (count > UINT32_MAX)
		return false;
	if (*p == 'A') {
		set_scalar(dtype, 'S', (uint32_t)count, 1);
		return true;
	}
	if (*p == 'X') {
		set_scalar(dtype, 'u', 1, bpk_div_up(count, 8));
		return true;
	}
	for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
		if (forms[i].letter == *p) {
			set_scalar(dtype, forms[i].kind, forms[i].size, count * forms[i].each);
			return true;
		}
	return false;
}

static int take_card(void *arg, const char *card, struct bpk_err *err)
{
	struct columns *columns = arg;
	char text[BPK_FITS_TEXT];
	uint64_t number;

	if (bpk_fits_numbered(card, "TFORM", &number) && number <= columns->count) {
		if (!bpk_fits_text(card, text) ||
		    !take_form(text, &columns->fields[number - 1].dtype))
			columns->unknown = true;
	} else if (bpk_fits_numbered(card, "TTYPE", &number) && number <= columns->count) {
		char **name = &columns->fields[number - 1].name;

		if (*name == NULL && bpk_fits_text(card, text) && text[0] != '\0') {
			*name = bpk_layout_text(bpk_view(text, strlen(text)), err);
			return *name == NULL ? -1 : 0;
		}
	}
	return 0;
}

/* ---- Names ---- */

/* Name columns without a name "col3"; repeated names get a number. */
static int name_fields(struct columns *columns, struct bpk_err *err)
{
	struct bpk_named *named = bpk_calloc(columns->count + 1, sizeof *named, err);
	char text[24];
	int rc = -1;

	if (named == NULL)
		return -1;
	for (size_t i = 0; i < columns->count; i++) {
		struct bpk_field *field = &columns->fields[i];

		snprintf(text, sizeof text, "col%zu", i + 1);
		if (field->name == NULL && (field->name = bpk_strdup(text, err)) == NULL)
			goto out;
		named[i].hash = bpk_name_hash(field->name);
	}
	if (bpk_name_number_all(named, sizeof *named, columns->count, err) != 0)
		goto out;
	for (size_t i = 0; i < columns->count; i++) {
		struct bpk_field *field = &columns->fields[i];
		char longer[5 * BPK_FITS_TEXT]; /* each byte may have become four */

		if (named[i].number == 0)
			continue;
		bpk_name_print_number(named[i].number, text);
		snprintf(longer, sizeof longer, "%s%s", field->name, text);
		free(field->name);
		field->name = bpk_strdup(longer, err);
		if (field->name == NULL)
			goto out;
	}
	rc = 0;
out:
	free(named);
	return rc;
}

/* ---- Rows ---- */

/* Drop columns of 0 bytes and set the offsets of the others; false if they do not fill the row. */
static bool lay_out(struct columns *columns, uint64_t row_size)
{
	uint64_t count = 0, offset = 0;

	for (uint64_t i = 0; i < columns->count; i++) {
		struct bpk_field field = columns->fields[i];

		if (field.dtype.size == 0) {
			free(columns->fields[i].name);
			columns->fields[i].name = NULL;
			continue;
		}
		columns->fields[i].name = NULL;
		field.offset = offset;
		offset += field.dtype.size; /* 999 times less than 2^38 */
		columns->fields[count++] = field;
	}
	columns->count = count;
	return count > 0 && offset == row_size;
}

int bpk_fits_row_type(struct bpk_source *source, const struct bpk_fits_head *head,
		      struct bpk_dtype *dtype, struct bpk_err *err)
{
	struct columns columns = { .count = bpk_min_u64(head->fields, BPK_FITS_MAX_FIELDS) };
	uint64_t end;
	int rc = -1;

	*dtype = (struct bpk_dtype){
		.scalar = { .kind = 'V', .byte_order = '|', .item_size = (uint32_t)head->axes[0] },
		.size = head->axes[0]
	};
	columns.fields = bpk_calloc(columns.count + 1, sizeof *columns.fields, err);
	if (columns.fields == NULL ||
	    bpk_fits_scan(source, head->cards, take_card, &columns, &end, err) != 0 ||
	    name_fields(&columns, err) != 0)
		goto out;
	rc = 0;
	if (!lay_out(&columns, head->axes[0]) || columns.unknown)
		goto out;
	dtype->nfields = columns.count;
	dtype->fields = columns.fields;
	return 0;
out:
	for (uint64_t i = 0; columns.fields != NULL && i < columns.count; i++)
		free(columns.fields[i].name);
	free(columns.fields);
	return rc;
}
