/*
 * Finds the chunks of a damaged contiguous frame: bpk_format.salvage. Its row is in formats.c.
 *
 *     header and index are there   the index leads to the chunks
 *     a trailer with digests       the file is searched for chunks that have one of them
 *     an index                     it leads to the chunks, or as many bytes before or behind them
 *                                  as came or went
 *     nothing                      the file is searched for chunks that unpack, in its order
 */
#include "format/frame/salvage.h"

/* ---- By order ---- */

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
 * True if chunk i is the short one that ends the data, behind the last full one. If no header has
 * its size, and it does not follow that, it is told from a packed layer of the trailer by its
 * elements, as those of layers have one byte, and from a damaged index by having more.
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
	if (full == found->count || /* there is no full one */
	    (chunk->typesize == sizeof(uint64_t) &&
	     chunk->raw_size / sizeof(uint64_t) <= count_at_most(chunk, before)))
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
		bool behind = full < i || full == found->count;
		bool is_last = behind && !ended && is_end(left, found, full, i);

		ended = ended || is_last;
		if (chunk.raw_size == found->chunk_size || is_last)
			found->all[kept++] = chunk;
		else
			found->nothers += chunk.intact;
	}
	found->count = kept;
}

/* In a frame whose chunks differ in size those of zeros are stored; the search has passed them. */
static int find_specials(struct bpk_scan *scan, uint64_t end, struct bpk_salvage *found,
			 struct bpk_err *err)
{
	scan->specials = true;
	found->count = 0;
	if (bpk_frame_find_chunks(scan, 0, found, err) != 0)
		return -1;
	while (found->count > 0 && found->all[found->count - 1].offset >= end)
		found->count--;
	return 0;
}

/* Drop a last chunk that may be a damaged index: it has as many elements as there are chunks before
 * it, or a few times as many, which are lost. The raw bytes that the header counts tell more. */
static void drop_index(const struct bpk_frame_left *left, struct bpk_salvage *found)
{
	const struct bpk_saved *last;
	size_t before;
	uint64_t n, sum = 0;

	if (found->count < 2)
		return;
	before = found->count - 1;
	last = &found->all[before];
	n = last->raw_size / BPK_FRAME_ENTRY;
	if (n < before || n > 2 * (uint64_t)before || last->typesize != BPK_FRAME_ENTRY)
		return;
	for (size_t i = 0; i <= before; i++)
		sum += found->all[i].intact ? found->all[i].raw_size : 0;
	if (left->has_fields && sum <= left->header.raw_size)
		return;
	found->nothers += last->intact;
	found->count--;
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
	if (left->has_fields && left->header.chunk_size == 0 &&
	    find_specials(scan, left->index.end > 0 ? left->index.start : end, found, err) != 0)
		return -1;
	if (left->has_fields && left->header.chunk_size > 0)
		found->chunk_size = (uint32_t)left->header.chunk_size;
	else if (bpk_salvage_find_chunk_size(found, err) != 0)
		return -1;
	salvage->uneven = bpk_frame_left_is_uneven(left, found);
	if (!salvage->uneven)
		drop_others(left, found);
	else if (left->index.end == 0)
		drop_index(left, found);
	for (size_t i = 0; i < found->count; i++)
		if (bpk_salvage_add(salvage, &found->all[i], err) != 0)
			return -1;
	salvage->chunk_size = found->chunk_size;
	salvage->nothers = found->nothers;
	return bpk_frame_number_by_order(left, start, end, salvage, err);
}

/* ---- Ways ---- */

static int by_digests(struct bpk_scan *scan, struct bpk_frame_table *table, struct bpk_err *err)
{
	scan->specials = table->left->header.chunk_size == 0;
	bpk_frame_table_sort(table, true);
	return bpk_frame_find_by_digests(scan, 0, table, err);
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
		rc = bpk_frame_take_loaded(scan, &table, found, &damaged, salvage, err);
	else if (rc == 0 && left->digests.checksum != NULL)
		rc = by_digests(scan, &table, err);
	else if (rc == 0)
		rc = bpk_frame_number_by_index(scan, left, &table, found, &damaged, salvage, err);
	if (rc == 0 && !damaged)
		rc = bpk_frame_table_give(&table, salvage, err);
	if (rc == 0 && !damaged)
		rc = bpk_frame_doubt_specials(&table, salvage, err);
	if (rc == 0 && damaged)
		rc = take_in_order(scan, left, found, salvage, err);
	bpk_frame_table_clear(&table);
	return rc;
}

/* ---- Other archives in the file ---- */

