/*
 * Shared by tests of layouts: files built by hand, and properties of any file, whole, cut or with
 * flipped bits: no crash, and every listed array is inside the file.
 */
#ifndef BPK_TESTS_LAYOUT_FILES_H
#define BPK_TESTS_LAYOUT_FILES_H

#include <stdio.h>

#include "unit/unit.h"

#include "layout/layout.h"

/* ---- Building files ---- */

struct maker {
	struct bpk_buf bytes;
	bool big_endian;
};

static inline void make_bytes(struct maker *m, const void *bytes, size_t size)
{
	assert_int_equal(bpk_buf_append(&m->bytes, bpk_view(bytes, size), NULL), 0);
}

static inline void make_int(struct maker *m, uint64_t value, size_t size)
{
	uint8_t bytes[8];

	for (size_t i = 0; i < size; i++)
		bytes[m->big_endian ? size - 1 - i : i] = (uint8_t)(value >> 8 * i);
	make_bytes(m, bytes, size);
}

static inline void make_fill(struct maker *m, uint8_t value, size_t size)
{
	for (size_t i = 0; i < size; i++)
		make_bytes(m, &value, 1);
}

/* ---- Opening them ---- */

struct opened {
	struct bpk_source *source;
	struct bpk_layout *layout; /* NULL: plain bytes */
	const struct bpk_layout_info *info;
};

static inline struct opened open_bytes(struct bpk_view bytes)
{
	struct opened o = { 0 };
	struct bpk_err err = { 0 };

	assert_int_equal(bpk_source_of_memory(bytes, &o.source, &err), 0);
	assert_int_equal(bpk_layout_open(o.source, &o.layout, &err), 0);
	if (o.layout != NULL)
		o.info = bpk_layout_info(o.layout);
	return o;
}

static inline void close_opened(struct opened *o)
{
	bpk_layout_close(o->layout);
	bpk_source_close(o->source);
}

/* ---- Properties ---- */

/* Assert all members of item number; dtype as NumPy writes it, shape as "3,3". */
static inline void expect_item(struct opened *o, uint64_t number, const char *name, uint64_t frame,
			       uint64_t step, uint64_t offset, const char *dtype, const char *shape)
{
	struct bpk_item item;
	struct bpk_err err = { 0 };
	struct bpk_buf text = { 0 };
	char found[200] = "";

	assert_int_equal(bpk_layout_get(o->layout, number, &item, &err), 0);
	assert_string_equal(item.name, name);
	assert_int_equal(item.frame, frame);
	assert_int_equal(item.step, step);
	assert_int_equal(item.offset, offset);
	assert_int_equal(bpk_dtype_print(&item.array->dtype, &text, &err), 0);
	assert_int_equal(text.size, strlen(dtype));
	assert_memory_equal(text.data, dtype, text.size);
	bpk_buf_clear(&text);
	for (size_t i = 0; i < item.array->ndimensions; i++)
		snprintf(found + strlen(found), sizeof found - strlen(found), "%s%llu",
			 i == 0 ? "" : ",", (unsigned long long)item.array->shape[i]);
	assert_string_equal(found, shape);
}

/* Get an item, and find it again by name; both must be inside the file. Damage must give an error
 * with a message. Returns 0 if the item could be read. */
static inline int check_item(struct opened *o, uint64_t number)
{
	uint64_t size = bpk_source_size(o->source), offset;
	struct bpk_err err = { 0 };
	struct bpk_item item;
	char name[2048];

	if (bpk_layout_get(o->layout, number, &item, &err) != 0) {
		assert_int_equal(err.kind, BPK_CORRUPT);
		assert_true(err.text[0] != '\0');
		return 1;
	}
	assert_true(item.name[0] != '\0');
	assert_true(item.frame == BPK_UNKNOWN || item.frame < o->info->nframes);
	assert_true(item.offset <= size && item.array->size <= size - item.offset);
	offset = item.offset;
	snprintf(name, sizeof name, "%s", item.name);
	if (bpk_layout_find(o->layout, name, item.frame, false, &item, &err) != 0) {
		assert_int_equal(err.kind, BPK_CORRUPT);
		assert_true(err.text[0] != '\0');
		return 1;
	}
	assert_int_equal(item.offset, offset);
	return 0;
}

/* Open bytes, in memory of their exact size, and check every item. Returns the number of readable
 * ones. */
static inline uint64_t check_bytes(const uint8_t *bytes, size_t size)
{
	uint8_t *copy = malloc(size > 0 ? size : 1);
	struct opened o;
	uint64_t good = 0;

	bpk_copy(copy, bytes, size);
	o = open_bytes(bpk_view(copy, size));
	if (o.layout != NULL) {
		assert_true(o.info->narrays <= size);
		for (uint64_t i = 0; i < o.info->narrays; i++)
			good += check_item(&o, i) == 0;
	}
	close_opened(&o);
	free(copy);
	return good;
}

/* Cut at every byte, and change the bits of every byte. A cut never adds an array. */
static inline void check_cuts_and_flips(struct bpk_view file)
{
	static const uint8_t masks[] = { 0x01, 0x02, 0x04, 0x08, 0x10, 0x20, 0x40, 0x80, 0xff };
	uint64_t before = 0, now;
	uint8_t *bytes = malloc(file.size);

	bpk_copy(bytes, file.data, file.size);
	for (size_t size = 0; size <= file.size; size++) {
		now = check_bytes(bytes, size);
		assert_true(now >= before);
		before = now;
	}
	for (size_t i = 0; i < file.size; i++)
		for (size_t m = 0; m < sizeof masks; m++) {
			bytes[i] ^= masks[m];
			check_bytes(bytes, file.size);
			bytes[i] ^= masks[m];
		}
	free(bytes);
}

/* A file from the folder named by the environment variable; the test is skipped if it is unset. */
static inline struct opened open_sample(const char *variable, const char *name)
{
	const char *folder = getenv(variable);
	struct bpk_err err = { 0 };
	struct opened o = { 0 };
	char path[4096];

	if (folder == NULL) {
		print_message("# %s names no folder with %s\n", variable, name);
		skip();
	}
	snprintf(path, sizeof path, "%s/%s", folder, name);
	assert_int_equal(bpk_source_open(path, &o.source, &err), 0);
	assert_int_equal(bpk_layout_open(o.source, &o.layout, &err), 0);
	assert_non_null(o.layout);
	o.info = bpk_layout_info(o.layout);
	return o;
}

#endif
