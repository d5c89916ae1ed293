/*
 * Finds the place of a chunk in a copy that has no trustworthy places of its own: that of the lost
 * chunk between chunks that are known. Called by merge_runs.c.
 *
 *     the place   | 0 | 1 | # | 3 | # | 5 |       #: lost
 *     the copy      ...... 1 | ? | 3 ...          ?: between 1 and 3, which have moved alike
 *
 * A chunk that equals another one has no place by itself.
 */
#include "archive/merge_inner.h"

#include <stdlib.h>

enum { MOST_WORK = 1 << 26 }; /* comparisons of a copy's chunks with lost ones and each other */

/* ---- The table ---- */

/* Place the lost chunks that follow known ones, as far as those tell. */
static void follow(struct bpk_merge_table *table)
{
	for (uint64_t n = 1; n < table->count; n++) {
		const struct bpk_merge_run *run;

		if (table->at[n] != BPK_UNKNOWN || table->at[n - 1] == BPK_UNKNOWN)
			continue;
		run = bpk_merge_run_at(table->file, table->at[n - 1]);
		if (table->exact && run != NULL)
			table->at[n] = run->at + run->size;
	}
}

/* The chunks lie without gaps, as far as is known. */
static bool is_exact(const struct bpk_merge_table *table)
{
	for (uint64_t n = 0; n + 1 < table->count; n++) {
		const struct bpk_merge_run *run;

		if (table->at[n] == BPK_UNKNOWN || table->at[n + 1] == BPK_UNKNOWN)
			continue;
		run = bpk_merge_run_at(table->file, table->at[n]);
		if (run != NULL && run->at + run->size != table->at[n + 1])
			return false;
	}
	return true;
}

/* Where the archive says that a chunk is, or where the chunk of that number was laid. */
static void fill(const struct bpk_merge *m, void *reader, struct bpk_merge_table *table)
{
	const struct bpk_reader_ops *ops = m->format->reader;

	for (uint64_t n = 0; n < table->count; n++) {
		struct bpk_where where = { 0 };

		table->at[n] = BPK_UNKNOWN;
		if (ops->locate(reader, n, &where, NULL) == 0)
			table->at[n] = where.header.special == BPK_SPECIAL_NONE
					       ? where.packed_offset
					       : BPK_MERGE_NOWHERE;
	}
	for (size_t i = 0; i < table->file->nruns; i++) {
		const struct bpk_merge_run *run = &table->file->runs[i];

		if (run->number < table->count && table->at[run->number] == BPK_UNKNOWN)
			table->at[run->number] = run->at;
	}
	table->exact = is_exact(table);
	follow(table);
}

static int compare_spots(const void *a, const void *b)
{
	const struct bpk_merge_spot *x = a, *y = b;

	return x->at < y->at ? -1 : x->at > y->at;
}

/* List the places that are known, and the chunks that are lost. */
static void list(struct bpk_merge_table *table)
{
	for (uint64_t n = 0; n < table->count; n++) {
		if (table->at[n] < BPK_MERGE_NOWHERE)
			table->spots[table->nspots++] = (struct bpk_merge_spot){ table->at[n], n };
		if (bpk_merge_is_lost(table, n))
			table->lost[table->nlost++] = n;
	}
	qsort(table->spots, table->nspots, sizeof *table->spots, compare_spots);
}

int bpk_merge_table_begin(const struct bpk_merge *m, void *reader, struct bpk_merge_table *table,
			  struct bpk_err *err)
{
	*table = (struct bpk_merge_table){ .file = &m->files[0] };
	table->count = m->format->reader->info(reader)->chunks.count;
	if (table->count == BPK_UNKNOWN || table->count > table->file->size)
		table->count = 0;
	table->at = bpk_calloc((size_t)table->count + 1, sizeof *table->at, err);
	table->spots = bpk_calloc((size_t)table->count + 1, sizeof *table->spots, err);
	table->lost = bpk_calloc((size_t)table->count + 1, sizeof *table->lost, err);
	if (table->at == NULL || table->spots == NULL || table->lost == NULL)
		return -1;
	fill(m, reader, table);
	list(table);
	return 0;
}

