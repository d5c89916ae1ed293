/*
 * Unites the chunks of damaged copies by their numbers, where these are certain. If bytes came or
 * went in several copies, no file of theirs has places for all chunks. Called by merge.c.
 *
 *     copy 0    0 | # | 2 | 3 |
 *     copy 1    0 | 1 | # | 3 |      #: lost
 *     pool      0 | 1 | 2 | 3 |
 *
 * A chunk whose number is not certain is that of the digest which another copy records.
 */
#include "archive/merge_inner.h"

#include <inttypes.h>
#include <stdlib.h>

/* True if each intact chunk of the copy is that of its number. */
static bool has_numbers(const struct bpk_salvage *found)
{
	return found->counted && !found->estimated && !found->disordered &&
	       (found->numbered || !found->has_doubts);
}

/* True if a copy with numbers may give chunks to this one: they are of one state, as far as is
 * known, and its chunks are proven by digests where those of this one are. */
static bool may_give(const struct bpk_salvage *copy, const struct bpk_salvage *found)
{
	bool same_state = copy->state == 0 || found->state == 0 || copy->state == found->state;
	bool same_sizes = copy->uneven == found->uneven && copy->shaped == found->shaped &&
			  (found->uneven || copy->chunk_size == found->chunk_size);

	return has_numbers(copy) && same_state && same_sizes && copy->count > 0 &&
	       copy->nchunks == found->nchunks && (copy->proven || !found->proven);
}

/* Move a chunk of a copy to the list. */
static int take(const struct bpk_merge *m, size_t copy, const struct bpk_salvage *from,
		const struct bpk_saved *saved, struct bpk_salvage *found, struct bpk_err *err)
{
	struct bpk_saved taken = *saved;

	taken.place = &m->copies[copy].place;
	if (from->nfiles > 0 && saved->special == BPK_SPECIAL_NONE &&
	    bpk_salvage_add_file(found, from->files[saved->file], &taken.file, err) != 0)
		return -1;
	return bpk_salvage_add(found, &taken, err);
}

static bool is_given(const struct bpk_saved *saved)
{
	return saved->intact && !saved->unproven && !saved->guessed;
}

/* Add the chunks of a copy to those of found that are lost. Both lists ascend by numbers. */
static int add_copy(const struct bpk_merge *m, size_t copy, const struct bpk_salvage *from,
		    struct bpk_salvage *found, struct bpk_err *err)
{
	struct bpk_saved *old = found->all;
	size_t count = found->count, i = 0;
	int rc = 0;

	found->all = NULL;
	found->count = found->room = 0;
	for (size_t k = 0; rc == 0 && (i < count || k < from->count);) {
		const struct bpk_saved *own = i < count ? &old[i] : NULL;
		const struct bpk_saved *other = k < from->count ? &from->all[k] : NULL;
		bool is_own = own != NULL && (other == NULL || own->number <= other->number);
		bool is_other = other != NULL && (own == NULL || other->number <= own->number);

		if (is_other && is_given(other) && !(is_own && own->intact))
			rc = take(m, copy, from, other, found, err);
		else if (is_own)
			rc = bpk_salvage_add(found, own, err);
		i += is_own;
		k += is_other;
	}
	free(old);
	return rc;
}

/* The chunks that were found in a copy, which may have been dropped since. */
static const struct bpk_salvage *found_in(const struct bpk_merge *m, size_t copy)
{
	return m->dropped[copy] ? &m->spare[copy] : &m->found[copy];
}

/* ---- Chunks by digests ---- */

/* The digest that is recorded for a number, and zeros behind it. */
struct record {
	uint8_t digest[BPK_DIGEST_MAX];
	uint64_t number;
	bool lost; /* the chunk */
};

/* All that found has, ascending by digests. */
struct records {
	struct record *all;
	size_t count;
	bool any_lost;
};

static int compare_digests(const void *a, const void *b)
{
	const struct record *x = a, *y = b;

	return memcmp(x->digest, y->digest, sizeof x->digest);
}

static int list_records(const struct bpk_salvage *found, struct records *records,
			struct bpk_err *err)
{
	size_t room = 0, i = 0;

