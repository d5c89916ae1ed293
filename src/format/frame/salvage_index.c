/*
 * Finds the index of a damaged frame among its chunks: it stands before a trailer, or where the
 * header says, or leads to the chunks. salvage_parts.c calls it.
 */
#include "format/frame/salvage.h"

#include <stdlib.h>

enum {
	TRIES = 64, /* indexes that are unpacked, from the last on ... */
	TIMES = 8,  /* ... if they have no more entries for each byte and ANY */
	ANY = 1 << 16,
};

/* Unpack the chunk in scan->chunk as an index; *is: it is one, by its form. */
static int read_index(struct bpk_scan *scan, const struct bpk_frame_left *left,
		      struct bpk_buf *entries, bool *is, struct bpk_err *err)
{
	const struct bpk_frame_header any = { .sparse = left->sparse, .packed_size = INT64_MAX };
	struct bpk_view bytes = bpk_buf_view(&scan->chunk);
	struct bpk_err why = { 0 };
	uint64_t nchunks;
	uint32_t size;

	*is = bpk_frame_index_read(scan->ctx, &any, bytes, BPK_UNKNOWN, entries, &nchunks, &size,
				   &why) == 0;
	return *is ? 0 : bpk_err_pass_memory(&why, err);
}

/* Where the header says that the index is. */
static uint64_t index_place(const struct bpk_frame_left *left)
{
	if (!left->has_header || left->payload == BPK_UNKNOWN)
		return BPK_UNKNOWN;
	return left->payload + (left->sparse ? 0 : left->header.packed_size);
}

static int compare_offset(const void *key, const void *chunk)
{
	uint64_t at = *(const uint64_t *)key, offset = ((const struct bpk_saved *)chunk)->offset;

	return at < offset ? -1 : at > offset;
}

/* The sorted offsets of an index, without equal ones. */
static int sort_offsets(const struct bpk_buf *entries, struct bpk_buf *sorted, struct bpk_err *err)
{
	size_t kept = 0;

	sorted->size = 0;
	if (bpk_buf_append(sorted, bpk_buf_view(entries), err) != 0)
		return -1;
	if (sorted->size > 0)
		qsort(sorted->data, sorted->size / BPK_FRAME_ENTRY, BPK_FRAME_ENTRY,
		      bpk_frame_compare_entries);
	for (size_t at = 0; at < sorted->size; at += BPK_FRAME_ENTRY) {
		const uint8_t *entry = sorted->data + at;
		uint64_t value;

		memcpy(&value, entry, BPK_FRAME_ENTRY);
		if (bpk_frame_offset_special(value) == BPK_SPECIAL_NONE &&
		    (kept == 0 ||
		     memcmp(sorted->data + kept - BPK_FRAME_ENTRY, entry, BPK_FRAME_ENTRY) != 0)) {
			memmove(sorted->data + kept, entry, BPK_FRAME_ENTRY);
			kept += BPK_FRAME_ENTRY;
		}
	}
	sorted->size = kept;
	return 0;
}

/* Count the offsets that lead to chunks if the payload begins at start, which wraps around if it
 * began before the file does. */
static size_t count_chunks(const struct bpk_buf *sorted, uint64_t start,
			   const struct bpk_saved *chunks, size_t n)
{
	size_t count = 0;
	uint64_t entry;

	for (size_t at = 0; at < sorted->size; at += BPK_FRAME_ENTRY) {
		memcpy(&entry, sorted->data + at, BPK_FRAME_ENTRY);
		entry += start;
		count += bsearch(&entry, chunks, n, sizeof *chunks, compare_offset) != NULL;
	}
	return count;
}