/* The first byte of the chunks that were taken; 0: none was. */
static uint64_t first_of(const struct bpk_salvage *salvage)
{
	uint64_t first = UINT64_MAX;

	for (size_t i = 0; i < salvage->count; i++)
		if (salvage->all[i].intact && salvage->all[i].special == BPK_SPECIAL_NONE)
			first = bpk_min_u64(first, salvage->all[i].offset);
	return first == UINT64_MAX ? 0 : first;
}

/* The chunks of another frame end before this offset: where the header is, or without one the
 * trailer of that frame, before the chunks that were taken. */
static uint64_t end_of_others(const struct bpk_scan *scan, const struct bpk_frame_left *left,
			      const struct bpk_salvage *salvage)
{
	const struct bpk_frame_run *other = &left->first_trailer;

	if (left->payload <= scan->size)
		return left->payload;
	return other->end <= first_of(salvage) ? other->start : 0;
}

/* Where the frame begins, by its trailer and its size; 0 if that is not behind the file's start. */
static uint64_t start_of(const struct bpk_frame_left *left)
{
	uint64_t size = left->has_fields ? left->header.frame_size : 0;

	return size > 0 && left->trailer.end > size ? left->trailer.end - size : 0;
}

/* Look for the header of another frame, whose chunks may all be damaged: where this frame ends, or
 * where that one ends whose header is at the file's start, or at that start, before this one. */
static int look_for_frames(struct bpk_scan *scan, const struct bpk_frame_left *left,
			   struct bpk_salvage *salvage, struct bpk_err *err)
{
	struct bpk_place place = { .source = scan->source };
	uint64_t start = start_of(left), end = left->seen.frame;
	bool follows = false;

	if (start > 0 && bpk_frame_claims(&place, &follows, err) != 0)
		return -1;
	if (follows)
		return bpk_salvage_doubt_archive(salvage, scan->source, start, bpk_frame_claims,
						 err);
	if (end == 0 && left->has_header && left->payload <= scan->size)
		end = left->payload - left->header.size + left->header.frame_size;
	if (end == 0 || end >= scan->size)
		return 0;
	return bpk_salvage_doubt_archive(salvage, scan->source, end, bpk_frame_claims, err);
}

/* Count the intact chunks behind a frame that was loaded, or else of a frame before it: the last
 * one in the file is that which was found. */
static int look_outside(struct bpk_scan *scan, const struct bpk_frame_left *left,
			struct bpk_salvage *found, struct bpk_salvage *salvage, struct bpk_err *err)
{
	uint64_t end = UINT64_MAX, others = 0;

	if (left->loaded) {
		found->count = 0;
		if (bpk_frame_find_chunks(scan, left->header.frame_size, found, err) != 0)
			return -1;
	} else {
		end = end_of_others(scan, left, salvage);
	}
	for (size_t i = 0; i < found->count && found->all[i].offset < end; i++)
		others += found->all[i].intact;
	return others > 0 ? bpk_salvage_doubt_others(salvage, others, err)
			  : look_for_frames(scan, left, salvage, err);
}

/* loads: try header and index where they are first. */
static int salvage_parts(struct bpk_scan *scan, struct bpk_frame_left *left, bool loads,
			 struct bpk_salvage *salvage, struct bpk_err *err)
{
	struct bpk_salvage found = { 0 };
	bool loaded = false;
	int rc = loads ? bpk_frame_left_load(scan->source, left, &loaded, err) : 0;

	if (rc == 0 && !loaded)
		rc = bpk_frame_find_chunks(scan, 0, &found, err);
	if (rc == 0 && !loaded)
		rc = bpk_frame_left_find(scan, left, &found, err);
	if (rc == 0)
		rc = left->nchunks > 0 ? take_by_table(scan, left, loaded, &found, salvage, err)
				       : take_in_order(scan, left, &found, salvage, err);
	if (rc == 0)
		rc = look_outside(scan, left, &found, salvage, err);
	bpk_salvage_clear(&found);
	return rc;
}

/* True if a header that was loaded, and that no digest proves, makes a chunk of nothing in the
 * file: its chunk size is damaged, perhaps. */
static bool is_refuted(const struct bpk_frame_left *left, const struct bpk_salvage *salvage)
{
	return left->loaded && left->digests.checksum == NULL && bpk_salvage_intact(salvage) == 0;
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
		rc = salvage_parts(&scan, left, true, salvage, err);
	if (rc == 0 && is_refuted(left, salvage)) {
		bpk_frame_left_clear(left);
		bpk_salvage_clear(salvage);
		rc = salvage_parts(&scan, left, false, salvage, err);
	}
	bpk_scan_clear(&scan);
	if (rc == 0)
		rc = bpk_frame_left_prove(left, place, salvage, err);
	if (rc != 0) {
		bpk_frame_left_free(left);
		return -1;
	}
	return bpk_frame_left_give(left, salvage, err);
}
