/*
 * A scanner rather than a tree: the text is carried, not its values, and a hostile one must not
 * cost much more than itself (jansson's tree takes 80 times the size of "{},{},..."). All that is
 * kept is the place of each key of the objects that are open, to find duplicates by sorting.
 *
 * Source of the grammar: RFC 8259. Beyond it NaN, Infinity and -Infinity; a lone surrogate as an
 * escape passes too, since the RFC's grammar has it and Python writes it.
 */
#include "base/json.h"

#include <stdlib.h>

struct scan {
	struct bpk_view text;
	size_t at;
	bool strict;         /* the RFC alone: no bare NaN or Infinity */
	struct bpk_buf keys; /* struct key, of all open objects, outermost first */
	struct bpk_err *err;
};

/* Where a key's bytes lie, without its quotes; BPK_JSON_MAX_SIZE makes both fit. */
struct key {
	uint32_t at, size;
};

static int value(struct scan *scan, unsigned depth);

static int expected(const struct scan *scan, const char *what)
{
	return bpk_fail(scan->err, BPK_CORRUPT, "JSON: expected %s at byte %zu", what, scan->at);
}

/* The byte at hand; 0, which no JSON text contains, at the end. */
static uint8_t peek(const struct scan *scan)
{
	return scan->at < scan->text.size ? scan->text.data[scan->at] : 0;
}

static bool take(struct scan *scan, uint8_t byte)
{
	if (peek(scan) != byte)
		return false;
	scan->at++;
	return true;
}

static bool take_word(struct scan *scan, const char *word)
{
	size_t size = strlen(word);

	if (size > scan->text.size - scan->at ||
	    memcmp(scan->text.data + scan->at, word, size) != 0)
		return false;
	scan->at += size;
	return true;
}

static void skip_space(struct scan *scan)
{
	while (peek(scan) == ' ' || peek(scan) == '\t' || peek(scan) == '\n' || peek(scan) == '\r')
		scan->at++;
}

static bool take_digits(struct scan *scan)
{
	size_t from = scan->at;

	while (peek(scan) >= '0' && peek(scan) <= '9')
		scan->at++;
	return scan->at > from;
}

/* Of any length: digits are kept as they are, so no type of ours limits them. */
static int number(struct scan *scan)
{
	take(scan, '-');
	if (!scan->strict && take_word(scan, "Infinity"))
		return 0;
	if (!take(scan, '0') && !take_digits(scan))
		return expected(scan, "a digit");
	if (take(scan, '.') && !take_digits(scan))
		return expected(scan, "a digit");
	if (take(scan, 'e') || take(scan, 'E')) {
		if (!take(scan, '+'))
			take(scan, '-');
		if (!take_digits(scan))
			return expected(scan, "a digit");
	}
	return 0;
}

