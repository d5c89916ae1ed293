/*
 * Buffers and allocation for all rooms. See buffer.h.
 */
#include "base/buffer.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* aligned_alloc requires a multiple of the alignment. Returns 0 when rounding up overflows. */
static size_t rounded_up(size_t size)
{
	size_t rest = size % BPK_ALIGNMENT;

	if (size == 0)
		return BPK_ALIGNMENT;
	if (rest == 0)
		return size;
	return size > SIZE_MAX - BPK_ALIGNMENT ? 0 : size + (BPK_ALIGNMENT - rest);
}

static void *allocate(size_t size, struct bpk_err *err)
{
	size_t rounded = rounded_up(size);
	void *memory = rounded == 0 ? NULL : aligned_alloc(BPK_ALIGNMENT, rounded);

	if (memory == NULL)
		bpk_fail_memory(err, size);
	return memory;
}

int bpk_buf_reserve(struct bpk_buf *buf, size_t capacity, struct bpk_err *err)
{
	size_t quarter_more = buf->capacity + buf->capacity / 4;
	uint8_t *data;

	if (capacity <= buf->capacity)
		return 0;
	/* Chunks of slightly different sizes pass through one buffer: pages that are given back for
	 * a little more cost more than pages that are never touched. */
	if (capacity < quarter_more)
		capacity = quarter_more;
	data = allocate(capacity, err);
	if (data == NULL)
		return -1;
	bpk_copy(data, buf->data, buf->size);
	free(buf->data);
	buf->data = data;
	buf->capacity = capacity;
	return 0;
}

int bpk_buf_resize(struct bpk_buf *buf, size_t size, struct bpk_err *err)
{
	if (bpk_buf_reserve(buf, size, err) != 0)
		return -1;
	buf->size = size;
	return 0;
}

/* Make room for extra bytes after those in use; at least doubles the capacity. */
static int grow(struct bpk_buf *buf, size_t extra, struct bpk_err *err)
{
	size_t wanted;

	if (extra <= buf->capacity - buf->size)
		return 0;
	if (extra > SIZE_MAX - buf->size)
		return bpk_fail_memory(err, extra);
	wanted = buf->size + extra;
	if (buf->capacity <= SIZE_MAX / 2 && wanted < 2 * buf->capacity)
		wanted = 2 * buf->capacity;
	return bpk_buf_reserve(buf, wanted, err);
}

int bpk_buf_append(struct bpk_buf *buf, struct bpk_view bytes, struct bpk_err *err)
{
	if (bytes.size == 0) /* NULL + 0 is undefined behaviour */
		return 0;
	if (grow(buf, bytes.size, err) != 0)
		return -1;
	bpk_copy(buf->data + buf->size, bytes.data, bytes.size);
	buf->size += bytes.size;
	return 0;
}

int bpk_buf_printf(struct bpk_buf *buf, struct bpk_err *err, const char *format, ...)
{
	va_list args, again;
	int length;

	va_start(args, format);
	va_copy(again, args);
	length = vsnprintf(NULL, 0, format, args);
	va_end(args);
	if (length >= 0 && grow(buf, (size_t)length + 1, err) == 0) {
		vsnprintf((char *)buf->data + buf->size, (size_t)length + 1, format, again);
		buf->size += (size_t)length;
		length = 0;
	} else {
		length = -1;
	}
	va_end(again);
	return length;
}

void bpk_buf_clear(struct bpk_buf *buf)
{
	free(buf->data);
	*buf = (struct bpk_buf){ 0 };
}

void *bpk_calloc(size_t count, size_t size, struct bpk_err *err)
{
	uint64_t total;
	void *memory;

	if (!bpk_mul_u64(count, size, &total) || total > SIZE_MAX) {
		bpk_fail_memory(err, UINT64_MAX);
		return NULL;
	}
	memory = allocate((size_t)total, err);
	if (memory != NULL)
		memset(memory, 0, (size_t)total);
	return memory;
}

void *bpk_grow(void *all, size_t count, size_t *room, size_t size, struct bpk_err *err)
{
	size_t more = *room == 0 ? 16 : 2 * *room;
	void *grown = NULL;

	if (count < *room)
		return all;
	if (more <= SIZE_MAX / size)
		grown = realloc(all, more * size);
	if (grown == NULL) {
		bpk_fail_memory(err, (uint64_t)more * size);
		return NULL;
	}
	*room = more;
	return grown;
}

char *bpk_strdup(const char *text, struct bpk_err *err)
{
	char *copy = strdup(text);

	if (copy == NULL)
		bpk_fail_memory(err, strlen(text) + 1);
	return copy;
}

/* The longest distance between copies, so that the source is still in cache. */
enum { NEAR = 32768 };

void bpk_repeat(struct bpk_view pattern, size_t phase, struct bpk_span out)
{
	size_t done = bpk_min_size(pattern.size, out.size);
	size_t first = bpk_min_size(pattern.size - phase, done);

	bpk_copy(out.data, pattern.data + phase, first);
	bpk_copy(out.data + first, pattern.data, done - first);
	/* the finished part is a whole number of patterns, or everything */
	while (done < out.size) {
		size_t whole =
			done <= NEAR ? done : bpk_max_u64(pattern.size, NEAR - NEAR % pattern.size);
		size_t count = bpk_min_size(whole, out.size - done);

		memcpy(out.data + done, out.data + (done - whole), count);
		done += count;
	}
}
