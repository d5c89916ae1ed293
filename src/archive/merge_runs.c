/* Takes the intact chunks of damaged copies. Called by merge.c. */
#include "archive/merge_inner.h"

#include <stdlib.h>

/* True if chunks of the copy keep their offsets in the union. */
static bool is_still(const struct bpk_merge *m, const struct bpk_merge_file *file, size_t copy)
{
	return !file->moved[copy] && (m->names != NULL || file->sizes[copy] == file->size);
}

/* ---- Copies in their places ---- */

/*
 * True if the chunks of a copy that nothing else places, found with the chosen header and offsets,
 * lie where these say: all of them are there, or some differ in size, which a shift would show.
 */
static bool is_listed(const struct bpk_salvage *found)
{
	bool differ = false;

	for (size_t i = 1; i < found->count; i++)
		differ = differ || found->all[i].packed_size != found->all[0].packed_size;
	return found->counted && found->doubt.size == 0 &&
	       (differ || found->count == found->nchunks);
}

/* True if the copy has all of the chunk: behind its end the chosen parts lie, and zeros. */
static bool ends_in(const struct bpk_merge_file *file, size_t copy, const struct bpk_merge_run *run)
{
	uint64_t size = file->sizes[copy];

	return size != BPK_UNKNOWN && run->offset <= size && run->size <= size - run->offset;
}

/* *is: the copy alone has not that chunk intact, and with the chosen parts it is another copy's. */
static int is_borrowed(struct bpk_merge *m, struct bpk_merge_file *file,
		       const struct bpk_merge_run *run, bool *is, struct bpk_err *err)
{
	*is = false;
	return bpk_merge_has_run(m, file, run->copy, run)
		       ? 0
		       : bpk_merge_is_of_one(m, file, run, is, err);
}

/* Take the chunks of a copy where they are, as they are found once it has the chosen parts. reader:
 * of the union; NULL: that does not open. */
static int take_found(struct bpk_merge *m, size_t copy, const struct bpk_salvage *found,
		      void *reader, const struct bpk_merge_places *places, struct bpk_err *err)
{
	for (size_t i = 0; i < found->count; i++) {
		const struct bpk_saved *saved = &found->all[i];
		struct bpk_merge_file *file = bpk_merge_file_of(m, found, saved);
		struct bpk_merge_run run = bpk_merge_run_of(found, saved, copy);
		bool is = false;

		if (!saved->intact || file == NULL || file->trust[copy] == BPK_MERGE_LOOSE ||
		    !is_still(m, file, copy) || !ends_in(file, copy, &run) ||
		    bpk_merge_is_between(m, places, file, &run) ||
		    bpk_merge_is_elsewhere(m, found, file, run.number, reader))
			continue;
		if (!found->counted)
			run.number = BPK_UNKNOWN;
		if (bpk_merge_hash_run(m, file, &run, err) != 0 ||
		    is_borrowed(m, file, &run, &is, err) != 0 ||
		    (!is && bpk_merge_take_run(m, file, &run, err) != 0))
			return -1;
	}
	return 0;
}

static int search_copy(struct bpk_merge *m, size_t copy, struct bpk_salvage *found,
		       struct bpk_err *err)
{
	struct bpk_merge_view view;
	int rc = bpk_merge_view_open(m, (int)copy, NULL, &view, err);

	if (rc == 0)
		rc = m->format->salvage(&view.place, found, err);
	bpk_merge_view_close(&view);
	return rc == 0 ? 0 : bpk_input_subject(&m->copies[copy], err);
}

static int take_copy(struct bpk_merge *m, size_t copy, void *reader,
		     const struct bpk_merge_places *places, struct bpk_err *err)
{
	struct bpk_salvage found = { 0 };
	struct bpk_merge_file *file = &m->files[0];
	int rc = search_copy(m, copy, &found, err);

	if (rc == 0 && m->names == NULL && file->trust[copy] == BPK_MERGE_LOOSE &&
	    file->nmoved[copy] == 0 && is_listed(&found))
		file->trust[copy] = BPK_MERGE_PLACED;
	if (rc == 0)
		rc = take_found(m, copy, &found, reader, places, err);
	bpk_salvage_clear(&found);
	return rc;
}

/* The trust of a copy; that in each file of a directory is looked at where its chunks are taken. */
static enum bpk_merge_trust trust_of(const struct bpk_merge *m, size_t copy)
{
	enum bpk_merge_trust trust = m->files[0].trust[copy];

	return m->names != NULL && trust == BPK_MERGE_LOOSE ? BPK_MERGE_PLACED : trust;
}

