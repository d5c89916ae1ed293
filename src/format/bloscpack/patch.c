/*
 * Replaces chunks in place, for the editor. A chunk smaller than the one it replaces is padded to
 * its size, so that nothing else moves (Bloscpack format, "Reserved space"). Patches are held in
 * memory up to the limit of the journal, which will save the replaced bytes; above it the file is
 * rewritten.
 */
#include "format/bloscpack/editor.h"

#include <inttypes.h>

struct bpk_bloscpack_patch bpk_bloscpack_patch_at(const struct bpk_bloscpack_patches *patches,
						  size_t index)
{
	struct bpk_bloscpack_patch patch;

	memcpy(&patch, patches->list.data + index * sizeof patch, sizeof patch);
	return patch;
}

static int check_put(const struct bpk_bloscpack_editor *e, const struct bpk_parcel *parcel,
		     const struct bpk_where *where, struct bpk_err *err)
{
	const struct bpk_bloscpack_patches *p = &e->patches;

	if (p->count > 0 && parcel->number <= bpk_bloscpack_patch_at(p, p->count - 1).number)
		return bpk_fail(err, BPK_BUG, "chunk %" PRIu64 " was put after a later one",
				parcel->number);
	if (parcel->raw_size != where->header.raw_size)
		return bpk_fail(err, BPK_BUG, "chunk %" PRIu64 " of %zu bytes for one of %" PRIu32,
				parcel->number, parcel->raw_size, where->header.raw_size);
	return 0;
}

/* Pad the chunk to the size of its slot; false if the chunk cannot be padded. */
static bool fill_slot(struct bpk_parcel *parcel, size_t slot)
{
	struct bpk_err none;

	if (parcel->packed_size == slot)
		return true;
	if (parcel->packed_size > slot ||
	    bpk_chunk_pad(bpk_span(parcel->packed.data, slot), parcel->packed_size, &none) != 0)
		return false;
	parcel->packed_size = slot;
	return true;
}

/* Hold a chunk in memory for the commit. */
static int stage(struct bpk_bloscpack_patches *p, const struct bpk_parcel *parcel, uint64_t offset,
		 struct bpk_err *err)
{
	struct bpk_bloscpack_patch patch = { .number = parcel->number,
					     .offset = offset,
					     .at = p->bytes.size,
					     .size = parcel->packed.size };

	if (bpk_buf_append(&p->bytes, bpk_buf_view(&parcel->packed), err) != 0 ||
	    bpk_buf_append(&p->list, bpk_view(&patch, sizeof patch), err) != 0)
		return -1;
	p->count++;
	return 0;
}

int bpk_bloscpack_patch_put(struct bpk_bloscpack_editor *e, const struct bpk_parcel *parcel,
			    enum bpk_bloscpack_fit *fit, struct bpk_err *err)
{
	const struct bpk_checksum *checksum = e->header.checksum;
	struct bpk_parcel padded = { .number = parcel->number,
				     .raw_size = parcel->raw_size,
				     .packed_size = parcel->packed_size };
	uint64_t staged = e->patches.bytes.size;
	struct bpk_where where;
	size_t size;
	int rc = -1;

	if (parcel->number >= e->header.nchunks)
		return bpk_fail(err, BPK_BUG, "chunk %" PRIu64 " of %" PRIu64, parcel->number,
				e->header.nchunks);
	if (bpk_bloscpack_reader_ops.locate(e->reader, parcel->number, &where, err) != 0 ||
	    check_put(e, parcel, &where, err) != 0)
		return -1;
	size = (size_t)where.header.packed_size + checksum->size;
	*fit = BPK_BLOSCPACK_REWRITE;
	if (!e->in_place || parcel->packed_size > where.header.packed_size ||
	    staged + size > e->options.journal_limit)
		return 0;
	if (bpk_buf_reserve(&padded.packed, size, err) != 0 ||
	    bpk_buf_append(&padded.packed, bpk_view(parcel->packed.data, parcel->packed_size),
			   err) != 0)
		goto out;
	if (!fill_slot(&padded, where.header.packed_size)) {
		rc = 0;
		goto out;
	}
	*fit = BPK_BLOSCPACK_FITS;
	if (bpk_parcel_seal(checksum, &padded, err) == 0 &&
	    bpk_bloscpack_reseal_note(e, &padded, err) == 0)
		rc = stage(&e->patches, &padded, where.packed_offset, err);
out:
	bpk_buf_clear(&padded.packed);
	return rc;
}

/* The number of patches from index on that are contiguous in the file, and their end. */
static size_t run_of(const struct bpk_bloscpack_patches *p, size_t index, uint64_t *end)
{
	size_t n = 0;

	for (; index + n < p->count; n++) {
		struct bpk_bloscpack_patch patch = bpk_bloscpack_patch_at(p, index + n);

		if (n > 0 && patch.offset != *end)
			break;
		*end = patch.offset + patch.size;
	}
	return n;
}

int bpk_bloscpack_patch_finish(struct bpk_bloscpack_editor *e, struct bpk_err *err)
{
	const struct bpk_bloscpack_patches *p = &e->patches;
	size_t n;

	for (size_t i = 0; i < p->count; i += n) {
		struct bpk_bloscpack_patch first = bpk_bloscpack_patch_at(p, i);
		uint64_t end = first.offset;
		struct bpk_view bytes;

		n = run_of(p, i, &end);
		bytes = bpk_view(p->bytes.data + first.at, (size_t)(end - first.offset));
		if (bpk_edit_write_at(e->edit, first.offset, bytes, err) != 0)
			return -1;
	}
	return 0;
}
