/*
 * Files of copies in which bytes came or went, so that chunks are not where the archive says.
 * Called by merge_runs.c.
 *
 *     the archive   data/__0__.bin    | 0 | 1 | 2 |
 *     a copy        data/__0__.bin    | 0 | # | 2 |      2 goes to the place of its number
 */
#include "archive/merge_inner.h"

#include <stdlib.h>

enum { MOST_MISSES = 64 }; /* chunks in a row that the index does not lead to */

/* *at: where the union says that a chunk of this file lies. False: it does not. */
static bool find_place(const struct bpk_merge *m, const struct bpk_merge_file *file,
		       const struct bpk_saved *saved, void *reader, uint64_t *at)
{
	struct bpk_where where = { 0 };

	if (m->format->reader->locate(reader, saved->number, &where, NULL) != 0 ||
	    (m->names != NULL && strcmp(where.file, file->name) != 0))
		return false;
	*at = where.packed_offset;
	return true;
}

/* ---- Directories ---- */

int bpk_merge_list_places(struct bpk_merge *m, void *reader, struct bpk_merge_places *places,
			  struct bpk_err *err)
{
	const struct bpk_reader_ops *ops = m->format->reader;
	struct bpk_where where = { 0 };
	unsigned misses = 0;
	size_t room = 0;

	for (uint64_t n = 0; n < ops->info(reader)->chunks.count && misses < MOST_MISSES; n++) {
		const struct bpk_merge_file *file;
		struct bpk_merge_known *all;

		if (ops->locate(reader, n, &where, NULL) != 0) {
			misses++;
			continue;
		}
		misses = 0;
		file = bpk_merge_find_file(m, where.file);
		if (file == NULL || where.header.special != BPK_SPECIAL_NONE)
			continue;
		all = bpk_alloc_grow(places->all, places->count, &room, sizeof *all, err);
		if (all == NULL)
			return -1;
		places->all = all;
		all[places->count++] = (struct bpk_merge_known){
			.file = (size_t)(file - m->files),
			.offset = where.packed_offset,
			.packed_size = where.header.packed_size,
		};
	}
	if (places->count > 0)
		qsort(places->all, places->count, sizeof *places->all, bpk_merge_compare_known);
	return 0;
}

bool bpk_merge_is_between(const struct bpk_merge *m, const struct bpk_merge_places *places,
			  const struct bpk_merge_file *file, const struct bpk_merge_run *run)
{
	const struct bpk_merge_known key = { .file = (size_t)(file - m->files), .offset = run->at };
	size_t low = 0, high = places->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (bpk_merge_compare_known(&places->all[middle], &key) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	if (low < places->count && places->all[low].file == key.file &&
	    places->all[low].offset - run->at < run->size)
		return places->all[low].offset != run->at;
	return low > 0 && places->all[low - 1].file == key.file &&
	       run->at - places->all[low - 1].offset < places->all[low - 1].packed_size;
}

int bpk_merge_take_shifted(struct bpk_merge *m, size_t copy, void *reader, struct bpk_err *err)
{
	const struct bpk_salvage *found = &m->found[copy];

	for (size_t i = 0; i < found->count; i++) {
		const struct bpk_saved *saved = &found->all[i];
		struct bpk_merge_file *file = bpk_merge_file_of(m, found, saved);
		struct bpk_merge_run run = bpk_merge_run_of(found, saved, copy);

		if (!saved->intact || file == NULL || !file->moved[copy] ||
		    !find_place(m, file, saved, reader, &run.at))
			continue;
		if (bpk_merge_hash_run(m, file, &run, err) != 0 ||
		    bpk_merge_take_run(m, file, &run, err) != 0)
			return -1;
	}
	return 0;
}

/* ---- Notes ---- */

/* Note the files of a copy with a chunk that is not where the archive says, so bytes came or went
 * before it. */
static void note_shifts(struct bpk_merge *m, size_t copy, void *reader)
{
	const struct bpk_salvage *found = &m->found[copy];
	uint64_t at;

	for (size_t i = 0; i < found->count; i++) {
		const struct bpk_saved *saved = &found->all[i];
		struct bpk_merge_file *file = bpk_merge_file_of(m, found, saved);

		if (saved->intact && file != NULL && find_place(m, file, saved, reader, &at) &&
		    at != saved->offset)
			file->moved[copy] = true;
	}
}

/* True if the numbers of the copy's chunks are certain. Doubts about metadata of a directory do not
 * matter. */
static bool has_numbers(const struct bpk_merge *m, size_t copy)
{
	const struct bpk_salvage *found = &m->found[copy];

	return !m->dropped[copy] &&
	       (m->names == NULL ? m->files[0].trust[copy] == BPK_MERGE_SURE
				 : found->counted && !found->estimated && !found->disordered);
}

/* Take another copy for the base of a file if the chunks of that have moved. */
static void change_base(const struct bpk_merge *m, struct bpk_merge_file *file)
{
	for (size_t c = 0; file->moved[file->base] && c < m->ncopies; c++)
		if (file->sizes[c] == file->size && !file->moved[c] &&
		    file->trust[c] != BPK_MERGE_LOOSE)
			file->base = c;
}

int bpk_merge_note_moved(struct bpk_merge *m, struct bpk_err *err)
{
	struct bpk_merge_view view;
	void *reader;

	if (bpk_merge_union_open(m, &view, &reader, err) != 0)
		return -1;
	for (size_t c = 0; reader != NULL && c < m->ncopies; c++)
		if (has_numbers(m, c))
			note_shifts(m, c, reader);
	bpk_merge_union_close(m, &view, reader);
	for (size_t f = 0; f < m->nfiles; f++)
		change_base(m, &m->files[f]);
	return 0;
}
