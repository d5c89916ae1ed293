/*
 * GSD files built by hand in memory, and checks on them.
 */
#ifndef BPK_TESTS_GSD_BYTES_H
#define BPK_TESTS_GSD_BYTES_H

#include "unit/unit.h"

#include "layout/layout.h"

enum { GSD_U1 = 1, GSD_U4 = 3, GSD_U8 = 4, GSD_I1 = 5, GSD_I4 = 7, GSD_F4 = 9, GSD_TEXT = 11 };

/* A file under construction: header, data, then names and index. */
struct gsd_made {
	uint8_t bytes[16384];
	size_t size;
	uint8_t entries[64][32];
	size_t nentries;
	char names[2048];
	size_t names_size;
	uint32_t version;
};

static inline void gsd_begin(struct gsd_made *made, uint32_t version, const char *schema,
			     uint32_t schema_version)
{
	memset(made, 0, sizeof *made);
	for (size_t i = 0; i < 8; i++)
		made->bytes[i] = i % 2 ? 0x65 : 0xdf;
	bpk_put_le32(made->bytes + 40, schema_version);
	bpk_put_le32(made->bytes + 44, version);
	memcpy(made->bytes + 48, "bpk-test", 8);
	memcpy(made->bytes + 112, schema, strlen(schema));
	made->size = 256;
	made->version = version;
}

static inline void gsd_name(struct gsd_made *made, const char *name)
{
	memcpy(made->names + made->names_size, name, strlen(name));
	made->names_size += made->version < 0x20000 ? 64 : strlen(name) + 1;
}

static inline uint8_t *gsd_entry(struct gsd_made *made, uint64_t frame, uint16_t id, uint8_t type,
				 uint64_t nrows, uint32_t ncolumns)
{
	uint8_t *entry = made->entries[made->nentries++];

	bpk_put_le64(entry, frame);
	bpk_put_le64(entry + 8, nrows);
	bpk_put_le64(entry + 16, made->size);
	bpk_put_le32(entry + 24, ncolumns);
	entry[28] = (uint8_t)id;
	entry[29] = (uint8_t)(id >> 8);
	entry[30] = type;
	return entry;
}

/* The same, with its data. */
static inline void gsd_chunk(struct gsd_made *made, uint64_t frame, uint16_t id, uint8_t type,
			     uint64_t nrows, uint32_t ncolumns, const void *data, size_t size)
{
	gsd_entry(made, frame, id, type, nrows, ncolumns);
	bpk_copy(made->bytes + made->size, data, size);
	made->size += size;
}

/* Names and index, with nfree free entries. */
static inline void gsd_end(struct gsd_made *made, size_t nfree)
{
	size_t segments = made->names_size / 64 + 1;

	bpk_put_le64(made->bytes + 24, made->size);
	bpk_put_le64(made->bytes + 32, segments);
	memcpy(made->bytes + made->size, made->names, made->names_size);
	made->size += segments * 64;
	bpk_put_le64(made->bytes + 8, made->size);
	bpk_put_le64(made->bytes + 16, made->nentries + nfree);
	memcpy(made->bytes + made->size, made->entries, made->nentries * 32);
	made->size += (made->nentries + nfree) * 32;
}

/* Two chunks in frame 0, one in frame 2. */
static inline void gsd_small(struct gsd_made *made, uint32_t version)
{
	static const uint8_t data[24] = { 1, 2, 3, 4, 5, 6, 7, 8 };

	gsd_begin(made, version, "demo", 0x10002);
	gsd_name(made, "pos");
	gsd_name(made, "a");
	gsd_chunk(made, 0, 0, GSD_F4, 2, 3, data, 24);
	gsd_chunk(made, 0, 1, GSD_U4, 2, 1, data, 8);
	gsd_chunk(made, 2, 1, GSD_U4, 1, 1, data, 4);
	gsd_end(made, 1);
}

/* ---- Opened ---- */

struct gsd_opened {
	struct bpk_source *source;
	struct bpk_layout *layout; /* NULL: plain bytes */
	const struct bpk_layout_info *info;
};

static inline struct gsd_opened gsd_open_bytes(const uint8_t *bytes, size_t size)
{
	struct gsd_opened opened = { 0 };
	struct bpk_err err = { 0 };

	if (bpk_source_of_memory(bpk_view(bytes, size), &opened.source, &err) != 0 ||
	    bpk_layout_open(opened.source, &opened.layout, &err) != 0)
		fail_msg("%s", err.text);
	opened.info = opened.layout != NULL ? bpk_layout_info(opened.layout) : NULL;
	return opened;
}

