/* Leaves that are compared with a recorded tree: all of them, or those of some chunks (sealed.h).
 * Called by readers and editors. */
#include "format/sealed.h"

#include <inttypes.h>
#include <stdlib.h>

struct bpk_seal_proof {
	uint64_t first;
	struct bpk_buf leaves; /* from that of chunk first on */
};

int bpk_seal_walk(bpk_seal_find_fn *find, void *arg, uint64_t nchunks,
		  const struct bpk_seal *recorded, struct bpk_buf *all, struct bpk_err *err)
{
	struct bpk_seal_tree tree = { 0 };
	uint8_t leaf[BPK_MERKLE_SIZE];

	for (uint64_t number = 0; number < nchunks; number++)
		if (find(arg, number, leaf, err) != 0 || bpk_seal_tree_add(&tree, leaf, err) != 0 ||
		    (all != NULL && bpk_buf_append(all, bpk_view(leaf, sizeof leaf), err) != 0))
			return -1;
	return recorded == NULL || bpk_seal_tree_equals(&tree, recorded->tree)
		       ? 0
		       : bpk_seal_refuse(recorded, err);
}

/* ---- Proofs ---- */

struct proving {
	bpk_seal_find_fn *find;
	void *arg;
	uint64_t first, end; /* the wanted chunks */
	struct bpk_seal_proof *proof;
};

static int add_proven(struct proving *p, uint64_t number, const uint8_t leaf[BPK_MERKLE_SIZE],
		      struct bpk_err *err)
{
	return number < p->first || number >= p->end
		       ? 0
		       : bpk_buf_append(&p->proof->leaves, bpk_view(leaf, BPK_MERKLE_SIZE), err);
}

/* Prove the leaves under the peak of 2^k chunks from start on; they count once they fit it. */
static int prove_peak(struct proving *p, uint64_t start, unsigned k,
		      const uint8_t peak[BPK_MERKLE_SIZE], struct bpk_err *err)
{
	uint64_t end = start + (UINT64_C(1) << k);
	struct bpk_merkle found = { 0 };
	uint8_t leaf[BPK_MERKLE_SIZE];

	if (k == 0)
		return add_proven(p, start, peak, err);
	for (uint64_t number = start; number < end; number++)
		if (p->find(p->arg, number, leaf, err) != 0 ||
		    add_proven(p, number, leaf, err) != 0 || bpk_merkle_add(&found, leaf, err) != 0)
			return -1;
	if (memcmp(found.peaks[k], peak, BPK_MERKLE_SIZE) == 0)
		return 0;
	return bpk_fail(err, BPK_CORRUPT,
			"chunk %" PRIu64 " is not proven: of the chunks %" PRIu64 " to %" PRIu64
			" some are not those that were sealed",
			bpk_max_u64(start, p->first), start, end - 1);
}

static int prove_all(struct proving *p, const struct bpk_seal_tree *recorded, struct bpk_err *err)
{
	const struct bpk_merkle *before = &recorded->before;
	uint64_t start = 0;

	for (unsigned k = 64; k-- > 0;) {
		if (!(before->count >> k & 1))
			continue;
		if (start < p->end && p->first < start + (UINT64_C(1) << k) &&
		    prove_peak(p, start, k, before->peaks[k], err) != 0)
			return -1;
		start += UINT64_C(1) << k;
	}
	return recorded->has_last ? add_proven(p, start, recorded->last, err) : 0;
}

int bpk_seal_prove(const struct bpk_seal_tree *recorded, uint64_t first, uint64_t end,
		   bpk_seal_find_fn *find, void *arg, struct bpk_seal_proof **proof,
		   struct bpk_err *err)
{
	struct proving p = { find, arg, first, end, NULL };

	bpk_seal_proof_free(*proof);
	*proof = NULL;
	if (recorded == NULL)
		return bpk_fail(err, BPK_CORRUPT,
				"has no seal; bpk convert --seal FILE NEW makes an archive with "
				"one");
	p.proof = bpk_calloc(1, sizeof *p.proof, err);
	if (p.proof == NULL)
		return -1;
	p.proof->first = first;
	if (prove_all(&p, recorded, err) != 0) {
		bpk_seal_proof_free(p.proof);
		return -1;
	}
	*proof = p.proof;
	return 0;
}

void bpk_seal_proof_free(struct bpk_seal_proof *proof)
{
	if (proof == NULL)
		return;
	bpk_buf_clear(&proof->leaves);
	free(proof);
}

int bpk_seal_proof_test(const struct bpk_seal_proof *proof, uint64_t number,
			const uint8_t leaf[BPK_MERKLE_SIZE], struct bpk_err *err)
{
	uint64_t nleaves = proof->leaves.size / BPK_MERKLE_SIZE, at = number - proof->first;

	if (number < proof->first || at >= nleaves)
		return bpk_fail(err, BPK_CORRUPT, "it is not among the chunks that are proven");
	return memcmp(proof->leaves.data + at * BPK_MERKLE_SIZE, leaf, BPK_MERKLE_SIZE) == 0
		       ? 0
		       : bpk_fail(err, BPK_CORRUPT, "it is not the chunk that was sealed");
}
