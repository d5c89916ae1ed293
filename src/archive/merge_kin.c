/*
 * Tells copies of one archive from those of another. The numbers of chunks and the chunks of one
 * number tell them apart where both copies know these (merge_compare.c). A copy that has lost its
 * header or offsets has to show a sign: a chunk that another copy has, or whose digest it records,
 * or, beside a copy that knows its numbers, chunks that all lie where that one has lost some.
 * Called by merge_intact.c.
 *
 *     copy 0    header | A | B | C | # | # |
 *     copy 1    ###### | # | # | C | D | E |     C is in both
 *     copy 2    ###### | # | # | # | D | E |     no chunk is in copy 0 and here, but these fit, or
 *                                                a frame has their digests in its trailer
 *     copy 3    ###### | F | G | H | I | J |     F, G and H lie where copy 0 has others: refused
 */
#include "archive/merge_inner.h"

#include <inttypes.h>
#include <stdlib.h>

/* The place of a chunk in a file of a copy. */
struct spot {
	uint64_t at, size;
	size_t file;
	bool intact;
};

/* The knowledge of a copy. */
struct known {
	bool sure;         /* the numbers of its chunks */
	uint64_t raw_size; /* by its header; BPK_UNKNOWN: that is lost */
	uint64_t lost;     /* chunks, if sure */
	uint64_t *bytes;   /* hashes of its intact chunks, ascending */
	size_t count;
	struct spot *spots; /* ascending by file and offset */
	size_t nspots;
	size_t kin; /* the first of the copies that are known to belong together */
};

/* One thread's own. */
struct kinship {
	struct bpk_merge *merge;
	struct known all[BPK_MERGE_MOST];
	bool fit[BPK_MERGE_MOST][BPK_MERGE_MOST]; /* the first into the second; no more is known */
};

/* ---- One copy ---- */

static int compare_spots(const void *a, const void *b)
{
	const struct spot *x = a, *y = b;

	if (x->file != y->file)
		return x->file < y->file ? -1 : 1;
	return x->at < y->at ? -1 : x->at > y->at;
}

/* List where the chunks are, and those that are damaged, as far as that was found. */
static void list_spots(struct kinship *k, size_t copy)
{
	const struct bpk_salvage *found = &k->merge->found[copy];
	struct known *known = &k->all[copy];

	for (size_t i = 0; i < found->count; i++) {
		const struct bpk_saved *saved = &found->all[i];
		struct bpk_merge_file *file = bpk_merge_file_of(k->merge, found, saved);

		if (file == NULL || saved->packed_size == 0)
			continue;
		known->spots[known->nspots++] = (struct spot){
			.at = saved->offset,
			.size = (uint64_t)saved->packed_size + found->seal_size,
			.file = (size_t)(file - k->merge->files),
			.intact = saved->intact,
		};
	}
	qsort(known->spots, known->nspots, sizeof *known->spots, compare_spots);
}

static int list_copy(struct kinship *k, size_t copy, struct bpk_err *err)
{
	const struct bpk_salvage *found = &k->merge->found[copy];
	const struct bpk_merge_prints *prints = &k->merge->prints[copy];
	const struct bpk_merge_own *own = &k->merge->own[copy];
	struct known *known = &k->all[copy];

	known->kin = copy;
	known->sure = (own->intact && !found->contradicted) || bpk_merge_is_sure(found);
	known->raw_size = own->raw_size;
	known->bytes = bpk_calloc(prints->count + 1, sizeof *known->bytes, err);
	known->spots = bpk_calloc(found->count + 1, sizeof *known->spots, err);
	if (known->bytes == NULL || known->spots == NULL)
		return -1;
	for (size_t i = 0; i < prints->count; i++)
		known->bytes[known->count++] = prints->all[i].bytes;
	bpk_merge_sort_u64(known->bytes, known->count);
	known->lost = found->nchunks - bpk_min_u64(bpk_salvage_intact(found), found->nchunks);
	list_spots(k, copy);
	return 0;
}

/* ---- A chunk of one copy in another copy ---- */

