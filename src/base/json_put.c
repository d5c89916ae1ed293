/*
 * Writing JSON strings, hexadecimal and base64. Called by json.c, msgpack, formats, and results of
 * commands.
 */
#include "base/json.h"

enum {
	PIECE = 4096,
	LONGEST = 6, /* bytes of an escape */
};

/*
 * How many bytes at the start of text stand for themselves. Besides the characters that JSON
 * requires, DEL and the controls U+0080..U+009F, which begin with C2 as others do, are escaped,
 * because terminals obey them.
 */
static size_t plain_size(struct bpk_view text)
{
	static const bool marks[256] = {
		['"'] = true, ['\\'] = true, [0x7f] = true, [0xc2] = true
	};
	size_t size = 0;

	while (size < text.size && text.data[size] >= 0x20 && !marks[text.data[size]])
		size++;
	return size;
}

/* The code of the character at the start of text, which is not plain, if it must be escaped, else
 * -1. */
static int needs_escape(struct bpk_view text)
{
	if (text.data[0] != 0xc2)
		return text.data[0];
	return text.size > 1 && text.data[1] < 0xa0 ? text.data[1] : -1;
}

static uint8_t *put_escape(uint8_t *p, int code)
{
	static const uint8_t letters[256] = {
		['"'] = '"',  ['\\'] = '\\', ['\b'] = 'b', ['\f'] = 'f',
		['\n'] = 'n', ['\r'] = 'r',  ['\t'] = 't',
	};
	static const char digits[] = "0123456789abcdef";

	*p++ = '\\';
	if (letters[code] != 0) {
		*p++ = letters[code];
		return p;
	}
	memcpy(p, "u00", 3);
	p[3] = (uint8_t)digits[code >> 4]; /* a control character: less than 256 */
	p[4] = (uint8_t)digits[code & 15];
	return p + 5;
}

int bpk_json_put_piece(struct bpk_buf *out, struct bpk_view *text, struct bpk_err *err)
{
	size_t size = bpk_min_size(text->size, PIECE);
	const uint8_t *at = text->data;
	uint8_t *p;

	if (size == 0)
		return 0;
	/* the end of a character: an escape needs both bytes of U+0080..U+009F */
	while (size > 1 && size < text->size && (at[size] & 0xc0) == 0x80)
		size--;
	if (LONGEST * size > SIZE_MAX - out->size)
		return bpk_fail_memory(err, size);
	if (bpk_buf_reserve(out, out->size + LONGEST * size, err) != 0)
		return -1;
	p = out->data + out->size;
	for (size_t i = 0; i < size; i++) {
		size_t plain = plain_size(bpk_view(at + i, size - i));
		int code;

		memcpy(p, at + i, plain);
		p += plain;
		i += plain;
		if (i == size)
			break;
		code = needs_escape(bpk_view(at + i, size - i));
		if (code < 0)
			*p++ = at[i];
		else
			p = put_escape(p, code);
		i += code >= 0x80; /* two bytes long */
	}
	out->size = (size_t)(p - out->data);
	*text = bpk_view(at + size, text->size - size);
	return 0;
}

int bpk_json_put_string(struct bpk_buf *out, struct bpk_view bytes, struct bpk_err *err)
{
	if (bpk_buf_append(out, bpk_view("\"", 1), err) != 0)
		return -1;
	while (bytes.size > 0)
		if (bpk_json_put_piece(out, &bytes, err) != 0)
			return -1;
	return bpk_buf_append(out, bpk_view("\"", 1), err);
}

int bpk_hex_put(struct bpk_buf *out, struct bpk_view bytes, struct bpk_err *err)
{
	static const char digits[] = "0123456789abcdef";
	uint8_t *p;

	if (bytes.size == 0) /* NULL + 0 is undefined behaviour */
		return 0;
	if (bytes.size > (SIZE_MAX - out->size) / 2)
		return bpk_fail_memory(err, bytes.size);
	if (bpk_buf_reserve(out, out->size + 2 * bytes.size, err) != 0)
		return -1;
	p = out->data + out->size;
	for (size_t i = 0; i < bytes.size; i++) {
		*p++ = (uint8_t)digits[bytes.data[i] >> 4];
		*p++ = (uint8_t)digits[bytes.data[i] & 15];
	}
	out->size += 2 * bytes.size;
	return 0;
}

static int digit_of(uint8_t byte)
{
	if (byte >= '0' && byte <= '9')
		return byte - '0';
	byte |= 0x20;
	return byte >= 'a' && byte <= 'f' ? byte - 'a' + 10 : -1;
}

bool bpk_hex_fill(struct bpk_view digits, uint8_t *out, size_t size)
{
	if (digits.size / 2 != size || digits.size % 2 != 0)
		return false;
	for (size_t i = 0; i < size; i++) {
		int high = digit_of(digits.data[2 * i]), low = digit_of(digits.data[2 * i + 1]);

		if (high < 0 || low < 0)
			return false;
		out[i] = (uint8_t)(high << 4 | low);
	}
	return true;
}

int bpk_hex_take(struct bpk_view digits, struct bpk_buf *out, struct bpk_err *err)
{
	size_t start = out->size, size = digits.size / 2;

	if (bpk_buf_reserve(out, start + size, err) != 0)
		return -1;
	/* NULL + 0 is undefined behaviour */
	if (digits.size > 0 && (size == 0 || !bpk_hex_fill(digits, out->data + start, size)))
		return bpk_fail(err, BPK_USAGE, "\"%.*s\" is not in pairs of hexadecimal digits",
				(int)bpk_min_size(digits.size, 32), (const char *)digits.data);
	out->size += size;
	return 0;
}

int bpk_base64_put(struct bpk_buf *out, struct bpk_view bytes, struct bpk_err *err)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	for (size_t at = 0; at < bytes.size; at += 3) {
		size_t left = bytes.size - at;
		uint32_t three = (uint32_t)bytes.data[at] << 16;
		char four[4];

		if (left > 1)
			three |= (uint32_t)bytes.data[at + 1] << 8;
		if (left > 2)
			three |= bytes.data[at + 2];
		for (int i = 0; i < 4; i++)
			four[i] = digits[three >> (18 - 6 * i) & 63];
		if (left < 2)
			four[2] = '=';
		if (left < 3)
			four[3] = '=';
		if (bpk_buf_append(out, bpk_view(four, 4), err) != 0)
			return -1;
	}
	return 0;
}
