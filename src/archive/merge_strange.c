/* Finds intact chunks of copies that their result has nowhere, and damaged ones that are not those
 * at their places in it: they are of another state of the archive. Called by merge.c and the other
 * files merge*.c. */
#include "archive/merge_inner.h"

#include <inttypes.h>
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

/* ---- Lost chunks ---- */

/* True if the digest behind a damaged chunk is that of its bytes with the header of another one. */
static bool has_other_digest(const struct bpk_checksum *checksum, struct bpk_buf *damaged,
			     struct bpk_view other, size_t packed)
{
	uint8_t digest[BPK_DIGEST_MAX];

	bpk_copy(damaged->data, other.data, (size_t)bpk_min_u64(packed, BPK_CHUNK_HEADER_SIZE));
	return bpk_checksum_compute(checksum, bpk_view(damaged->data, packed), digest, NULL) == 0 &&
	       memcmp(digest, damaged->data + packed, checksum->size) == 0;
}

/* True if the raw sizes in the headers of two chunks are the same, and the packed ones are not. */
static bool has_other_size(const uint8_t *x, const uint8_t *y)
{
	enum { RAW_AT = 4, PACKED_AT = 12 };

	return memcmp(x + RAW_AT, y + RAW_AT, PACKED_AT - RAW_AT) == 0 &&
	       memcmp(x + PACKED_AT, y + PACKED_AT, BPK_CHUNK_HEADER_SIZE - PACKED_AT) != 0;
}

/*
 * True if damage alone does not make a chunk that is lost, with the digest behind it, of an intact
 * one. front, back: bytes of the lost one, counted from the chunk before and from the next one, as
 * bytes may have come or gone in it. The digest was damaged as well if the bytes before it were,
 * too. If the lost one has its place by the size in its own header, a hole that reaches the digest
 * leaves bytes behind that. rest->is_followed: an intact chunk begins behind the digest, so that a
 * hole there ended with it. Damage hits no size in a header together with the first bytes behind
 * that, and others, but leaves the rest of the header.
 */
static bool is_other(const struct bpk_salvage *found, struct bpk_view intact,
		     const struct bpk_buf *front, struct bpk_buf *back,
		     const struct bpk_merge_rest *rest)
{
	enum { SOME = 16, SIZE_AT = 12, SIZE = 4 };
	bool is_placed = memcmp(intact.data + SIZE_AT, front->data + SIZE_AT, SIZE) == 0 ||
			 memcmp(intact.data + SIZE_AT, back->data + SIZE_AT, SIZE) == 0;
	size_t digest = found->checksum->size, packed = intact.size - digest;
	size_t nother = 0, nfirst = 0, nlast = 0, ndigest = 0;

	for (size_t i = packed; i < intact.size; i++)
		ndigest += intact.data[i] != front->data[i] && intact.data[i] != back->data[i];
	if (ndigest == 0)
		return false;
	for (size_t i = 0; i < packed; i++) {
		bool differs = intact.data[i] != front->data[i] && intact.data[i] != back->data[i];

		nother += differs;
		nfirst += differs && i >= BPK_CHUNK_HEADER_SIZE && i < BPK_CHUNK_HEADER_SIZE + SOME;
		nlast += differs && packed - i <= SOME;
	}
	if (nfirst > 0 && nother > nfirst + SIZE && has_other_size(intact.data, front->data) &&
	    has_other_size(intact.data, back->data))
		return true;
	if (rest->is_last)
		return has_other_digest(found->checksum, back, intact, packed);
	if (rest->is_followed && nother > nlast && nlast <= SOME / 2 && ndigest > digest / 2)
		return true;
	return (nother > 0 && nlast == 0) || (is_placed && nfirst > 0 && nother > packed / 2) ||
	       has_other_digest(found->checksum, back, intact, packed);
}

/* The same of a chunk that the end of a copy has cut: it has the size of the intact one, and of its
 * rest the first bytes and most others differ. */
static bool is_begun_otherwise(struct bpk_view intact, const struct bpk_buf *front)
{
	enum { SOME = 16, SIZE_AT = 12, SIZE = 4, LEAST = BPK_CHUNK_HEADER_SIZE + SOME };
	size_t nother = 0;

	for (size_t i = BPK_CHUNK_HEADER_SIZE; i < front->size; i++)
		nother += intact.data[i] != front->data[i];
	return front->size >= LEAST &&
	       memcmp(intact.data + SIZE_AT, front->data + SIZE_AT, SIZE) == 0 &&
	       memcmp(intact.data + BPK_CHUNK_HEADER_SIZE, front->data + BPK_CHUNK_HEADER_SIZE,
		      SOME) != 0 &&
	       nother > front->size / 2;
}