void bpk_merge_table_clear(struct bpk_merge_table *table)
{
	free(table->at);
	free(table->spots);
	free(table->lost);
	*table = (struct bpk_merge_table){ 0 };
}

bool bpk_merge_is_lost(const struct bpk_merge_table *table, uint64_t number)
{
	uint64_t at = table->at[number];

	return at == BPK_UNKNOWN ||
	       (at != BPK_MERGE_NOWHERE && bpk_merge_run_at(table->file, at) == NULL);
}

bool bpk_merge_fits(const struct bpk_merge_table *table, uint64_t number, uint64_t size)
{
	uint64_t at = table->at[number], end = table->file->size;
	bool exact = false;

	if (at == BPK_UNKNOWN)
		at = 0;
	if (number + 1 < table->count && table->at[number + 1] < BPK_MERGE_NOWHERE &&
	    table->at[number + 1] > at) {
		end = table->at[number + 1];
		exact = table->exact && table->at[number] != BPK_UNKNOWN;
	}
	return at <= end && (exact ? size == end - at : size <= end - at);
}

uint64_t bpk_merge_table_place(const struct bpk_merge_table *table, uint64_t number, uint64_t size)
{
	uint64_t next = number + 1 < table->count ? table->at[number + 1] : BPK_UNKNOWN;

	if (table->at[number] != BPK_UNKNOWN)
		return table->at[number];
	return table->exact && next < BPK_MERGE_NOWHERE && size <= next ? next - size : BPK_UNKNOWN;
}

uint64_t bpk_merge_table_find(const struct bpk_merge_table *table, uint64_t at)
{
	size_t i;

	if (table->nspots == 0)
		return BPK_UNKNOWN;
	i = bpk_find_last(&table->spots->at, sizeof *table->spots, table->nspots, at);
	return table->spots[i].at == at ? table->spots[i].number : BPK_UNKNOWN;
}

void bpk_merge_table_note(struct bpk_merge_table *table, uint64_t number,
			  const struct bpk_merge_run *run)
{
	table->at[number] = run->at;
	if (table->exact && number + 1 < table->count && table->at[number + 1] == BPK_UNKNOWN)
		table->at[number + 1] = run->at + run->size;
}

/* ---- A loose chunk ---- */

/* One copy's chunks in the order of the file. One thread's own. */
struct loose {
	const struct bpk_merge *merge;
	struct bpk_merge_table *table;
	size_t copy;
	struct bpk_merge_print *all; /* ascending by offset */
	uint64_t *anchors; /* the place of the only run that equals the chunk; or unknown */
	bool *known;       /* some run equals it */
	size_t count;
	uint64_t work;
};

