/*
 * A cursor over untrusted bytes that turns sticky-bad at their end. Parsers take every field in the
 * order of the specification, test the cursor once, then test the values. A part of the room's
 * door.
 */
#ifndef BPK_BASE_CURSOR_H
#define BPK_BASE_CURSOR_H

#include "base/bytes.h"

/* Caller storage; one thread's own. */
struct bpk_cursor {
	const uint8_t *next;
	size_t left;
	bool bad; /* a field lay past the end; every field since then read as 0 */
};

static inline struct bpk_cursor bpk_cursor(struct bpk_view bytes)
{
	return (struct bpk_cursor){ bytes.data, bytes.size, false };
}

/* The next size bytes. Past the end: NULL, and the cursor turns bad. */
static inline const uint8_t *bpk_cursor_take(struct bpk_cursor *cursor, size_t size)
{
	const uint8_t *here = cursor->next;

	if (cursor->bad || size > cursor->left) {
		cursor->bad = true;
		return NULL;
	}
	cursor->next += size;
	cursor->left -= size;
	return here;
}

static inline uint8_t bpk_cursor_u8(struct bpk_cursor *cursor)
{
	const uint8_t *p = bpk_cursor_take(cursor, 1);

	return p == NULL ? 0 : *p;
}

static inline uint16_t bpk_cursor_le16(struct bpk_cursor *cursor)
{
	const uint8_t *p = bpk_cursor_take(cursor, 2);

	return p == NULL ? 0 : bpk_get_le16(p);
}

static inline uint32_t bpk_cursor_le32(struct bpk_cursor *cursor)
{
	const uint8_t *p = bpk_cursor_take(cursor, 4);

	return p == NULL ? 0 : bpk_get_le32(p);
}

static inline uint16_t bpk_cursor_be16(struct bpk_cursor *cursor)
{
	const uint8_t *p = bpk_cursor_take(cursor, 2);

	return p == NULL ? 0 : bpk_get_be16(p);
}

static inline uint32_t bpk_cursor_be32(struct bpk_cursor *cursor)
{
	const uint8_t *p = bpk_cursor_take(cursor, 4);

	return p == NULL ? 0 : bpk_get_be32(p);
}

static inline uint64_t bpk_cursor_be64(struct bpk_cursor *cursor)
{
	const uint8_t *p = bpk_cursor_take(cursor, 8);

	return p == NULL ? 0 : bpk_get_be64(p);
}

static inline int32_t bpk_cursor_le32s(struct bpk_cursor *cursor)
{
	return (int32_t)bpk_cursor_le32(cursor);
}

static inline int64_t bpk_cursor_le64s(struct bpk_cursor *cursor)
{
	const uint8_t *p = bpk_cursor_take(cursor, 8);

	return p == NULL ? 0 : bpk_get_le64s(p);
}

#endif
