/*
 * Owned bytes that grow.
 */
#ifndef BPK_BASE_BUFFER_H
#define BPK_BASE_BUFFER_H

#include "base/bytes.h"
#include "base/error.h"

/* Vector kernels like their rows on cache lines. */
enum { BPK_ALIGNMENT = 64 };

/* Owns its bytes. Valid when zeroed; one thread's own. data is aligned to BPK_ALIGNMENT. */
struct bpk_buf {
	uint8_t *data;
	size_t size;     /* bytes in use */
	size_t capacity; /* bytes allocated */
};

/*
 * Room for at least capacity bytes; the bytes in use are kept. Grows exactly to what is asked,
 * so that memory follows chunk sizes. Fails with BPK_NO_MEMORY and then changes nothing.
 */
int bpk_buf_reserve(struct bpk_buf *buf, size_t capacity, struct bpk_err *err);

/* Reserve and set size in one step; new bytes are unspecified. */
int bpk_buf_resize(struct bpk_buf *buf, size_t size, struct bpk_err *err);

/* Add bytes at the end; grows by doubling. */
int bpk_buf_append(struct bpk_buf *buf, struct bpk_view bytes, struct bpk_err *err);

/* Add formatted text at the end, without its NUL. */
int bpk_buf_printf(struct bpk_buf *buf, struct bpk_err *err, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Give the bytes back and zero *buf; harmless on a zeroed one. */
void bpk_buf_clear(struct bpk_buf *buf);

static inline struct bpk_view bpk_buf_view(const struct bpk_buf *buf)
{
	return bpk_view(buf->data, buf->size);
}

/* Everything allocated, in use or not. */
static inline struct bpk_span bpk_buf_room(const struct bpk_buf *buf)
{
	return bpk_span(buf->data, buf->capacity);
}

/*
 * Zeroed memory for count items of size bytes each, aligned to BPK_ALIGNMENT; NULL with
 * BPK_NO_MEMORY. Give it back with free().
 */
void *bpk_calloc(size_t count, size_t size, struct bpk_err *err);

/* A copy of a text, for free(); NULL with BPK_NO_MEMORY. */
char *bpk_strdup(const char *text, struct bpk_err *err);

#endif
