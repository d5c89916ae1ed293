/*
 * Lines, UTF-8, the escapes of untrusted text for terminals and shells, and numbers as text.
 * Called by errors, JSON, layouts, layers of frames, encode_block.c, choose, and results of
 * commands.
 */
#include "base/text.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- Lines ---- */

enum {
	PARTS = 4,
	PART = 4096,
	LINE_MOST = 1024, /* bytes of an average line at most */
	WIDE_SHARE = 4,   /* one byte in so many may be of a character beyond ASCII */
};

struct line_bytes {
	size_t all, newlines, wide, controls;
};

static void count_bytes(struct bpk_view part, struct line_bytes *count)
{
	count->all += part.size;
	for (size_t i = 0; i < part.size; i++) {
		uint8_t c = part.data[i];

		count->newlines += c == '\n';
		count->wide += c > 0x7f;
		count->controls += (c < ' ' && (c < '\t' || c > '\r')) || c == 0x7f;
	}
}

bool bpk_text_is_lines(struct bpk_view bytes)
{
	struct line_bytes count = { 0 };

	if (bytes.size <= (size_t)PARTS * PART) {
		count_bytes(bytes, &count);
	} else {
		size_t step = (bytes.size - PART) / (PARTS - 1);

		for (size_t i = 0; i < PARTS; i++)
			count_bytes(bpk_view(bytes.data + step * i, PART), &count);
	}
	return count.controls == 0 && count.newlines > count.all / LINE_MOST &&
	       count.wide < count.all / WIDE_SHARE + 1;
}

/* ---- UTF-8 ---- */

/* Source: The Unicode Standard, table 3-7. */
size_t bpk_utf8_size(struct bpk_view text)
{
	uint8_t lead = text.data[0];
	uint8_t low = 0x80, high = 0xbf; /* bounds of the second byte */
	size_t size = 1 + (lead >= 0xc2) + (lead >= 0xe0) + (lead >= 0xf0);

	if (lead < 0x80)
		return lead != 0;
	if (lead < 0xc2 || lead > 0xf4 || size > text.size)
		return 0;
	if (lead == 0xe0)
		low = 0xa0; /* overlong */
	if (lead == 0xed)
		high = 0x9f; /* surrogates */
	if (lead == 0xf0)
		low = 0x90; /* overlong */
	if (lead == 0xf4)
		high = 0x8f; /* past U+10FFFF */
	if (text.data[1] < low || text.data[1] > high)
		return 0;
	for (size_t i = 2; i < size; i++)
		if ((text.data[i] & 0xc0) != 0x80)
			return 0;
	return size;
}

bool bpk_utf8_valid(struct bpk_view bytes)
{
	while (bytes.size > 0) {
		uint8_t lead = bytes.data[0];
		size_t size = lead > 0 && lead < 0x80 ? 1 : bpk_utf8_size(bytes);

		if (size == 0)
			return false;
		bytes.data += size;
		bytes.size -= size;
	}
	return true;
}

/* True for U+061C, U+200E, U+200F, U+2028..U+202E and U+2066..U+2069, which break lines or change
 * the order in which text is shown, so that a name can look like another. text is valid UTF-8.
 * Source: The Unicode Standard, annex 9, table 4. */
static bool turns_text(struct bpk_view text)
{
	const uint8_t *c = text.data;

	if (c[0] == 0xd8)
		return c[1] == 0x9c;
	if (c[0] != 0xe2)
		return false;
	if (c[1] == 0x80)
		return c[2] == 0x8e || c[2] == 0x8f || (c[2] >= 0xa8 && c[2] <= 0xae);
	return c[1] == 0x81 && c[2] >= 0xa6 && c[2] <= 0xa9;
}

/* Controls that terminals obey. U+0080..U+009F are C2 80..C2 9F. text is valid UTF-8. */
static bool is_control(struct bpk_view text)
{
	uint8_t lead = text.data[0];

	return lead < 0x20 || lead == 0x7f || (lead == 0xc2 && text.data[1] < 0xa0) ||
	       turns_text(text);
}

