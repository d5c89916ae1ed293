/*
 * Finds the bytes outside of chunks in which copies of a file differ. merge_choose.c calls it.
 *
 *     | header, offsets | chunks ............... | index, trailer |
 *     0               low  (where any copy has    high           size
 *                           an intact one)
 */
#include "archive/merge_inner.h"

#include <stdlib.h>

enum {
	BLOCK = 1 << 16,
	NEAR = 16, /* equal bytes between two that differ: zeros in a part that was zeroed */
};

/* One thread's own. */
struct search {
	struct bpk_merge *merge;
	struct bpk_merge_file *file;
	struct bpk_source *copies[BPK_MERGE_MOST];
	struct bpk_buf blocks[BPK_MERGE_MOST]; /* of BLOCK bytes */
	struct bpk_err *err;
};

static int read_block(struct search *s, size_t copy, uint64_t at, size_t size)
{
	struct bpk_buf *block = &s->blocks[copy];
	size_t got = 0;

	if (bpk_buf_resize(block, BLOCK, s->err) != 0)
		return -1;
	if (s->copies[copy] != NULL &&
	    bpk_source_read_at(s->copies[copy], at, bpk_span(block->data, size), &got, s->err) != 0)
		return bpk_input_subject(&s->merge->copies[copy], s->err);
	block->size = got;
	return 0;
}

/* ---- Differences ---- */

static int add_difference(struct search *s, uint64_t at)
{
	struct bpk_merge_file *file = s->file;
	struct bpk_merge_part *last = file->nparts > 0 ? &file->parts[file->nparts - 1] : NULL;
	struct bpk_merge_part *parts;

	if (last != NULL &&
	    (at - (last->at + last->size) <= NEAR || file->nparts == BPK_MERGE_PARTS)) {
		last->size = at + 1 - last->at;
		return 0;
	}
	parts = bpk_alloc_grow(file->parts, file->nparts, &file->parts_room, sizeof *parts, s->err);
	if (parts == NULL)
		return -1;
	file->parts = parts;
	parts[file->nparts++] = (struct bpk_merge_part){ .at = at, .size = 1 };
	return 0;
}

/* True if the copies that are there have the same byte; one that has ended differs. */
static bool is_same(const struct search *s, size_t i)
{
	int byte = -1;

	for (size_t c = 0; c < s->merge->ncopies; c++) {
		if (s->file->sizes[c] == BPK_UNKNOWN)
			continue;
		if (i >= s->blocks[c].size || (byte >= 0 && s->blocks[c].data[i] != byte))
			return false;
		byte = s->blocks[c].data[i];
	}
	return true;
}

static int find_differences(struct search *s, uint64_t start, uint64_t end)
{
	for (uint64_t at = start; at < end; at += BLOCK) {
		size_t size = (size_t)bpk_min_u64(BLOCK, end - at);

		for (size_t c = 0; c < s->merge->ncopies; c++)
			if (read_block(s, c, at, size) != 0)
				return -1;
		for (size_t i = 0; i < size; i++)
			if (!is_same(s, i) && add_difference(s, at + i) != 0)
				return -1;
	}
	return 0;
}

/* ---- Variants ---- */

static int compare(struct search *s, size_t a, size_t b, const struct bpk_merge_part *part,
		   bool *same)
{
	uint64_t end = part->at + part->size;

	*same = true;
	for (uint64_t at = part->at; *same && at < end; at += BLOCK) {
		size_t size = (size_t)bpk_min_u64(BLOCK, end - at);

		if (read_block(s, a, at, size) != 0 || read_block(s, b, at, size) != 0)
			return -1;
		*same = s->blocks[a].size == s->blocks[b].size &&
			memcmp(s->blocks[a].data, s->blocks[b].data, s->blocks[a].size) == 0;
	}
	return 0;
}

/* Move variant v forward, before those of fewer copies. */
static void move_forward(struct bpk_merge_part *part, size_t v)
{
	for (; v > 0 && part->votes[v] > part->votes[v - 1]; v--) {
		uint8_t votes = part->votes[v], copy = part->variants[v];

		part->votes[v] = part->votes[v - 1];
		part->variants[v] = part->variants[v - 1];
		part->votes[v - 1] = votes;
		part->variants[v - 1] = copy;
	}
}

static int add_copy(struct search *s, struct bpk_merge_part *part, size_t copy)
{
	bool same = false;
	size_t v;

	for (v = 0; v < part->nvariants; v++) {
		if (compare(s, part->variants[v], copy, part, &same) != 0)
			return -1;
		if (same)
			break;
	}
	if (!same) {
		part->variants[part->nvariants] = (uint8_t)copy;
		part->votes[part->nvariants++] = 0;
	}
	part->votes[v] = (uint8_t)(part->votes[v] + 1 + s->merge->own[copy].opens);
	move_forward(part, v);
	return 0;
}

