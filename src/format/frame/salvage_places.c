/*
 * Finds the chunks of a damaged contiguous frame where its index says they are: there, or as many
 * bytes before or behind as came or went. salvage.c calls it.
 *
 *     by the index    |  0  |  1  |  2  |  3  |  4  |
 *     in the file     |  0  | X 1 |  2  |  3 X|  4  |      X: bytes were inserted
 *                                 moved       moved by more
 */
#include "format/frame/salvage.h"

#include <stdlib.h>

enum {
	TRIES = 8,       /* chunks and entries by which the place of the payload is looked for */
	AHEAD = 1 << 12, /* entries that are tried for a chunk, which may be that many lost ones */
};

/* ---- By places ---- */

/* Leave the last entries out that lead further behind the index than all chunks could fill if they
 * were lost. */
static void count_plausible(struct bpk_frame_table *table, const struct bpk_salvage *found)
{
	uint64_t end = table->left->index.start;
	uint64_t most = (uint64_t)found->chunk_size + BPK_CHUNK_EXTENDED_HEADER_SIZE;
	size_t count = table->nkeys;

	while (count > 0 && table->keys[count - 1].key > end &&
	       (table->keys[count - 1].key - end) / table->nkeys > most)
		count--;
	table->nplausible = count;
}

/* Test the chunks where the index says they are, moved by shift bytes. */
static int test_places(struct bpk_scan *scan, struct bpk_frame_table *table, int64_t shift,
		       struct bpk_err *err)
{
	const struct bpk_frame_left *left = table->left;
	struct bpk_saved saved = { .offset = BPK_UNKNOWN };
	bool is = false;

	for (size_t i = 0; i < table->nkeys; i++) {
		uint64_t number = table->keys[i].number;
		uint64_t at = left->payload + table->keys[i].key + (uint64_t)shift;

		if (table->all[number].intact || at > scan->size)
			continue;
		/* an index may lead to a chunk many times */
		if (saved.offset != at) {
			saved = (struct bpk_saved){ .offset = at };
			if (bpk_frame_bring(scan, at, left->digests.checksum,
					    bpk_frame_left_digest(left, number), &saved, &is,
					    err) != 0)
				return -1;
		}
		if (is)
			bpk_frame_table_set(table, number, &saved);
	}
	return 0;
}

/* Count the chunks that are where the index says if the payload begins at start. */
static size_t count_places(const struct bpk_frame_table *table, const struct bpk_salvage *found,
			   uint64_t start)
{
	size_t count = 0, i = 0;

	for (size_t k = 0; k < table->nkeys && i < found->count; k++) {
		int64_t at = (int64_t)(start + table->keys[k].key);

		while (i < found->count && (int64_t)found->all[i].offset < at)
			i++;
		count += i < found->count && (int64_t)found->all[i].offset == at;
	}
	return count;
}

/* Find the payload without a header: where most entries lead to chunks. The last ones are tried,
 * and the first. */
static void find_payload(struct bpk_frame_left *left, const struct bpk_frame_table *table,
			 const struct bpk_salvage *found)
{
	size_t most = 0, nkeys = table->nplausible;

	for (size_t t = 0; t < TRIES * TRIES * 2; t++) {
		size_t i = t / 2 / TRIES, k = t / 2 % TRIES, count;
		uint64_t start;

		if (i >= found->count || k >= nkeys)
			continue;
		if (t % 2 == 0) {
			i = found->count - 1 - i;
			k = nkeys - 1 - k;
		}
		start = found->all[i].offset - table->keys[k].key;
		count = count_places(table, found, start);
		if (count > most) {
			most = count;
			left->payload = start;
		}
	}
}

/* ---- Bytes that came or went ---- */

/* Chunks that are not where the index says lie between two that are. */
struct stretch {
	size_t first_key, end_key;     /* of the chunks that lie there by the index */
	size_t first_chunk, end_chunk; /* and of those that were found there */
};

/* True if the chunk has as many bytes as there are from this one to the next in the index; the last
 * one is short, or ends where the index begins. */
