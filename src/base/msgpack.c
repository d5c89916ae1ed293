/*
 * msgpack to JSON text. A length is trusted only after that many bytes were found, and nesting is
 * counted in JSON levels. Called by the layers of frames and by info.
 */
#include "base/msgpack.h"

#include "base/cursor.h"
#include "base/json.h"
#include "base/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- Taking items ---- */

enum kind {
	NONE, /* a marker that msgpack never uses */
	NIL,
	FALSE,
	TRUE,
	UINT,
	INT,
	FLOAT,
	STR,
	BIN,
	EXT,
	ARRAY,
	MAP,
};

static const struct {
	uint8_t kind, width; /* bytes of the number or length after the marker */
} forms[] = {
	/* c0: nil, unused, false, true, bin, ext */
	{ NIL, 0 },
	{ NONE, 0 },
	{ FALSE, 0 },
	{ TRUE, 0 },
	{ BIN, 1 },
	{ BIN, 2 },
	{ BIN, 4 },
	{ EXT, 1 },
	{ EXT, 2 },
	{ EXT, 4 },
	/* ca: float, uint, int */
	{ FLOAT, 4 },
	{ FLOAT, 8 },
	{ UINT, 1 },
	{ UINT, 2 },
	{ UINT, 4 },
	{ UINT, 8 },
	{ INT, 1 },
	{ INT, 2 },
	{ INT, 4 },
	{ INT, 8 },
	/* d4: fixext, str, array, map */
	{ EXT, 0 },
	{ EXT, 0 },
	{ EXT, 0 },
	{ EXT, 0 },
	{ EXT, 0 },
	{ STR, 1 },
	{ STR, 2 },
	{ STR, 4 },
	{ ARRAY, 2 },
	{ ARRAY, 4 },
	{ MAP, 2 },
	{ MAP, 4 }
};

/* One item; for arrays and maps only the head. */
struct item {
	enum kind kind;
	uint64_t number; /* as stored; for strings and containers the length or count */
	unsigned width;
	int type; /* of ext */
	struct bpk_view bytes;
};

static uint64_t take_number(struct bpk_cursor *cursor, unsigned width)
{
	const uint8_t *p = bpk_cursor_take(cursor, width);
	uint64_t number = 0;

	for (unsigned i = 0; p != NULL && i < width; i++)
		number = number << 8 | p[i];
	return number;
}

/* Items of a single byte: small integers, and heads of short strings, arrays and maps. */
static struct item take_short(uint8_t marker)
{
	if (marker < 0x80)
		return (struct item){ .kind = UINT, .number = marker };
	if (marker >= 0xe0)
		return (struct item){ .kind = INT, .number = marker, .width = 1 };
	if (marker >= 0xa0)
		return (struct item){ .kind = STR, .number = marker & 0x1f };
	return (struct item){ .kind = marker < 0x90 ? MAP : ARRAY, .number = marker & 0x0f };
}

static struct item take_head(struct bpk_cursor *cursor)
{
	uint8_t marker = bpk_cursor_u8(cursor);
	struct item item;

	if (marker < 0xc0 || marker >= 0xe0)
		return take_short(marker);
	item = (struct item){ .kind = forms[marker - 0xc0].kind,
			      .width = forms[marker - 0xc0].width };
	item.number = take_number(cursor, item.width);
	if (item.kind == EXT) {
		if (item.width == 0)
			item.number = 1u << (marker - 0xd4);
		item.type = (int8_t)bpk_cursor_u8(cursor);
	}
	return item;
}

static struct item take_item(struct bpk_cursor *cursor)
{
	struct item item = take_head(cursor);
	uint64_t least = 0; /* bytes that must follow at least */

	if (item.kind == STR || item.kind == BIN || item.kind == EXT) {
		item.bytes.size = (size_t)item.number;
		item.bytes.data = bpk_cursor_take(cursor, (size_t)item.number);
	} else if (item.kind == ARRAY) {
		least = item.number;
	} else if (item.kind == MAP) {
		least = 2 * item.number;
	}
	if (item.kind == NONE || least > cursor->left)
		cursor->bad = true;
	return item;
}

/* Skip one value of any depth. */
static void skip_value(struct bpk_cursor *cursor)
{
	uint64_t left = 1; /* never exceeds the bytes left, by the test in take_item */

	for (; left > 0 && !cursor->bad; left--) {
		struct item item = take_item(cursor);

		if (item.kind == ARRAY)
			left += item.number;
		if (item.kind == MAP)
			left += 2 * item.number;
	}
}

