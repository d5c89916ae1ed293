/*
 * JSON text to msgpack. The text is checked once, as a whole, so that its depth is bounded and its
 * slices can be trusted. The members of a container are counted before its head is written. Called
 * by the layers of frames.
 */
#include "base/json.h"
#include "base/msgpack.h"

#include <stdlib.h>

static int parse_value(struct bpk_view value, struct bpk_buf *out, struct bpk_err *err);

static int put(struct bpk_buf *out, const void *bytes, size_t size, struct bpk_err *err)
{
	return bpk_buf_append(out, bpk_view(bytes, size), err);
}

/* A marker and a big-endian number of width bytes. */
static int put_number(struct bpk_buf *out, unsigned marker, uint64_t number, unsigned width,
		      struct bpk_err *err)
{
	uint8_t bytes[9] = { (uint8_t)marker };

	for (unsigned i = 0; i < width; i++)
		bytes[1 + i] = (uint8_t)(number >> 8 * (width - 1 - i));
	return put(out, bytes, 1 + width, err);
}

/* The same in the shortest form. markers are those for 1, 2, 4 and 8 bytes. */
static int put_short(struct bpk_buf *out, const uint8_t markers[4], uint64_t number,
		     struct bpk_err *err)
{
	unsigned i = (number > UINT8_MAX) + (number > UINT16_MAX) + (number > UINT32_MAX);

	return put_number(out, markers[i], number, 1u << i, err);
}

static int check_size(size_t size, struct bpk_err *err)
{
	return size <= UINT32_MAX
		       ? 0
		       : bpk_fail(err, BPK_LIMIT, "%zu are more than msgpack can count", size);
}

/* ---- Scalars ---- */

static int put_unsigned(uint64_t value, struct bpk_buf *out, struct bpk_err *err)
{
	static const uint8_t markers[4] = { 0xcc, 0xcd, 0xce, 0xcf };

	if (value < 0x80)
		return put_number(out, (unsigned)value, 0, 0, err);
	return put_short(out, markers, value, err);
}

static int put_negative(int64_t value, struct bpk_buf *out, struct bpk_err *err)
{
	unsigned i = (value < INT8_MIN) + (value < INT16_MIN) + (value < INT32_MIN);

	if (value >= -32)
		return put_number(out, (uint8_t)value, 0, 0, err);
	return put_number(out, 0xd0 + i, (uint64_t)value, 1u << i, err);
}

static int put_double(double value, struct bpk_buf *out, struct bpk_err *err)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof bits);
	return put_number(out, 0xcb, bits, 8, err);
}

static int put_ext(int type, struct bpk_view bytes, struct bpk_buf *out, struct bpk_err *err)
{
	static const uint8_t markers[4] = { 0xc7, 0xc8, 0xc9, 0 };
	uint8_t stored = (uint8_t)type;
	unsigned power = 0;

	if (check_size(bytes.size, err) != 0)
		return -1;
	while (power < 4 && (size_t)1 << power < bytes.size)
		power++;
	if (bytes.size == (size_t)1 << power) {
		if (put_number(out, 0xd4 + power, 0, 0, err) != 0)
			return -1;
	} else if (put_short(out, markers, bytes.size, err) != 0) {
		return -1;
	}
	return put(out, &stored, 1, err) != 0 ? -1 : put(out, bytes.data, bytes.size, err);
}

static int put_bin(struct bpk_view bytes, struct bpk_buf *out, struct bpk_err *err)
{
	static const uint8_t markers[4] = { 0xc4, 0xc5, 0xc6, 0 };

	if (check_size(bytes.size, err) != 0 || put_short(out, markers, bytes.size, err) != 0)
		return -1;
	return put(out, bytes.data, bytes.size, err);
}

int bpk_msgpack_put_str(struct bpk_view bytes, struct bpk_buf *out, struct bpk_err *err)
{
	static const uint8_t markers[4] = { 0xd9, 0xda, 0xdb, 0 };
	int rc;

	if (check_size(bytes.size, err) != 0)
		return -1;
	rc = bytes.size < 32 ? put_number(out, 0xa0 | (unsigned)bytes.size, 0, 0, err)
			     : put_short(out, markers, bytes.size, err);
	return rc != 0 ? -1 : put(out, bytes.data, bytes.size, err);
}

