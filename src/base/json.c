/*
 * Check and edit JSON text; for metadata commands and formats that store JSON. jansson judges the
 * grammar, on a copy in which texts that jansson refuses and bpk accepts are replaced by texts of
 * the same size, so that a position in the copy is a position in the original:
 *
 *      12345678.25e+400   ->  12.25e+40           digits of any number, so no type limits them
 *      -Infinity          ->   0                  bare NaN, Infinity, -Infinity; a space at both
 *                                                 ends keeps them apart from their neighbours
 *      "\ud8ff" "\u0000"  ->  "\ue8ff" "\ue000"   the escapes of a lone surrogate, which Python
 *                                                 writes, and of NUL
 *
 * The escapes map one to one into the private use area. Two distinct keys collide only when they
 * differ in nothing but such an escape and that private use character.
 *
 * Source of the grammar: RFC 8259.
 */
#include "base/json.h"

#include "base/library.h"
#include "base/text.h"

#include <jansson.h>
#include <pthread.h>
#include <stdlib.h>

#include "config.h"

#define CALLS(X)                                                                                   \
	X(json_load_callback)                                                                      \
	X(json_set_alloc_funcs)

static struct {
	CALLS(BPK_LIBRARY_CALL)
} calls = { CALLS(JANSSON_ADDRESS) };
static const char *const names[] = { CALLS(BPK_LIBRARY_NAME) NULL };
static struct bpk_library library = BPK_LIBRARY(JANSSON_SONAME, names, calls);

/* ---- Taming: replacing the texts that jansson refuses ---- */

static bool is_digit(uint8_t byte)
{
	return byte >= '0' && byte <= '9';
}

/* True if text starts with a surrogate escape whose second digit is in digits. */
static bool is_surrogate(struct bpk_view text, const char *digits)
{
	return text.size >= 6 && memcmp(text.data, "\\u", 2) == 0 && (text.data[2] | 0x20) == 'd' &&
	       strchr(digits, text.data[3]) != NULL;
}

/* Returns the length of the escape at text. The last two digits are not checked here: jansson
 * refuses bad ones, replaced or not. */
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

/* Keep at most two digits of each run: enough to show a leading zero, too few for overflow. */
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

/* Replace a bare word that is not JSON. */
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

/* strict: RFC values only, without NaN and Infinity. text is valid UTF-8, so it has no NUL. */
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
 * The memory that jansson allocates for one text. A hostile text must not cost unbounded memory
 * ("{},{}," becomes a tree of 80 times its size), but jansson (up to 2.15) reads past its buffer
 * when an allocation fails inside a string. So no allocation may fail: the text ends early once
 * half of the arena is used. The other half holds the needs of the current piece: one last string,
 * and one last doubling of every table.
 */
struct arena {
	struct bpk_buf room;  /* size: the bytes in use */
	struct bpk_view text; /* not read yet */
	bool spent;
};

/* The arena of this thread while it judges a text. */
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
	/* rounded up to malloc's alignment; the capacity is a multiple of it */
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
	calls.json_set_alloc_funcs(arena_malloc, arena_free);
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

/* Enough for any small text; for a large text, enough unless nearly all of it is brackets and
 * digits. */
static size_t room_for(uint64_t size)
{
	uint64_t small = (64u << 10) + 128 * size, large = (32u << 20) + 8 * size;

	/* 128 KiB more for the values of one piece of 1 KiB */
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

	if (bpk_library_need(&library, err) != 0 || bpk_buf_reserve(&here.room, room, err) != 0)
		return -1;
	pthread_once(&once, install);
	arena = &here;
	good = calls.json_load_callback(feed, NULL,
					JSON_DECODE_ANY | JSON_REJECT_DUPLICATES |
						JSON_DECODE_INT_AS_REAL,
					&why) != NULL;
	arena = NULL;
	bpk_buf_clear(&here.room); /* releases jansson's tree too */
	if (here.spent)
		return bpk_fail(err, BPK_LIMIT, "JSON of %zu bytes would take %zu bytes of memory",
				text.size, room / 2);
	if (good)
		return 0;
	near = strstr(why.text, " near '"); /* it quotes bytes of the copy */
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

/* Replace bytes from..to of the old text by a value, with a comma and a key before it if needed. */
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
		return bpk_fail(err, BPK_USAGE, "the JSON is not an object");
	return 0;
}

/* The position after the opening bracket. */
static size_t behind_bracket(struct bpk_view object)
{
	const uint8_t *bracket = memchr(object.data, '{', object.size);

	return (size_t)(bracket - object.data) + 1;
}

/*
 * The place of the value of key: the span of its present value, else the end of the last member, so
 * that the layout of the rest stays.
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

/* 1 if text is a JSON value, 0 if not; -1 on a limit or lack of memory. */
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
	/* the second check is for the limits, which the combined text may exceed */
	if (build(&out, old, &splice, key, new_value, json == 0, err) != 0 ||
	    check(bpk_buf_view(&out), false, err) != 0) {
		bpk_buf_clear(&out);
		return -1;
	}
	bpk_buf_clear(text);
	*text = out;
	return 0;
}

/* Remove from the end of the preceding member, else up to the next member, else everything. */
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