/* ---- Maps that are JSON objects ---- */

static int by_bytes(const void *a, const void *b)
{
	const struct bpk_view *one = a, *other = b;
	int order = memcmp(one->data, other->data, bpk_min_size(one->size, other->size));

	return order != 0 ? order : (one->size > other->size) - (one->size < other->size);
}

static bool is_plain_key(const struct item *key)
{
	return key->kind == STR && bpk_utf8_valid(key->bytes) &&
	       (key->bytes.size == 0 || key->bytes.data[0] != '$');
}

/* Set *object if the keys of the map at cursor are distinct texts that do not look like our own
 * forms. Also set for a map that is cut off, which printing will find. */
static int is_object(struct bpk_cursor cursor, uint64_t count, bool *object, struct bpk_err *err)
{
	struct bpk_view *keys;

	*object = true;
	if (count == 0)
		return 0;
	if (count > SIZE_MAX / sizeof *keys)
		return bpk_fail_memory(err, SIZE_MAX);
	keys = bpk_alloc((size_t)count * sizeof *keys, err);
	if (keys == NULL)
		return -1;
	for (uint64_t i = 0; i < count && *object && !cursor.bad; i++) {
		struct item key = take_item(&cursor);

		keys[i] = key.bytes;
		*object = cursor.bad || is_plain_key(&key);
		/* equal neighbours need no order of all, which takes memory */
		if (i > 0 && *object && !cursor.bad)
			*object = by_bytes(&keys[i - 1], &keys[i]) != 0;
		skip_value(&cursor);
	}
	if (*object && !cursor.bad) {
		qsort(keys, (size_t)count, sizeof *keys, by_bytes);
		for (uint64_t i = 1; i < count && *object; i++)
			*object = by_bytes(&keys[i - 1], &keys[i]) != 0;
	}
	free(keys);
	return 0;
}

/* ---- Printing ---- */

#define RAW     "{\"$raw\": \""
#define RAW_END "\"}"

enum {
	PIECE = 4096,
	RAW_SIZE = sizeof RAW + sizeof RAW_END - 2,
};

struct printer {
	struct bpk_cursor cursor;
	struct bpk_buf *out;
	/* gets the text piece by piece; NULL: out keeps it */
	int (*take)(void *arg, struct bpk_view piece, struct bpk_err *err);
	void *arg;
	unsigned depth;
	bool measures; /* the size is wanted, or a little more */
	struct bpk_err *err;
};

static int print_value(struct printer *p);

/* Inline, so that a copy of constant size needs no call: small files hold millions of words. */
static inline int put(struct printer *p, const char *text)
{
	struct bpk_buf *out = p->out;
	size_t size = strlen(text);

	if (size > out->capacity - out->size)
		return bpk_buf_append(out, bpk_view(text, size), p->err);
	memcpy(out->data + out->size, text, size);
	out->size += size;
	return 0;
}

/* Pass on the text in out, once it has least bytes. */
static int pass_on(struct printer *p, size_t least)
{
	int rc;

	if (p->take == NULL || p->out->size < least)
		return 0;
	rc = p->take(p->arg, bpk_buf_view(p->out), p->err);
	p->out->size = 0;
	return rc;
}

static int enter(struct printer *p, unsigned levels)
{
	if (levels > BPK_MSGPACK_MAX_DEPTH - p->depth)
		return bpk_fail(p->err, BPK_LIMIT, "msgpack: nested deeper than %d levels of JSON",
				BPK_MSGPACK_MAX_DEPTH);
	p->depth += levels;
	return 0;
}

static int print_hex(struct printer *p, struct bpk_view bytes)
{
	for (size_t at = 0, size; at < bytes.size; at += size) {
		size = bpk_min_size(bytes.size - at, PIECE);
		if (bpk_hex_put(p->out, bpk_view(bytes.data + at, size), p->err) != 0 ||
		    pass_on(p, PIECE) != 0)
			return -1;
	}
	return 0;
}

static int print_bytes(struct printer *p, const char *name, struct bpk_view bytes)
{
	if (enter(p, 1) != 0 || bpk_buf_printf(p->out, p->err, "{%s: \"", name) != 0 ||
	    print_hex(p, bytes) != 0)
		return -1;
	p->depth--;
	return put(p, "\"}");
}

