/*
 * The parser of element types. Called by array.c, .npy heads, formats of arrays and pack. One
 * grammar takes NumPy's, Python's and JSON's spelling:
 *
 *      type    = scalar | "'" scalar "'" | '(' shape ')' scalar | '(' type ',' shape ')' | record
 *      record  = '[' field {',' field} ']' | '{' string ':' type {',' string ':' type} '}'
 *      field   = '(' string ',' type [',' shape] ')'       or the same in '[' ']'
 *      shape   = number | '(' number {',' number} [','] ')'       or the same in '[' ']'
 *
 * Strings are in single or double quotes, with the escapes of both languages.
 */
#include "base/base.h"
#include "base/scalar.h"

#include <inttypes.h>
#include <stdlib.h>

/* A text and the parser's position in it. */
struct parser {
	struct bpk_view text;
	size_t at;
	char native;
	unsigned depth;
	size_t nfields; /* total over all records */
	struct bpk_err *err;
};

static int parse_type(struct parser *p, struct bpk_dtype *dtype);

static int unexpected(struct parser *p, const char *expected)
{
	size_t left = bpk_min_size(p->text.size - p->at, 40);

	if (left == 0)
		return bpk_fail(p->err, BPK_USAGE, "type ends where %s was expected", expected);
	return bpk_fail(p->err, BPK_USAGE, "type has '%.*s' where %s was expected", (int)left,
			(const char *)p->text.data + p->at, expected);
}

/* ---- Signs, numbers, strings ---- */

/* The next character that is not white space; 0 at the end. */
static int peek(struct parser *p)
{
	while (p->at < p->text.size && strchr(" \t\r\n", p->text.data[p->at]) != NULL &&
	       p->text.data[p->at] != '\0')
		p->at++;
	return p->at < p->text.size ? p->text.data[p->at] : 0;
}

static bool take(struct parser *p, char sign)
{
	if (peek(p) != sign)
		return false;
	p->at++;
	return true;
}

static char closing(int bracket)
{
	return bracket == '(' ? ')' : bracket == '[' ? ']' : '}';
}

static bool is_quote(int sign)
{
	return sign == '\'' || sign == '"';
}

static bool is_digit(int sign)
{
	return sign >= '0' && sign <= '9';
}

static int take_number(struct parser *p, uint64_t *number)
{
	struct bpk_view digits;
	size_t start;

	if (!is_digit(peek(p)))
		return unexpected(p, "a number");
	start = p->at;
	while (p->at < p->text.size && is_digit(p->text.data[p->at]))
		p->at++;
	digits = bpk_view(p->text.data + start, p->at - start);
	if (!bpk_json_u64(digits, number))
		return bpk_fail(p->err, BPK_LIMIT, "type has a dimension of %.*s items",
				(int)bpk_min_size(digits.size, 40), (const char *)digits.data);
	return 0;
}

/* The bytes between the quotes, escapes included. Python 2 puts a letter before the quote. */
static int take_quoted(struct parser *p, struct bpk_view *inner, uint8_t *quote)
{
	size_t start;
	int sign = peek(p);

	if ((sign == 'u' || sign == 'b') && p->at + 1 < p->text.size &&
	    is_quote(p->text.data[p->at + 1]))
		sign = p->text.data[++p->at];
	if (!is_quote(sign))
		return unexpected(p, "a string");
	*quote = (uint8_t)sign;
	for (start = ++p->at; p->at < p->text.size && p->text.data[p->at] != sign; p->at++)
		p->at += p->text.data[p->at] == '\\';
	if (p->at >= p->text.size)
		return bpk_fail(p->err, BPK_USAGE, "type ends inside a string");
	*inner = bpk_view(p->text.data + start, p->at - start);
	p->at++;
	return 0;
}

/* Translate one Python escape to JSON: "\'" is a quote, "\x41" is "\u0041". */
static int put_escape(struct parser *p, struct bpk_view inner, size_t *at, struct bpk_buf *out)
{
	struct bpk_view escape = bpk_view(inner.data + *at, 2);

	if (inner.size - *at < 2)
		return unexpected(p, "an escape");
	*at += 2;
	if (escape.data[1] == '\'')
		return bpk_buf_append(out, bpk_view("'", 1), p->err);
	if (escape.data[1] != 'x')
		return bpk_buf_append(out, escape, p->err);
	return bpk_buf_append(out, bpk_view("\\u00", 4), p->err);
}

