/* Finds intact chunks of copies that their result has nowhere: they are of another state of the
 * archive. Called by merge.c and merge_intact.c. */
#include "archive/merge_inner.h"

#include <stdlib.h>

int bpk_merge_note_states(struct bpk_merge *m, size_t a, size_t b, const char *proof,
			  struct bpk_err *err)
{
	if (m->since.size > 0)
		return 0;
	if (bpk_buf_printf(&m->since, err,
			   "%s and %s are of two states of the archive, as %s; the result may "
			   "have parts of the older one",
			   m->copies[a].path, m->copies[b].path, proof) != 0)
		return -1;
	return bpk_buf_append(&m->since, bpk_view("", 1), err);
}

/* The result: an intact copy, or the union. One thread's own. */
struct result {
	struct bpk_merge *merge;
	int whose;
	struct bpk_place place;
	uint64_t *hashes; /* of the chunks of the union, ascending */
	size_t count;
};

static int list_hashes(struct result *r, struct bpk_err *err)
{
	const struct bpk_merge *m = r->merge;
	size_t count = 0;

	for (size_t f = 0; f < m->nfiles; f++)
		count += m->files[f].nruns;
	r->hashes = bpk_calloc(count + 1, sizeof *r->hashes, err);
	if (r->hashes == NULL)
		return -1;
	for (size_t f = 0; f < m->nfiles; f++)
		for (size_t i = 0; i < m->files[f].nruns; i++)
			r->hashes[r->count++] = m->files[f].runs[i].hash;
	bpk_merge_sort_u64(r->hashes, r->count);
	return 0;
}

static bool has_hash(const struct result *r, uint64_t hash)
{
	if (r->whose != BPK_MERGE_UNION)
		return bpk_merge_find_print(&r->merge->prints[r->whose], hash) != NULL;
	return bpk_merge_has_u64(r->hashes, r->count, hash);
}

static size_t count_prints(const struct bpk_merge_prints *list, uint64_t hash)
{
	const struct bpk_merge_print *first = bpk_merge_find_print(list, hash);
	size_t count = 0;

	while (first != NULL && first > list->all && first[-1].hash == hash)
		first--;
	while (first != NULL && first + count < list->all + list->count &&
	       first[count].hash == hash)
		count++;
	return count;
}

static size_t count_hashes(const struct result *r, uint64_t hash)
{
	size_t count = 0;

	if (r->whose != BPK_MERGE_UNION)
		return count_prints(&r->merge->prints[r->whose], hash);
	for (size_t i = 0; i < r->count; i++)
		count += r->hashes[i] == hash;
	return count;
}

/* True if the result has chunks with this hash less often than the copy. */
static bool has_fewer(const struct result *r, size_t copy, const struct bpk_merge_print *print)
{
	return !print->once &&
	       count_hashes(r, print->hash) < count_prints(&r->merge->prints[copy], print->hash);
}

/* True if the result has no file of this name, or no chunk of it. */
static bool is_unused(const struct result *r, const struct bpk_merge_file *file)
{
	return r->place.is_directory &&
	       (r->whose != BPK_MERGE_UNION ? file->sizes[r->whose] == BPK_UNKNOWN
					    : file->nruns == 0);
}

/* *has: the result has the chunk of a copy among its own, or at the same place in a hole, or as far
 * from that as bytes of a single file are missing. */
static int has_chunk(const struct result *r, size_t copy, const struct bpk_merge_print *print,
		     bool *has, struct bpk_err *err)
{
	const struct bpk_merge_file *file = &r->merge->files[print->file];
	struct bpk_source *source = r->place.source;
	struct bpk_err why = { 0 };
	int rc;

	*has = has_hash(r, print->hash);
	if (*has || is_unused(r, file))
		return 0;
	if (r->place.is_directory &&
	    bpk_dir_source(r->place.directory, file->name, &source, &why) != 0)
		return bpk_err_pass(&why, err);
	rc = bpk_merge_has_there(source, print->offset, print->size, print->hash, has, err);
	if (rc == 0 && !*has && !r->place.is_directory)
		/* a place before the start wraps around, and is behind the end */
		rc = bpk_merge_has_there(
			source, print->offset - (file->sizes[copy] - bpk_source_size(source)),
			print->size, print->hash, has, err);
	if (r->place.is_directory)
		bpk_source_close(source);
	return rc;
}

/* True if the chunk lies where the result has no bytes, which damage does not make. */
static bool is_outside(const struct result *r, const struct bpk_merge_print *print)
{
	return r->place.is_directory
		       ? is_unused(r, &r->merge->files[print->file])
		       : print->offset + print->size > bpk_source_size(r->place.source);
}

/* Look for an intact chunk of the copy that the result has nowhere. */
static int find_strange(const struct result *r, size_t copy, struct bpk_err *err)
{
	struct bpk_merge *m = r->merge;
	const struct bpk_merge_prints *list = &m->prints[copy];
	size_t other = copy == 0 ? 1 : 0;

	if (r->whose != BPK_MERGE_UNION)
		other = (size_t)r->whose;
	for (size_t i = 0; i < list->count; i++) {
		bool has;

		if (!m->found[copy].proven && !is_outside(r, &list->all[i]))
			continue;
		if (has_chunk(r, copy, &list->all[i], &has, err) != 0)
			return r->whose == BPK_MERGE_UNION
				       ? -1
				       : bpk_input_subject(&m->copies[r->whose], err);
		if (!has || has_fewer(r, copy, &list->all[i]))
			return bpk_merge_note_states(
				m, other < copy ? other : copy, other < copy ? copy : other,
				"chunks show that are intact in one alone", err);
	}
	return 0;
}

int bpk_merge_find_strange(struct bpk_merge *m, int whose, struct bpk_err *err)
{
	struct result r = { .merge = m, .whose = whose };
	struct bpk_merge_view view = { 0 };
	int rc = 0;

	if (m->since.size > 0)
		return 0;
	if (whose == BPK_MERGE_UNION)
		rc = list_hashes(&r, err) != 0 ||
				     bpk_merge_view_open(m, whose, NULL, &view, err) != 0
			     ? -1
			     : 0;
	r.place = whose == BPK_MERGE_UNION ? view.place : m->copies[whose].place;
	for (size_t c = 0; rc == 0 && c < m->ncopies; c++)
		if ((int)c != whose)
			rc = find_strange(&r, c, err);
	m->is_strange = whose == BPK_MERGE_UNION && m->since.size > 0;
	bpk_merge_view_close(&view);
	free(r.hashes);
	return rc;
}