/* -1 when it is no hexadecimal digit */
static int hex_value(uint8_t digit)
{
	if (digit >= '0' && digit <= '9')
		return digit - '0';
	digit |= 0x20;
	return digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

static int escape(struct scan *scan)
{
	if (!take(scan, 'u')) {
		if (peek(scan) == 0 || strchr("\"\\/bfnrt", peek(scan)) == NULL)
			return expected(scan, "an escape");
		scan->at++;
		return 0;
	}
	for (int i = 0; i < 4; i++, scan->at++)
		if (hex_value(peek(scan)) < 0)
			return expected(scan, "a hexadecimal digit");
	return 0;
}

static int string(struct scan *scan, struct key *inside)
{
	if (!take(scan, '"'))
		return expected(scan, "a string");
	inside->at = (uint32_t)scan->at;
	while (peek(scan) != '"') {
		if (peek(scan) < 0x20)
			return expected(scan, "the rest of a string");
		if (take(scan, '\\')) {
			if (escape(scan) != 0)
				return -1;
		} else {
			scan->at++;
		}
	}
	inside->size = (uint32_t)(scan->at - inside->at);
	scan->at++;
	return 0;
}

/* ---- Keys ---- */

static void advance(struct bpk_view *text, size_t size)
{
	text->data += size;
	text->size -= size;
}

static uint32_t hex_unit(const uint8_t *digits)
{
	uint32_t unit = 0;

	for (int i = 0; i < 4; i++)
		unit = unit << 4 | (uint32_t)hex_value(digits[i]);
	return unit;
}

/* Take the character that a checked escape at the start of text means. */
static uint32_t take_escaped(struct bpk_view *text)
{
	static const char letters[] = "bfnrt", meant[] = "\b\f\n\r\t";
	const char *letter;
	uint32_t unit, low;

	if (text->data[1] != 'u') {
		unit = text->data[1];
		letter = strchr(letters, (int)unit);
		advance(text, 2);
		return letter == NULL ? unit : (uint8_t)meant[letter - letters];
	}
	unit = hex_unit(text->data + 2);
	advance(text, 6);
	if (unit < 0xd800 || unit > 0xdbff || text->size < 6 || text->data[0] != '\\' ||
	    text->data[1] != 'u')
		return unit;
	low = hex_unit(text->data + 2);
	if (low < 0xdc00 || low > 0xdfff)
		return unit;
	advance(text, 6);
	return 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
}

/* Take one character of well-formed UTF-8, or of what an escape means where they count. */
static uint32_t take_character(struct bpk_view *text, bool escapes)
{
	uint32_t lead = text->data[0];
	size_t more = (lead >= 0xc0) + (lead >= 0xe0) + (lead >= 0xf0);

	if (escapes && lead == '\\')
		return take_escaped(text);
	if (more > 0)
		lead &= 0x3fu >> more;
	for (size_t i = 1; i <= more; i++)
		lead = lead << 6 | (text->data[i] & 0x3f);
	advance(text, 1 + more);
	return lead;
}

/* In character order: a is the inside of a string, b another one or plain text. */
static int compare(struct bpk_view a, struct bpk_view b, bool b_is_string)
{
	while (a.size > 0 && b.size > 0) {
		uint32_t x = take_character(&a, true), y = take_character(&b, b_is_string);

		if (x != y)
			return x < y ? -1 : 1;
	}
	return (a.size > 0) - (b.size > 0);
}

static struct bpk_view inside(const struct scan *scan, struct key key)
{
	return bpk_view(scan->text.data + key.at, key.size);
}

static int compare_keys(const void *a, const void *b, void *scan)
{
	return compare(inside(scan, *(const struct key *)a), inside(scan, *(const struct key *)b),
		       true);
}

/* Sort the keys of the object that ends here, those from mark on, and forget them. */
static int close_object(struct scan *scan, size_t mark)
{
	struct key *keys = (struct key *)(void *)(scan->keys.data + mark);
	size_t count = (scan->keys.size - mark) / sizeof *keys;

	scan->keys.size = mark;
	if (count < 2)
		return 0;
	qsort_r(keys, count, sizeof *keys, compare_keys, scan);
	for (size_t i = 1; i < count; i++) {
		if (compare_keys(&keys[i - 1], &keys[i], scan) != 0)
			continue;
		return bpk_fail(scan->err, BPK_CORRUPT, "JSON: key \"%.*s\" at byte %u comes twice",
				(int)(keys[i].size < 100 ? keys[i].size : 100),
				(const char *)scan->text.data + keys[i].at, (unsigned)keys[i].at);
	}
	return 0;
}

/* ---- Values ---- */

/* A member's key and colon; the value follows. */
static int member(struct scan *scan, struct key *key)
{
	skip_space(scan);
	if (string(scan, key) != 0)
		return -1;
	skip_space(scan);
	if (!take(scan, ':'))
		return expected(scan, "a colon");
	skip_space(scan);
	return 0;
}

/* After a value: 1 when another one follows, 0 at the end of its object or array. */
static int another(struct scan *scan, uint8_t end, const char *what)
{
	skip_space(scan);
	if (take(scan, ','))
		return 1;
	return take(scan, end) ? 0 : expected(scan, what);
}

static int object(struct scan *scan, unsigned depth)
{
	size_t mark = scan->keys.size;
	struct key key;
	int more;

	skip_space(scan);
	if (take(scan, '}'))
		return 0;
	do {
		if (member(scan, &key) != 0 ||
		    bpk_buf_append(&scan->keys, bpk_view(&key, sizeof key), scan->err) != 0 ||
		    value(scan, depth) != 0)
			return -1;
		more = another(scan, '}', "a comma or }");
	} while (more > 0);
	return more < 0 ? -1 : close_object(scan, mark);
}

static int array(struct scan *scan, unsigned depth)
{
	int more;

	skip_space(scan);
	if (take(scan, ']'))
		return 0;
	do {
		skip_space(scan);
		if (value(scan, depth) != 0)
			return -1;
		more = another(scan, ']', "a comma or ]");
	} while (more > 0);
	return more;
}

/* depth: how many objects and arrays are open around it; the recursion ends with their limit. */
static int value(struct scan *scan, unsigned depth)
{
	struct key unused;
	uint8_t first = peek(scan);

	if ((first == '{' || first == '[') && depth == BPK_JSON_MAX_DEPTH)
		return bpk_fail(scan->err, BPK_LIMIT, "JSON: nested deeper than %d at byte %zu",
				BPK_JSON_MAX_DEPTH, scan->at);
	if (take(scan, '{'))
		return object(scan, depth + 1);
	if (take(scan, '['))
		return array(scan, depth + 1);
	if (first == '"')
		return string(scan, &unused);
	if (first == '-' || (first >= '0' && first <= '9'))
		return number(scan);
	if (take_word(scan, "true") || take_word(scan, "false") || take_word(scan, "null"))
		return 0;
	if (!scan->strict && (take_word(scan, "NaN") || take_word(scan, "Infinity")))
		return 0;
	return expected(scan, "a value");
}

static int check(struct bpk_view text, bool strict, struct bpk_err *err)
{
	struct scan scan = { .text = text, .strict = strict, .err = err };
	int rc;

	if (text.size > BPK_JSON_MAX_SIZE)
		return bpk_fail(err, BPK_LIMIT, "JSON has %zu bytes, at most %d are accepted",
				text.size, BPK_JSON_MAX_SIZE);
	if (!bpk_utf8_valid(text))
		return bpk_fail(err, BPK_CORRUPT, "JSON is not in UTF-8");
	skip_space(&scan);
	rc = value(&scan, 0);
	skip_space(&scan);
	if (rc == 0 && scan.at < text.size)
		rc = expected(&scan, "the end");
	bpk_buf_clear(&scan.keys);
	return rc;
}

int bpk_json_check(struct bpk_view text, struct bpk_err *err)
{
	return check(text, false, err);
}

/* ---- Setting a member ---- */

/* Bytes from..to of the old text give way to a value, and to a comma and a key before it. */
struct splice {
	size_t from, to;
	bool with_comma, with_key;
};

/*
 * Where does the value of key go? In text that was checked before: into the space of its present
 * value, else behind the last member, so that the layout of the rest stays.
 */
static int find(struct bpk_view text, const char *key, struct splice *splice, struct bpk_err *err)
{
	struct scan scan = { .text = text, .err = err };
	bool found = false;
	struct key name;
	size_t from;
	int more;

	skip_space(&scan);
	if (!take(&scan, '{'))
		return bpk_fail(err, BPK_USAGE, "the JSON is no object");
	*splice = (struct splice){ scan.at, scan.at, false, true };
	skip_space(&scan);
	more = peek(&scan) != '}';
	while (more > 0 && !found) {
		more = member(&scan, &name);
		from = scan.at;
		if (more != 0 || value(&scan, 1) != 0) {
			more = -1;
			break;
		}
		found = compare(inside(&scan, name), bpk_view(key, strlen(key)), false) == 0;
		*splice = (struct splice){ found ? from : scan.at, scan.at, true, !found };
		more = another(&scan, '}', "a comma or }");
	}
	bpk_buf_clear(&scan.keys);
	return more < 0 ? -1 : 0;
}

static int build(struct bpk_buf *out, struct bpk_view old, const struct splice *splice,
		 const char *key, struct bpk_view new_value, bool as_string, struct bpk_err *err)
{
	if (bpk_buf_append(out, bpk_view(old.data, splice->from), err) != 0)
		return -1;
	if (splice->with_key && (bpk_buf_printf(out, err, splice->with_comma ? ", " : "") != 0 ||
				 bpk_json_put_string(out, bpk_view(key, strlen(key)), err) != 0 ||
				 bpk_buf_printf(out, err, ": ") != 0))
		return -1;
	if ((as_string ? bpk_json_put_string : bpk_buf_append)(out, new_value, err) != 0)
		return -1;
	return bpk_buf_append(out, bpk_view(old.data + splice->to, old.size - splice->to), err);
}

/* Is a value JSON already? 1 or 0; -1 when it cannot be told or would not fit. */
static int is_json(struct bpk_view text, struct bpk_err *err)
{
	struct bpk_err why = { 0 };

	if (check(text, true, &why) == 0)
		return 1;
	if (why.kind == BPK_CORRUPT)
		return 0;
	if (err != NULL)
		*err = why;
	return -1;
}

int bpk_json_set(struct bpk_buf *text, const char *key, const char *value, struct bpk_err *err)
{
	struct bpk_view old = text->size > 0 ? bpk_buf_view(text) : bpk_view("{}", 2);
	struct bpk_view new_value = bpk_view(value, strlen(value));
	struct bpk_buf out = { 0 };
	struct bpk_err why = { 0 };
	struct splice splice = { 0 };
	int json;

	if (!bpk_utf8_valid(bpk_view(key, strlen(key))) || !bpk_utf8_valid(new_value))
		return bpk_fail(err, BPK_USAGE, "key and value must be in UTF-8");
	json = is_json(new_value, err);
	if (json < 0)
		return -1;
	if (check(old, false, &why) != 0)
		return bpk_fail(err, why.kind == BPK_CORRUPT ? BPK_USAGE : why.kind, "%s",
				why.text);
	/* the second check is for the limits, which the new value may exceed in its place */
	if (find(old, key, &splice, err) != 0 ||
	    build(&out, old, &splice, key, new_value, json == 0, err) != 0 ||
	    check(bpk_buf_view(&out), false, err) != 0) {
		bpk_buf_clear(&out);
		return -1;
	}
	bpk_buf_clear(text);
	*text = out;
	return 0;
}