static int compare_offsets(const void *a, const void *b)
{
	const struct bpk_merge_print *x = a, *y = b;

	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

static int compare_hashes(const void *a, const void *b)
{
	const struct bpk_merge_run *x = *(const struct bpk_merge_run *const *)a;
	const struct bpk_merge_run *y = *(const struct bpk_merge_run *const *)b;

	return x->hash < y->hash ? -1 : x->hash > y->hash;
}

static int compare_hash(const void *key, const void *run)
{
	uint64_t hash = *(const uint64_t *)key;
	uint64_t other = (*(const struct bpk_merge_run *const *)run)->hash;

	return hash < other ? -1 : hash > other;
}

/* Find the runs that equal the chunks. */
static int find_anchors(struct loose *l, struct bpk_err *err)
{
	const struct bpk_merge_file *file = l->table->file;
	const struct bpk_merge_run **sorted = bpk_calloc(file->nruns + 1, sizeof *sorted, err);

	if (sorted == NULL)
		return -1;
	for (size_t i = 0; i < file->nruns; i++)
		sorted[i] = &file->runs[i];
	qsort(sorted, file->nruns, sizeof *sorted, compare_hashes);
	for (size_t i = 0; i < l->count; i++) {
		const struct bpk_merge_run **found =
			bsearch(&l->all[i].hash, sorted, file->nruns, sizeof *sorted, compare_hash);
		size_t k = found == NULL ? 0 : (size_t)(found - sorted);

		l->known[i] = found != NULL;
		l->anchors[i] = BPK_UNKNOWN;
		if (found != NULL && l->all[i].once &&
		    (k == 0 || sorted[k - 1]->hash != l->all[i].hash) &&
		    (k + 1 == file->nruns || sorted[k + 1]->hash != l->all[i].hash))
			l->anchors[i] = sorted[k]->at;
	}
	free(sorted);
	return 0;
}

static int begin(struct loose *l, struct bpk_err *err)
{
	const struct bpk_merge_prints *prints = &l->merge->prints[l->copy];

	l->count = prints->count;
	l->all = bpk_calloc(l->count + 1, sizeof *l->all, err);
	l->anchors = bpk_calloc(l->count + 1, sizeof *l->anchors, err);
	l->known = bpk_calloc(l->count + 1, sizeof *l->known, err);
	if (l->all == NULL || l->anchors == NULL || l->known == NULL)
		return -1;
	if (l->count > 0)
		memcpy(l->all, prints->all, l->count * sizeof *l->all);
	qsort(l->all, l->count, sizeof *l->all, compare_offsets);
	return find_anchors(l, err);
}

static void clear(struct loose *l)
{
	free(l->all);
	free(l->anchors);
	free(l->known);
}

/* True if lost chunk number is at this offset: as is known, or joined to a chunk beside it. */
static bool is_there(const struct bpk_merge_table *table, uint64_t number, uint64_t at,
		     uint64_t size)
{
	const struct bpk_merge_run *before =
		number > 0 ? bpk_merge_run_at(table->file, table->at[number - 1]) : NULL;

	if (table->at[number] != BPK_UNKNOWN)
		return table->at[number] == at;
	return (number + 1 < table->count && table->at[number + 1] == at + size) ||
	       (before != NULL && before->at + before->size == at);
}

/* The lost chunk at this offset that a chunk of this size fits; or unknown. Then its place is
 * noted. */
static uint64_t find_lost(struct loose *l, uint64_t at, uint64_t size)
{
	struct bpk_merge_table *table = l->table;

	for (size_t k = 0; k < table->nlost && ++l->work <= MOST_WORK; k++) {
		uint64_t n = table->lost[k];

		if (!bpk_merge_is_lost(table, n) || !is_there(table, n, at, size) ||
		    !bpk_merge_fits(table, n, size))
			continue;
		table->at[n] = at;
		return n;
	}
	return BPK_UNKNOWN;
}

static bool is_adjacent(const struct loose *l, size_t i)
{
	return l->all[i].offset + l->all[i].size == l->all[i + 1].offset;
}

/* The next chunk with an anchor before or behind chunk i; count: none. *chained: no gap lies
 * between, or before the file's start or end. */
static size_t find_anchor(struct loose *l, size_t i, bool behind, bool *chained)
{
	*chained = true;
	while (behind ? i + 1 < l->count : i > 0) {
		if (++l->work > MOST_WORK) {
			*chained = false;
			return l->count;
		}
		*chained = *chained && is_adjacent(l, behind ? i : i - 1);
		i = behind ? i + 1 : i - 1;
		if (l->anchors[i] != BPK_UNKNOWN)
			return i;
	}
	*chained = *chained &&
		   (behind ? l->all[i].offset + l->all[i].size == l->table->file->sizes[l->copy]
			   : l->all[i].offset == 0);
	return l->count;
}

/* How far the chunk with an anchor has moved. */
static uint64_t shift_of(const struct loose *l, size_t i)
{
	return l->all[i].offset - l->anchors[i];
}

/* The anchors around a chunk. */
struct around {
	bool is_before, is_behind;           /* there is one */
	bool before_chained, behind_chained; /* and no gap up to it */
	uint64_t before, behind;             /* how far it has moved */
};

/* The end of the file is a mark as well, if only chunks lie up to it: as far as the copy differs in
 * size, it has moved. */
static bool moved_like_end(const struct loose *l, const struct around *a)
{
	return a->is_before && a->before_chained && !a->is_behind && a->behind_chained &&
	       a->before == l->table->file->sizes[l->copy] - l->table->file->size;
}

static struct around look_around(struct loose *l, size_t i)
{
	struct around a = { 0 };
	size_t before = find_anchor(l, i, false, &a.before_chained);
	size_t behind = find_anchor(l, i, true, &a.behind_chained);

	a.is_before = before != l->count;
	a.is_behind = behind != l->count;
	if (a.is_before)
		a.before = shift_of(l, before);
	if (a.is_behind)
		a.behind = shift_of(l, behind);
	return a;
}

/* The lost chunk that is where chunk i is in a copy that has not moved, as far as is known. The
 * size of the copy shows whether as many bytes are missing before it as other chunks have. */
static uint64_t find_there(struct loose *l, size_t i, const struct around *a)
{
	const struct bpk_merge_file *file = l->table->file;
	const struct bpk_merge_print *print = &l->all[i];
	uint64_t shift = file->sizes[l->copy] - file->size, other;

	if (file->trust[l->copy] == BPK_MERGE_LOOSE || (!a->is_before && !a->is_behind) ||
	    a->before != 0 || a->behind != 0)
		return BPK_UNKNOWN;
	other = shift == 0 ? BPK_UNKNOWN : bpk_merge_table_find(l->table, print->offset - shift);
	if (other != BPK_UNKNOWN && bpk_merge_fits(l->table, other, print->size))
		return BPK_UNKNOWN;
	return find_lost(l, print->offset, print->size);
}

/*
 * The lost chunk that chunk i is by its neighbours: those on both sides, or the one before it and
 * the end of the file, have moved alike; or one is joined to it, bytes came or went on the other
 * side, and nothing equals it.
 */
static uint64_t find_between(struct loose *l, size_t i)
{
	const struct bpk_merge_print *print = &l->all[i];
	struct around a = look_around(l, i);

	if (moved_like_end(l, &a) || (a.is_before && a.is_behind && a.before == a.behind))
		return find_lost(l, print->offset - a.before, print->size);
	if (l->known[i] || !print->once)
		return BPK_UNKNOWN;
	if (a.is_before && a.before_chained && !a.behind_chained)
		return find_lost(l, print->offset - a.before, print->size);
	if (a.is_behind && a.behind_chained && !a.before_chained)
		return find_lost(l, print->offset - a.behind, print->size);
	return find_there(l, i, &a);
}

/* Place chunk i, if its place is proven. */
static int place_one(struct loose *l, size_t i, bpk_merge_place_fn *place, void *arg,
		     struct bpk_err *err)
{
	const struct bpk_merge_print *print = &l->all[i];
	uint64_t number = find_between(l, i);

	if (number == BPK_UNKNOWN)
		return 0;
	if (print->once && !l->known[i])
		l->anchors[i] = l->table->at[number];
	return place(arg, print, number, err);
}

int bpk_merge_place_loose(const struct bpk_merge *m, size_t copy, struct bpk_merge_table *table,
			  bpk_merge_place_fn *place, void *arg, struct bpk_err *err)
{
	struct loose l = { .merge = m, .table = table, .copy = copy };
	int rc = begin(&l, err);

	/* those that were placed tell the places of their neighbours on both sides */
	for (size_t i = 0; rc == 0 && i < l.count; i++)
		if (l.anchors[i] == BPK_UNKNOWN)
			rc = place_one(&l, i, place, arg, err);
	for (size_t i = l.count; rc == 0 && i-- > 0;)
		if (l.anchors[i] == BPK_UNKNOWN)
			rc = place_one(&l, i, place, arg, err);
	clear(&l);
	return rc;
}