static bool fits(const struct bpk_frame_table *table, size_t k, const struct bpk_saved *chunk,
		 uint32_t chunk_size)
{
	uint64_t key = table->keys[k].key;

	for (size_t i = k + 1; i < table->nplausible; i++)
		if (table->keys[i].key > key)
			return chunk->packed_size == table->keys[i].key - key;
	return chunk->raw_size < chunk_size ||
	       chunk->offset + chunk->packed_size == table->left->index.start;
}

/* Give the chunks of a stretch, in order, to the first entries that they fit. */
static size_t fill_stretch(struct bpk_frame_table *table, const struct bpk_salvage *found,
			   const struct stretch *stretch)
{
	size_t k = stretch->first_key, count = 0;
	size_t last = bpk_min_size(stretch->end_key, table->nplausible);

	for (size_t i = stretch->first_chunk; i < stretch->end_chunk; i++) {
		const struct bpk_saved *chunk = &found->all[i];
		size_t fit = k, end = bpk_min_size(last, k + AHEAD);

		while (fit < end && !(chunk->intact && fits(table, fit, chunk, found->chunk_size)))
			fit++;
		if (fit >= end || !bpk_frame_table_set(table, table->keys[fit].number, chunk))
			continue;
		count++;
		k = fit + 1;
	}
	return count;
}

static const struct bpk_saved *saved_of(const struct bpk_frame_table *table, size_t k)
{
	return &table->all[table->keys[k].number];
}

/* How far a chunk lies from where the index says. */
static int64_t shift_of(const struct bpk_frame_table *table, size_t k)
{
	return (int64_t)(saved_of(table, k)->offset - table->left->payload - table->keys[k].key);
}

/*
 * True if a chunk of the stretch holds the place where the index says that another begins, though
 * the chunks around it have moved by shift bytes alone. A replaced chunk does not: it lies between
 * such places.
 */
static bool has_moved(const struct bpk_frame_table *table, const struct bpk_salvage *found,
		      const struct stretch *stretch, int64_t shift)
{
	uint64_t start = table->left->payload + (uint64_t)shift;
	size_t k = stretch->first_key;

	for (size_t i = stretch->first_chunk; i < stretch->end_chunk; i++) {
		const struct bpk_saved *chunk = &found->all[i];

		while (k < table->nkeys &&
		       (int64_t)(start + table->keys[k].key) <= (int64_t)chunk->offset)
			k++;
		if (k < table->nkeys &&
		    start + table->keys[k].key < chunk->offset + chunk->packed_size)
			return true;
	}
	return false;
}

/* Fill the stretches where bytes came or went. *count: chunks that were given numbers so. */
static size_t fill_stretches(struct bpk_frame_table *table, const struct bpk_salvage *found,
			     int64_t last_shift)
{
	struct stretch stretch = { 0 };
	int64_t shift = table->left->has_header ? 0 : INT64_MIN; /* at its start */
	size_t count = 0;

	for (size_t k = 0; k <= table->nkeys; k++) {
		bool is_end = k == table->nkeys;
		uint64_t at = is_end ? UINT64_MAX : saved_of(table, k)->offset;
		int64_t now;

		if (!is_end && !saved_of(table, k)->intact)
			continue;
		now = is_end ? last_shift : shift_of(table, k);
		stretch.end_key = k;
		while (stretch.end_chunk < found->count &&
		       found->all[stretch.end_chunk].offset < at)
			stretch.end_chunk++;
		if (stretch.first_key < k &&
		    (now != shift || has_moved(table, found, &stretch, shift)))
			count += fill_stretch(table, found, &stretch);
		stretch.first_key = k + 1;
		stretch.first_chunk =
			stretch.end_chunk + (stretch.end_chunk < found->count &&
					     found->all[stretch.end_chunk].offset == at);
		shift = now;
	}
	return count;
}