/* True for printable ASCII without escapes, as in nearly all names. */
static bool is_plain(struct bpk_view inner)
{
	for (size_t i = 0; i < inner.size; i++)
		if (inner.data[i] < 0x20 || inner.data[i] > 0x7e || inner.data[i] == '\\' ||
		    inner.data[i] == '"')
			return false;
	return true;
}

/* The text of a string. Escapes are resolved by the JSON parser, so the translation must be valid
 * JSON. */
static int unescape(struct parser *p, struct bpk_view inner, uint8_t quote, struct bpk_buf *text)
{
	struct bpk_buf json = { 0 };
	struct bpk_err why = { 0 };
	int rc;

	if (is_plain(inner)) {
		text->size = 0;
		return bpk_buf_append(text, inner, p->err);
	}
	rc = bpk_buf_append(&json, bpk_view("\"", 1), p->err);
	for (size_t at = 0; rc == 0 && at < inner.size;) {
		if (inner.data[at] == '\\')
			rc = put_escape(p, inner, &at, &json);
		else if (inner.data[at] == '"' && quote == '\'')
			rc = bpk_buf_append(&json, bpk_view("\\\"", 2), p->err), at++;
		else
			rc = bpk_buf_append(&json, bpk_view(inner.data + at++, 1), p->err);
	}
	if (rc == 0)
		rc = bpk_buf_append(&json, bpk_view("\"", 1), p->err);
	if (rc == 0 && bpk_json_check(bpk_buf_view(&json), &why) != 0)
		rc = bpk_err_is_of_machine(&why)
			     ? bpk_fail_as(p->err, &why)
			     : bpk_fail(p->err, BPK_USAGE,
					"type has the field name '%.*s', which is not text",
					(int)bpk_min_size(inner.size, 80),
					(const char *)inner.data);
	if (rc == 0)
		rc = bpk_json_string(bpk_buf_view(&json), text, p->err);
	bpk_buf_clear(&json);
	return rc;
}

/* ---- Shapes ---- */

static int add_dimension(struct parser *p, uint64_t dimension, struct bpk_dtype *dtype,
			 size_t *count)
{
	if (*count == BPK_ARRAY_MAX_DIMENSIONS - 1)
		return bpk_fail(p->err, BPK_LIMIT, "type has a field of more than %d dimensions",
				BPK_ARRAY_MAX_DIMENSIONS - 1);
	if (dimension == 0)
		return bpk_fail(p->err, BPK_USAGE, "type has a field without any items");
	dtype->shape[(*count)++] = dimension;
	return 0;
}

/* Put dimensions before those that dtype already has, and update its size. */
static int take_shape(struct parser *p, struct bpk_dtype *dtype)
{
	struct bpk_dtype inner = *dtype;
	uint64_t dimension;
	size_t count = 0;
	int bracket = peek(p);
	bool list = bracket == '(' || bracket == '[';

	if (list)
		p->at++;
	while (!list || peek(p) != closing(bracket)) {
		if (take_number(p, &dimension) != 0 ||
		    add_dimension(p, dimension, dtype, &count) != 0)
			return -1;
		if (!list || !take(p, ','))
			break;
	}
	if (list && !take(p, closing(bracket)))
		return unexpected(p, "the end of a shape");
	for (size_t i = 0; i < count; i++)
		if (!bpk_mul_u64(dtype->size, dtype->shape[i], &dtype->size))
			return bpk_fail(p->err, BPK_LIMIT, "type has items of 2^64 bytes or more");
	for (size_t i = 0; i < inner.ndimensions; i++)
		if (add_dimension(p, inner.shape[i], dtype, &count) != 0)
			return -1;
	dtype->ndimensions = count;
	return 0;
}

/* ---- Records ---- */

/* Append one field. Growing moves the fields; they are plain values. */
static struct bpk_field *add_field(struct parser *p, struct bpk_dtype *record, size_t *room)
{
	struct bpk_field *larger;

	if (++p->nfields > BPK_DTYPE_MAX_FIELDS) {
		bpk_fail(p->err, BPK_LIMIT, "type has more than %d fields", BPK_DTYPE_MAX_FIELDS);
		return NULL;
	}
	if (record->nfields == *room) {
		larger = bpk_calloc(2 * *room + 4, sizeof *larger, p->err);
		if (larger == NULL)
			return NULL;
		bpk_copy(larger, record->fields, record->nfields * sizeof *larger);
		free(record->fields);
		record->fields = larger;
		*room = 2 * *room + 4;
	}
	return &record->fields[record->nfields++];
}