/* True if the copy has these bytes there, though no chunk was found: holes of frames have some. */
static int has_there(const struct bpk_merge *m, size_t copy, const struct bpk_merge_print *print,
		     uint64_t at, uint64_t size, bool *is, struct bpk_err *err)
{
	const struct bpk_merge_file *file = &m->files[print->file];
	struct bpk_source *source = NULL;
	int rc;

	*is = false;
	if (file->sizes[copy] == BPK_UNKNOWN)
		return 0;
	if (bpk_merge_borrow(m, copy, file, &source, err) != 0)
		return -1;
	rc = bpk_merge_has_there(source, at, size, print->bytes, is, err);
	bpk_merge_release(m, source);
	return rc == 0 ? 0 : bpk_input_subject(&m->copies[copy], err);
}

/* True if a copy records this digest for the number, and for no other. */
static bool is_only_record(const struct bpk_salvage *found, uint64_t number, const uint8_t *digest)
{
	for (uint64_t n = 0; n < found->nchunks; n++) {
		const uint8_t *other = found->digest_of(found->parts, n);

		if (n != number && other != NULL &&
		    memcmp(other, digest, found->checksum->size) == 0)
			return false;
	}
	return true;
}

/* True if another copy records the digest of the chunk for its number. *digest: that one. */
static int is_recorded(struct bpk_merge *m, size_t copy, const struct bpk_merge_print *print,
		       size_t other, const uint8_t **digest, bool *is, struct bpk_err *err)
{
	const struct bpk_salvage *found = &m->found[other];
	const struct bpk_merge_run run = { .offset = print->offset,
					   .size = print->size - m->found[copy].seal_size,
					   .copy = copy };
	uint8_t own[BPK_DIGEST_MAX];
	struct bpk_buf bytes = { 0 };
	int rc;

	*digest = found->numbered && found->digest_of != NULL && print->number < found->nchunks
			  ? found->digest_of(found->parts, print->number)
			  : NULL;
	*is = false;
	if (*digest == NULL)
		return 0;
	rc = bpk_merge_read_run(m, &m->files[print->file], &run, &bytes, err);
	if (rc == 0)
		rc = bpk_checksum_compute(found->checksum, bpk_buf_view(&bytes), own, err);
	*is = rc == 0 && memcmp(own, *digest, found->checksum->size) == 0;
	bpk_buf_clear(&bytes);
	return rc;
}