	for (uint64_t n = 0; n < found->nchunks; n++) {
		const uint8_t *digest = found->digest_of(found->parts, n);
		struct record *all, *record;

		while (i < found->count && found->all[i].number < n)
			i++;
		if (digest == NULL)
			continue;
		all = bpk_alloc_grow(records->all, records->count, &room, sizeof *all, err);
		if (all == NULL)
			return -1;
		records->all = all;
		record = &all[records->count++];
		*record = (struct record){ .number = n };
		record->lost =
			i == found->count || found->all[i].number != n || !found->all[i].intact;
		bpk_copy(record->digest, digest, found->checksum->size);
		records->any_lost = records->any_lost || record->lost;
	}
	if (records->count > 0)
		qsort(records->all, records->count, sizeof *records->all, compare_digests);
	return 0;
}

static int compare_numbers(const void *a, const void *b)
{
	const struct bpk_saved *x = a, *y = b;

	return x->number < y->number ? -1 : x->number > y->number;
}

/* Add the chunk to given for each lost number whose digest it has, and which it then is not any
 * more: a copy may have it twice. *is_recorded: some number has that. */
static int prove_chunk(const struct bpk_merge *m, size_t copy, const struct bpk_saved *saved,
		       const struct bpk_checksum *checksum, struct records *records,
		       struct bpk_salvage *given, bool *is_recorded, struct bpk_err *err)
{
	struct record *end = records->all + records->count, *same;
	struct bpk_saved proven = *saved;
	struct bpk_buf bytes = { 0 };
	struct record key = { 0 };
	int rc = bpk_salvage_fetch(&m->copies[copy].place, found_in(m, copy), saved, &bytes, err);

	if (rc == 0)
		rc = bpk_checksum_compute(checksum, bpk_buf_view(&bytes), key.digest, err);
	bpk_buf_clear(&bytes);
	if (rc != 0)
		return -1;
	same = bsearch(&key, records->all, records->count, sizeof key, compare_digests);
	*is_recorded = same != NULL;
	while (same != NULL && same > records->all && compare_digests(&same[-1], &key) == 0)
		same--;
	proven.unproven = false;
	for (; rc == 0 && same != NULL && same < end && compare_digests(same, &key) == 0; same++) {
		proven.number = same->number;
		rc = same->lost ? bpk_salvage_add(given, &proven, err) : 0;
		same->lost = same->lost && !is_given(&proven);
	}
	return rc;
}

/* The copy may be of a newer state, if it has chunks that are not recorded. */
static int doubt_state(const struct bpk_merge *m, size_t copy, struct bpk_salvage *found,
		       struct bpk_err *err)
{
	struct bpk_err line = { 0 };

	bpk_fail(&line, BPK_CORRUPT,
		 "%s, which gives chunks, has others that are damaged or of another state of the "
		 "archive; the result may have parts of the older one",
		 m->copies[copy].path);
	return bpk_salvage_doubt(found, line.text, err);
}

/* Add the lost chunks that a copy has, whatever it knows of their numbers. */
static int add_proven(const struct bpk_merge *m, size_t copy, struct records *records,
		      struct bpk_salvage *found, struct bpk_err *err)
{
	const struct bpk_salvage *from = found_in(m, copy);
	struct bpk_salvage given = *from;
	bool is_recorded = true, has_others = false;
	int rc = 0;

	given.all = NULL;
	given.count = given.room = 0;
	for (size_t i = 0; rc == 0 && i < from->count; i++) {
		if (!from->all[i].intact || from->all[i].special != BPK_SPECIAL_NONE)
			continue;
		rc = prove_chunk(m, copy, &from->all[i], found->checksum, records, &given,
				 &is_recorded, err);
		has_others = has_others || !is_recorded;
	}
	if (rc == 0 && given.count > 0) {
		qsort(given.all, given.count, sizeof *given.all, compare_numbers);
		rc = add_copy(m, copy, &given, found, err);
		if (rc == 0 && has_others)
			rc = doubt_state(m, copy, found, err);
	}
	free(given.all);
	return rc;
}

/* A copy that has lost its own digests may have chunks that those of found prove. */
static int add_all_proven(const struct bpk_merge *m, struct bpk_salvage *found, struct bpk_err *err)
{
	struct records records = { 0 };
	int rc = found->numbered ? list_records(found, &records, err) : 0;

	for (size_t c = 0; rc == 0 && records.any_lost && c < m->ncopies; c++)
		if (!found_in(m, c)->numbered)
			rc = add_proven(m, c, &records, found, err);
	free(records.all);
	return rc;
}

