/*
 * Trees of SHA-256 digests (RFC 6962, section 2.1) that grow at their end. Called by the rooms
 * above.
 *
 * Seven leaves, count = 0b111:       peaks[2]        peaks[1]   peaks[0]
 *                                    /      \         /    \       |
 *                                  a          b      e      f      g
 *                                 / \        / \
 *
 * A leaf is added as binary counting carries: equal trees are joined from the smallest on. The root
 * joins what is left from the right to the left, which gives each left side the largest power of
 * two.
 */
#include "checksum/checksum.h"

enum { LEAF_TAG = 0x00, NODE_TAG = 0x01 };

void bpk_merkle_init(struct bpk_merkle *tree)
{
	*tree = (struct bpk_merkle){ 0 };
}

/* SHA-256 of a tag and two runs of bytes. */
static int digest_tagged(uint8_t tag, struct bpk_view a, struct bpk_view b,
			 uint8_t out[BPK_MERKLE_SIZE], struct bpk_err *err)
{
	uint8_t digest[BPK_DIGEST_MAX];
	struct bpk_summing s = { 0 };
	int rc = bpk_summing_begin(&s, bpk_checksum_find("sha256"), err);

	if (rc == 0)
		rc = bpk_summing_add(&s, bpk_view(&tag, 1), err);
	if (rc == 0)
		rc = bpk_summing_add(&s, a, err);
	if (rc == 0)
		rc = bpk_summing_add(&s, b, err);
	if (rc == 0)
		rc = bpk_summing_end(&s, digest, err);
	if (rc == 0)
		memcpy(out, digest, BPK_MERKLE_SIZE);
	bpk_summing_clear(&s);
	return rc;
}

int bpk_merkle_leaf(struct bpk_view bytes, uint8_t digest[BPK_MERKLE_SIZE], struct bpk_err *err)
{
	return digest_tagged(LEAF_TAG, bytes, bpk_view(NULL, 0), digest, err);
}

int bpk_merkle_node(const uint8_t left[BPK_MERKLE_SIZE], const uint8_t right[BPK_MERKLE_SIZE],
		    uint8_t node[BPK_MERKLE_SIZE], struct bpk_err *err)
{
	return digest_tagged(NODE_TAG, bpk_view(left, BPK_MERKLE_SIZE),
			     bpk_view(right, BPK_MERKLE_SIZE), node, err);
}

int bpk_merkle_add(struct bpk_merkle *tree, const uint8_t leaf[BPK_MERKLE_SIZE],
		   struct bpk_err *err)
{
	uint8_t digest[BPK_MERKLE_SIZE];
	unsigned k = 0;

	if (tree->count == UINT64_MAX)
		return bpk_fail(err, BPK_LIMIT, "a tree has at most 2^64 - 1 leaves");
	memcpy(digest, leaf, sizeof digest);
	for (; tree->count >> k & 1; k++) /* ends: some bit is not set */
		if (bpk_merkle_node(tree->peaks[k], digest, digest, err) != 0)
			return -1;
	memcpy(tree->peaks[k], digest, sizeof digest);
	tree->count++;
	return 0;
}

int bpk_merkle_root(const struct bpk_merkle *tree, uint8_t root[BPK_MERKLE_SIZE],
		    struct bpk_err *err)
{
	uint8_t digest[BPK_DIGEST_MAX];
	bool begun = false;

	for (unsigned k = 0; k < 64; k++) {
		if (!(tree->count >> k & 1))
			continue;
		if (!begun)
			memcpy(digest, tree->peaks[k], BPK_MERKLE_SIZE);
		else if (bpk_merkle_node(tree->peaks[k], digest, digest, err) != 0)
			return -1;
		begun = true;
	}
	if (!begun &&
	    bpk_checksum_compute(bpk_checksum_find("sha256"), bpk_view(NULL, 0), digest, err) != 0)
		return -1;
	memcpy(root, digest, BPK_MERKLE_SIZE);
	return 0;
}
