/*
 * Reads and writes a section: 93, its size, a map of names to offsets, an array of values. Whether
 * the size counts the 93 differs between header and trailer, and no reader uses it. header.c and
 * trailer.c call it.
 */
#include "format/frame/parts/section.h"

#include <inttypes.h>
#include <stdlib.h>

/* ---- Reading ---- */

/* One name, and the offset of its value. */
struct entry {
	struct bpk_view name;
	int32_t offset;
};

static const char *what(const struct bpk_frame_section *section)
{
	return section->in_trailer ? "the trailer" : "the header";
}

static struct entry take_entry(struct bpk_cursor *cursor)
{
	struct entry entry = { .offset = -1 };
	uint8_t marker = bpk_cursor_u8(cursor);

	entry.name.size = marker & 0x1f;
	entry.name.data = bpk_cursor_take(cursor, entry.name.size);
	if ((marker & 0xe0) != BPK_FRAME_FIXSTR || bpk_cursor_u8(cursor) != BPK_FRAME_INT_32)
		cursor->bad = true;
	entry.offset = (int32_t)bpk_cursor_be32(cursor);
	return entry;
}

/* values: the least valid offset of a value. left: bytes that the remaining values may have. */
static int take_layer(const struct bpk_frame_section *s, const struct entry *entry, size_t values,
		      size_t *left, struct bpk_frame_layer *layer, struct bpk_err *err)
{
	size_t at = (size_t)entry->offset;
	const uint8_t *value;
	uint32_t size;

	if (memchr(entry->name.data, 0, entry->name.size) != NULL)
		return bpk_fail(err, BPK_CORRUPT, "a metalayer's name in %s holds a NUL", what(s));
	memcpy(layer->name, entry->name.data, entry->name.size);
	if (entry->offset < 0 || at < values || at > s->end || s->end - at < 5)
		return bpk_fail(err, BPK_CORRUPT,
				"metalayer '%s' is at %" PRId32 " in %s, expected %zu to %zu",
				layer->name, entry->offset, what(s), values, s->end - 5);
	value = s->part.data + at;
	size = bpk_get_be32(value + 1);
	if (value[0] != BPK_FRAME_BIN_32)
		return bpk_fail(err, BPK_CORRUPT, "metalayer '%s' begins with %02x, expected %02x",
				layer->name, value[0], BPK_FRAME_BIN_32);
	if (size > s->end - at - 5)
		return bpk_fail(err, BPK_CORRUPT,
				"metalayer '%s' has %" PRIu32 " bytes, %zu are left in %s",
				layer->name, size, s->end - at - 5, what(s));
	if (size > *left)
		return bpk_fail(err, BPK_CORRUPT, "metalayers in %s overlap", what(s));
	*left -= size;
	return bpk_buf_append(&layer->content, bpk_view(value + 5, size), err);
}

static int by_name(const void *a, const void *b)
{
	const struct bpk_frame_layer *const *one = a, *const *other = b;

	return strcmp((*one)->name, (*other)->name);
}

static int check_unique(const struct bpk_frame_layers *layers, struct bpk_err *err)
{
	const struct bpk_frame_layer **sorted = bpk_calloc(layers->count, sizeof *sorted, err);
	int rc = 0;

	if (sorted == NULL)
		return -1;
	for (size_t i = 0; i < layers->count; i++)
		sorted[i] = &layers->all[i];
	qsort(sorted, layers->count, sizeof *sorted, by_name);
	for (size_t i = 1; i < layers->count && rc == 0; i++)
		if (by_name(&sorted[i - 1], &sorted[i]) == 0)
			rc = bpk_fail(err, BPK_CORRUPT, "two metalayers are named '%s'",
				      sorted[i]->name);
	free(sorted);
	return rc;
}

/* Parse the map's head: the number of entries. */
static int take_count(const struct bpk_frame_section *s, struct bpk_cursor *cursor, size_t *count,
		      struct bpk_err *err)
{
	bool good = bpk_cursor_u8(cursor) == BPK_FRAME_ARRAY_3;

	good &= bpk_cursor_u8(cursor) == BPK_FRAME_UINT_16;
	bpk_cursor_be16(cursor); /* the size */
	good &= bpk_cursor_u8(cursor) == BPK_FRAME_MAP_16;
	*count = bpk_cursor_be16(cursor);
	if (cursor->bad || !good)
		return bpk_fail(err, BPK_CORRUPT, "no metalayer section at %zu in %s", s->start,
				what(s));
	if (*count > s->max)
		return bpk_fail(err, BPK_CORRUPT, "%zu metalayers in %s, expected at most %zu",
				*count, what(s), s->max);
	return 0;
}

static int take_map(const struct bpk_frame_section *s, struct bpk_cursor *cursor,
		    struct entry *entries, size_t count, struct bpk_err *err)
{
	unsigned marker;
	size_t again;

	for (size_t i = 0; i < count; i++)
		entries[i] = take_entry(cursor);
	marker = bpk_cursor_u8(cursor);
	again = bpk_cursor_be16(cursor);
	if (cursor->bad || marker != BPK_FRAME_ARRAY_16)
		return bpk_fail(err, BPK_CORRUPT, "the names of %zu metalayers in %s are not a map",
				count, what(s));
	if (again != count)
		return bpk_fail(err, BPK_CORRUPT, "%zu metalayers in %s have %zu names", again,
				what(s), count);
	return 0;
}

