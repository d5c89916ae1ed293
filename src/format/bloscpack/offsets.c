/* Reads offset entries, one or a page at a time, and collects entries to be written. */
#include "format/bloscpack/bloscpack.h"

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
		page->first = number;
		page->n = (unsigned)bpk_min_u64(BPK_BLOSCPACK_PAGE, offsets->count - number);
		if (bpk_bloscpack_offsets_get(offsets, number, page->n, page->entries, err) != 0) {
			page->n = 0;
			return -1;
		}
	}
	*entry = page->entries[number - page->first];
	return 0;
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
