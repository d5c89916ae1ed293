/*
 * Finds the chunks of a damaged contiguous frame: bpk_format.salvage. Its row is in formats.c.
 *
 *     header and index are there   the index leads to the chunks
 *     a trailer with digests       the file is searched for chunks that have one of them
 *     an index                     it leads to the chunks, or to as many bytes before or behind them
 *                                  as came or went
 *     nothing                      the file is searched for chunks that unpack, in its order
 */
#include "format/frame/salvage.h"

#include <stdlib.h>

enum { TRIES = 8 }; /* chunks and entries by which the place of the payload is looked for */

/* ---- The search ---- */

/* *is: something that may come behind a chunk begins at offset at. */
static int look_behind(struct bpk_scan *scan, uint64_t at, bool *is, struct bpk_err *err)
{
	static const uint8_t trailer[] = { 0x94, 1, 0x93, 0xcd }; /* "Trailer" */
	struct bpk_chunk_header next;
	const uint8_t *bytes;

	*is = at == scan->size;
	if (scan->size - at < sizeof trailer)
		return 0;
	if (bpk_scan_see(scan, at, sizeof trailer, &bytes, err) != 0)
		return -1;
	*is = memcmp(bytes, trailer, sizeof trailer) == 0;
	return *is ? 0 : bpk_scan_look(scan, at, &next, is, err);
}

/*
 * Of two chunks that share bytes the first is damaged if the second ends behind it, since bytes are
 * missing; or if it is packed, and both are alike, since its size is wrong. Else the second is a part
 * of its data.
 */
static bool is_inside(const struct bpk_saved *outer, const struct bpk_saved *chunk)
{
	bool is_stored = outer->packed_size - outer->raw_size == BPK_CHUNK_EXTENDED_HEADER_SIZE;

	return chunk->offset + chunk->packed_size <= outer->offset + outer->packed_size &&
	       (is_stored || chunk->raw_size != outer->raw_size);
}

static void settle_overlaps(struct bpk_salvage *found)
{
	size_t kept = 0;

	for (size_t i = 0; i < found->count; i++) {
		struct bpk_saved chunk = found->all[i];
		struct bpk_saved *last = kept > 0 ? &found->all[kept - 1] : NULL;

		if (last != NULL && chunk.offset - last->offset < last->packed_size) {
			if (is_inside(last, &chunk))
				continue;
			last->packed_size = (uint32_t)(chunk.offset - last->offset);
			last->intact = false;
		}
		found->all[kept++] = chunk;
	}
	found->count = kept;
}

int bpk_frame_find_chunks(struct bpk_scan *scan, struct bpk_salvage *found, struct bpk_err *err)
{
	struct bpk_chunk_header header;
	struct bpk_saved saved;
	bool is, followed;

	for (uint64_t at = 0; at < scan->size;) {
		if (bpk_scan_look(scan, at, &header, &is, err) != 0)
			return -1;
		if (!is) {
			at++;
			continue;
		}
		saved = (struct bpk_saved){ 0 };
		if (bpk_frame_bring(scan, at, NULL, NULL, &saved, &is, err) != 0 ||
		    look_behind(scan, at + header.packed_size, &followed, err) != 0)
			return -1;
		if (!is && !followed) {
			at++;
			continue;
		}
		if (bpk_salvage_add(found, &saved, err) != 0)
			return -1;
		/* without one behind it, its end may be wrong */
		at += followed ? header.packed_size : 1;
	}
	settle_overlaps(found);
	return 0;
}

/* ---- By digests ---- */

int bpk_frame_find_by_digests(struct bpk_scan *scan, uint64_t file, struct bpk_frame_table *table,
			      struct bpk_err *err)
{
	struct bpk_chunk_header header;
	bool is;

