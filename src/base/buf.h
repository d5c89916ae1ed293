/*
 * Owned bytes that grow. A part of the room's door.
 */
#ifndef BPK_BASE_BUF_H
#define BPK_BASE_BUF_H

#include "base/alloc.h"
#include "base/bytes.h"
#include "base/err.h"

/* Owns its bytes. Valid when zeroed; one thread's own. data is aligned to BPK_ALIGNMENT. */
struct bpk_buf {
	uint8_t *data;
	size_t size;     /* bytes in use */
	size_t capacity; /* bytes allocated */
};

/*
 * Room for at least capacity bytes; the bytes in use are kept. Allocates capacity bytes, or a
 * quarter more than before where that is more. Fails with BPK_NO_MEMORY and then changes nothing.
 */
int bpk_buf_reserve(struct bpk_buf *buf, size_t capacity, struct bpk_err *err);

/* The same for bytes that will all be written soon: their pages are made at once. */
int bpk_buf_reserve_whole(struct bpk_buf *buf, size_t capacity, struct bpk_err *err);

/* Reserve them and set size in one step; new bytes are unspecified. */
int bpk_buf_resize(struct bpk_buf *buf, size_t size, struct bpk_err *err);

/* Add bytes at the end. The capacity doubles. */
int bpk_buf_append(struct bpk_buf *buf, struct bpk_view bytes, struct bpk_err *err);

/* Add formatted text at the end, without its NUL. */
int bpk_buf_printf(struct bpk_buf *buf, struct bpk_err *err, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Free the bytes and zero *buf. Harmless on a zeroed buffer. */
void bpk_buf_clear(struct bpk_buf *buf);

static inline struct bpk_view bpk_buf_view(const struct bpk_buf *buf)
{
	return bpk_view(buf->data, buf->size);
}

/* All allocated bytes, in use or not. */
static inline struct bpk_span bpk_buf_room(const struct bpk_buf *buf)
{
	return bpk_span(buf->data, buf->capacity);
}

#endif
