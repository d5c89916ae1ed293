/*
 * The leaves of a frame's seal without a fetch: those of entries of the index, and those that
 * checks bring on the way to the audit; and chunks against their proof. Called by open.c, fetch.c,
 * reader_ops.c and seal.c.
 */
#include "format/frame/seal.h"

#include "format/frame/chunks.h"

const struct bpk_checksum *bpk_frame_seal_checksum(const struct bpk_frame_reader *r)
{
	return r->state.digests.checksum != NULL ? r->state.digests.checksum : &bpk_checksums[0];
}

int bpk_frame_seal_find_entry(const struct bpk_frame_reader *r, uint64_t number,
			      uint8_t leaf[BPK_MERKLE_SIZE], bool *found, struct bpk_err *err)
{
	uint64_t entry;

	if (bpk_frame_entry(&r->state, number, &entry, err) != 0)
		return -1;
	*found = bpk_frame_offset_special(entry) != BPK_SPECIAL_NONE;
	if (!*found)
		return 0;
	return bpk_frame_seal_entry(number, bpk_frame_chunk_size(r, number), entry, leaf, err);
}

static int fill(void *arg, uint64_t number, uint8_t leaf[BPK_MERKLE_SIZE], bool *found,
		struct bpk_err *err)
{
	return bpk_frame_seal_find_entry(arg, number, leaf, found, err);
}

int bpk_frame_seal_begin(struct bpk_frame_reader *r, struct bpk_err *err)
{
	if (!r->options.audits || r->state.seal.tree == NULL ||
	    bpk_frame_seal_check_count(&r->state.header, r->state.nchunks, NULL) != 0)
		return 0;
	return bpk_seal_leaves_new(fill, r, &r->leaves, err);
}

int bpk_frame_seal_bring(const struct bpk_frame_reader *r, const struct bpk_parcel *parcel,
			 struct bpk_err *err)
{
	uint64_t entry;

	if (r->leaves == NULL || r->array.bands != NULL)
		return 0;
	if (bpk_frame_entry(&r->state, parcel->number, &entry, err) != 0)
		return -1;
	return bpk_frame_offset_special(entry) != BPK_SPECIAL_NONE
		       ? 0
		       : bpk_seal_leaves_bring(r->leaves, bpk_frame_seal_checksum(r), parcel, err);
}

/* ---- Proofs ---- */

/* True if a parcel is the chunk that its entry in the index stands for. The index of a sparse frame
 * may be another one by now, from which it was fetched. */
static bool is_of_entry(const struct bpk_frame_reader *r, const struct bpk_parcel *parcel)
{
	struct bpk_chunk_header header;
	uint64_t entry;

	return bpk_frame_entry(&r->state, parcel->number, &entry, NULL) == 0 &&
	       bpk_chunk_header_read(bpk_view(parcel->packed.data, parcel->packed_size), &header,
				     NULL) == 0 &&
	       header.special == (enum bpk_special)bpk_frame_offset_special(entry) &&
	       header.raw_size == bpk_frame_chunk_size(r, parcel->number);
}

int bpk_frame_seal_test(const struct bpk_frame_reader *r, const struct bpk_parcel *parcel,
			struct bpk_err *err)
{
	uint8_t leaf[BPK_MERKLE_SIZE];
	bool found;

	if (r->proof == NULL)
		return 0;
	if (parcel->data_size < parcel->raw_size) /* a writer has added to the last chunk */
		return bpk_fail_changed(err);
	if (bpk_frame_seal_find_entry(r, parcel->number, leaf, &found, err) != 0)
		return -1;
	if (found && !is_of_entry(r, parcel))
		return bpk_fail_changed(err);
	if (!found && bpk_seal_parcel(bpk_frame_seal_checksum(r), parcel, parcel->number, false,
				      leaf, err) != 0)
		return -1;
	return bpk_seal_proof_test(r->proof, parcel->number, leaf, err) == 0
		       ? 0
		       : bpk_frame_chunk_subject(r, parcel->number, err);
}
