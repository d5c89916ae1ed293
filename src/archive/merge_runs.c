/* The intact chunks of damaged copies: compared, and taken. Called by merge.c. */
#include "archive/merge_inner.h"

#include <inttypes.h>
#include <stdlib.h>

/* ---- Contradictions ---- */

static int fail_other(const struct bpk_merge *m, size_t a, size_t b, const char *what, uint64_t x,
		      uint64_t y, struct bpk_err *err)
{
	return bpk_fail(err, BPK_FAILED,
			"%s and %s are not copies of one archive: %" PRIu64 " and %" PRIu64 " %s",
			m->copies[a].path, m->copies[b].path, x, y, what);
}

/* True if a chunk tells the size of all but the last one. */
static bool has_size(const struct bpk_salvage *found)
{
	for (size_t i = 0; i < found->count; i++)
		if (found->all[i].intact && found->all[i].number + 1 < found->nchunks)
			return true;
	return false;
}

/* Numbers and sizes, as far as they are certain. */
static int compare_sizes(const struct bpk_merge *m, size_t a, size_t b, struct bpk_err *err)
{
	const struct bpk_salvage *x = &m->found[a], *y = &m->found[b];

	if (x->count == 0 || y->count == 0 || !x->counted || !y->counted)
		return 0;
	if (x->nchunks != y->nchunks)
		return fail_other(m, a, b, "chunks", x->nchunks, y->nchunks, err);
	if (x->chunk_size != y->chunk_size && has_size(x) && has_size(y))
		return fail_other(m, a, b, "bytes in a chunk", x->chunk_size, y->chunk_size, err);
	return 0;
}

/* source: NULL if the file that a chunk was found in is not there any more. */
static int read_all(struct bpk_source *source, uint64_t offset, struct bpk_buf *bytes,
		    struct bpk_err *err)
{
	size_t got = 0;

	if (source != NULL &&
	    bpk_source_read_at(source, offset, bpk_span(bytes->data, bytes->size), &got, err) != 0)
		return -1;
	return got < bytes->size ? bpk_fail_changed(err) : 0;
}

/* Read a chunk of a copy: once parts were chosen, as the copy has it with these. */
static int read_run(struct bpk_merge *m, struct bpk_merge_file *file,
		    const struct bpk_merge_run *run, struct bpk_buf *bytes, struct bpk_err *err)
{
	struct bpk_merge_view view = { 0 };
	struct bpk_source *source = NULL;
	int rc = bpk_buf_resize(bytes, (size_t)run->size, err);

	if (rc == 0 && file->nparts > 0)
		rc = bpk_merge_view_open(m, (int)run->copy, file, &view, err);
	else if (rc == 0)
		rc = bpk_merge_borrow(m, run->copy, file, &source, err);
	if (rc == 0)
		rc = read_all(source != NULL ? source : view.place.source, run->offset, bytes, err);
	bpk_merge_release(m, source);
	bpk_merge_view_close(&view);
	return rc == 0 ? 0 : bpk_input_subject(&m->copies[run->copy], err);
}

/* Two copies have the same chunk, or contradict each other. */
static int compare_runs(struct bpk_merge *m, struct bpk_merge_file *x_file,
			const struct bpk_merge_run *x, struct bpk_merge_file *y_file,
			const struct bpk_merge_run *y, struct bpk_err *err)
{
	struct bpk_buf left = { 0 }, right = { 0 };
	int rc = read_run(m, x_file, x, &left, err);

	if (rc == 0)
		rc = read_run(m, y_file, y, &right, err);
	if (rc == 0 && (left.size != right.size || memcmp(left.data, right.data, left.size) != 0))
		rc = bpk_fail(err, BPK_FAILED,
			      "chunk %" PRIu64 " is intact in %s and in %s, and differs: they are "
			      "not copies of one archive",
			      x->number, m->copies[x->copy].path, m->copies[y->copy].path);
	bpk_buf_clear(&left);
	bpk_buf_clear(&right);
	return rc;
}

