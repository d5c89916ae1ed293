/*
 * The grammar is jansson's: it judges a copy of the text, tamed byte for byte, so that a place in
 * the copy is a place in the text. What jansson refuses though we carry it gives way to something
 * of the same size that it knows:
 *
 *      12345678.25e+400   ->  12.25e+40           digits of any number, so no type limits them
 *      -Infinity          ->   0                  bare NaN, Infinity, -Infinity; a space at both
 *                                                 ends keeps them apart from their neighbours
 *      "\ud8ff" "\u0000"  ->  "\ue8ff" "\ue000"   the escapes of a lone surrogate, which Python
 *                                                 writes, and of NUL
 *
 * The escapes go into the private use area, each to a place of its own: two keys only seem to be
 * the same when they differ in nothing but one of these and that very private character.
 *
 * Source of the grammar: RFC 8259.
 */
#include "base/json.h"

#include <jansson.h>
#include <pthread.h>
#include <stdlib.h>

/* ---- Taming ---- */

static bool is_digit(uint8_t byte)
{
	return byte >= '0' && byte <= '9';
}

/* Is text at the escape of a surrogate whose second digit is one of these? */
static bool is_surrogate(struct bpk_view text, const char *digits)
{
	return text.size >= 6 && memcmp(text.data, "\\u", 2) == 0 && (text.data[2] | 0x20) == 'd' &&
	       strchr(digits, text.data[3]) != NULL;
}

/* Returns the step over a backslash in a string and what goes with it. The last two digits are not
 * looked at: jansson refuses what is none, tamed or not. */
static size_t tame_escape(struct bpk_span text)
{
	static const char high[] = "89abAB", low[] = "cdefCDEF";
	struct bpk_view view = bpk_view(text.data, text.size);

	if (is_surrogate(view, high) && is_surrogate(bpk_view(text.data + 6, text.size - 6), low))
		return 12;
	if (is_surrogate(view, high) || is_surrogate(view, low) ||
	    (text.size >= 6 && memcmp(text.data, "\\u0000", 6) == 0))
		text.data[2] = 'e';
	return 2;
}

static size_t tame_string(struct bpk_span text)
{
	size_t at = 1;

	while (at < text.size && text.data[at] != '"')
		at += text.data[at] == '\\' ? tame_escape(bpk_span(text.data + at, text.size - at))
					    : 1;
	return at + 1;
}

/* Two digits tell a leading zero, and cannot overflow as an exponent. */
static size_t tame_number(struct bpk_span text)
{
	size_t at, to = 0, run = 0;

	for (at = 0; at < text.size && strchr("0123456789+-.eE", text.data[at]) != NULL; at++) {
		run = is_digit(text.data[at]) ? run + 1 : 0;
		if (run <= 2)
			text.data[to++] = text.data[at];
	}
	memset(text.data + to, ' ', at - to);
	return at;
}

/* A bare word that is no JSON, if there is one. */
static void tame_word(struct bpk_span text)
{
	static const char *const words[] = { "NaN", "Infinity", "-Infinity" };

	for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
		size_t size = strlen(words[i]);

		if (size > text.size || memcmp(text.data, words[i], size) != 0)
			continue;
		memset(text.data, ' ', size);
		text.data[1] = '0';
		return;
	}
}

/* strict: the RFC's values alone, without NaN and Infinity. text is in UTF-8, so without a NUL. */
static int tame(struct bpk_span text, bool strict, struct bpk_err *err)
{
	size_t depth = 0, step;

	for (size_t at = 0; at < text.size; at += step) {
		struct bpk_span rest = bpk_span(text.data + at, text.size - at);
		uint8_t byte = rest.data[0];

		step = 1;
		if (byte == '"')
			step = tame_string(rest);
		else if (is_digit(byte))
			step = tame_number(rest);
		else if (!strict && (byte == 'N' || byte == 'I' || byte == '-'))
			tame_word(rest);
		else if ((byte == ']' || byte == '}') && depth > 0)
			depth--;
		else if ((byte == '[' || byte == '{') && ++depth > BPK_JSON_MAX_DEPTH)
			return bpk_fail(err, BPK_LIMIT, "JSON: nested deeper than %d at byte %zu",
					BPK_JSON_MAX_DEPTH, at);
	}
	return 0;
}