/* *is: offsets of the index lead to the n chunks before it, which data do not. */
static int leads_to_chunks(const struct bpk_buf *entries, const struct bpk_saved *chunks, size_t n,
			   bool *is, struct bpk_err *err)
{
	enum { LAST = 4, ENOUGH = 3 };
	struct bpk_buf sorted = { 0 };
	int rc = sort_offsets(entries, &sorted, err);
	uint64_t nsorted = sorted.size / BPK_FRAME_ENTRY, most = 0;
	uint64_t entry;

	for (size_t c = 0; rc == 0 && c < LAST && c < n; c++)
		for (size_t e = 0; e < LAST && e < nsorted; e++) {
			uint64_t at = chunks[n - 1 - c].offset;

			memcpy(&entry, sorted.data + (nsorted - 1 - e) * BPK_FRAME_ENTRY,
			       BPK_FRAME_ENTRY);
			most = bpk_max_u64(most, count_chunks(&sorted, at - entry, chunks, n));
		}
	/* the only chunk says less than the distances of several */
	*is = nsorted > 1 ? most >= bpk_min_u64(ENOUGH, nsorted)
			  : most == 1 && entries->size == BPK_FRAME_ENTRY &&
				    chunks[n - 1].offset + chunks[n - 1].packed_size ==
					    chunks[n].offset;
	bpk_buf_clear(&sorted);
	return rc;
}

/* *is: chunk n is an index, of the last state or an older one; its entries are in entries, or none
 * if they are damaged. */
static int try_index(struct bpk_scan *scan, const struct bpk_frame_left *left,
		     const struct bpk_salvage *found, size_t n, unsigned *tries,
		     struct bpk_buf *entries, bool *is, struct bpk_err *err)
{
	const struct bpk_saved *chunk = &found->all[n];
	bool placed;
	uint64_t end = chunk->offset + chunk->packed_size;

	if (bpk_frame_has_trailer_at(scan, end, is, err) != 0)
		return -1;
	placed = *is || chunk->offset == index_place(left);
	*is = chunk->raw_size % BPK_FRAME_ENTRY == 0 &&
	      chunk->raw_size / BPK_FRAME_ENTRY / TIMES <= scan->size + ANY &&
	      (placed ||
	       (chunk->typesize == BPK_FRAME_ENTRY && chunk->raw_size != found->chunk_size)) &&
	      *tries < TRIES;
	if (!*is)
		return 0;
	++*tries;
	if (bpk_scan_bring(scan, chunk->offset, chunk->packed_size, 0, err) != 0 ||
	    read_index(scan, left, entries, is, err) != 0)
		return -1;
	if (*is && !placed)
		return leads_to_chunks(entries, found->all, n, is, err);
	if (!*is)
		entries->size = 0;
	*is = *is || placed;
	return 0;
}

static bool is_latest(const struct bpk_scan *scan, const struct bpk_frame_left *left, bool is_last)
{
	if (left->digests.checksum != NULL)
		return bpk_frame_digests_check(&left->digests, BPK_FRAME_DIGEST_INDEX,
					       bpk_buf_view(&scan->chunk), NULL) == 0;
	return is_last;
}

int bpk_frame_left_find_index(struct bpk_scan *scan, struct bpk_frame_left *left,
			      struct bpk_salvage *found, struct bpk_err *err)
{
	struct bpk_buf entries = { 0 };
	size_t kept = found->count;
	unsigned tries = 0;
	bool is = false, is_last = true; /* no chunk of the archive follows it, by sizes */
	int rc = 0;

	/* those before i are where they were found */
	for (size_t i = found->count; rc == 0 && i > 0; i--) {
		const struct bpk_saved chunk = found->all[i - 1];

		rc = try_index(scan, left, found, i - 1, &tries, &entries, &is, err);
		if (rc != 0 || !is) {
			found->all[--kept] = chunk;
			is_last = is_last && chunk.raw_size != found->chunk_size &&
				  !bpk_frame_left_has_size(left, chunk.raw_size);
			continue;
		}
		if (entries.size > 0 && left->index.end == 0 && is_latest(scan, left, is_last)) {
			left->index = (struct bpk_frame_run){ chunk.offset,
							      chunk.offset + chunk.packed_size };
			left->nchunks = entries.size / BPK_FRAME_ENTRY;
			bpk_buf_clear(&left->entries);
			left->entries = entries;
			entries = (struct bpk_buf){ 0 };
		}
	}
	if (kept > 0)
		memmove(found->all, found->all + kept, (found->count - kept) * sizeof *found->all);
	found->count -= kept;
	bpk_buf_clear(&entries);
	return rc;
}
