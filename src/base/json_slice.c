/*
 * Reading JSON text as slices of itself. Checked text needs no parser: brackets, commas and strings
 * are enough. Unchecked text gives wrong slices, but never slices outside the text. Called by
 * json.c, dtype.c, array.c, msgpack_parse.c, formats, .npy heads and meta.
 */
#include "base/json.h"

static bool is_space(uint8_t byte)
{
	return byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r';
}

static size_t skip_space(struct bpk_view text, size_t at)
{
	while (at < text.size && is_space(text.data[at]))
		at++;
	return at;
}

static size_t skip_string(struct bpk_view text, size_t at)
{
	for (at++; at < text.size && text.data[at] != '"'; at++)
		at += text.data[at] == '\\';
	return at < text.size ? at + 1 : text.size;
}

/* True for the bytes that matter inside of brackets: '[' and '{', ']' and '}' differ by 0x20. */
static bool is_mark(uint8_t byte)
{
	return byte == '"' || (byte | 0x20) == '{' || (byte | 0x20) == '}';
}

/* The next mark; compilers make one test of STEP bytes. */
static size_t skip_plain(struct bpk_view text, size_t at)
{
	enum { STEP = 16 };

	for (; text.size - at >= STEP; at += STEP) {
		uint8_t marks = 0;

		for (size_t i = 0; i < STEP; i++)
			marks |= is_mark(text.data[at + i]);
		if (marks != 0)
			break;
	}
	while (at < text.size && !is_mark(text.data[at]))
		at++;
	return at;
}

/* The end of a value, without trailing space. */
static size_t skip_value(struct bpk_view text, size_t at)
{
	size_t start = at, depth = 0;

	while (at < text.size) {
		uint8_t byte = text.data[at];

		if (depth > 0 && !is_mark(byte)) {
			at = skip_plain(text, at);
			continue;
		}
		if (depth == 0 && (byte == ',' || byte == '}' || byte == ']'))
			break;
		depth += byte == '{' || byte == '[';
		depth -= byte == '}' || byte == ']';
		at = byte == '"' ? skip_string(text, at) : at + 1;
	}
	while (at > start && is_space(text.data[at - 1]))
		at--;
	return at;
}

enum bpk_json_kind bpk_json_kind(struct bpk_view value)
{
	size_t at = skip_space(value, 0);

	if (at == value.size)
		return BPK_JSON_NONE;
	switch (value.data[at]) {
	case '{':
		return BPK_JSON_OBJECT;
	case '[':
		return BPK_JSON_LIST;
	case '"':
		return BPK_JSON_STRING;
	case 't':
		return BPK_JSON_TRUE;
	case 'f':
		return BPK_JSON_FALSE;
	case 'n':
		return BPK_JSON_NULL;
	default:
		return BPK_JSON_NUMBER;
	}
}

static struct bpk_view slice(struct bpk_view text, size_t from, size_t to)
{
	return bpk_view(text.data + from, to - from);
}

/* The string before a colon; *at moves to the value after it. */
static struct bpk_view take_key(struct bpk_view text, size_t *at)
{
	size_t start = *at;
	size_t end = bpk_min_size(skip_string(text, start), text.size);

	*at = skip_space(text, end);
	*at = skip_space(text, bpk_min_size(*at + 1, text.size));
	return slice(text, start, end);
}

bool bpk_json_next(struct bpk_view container, size_t *at, struct bpk_view *key,
		   struct bpk_view *value)
{
	enum bpk_json_kind kind = bpk_json_kind(container);
	struct bpk_view name = { 0 };
	size_t start;

	if (kind != BPK_JSON_LIST && kind != BPK_JSON_OBJECT)
		return false;
	if (*at == 0)
		*at = skip_space(container, 0) + 1;
	*at = skip_space(container, *at);
	if (*at < container.size && container.data[*at] == ',')
		*at = skip_space(container, *at + 1);
	if (*at >= container.size || container.data[*at] == ']' || container.data[*at] == '}')
		return false;
	if (kind == BPK_JSON_OBJECT)
		name = take_key(container, at);
	start = *at;
	*at = skip_value(container, start);
	*value = slice(container, start, *at);
	if (key != NULL)
		*key = name;
	return true;
}

struct bpk_view bpk_json_member(struct bpk_view object, const char *key)
{
	struct bpk_view name, value;

	if (bpk_json_kind(object) != BPK_JSON_OBJECT)
		return bpk_view(NULL, 0);
	for (size_t at = 0; bpk_json_next(object, &at, &name, &value);)
		if (bpk_json_string_is(name, key))
			return value;
	return bpk_view(NULL, 0);
}

bool bpk_json_u64(struct bpk_view value, uint64_t *out)
{
	uint64_t number = 0;

	if (value.size == 0)
		return false;
	for (size_t i = 0; i < value.size; i++) {
		unsigned digit = value.data[i] - (unsigned)'0';

		if (digit > 9 || number > ((uint64_t)INT64_MAX - digit) / 10)
			return false;
		number = 10 * number + digit;
	}
	*out = number;
	return true;
}