static int parse_string(struct bpk_view value, struct bpk_buf *out, struct bpk_err *err)
{
	struct bpk_buf text = { 0 };
	int rc = bpk_json_string(value, &text, err);

	if (rc == 0)
		rc = bpk_msgpack_put_str(bpk_buf_view(&text), out, err);
	bpk_buf_clear(&text);
	return rc;
}

static int parse_number(struct bpk_view value, struct bpk_buf *out, struct bpk_err *err)
{
	struct bpk_json_number number = bpk_json_number(value);

	switch (number.kind) {
	case BPK_JSON_UNSIGNED:
		return put_unsigned(number.u64, out, err);
	case BPK_JSON_NEGATIVE:
		return put_negative(number.i64, out, err);
	case BPK_JSON_DOUBLE:
		return put_double(number.f64, out, err);
	default:
		return put_ext(BPK_MSGPACK_DIGITS, value, out, err);
	}
}

/* ---- Containers ---- */

static size_t count_members(struct bpk_view container)
{
	struct bpk_view value;
	size_t n = 0;

	for (size_t at = 0; bpk_json_next(container, &at, NULL, &value);)
		n++;
	return n;
}

/* fix: marker for counts below 16; wide: marker for 16-bit counts; wide + 1: 32-bit. */
static int put_count(size_t n, unsigned fix, unsigned wide, struct bpk_buf *out,
		     struct bpk_err *err)
{
	if (check_size(n, err) != 0)
		return -1;
	if (n < 16)
		return put_number(out, fix | (unsigned)n, 0, 0, err);
	return n <= UINT16_MAX ? put_number(out, wide, n, 2, err)
			       : put_number(out, wide + 1, n, 4, err);
}

static int parse_list(struct bpk_view list, struct bpk_buf *out, struct bpk_err *err)
{
	struct bpk_view value;

	if (put_count(count_members(list), 0x90, 0xdc, out, err) != 0)
		return -1;
	for (size_t at = 0; bpk_json_next(list, &at, NULL, &value);)
		if (parse_value(value, out, err) != 0)
			return -1;
	return 0;
}

static int parse_members(struct bpk_view object, struct bpk_buf *out, struct bpk_err *err)
{
	struct bpk_view key, value;

	if (put_count(count_members(object), 0x80, 0xde, out, err) != 0)
		return -1;
	for (size_t at = 0; bpk_json_next(object, &at, &key, &value);)
		if (parse_string(key, out, err) != 0 || parse_value(value, out, err) != 0)
			return -1;
	return 0;
}

/* ---- Forms for values that JSON lacks ---- */

/* The first two members, and the count of members up to 3, which is more than any form has. */
struct form {
	size_t n;
	struct bpk_view keys[2], values[2];
};

static struct form form_of(struct bpk_view object)
{
	struct form form = { 0 };
	struct bpk_view key, value;

	for (size_t at = 0; form.n < 3 && bpk_json_next(object, &at, &key, &value); form.n++)
		if (form.n < 2) {
			form.keys[form.n] = key;
			form.values[form.n] = value;
		}
	return form;
}

static bool is_pair_list(struct bpk_view value)
{
	struct bpk_view pair;

	if (bpk_json_kind(value) != BPK_JSON_LIST)
		return false;
	for (size_t at = 0; bpk_json_next(value, &at, NULL, &pair);)
		if (bpk_json_kind(pair) != BPK_JSON_LIST || count_members(pair) != 2)
			return false;
	return true;
}

static int parse_pairs(struct bpk_view list, struct bpk_buf *out, struct bpk_err *err)
{
	struct bpk_view pair, value;

	if (put_count(count_members(list), 0x80, 0xde, out, err) != 0)
		return -1;
	for (size_t at = 0; bpk_json_next(list, &at, NULL, &pair);)
		for (size_t in = 0; bpk_json_next(pair, &in, NULL, &value);)
			if (parse_value(value, out, err) != 0)
				return -1;
	return 0;
}

