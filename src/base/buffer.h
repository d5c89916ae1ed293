/*
 * Owned bytes that grow.
 */
#ifndef BPK_BASE_BUFFER_H
#define BPK_BASE_BUFFER_H

#include "base/bytes.h"
#include "base/err.h"

/* Cache line size: the vector kernels run best on rows that start on one. */
enum { BPK_ALIGNMENT = 64 };

/* Owns its bytes. Valid when zeroed; one thread's own. data is aligned to BPK_ALIGNMENT. */
struct bpk_buf {
	uint8_t *data;
	size_t size;     /* bytes in use */
	size_t capacity; /* bytes allocated */
};

/*
 * Room for at least capacity bytes; the bytes in use are kept. Allocates exactly capacity bytes, so
 * that memory follows chunk sizes. Fails with BPK_NO_MEMORY and then changes nothing.
 */
int bpk_buf_reserve(struct bpk_buf *buf, size_t capacity, struct bpk_err *err);

/* Reserve and set size in one step; new bytes are unspecified. */
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

/*
 * Zeroed memory for count items of size bytes each, aligned to BPK_ALIGNMENT; NULL with
 * BPK_NO_MEMORY. Released with free().
 */
void *bpk_calloc(size_t count, size_t size, struct bpk_err *err);

/*
 * Make room for one more item of size bytes in the array all, which holds count items and has *room
 * for so many; twice as many where it is full. all may be NULL with *room 0. Returns the array,
 * which replaces all; NULL with BPK_NO_MEMORY, and all is unchanged then.
 */
void *bpk_grow(void *all, size_t count, size_t *room, size_t size, struct bpk_err *err);

/* A copy of text, released with free(); NULL with BPK_NO_MEMORY. */
char *bpk_strdup(const char *text, struct bpk_err *err);

/* Fill out with repetitions of pattern, which has at least one byte, from its byte phase on. Both
 * may be in one buffer, but must not overlap. */
void bpk_repeat(struct bpk_view pattern, size_t phase, struct bpk_span out);

#endif