static int take_field_name(struct parser *p, struct bpk_field *field)
{
	struct bpk_buf text = { 0 };
	struct bpk_view inner;
	uint8_t quote;
	int rc = -1;

	if (peek(p) == '(' || peek(p) == '[')
		return bpk_fail(p->err, BPK_UNSUPPORTED, "type has a field with a title");
	if (take_quoted(p, &inner, &quote) != 0)
		return -1;
	/* NumPy describes padding between aligned fields with an empty name */
	if (inner.size == 0)
		return bpk_fail(p->err, BPK_UNSUPPORTED, "type has padding between its fields");
	if (unescape(p, inner, quote, &text) != 0)
		goto out;
	if (memchr(text.data, 0, text.size) != NULL) {
		bpk_fail(p->err, BPK_USAGE, "type has a field name with a NUL");
		goto out;
	}
	if (bpk_buf_append(&text, bpk_view("", 1), p->err) != 0)
		goto out;
	field->name = bpk_strdup((const char *)text.data, p->err);
	if (field->name == NULL)
		goto out;
	rc = 0;
out:
	bpk_buf_clear(&text);
	return rc;
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Sorted, so that a record of thousands of fields takes n log n comparisons. */
static int check_names(struct parser *p, const struct bpk_dtype *record)
{
	const char **names = bpk_calloc(record->nfields, sizeof *names, p->err);
	int rc = 0;

	if (names == NULL)
		return -1;
	for (size_t i = 0; i < record->nfields; i++)
		names[i] = record->fields[i].name;
	qsort(names, record->nfields, sizeof *names, compare_names);
	for (size_t i = 1; i < record->nfields && rc == 0; i++)
		if (strcmp(names[i - 1], names[i]) == 0)
			rc = bpk_fail(p->err, BPK_USAGE, "type has two fields '%s'", names[i]);
	free(names);
	return rc;
}

/* One field of a list: a bracketed pair or triple. */
static int take_listed_field(struct parser *p, struct bpk_field *field)
{
	int bracket = peek(p);

	if (bracket != '(' && bracket != '[')
		return unexpected(p, "a field");
	p->at++;
	if (take_field_name(p, field) != 0)
		return -1;
	if (!take(p, ','))
		return unexpected(p, "','");
	if (parse_type(p, &field->dtype) != 0)
		return -1;
	if (take(p, ',') && take_shape(p, &field->dtype) != 0)
		return -1;
	return take(p, closing(bracket)) ? 0 : unexpected(p, "the end of a field");
}

/* One member of an object. A member "names" belongs to NumPy's dict form with explicit offsets. */
static int take_named_field(struct parser *p, struct bpk_field *field)
{
	if (take_field_name(p, field) != 0)
		return -1;
	if (!take(p, ':'))
		return unexpected(p, "':'");
	if (strcmp(field->name, "names") == 0 && peek(p) == '[')
		return bpk_fail(p->err, BPK_UNSUPPORTED, "type has offsets of its own");
	return parse_type(p, &field->dtype);
}

static int parse_record(struct parser *p, struct bpk_dtype *record)
{
	int bracket = p->text.data[p->at++];
	size_t room = 0;

	do {
		struct bpk_field *field = add_field(p, record, &room);

		if (field == NULL ||
		    (bracket == '[' ? take_listed_field : take_named_field)(p, field) != 0)
			return -1;
		field->offset = record->size;
		if (!bpk_add_u64(record->size, field->dtype.size, &record->size) ||
		    record->size > UINT32_MAX)
			return bpk_fail(p->err, BPK_LIMIT, "type has items of 4 GiB or more");
	} while (take(p, ','));
	if (!take(p, closing(bracket)))
		return unexpected(p, "the end of the fields");
	if (check_names(p, record) != 0)
		return -1;
	record->scalar = (struct bpk_scalar){ .kind = 'V',
					      .byte_order = '|',
					      .item_size = (uint32_t)record->size };
	return 0;
}

/* ---- Types ---- */

static int parse_scalar(struct parser *p, struct bpk_view text, struct bpk_dtype *dtype)
{
	if (bpk_scalar_parse(text, p->native, &dtype->scalar, p->err) != 0)
		return -1;
	dtype->size = dtype->scalar.item_size;
	return 0;
}

/* The text of a scalar, with an optional shape before it: "(2,3)f4". */
static int parse_text(struct parser *p, struct bpk_view text, struct bpk_dtype *dtype)
{
	struct parser inner = { .text = text, .native = p->native, .err = p->err };
	struct bpk_dtype shape = { .size = 1 };

	if (peek(&inner) != '(') {
		while (text.size > inner.at && text.data[text.size - 1] == ' ')
			text.size--;
		return parse_scalar(p, bpk_view(text.data + inner.at, text.size - inner.at), dtype);
	}
	if (take_shape(&inner, &shape) != 0 ||
	    parse_scalar(p, bpk_view(text.data + inner.at, text.size - inner.at), dtype) != 0)
		return -1;
	if (!bpk_mul_u64(dtype->size, shape.size, &dtype->size))
		return bpk_fail(p->err, BPK_LIMIT, "type has items of 2^64 bytes or more");
	dtype->ndimensions = shape.ndimensions;
	memcpy(dtype->shape, shape.shape, sizeof shape.shape);
	return 0;
}

/* A type and its shape in parentheses. */
static int parse_pair(struct parser *p, struct bpk_dtype *dtype)
{
	p->at++;
	if (parse_type(p, dtype) != 0)
		return -1;
	if (!take(p, ','))
		return unexpected(p, "','");
	if (take_shape(p, dtype) != 0)
		return -1;
	return take(p, ')') ? 0 : unexpected(p, "')'");
}

static int parse_type(struct parser *p, struct bpk_dtype *dtype)
{
	struct bpk_view inner;
	uint8_t quote;
	int sign = peek(p), rc;

	if (sign != '[' && sign != '{' && sign != '(') {
		if (take_quoted(p, &inner, &quote) != 0)
			return -1;
		return parse_text(p, inner, dtype);
	}
	if (p->depth == BPK_DTYPE_MAX_DEPTH)
		return bpk_fail(p->err, BPK_LIMIT, "type has records more than %d deep",
				BPK_DTYPE_MAX_DEPTH);
	p->depth++;
	rc = sign == '(' ? parse_pair(p, dtype) : parse_record(p, dtype);
	p->depth--;
	return rc;
}

/* True for a scalar without quotes: no bracket, or one that begins a shape. */
static bool is_bare(struct parser *p)
{
	int sign = peek(p);
	struct parser inside = *p;

	if (sign != '(')
		return sign != '[' && sign != '{' && !is_quote(sign);
	inside.at++;
	return is_digit(peek(&inside)) || peek(&inside) == ')';
}

int bpk_dtype_parse_native(struct bpk_view text, char native, struct bpk_dtype *dtype,
			   struct bpk_err *err)
{
	struct parser p = { .text = text, .native = native, .err = err };
	int rc;

	*dtype = (struct bpk_dtype){ 0 };
	if (is_bare(&p)) {
		rc = parse_text(&p, text, dtype);
	} else {
		rc = parse_type(&p, dtype);
		if (rc == 0 && peek(&p) != 0)
			rc = unexpected(&p, "its end");
	}
	if (rc != 0)
		bpk_dtype_clear(dtype);
	return rc;
}

int bpk_dtype_parse(struct bpk_view text, struct bpk_dtype *dtype, struct bpk_err *err)
{
	return bpk_dtype_parse_native(text, '<', dtype, err);
}

void bpk_dtype_clear(struct bpk_dtype *dtype)
{
	for (size_t i = 0; i < dtype->nfields; i++) {
		free(dtype->fields[i].name);
		bpk_dtype_clear(&dtype->fields[i].dtype);
	}
	free(dtype->fields);
	*dtype = (struct bpk_dtype){ 0 };
}

int bpk_dtype_copy(const struct bpk_dtype *from, struct bpk_dtype *to, struct bpk_err *err)
{
	*to = *from;
	to->nfields = 0;
	to->fields = NULL;
	if (from->nfields == 0)
		return 0;
	to->fields = bpk_calloc(from->nfields, sizeof *to->fields, err);
	if (to->fields == NULL)
		goto failed;
	for (; to->nfields < from->nfields; to->nfields++) {
		const struct bpk_field *field = &from->fields[to->nfields];
		struct bpk_field *copy = &to->fields[to->nfields];

		copy->offset = field->offset;
		copy->name = bpk_strdup(field->name, err);
		if (copy->name == NULL || bpk_dtype_copy(&field->dtype, &copy->dtype, err) != 0) {
			free(copy->name);
			goto failed;
		}
	}
	return 0;
failed:
	bpk_dtype_clear(to);
	return -1;
}

bool bpk_dtype_is_opaque(const struct bpk_dtype *dtype)
{
	for (size_t i = 0; i < dtype->nfields; i++)
		if (bpk_dtype_is_opaque(&dtype->fields[i].dtype))
			return true;
	return dtype->scalar.kind == 'O';
}
