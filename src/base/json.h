/*
 * JSON text: user metadata is carried verbatim (numbers keep their digits), so it is judged by
 * jansson but spliced as text here, never rebuilt from parsed values; and results are written as
 * JSON. The first check gives jansson allocation functions of ours, which for all else are
 * malloc and free.
 */
#ifndef BPK_BASE_JSON_H
#define BPK_BASE_JSON_H

#include "base/buffer.h"

enum {
	BPK_JSON_MAX_DEPTH = 64,
	BPK_JSON_MAX_SIZE = 64 << 20, /* bytes of one metadata text */
};

/*
 * Is text one JSON value (any kind), in UTF-8, nested at most BPK_JSON_MAX_DEPTH deep, without
 * duplicate keys? Numbers may have any number of digits. Bare NaN, Infinity and -Infinity pass, and
 * so do the escapes of lone surrogates, since other writers leave them there.
 * Fails with BPK_CORRUPT (the line says before which byte), BPK_NO_MEMORY, or BPK_LIMIT, which is
 * also for values that as a tree in memory need more than 32 MiB and 8 times the text: no text
 * under 256 KiB does, but 2 MiB of one-digit numbers may.
 */
int bpk_json_check(struct bpk_view text, struct bpk_err *err);

/*
 * Set one member of the top-level object in text (empty: a new object). key is plain UTF-8 text;
 * value is a JSON value, or else any UTF-8 text, which then becomes a JSON string. All other bytes
 * stay as they are. Fails with BPK_USAGE when text holds no object or key or value is not UTF-8.
 */
int bpk_json_set(struct bpk_buf *text, const char *key, const char *value, struct bpk_err *err);

/*
 * Remove one member of the top-level object in text, if it is there (*found). All other bytes stay
 * as they are, but for the comma and space beside it. Fails with BPK_USAGE when text holds no
 * object.
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
 * The next member of a list or object; *at is 0 before the first. False behind the last. key is the
 * string as it stands, with its quotes, and empty in a list; may be NULL.
 */
bool bpk_json_next(struct bpk_view container, size_t *at, struct bpk_view *key,
		   struct bpk_view *value);

/* The member of that name; an empty slice when object has none, or is no object. */
struct bpk_view bpk_json_member(struct bpk_view object, const char *key);

/* An integer from 0 to 2^63-1, written as digits alone: no sign, point or exponent. */
bool bpk_json_u64(struct bpk_view value, uint64_t *out);

/* What a number is, in the first of these ways that holds it exactly. */
struct bpk_json_number {
	enum bpk_json_number_kind {
		BPK_JSON_UNSIGNED, /* written without point and exponent */
		BPK_JSON_NEGATIVE,
		BPK_JSON_DOUBLE, /* its shortest text has the same value; NaN and Infinity too */
		BPK_JSON_DIGITS, /* none of them: only its text tells it */
	} kind;
	uint64_t u64;
	int64_t i64;
	double f64;
};

struct bpk_json_number bpk_json_number(struct bpk_view value);

/* Append the shortest text that is this number: "1.0", "1e+23", "NaN", "-Infinity". */
int bpk_json_put_double(struct bpk_buf *out, double value, struct bpk_err *err);

/* Does a string say just that? */
bool bpk_json_string_is(struct bpk_view string, const char *text);

/* Append what a string says, its escapes resolved, as UTF-8 (lone surrogates as U+FFFD). Fails
 * with BPK_USAGE when value is none. */
int bpk_json_string(struct bpk_view value, struct bpk_buf *out, struct bpk_err *err);

/* Append text as a quoted, escaped JSON string. bytes must be UTF-8 (bpk_utf8_valid). */
int bpk_json_put_string(struct bpk_buf *out, struct bpk_view bytes, struct bpk_err *err);

/* Append bytes in hexadecimal, unquoted; and back, of a string's inside. BPK_USAGE: no pairs of
 * digits. */
int bpk_hex_put(struct bpk_buf *out, struct bpk_view bytes, struct bpk_err *err);
int bpk_hex_take(struct bpk_view digits, struct bpk_buf *out, struct bpk_err *err);

/* Append bytes in base64, unquoted. */
int bpk_base64_put(struct bpk_buf *out, struct bpk_view bytes, struct bpk_err *err);

/* True when bytes are well-formed UTF-8 without a NUL. */
bool bpk_utf8_valid(struct bpk_view bytes);

/* Bytes of the character at the start of text, which is not empty; 0 when it is not well formed, or
 * NUL. */
size_t bpk_utf8_size(struct bpk_view text);

#endif