/* Decode a string of hexadecimal digits. Returns 1 if value is not such a string. */
static int take_hex(struct bpk_view value, struct bpk_buf *bytes, struct bpk_err *err)
{
	struct bpk_err why = { 0 };

	if (bpk_json_kind(value) != BPK_JSON_STRING ||
	    bpk_hex_take(bpk_view(value.data + 1, value.size - 2), bytes, &why) == 0)
		return bpk_json_kind(value) != BPK_JSON_STRING;
	return why.kind == BPK_USAGE ? 1 : bpk_fail_as(err, &why);
}

/* {"$bin": hex}, {"$str": hex}, {"$ext": type, "$bin": hex}. Returns 1 for any other object. */
static int parse_bytes(const struct form *form, struct bpk_buf *out, struct bpk_err *err)
{
	bool ext = form->n == 2 && bpk_json_string_is(form->keys[0], "$ext") &&
		   bpk_json_string_is(form->keys[1], "$bin");
	bool bin = form->n == 1 && bpk_json_string_is(form->keys[0], "$bin");
	bool str = form->n == 1 && bpk_json_string_is(form->keys[0], "$str");
	struct bpk_json_number type = { 0 };
	struct bpk_buf bytes = { 0 };
	int rc;

	if (ext) {
		if (bpk_json_kind(form->values[0]) != BPK_JSON_NUMBER)
			return 1;
		type = bpk_json_number(form->values[0]);
		ext = (type.kind == BPK_JSON_UNSIGNED && type.u64 <= INT8_MAX) ||
		      (type.kind == BPK_JSON_NEGATIVE && type.i64 >= INT8_MIN);
	}
	if (!ext && !bin && !str)
		return 1;
	rc = take_hex(form->values[form->n - 1], &bytes, err);
	if (rc == 0 && ext)
		rc = put_ext((int)type.u64 + (int)type.i64, bpk_buf_view(&bytes), out, err);
	else if (rc == 0 && bin)
		rc = put_bin(bpk_buf_view(&bytes), out, err);
	else if (rc == 0)
		rc = bpk_msgpack_put_str(bpk_buf_view(&bytes), out, err);
	bpk_buf_clear(&bytes);
	return rc;
}

static int parse_object(struct bpk_view object, struct bpk_buf *out, struct bpk_err *err)
{
	struct form form = form_of(object);
	int rc;

	if (form.n == 1 && bpk_json_string_is(form.keys[0], "$map") && is_pair_list(form.values[0]))
		return parse_pairs(form.values[0], out, err);
	rc = parse_bytes(&form, out, err);
	return rc == 1 ? parse_members(object, out, err) : rc;
}

/* ---- Entry ---- */

/* Recursion is bounded by the depth that bpk_json_check accepts. */
static int parse_value(struct bpk_view value, struct bpk_buf *out, struct bpk_err *err)
{
	switch (bpk_json_kind(value)) {
	case BPK_JSON_NULL:
		return put_number(out, 0xc0, 0, 0, err);
	case BPK_JSON_FALSE:
		return put_number(out, 0xc2, 0, 0, err);
	case BPK_JSON_TRUE:
		return put_number(out, 0xc3, 0, 0, err);
	case BPK_JSON_NUMBER:
		return parse_number(value, out, err);
	case BPK_JSON_STRING:
		return parse_string(value, out, err);
	case BPK_JSON_LIST:
		return parse_list(value, out, err);
	case BPK_JSON_OBJECT:
		return parse_object(value, out, err);
	default:
		return bpk_fail(err, BPK_USAGE, "JSON: no value");
	}
}

/* The text without surrounding space. */
static struct bpk_view trimmed(struct bpk_view text)
{
	while (text.size > 0 && strchr(" \t\r\n", text.data[0]) != NULL)
		text = bpk_view(text.data + 1, text.size - 1);
	while (text.size > 0 && strchr(" \t\r\n", text.data[text.size - 1]) != NULL)
		text.size--;
	return text;
}

int bpk_msgpack_parse(struct bpk_view json, struct bpk_buf *out, struct bpk_err *err)
{
	size_t start = out->size;

	if (bpk_json_check(json, err) != 0) {
		if (err != NULL && err->kind == BPK_CORRUPT)
			err->kind = BPK_USAGE;
		return -1;
	}
	if (parse_value(trimmed(json), out, err) == 0)
		return 0;
	out->size = start;
	return -1;
}
