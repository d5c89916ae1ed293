/*
 * msgpack as JSON text, and back. Part of the room's door. Source: the msgpack specification.
 *
 *     nil true false, integers, floats     null true false 1 -1 1.5; NaN and Infinity bare
 *     str (UTF-8)                          "text"
 *     array, map with distinct str keys    [...]  {...}
 *     any other map, and one with keys     {"$map": [[key, value], ...]}
 *     that begin with $
 *     bin, str of other bytes              {"$bin": "hex"}  {"$str": "hex"}
 *     ext, timestamps among them           {"$ext": type, "$bin": "hex"}
 *     bytes that are not msgpack           {"$raw": "hex"}, by bpk_msgpack_print_any
 *
 * A JSON number that is neither a 64-bit integer nor the value of a double keeps its digits as ext
 * BPK_MSGPACK_DIGITS, and becomes a number again on the way back.
 */
#ifndef BPK_BASE_MSGPACK_H
#define BPK_BASE_MSGPACK_H

#include "base/buf.h"

enum {
	/* of the JSON text; one less than JSON's limit, so that it fits into an object */
	BPK_MSGPACK_MAX_DEPTH = 63,
	BPK_MSGPACK_DIGITS = 100, /* ext type */
};

/* Append the JSON text of one msgpack value, which is all of bytes. BPK_CORRUPT: not msgpack, or
 * more than one value; BPK_LIMIT: too deep. On failure json is unchanged. */
int bpk_msgpack_print(struct bpk_view bytes, struct bpk_buf *json, struct bpk_err *err);

/* The same for any bytes: malformed, trailing or too deep ones become {"$raw": "hex"}. */
int bpk_msgpack_print_any(struct bpk_view bytes, struct bpk_buf *json, struct bpk_err *err);

/* That text before it is printed. */
struct bpk_msgpack_text {
	struct bpk_view bytes;
	bool is_value; /* else they become {"$raw": "hex"} */
	size_t most;   /* its size at most, which may be seven times that of the bytes */
};

int bpk_msgpack_measure(struct bpk_view bytes, struct bpk_msgpack_text *text, struct bpk_err *err);

/* Append a text that was measured. */
int bpk_msgpack_print_text(const struct bpk_msgpack_text *text, struct bpk_buf *json,
			   struct bpk_err *err);

/* Hand that text to take, piece by piece: some KiB of whole characters, valid during the call. */
int bpk_msgpack_stream_any(struct bpk_view bytes,
			   int (*take)(void *arg, struct bpk_view piece, struct bpk_err *err),
			   void *arg, struct bpk_err *err);

/* Append one JSON value as msgpack, in the shortest forms, floats as 64 bits. BPK_USAGE: not
 * JSON. */
int bpk_msgpack_parse(struct bpk_view json, struct bpk_buf *out, struct bpk_err *err);

/* Append bytes as a msgpack str, in the shortest form. BPK_LIMIT: over 4 GiB. */
int bpk_msgpack_put_str(struct bpk_view bytes, struct bpk_buf *out, struct bpk_err *err);

#endif