static int take_layers(const struct bpk_frame_section *s, struct bpk_cursor *cursor,
		       struct bpk_frame_layers *layers, struct bpk_err *err)
{
	struct entry *entries = NULL;
	size_t count, values, left;
	int rc = -1;

	if (take_count(s, cursor, &count, err) != 0)
		return -1;
	/* an entry takes at least six bytes, so the input's size justifies the allocation */
	if (count > cursor->left / 6)
		return bpk_fail(err, BPK_CORRUPT, "%zu metalayers in the %zu bytes of %s", count,
				cursor->left, what(s));
	entries = bpk_calloc(count, sizeof *entries, err);
	layers->all = count == 0 ? NULL : calloc(count, sizeof *layers->all);
	if (entries == NULL || (count > 0 && layers->all == NULL)) {
		bpk_fail_memory(err, count * sizeof *layers->all);
		goto out;
	}
	if (take_map(s, cursor, entries, count, err) != 0)
		goto out;
	values = s->end - cursor->left;
	left = cursor->left;
	for (size_t i = 0; i < count; i++) {
		layers->count++; /* from here on layers_clear frees it */
		if (take_layer(s, &entries[i], values, &left, &layers->all[i], err) != 0)
			goto out;
	}
	rc = check_unique(layers, err);
out:
	free(entries);
	return rc;
}

int bpk_frame_section_read(const struct bpk_frame_section *section, struct bpk_frame_layers *layers,
			   struct bpk_err *err)
{
	struct bpk_cursor cursor = bpk_cursor(
		bpk_view(section->part.data + section->start, section->end - section->start));

	*layers = (struct bpk_frame_layers){ 0 };
	if (take_layers(section, &cursor, layers, err) == 0)
		return 0;
	bpk_frame_layers_clear(layers);
	return -1;
}

bool bpk_frame_section_find(const struct bpk_frame_section *s, const char *name, size_t *offset)
{
	struct bpk_cursor cursor =
		bpk_cursor(bpk_view(s->part.data + s->start, s->part.size - s->start));
	size_t count;

	if (take_count(s, &cursor, &count, NULL) != 0)
		return false;
	while (count-- > 0) {
		struct entry entry = take_entry(&cursor);

		if (cursor.bad || entry.offset < 0)
			return false;
		*offset = (size_t)entry.offset;
		if (entry.name.size == strlen(name) &&
		    memcmp(entry.name.data, name, entry.name.size) == 0)
			return true;
	}
	return false;
}

/* ---- Writing ---- */

/* Bytes from the 93 to the end of the names. */
static size_t size_of_map(const struct bpk_frame_layers *layers)
{
	size_t size = BPK_FRAME_SECTION_HEAD;

	for (size_t i = 0; i < layers->count; i++)
		size += 1 + strlen(layers->all[i].name) + 5;
	return size;
}

static int check_sizes(const struct bpk_frame_layers *layers, size_t start, struct bpk_err *err)
{
	uint64_t end = start + size_of_map(layers) + 3;

	for (size_t i = 0; i < layers->count; i++)
		end += 5 + (uint64_t)layers->all[i].content.size;
	if (end > INT32_MAX)
		return bpk_fail(err, BPK_LIMIT,
				"metalayers take %" PRIu64 " bytes, expected at most %d", end,
				INT32_MAX);
	return 0;
}

static void put_names(const struct bpk_frame_layers *layers, size_t value, uint8_t *p,
		      size_t *places)
{
	for (size_t i = 0; i < layers->count; i++) {
		size_t length = strlen(layers->all[i].name);

		*p++ = (uint8_t)(BPK_FRAME_FIXSTR | length);
		memcpy(p, layers->all[i].name, length);
		p += length;
		*p++ = BPK_FRAME_INT_32;
		bpk_put_be32(p, (uint32_t)value);
		p += 4;
		if (places != NULL)
			places[i] = value;
		value += 5 + layers->all[i].content.size;
	}
	*p++ = BPK_FRAME_ARRAY_16;
	bpk_put_be16(p, (uint16_t)layers->count);
}

static int put_value(struct bpk_view content, struct bpk_buf *out, struct bpk_err *err)
{
	uint8_t head[5] = { BPK_FRAME_BIN_32 };

	bpk_put_be32(head + 1, (uint32_t)content.size);
	if (bpk_buf_append(out, bpk_view(head, sizeof head), err) != 0)
		return -1;
	return bpk_buf_append(out, content, err);
}

int bpk_frame_section_write(const struct bpk_frame_layers *layers, bool in_trailer, size_t part,
			    struct bpk_buf *out, size_t *places, struct bpk_err *err)
{
	size_t start = out->size, map = size_of_map(layers);
	size_t counted = in_trailer ? map - 1 : map;
	uint8_t *p;

	if (check_sizes(layers, start - part, err) != 0 ||
	    bpk_buf_resize(out, start + map + 3, err) != 0)
		return -1;
	p = out->data + start;
	p[0] = BPK_FRAME_ARRAY_3;
	p[1] = BPK_FRAME_UINT_16;
	bpk_put_be16(p + 2, (uint16_t)counted);
	p[4] = BPK_FRAME_MAP_16;
	bpk_put_be16(p + 5, (uint16_t)layers->count);
	put_names(layers, start - part + map + 3, p + BPK_FRAME_SECTION_HEAD, places);
	for (size_t i = 0; i < layers->count; i++)
		if (put_value(bpk_buf_view(&layers->all[i].content), out, err) != 0)
			return -1;
	return 0;
}
