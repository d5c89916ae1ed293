/* Reads offset entries, one or a page at a time, and collects entries to be written. Called by
 * reader, writer and editor. */
#include "format/bloscpack/bloscpack.h"

#include <inttypes.h>

int bpk_bloscpack_offsets_get(const struct bpk_bloscpack_offsets *offsets, uint64_t first,
			      unsigned n, uint64_t *entries, struct bpk_err *err)
{
	uint8_t bytes[BPK_BLOSCPACK_PAGE * BPK_BLOSCPACK_ENTRY_SIZE];

	if (bpk_bloscpack_need(offsets->source, offsets->start + first * BPK_BLOSCPACK_ENTRY_SIZE,
			       bpk_span(bytes, n * (size_t)BPK_BLOSCPACK_ENTRY_SIZE),
			       "offsets section", err) != 0)
		return -1;
	/* a stored -1 equals BPK_UNKNOWN */
	for (unsigned i = 0; i < n; i++)
		entries[i] = bpk_get_le64(bytes + i * (size_t)BPK_BLOSCPACK_ENTRY_SIZE);
	return 0;
}

int bpk_bloscpack_offsets_turn(const struct bpk_bloscpack_offsets *offsets,
			       struct bpk_bloscpack_page *page, uint64_t number, uint64_t *entry,
			       struct bpk_err *err)
{
	if (number < page->first || number - page->first >= page->n) {
		/* the entry before, too: a chunk is found between its neighbours */
		page->first = number - (number > 0);
		page->n = (unsigned)bpk_min_u64(BPK_BLOSCPACK_PAGE, offsets->count - page->first);
		if (bpk_bloscpack_offsets_get(offsets, page->first, page->n, page->entries, err) !=
		    0) {
			page->n = 0;
			return -1;
		}
	}
	*entry = page->entries[number - page->first];
	return 0;
}

int bpk_bloscpack_offsets_check(const struct bpk_bloscpack_offsets *offsets,
				struct bpk_bloscpack_page *page, uint64_t number, uint64_t offset,
				uint64_t *entry, struct bpk_err *err)
{
	if (bpk_bloscpack_offsets_turn(offsets, page, number, entry, err) != 0)
		return -1;
	if (*entry == BPK_UNKNOWN || *entry == offset)
		return 0;
	return bpk_fail(err, BPK_CORRUPT,
			"chunk %" PRIu64 " lies at offset %" PRIu64
			", but its offset entry is %" PRIu64,
			number, offset, *entry);
}

int bpk_bloscpack_spare_check(uint64_t number, uint64_t entry, uint64_t end, bool has_tail,
			      struct bpk_err *err)
{
	if (entry == BPK_UNKNOWN || (entry >= end && (entry <= INT64_MAX || has_tail)))
		return 0;
	return bpk_fail(err, BPK_CORRUPT,
			"spare offset entry %" PRIu64 " is %" PRId64
			", expected -1 or at least %" PRIu64,
			number, (int64_t)entry, end);
}

void bpk_bloscpack_batch_start(struct bpk_bloscpack_batch *batch, uint64_t first)
{
	batch->first = first;
	batch->n = 0;
}

void bpk_bloscpack_batch_add(struct bpk_bloscpack_batch *batch, uint64_t entry)
{
	bpk_put_le64(batch->bytes + batch->n++ * (size_t)BPK_BLOSCPACK_ENTRY_SIZE, entry);
}

struct bpk_view bpk_bloscpack_batch_view(const struct bpk_bloscpack_batch *batch)
{
	return bpk_view(batch->bytes, batch->n * (size_t)BPK_BLOSCPACK_ENTRY_SIZE);
}