/* Read the bytes of a copy that may be a lost chunk, up to its end. */
static int read_lost(struct bpk_merge *m, struct bpk_merge_file *file, size_t copy, uint64_t offset,
		     uint64_t size, struct bpk_buf *bytes, struct bpk_err *err)
{
	uint64_t end = file->sizes[copy] == BPK_UNKNOWN ? 0 : file->sizes[copy];
	/* not at this place, so that no part is laid over it */
	const struct bpk_merge_run lost = {
		.at = BPK_UNKNOWN,
		.size = offset < end ? bpk_min_u64(size, end - offset) : 0,
		.offset = offset,
		.copy = copy,
	};

	return lost.size == 0 ? 0 : bpk_merge_read_run(m, file, &lost, bytes, err);
}

int bpk_merge_compare_lost(struct bpk_merge *m, struct bpk_merge_file *file,
			   const struct bpk_merge_run *run, const struct bpk_merge_rest *rest,
			   bool *other, struct bpk_err *err)
{
	const struct bpk_salvage *found = &m->found[run->copy];
	struct bpk_buf intact = { 0 }, front = { 0 }, back = { 0 };
	int rc = 0;

	*other = false;
	if (found->checksum->size == 0 || found->seal_size != found->checksum->size)
		return 0;
	if (read_lost(m, file, rest->copy, rest->front, run->size, &front, err) != 0 ||
	    read_lost(m, file, rest->copy, rest->back, run->size, &back, err) != 0)
		rc = -1;
	if (rc == 0 && front.size > 0 && back.size > 0)
		rc = bpk_merge_read_run(m, file, run, &intact, err);
	if (rc == 0 && front.size < intact.size)
		*other = is_begun_otherwise(bpk_buf_view(&intact), &front);
	else if (rc == 0 && back.size == intact.size && intact.size > 0)
		*other = is_other(found, bpk_buf_view(&intact), &front, &back, rest);
	bpk_buf_clear(&intact);
	bpk_buf_clear(&front);
	bpk_buf_clear(&back);
	return rc;
}

/* ---- The result ---- */

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

/* True if the result has chunks with this hash less often than the copy. Where it is proven, and
 * has this one once, damage has copied it: its data do not repeat. */