size_t bpk_text_show(struct bpk_view text, char shown[BPK_TEXT_SHOWN])
{
	size_t size = bpk_utf8_size(text);

	if (size == 0 || is_control(text)) {
		snprintf(shown, BPK_TEXT_SHOWN, "\\x%02x", text.data[0]);
		return 1;
	}
	memcpy(shown, text.data, size);
	shown[size] = '\0';
	return size;
}

/* ---- Words of a shell ---- */

/* A word under way, with its end. full: it does not fit. */
struct word {
	char *text;
	size_t size;
	bool full;
};

static void put_text(struct word *w, const char *text, size_t size)
{
	w->full = w->full || size >= BPK_WORD_TEXT - w->size;
	if (w->full)
		return;
	memcpy(w->text + w->size, text, size);
	w->size += size;
	w->text[w->size] = '\0';
}

static void put_string(struct word *w, const char *text)
{
	put_text(w, text, strlen(text));
}

/* Inside '...': a quote ends it, stands by itself, and begins the rest. */
static void put_quoted(struct word *w, const char *name)
{
	put_string(w, "'");
	for (; *name != '\0'; name++)
		put_text(w, *name == '\'' ? "'\\''" : name, *name == '\'' ? 4 : 1);
	put_string(w, "'");
}

/* Inside $'...'. Three octal digits end by themselves, unlike hexadecimal ones. */
static void put_escaped(struct word *w, const char *name)
{
	char octal[8];

	put_string(w, "$'");
	for (struct bpk_view left = bpk_view(name, strlen(name)); left.size > 0;) {
		size_t size = bpk_utf8_size(left);

		if (size == 0 || is_control(left) || *left.data == '\'' || *left.data == '\\') {
			snprintf(octal, sizeof octal, "\\%03o", left.data[0]);
			put_string(w, octal);
			size = 1;
		} else {
			put_text(w, (const char *)left.data, size);
		}
		left = bpk_view(left.data + size, left.size - size);
	}
	put_string(w, "'");
}

/* True if bpk_text_show would change a character. */
static bool is_escaped(struct bpk_view text)
{
	while (text.size > 0) {
		size_t size = bpk_utf8_size(text);

		if (size == 0 || is_control(text))
			return true;
		text = bpk_view(text.data + size, text.size - size);
	}
	return false;
}

const char *bpk_shell_word(const char *name, char word[BPK_WORD_TEXT])
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789_@%+:,./-";
	struct word w = { .text = word };

	if (name == NULL || strcmp(name, "-") == 0)
		name = "FILE";
	if (*name == '-')
		put_string(&w, "./");
	if (is_escaped(bpk_view(name, strlen(name))))
		put_escaped(&w, name);
	else if (*name != '\0' && name[strspn(name, plain)] == '\0')
		put_string(&w, name);
	else
		put_quoted(&w, name);
	return w.full ? strcpy(word, "FILE") : word;
}

/* ---- Numbers ---- */

/* DBL_DIG digits identify most numbers; only the smallest need fewer, so the search starts there
 * except near zero. */
const char *bpk_double_text(double value, char out[BPK_NUMBER_TEXT])
{
	for (int digits = fabs(value) < 1e-300 ? 1 : DBL_DIG; digits <= DBL_DECIMAL_DIG; digits++) {
		snprintf(out, BPK_NUMBER_TEXT, "%.*g", digits, value);
		if (isnan(value) || strtod(out, NULL) == value)
			break;
	}
	return out;
}

const char *bpk_float_text(float value, char out[BPK_NUMBER_TEXT])
{
	for (int digits = FLT_DIG; digits <= FLT_DECIMAL_DIG; digits++) {
		snprintf(out, BPK_NUMBER_TEXT, "%.*g", digits, (double)value);
		if (digits == FLT_DECIMAL_DIG || isnan(value) || strtof(out, NULL) == value)
			break;
	}
	return out;
}