static int print_string(struct printer *p, struct bpk_view bytes)
{
	if (bytes.size == 0)
		return put(p, "\"\"");
	if (!bpk_utf8_valid(bytes))
		return print_bytes(p, "\"$str\"", bytes);
	if (bytes.size <= PIECE)
		return bpk_json_put_string(p->out, bytes, p->err);
	if (put(p, "\"") != 0)
		return -1;
	while (bytes.size > 0)
		if (bpk_json_put_piece(p->out, &bytes, p->err) != 0 || pass_on(p, PIECE) != 0)
			return -1;
	return put(p, "\"");
}

static size_t skip_digits(struct bpk_view text, size_t at)
{
	while (at < text.size && text.data[at] >= '0' && text.data[at] <= '9')
		at++;
	return at;
}

/* True if text is a JSON number. Source: RFC 8259. */
static bool is_number(struct bpk_view text)
{
	size_t at = text.size > 0 && text.data[0] == '-', start = at;

	at = skip_digits(text, at);
	if (at == start || (text.data[start] == '0' && at > start + 1))
		return false;
	if (at < text.size && text.data[at] == '.') {
		start = at + 1;
		at = skip_digits(text, start);
		if (at == start)
			return false;
	}
	if (at < text.size && (text.data[at] | 0x20) == 'e') {
		start = at + 1;
		start += start < text.size && (text.data[start] == '+' || text.data[start] == '-');
		at = skip_digits(text, start);
		if (at == start)
			return false;
	}
	return at == text.size;
}

/* Our digits extension becomes a number again, if the text is a number that needs the extension. */
static int print_ext(struct printer *p, const struct item *item)
{
	char name[40];

	if (item->type == BPK_MSGPACK_DIGITS && is_number(item->bytes) &&
	    bpk_json_number(item->bytes).kind == BPK_JSON_DIGITS)
		return bpk_buf_append(p->out, item->bytes, p->err);
	snprintf(name, sizeof name, "\"$ext\": %d, \"$bin\"", item->type);
	return print_bytes(p, name, item->bytes);
}

static int print_float(struct printer *p, const struct item *item)
{
	static const char longest[] = "-2.2250738585072014e-308";
	uint32_t half = (uint32_t)item->number;
	double value;
	float narrow;

	if (p->measures)
		return put(p, longest);
	memcpy(&value, &item->number, sizeof value);
	memcpy(&narrow, &half, sizeof narrow);
	return bpk_json_put_double(p->out, item->width == 4 ? (double)narrow : value, p->err);
}

/* Millions of them fit into a small file, which printf would make slow. */
static int print_digits(struct printer *p, bool negative, uint64_t number)
{
	char digits[21];
	size_t at = sizeof digits;

	do {
		digits[--at] = (char)('0' + number % 10);
		number /= 10;
	} while (number > 0);
	if (negative)
		digits[--at] = '-';
	return bpk_buf_append(p->out, bpk_view(digits + at, sizeof digits - at), p->err);
}

static int print_int(struct printer *p, const struct item *item)
{
	unsigned shift = 64 - 8 * item->width;
	int64_t value = (int64_t)(item->number << shift) >> shift;

	return print_digits(p, value < 0, value < 0 ? -(uint64_t)value : (uint64_t)value);
}

static int print_array(struct printer *p, uint64_t count)
{
	if (enter(p, 1) != 0 || put(p, "[") != 0)
		return -1;
	for (uint64_t i = 0; i < count; i++)
		if ((i > 0 && put(p, ", ") != 0) || print_value(p) != 0)
			return -1;
	p->depth--;
	return put(p, "]");
}

static int print_object(struct printer *p, uint64_t count)
{
	if (enter(p, 1) != 0 || put(p, "{") != 0)
		return -1;
	for (uint64_t i = 0; i < count; i++)
		if ((i > 0 && put(p, ", ") != 0) || print_value(p) != 0 || put(p, ": ") != 0 ||
		    print_value(p) != 0)
			return -1;
	p->depth--;
	return put(p, "}");
}

static int print_pairs(struct printer *p, uint64_t count)
{
	if (enter(p, 3) != 0 || put(p, "{\"$map\": [") != 0)
		return -1;
	for (uint64_t i = 0; i < count; i++)
		if (put(p, i > 0 ? ", [" : "[") != 0 || print_value(p) != 0 || put(p, ", ") != 0 ||
		    print_value(p) != 0 || put(p, "]") != 0)
			return -1;
	p->depth -= 3;
	return put(p, "]}");
}

static int print_map(struct printer *p, uint64_t count)
{
	bool object;

	if (is_object(p->cursor, count, &object, p->err) != 0)
		return -1;
	return object ? print_object(p, count) : print_pairs(p, count);
}