/* Take the copies of this trust whose chunks have not moved. */
static int take_level(struct bpk_merge *m, enum bpk_merge_trust trust, struct bpk_err *err)
{
	struct bpk_merge_places places = { 0 };
	struct bpk_merge_view view;
	void *reader;
	int rc = bpk_merge_union_open(m, &view, &reader, err);

	if (rc == 0 && reader != NULL && m->names != NULL)
		rc = bpk_merge_list_places(m, reader, &places, err);
	for (size_t c = 0; rc == 0 && c < m->ncopies; c++)
		if (!m->dropped[c] && trust_of(m, c) == trust &&
		    (m->names != NULL || is_still(m, &m->files[0], c)))
			rc = take_copy(m, c, reader, &places, err);
	for (size_t c = 0; rc == 0 && m->names != NULL && reader != NULL && c < m->ncopies; c++)
		if (!m->dropped[c] && trust_of(m, c) == trust)
			rc = bpk_merge_take_shifted(m, c, reader, err);
	free(places.all);
	bpk_merge_union_close(m, &view, reader);
	return rc;
}

/* ---- Copies whose chunks have moved ---- */

/* One copy's. */
struct moved {
	struct bpk_merge *merge;
	struct bpk_merge_table *table;
	size_t copy;
};

static int lay(void *arg, const struct bpk_merge_print *print, uint64_t number, struct bpk_err *err)
{
	const struct moved *moved = arg;
	struct bpk_merge_run run = {
		.at = moved->table->at[number],
		.size = print->size,
		.offset = print->offset,
		.number = number,
		.hash = print->hash,
		.copy = moved->copy,
	};

	if (bpk_merge_take_run(moved->merge, &moved->merge->files[0], &run, err) != 0)
		return -1;
	bpk_merge_table_note(moved->table, number, &run);
	return 0;
}

/*
 * True if a chunk of a copy with a number of its own may be another one: whole chunks of the same
 * sizes may have gone before it, as the size of the copy shows.
 */
static bool is_ambiguous(const struct moved *moved, const struct bpk_merge_print *print)
{
	const struct bpk_merge_table *table = moved->table;
	const struct bpk_merge_file *file = table->file;
	uint64_t shift = file->sizes[moved->copy] - file->size, n;

	if (moved->merge->prints[moved->copy].count == table->count || shift == 0)
		return false;
	n = bpk_merge_table_find(table, print->offset - shift);
	return n != BPK_UNKNOWN && n != print->number && bpk_merge_fits(table, n, print->size);
}

static int compare_numbers(const void *a, const void *b)
{
	const struct bpk_merge_print *x = *(const struct bpk_merge_print *const *)a;
	const struct bpk_merge_print *y = *(const struct bpk_merge_print *const *)b;

	return x->number < y->number ? -1 : x->number > y->number;
}

/* Take a chunk that has a number of its own, which a digest may prove, if that has a place. */
static int take_numbered(struct moved *moved, const struct bpk_merge_print *print, bool proven,
			 struct bpk_err *err)
{
	struct bpk_merge_table *table = moved->table;
	uint64_t n = print->number, at;

	if (n >= table->count || !bpk_merge_is_lost(table, n) ||
	    !bpk_merge_fits(table, n, print->size) || (!proven && is_ambiguous(moved, print)))
		return 0;
	at = bpk_merge_table_place(table, n, print->size);
	if (at == BPK_UNKNOWN)
		return 0;
	table->at[n] = at;
	return lay(moved, print, n, err);
}

/* Take the chunks of a copy that tells their numbers; each tells the places of its neighbours. */
static int take_sure(struct moved *moved, struct bpk_err *err)
{
	const struct bpk_merge_prints *list = &moved->merge->prints[moved->copy];
	const struct bpk_merge_print **sorted = bpk_calloc(list->count + 1, sizeof *sorted, err);
	int rc = sorted == NULL ? -1 : 0;

	for (size_t i = 0; rc == 0 && i < list->count; i++)
		sorted[i] = &list->all[i];
	if (rc == 0)
		qsort(sorted, list->count, sizeof *sorted, compare_numbers);
	for (size_t i = 0; rc == 0 && i < list->count; i++)
		rc = take_numbered(moved, sorted[i], false, err);
	for (size_t i = list->count; rc == 0 && i-- > 0;)
		rc = take_numbered(moved, sorted[i], false, err);
	free(sorted);
	return rc;
}

/* Take the chunks of a copy that digests prove, recorded for each number, wherever they lie. */
static int take_proven(struct moved *moved, struct bpk_err *err)
{
	struct bpk_merge_table *table = moved->table;
	struct bpk_merge_file *file = &moved->merge->files[0];
	struct bpk_salvage found = { 0 };
	int rc = 0;

	if (table->nlost > 0 && moved->merge->format->salvage_numbers)
		rc = search_copy(moved->merge, moved->copy, &found, err);
	for (size_t i = 0; rc == 0 && i < found.count && found.numbered; i++) {
		const struct bpk_saved *saved = &found.all[i];
		struct bpk_merge_run run = bpk_merge_run_of(&found, saved, moved->copy);
		struct bpk_merge_print print = { .number = saved->number,
						 .offset = run.offset,
						 .size = run.size };

		if (!saved->intact || saved->special != BPK_SPECIAL_NONE ||
		    saved->number >= table->count || !ends_in(file, moved->copy, &run))
			continue;
		rc = bpk_merge_hash_run(moved->merge, file, &run, err);
		print.hash = run.hash;
		if (rc == 0)
			rc = take_numbered(moved, &print, true, err);
	}
	bpk_salvage_clear(&found);
	return rc;
}

