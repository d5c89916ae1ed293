/*
 * The leaves of the chunks of a frame that is written, for its seal (output.h). An append knows the
 * tree of the chunks before, which is enough; the leaves of these are recalled when one of them
 * changes. Called by output_put.c, the writer and the editor.
 */
#include "format/frame/output.h"

#include <inttypes.h>

/* Replace base by the leaves of its chunks. */
static int recall(struct bpk_frame_output_seal *seal, struct bpk_err *err)
{
	uint64_t count = bpk_seal_tree_count(&seal->base);
	struct bpk_buf all = { 0 };
	int rc;

	if (count == 0)
		return 0;
	rc = seal->recall(seal->arg, &all, err);
	if (rc == 0 && all.size < count * BPK_MERKLE_SIZE)
		rc = bpk_fail(err, BPK_BUG, "%zu bytes of leaves for %" PRIu64 " chunks", all.size,
			      count);
	if (rc == 0) {
		all.size = (size_t)count * BPK_MERKLE_SIZE;
		rc = bpk_buf_append(&all, bpk_buf_view(&seal->leaves), err);
	}
	if (rc != 0) {
		bpk_buf_clear(&all);
		return -1;
	}
	bpk_buf_clear(&seal->leaves);
	seal->leaves = all;
	seal->base = (struct bpk_seal_tree){ 0 };
	return 0;
}

static int set_leaf(struct bpk_frame_output *out, uint64_t number,
		    const uint8_t leaf[BPK_MERKLE_SIZE], struct bpk_err *err)
{
	struct bpk_frame_output_seal *seal = &out->seal;
	uint64_t at;

	if (number < bpk_seal_tree_count(&seal->base) && recall(seal, err) != 0)
		return -1;
	at = (number - bpk_seal_tree_count(&seal->base)) * BPK_MERKLE_SIZE;
	if (at == seal->leaves.size)
		return bpk_buf_append(&seal->leaves, bpk_view(leaf, BPK_MERKLE_SIZE), err);
	if (at > seal->leaves.size)
		return bpk_fail(err, BPK_BUG, "chunk %" PRIu64 " is sealed before others", number);
	memcpy(seal->leaves.data + at, leaf, BPK_MERKLE_SIZE);
	return 0;
}

int bpk_frame_output_seal_parcel(struct bpk_frame_output *out, uint64_t number,
				 const struct bpk_parcel *parcel, struct bpk_err *err)
{
	uint8_t leaf[BPK_MERKLE_SIZE];

	if (out->seal.generation == 0)
		return 0;
	if (bpk_seal_parcel(out->checksum, parcel, number, false, leaf, err) != 0)
		return -1;
	return set_leaf(out, number, leaf, err);
}

int bpk_frame_output_seal_chunk(struct bpk_frame_output *out, uint64_t number, uint64_t raw_size,
				struct bpk_view chunk, struct bpk_err *err)
{
	const struct bpk_parcel parcel = {
		.packed = { .data = (uint8_t *)chunk.data, .size = chunk.size },
		.packed_size = chunk.size,
		.raw_size = (size_t)raw_size,
	};
	uint8_t leaf[BPK_MERKLE_SIZE];

	if (out->seal.generation == 0)
		return 0;
	if (bpk_seal_parcel(&bpk_checksums[0], &parcel, number, false, leaf, err) != 0)
		return -1;
	return set_leaf(out, number, leaf, err);
}

int bpk_frame_output_seal_entry(struct bpk_frame_output *out, uint64_t number, uint64_t raw_size,
				uint64_t entry, struct bpk_err *err)
{
	uint8_t leaf[BPK_MERKLE_SIZE];

	if (out->seal.generation == 0)
		return 0;
	if (bpk_frame_seal_entry(number, raw_size, entry, leaf, err) != 0)
		return -1;
	return set_leaf(out, number, leaf, err);
}

int bpk_frame_output_seal_cut(struct bpk_frame_output *out, uint64_t nchunks, struct bpk_err *err)
{
	struct bpk_frame_output_seal *seal = &out->seal;
	uint64_t count = bpk_seal_tree_count(&seal->base);

	if (seal->generation == 0 || nchunks == count)
		return 0;
	if (nchunks + 1 == count && seal->base.has_last) {
		seal->base.has_last = false;
		return 0;
	}
	if (recall(seal, err) != 0)
		return -1;
	seal->leaves.size = (size_t)nchunks * BPK_MERKLE_SIZE;
	return 0;
}

int bpk_frame_output_seal_tree(struct bpk_frame_output *out, struct bpk_seal_tree *tree,
			       struct bpk_err *err)
{
	struct bpk_frame_output_seal *seal = &out->seal;

	/* the record has the last leaf by itself, and a cut may have taken that of base */
	if (!seal->base.has_last && seal->leaves.size == 0 && recall(seal, err) != 0)
		return -1;
	*tree = seal->base;
	for (size_t at = 0; at < seal->leaves.size; at += BPK_MERKLE_SIZE)
		if (bpk_seal_tree_add(tree, seal->leaves.data + at, err) != 0)
			return -1;
	return 0;
}

int bpk_frame_output_seal_digest(const struct bpk_frame_output *out,
				 const struct bpk_checksum *checksum, struct bpk_parcel *parcel,
				 struct bpk_err *err)
{
	return out->seal.generation == 0 ? 0 : bpk_seal_digest(checksum, parcel, err);
}