int bpk_merge_complete(const struct bpk_merge *m, struct bpk_salvage *found, struct bpk_err *err)
{
	const struct bpk_saved *last;

	if (!found->counted || found->estimated || found->disordered)
		return 0;
	for (size_t c = 0; c < m->ncopies; c++)
		if (may_give(found_in(m, c), found) &&
		    add_copy(m, c, found_in(m, c), found, err) != 0)
			return -1;
	if (add_all_proven(m, found, err) != 0)
		return -1;
	last = found->count > 0 ? &found->all[found->count - 1] : NULL;
	if (last != NULL && !found->uneven && last->intact && last->number + 1 == found->nchunks)
		found->last_size = last->raw_size;
	return 0;
}

/* *count: the intact chunks that this copy has with those of all others. */
static int count_pool(const struct bpk_merge *m, size_t copy, uint64_t *count, struct bpk_err *err)
{
	const struct bpk_salvage *from = &m->found[copy];
	struct bpk_salvage pool = *from;
	int rc = 0;

	pool.files = NULL;
	pool.nfiles = pool.files_room = 0;
	pool.all = NULL;
	pool.count = pool.room = 0;
	pool.doubt = (struct bpk_buf){ 0 };
	pool.has_doubts = false;
	pool.release = NULL;
	for (size_t i = 0; rc == 0 && i < from->count; i++)
		rc = bpk_salvage_add(&pool, &from->all[i], err);
	if (rc == 0)
		rc = bpk_merge_complete(m, &pool, err);
	*count = bpk_salvage_intact(&pool);
	bpk_salvage_clear(&pool);
	return rc;
}

int bpk_merge_find_pool(const struct bpk_merge *m, int *base, uint64_t *count, struct bpk_err *err)
{
	*base = BPK_MERGE_UNION;
	*count = 0;
	for (size_t c = 0; c < m->ncopies; c++) {
		uint64_t here;

		if (m->dropped[c] || m->found[c].count == 0 || !has_numbers(&m->found[c]) ||
		    (m->proven && !m->found[c].proven))
			continue;
		if (count_pool(m, c, &here, err) != 0)
			return -1;
		if (here > *count ||
		    (here == *count && *base != BPK_MERGE_UNION && m->found[c].doubt.size == 0 &&
		     m->found[*base].doubt.size > 0)) {
			*count = here;
			*base = (int)c;
		}
	}
	return 0;
}

/* ---- A chunk at two places ---- */

/* An intact chunk, with the hash of its packed bytes. */
struct hashed {
	uint64_t hash, number;
};