/* ---- Judging ---- */

/*
 * All that jansson allocates for one text. A hostile one must not cost unbounded memory ("{},{},"
 * makes a tree of 80 times its size), yet jansson (up to 2.15) reads past its buffer when an
 * allocation fails inside a string. So none fails: when half of the room is used the text ends
 * early, and the other half holds what the piece at hand may still take: a last string and a last
 * growth, by doubling, of every table.
 */
struct arena {
	struct bpk_buf room;  /* size: the bytes in use */
	struct bpk_view text; /* still to be read */
	bool spent;
};

/* This thread's, while a text is judged. */
static _Thread_local struct arena *arena;

static void *arena_malloc(size_t size)
{
	struct bpk_buf *room;
	uint8_t *place;

	if (arena == NULL)
		return malloc(size);
	room = &arena->room;
	place = room->data + room->size;
	if (size > room->capacity - room->size) {
		arena->spent = true;
		return NULL;
	}
	/* rounded up to what malloc promises; the capacity is a multiple of it */
	room->size += (size + 15) & ~(size_t)15;
	return place;
}

static void arena_free(void *place)
{
	if (arena == NULL)
		free(place);
}

static void install(void)
{
	json_set_alloc_funcs(arena_malloc, arena_free);
}

static size_t feed(void *out, size_t size, void *unused)
{
	struct bpk_view *text = &arena->text;

	(void)unused;
	if (size > text->size)
		size = text->size;
	if (size == 0)
		return 0;
	if (arena->room.size > arena->room.capacity / 2) {
		arena->spent = true;
		return 0;
	}
	memcpy(out, text->data, size);
	*text = bpk_view(text->data + size, text->size - size);
	return size;
}

/* Any small text fits into its room; of a large one, what is not brackets and digits alone. */
static size_t room_for(uint64_t size)
{
	uint64_t small = (64u << 10) + 128 * size, large = (32u << 20) + 8 * size;

	/* and for the values of a piece, which is 1 KiB */
	return (size_t)(2 * (small < large ? small : large) + (128 << 10));
}

static int judge(struct bpk_view text, struct bpk_err *err)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct arena here = { .text = text };
	size_t room = room_for(text.size);
	json_error_t why;
	bool good;
	char *near;

	if (bpk_buf_reserve(&here.room, room, err) != 0)
		return -1;
	pthread_once(&once, install);
	arena = &here;
	good = json_load_callback(feed, NULL,
				  JSON_DECODE_ANY | JSON_REJECT_DUPLICATES |
					  JSON_DECODE_INT_AS_REAL,
				  &why) != NULL;
	arena = NULL;
	bpk_buf_clear(&here.room); /* and the tree with it */
	if (here.spent)
		return bpk_fail(err, BPK_LIMIT, "JSON of %zu bytes would take %zu bytes of memory",
				text.size, room / 2);
	if (good)
		return 0;
	near = strstr(why.text, " near '"); /* bytes of the copy */
	if (near != NULL)
		*near = 0;
	return bpk_fail(err, BPK_CORRUPT, "JSON: %s before byte %d", why.text, why.position);
}

static int check(struct bpk_view text, bool strict, struct bpk_err *err)
{
	struct bpk_buf copy = { 0 };
	int rc = -1;

	if (text.size > BPK_JSON_MAX_SIZE)
		return bpk_fail(err, BPK_LIMIT, "JSON has %zu bytes, at most %d are accepted",
				text.size, BPK_JSON_MAX_SIZE);
	if (!bpk_utf8_valid(text))
		return bpk_fail(err, BPK_CORRUPT, "JSON is not in UTF-8");
	if (bpk_buf_append(&copy, text, err) == 0 &&
	    tame(bpk_span(copy.data, copy.size), strict, err) == 0)
		rc = judge(bpk_buf_view(&copy), err);
	bpk_buf_clear(&copy);
	return rc;
}

