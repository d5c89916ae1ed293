/*
 * JSON text. User metadata is kept verbatim (numbers keep their digits): jansson checks it, and
 * edits splice the text instead of rebuilding it from parsed values. Results are written as JSON as
 * well. The first check installs our allocation functions in jansson; outside of checks they are
 * malloc and free. A part of the room's door.
 */
#ifndef BPK_BASE_JSON_H
#define BPK_BASE_JSON_H

#include "base/buf.h"

enum {
	BPK_JSON_MAX_DEPTH = 64,
	BPK_JSON_MAX_SIZE = 64 << 20, /* bytes of one metadata text */
};

/*
 * Check that text is one JSON value (any kind), in UTF-8, nested at most BPK_JSON_MAX_DEPTH deep,
 * without duplicate keys. Numbers may have any number of digits. Bare NaN, Infinity and -Infinity
 * pass, and so do escapes of lone surrogates, because other writers produce them.
 * Fails with BPK_CORRUPT (the line gives the byte), BPK_NO_MEMORY, BPK_FAILED (jansson cannot be
 * loaded, and nothing is known about the text), or BPK_LIMIT. BPK_LIMIT also refuses values whose
 * parsed tree needs more than 32 MiB and 8 times the text: no text under 256 KiB does, but 2 MiB of
 * one-digit numbers may.
 */
int bpk_json_check(struct bpk_view text, struct bpk_err *err);

/*
 * Set one member of the top-level object in text (empty: a new object). key is plain UTF-8 text.
 * value is a JSON value, or any other UTF-8 text, which becomes a JSON string. All other bytes stay
 * as they are. Fails with BPK_USAGE when text holds no object or key or value is not UTF-8.
 */
int bpk_json_set(struct bpk_buf *text, const char *key, const char *value, struct bpk_err *err);

/*
 * Remove one member of the top-level object in text; *found tells if it existed. All other bytes
 * stay as they are, except the comma and space beside the member. Fails with BPK_USAGE when text
 * holds no object.
 */
int bpk_json_remove(struct bpk_buf *text, const char *key, bool *found, struct bpk_err *err);

/* ---- Reading: slices of a text that bpk_json_check has passed ---- */

enum bpk_json_kind {
	BPK_JSON_NONE, /* an empty slice */
	BPK_JSON_NULL,
	BPK_JSON_FALSE,
	BPK_JSON_TRUE,
	BPK_JSON_NUMBER, /* NaN and Infinity too */
	BPK_JSON_STRING,
	BPK_JSON_LIST,
	BPK_JSON_OBJECT,
};

enum bpk_json_kind bpk_json_kind(struct bpk_view value);

/*
 * The next member of a list or object; *at is 0 before the first. False after the last. key is the
 * quoted string as it stands, empty in a list; may be NULL.
 */
bool bpk_json_next(struct bpk_view container, size_t *at, struct bpk_view *key,
		   struct bpk_view *value);

/* The member named key; an empty slice if it is missing or object is not an object. */
struct bpk_view bpk_json_member(struct bpk_view object, const char *key);

/* Parse an integer from 0 to 2^63-1, written as digits alone: no sign, point or exponent. */
bool bpk_json_u64(struct bpk_view value, uint64_t *out);

/* A number in the first of these forms that holds it exactly. */
struct bpk_json_number {
	enum bpk_json_number_kind {
		BPK_JSON_UNSIGNED, /* written without point and exponent */
		BPK_JSON_NEGATIVE,
		BPK_JSON_DOUBLE, /* its shortest text has the same value; NaN and Infinity too */
		BPK_JSON_DIGITS, /* no exact form: use the text itself */
	} kind;
	uint64_t u64;
	int64_t i64;
	double f64;
};

struct bpk_json_number bpk_json_number(struct bpk_view value);

/* Append the shortest text with this value: "1.0", "1e+23", "NaN", "-Infinity". */
int bpk_json_put_double(struct bpk_buf *out, double value, struct bpk_err *err);

/* True if string, with its escapes resolved, equals text. */
bool bpk_json_string_is(struct bpk_view string, const char *text);

/* Append the text of a string, escapes resolved, as UTF-8 (lone surrogates as U+FFFD). Fails with
 * BPK_USAGE when value is not a string. */
int bpk_json_string(struct bpk_view value, struct bpk_buf *out, struct bpk_err *err);

/* Copy that text to out, which holds room bytes. Returns its size; SIZE_MAX if it is larger, or
 * value is not a string. */
size_t bpk_json_string_copy(struct bpk_view value, uint8_t *out, size_t room);

/* Append text as a quoted, escaped JSON string. bytes must be UTF-8 (bpk_utf8_valid). */
int bpk_json_put_string(struct bpk_buf *out, struct bpk_view bytes, struct bpk_err *err);

/* The inside of such a string, in pieces: append up to 4 KiB of it, and cut them off the text. */
int bpk_json_put_piece(struct bpk_buf *out, struct bpk_view *text, struct bpk_err *err);

/* Append bytes in hexadecimal, unquoted; and the reverse for the inside of a string. BPK_USAGE: not
 * pairs of digits. */
int bpk_hex_put(struct bpk_buf *out, struct bpk_view bytes, struct bpk_err *err);
int bpk_hex_take(struct bpk_view digits, struct bpk_buf *out, struct bpk_err *err);

/* The same into an array: exactly size bytes. False if the digits are not those of so many. */
bool bpk_hex_fill(struct bpk_view digits, uint8_t *out, size_t size);

/* Append bytes in base64, unquoted. */
int bpk_base64_put(struct bpk_buf *out, struct bpk_view bytes, struct bpk_err *err);

#endif