/* How far the index has moved, if the header says where it was. */
static int64_t shift_of_index(const struct bpk_frame_left *left)
{
	uint64_t place;

	if (!left->has_header || left->is_old)
		return INT64_MIN;
	place = left->payload + left->header.packed_size;
	return (int64_t)(left->index.start - place);
}

/* ---- A damaged index ---- */

/* Sort the offsets of the table's chunks into sorted, *n of them. */
static int sort_taken(const struct bpk_frame_table *table, uint64_t **sorted, size_t *n,
		      struct bpk_err *err)
{
	*n = 0;
	*sorted = bpk_calloc(table->nkeys + 1, sizeof **sorted, err);
	if (*sorted == NULL)
		return -1;
	for (size_t k = 0; k < table->nkeys; k++)
		if (saved_of(table, k)->intact)
			(*sorted)[(*n)++] = saved_of(table, k)->offset;
	qsort(*sorted, *n, sizeof **sorted, bpk_frame_compare_entries);
	return 0;
}

/* The number of chunks that have no entry, without larger ones than usual, if there is a usual
 * size. */
static int count_unnamed(const struct bpk_frame_table *table, const struct bpk_salvage *found,
			 size_t *count, struct bpk_err *err)
{
	bool uneven = bpk_frame_left_is_uneven(table->left, found);
	uint64_t *sorted;
	size_t n;

	*count = 0;
	if (sort_taken(table, &sorted, &n, err) != 0)
		return -1;
	for (size_t i = 0; i < found->count; i++)
		*count += found->all[i].intact &&
			  (uneven || found->all[i].raw_size <= found->chunk_size) &&
			  bsearch(&found->all[i].offset, sorted, n, sizeof *sorted,
				  bpk_frame_compare_entries) == NULL;
	free(sorted);
	return 0;
}

/* True if the bytes at offset at are outside of the payload, or inside an intact chunk. */
static bool is_taken(const struct bpk_frame_left *left, const struct bpk_salvage *found,
		     uint64_t at)
{
	const struct bpk_saved *before;

	if ((int64_t)at < 0) /* before the start of a file that has lost it */
		return false;
	if (at >= left->index.start)
		return true;
	if (found->count == 0)
		return false;
	before = &found->all[bpk_find_last(&found->all->offset, sizeof *found->all, found->count,
					   at)];
	return before->offset <= at && before->intact && at - before->offset < before->packed_size;
}

/* True if an entry without a chunk can lead to none that is lost, wherever bytes came or went. */
static bool has_wrong_entry(const struct bpk_frame_table *table, const struct bpk_salvage *found,
			    int64_t last_shift)
{
	const struct bpk_frame_left *left = table->left;
	int64_t shift = 0;

	for (size_t k = 0; k < table->nkeys; k++) {
		uint64_t at = left->payload + table->keys[k].key;

		if (saved_of(table, k)->intact)
			shift = shift_of(table, k);
		else if (is_taken(left, found, at + (uint64_t)shift) &&
			 (last_shift == INT64_MIN ||
			  is_taken(left, found, at + (uint64_t)last_shift)))
			return true;
	}
	return false;
}

/*
 * *is: the index, which has no digest of its own, leads away from chunks that are there: from all
 * but one, which any index fits, or to places where none can be. Else those it does not lead to may
 * have been replaced.
 */
static int is_index_damaged(const struct bpk_frame_table *table, const struct bpk_salvage *found,
			    int64_t last_shift, bool *is, struct bpk_salvage *salvage,
			    struct bpk_err *err)
{
	size_t unnamed, named = 0;

	*is = false;
	if (count_unnamed(table, found, &unnamed, err) != 0)
		return -1;
	for (size_t k = 0; k < table->nkeys; k++)
		named += saved_of(table, k)->intact;
	if (unnamed == 0 || named == table->nkeys)
		return 0;
	*is = named <= 1 || has_wrong_entry(table, found, last_shift);
	return *is ? 0
		   : bpk_salvage_doubt(
			     salvage,
			     "intact chunks that no entry of the index leads to, since it "
			     "is damaged or they were replaced, are left out",
			     err);
}