/* ---- Strings ---- */

/* Four hexadecimal digits at at. The text was checked, so they are digits; missing ones count 0. */
static uint32_t hex4(struct bpk_view text, size_t at)
{
	uint32_t code = 0;

	for (size_t i = at; i < at + 4 && i < text.size; i++) {
		uint8_t byte = text.data[i];

		code = code << 4 | (byte <= '9' ? byte - (unsigned)'0' : (byte & 7u) + 9);
	}
	return code;
}

static size_t put_utf8(uint32_t code, uint8_t out[4])
{
	if (code < 0x80) {
		out[0] = (uint8_t)code;
		return 1;
	}
	if (code < 0x800) {
		out[0] = (uint8_t)(0xc0 | code >> 6);
		out[1] = (uint8_t)(0x80 | (code & 0x3f));
		return 2;
	}
	if (code < 0x10000) {
		out[0] = (uint8_t)(0xe0 | code >> 12);
		out[1] = (uint8_t)(0x80 | (code >> 6 & 0x3f));
		out[2] = (uint8_t)(0x80 | (code & 0x3f));
		return 3;
	}
	out[0] = (uint8_t)(0xf0 | code >> 18);
	out[1] = (uint8_t)(0x80 | (code >> 12 & 0x3f));
	out[2] = (uint8_t)(0x80 | (code >> 6 & 0x3f));
	out[3] = (uint8_t)(0x80 | (code & 0x3f));
	return 4;
}

/* One character of a string, or one byte of an unescaped character. */
struct letter {
	uint8_t bytes[4];
	size_t size;
	bool lone; /* a surrogate without its other half */
};

/* Resolve \uXXXX at *at, or a pair of them, and move *at past it. */
static struct letter take_code(struct bpk_view text, size_t *at)
{
	uint32_t code = hex4(text, *at + 2), low;
	struct letter letter = { .lone = code >= 0xd800 && code < 0xe000 };

	*at += 6;
	if (letter.lone && code < 0xdc00 && *at + 6 <= text.size && text.data[*at] == '\\' &&
	    text.data[*at + 1] == 'u') {
		low = hex4(text, *at + 2);
		if (low >= 0xdc00 && low < 0xe000) {
			code = 0x10000 + ((code & 0x3ff) << 10 | (low & 0x3ff));
			letter.lone = false;
			*at += 6;
		}
	}
	letter.size = put_utf8(letter.lone ? 0xfffd : code, letter.bytes);
	return letter;
}

static struct letter take_letter(struct bpk_view text, size_t *at)
{
	static const char letters[] = "bfnrt", means[] = "\b\f\n\r\t";
	struct letter letter = { .size = 1 };
	const char *named;

	if (text.data[*at] != '\\' || *at + 1 >= text.size) {
		letter.bytes[0] = text.data[(*at)++];
		return letter;
	}
	if (text.data[*at + 1] == 'u')
		return take_code(text, at);
	letter.bytes[0] = text.data[*at + 1];
	named = strchr(letters, letter.bytes[0]);
	if (named != NULL && *named != '\0')
		letter.bytes[0] = (uint8_t)means[named - letters];
	*at += 2;
	return letter;
}

/* The text between the quotes. */
static struct bpk_view unquoted(struct bpk_view string)
{
	return string.size < 2 ? bpk_view(NULL, 0) : bpk_view(string.data + 1, string.size - 2);
}

bool bpk_json_string_is(struct bpk_view string, const char *text)
{
	struct bpk_view inner = unquoted(string);
	size_t left = strlen(text);

	if (bpk_json_kind(string) != BPK_JSON_STRING)
		return false;
	for (size_t at = 0; at < inner.size;) {
		struct letter letter = take_letter(inner, &at);

		if (letter.lone || letter.size > left ||
		    memcmp(text, letter.bytes, letter.size) != 0)
			return false;
		text += letter.size;
		left -= letter.size;
	}
	return left == 0;
}

size_t bpk_json_string_copy(struct bpk_view value, uint8_t *out, size_t room)
{
	struct bpk_view inner = unquoted(value);
	size_t size = 0;

	if (bpk_json_kind(value) != BPK_JSON_STRING)
		return SIZE_MAX;
	for (size_t at = 0; at < inner.size;) {
		struct letter letter = take_letter(inner, &at);

		if (letter.size > room - size)
			return SIZE_MAX;
		memcpy(out + size, letter.bytes, letter.size);
		size += letter.size;
	}
	return size;
}

int bpk_json_string(struct bpk_view value, struct bpk_buf *out, struct bpk_err *err)
{
	struct bpk_view inner = unquoted(value);

	if (bpk_json_kind(value) != BPK_JSON_STRING)
		return bpk_fail(err, BPK_USAGE, "the JSON value is not a string");
	if (inner.size == 0) /* NULL + 0 is undefined behaviour */
		return 0;
	/* an unescaped string is never longer than its escaped form */
	if (bpk_buf_reserve(out, out->size + inner.size, err) != 0)
		return -1;
	out->size += bpk_json_string_copy(value, out->data + out->size, inner.size);
	return 0;
}