static struct bpk_merge_run run_of(const struct bpk_salvage *found, const struct bpk_saved *saved,
				   size_t copy)
{
	return (struct bpk_merge_run){
		.at = saved->offset,
		.size = (uint64_t)saved->packed_size + found->seal_size,
		.offset = saved->offset,
		.number = saved->number,
		.copy = copy,
	};
}

static int compare_chunk(struct bpk_merge *m, size_t a, const struct bpk_saved *x, size_t b,
			 const struct bpk_saved *y, struct bpk_err *err)
{
	struct bpk_merge_file *left = bpk_merge_file_of(m, &m->found[a], x);
	struct bpk_merge_file *right = bpk_merge_file_of(m, &m->found[b], y);
	struct bpk_merge_run first = run_of(&m->found[a], x, a);
	struct bpk_merge_run second = run_of(&m->found[b], y, b);

	if (left == NULL || right == NULL || !x->intact || !y->intact)
		return 0;
	return compare_runs(m, left, &first, right, &second, err);
}

/* True if a chunk that was found in the copy is that of its number. */
static bool has_numbers(const struct bpk_salvage *found)
{
	return found->counted && found->doubt.size == 0;
}

/* Compare the chunks of the same numbers. */
static int compare_chunks(struct bpk_merge *m, size_t a, size_t b, struct bpk_err *err)
{
	const struct bpk_salvage *x = &m->found[a], *y = &m->found[b];
	size_t i = 0, k = 0;
	int rc = 0;

	while (rc == 0 && i < x->count && k < y->count) {
		uint64_t left = x->all[i].number, right = y->all[k].number;

		if (left == right)
			rc = compare_chunk(m, a, &x->all[i], b, &y->all[k], err);
		i += left <= right;
		k += right <= left;
	}
	return rc;
}

/* Of two chunks that differ neither decides unless both were tested by digests, or no copy has
 * any. */
static bool are_equals(const struct bpk_merge *m, size_t a, size_t b)
{
	bool any = false;

	for (size_t c = 0; c < m->ncopies; c++)
		any = any || m->found[c].proven;
	return has_numbers(&m->found[a]) && has_numbers(&m->found[b]) &&
	       (!any || (m->found[a].proven && m->found[b].proven));
}

int bpk_merge_compare(struct bpk_merge *m, struct bpk_err *err)
{
	for (size_t b = 1; b < m->ncopies; b++)
		for (size_t a = 0; a < b; a++) {
			if (compare_sizes(m, a, b, err) != 0 ||
			    (are_equals(m, a, b) && compare_chunks(m, a, b, err) != 0))
				return -1;
		}
	return 0;
}

/* ---- Places ---- */

/* The first run that begins behind at. */
static size_t find_behind(const struct bpk_merge_file *file, uint64_t at)
{
	return file->nruns == 0
		       ? 0
		       : bpk_find_behind(&file->runs->at, sizeof *file->runs, file->nruns, at);
}

/* Take a run, unless an earlier copy has one there, which must be the same. */
static int take(struct bpk_merge *m, struct bpk_merge_file *file, const struct bpk_merge_run *run,
		struct bpk_err *err)
{
	size_t i = find_behind(file, run->at);
	struct bpk_merge_run *runs;

	if (i > 0 && file->runs[i - 1].at == run->at && file->runs[i - 1].size == run->size)
		return compare_runs(m, file, &file->runs[i - 1], file, run, err);

	if (run->at > file->size || run->size > file->size - run->at ||
	    (i > 0 && file->runs[i - 1].at + file->runs[i - 1].size > run->at) ||
	    (i < file->nruns && file->runs[i].at - run->at < run->size))
		return 0;
	runs = bpk_alloc_grow(file->runs, file->nruns, &file->runs_room, sizeof *runs, err);
	if (runs == NULL)
		return -1;
	file->runs = runs;
	memmove(runs + i + 1, runs + i, (file->nruns - i) * sizeof *runs);
	runs[i] = *run;
	file->nruns++;
	return 0;
}