/* The first spot of the file that begins at this offset or behind it. */
static size_t find_spot(const struct known *known, size_t file, uint64_t at)
{
	const struct spot key = { .at = at, .file = file };
	size_t low = 0, high = known->nspots;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (compare_spots(&known->spots[middle], &key) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* True if nothing that the copy has lies there, but a damaged chunk that begins there. */
static bool is_free(const struct known *known, size_t file, uint64_t at, uint64_t size)
{
	size_t i = find_spot(known, file, at);
	const struct spot *next = i < known->nspots ? &known->spots[i] : NULL;
	const struct spot *before = i > 0 ? &known->spots[i - 1] : NULL;

	if (before != NULL && before->file == file && at - before->at < before->size)
		return false;
	return next == NULL || next->file != file || next->at - at >= size ||
	       (next->at == at && !next->intact);
}

/* ---- Two copies ---- */

/* The intact chunks of one copy, as the other one has them. */
struct tally {
	uint64_t common;            /* it has them, or their digests */
	uint64_t unique;            /* once, and so has the copy: zeros may be in any archive */
	uint64_t inner, outer, odd; /* in its holes; behind its end; where it has others */
};

/* True if one of the hashes, ascending, is that one, and no other. */
static bool has_once(const struct known *known, uint64_t hash)
{
	const uint64_t *all = known->bytes;
	size_t i;

	if (!bpk_merge_has_u64(all, known->count, hash))
		return false;
	i = bpk_find_last(all, sizeof hash, known->count, hash);
	return i == 0 || all[i - 1] != hash;
}

/* The chunks without a like, all of them as far from their places as bytes are missing. */
static int count_others(const struct kinship *k, size_t copy, size_t other, bool shifted,
			struct tally *tally, struct bpk_err *err)
{
	struct bpk_merge *m = k->merge;
	const struct bpk_merge_prints *prints = &m->prints[copy];
	const struct known *known = &k->all[other];

	*tally = (struct tally){ 0 };
	for (size_t i = 0; i < prints->count; i++) {
		const struct bpk_merge_print *print = &prints->all[i];
		const struct bpk_merge_file *file = &m->files[print->file];
		uint64_t end = file->sizes[other];
		/* a place before the start wraps around, and is behind the end */
		uint64_t at = print->offset - (shifted ? file->sizes[copy] - end : 0);
		bool is = bpk_merge_has_u64(known->bytes, known->count, print->bytes);
		bool once = has_once(known, print->bytes);
		const uint8_t *digest = NULL;

		if (!is && has_there(m, other, print, at, print->size - m->found[copy].seal_size,
				     &is, err) != 0)
			return -1;
		if (!is && is_recorded(m, copy, print, other, &digest, &is, err) != 0)
			return -1;
		if (is && digest != NULL && tally->unique == 0)
			once = is_only_record(&m->found[other], print->number, digest);
		tally->unique += print->once && once;
		if (is)
			tally->common++;
		else if (!is_free(known, print->file, at, print->size))
			tally->odd++;
		else if (end == BPK_UNKNOWN || at > end || print->size > end - at)
			tally->outer++;
		else
			tally->inner++;
	}
	return 0;
}

static int count_chunks(const struct kinship *k, size_t copy, size_t other, struct tally *tally,
			struct bpk_err *err)
{
	struct tally shifted;

	if (count_others(k, copy, other, false, tally, err) != 0)
		return -1;
	if (tally->odd + tally->outer == 0 || k->merge->names != NULL ||
	    k->merge->files[0].sizes[copy] == k->merge->files[0].sizes[other])
		return 0;
	if (count_others(k, copy, other, true, &shifted, err) != 0)
		return -1;
	if (shifted.odd < tally->odd || (shifted.odd == tally->odd && shifted.outer < tally->outer))
		*tally = shifted;
	return 0;
}

/* True if the sizes of the copy's chunks are none of the other's. */
static bool has_other_sizes(const struct bpk_merge *m, size_t copy, size_t other)
{
	const struct bpk_merge_prints *prints = &m->prints[copy];
	const struct bpk_salvage *x = &m->found[copy], *y = &m->found[other];
	uint64_t others = 0;

	for (size_t i = 0; i < prints->count; i++)
		others += prints->all[i].raw_size != y->chunk_size;
	if (x->typesize != 0 && y->typesize != 0 && x->typesize != y->typesize)
		return !y->uneven;
	return !y->uneven && others > 1 && y->chunk_size != 0;
}

/* The verdict on a copy whose numbers are not certain beside one with certain ones. */
static bool contradicts(const struct kinship *k, size_t copy, size_t other,
			const struct tally *tally)
{
	const struct bpk_merge *m = k->merge;
	bool proven = m->found[copy].proven && m->found[other].proven;
	uint64_t allowed = k->all[other].lost;

	/* without digests chunks that unpack may be damaged, but not most of them */
	if (!proven)
		allowed += tally->common;
	return tally->common > 0 && tally->odd + tally->outer > allowed;
}

static bool fits(const struct kinship *k, size_t copy, size_t other, const struct tally *tally)
{
	return tally->odd == 0 && tally->inner + tally->outer <= k->all[other].lost &&
	       !has_other_sizes(k->merge, copy, other);
}

static int fail_strange(const struct kinship *k, size_t copy, size_t other,
			const struct tally *tally, struct bpk_err *err)
{
	const struct bpk_input *copies = k->merge->copies;
	size_t a = copy < other ? copy : other, b = copy < other ? other : copy;

	if (tally->common == 0)
		return bpk_fail(err, BPK_FAILED,
				"%s and %s are not copies of one archive: no intact chunk is in "
				"both",
				copies[a].path, copies[b].path);
	return bpk_fail(err, BPK_FAILED,
			"%s and %s are not copies of one archive: of the chunks that are intact in "
			"%s, %" PRIu64 " are not those of the other",
			copies[a].path, copies[b].path, copies[copy].path,
			tally->odd + tally->outer);
}

static void join(struct kinship *k, size_t a, size_t b)
{
	size_t from = k->all[a].kin, to = k->all[b].kin;

	for (size_t c = 0; c < k->merge->ncopies; c++)
		if (k->all[c].kin == from)
			k->all[c].kin = to;
}

/* True if merge_compare.c has compared them: the search found certain numbers in both. */
static bool are_compared(const struct bpk_merge *m, size_t a, size_t b)
{
	return bpk_merge_is_sure(&m->found[a]) && bpk_merge_is_sure(&m->found[b]);
}

/* The header of another archive may tell it from a copy. */
static int compare_headers(const struct kinship *k, size_t a, size_t b, struct bpk_err *err)
{
	uint64_t x = k->all[a].raw_size, y = k->all[b].raw_size;

	return x == BPK_UNKNOWN || y == BPK_UNKNOWN || x == y
		       ? 0
		       : bpk_merge_fail_other(k->merge, a, b, "raw bytes", x, y, err);
}

/* True if two directories record the same digests over all chunks: one of them may have lost every
 * chunk, or files were copied or exchanged. */
static bool have_same_digests(const struct bpk_merge *m, size_t a, size_t b)
{
	return m->names != NULL && m->found[a].state != 0 && m->found[a].state == m->found[b].state;
}

/* Join a copy to another one that has chunks of it. If its chunks may be that one's, as they fit
 * into its holes, this is noted. */
static int compare_with(struct kinship *k, size_t copy, size_t other, struct bpk_err *err)
{
	bool sure = k->all[copy].sure && k->all[other].sure;
	struct tally tally;

	if (count_chunks(k, copy, other, &tally, err) != 0)
		return -1;
	if (k->all[other].sure && contradicts(k, copy, other, &tally))
		return fail_strange(k, copy, other, &tally, err);
	/* an archive may begin with all of another one */
	if (sure && tally.common > 0 &&
	    compare_headers(k, copy < other ? copy : other, copy < other ? other : copy, err) != 0)
		return -1;
	/* one with certain numbers has chunks that any other has, not only room for them */
	if (tally.unique > 0)
		join(k, copy, other);
	k->fit[copy][other] = tally.common > 0 || (k->all[other].sure && !k->all[copy].sure &&
						   fits(k, copy, other, &tally));
	return 0;
}

/* Join two copies that belong together. Of those without certain numbers each may have the digests
 * of the other one's chunks. */
static int compare_pair(struct kinship *k, size_t a, size_t b, struct bpk_err *err)
{
	size_t copy = k->all[a].sure ? b : a, other = k->all[a].sure ? a : b;

	if (have_same_digests(k->merge, a, b) ||
	    (k->all[a].sure && k->all[b].sure && are_compared(k->merge, a, b))) {
		join(k, a, b);
		return 0;
	}
	if (compare_with(k, copy, other, err) != 0)
		return -1;
	return k->all[other].sure ? 0 : compare_with(k, other, copy, err);
}

/* Join the copies that fit, where nothing else did. */
static void join_fitting(struct kinship *k)
{
	for (size_t copy = 0; copy < k->merge->ncopies; copy++)
		for (size_t other = 0; other < k->merge->ncopies; other++) {
			if (!k->fit[copy][other] || k->all[copy].kin == k->all[other].kin)
				continue;
			join(k, copy, other);
			k->merge->lone = k->merge->copies[copy].path;
		}
}

/* ---- All ---- */

/* A copy without an intact chunk gives none, and needs no sign. */
static bool is_empty(const struct kinship *k, size_t copy)
{
	return k->all[copy].count == 0 && !k->all[copy].sure;
}

static int compare_all(struct kinship *k, struct bpk_err *err)
{
	const struct tally none = { 0 };
	size_t first = BPK_MERGE_MOST;

	for (size_t b = 1; b < k->merge->ncopies; b++)
		for (size_t a = 0; a < b; a++)
			if ((is_empty(k, a) || is_empty(k, b) ? compare_headers(k, a, b, err)
							      : compare_pair(k, a, b, err)) != 0)
				return -1;
	join_fitting(k);
	for (size_t c = 0; c < k->merge->ncopies; c++) {
		if (is_empty(k, c))
			continue;
		if (first == BPK_MERGE_MOST)
			first = c;
		if (k->all[c].kin != k->all[first].kin)
			return fail_strange(k, first, c, &none, err);
	}
	return 0;
}

int bpk_merge_check_kin(struct bpk_merge *m, struct bpk_err *err)
{
	struct kinship k = { .merge = m };
	int rc = bpk_merge_list_prints(m, err);

	for (size_t c = 0; rc == 0 && c < m->ncopies; c++)
		rc = list_copy(&k, c, err);
	if (rc == 0)
		rc = compare_all(&k, err);
	for (size_t c = 0; c < m->ncopies; c++) {
		free(k.all[c].bytes);
		free(k.all[c].spots);
	}
	return rc;
}