static int compare_hashes(const void *a, const void *b)
{
	const struct hashed *x = a, *y = b;

	if (x->hash != y->hash)
		return x->hash < y->hash ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

static int list_hashed(const struct bpk_place *place, const struct bpk_salvage *found,
		       struct hashed *all, size_t *count, struct bpk_err *err)
{
	struct bpk_buf bytes = { 0 };
	int rc = 0;

	*count = 0;
	for (size_t i = 0; rc == 0 && i < found->count; i++) {
		const struct bpk_saved *saved = &found->all[i];

		if (!is_given(saved) || saved->special != BPK_SPECIAL_NONE)
			continue;
		rc = bpk_salvage_fetch(place, found, saved, &bytes, err);
		all[*count].number = saved->number;
		all[(*count)++].hash = bpk_hash_words(BPK_HASH_START, bpk_buf_view(&bytes));
	}
	bpk_buf_clear(&bytes);
	return rc;
}

/* The chunks of all copies, each with its copy as number, ascending. From the heap. */
static struct hashed *list_all_prints(const struct bpk_merge *m, size_t *count, struct bpk_err *err)
{
	struct hashed *all;
	size_t room = 1;

	for (size_t c = 0; c < m->ncopies; c++)
		room += m->prints[c].count;
	*count = 0;
	all = bpk_calloc(room, sizeof *all, err);
	if (all == NULL)
		return NULL;
	for (size_t c = 0; c < m->ncopies; c++)
		for (size_t i = 0; i < m->prints[c].count; i++)
			all[(*count)++] = (struct hashed){ m->prints[c].all[i].bytes, c };
	qsort(all, *count, sizeof *all, compare_hashes);
	return all;
}

/* True if some copy has this chunk twice, since its data repeat. */
static bool is_repeated(const struct hashed *prints, size_t count, uint64_t hash)
{
	size_t i = bpk_find_behind(&prints->hash, sizeof *prints, count, hash);

	for (; i > 1 && prints[i - 2].hash == hash; i--)
		if (prints[i - 1].number == prints[i - 2].number)
			return true;
	return false;
}

static int doubt_twice(const struct hashed *x, struct bpk_salvage *found, struct bpk_err *err)
{
	struct bpk_err line = { 0 };

	bpk_fail(&line, BPK_CORRUPT,
		 "chunks %" PRIu64 " and %" PRIu64
		 " are one that no copy has twice: a copy may have lost a chunk, and have others "
		 "at wrong places",
		 x[0].number, x[1].number);
	return bpk_salvage_doubt(found, line.text, err);
}

int bpk_merge_find_twice(struct bpk_merge *m, const struct bpk_place *place,
			 struct bpk_salvage *found, struct bpk_err *err)
{
	struct hashed *all, *prints = NULL;
	size_t count = 0, nprints = 0;
	int rc;

	/* digests that an index records for its numbers prove more */
	if (found->numbered || !found->counted)
		return 0;
	all = bpk_calloc(found->count + 1, sizeof *all, err);
	rc = all == NULL ? -1 : bpk_merge_list_prints(m, err);
	if (rc == 0)
		rc = list_hashed(place, found, all, &count, err);
	if (rc == 0)
		prints = list_all_prints(m, &nprints, err);
	if (prints == NULL)
		rc = -1;
	else
		qsort(all, count, sizeof *all, compare_hashes);
	for (size_t i = 0; rc == 0 && i + 1 < count; i++) {
		if (all[i].hash != all[i + 1].hash || is_repeated(prints, nprints, all[i].hash))
			continue;
		rc = doubt_twice(&all[i], found, err);
		break;
	}
	free(prints);
	free(all);
	return rc;
}

/* ---- The order of the union ---- */

/* *same: the chunks of two lists, at their places, have the same bytes. */
static int compare_chunks(const struct bpk_place *place, const struct bpk_salvage *found,
			  const struct bpk_saved *x, const struct bpk_place *other_place,
			  const struct bpk_salvage *other, const struct bpk_saved *y, bool *same,
			  struct bpk_err *err)
{
	struct bpk_buf left = { 0 }, right = { 0 };
	int rc = 0;

	*same = x->special == y->special && x->packed_size == y->packed_size;
	if (*same && x->special == BPK_SPECIAL_NONE) {
		rc = bpk_salvage_fetch(place, found, x, &left, err);
		if (rc == 0)
			rc = bpk_salvage_fetch(other_place, other, y, &right, err);
		*same = rc == 0 && memcmp(left.data, right.data, left.size) == 0;
	}
	bpk_buf_clear(&left);
	bpk_buf_clear(&right);
	return rc;
}

static int compare_copy(const struct bpk_merge *m, const struct bpk_place *place,
			const struct bpk_salvage *united, size_t copy, bool *same,
			struct bpk_err *err)
{
	const struct bpk_salvage *found = &m->found[copy];
	size_t i = 0, k = 0;

	*same = true;
	while (*same && i < united->count && k < found->count) {
		const struct bpk_saved *x = &united->all[i], *y = &found->all[k];

		if (x->number == y->number && x->intact && is_given(y) &&
		    compare_chunks(place, united, x, &m->copies[copy].place, found, y, same, err) !=
			    0)
			return bpk_input_subject(&m->copies[copy], err);
		i += x->number <= y->number;
		k += y->number <= x->number;
	}
	return 0;
}

static int note_contradiction(struct bpk_merge *m, struct bpk_err *err)
{
	static const char line[] = "the offsets of the result name other places than those of its "
				   "chunks: some were swapped or copied";

	return m->disorder.size > 0
		       ? 0
		       : bpk_buf_append(&m->disorder, bpk_view(line, sizeof line), err);
}

int bpk_merge_is_refuted(struct bpk_merge *m, bool *is, struct bpk_err *err)
{
	struct bpk_salvage united = { 0 };
	struct bpk_merge_view view;
	int rc;

	*is = m->is_refuted;
	if (*is)
		return 0;
	rc = bpk_merge_view_open(m, BPK_MERGE_UNION, NULL, &view, err);
	if (rc == 0 && m->format->salvage(&view.place, &united, err) != 0)
		rc = bpk_input_subject(&m->copies[0], err);
	if (rc == 0 && united.contradicted)
		rc = note_contradiction(m, err);
	for (size_t c = 0; rc == 0 && !m->is_refuted && c < m->ncopies; c++) {
		bool same = true;

		/* without digests a chunk that unpacks may be damaged */
		if (!m->dropped[c] && has_numbers(&m->found[c]) && m->found[c].proven)
			rc = compare_copy(m, &view.place, &united, c, &same, err);
		m->is_refuted = !same;
	}
	*is = m->is_refuted;
	bpk_salvage_clear(&united);
	bpk_merge_view_close(&view);
	return rc;
}