	for (uint64_t at = 0; at < scan->size;) {
		struct bpk_saved saved = { .file = file, .offset = at, .intact = true };

		if (bpk_scan_look(scan, at, &header, &is, err) != 0)
			return -1;
		saved.packed_size = header.packed_size;
		saved.raw_size = header.raw_size;
		if (is && (bpk_scan_bring(scan, at, header.packed_size, 0, err) != 0 ||
			   bpk_frame_table_take(table, bpk_buf_view(&scan->chunk), &saved, &is,
						err) != 0))
			return -1;
		at += is ? header.packed_size : 1;
	}
	return 0;
}

/* ---- By places ---- */

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
	size_t most = 0;

	for (size_t t = 0; t < TRIES * TRIES * 2; t++) {
		size_t i = t / 2 / TRIES, k = t / 2 % TRIES, count;
		uint64_t start;

		if (i >= found->count || k >= table->nkeys)
			continue;
		if (t % 2 == 0) {
			i = found->count - 1 - i;
			k = table->nkeys - 1 - k;
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

	for (size_t i = k + 1; i < table->nkeys; i++)
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

	for (size_t i = stretch->first_chunk; i < stretch->end_chunk; i++) {
		const struct bpk_saved *chunk = &found->all[i];
		size_t fit = k;

		while (fit < stretch->end_key &&
		       !(chunk->intact && fits(table, fit, chunk, found->chunk_size)))
			fit++;
		if (fit == stretch->end_key ||
		    !bpk_frame_table_set(table, table->keys[fit].number, chunk))
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

	for (size_t i = stretch->first_chunk; i < stretch->end_chunk; i++) {
		const struct bpk_saved *chunk = &found->all[i];
		size_t k = stretch->first_key;

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

static int compare_offsets(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

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
	qsort(*sorted, *n, sizeof **sorted, compare_offsets);
	return 0;
}

/* The number of chunks that have no entry, without larger ones than usual. */
static int count_unnamed(const struct bpk_frame_table *table, const struct bpk_salvage *found,
			 size_t *count, struct bpk_err *err)
{
	uint64_t *sorted;
	size_t n;

	*count = 0;
	if (sort_taken(table, &sorted, &n, err) != 0)
		return -1;
	for (size_t i = 0; i < found->count; i++)
		*count += found->all[i].intact && found->all[i].raw_size <= found->chunk_size &&
			  bsearch(&found->all[i].offset, sorted, n, sizeof *sorted,
				  compare_offsets) == NULL;
	free(sorted);
	return 0;
}

/* True if the bytes at offset at are outside of the payload, or inside an intact chunk. */
static bool is_taken(const struct bpk_frame_left *left, const struct bpk_salvage *found,
		     uint64_t at)
{
	size_t low = 0, high = found->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (found->all[middle].offset <= at)
			low = middle + 1;
		else
			high = middle;
	}
	if ((int64_t)at < 0) /* before the start of a file that has lost it */
		return false;
	return at >= left->index.start ||
	       (low > 0 && found->all[low - 1].intact &&
		at - found->all[low - 1].offset < found->all[low - 1].packed_size);
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
 * *is: the index, which has no digest of its own, leads away from chunks that are there: from all but
 * one, which any index fits, or to places where none can be. Else those it does not lead to may have been replaced.
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

static int doubt_filled(size_t filled, struct bpk_salvage *salvage, struct bpk_err *err)
{
	return filled == 0 ? 0
			   : bpk_salvage_doubt(salvage,
					       "bytes came or went in several places, and the "
					       "numbers of chunks between these follow from their "
					       "order and sizes",
					       err);
}

/* *damaged: the index turns out to be. */
static int number_by_index(struct bpk_scan *scan, struct bpk_frame_left *left,
			   struct bpk_frame_table *table, const struct bpk_salvage *found,
			   bool *damaged, struct bpk_salvage *salvage, struct bpk_err *err)
{
	int64_t shift;
	size_t filled = 0;

	if (left->payload == BPK_UNKNOWN)
		find_payload(left, table, found);
	*damaged = left->payload == BPK_UNKNOWN;
	if (*damaged)
		return 0;
	shift = shift_of_index(left);
	if (test_places(scan, table, 0, err) != 0)
		return -1;
	if (shift != 0) {
		if (shift != INT64_MIN && test_places(scan, table, shift, err) != 0)
			return -1;
		filled = fill_stretches(table, found, shift);
	}
	if (is_index_damaged(table, found, shift, damaged, salvage, err) != 0)
		return -1;
	return *damaged ? 0 : doubt_filled(filled, salvage, err);
}

/* The place of the last chunk of chunk_size bytes; the count if there is none. */
static size_t find_last_full(const struct bpk_salvage *found)
{
	size_t last = found->count;

	for (size_t i = 0; i < found->count; i++)
		if (found->all[i].raw_size == found->chunk_size)
			last = i;
	return last;
}

/* About the number of chunks before this one: an index of them has no more entries. */
static uint64_t count_at_most(const struct bpk_saved *chunk, const struct bpk_saved *usual)
{
	return chunk->offset / usual->packed_size + 1;
}

/*
 * True if chunk i is the short one that ends the data, behind the last full one. If no header has its
 * size, and it does not follow that, it is told from a packed layer of the trailer
 * by its elements, as those of layers have one byte, and from a damaged index by having more.
 */
static bool is_end(const struct bpk_frame_left *left, const struct bpk_salvage *found, size_t full,
		   size_t i)
{
	const struct bpk_saved *chunk = &found->all[i], *before = &found->all[full];
	uint64_t n = left->has_fields ? bpk_frame_count(&left->header) : 0;

	if (chunk->raw_size >= found->chunk_size)
		return false;
	if (n > 0 && !left->is_old)
		return chunk->raw_size == bpk_frame_left_size(left, n - 1);
	if (chunk->typesize == sizeof(uint64_t) &&
	    chunk->raw_size / sizeof(uint64_t) <= count_at_most(chunk, before))
		return false;
	return before->offset + before->packed_size == chunk->offset ||
	       (chunk->typesize == before->typesize && chunk->typesize > 1);
}

/* Drop the chunks of other sizes. */
static void drop_others(const struct bpk_frame_left *left, struct bpk_salvage *found)
{
	size_t full = find_last_full(found), kept = 0;
	bool ended = false;

	for (size_t i = 0; i < found->count; i++) {
		const struct bpk_saved chunk = found->all[i];
		bool is_last = !ended && full < i && is_end(left, found, full, i);

		ended = ended || is_last;
		if (chunk.raw_size == found->chunk_size || is_last)
			found->all[kept++] = chunk;
		else
			found->nothers += chunk.intact;
	}
	found->count = kept;
}

/* Take the chunks by their order alone. Of the file, the payload ends before the other parts. */
static int take_in_order(struct bpk_scan *scan, const struct bpk_frame_left *left,
			 struct bpk_salvage *found, struct bpk_salvage *salvage,
			 struct bpk_err *err)
{
	uint64_t end = scan->size;
	uint64_t start = left->payload > end ? BPK_UNKNOWN : left->payload;

	if (left->trailer.end > 0)
		end = left->trailer.start;
	if (left->has_fields && left->header.chunk_size > 0)
		found->chunk_size = (uint32_t)left->header.chunk_size;
	else if (bpk_salvage_find_chunk_size(found, err) != 0)
		return -1;
	drop_others(left, found);
	for (size_t i = 0; i < found->count; i++)
		if (bpk_salvage_add(salvage, &found->all[i], err) != 0)
			return -1;
	salvage->chunk_size = found->chunk_size;
	salvage->nothers = found->nothers;
	return bpk_frame_number_by_order(left, start, end, salvage, err);
}

int bpk_frame_doubt_specials(const struct bpk_frame_table *table, struct bpk_salvage *salvage,
			     struct bpk_err *err)
{
	const struct bpk_frame_left *left = table->left;

	for (uint64_t n = 0; left->entries.size == 0 && n < left->nchunks; n++)
		if (bpk_frame_left_digest(left, n) == NULL)
			return bpk_salvage_doubt(
				salvage, "the index is lost, and with it chunks of zeros or NaN",
				err);
	return 0;
}

static int take_by_digests(struct bpk_scan *scan, struct bpk_frame_table *table,
			   struct bpk_err *err)
{
	bpk_frame_table_sort(table, true);
	return bpk_frame_find_by_digests(scan, 0, table, err);
}

/* Find the chunks before the index. */
static int find_payload_chunks(struct bpk_scan *scan, const struct bpk_frame_left *left,
			       struct bpk_salvage *found, struct bpk_err *err)
{
	if (bpk_frame_find_chunks(scan, found, err) != 0)
		return -1;
	while (found->count > 0 && found->all[found->count - 1].offset >= left->index.start)
		found->count--;
	return bpk_salvage_find_chunk_size(found, err);
}

/* Take the chunks of a frame that can be loaded: where the index says, and then those that bytes
 * which came and went have moved. */
static int take_loaded(struct bpk_scan *scan, struct bpk_frame_table *table,
		       struct bpk_salvage *found, bool *damaged, struct bpk_salvage *salvage,
		       struct bpk_err *err)
{
	size_t filled;

	if (test_places(scan, table, 0, err) != 0)
		return -1;
	if (bpk_frame_table_is_full(table))
		return 0;
	if (table->left->digests.checksum != NULL)
		return take_by_digests(scan, table, err);
	if (find_payload_chunks(scan, table->left, found, err) != 0)
		return -1;
	filled = fill_stretches(table, found, 0);
	if (is_index_damaged(table, found, 0, damaged, salvage, err) != 0)
		return -1;
	return *damaged ? 0 : doubt_filled(filled, salvage, err);
}

/* found changes if the index turns out to be damaged. */
static int take_by_table(struct bpk_scan *scan, struct bpk_frame_left *left, bool loaded,
			 struct bpk_salvage *found, struct bpk_salvage *salvage,
			 struct bpk_err *err)
{
	bool damaged = false;
	struct bpk_frame_table table;
	int rc = bpk_frame_table_begin(&table, left, scan->size, err);

	if (rc == 0 && loaded)
		rc = take_loaded(scan, &table, found, &damaged, salvage, err);
	else if (rc == 0 && left->digests.checksum != NULL)
		rc = take_by_digests(scan, &table, err);
	else if (rc == 0)
		rc = number_by_index(scan, left, &table, found, &damaged, salvage, err);
	if (rc == 0 && !damaged)
		rc = bpk_frame_table_give(&table, salvage, err);
	if (rc == 0 && !damaged)
		rc = bpk_frame_doubt_specials(&table, salvage, err);
	if (rc == 0 && damaged)
		rc = take_in_order(scan, left, found, salvage, err);
	bpk_frame_table_clear(&table);
	return rc;
}

static int salvage_parts(struct bpk_scan *scan, struct bpk_frame_left *left,
			 struct bpk_salvage *salvage, struct bpk_err *err)
{
	struct bpk_salvage found = { 0 };
	bool loaded = false;
	int rc = bpk_frame_left_load(scan->source, left, &loaded, err);

	if (rc == 0 && !loaded)
		rc = bpk_frame_find_chunks(scan, &found, err);
	if (rc == 0 && !loaded)
		rc = bpk_frame_left_find(scan, left, &found, err);
	if (rc == 0)
		rc = left->nchunks > 0 ? take_by_table(scan, left, loaded, &found, salvage, err)
				       : take_in_order(scan, left, &found, salvage, err);
	bpk_salvage_clear(&found);
	return rc;
}

int bpk_frame_salvage(const struct bpk_place *place, struct bpk_salvage *salvage,
		      struct bpk_err *err)
{
	struct bpk_frame_left *left = bpk_calloc(1, sizeof *left, err);
	struct bpk_scan scan = { 0 };
	int rc;

	if (left == NULL)
		return -1;
	rc = bpk_scan_begin(&scan, place->source, true, err);
	if (rc == 0)
		rc = salvage_parts(&scan, left, salvage, err);
	bpk_scan_clear(&scan);
	if (rc != 0) {
		bpk_frame_left_free(left);
		return -1;
	}
	return bpk_frame_left_give(left, salvage, err);
}