/* ---- Ways ---- */

/* The header is not of a later state if bytes went before the index: chunks have moved as far as
 * that, or the last one does not end before it. */
static int test_cut(struct bpk_scan *scan, const struct bpk_frame_table *table, int64_t shift,
		    struct bpk_frame_left *left, struct bpk_err *err)
{
	struct bpk_chunk_header last;
	const uint8_t *bytes;
	uint64_t at;

	for (size_t k = 0; left->is_cut && k < table->nkeys; k++)
		left->is_cut = !saved_of(table, k)->intact || shift_of(table, k) != shift;
	if (!left->is_cut || table->nplausible == 0)
		return 0;
	at = left->payload + table->keys[table->nplausible - 1].key;
	left->is_cut = at < left->index.start;
	if (!left->is_cut)
		return 0;
	if (bpk_scan_see(scan, at, BPK_CHUNK_EXTENDED_HEADER_SIZE, &bytes, err) != 0)
		return -1;
	left->is_cut = bpk_chunk_header_read(bpk_view(bytes, BPK_CHUNK_EXTENDED_HEADER_SIZE), &last,
					     NULL) == 0 &&
		       at + last.packed_size <= left->index.start;
	return 0;
}

static int doubt_filled(size_t filled, struct bpk_salvage *salvage, struct bpk_err *err)
{
	return filled == 0 ? 0
			   : bpk_salvage_doubt(salvage,
					       "bytes came or went in several places, and the "
					       "numbers of chunks between these follow from their "
					       "order and sizes",
					       err);
}

int bpk_frame_number_by_index(struct bpk_scan *scan, struct bpk_frame_left *left,
			      struct bpk_frame_table *table, const struct bpk_salvage *found,
			      bool *damaged, struct bpk_salvage *salvage, struct bpk_err *err)
{
	int64_t shift;
	size_t filled = 0;

	count_plausible(table, found);
	if (left->payload == BPK_UNKNOWN)
		find_payload(left, table, found);
	*damaged = left->payload == BPK_UNKNOWN;
	if (*damaged)
		return 0;
	shift = shift_of_index(left);
	if (test_places(scan, table, 0, err) != 0)
		return -1;
	if (shift != 0) {
		if ((shift != INT64_MIN && test_places(scan, table, shift, err) != 0) ||
		    test_cut(scan, table, shift, left, err) != 0)
			return -1;
		filled = fill_stretches(table, found, shift);
	}
	if (is_index_damaged(table, found, shift, damaged, salvage, err) != 0)
		return -1;
	return *damaged ? 0 : doubt_filled(filled, salvage, err);
}

/* Find the chunks before the index. */
static int find_payload_chunks(struct bpk_scan *scan, const struct bpk_frame_left *left,
			       struct bpk_salvage *found, struct bpk_err *err)
{
	if (bpk_frame_find_chunks(scan, 0, found, err) != 0)
		return -1;
	while (found->count > 0 && found->all[found->count - 1].offset >= left->index.start)
		found->count--;
	return bpk_salvage_find_chunk_size(found, err);
}

int bpk_frame_take_loaded(struct bpk_scan *scan, struct bpk_frame_table *table,
			  struct bpk_salvage *found, bool *damaged, struct bpk_salvage *salvage,
			  struct bpk_err *err)
{
	size_t filled;

	if (test_places(scan, table, 0, err) != 0)
		return -1;
	if (bpk_frame_table_is_full(table))
		return 0;
	if (table->left->digests.checksum != NULL) {
		scan->specials = table->left->header.chunk_size == 0;
		bpk_frame_table_sort(table, true);
		return bpk_frame_find_by_digests(scan, 0, table, err);
	}
	if (find_payload_chunks(scan, table->left, found, err) != 0)
		return -1;
	count_plausible(table, found);
	filled = fill_stretches(table, found, 0);
	if (is_index_damaged(table, found, 0, damaged, salvage, err) != 0)
		return -1;
	return *damaged ? 0 : doubt_filled(filled, salvage, err);
}