static int print_value(struct printer *p)
{
	struct item item = take_item(&p->cursor);

	if (pass_on(p, PIECE) != 0)
		return -1;
	if (p->cursor.bad)
		return bpk_fail(p->err, BPK_CORRUPT,
				"msgpack ends within a value, or has an unknown marker");
	switch (item.kind) {
	case NIL:
		return put(p, "null");
	case FALSE:
		return put(p, "false");
	case TRUE:
		return put(p, "true");
	case UINT:
		return print_digits(p, false, item.number);
	case INT:
		return print_int(p, &item);
	case FLOAT:
		return print_float(p, &item);
	case STR:
		return print_string(p, item.bytes);
	case BIN:
		return print_bytes(p, "\"$bin\"", item.bytes);
	case EXT:
		return print_ext(p, &item);
	case ARRAY:
		return print_array(p, item.number);
	default:
		return print_map(p, item.number);
	}
}

static int print_all(struct printer *p)
{
	if (print_value(p) != 0)
		return -1;
	if (p->cursor.left > 0)
		return bpk_fail(p->err, BPK_CORRUPT, "%zu bytes follow the msgpack value",
				p->cursor.left);
	return pass_on(p, 0);
}

int bpk_msgpack_print(struct bpk_view bytes, struct bpk_buf *json, struct bpk_err *err)
{
	struct printer p = { .cursor = bpk_cursor(bytes), .out = json, .err = err };
	size_t start = json->size;
	int rc = print_all(&p);

	if (rc != 0)
		json->size = start;
	return rc;
}

static int add_size(void *arg, struct bpk_view piece, struct bpk_err *err)
{
	size_t *size = arg;

	if (piece.size > SIZE_MAX - *size)
		return bpk_fail_memory(err, piece.size);
	*size += piece.size;
	return 0;
}

int bpk_msgpack_measure(struct bpk_view bytes, struct bpk_msgpack_text *text, struct bpk_err *err)
{
	struct bpk_err why = { 0 };
	struct bpk_buf piece = { 0 };
	struct printer p = { .cursor = bpk_cursor(bytes),
			     .out = &piece,
			     .take = add_size,
			     .arg = &text->most,
			     .measures = true,
			     .err = &why };

	*text = (struct bpk_msgpack_text){ .bytes = bytes };
	text->is_value = print_all(&p) == 0;
	bpk_buf_clear(&piece);
	if (text->is_value)
		return 0;
	if (why.kind != BPK_CORRUPT && why.kind != BPK_LIMIT)
		return bpk_fail_as(err, &why);
	if (bytes.size > (SIZE_MAX - RAW_SIZE) / 2)
		return bpk_fail_memory(err, bytes.size);
	text->most = RAW_SIZE + 2 * bytes.size;
	return 0;
}

static int print_measured(struct printer *p, const struct bpk_msgpack_text *text)
{
	p->cursor = bpk_cursor(text->bytes);
	if (text->is_value)
		return print_all(p);
	if (put(p, RAW) != 0 || print_hex(p, text->bytes) != 0 || put(p, RAW_END) != 0)
		return -1;
	return pass_on(p, 0);
}

int bpk_msgpack_print_text(const struct bpk_msgpack_text *text, struct bpk_buf *json,
			   struct bpk_err *err)
{
	struct printer p = { .out = json, .err = err };
	size_t start = json->size;

	if (text->most > SIZE_MAX - start)
		return bpk_fail_memory(err, text->most);
	if (bpk_buf_reserve(json, start + text->most, err) == 0 && print_measured(&p, text) == 0)
		return 0;
	json->size = start;
	return -1;
}

int bpk_msgpack_print_any(struct bpk_view bytes, struct bpk_buf *json, struct bpk_err *err)
{
	struct bpk_msgpack_text text;

	return bpk_msgpack_measure(bytes, &text, err) != 0
		       ? -1
		       : bpk_msgpack_print_text(&text, json, err);
}

int bpk_msgpack_stream_any(struct bpk_view bytes,
			   int (*take)(void *arg, struct bpk_view piece, struct bpk_err *err),
			   void *arg, struct bpk_err *err)
{
	struct bpk_buf piece = { 0 };
	struct printer p = { .out = &piece, .take = take, .arg = arg, .err = err };
	struct bpk_msgpack_text text;
	int rc = bpk_msgpack_measure(bytes, &text, err);

	if (rc == 0)
		rc = print_measured(&p, &text);
	bpk_buf_clear(&piece);
	return rc;
}
