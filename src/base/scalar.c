/*
 * Scalar types: NumPy's type strings ("<f8") and the printed names of native types ("float64").
 * Called by dtype.c and dtype_print.c.
 */
#include "base/scalar.h"

#include <inttypes.h>
#include <stdio.h>

/* Names and single letters of the same size on every platform. */
static const struct {
	const char *name;
	char kind;
	uint8_t size;
} names[] = {
	{ "bool", 'b', 1 },        { "bool_", 'b', 1 },       { "?", 'b', 1 },
	{ "int8", 'i', 1 },        { "int16", 'i', 2 },       { "int32", 'i', 4 },
	{ "int64", 'i', 8 },       { "uint8", 'u', 1 },       { "uint16", 'u', 2 },
	{ "uint32", 'u', 4 },      { "uint64", 'u', 8 },      { "float16", 'f', 2 },
	{ "float32", 'f', 4 },     { "float64", 'f', 8 },     { "float96", 'f', 12 },
	{ "float128", 'f', 16 },   { "complex64", 'c', 8 },   { "complex128", 'c', 16 },
	{ "complex192", 'c', 24 }, { "complex256", 'c', 32 }, { "object", 'O', 8 },
	{ "O", 'O', 8 },           { "float", 'f', 8 },       { "complex", 'c', 16 },
	{ "b", 'i', 1 },           { "B", 'u', 1 },           { "h", 'i', 2 },
	{ "H", 'u', 2 },           { "i", 'i', 4 },           { "I", 'u', 4 },
	{ "q", 'i', 8 },           { "Q", 'u', 8 },           { "e", 'f', 2 },
	{ "f", 'f', 4 },           { "d", 'f', 8 },           { "F", 'c', 8 },
	{ "D", 'c', 16 },
};

/* The valid sizes of each kind. */
static const struct {
	char kind;
	uint8_t sizes[6];
} sizes[] = {
	{ 'b', { 1 } },
	{ 'i', { 1, 2, 4, 8 } },
	{ 'u', { 1, 2, 4, 8 } },
	{ 'f', { 2, 4, 8, 12, 16 } },
	{ 'c', { 8, 16, 24, 32 } },
	{ 'M', { 8 } },
	{ 'm', { 8 } },
	{ 'O', { 4, 8 } },
};

static bool has_size(char kind, uint64_t size)
{
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
		if (sizes[i].kind == kind)
			return size > 0 && size < 256 &&
			       memchr(sizes[i].sizes, (int)size, sizeof sizes[i].sizes) != NULL;
	return false;
}

static bool is(struct bpk_view text, const char *word)
{
	return text.size == strlen(word) && memcmp(text.data, word, text.size) == 0;
}

static int no_such_type(struct bpk_view text, struct bpk_err *err)
{
	return bpk_fail(err, BPK_USAGE,
			"there is no type '%.*s', expected one of NumPy's, such as f8, <i4 or u1",
			(int)bpk_min_size(text.size, 80), (const char *)text.data);
}

/* Skip the digits at the start of *text; *number is 0 without digits. */
static bool take_number(struct bpk_view *text, uint64_t *number)
{
	*number = 0;
	while (text->size > 0 && text->data[0] >= '0' && text->data[0] <= '9') {
		*number = 10 * *number + (text->data[0] - (unsigned)'0');
		if (*number > UINT32_MAX)
			return false;
		*text = bpk_view(text->data + 1, text->size - 1);
	}
	return true;
}

/* The optional unit after a date type: "[D]", "[25s]". */
static bool take_unit(struct bpk_view text, struct bpk_scalar *scalar)
{
	static const char *const units[] = { "Y",  "M",  "W",  "D",  "h",  "m",  "s",
					     "ms", "us", "ns", "ps", "fs", "as", "generic" };
	struct bpk_view unit;
	uint64_t count;

	if (text.size == 0 || is(text, "[generic]"))
		return true;
	if (text.size < 3 || text.size - 2 >= sizeof scalar->unit || text.data[0] != '[' ||
	    text.data[text.size - 1] != ']')
		return false;
	unit = bpk_view(text.data + 1, text.size - 2);
	memcpy(scalar->unit, unit.data, unit.size);
	if (!take_number(&unit, &count) || (count == 0 && unit.data != text.data + 1))
		return false;
	for (size_t i = 0; i < sizeof units / sizeof *units; i++)
		if (is(unit, units[i]))
			return true;
	return false;
}