int bpk_json_check(struct bpk_view text, struct bpk_err *err)
{
	return check(text, false, err);
}

/* ---- Changing a member ---- */

/* Bytes from..to of the old text give way to a value, and to a comma and a key before it. */
struct splice {
	size_t from, to;
	bool with_comma, with_key;
};

static int need_object(struct bpk_view text, struct bpk_err *err)
{
	struct bpk_err why = { 0 };

	if (check(text, false, &why) != 0)
		return bpk_fail(err, why.kind == BPK_CORRUPT ? BPK_USAGE : why.kind, "%s",
				why.text);
	if (bpk_json_kind(text) != BPK_JSON_OBJECT)
		return bpk_fail(err, BPK_USAGE, "the JSON is no object");
	return 0;
}

/* Behind the bracket that opens the object. */
static size_t behind_bracket(struct bpk_view object)
{
	const uint8_t *bracket = memchr(object.data, '{', object.size);

	return (size_t)(bracket - object.data) + 1;
}

/*
 * Where does the value of key go? Into the space of its present value, else behind the last member,
 * so that the layout of the rest stays.
 */
static struct splice find(struct bpk_view text, const char *key)
{
	struct splice splice = { .from = behind_bracket(text), .with_key = true };
	struct bpk_view name, value;

	for (size_t at = 0; splice.with_key && bpk_json_next(text, &at, &name, &value);) {
		splice.with_key = !bpk_json_string_is(name, key);
		splice.with_comma = true;
		splice.from = splice.with_key ? at : at - value.size;
		splice.to = at;
	}
	splice.to = bpk_max_u64(splice.to, splice.from);
	return splice;
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
	struct splice splice;
	int json;

	if (!bpk_utf8_valid(bpk_view(key, strlen(key))) || !bpk_utf8_valid(new_value))
		return bpk_fail(err, BPK_USAGE, "key and value must be in UTF-8");
	json = is_json(new_value, err);
	if (json < 0)
		return -1;
	if (need_object(old, err) != 0)
		return -1;
	splice = find(old, key);
	/* the second check is for the limits, which the new value may exceed in its place */
	if (build(&out, old, &splice, key, new_value, json == 0, err) != 0 ||
	    check(bpk_buf_view(&out), false, err) != 0) {
		bpk_buf_clear(&out);
		return -1;
	}
	bpk_buf_clear(text);
	*text = out;
	return 0;
}

/* From the end of the member before it, else up to the member behind it, else all there is. */
static struct splice find_removed(struct bpk_view text, const char *key, bool *found)
{
	struct splice splice = { .from = behind_bracket(text) };
	struct bpk_view name, value, next;
	size_t at = 0;
	bool first = true;

	*found = false;
	while (!*found && bpk_json_next(text, &at, &name, &value)) {
		*found = bpk_json_string_is(name, key);
		if (!*found)
			splice.from = at;
		first = first && *found;
	}
	splice.to = at;
	if (*found && first) {
		if (bpk_json_next(text, &at, &next, &value)) {
			splice.from = (size_t)(name.data - text.data);
			splice.to = (size_t)(next.data - text.data);
		} else {
			splice.to = at;
		}
	}
	return splice;
}

int bpk_json_remove(struct bpk_buf *text, const char *key, bool *found, struct bpk_err *err)
{
	struct splice splice;

	*found = false;
	if (need_object(bpk_buf_view(text), err) != 0)
		return -1;
	splice = find_removed(bpk_buf_view(text), key, found);
	if (!*found)
		return 0;
	memmove(text->data + splice.from, text->data + splice.to, text->size - splice.to);
	text->size -= splice.to - splice.from;
	return 0;
}