/*
 * Find the place of a chunk that has moved in its copy: where the archive says, or behind the chunk
 * before it, which it fits. False: it is unknown.
 */
static bool find_place(const struct bpk_merge *m, const struct bpk_merge_file *file, void *reader,
		       struct bpk_merge_run *run)
{
	struct bpk_where where = { 0 };
	size_t i;

	if (m->format->reader->locate(reader, run->number, &where, NULL) == 0) {
		run->at = where.packed_offset;
		return true;
	}
	if (run->number == 0 || file->nruns == 0)
		return false;
	i = bpk_find_behind(&file->runs->number, sizeof *file->runs, file->nruns, run->number - 1);
	if (i == 0 || file->runs[i - 1].number + 1 != run->number)
		return false;
	run->at = file->runs[i - 1].at + file->runs[i - 1].size;
	return i == file->nruns || file->runs[i].at == run->at + run->size;
}

/* True if a chunk that was found is not where the archive says, so bytes came or went before it. */
static bool has_moved(const struct bpk_merge *m, const struct bpk_salvage *found, void *reader)
{
	struct bpk_where where = { 0 };

	for (size_t i = 0; i < found->count; i++) {
		const struct bpk_saved *saved = &found->all[i];

		if (saved->intact && saved->special == BPK_SPECIAL_NONE &&
		    m->format->reader->locate(reader, saved->number, &where, NULL) == 0 &&
		    where.packed_offset != saved->offset)
			return true;
	}
	return false;
}

/* ---- Copies ---- */

/* Take the chunks of a copy that are found once it has the chosen parts. reader: of the union;
 * NULL: the chunks are in their places. */
static int take_found(struct bpk_merge *m, size_t copy, const struct bpk_salvage *found,
		      void *reader, struct bpk_err *err)
{
	for (size_t i = 0; i < found->count; i++) {
		const struct bpk_saved *saved = &found->all[i];
		struct bpk_merge_file *file = bpk_merge_file_of(m, found, saved);
		struct bpk_merge_run run = run_of(found, saved, copy);

		if (!saved->intact || file == NULL || file->sizes[copy] == BPK_UNKNOWN ||
		    (reader != NULL && !find_place(m, file, reader, &run)))
			continue;
		if (take(m, file, &run, err) != 0)
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

static int take_copy(struct bpk_merge *m, size_t copy, void *reader, struct bpk_err *err)
{
	struct bpk_salvage found = { 0 };
	int rc = search_copy(m, copy, &found, err);

	if (rc == 0 && reader != NULL && !has_moved(m, &found, reader))
		reader = NULL;
	if (rc == 0)
		rc = take_found(m, copy, &found, reader, err);
	bpk_salvage_clear(&found);
	return rc;
}

/* Take the chunks of copies in another size, which may have moved. */
static int take_others(struct bpk_merge *m, struct bpk_err *err)
{
	const struct bpk_read_options options = { .as_stored = true, .saves = true };
	const struct bpk_reader_ops *ops = m->format->reader;
	struct bpk_merge_view view;
	void *reader = NULL;
	int rc = bpk_merge_view_open(m, BPK_MERGE_UNION, NULL, &view, err);

	if (rc != 0)
		return -1;
	if (ops->open(&view.place, &options, &reader, NULL) != 0)
		reader = NULL;
	for (size_t c = 0; rc == 0 && reader != NULL && c < m->ncopies; c++)
		if (!m->dropped[c] && m->files[0].sizes[c] != m->files[0].size)
			rc = take_copy(m, c, reader, err);
	if (reader != NULL)
		ops->close(reader);
	bpk_merge_view_close(&view);
	return rc;
}

int bpk_merge_take_chunks(struct bpk_merge *m, struct bpk_err *err)
{
	bool is_file = m->names == NULL;

	for (size_t c = 0; c < m->ncopies; c++)
		if (!m->dropped[c] && (!is_file || m->files[0].sizes[c] == m->files[0].size) &&
		    take_copy(m, c, NULL, err) != 0)
			return -1;
	return is_file && m->is_open ? take_others(m, err) : 0;
}
