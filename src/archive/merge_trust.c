/*
 * Judges whether the chunks that were found in a copy lie at their places: bytes may have come or
 * gone, or the whole copy may be shifted. Called by merge.c.
 *
 *     copy 0    header | A | B | C | C |        A and B are once in both copies, and at the same
 *     copy 1    ###### | A | B | # | C |        offsets: copy 1 is placed
 *     copy 2    C | header | A | B | C |        A and B are elsewhere: copy 2 is loose
 *
 * C alone would not tell copy 2 from copy 1: a digest does not have the number of its chunk.
 */
#include "archive/merge_inner.h"

#include <stdlib.h>

/* ---- Prints ---- */

static int compare_prints(const void *a, const void *b)
{
	const struct bpk_merge_print *x = a, *y = b;

	if (x->hash != y->hash)
		return x->hash < y->hash ? -1 : 1;
	if (x->file != y->file)
		return x->file < y->file ? -1 : 1;
	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

static int hash_chunk(struct bpk_merge *m, size_t copy, struct bpk_merge_file *file,
		      struct bpk_merge_print *print, struct bpk_buf *bytes, struct bpk_err *err)
{
	const struct bpk_merge_run run = { .offset = print->offset,
					   .size = print->size,
					   .copy = copy };

	if (bpk_merge_read_run(m, file, &run, bytes, err) != 0)
		return -1;
	print->hash = bpk_hash_words(BPK_HASH_START, bpk_buf_view(bytes));
	print->bytes = bpk_hash_words(
		BPK_HASH_START, bpk_view(bytes->data, bytes->size - m->found[copy].seal_size));
	return 0;
}

/* Note the chunks of a copy, ascending by hash. */
static int list_prints(struct bpk_merge *m, size_t copy, struct bpk_err *err)
{
	const struct bpk_salvage *found = &m->found[copy];
	struct bpk_merge_prints *list = &m->prints[copy];
	struct bpk_buf bytes = { 0 };
	int rc = 0;

	list->all = bpk_calloc(found->count + 1, sizeof *list->all, err);
	if (list->all == NULL)
		return -1;
	for (size_t i = 0; rc == 0 && i < found->count; i++) {
		const struct bpk_saved *saved = &found->all[i];
		struct bpk_merge_file *file = bpk_merge_file_of(m, found, saved);
		struct bpk_merge_print *print = &list->all[list->count];

		if (!saved->intact || file == NULL || file->sizes[copy] == BPK_UNKNOWN)
			continue;
		*print = (struct bpk_merge_print){
			.offset = saved->offset,
			.size = (uint64_t)saved->packed_size + found->seal_size,
			.number = saved->number,
			.raw_size = saved->raw_size,
			.file = (size_t)(file - m->files),
		};
		rc = hash_chunk(m, copy, file, print, &bytes, err);
		list->count++;
	}
	bpk_buf_clear(&bytes);
	qsort(list->all, list->count, sizeof *list->all, compare_prints);
	for (size_t i = 0; i < list->count; i++)
		list->all[i].once =
			(i == 0 || list->all[i - 1].hash != list->all[i].hash) &&
			(i + 1 == list->count || list->all[i + 1].hash != list->all[i].hash);
	return rc;
}

int bpk_merge_list_prints(struct bpk_merge *m, struct bpk_err *err)
{
	for (size_t c = 0; c < m->ncopies; c++)
		if (m->prints[c].all == NULL && list_prints(m, c, err) != 0)
			return -1;
	return 0;
}

void bpk_merge_drop_prints(struct bpk_merge *m, size_t copy)
{
	free(m->prints[copy].all);
	m->prints[copy] = (struct bpk_merge_prints){ 0 };
}

const struct bpk_merge_print *bpk_merge_find_print(const struct bpk_merge_prints *list,
						   uint64_t hash)
{
	size_t i;

	if (list->count == 0)
		return NULL;
	i = bpk_find_last(&list->all->hash, sizeof *list->all, list->count, hash);
	return list->all[i].hash == hash ? &list->all[i] : NULL;
}

bool bpk_merge_has_print(const struct bpk_merge_prints *list, const struct bpk_merge_print *print)
{
	return list->count > 0 &&
	       bsearch(print, list->all, list->count, sizeof *list->all, compare_prints) != NULL;
}

/* ---- Hashes and offsets ---- */

static int compare_u64(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

void bpk_merge_sort_u64(uint64_t *all, size_t count)
{
	qsort(all, count, sizeof *all, compare_u64);
}

bool bpk_merge_has_u64(const uint64_t *all, size_t count, uint64_t wanted)
{
	return count > 0 && all[bpk_find_last(all, sizeof wanted, count, wanted)] == wanted;
}

int bpk_merge_has_there(struct bpk_source *source, uint64_t at, uint64_t size, uint64_t hash,
			bool *has, struct bpk_err *err)
{
	uint64_t end = bpk_source_size(source);
	struct bpk_buf bytes = { 0 };
	size_t got = 0;
	int rc;

	*has = false;
	if (at > end || size > end - at)
		return 0;
	rc = bpk_buf_resize(&bytes, (size_t)size, err);
	if (rc == 0)
		rc = bpk_source_read_at(source, at, bpk_span(bytes.data, bytes.size), &got, err);
	*has = rc == 0 && got == bytes.size &&
	       bpk_hash_words(BPK_HASH_START, bpk_buf_view(&bytes)) == hash;
	bpk_buf_clear(&bytes);
	return rc;
}

/* ---- Trust ---- */

uint64_t bpk_merge_told_size(const struct bpk_merge *m, const struct bpk_merge_file *file)
{
	uint64_t size = BPK_UNKNOWN;

	for (size_t c = 0; c < m->ncopies; c++) {
		const struct bpk_salvage *found = &m->found[c];

		if (found->index == NULL || strcmp(file->name, found->index) != 0 ||
		    found->state == 0 || found->file_size == 0 || file->sizes[c] == BPK_UNKNOWN ||
		    file->sizes[c] < found->file_size)
			continue;
		if (size != BPK_UNKNOWN && size != found->file_size)
			return BPK_UNKNOWN;
		size = found->file_size;
	}
	return size;
}

/* The offsets of a chunk in two copies of a file are those that one archive has, if the end of one
 * is missing, or bytes came or went before it. */
static bool agree(const struct bpk_merge_file *file, size_t copy, const struct bpk_merge_print *x,
		  size_t other, const struct bpk_merge_print *y)
{
	return x->offset == y->offset ||
	       x->offset - y->offset == file->sizes[copy] - file->sizes[other];
}

const struct bpk_merge_print *bpk_merge_find_twin(const struct bpk_merge_prints *list,
						  const struct bpk_merge_print *print)
{
	const struct bpk_merge_print *twin =
		print->once ? bpk_merge_find_print(list, print->hash) : NULL;

	return twin != NULL && twin->once ? twin : NULL;
}

/* Count the chunks that both copies have once, at their places and elsewhere. */
static void compare_places(struct bpk_merge *m, size_t copy, size_t other)
{
	for (size_t i = 0; i < m->prints[copy].count; i++) {
		const struct bpk_merge_print *x = &m->prints[copy].all[i];
		const struct bpk_merge_print *y = bpk_merge_find_twin(&m->prints[other], x);
		struct bpk_merge_file *file = &m->files[x->file];

		if (y == NULL)
			continue;
		if (x->file == y->file && agree(file, copy, x, other, y))
			file->nplaced[copy]++;
		else
			file->nmoved[copy]++;
	}
}

/* Of copies without certain numbers the one of most chunks is taken for right. */
static size_t find_seed(const struct bpk_merge *m)
{
	size_t seed = BPK_MERGE_MOST;

	for (size_t c = 0; c < m->ncopies; c++)
		if (!m->dropped[c] &&
		    (seed == BPK_MERGE_MOST || m->prints[c].count > m->prints[seed].count))
			seed = c;
	return seed;
}

/* Judge a file of a copy. Of the files of a directory, whose names tell their places, those that
 * nothing refutes are placed. */
static enum bpk_merge_trust trust(const struct bpk_merge *m, const struct bpk_merge_file *file,
				  size_t copy)
{
	if (bpk_merge_is_sure(&m->found[copy]))
		return BPK_MERGE_SURE;
	if (file->nmoved[copy] > 0)
		return BPK_MERGE_LOOSE;
	return file->nplaced[copy] > 0 || m->names != NULL ? BPK_MERGE_PLACED : BPK_MERGE_LOOSE;
}

static void judge_copy(struct bpk_merge *m, size_t copy, const bool *trusted)
{
	for (size_t f = 0; f < m->nfiles; f++)
		m->files[f].nplaced[copy] = m->files[f].nmoved[copy] = 0;
	for (size_t c = 0; c < m->ncopies; c++)
		if (trusted[c] && c != copy)
			compare_places(m, copy, c);
	for (size_t f = 0; f < m->nfiles; f++)
		m->files[f].trust[copy] = trust(m, &m->files[f], copy);
}

/* True if some file of the copy has its place. */
static bool is_placed(const struct bpk_merge *m, size_t copy)
{
	for (size_t f = 0; f < m->nfiles; f++)
		if (m->files[f].sizes[copy] != BPK_UNKNOWN &&
		    m->files[f].trust[copy] != BPK_MERGE_LOOSE)
			return true;
	return false;
}

int bpk_merge_judge(struct bpk_merge *m, struct bpk_err *err)
{
	bool trusted[BPK_MERGE_MOST] = { [0] = false }, any = false, more = true;
	size_t seed;

	if (bpk_merge_list_prints(m, err) != 0)
		return -1;
	for (size_t c = 0; c < m->ncopies; c++) {
		trusted[c] = !m->dropped[c] && bpk_merge_is_sure(&m->found[c]);
		any = any || trusted[c];
	}
	seed = any ? BPK_MERGE_MOST : find_seed(m);
	for (size_t c = 0; c < m->ncopies; c++)
		trusted[c] = trusted[c] || c == seed;
	for (size_t c = 0; c < m->ncopies; c++)
		judge_copy(m, c, trusted);
	for (size_t f = 0; seed != BPK_MERGE_MOST && f < m->nfiles; f++)
		m->files[f].trust[seed] = BPK_MERGE_PLACED;
	while (more) {
		more = false;
		for (size_t c = 0; c < m->ncopies; c++) {
			if (trusted[c] || m->dropped[c])
				continue;
			judge_copy(m, c, trusted);
			trusted[c] = is_placed(m, c);
			more = more || trusted[c];
		}
	}
	return 0;
}

/* ---- Order ---- */

/* The same chunk in two copies. */
struct pair {
	size_t file, other_file;
	uint64_t offset, other_offset;
};

static int compare_pairs(const void *a, const void *b)
{
	const struct pair *x = a, *y = b;

	if (x->file != y->file)
		return x->file < y->file ? -1 : 1;
	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

static bool is_behind(const struct pair *x, const struct pair *y)
{
	return x->other_file != y->other_file ? x->other_file > y->other_file
					      : x->other_offset > y->other_offset;
}

/* *differs: chunks that both copies have once follow each other in another order. */
static int compare_order(const struct bpk_merge *m, size_t copy, size_t other, bool *differs,
			 struct bpk_err *err)
{
	const struct bpk_merge_prints *list = &m->prints[copy];
	struct pair *pairs = bpk_calloc(list->count + 1, sizeof *pairs, err);
	size_t count = 0;

	*differs = false;
	if (pairs == NULL)
		return -1;
	for (size_t i = 0; i < list->count; i++) {
		const struct bpk_merge_print *x = &list->all[i];
		const struct bpk_merge_print *y = bpk_merge_find_twin(&m->prints[other], x);

		if (y != NULL)
			pairs[count++] = (struct pair){ x->file, y->file, x->offset, y->offset };
	}
	qsort(pairs, count, sizeof *pairs, compare_pairs);
	for (size_t i = 1; i < count && !*differs; i++)
		*differs = is_behind(&pairs[i - 1], &pairs[i]);
	free(pairs);
	return 0;
}

static int note_order(struct bpk_merge *m, size_t a, size_t b, struct bpk_err *err)
{
	if (bpk_buf_printf(&m->disorder, err,
			   "%s and %s have the same chunks in different orders, and nothing tells "
			   "which is right; the result may have the wrong one",
			   m->copies[a].path, m->copies[b].path) != 0)
		return -1;
	return bpk_buf_append(&m->disorder, bpk_view("", 1), err);
}

int bpk_merge_compare_order(struct bpk_merge *m, struct bpk_err *err)
{
	bool differs;

	for (size_t c = 0; c < m->ncopies; c++)
		if (m->found[c].numbered)
			return 0;
	if (bpk_merge_list_prints(m, err) != 0)
		return -1;
	for (size_t b = 1; b < m->ncopies; b++)
		for (size_t a = 0; a < b; a++) {
			if (m->found[a].disordered || m->found[b].disordered || m->own[a].proven ||
			    m->own[b].proven)
				continue;
			if (compare_order(m, a, b, &differs, err) != 0)
				return -1;
			if (differs)
				return note_order(m, a, b, err);
		}
	return 0;
}