/* A part that the base alone has needs no choice, but the others do in their views. */
static int list_variants(struct search *s, struct bpk_merge_part *part)
{
	const struct bpk_merge_file *file = s->file;

	for (size_t c = 0; c < s->merge->ncopies; c++)
		if (file->sizes[c] != BPK_UNKNOWN && part->at < file->sizes[c] &&
		    part->size <= file->sizes[c] - part->at && add_copy(s, part, c) != 0)
			return -1;
	if (part->nvariants == 0)
		return add_copy(s, part, file->base);
	return 0;
}

/* ---- A file ---- */

/* Lower *low and raise *high to the chunks that copies have, if all of theirs are in the file. In
 * copies that have moved chunks are where others have no chunks. */
static void find_chunks(const struct bpk_merge *m, const struct bpk_merge_file *file, uint64_t *low,
			uint64_t *high)
{
	for (size_t c = 0; c < m->ncopies; c++) {
		if (file->end[c] > file->size ||
		    (file->trust[c] == BPK_MERGE_LOOSE && file->nmoved[c] > 0))
			continue;
		*low = bpk_min_u64(*low, file->first[c]);
		*high = bpk_max_u64(*high, file->end[c]);
	}
}

/* The first copy of the file's size, best a trusted one. */
static size_t find_base(const struct bpk_merge *m, const struct bpk_merge_file *file)
{
	size_t base = 0;

	for (size_t c = 0; c < m->ncopies; c++)
		if (file->sizes[c] == file->size && file->trust[c] != BPK_MERGE_LOOSE)
			return c;
	while (base + 1 < m->ncopies && file->sizes[base] != file->size)
		base++;
	for (size_t c = 0; file->sizes[base] != file->size && c < m->ncopies; c++)
		if (file->sizes[c] != BPK_UNKNOWN && file->sizes[c] > file->size)
			return c; /* with bytes behind it that are foreign */
	return base;
}

static int search(struct search *s)
{
	struct bpk_merge_file *file = s->file;
	uint64_t low = file->size, high = 0;

	find_chunks(s->merge, file, &low, &high);
	file->low = low;
	file->high = high;
	for (size_t c = 0; c < s->merge->ncopies; c++)
		if (file->sizes[c] != BPK_UNKNOWN &&
		    bpk_merge_borrow(s->merge, c, file, &s->copies[c], s->err) != 0)
			return -1;
	if (find_differences(s, 0, low) != 0 ||
	    (low < file->size && find_differences(s, high, file->size) != 0))
		return -1;
	for (size_t i = 0; i < file->nparts; i++)
		if (list_variants(s, &file->parts[i]) != 0)
			return -1;
	return 0;
}

int bpk_merge_find_parts(struct bpk_merge *m, struct bpk_merge_file *file, uint64_t size,
			 struct bpk_err *err)
{
	struct search s = { .merge = m, .file = file, .err = err };
	int rc;

	file->nparts = 0;
	file->size = size;
	file->base = find_base(m, file);
	file->masked = m->names == NULL && file->trust[file->base] == BPK_MERGE_LOOSE &&
		       file->nmoved[file->base] > 0;
	file->low = file->high = 0;
	rc = file->is_chunk ? 0 : search(&s);
	for (size_t c = 0; c < m->ncopies; c++) {
		bpk_merge_release(m, s.copies[c]);
		bpk_buf_clear(&s.blocks[c]);
	}
	return rc;
}

/* ---- Sizes and formats ---- */

/* The copies that have the file in this size. One with certain numbers counts more than all others:
 * its index is the frame of reference. */
static size_t count_size(const struct bpk_merge *m, const struct bpk_merge_file *file, size_t copy)
{
	size_t count = 0;

	for (size_t c = 0; c < m->ncopies; c++)
		if (file->sizes[c] == file->sizes[copy])
			count += file->trust[c] == BPK_MERGE_SURE ? BPK_MERGE_MOST : 1;
	return count;
}

uint64_t bpk_merge_usual_size(const struct bpk_merge *m, const struct bpk_merge_file *file)
{
	uint64_t size = bpk_merge_told_size(m, file);
	size_t most = 0;

	if (size != BPK_UNKNOWN)
		return size;
	for (size_t c = 0; c < m->ncopies; c++) {
		size_t count = count_size(m, file, c);

		if (file->sizes[c] == BPK_UNKNOWN || count < most ||
		    (count == most && file->sizes[c] <= size))
			continue;
		most = count;
		size = file->sizes[c];
	}
	return size;
}

int bpk_merge_file_format(const struct bpk_merge *m, const struct bpk_merge_file *file,
			  const struct bpk_format **format, struct bpk_err *err)
{
	*format = NULL;
	for (size_t c = 0; *format == NULL && c < m->ncopies; c++) {
		struct bpk_place place = { .path = m->copies[c].path };
		int rc;

		if (file->sizes[c] == BPK_UNKNOWN)
			continue;
		if (bpk_merge_borrow(m, c, file, &place.source, err) != 0)
			return -1;
		rc = bpk_format_probe(&place, format, err);
		bpk_merge_release(m, place.source);
		if (rc != 0)
			return -1;
		if (*format != NULL && ((*format)->is_directory || (*format)->salvage == NULL ||
					(*format)->extended_chunks))
			*format = NULL;
	}
	return 0;
}