/* "datetime64[D]", "timedelta64[ns]" */
static bool take_date_name(struct bpk_view text, struct bpk_scalar *scalar)
{
	static const char *const dates[] = { "datetime64", "timedelta64" };

	for (size_t i = 0; i < 2; i++) {
		size_t size = strlen(dates[i]);

		if (text.size < size || memcmp(text.data, dates[i], size) != 0)
			continue;
		scalar->kind = "Mm"[i];
		scalar->item_size = 8;
		return take_unit(bpk_view(text.data + size, text.size - size), scalar);
	}
	return false;
}

static bool take_name(struct bpk_view text, struct bpk_scalar *scalar)
{
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (is(text, names[i].name)) {
			scalar->kind = names[i].kind;
			scalar->item_size = names[i].size;
			return true;
		}
	return take_date_name(text, scalar);
}

/* "f8", "S3", "M8[ns]": a kind and its size. */
static bool take_code(struct bpk_view text, struct bpk_scalar *scalar)
{
	uint64_t size;

	if (text.size < 2)
		return false;
	scalar->kind = (char)text.data[0];
	if (scalar->kind == 'a') /* an old name of S */
		scalar->kind = 'S';
	text = bpk_view(text.data + 1, text.size - 1);
	if (!take_number(&text, &size))
		return false;
	if (scalar->kind == 'U' && size <= UINT32_MAX / 4)
		size *= 4;
	else if (scalar->kind == 'U' ||
		 (scalar->kind != 'S' && scalar->kind != 'V' && !has_size(scalar->kind, size)))
		return false;
	scalar->item_size = (uint32_t)size;
	if (scalar->kind == 'M' || scalar->kind == 'm')
		return take_unit(text, scalar);
	return text.size == 0 && size > 0;
}

static bool has_order(const struct bpk_scalar *scalar)
{
	return scalar->kind == 'U' ||
	       (scalar->item_size > 1 && strchr("bSVO", scalar->kind) == NULL);
}

int bpk_scalar_parse(struct bpk_view text, char native, struct bpk_scalar *scalar,
		     struct bpk_err *err)
{
	struct bpk_view rest = text;
	char order = native;

	*scalar = (struct bpk_scalar){ 0 };
	if (text.size > 0 && text.data[0] != '\0' && strchr("<>=|!", text.data[0]) != NULL) {
		rest = bpk_view(text.data + 1, text.size - 1);
		if (text.data[0] == '<')
			order = '<';
		if (text.data[0] == '>' || text.data[0] == '!') /* '!' is network order */
			order = '>';
	}
	if (!take_name(rest, scalar)) {
		*scalar = (struct bpk_scalar){ 0 };
		if (!take_code(rest, scalar))
			return no_such_type(text, err);
	}
	scalar->byte_order = has_order(scalar) ? order : '|';
	return 0;
}

void bpk_scalar_print(const struct bpk_scalar *scalar, char out[BPK_SCALAR_TEXT])
{
	uint32_t size = scalar->kind == 'U' ? scalar->item_size / 4 : scalar->item_size;
	bool has_unit = scalar->unit[0] != '\0';

	if (scalar->kind == 'O')
		snprintf(out, BPK_SCALAR_TEXT, "|O");
	else
		snprintf(out, BPK_SCALAR_TEXT, "%c%c%" PRIu32 "%s%.15s%s", scalar->byte_order,
			 scalar->kind, size, has_unit ? "[" : "", scalar->unit,
			 has_unit ? "]" : "");
}