static bool has_fewer(const struct result *r, size_t copy, const struct bpk_merge_print *print)
{
	size_t count = print->once ? 0 : count_hashes(r, print->hash);
	bool copied = count == 1 && r->whose != BPK_MERGE_UNION && r->merge->own[r->whose].proven;

	return !print->once && !copied &&
	       count < count_prints(&r->merge->prints[copy], print->hash);
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

/* ---- The rest of damaged chunks ---- */

/* The intact chunks of a copy, by file and offset. */
struct places {
	struct bpk_merge_print *all; /* from the heap */
	size_t count;
};

static int compare_places(const void *a, const void *b)
{
	const struct bpk_merge_print *x = a, *y = b;

	if (x->file != y->file)
		return x->file < y->file ? -1 : 1;
	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

static int list_places(const struct bpk_merge *m, size_t copy, struct places *places,
		       struct bpk_err *err)
{
	const struct bpk_merge_prints *prints = &m->prints[copy];

	places->count = prints->count;
	places->all = bpk_calloc(prints->count + 1, sizeof *places->all, err);
	if (places->all == NULL)
		return -1;
	bpk_copy(places->all, prints->all, prints->count * sizeof *places->all);
	qsort(places->all, places->count, sizeof *places->all, compare_places);
	return 0;
}

/* True if one of them begins in this range of a file. */
static bool has_chunk_in(const struct places *places, size_t file, uint64_t at, uint64_t size)
{
	const struct bpk_merge_print key = { .file = file, .offset = at };
	size_t low = 0, high = places->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (compare_places(&places->all[middle], &key) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low < places->count && places->all[low].file == file &&
	       places->all[low].offset - at < size;
}

/* *shift: the bytes that came in the copy before the chunk of a run; wraps around if bytes went.
 * False: the copy has lost that, or it or the run's has several like it. */
static bool find_shift(const struct bpk_merge *m, const struct bpk_merge_file *file,
		       const struct bpk_merge_run *run, size_t copy, uint64_t *shift)
{
	const struct bpk_merge_print *print = bpk_merge_find_print(&m->prints[copy], run->hash);
	const struct bpk_merge_print *own = bpk_merge_find_print(&m->prints[run->copy], run->hash);

	*shift = 0;
	if (bpk_merge_has_run(m, file, copy, run))
		return true;
	if (print == NULL || !print->once || (own != NULL && !own->once) ||
	    &m->files[print->file] != file)
		return false;
	*shift = print->offset - run->at;
	return true;
}

/* The chunk may lie in bytes of another copy that were chosen as a part. */
static int note_rest(struct bpk_merge *m, const struct bpk_merge_file *file,
		     const struct bpk_merge_run *run, size_t copy, struct bpk_err *err)
{
	size_t owner = run->copy;
	const char *mine, *other;
	uint64_t shift;

	for (size_t c = 0; owner == copy && c < m->ncopies; c++)
		if (c != copy && find_shift(m, file, run, c, &shift))
			owner = c;
	mine = m->copies[copy].path;
	other = m->copies[owner].path;
	if (bpk_buf_printf(&m->since, err,
			   "%s and %s are of two states of the archive, or one has lost a whole "
			   "chunk: a damaged chunk of %s is not the one at offset %" PRIu64
			   " of %s; the result may have parts of the older one, or chunks at wrong "
			   "places",
			   mine, other, mine, run->offset, other) != 0)
		return -1;
	return bpk_buf_append(&m->since, bpk_view("", 1), err);
}

/* Compare a run with the rest of a chunk, unless an intact chunk of the copy begins there, before
 * the next one, which lies in the run's room if bytes went. */
static int compare_rest(struct bpk_merge *m, struct bpk_merge_file *file,
			const struct bpk_merge_run *run, const struct bpk_merge_rest *rest,
			const struct places *places, struct bpk_err *err)
{
	size_t number = (size_t)(file - m->files);
	uint64_t start = bpk_max_u64(rest->front, rest->back), end = rest->back + run->size;
	uint64_t room = end > rest->front ? end - rest->front : run->size;
	bool other = false;

	if (bpk_merge_has_same_list(m, run->copy, rest->copy) ||
	    has_chunk_in(places, number, rest->front, bpk_min_u64(run->size, room)) ||
	    has_chunk_in(places, number, start, end > start ? end - start : run->size))
		return 0;
	if (bpk_merge_compare_lost(m, file, run, rest, &other, err) != 0)
		return -1;
	return other ? note_rest(m, file, run, rest->copy, err) : 0;
}

/*
 * Compare the chunks of the union with the damaged ones that a copy has at their places, between
 * two chunks that it has, or its ends.
 *
 *     union    A | B | C | D |
 *     copy     A | # | C | D |     # is not B: its rest and its digest are those of another chunk
 *     copy     A | ### | C | D     bytes came: they are counted from A, and from C
 *     copy     A | #               the one behind the last that it has is counted from A alone
 */
static int compare_rests(struct bpk_merge *m, struct bpk_merge_file *file, size_t copy,
			 const struct places *places, struct bpk_err *err)
{
	const struct bpk_merge_run *runs = file->runs;
	uint64_t shift = 0, next = 0;
	size_t behind, last;
	bool is_last;

	for (size_t i = 0; i < file->nruns; i = behind) {
		for (behind = i; behind < file->nruns; behind++)
			if (find_shift(m, file, &runs[behind], copy, &next))
				break;
		is_last = behind == file->nruns &&
			  (file->sizes[copy] != file->size ||
			   runs[behind - 1].at + runs[behind - 1].size != file->size);
		if (behind == file->nruns)
			next = is_last ? shift : 0;
		last = is_last ? i + 1 : behind;
		for (size_t k = i; k < last && (next == shift || behind == i + 1); k++) {
			const struct bpk_merge_rest rest = { copy, runs[k].at + shift,
							     runs[k].at + next, !is_last, is_last };

			if (m->since.size == 0 &&
			    compare_rest(m, file, &runs[k], &rest, places, err) != 0)
				return -1;
		}
		behind = behind == i ? i + 1 : behind;
		shift = next;
	}
	return 0;
}

int bpk_merge_compare_rests(struct bpk_merge *m, struct bpk_err *err)
{
	int rc = 0;

	for (size_t c = 0; rc == 0 && c < m->ncopies; c++) {
		struct places places = { 0 };

		rc = list_places(m, c, &places, err);
		for (size_t f = 0; rc == 0 && m->since.size == 0 && f < m->nfiles; f++)
			if (m->files[f].sizes[c] != BPK_UNKNOWN)
				rc = compare_rests(m, &m->files[f], c, &places, err);
		free(places.all);
	}
	return rc;
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