static inline struct gsd_opened gsd_open(const struct gsd_made *made)
{
	return gsd_open_bytes(made->bytes, made->size);
}

static inline void gsd_close(struct gsd_opened *opened)
{
	bpk_layout_close(opened->layout);
	bpk_source_close(opened->source);
}

/* Assert name, frame, type, dimensions (0, 0: scalar; n, 0: one) and step of an item. */
static inline void gsd_expect(const struct bpk_item *item, const char *name, uint64_t frame,
			      const char *type, uint64_t first, uint64_t second, size_t ndimensions)
{
	struct bpk_buf text = { 0 };

	assert_string_equal(item->name, name);
	assert_int_equal(item->frame, frame);
	assert_int_equal(bpk_dtype_print(&item->array->dtype, &text, NULL), 0);
	assert_int_equal(text.size, strlen(type));
	assert_memory_equal(text.data, type, text.size);
	bpk_buf_clear(&text);
	assert_int_equal(item->array->ndimensions, ndimensions);
	assert_int_equal(item->array->shape[0], first);
	assert_int_equal(item->array->shape[1], second);
	assert_false(item->array->fortran);
}

static inline void gsd_get(struct gsd_opened *opened, uint64_t number, struct bpk_item *item)
{
	struct bpk_err err = { 0 };

	if (bpk_layout_get(opened->layout, number, item, &err) != 0)
		fail_msg("%s", err.text);
}

static inline int gsd_find(struct gsd_opened *opened, const char *name, uint64_t frame,
			   struct bpk_item *item)
{
	return bpk_layout_find(opened->layout, name, frame, false, item, NULL);
}

struct gsd_row {
	size_t at;
	const char *hex;
};

static inline void gsd_put_hex(uint8_t *bytes, const struct gsd_row *rows)
{
	for (; rows->hex != NULL; rows++) {
		uint8_t *to = bytes + rows->at;

		for (const char *hex = rows->hex; *hex != '\0'; hex++) {
			char pair[3] = { hex[0], hex[1], '\0' };

			if (*hex == ' ')
				continue;
			*to++ = (uint8_t)strtoul(pair, NULL, 16);
			hex++;
		}
	}
}

/* ---- Checks for any file ---- */

/* The default for name in a frame is inside the file, or not stored, or missing. */
static inline void gsd_check_default(struct gsd_opened *opened, const char *name, uint64_t frame,
				     uint64_t size)
{
	struct bpk_item item;

	if (bpk_layout_find(opened->layout, name, frame, true, &item, NULL) != 0)
		return;
	if (item.offset == BPK_UNKNOWN)
		assert_true(item.fill.size > 0 && item.array->size % item.fill.size == 0);
	else
		assert_true(item.offset <= size && item.array->size <= size - item.offset);
}

/* Assert that every array is inside the file and found by its name. Returns their number. */
static inline uint64_t gsd_check_all(struct gsd_opened *opened, uint64_t size)
{
	struct bpk_item item, found;

	for (uint64_t i = 0; opened->layout != NULL && i < opened->info->narrays; i++) {
		uint64_t offset, bytes;

		gsd_get(opened, i, &item);
		offset = item.offset;
		bytes = item.array->size;
		assert_true(item.name[0] != '\0');
		assert_true(item.frame < opened->info->nframes);
		assert_true(offset <= size && bytes <= size - offset);
		assert_int_equal(gsd_find(opened, item.name, item.frame, &found), 0);
		assert_int_equal(found.offset, offset);
		assert_int_equal(found.array->size, bytes);
		gsd_check_default(opened, item.name, opened->info->nframes - 1, size);
		gsd_check_default(opened, "particles/image", item.frame, size);
	}
	return opened->layout != NULL ? opened->info->narrays : 0;
}

/* Cut at every byte and flip every bit. Each variant is a separate allocation, for sanitizers. */
static inline void gsd_hurt(const uint8_t *bytes, size_t size)
{
	uint8_t *copy;

	for (size_t cut = 0; cut < size; cut++) {
		struct gsd_opened opened;

		copy = malloc(cut > 0 ? cut : 1);
		memcpy(copy, bytes, cut);
		opened = gsd_open_bytes(copy, cut);
		gsd_check_all(&opened, cut);
		gsd_close(&opened);
		free(copy);
	}
	copy = malloc(size);
	memcpy(copy, bytes, size);
	for (size_t bit = 0; bit < size * 8; bit++) {
		struct gsd_opened opened;

		copy[bit / 8] ^= (uint8_t)(1 << bit % 8);
		opened = gsd_open_bytes(copy, size);
		gsd_check_all(&opened, size);
		gsd_close(&opened);
		copy[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	free(copy);
}

#endif
