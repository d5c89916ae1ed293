/* The leaves of an archive that is written or changed (sealed.h). Called by writers and editors. */
#include "format/sealed.h"

#include <inttypes.h>

void bpk_seal_growth_clear(struct bpk_seal_growth *seal)
{
	bpk_buf_clear(&seal->leaves);
	*seal = (struct bpk_seal_growth){ 0 };
}

int bpk_seal_growth_renew(struct bpk_seal_growth *seal, const struct bpk_seal *old, bool fits,
			  const struct bpk_seal_tree *tree, struct bpk_err *err)
{
	*seal = (struct bpk_seal_growth){ .base = *tree, .old = old };
	if (fits && bpk_seal_tree_equals(tree, old->tree))
		return 0;
	return bpk_seal_next(old, &seal->generation, err);
}

/* Replace base by the leaves of its chunks. */
static int recall(struct bpk_seal_growth *seal, struct bpk_err *err)
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

int bpk_seal_growth_set(struct bpk_seal_growth *seal, uint64_t number,
			const uint8_t leaf[BPK_MERKLE_SIZE], struct bpk_err *err)
{
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

int bpk_seal_growth_cut(struct bpk_seal_growth *seal, uint64_t nchunks, struct bpk_err *err)
{
	uint64_t count = bpk_seal_tree_count(&seal->base);
	uint8_t leaf[BPK_MERKLE_SIZE];

	if (seal->generation == 0 || nchunks == count)
		return 0;
	if (nchunks + 1 == count && seal->base.has_last) {
		if (seal->find(seal->arg, nchunks, leaf, err) != 0)
			return -1;
		if (memcmp(leaf, seal->base.last, sizeof leaf) != 0)
			return bpk_seal_refuse(seal->old, err);
		seal->base.has_last = false;
		return 0;
	}
	if (recall(seal, err) != 0)
		return -1;
	seal->leaves.size = (size_t)nchunks * BPK_MERKLE_SIZE;
	return 0;
}

int bpk_seal_growth_tree(struct bpk_seal_growth *seal, struct bpk_seal_tree *tree,
			 struct bpk_err *err)
{
	/* the record has the last leaf by itself, and a cut may have taken that of base */
	if (!seal->base.has_last && seal->leaves.size == 0 && recall(seal, err) != 0)
		return -1;
	*tree = seal->base;
	for (size_t at = 0; at < seal->leaves.size; at += BPK_MERKLE_SIZE)
		if (bpk_seal_tree_add(tree, seal->leaves.data + at, err) != 0)
			return -1;
	return 0;
}