static int take_moved(struct bpk_merge *m, struct bpk_merge_table *table, bool sure,
		      struct bpk_err *err)
{
	const struct bpk_merge_file *file = &m->files[0];

	for (size_t c = 0; c < m->ncopies; c++) {
		struct moved moved = { m, table, c };

		if (m->dropped[c] || (sure && file->trust[c] != BPK_MERGE_SURE) ||
		    (file->trust[c] != BPK_MERGE_LOOSE && is_still(m, file, c)))
			continue;
		if ((file->trust[c] == BPK_MERGE_SURE && take_sure(&moved, err) != 0) ||
		    (!sure && (take_proven(&moved, err) != 0 ||
			       bpk_merge_place_loose(m, c, table, lay, &moved, err) != 0)))
			return -1;
	}
	return 0;
}

/* Take the chunks of copies that have moved, into the places of an archive that opens. */
static int take_others(struct bpk_merge *m, bool sure, struct bpk_err *err)
{
	struct bpk_merge_table table = { 0 };
	struct bpk_merge_view view;
	void *reader;
	int rc = 0;

	if (bpk_merge_union_open(m, &view, &reader, err) != 0)
		return -1;
	if (reader != NULL)
		rc = bpk_merge_table_begin(m, reader, &table, err);
	if (rc == 0 && reader != NULL)
		rc = take_moved(m, &table, sure, err);
	bpk_merge_table_clear(&table);
	bpk_merge_union_close(m, &view, reader);
	return rc;
}

/* ---- All ---- */

/* True if the chunk of this number is the same. */
static bool has_number(const struct bpk_merge_prints *list, const struct bpk_merge_run *run)
{
	const struct bpk_merge_print *last = bpk_merge_find_print(list, run->hash);
	size_t left = last != NULL ? (size_t)(last - list->all) + 1 : 0;

	while (left-- > 0 && list->all[left].hash == run->hash)
		if (list->all[left].number == run->number)
			return true;
	return false;
}

/* True if a copy has the chunk at its place, or, since its chunks have moved, for its number. */
static bool agrees(const struct bpk_merge *m, const struct bpk_merge_file *file, size_t copy,
		   const struct bpk_merge_run *run)
{
	return bpk_merge_has_run(m, file, copy, run) ||
	       (!is_still(m, file, copy) && file->trust[copy] == BPK_MERGE_SURE &&
		has_number(&m->prints[copy], run));
}

/* Count the chunks without digests that the archive has, and no copy: a damaged header behind such
 * a chunk hides it. */
static int count_hidden(struct bpk_merge *m, struct bpk_err *err)
{
	struct bpk_where where = { 0 };
	struct bpk_merge_view view;
	void *reader;

	if (bpk_merge_union_open(m, &view, &reader, err) != 0)
		return -1;
	for (uint64_t n = 0;
	     reader != NULL && m->format->reader->locate(reader, n, &where, NULL) == 0; n++) {
		const struct bpk_merge_file *file =
			m->names == NULL ? &m->files[0] : bpk_merge_find_file(m, where.file);

		if (file != NULL && where.header.special == BPK_SPECIAL_NONE)
			m->nbare += bpk_merge_run_at(file, where.packed_offset) == NULL;
	}
	bpk_merge_union_close(m, &view, reader);
	return 0;
}

/* Count the chunks without digests that no two copies agree in. */
static int count_bare(struct bpk_merge *m, struct bpk_err *err)
{
	m->nbare = 0;
	for (size_t f = 0; !m->proven && f < m->nfiles; f++) {
		const struct bpk_merge_file *file = &m->files[f];

		for (size_t i = 0; i < file->nruns; i++) {
			size_t votes = 0;

			for (size_t c = 0; c < m->ncopies; c++)
				votes += agrees(m, file, c, &file->runs[i]);
			m->nbare += file->runs[i].disputed || votes < 2;
		}
	}
	return m->proven ? 0 : count_hidden(m, err);
}

/* The bytes of a base that has no place are not used. */
static void mask(struct bpk_merge *m)
{
	struct bpk_merge_file *file = &m->files[0];

	file->masked = m->names == NULL &&
		       (file->trust[file->base] == BPK_MERGE_LOOSE || file->moved[file->base]);
}

int bpk_merge_take_chunks(struct bpk_merge *m, struct bpk_err *err)
{
	bool moves = m->names == NULL && m->is_open;

	if (m->nfiles == 0)
		return 0;
	if (m->is_open && bpk_merge_note_moved(m, err) != 0)
		return -1;
	for (int level = BPK_MERGE_SURE; level >= BPK_MERGE_LOOSE; level--) {
		if (take_level(m, (enum bpk_merge_trust)level, err) != 0)
			return -1;
		mask(m);
		if (moves && level != BPK_MERGE_PLACED &&
		    take_others(m, level == BPK_MERGE_SURE, err) != 0)
			return -1;
	}
	return count_bare(m, err);
}
