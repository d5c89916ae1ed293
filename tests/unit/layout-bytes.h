/*
 * Small files built by hand and opened as layouts: building, checking, cutting and flipping.
 */
#ifndef BPK_TESTS_LAYOUT_BYTES_H
#define BPK_TESTS_LAYOUT_BYTES_H

#include "unit/unit.h"

#include "layout/layout.h"

/* Bytes in memory as a layout; layout is NULL for plain bytes. */
struct opened {
	struct bpk_source *source;
	struct bpk_layout *layout;
};

static inline void open_bytes(const void *bytes, size_t size, struct opened *opened)
{
	struct bpk_err err = { 0 };

	assert_int_equal(bpk_source_of_memory(bpk_view(bytes, size), &opened->source, &err), 0);
	if (bpk_layout_open(opened->source, &opened->layout, &err) != 0)
		fail_msg("%s", err.text);
}

static inline void close_bytes(struct opened *opened)
{
	bpk_layout_close(opened->layout);
	bpk_source_close(opened->source);
}

static inline void open_buf(const struct bpk_buf *buf, struct opened *opened)
{
	open_bytes(buf->data, buf->size, opened);
}

/* ---- Building files ---- */

static inline void put(struct bpk_buf *buf, const void *bytes, size_t size)
{
	struct bpk_err err = { 0 };

	assert_int_equal(bpk_buf_append(buf, bpk_view(bytes, size), &err), 0);
}

static inline void put_le(struct bpk_buf *buf, uint64_t value, size_t size)
{
	uint8_t bytes[8];

	assert_in_range(size, 1, sizeof bytes);
	bpk_put_le64(bytes, value);
	put(buf, bytes, size);
}

static inline void put_text(struct bpk_buf *buf, const char *text)
{
	put(buf, text, strlen(text));
}

/* ---- Checking them ---- */

/* The text of the type. */
static inline const char *type_of(const struct bpk_item *item)
{
	static char text[4096];
	struct bpk_buf out = { 0 };
	struct bpk_err err = { 0 };

	assert_int_equal(bpk_dtype_print(&item->array->dtype, &out, &err), 0);
	assert_in_range(out.size, 1, sizeof text - 1);
	memcpy(text, out.data, out.size);
	text[out.size] = '\0';
	bpk_buf_clear(&out);
	return text;
}

/* Assert name, type and shape of array number; the expected shape ends with 0. */
static inline void expect_array(struct opened *opened, uint64_t number, const char *name,
				const char *type, const uint64_t *shape, size_t ndimensions,
				uint64_t offset)
{
	struct bpk_item item;
	struct bpk_err err = { 0 };

	assert_non_null(opened->layout);
	assert_true(number < bpk_layout_info(opened->layout)->narrays);
	if (bpk_layout_get(opened->layout, number, &item, &err) != 0)
		fail_msg("%s", err.text);
	assert_string_equal(item.name, name);
	assert_string_equal(type_of(&item), type);
	assert_int_equal(item.array->ndimensions, ndimensions);
	for (size_t i = 0; i < ndimensions; i++)
		assert_int_equal(item.array->shape[i], shape[i]);
	assert_int_equal(item.offset, offset);
	assert_int_equal(item.frame, BPK_UNKNOWN);
}

/* Assert that every array is inside the file, has a visible name, and is found by it. */
static inline void check_arrays(struct opened *opened, uint64_t file_size)
{
	const struct bpk_layout_info *info;

	if (opened->layout == NULL)
		return;
	info = bpk_layout_info(opened->layout);
	assert_true(info->narrays <= file_size);
	for (uint64_t i = 0; i < info->narrays; i++) {
		struct bpk_item item, found;
		struct bpk_err err = { 0 };
		char name[512];

		if (bpk_layout_get(opened->layout, i, &item, &err) != 0)
			fail_msg("%s", err.text);
		assert_true(item.offset <= file_size);
		assert_true(item.array->size <= file_size - item.offset);
		assert_in_range(strlen(item.name), 1, sizeof name - 1);
		assert_true(bpk_utf8_valid(bpk_view(item.name, strlen(item.name))));
		for (const char *p = item.name; *p != '\0'; p++)
			assert_true((uint8_t)*p >= 0x20 && *p != 0x7f);
		strcpy(name, item.name);
		assert_int_equal(
			bpk_layout_find(opened->layout, name, BPK_UNKNOWN, false, &found, &err), 0);
		assert_int_equal(bpk_layout_get(opened->layout, i, &item, &err), 0);
	}
}

static inline void try_bytes(const uint8_t *bytes, size_t size)
{
	uint8_t *exact = malloc(size + 1); /* so that a sanitizer finds reads past the end */
	struct opened opened;

	memcpy(exact, bytes, size);
	exact = realloc(exact, size > 0 ? size : 1);
	open_bytes(exact, size, &opened);
	check_arrays(&opened, size);
	close_bytes(&opened);
	free(exact);
}

/* Cut at every byte; in the first bytes flip every bit, and set every byte to 0 and to all ones. */
static inline void sweep(const struct bpk_buf *file, size_t bytes)
{
	for (size_t size = 0; size <= file->size; size++)
		try_bytes(file->data, size);
	for (size_t at = 0; at < file->size && at < bytes; at++) {
		uint8_t was = file->data[at];

		for (int bit = 0; bit < 8; bit++) {
			file->data[at] = (uint8_t)(was ^ 1u << bit);
			try_bytes(file->data, file->size);
		}
		file->data[at] = 0;
		try_bytes(file->data, file->size);
		file->data[at] = 0xff;
		try_bytes(file->data, file->size);
		file->data[at] = was;
	}
}

#endif
