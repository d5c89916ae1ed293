/* Buffers that grow. Every room above calls it. */
#include "base/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

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
	data = bpk_alloc(capacity, err);
	if (data == NULL)
		return -1;
	bpk_copy(data, buf->data, buf->size);
	free(buf->data);
	buf->data = data;
	buf->capacity = capacity;
	return 0;
}

int bpk_buf_reserve_whole(struct bpk_buf *buf, size_t capacity, struct bpk_err *err)
{
	const uint8_t *before = buf->data;

	if (bpk_buf_reserve(buf, capacity, err) != 0)
		return -1;
	if (buf->data != before)
		bpk_alloc_pages(buf->data + buf->size, capacity - buf->size);
	return 0;
}

int bpk_buf_resize(struct bpk_buf *buf, size_t size, struct bpk_err *err)
{
	if (bpk_buf_reserve_whole(buf, size, err) != 0)
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
