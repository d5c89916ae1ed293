/* Leaves that are compared with a recorded tree: all of them, those of some chunks, or those of
 * chunks that were found (sealed.h). Called by readers and editors. */
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

/* ---- Chunks that were found ---- */

struct finding {
	const struct bpk_place *place;
	const struct bpk_salvage *found;
	uint64_t (*entry_of)(enum bpk_special);
	struct bpk_buf packed;
	size_t next;  /* in the list */
	uint64_t end; /* of the chunks that were compared */
};

static int leaf_of(struct finding *f, const struct bpk_saved *saved, uint8_t leaf[BPK_MERKLE_SIZE],
		   struct bpk_err *err)
{
	struct bpk_seal_facts facts = { .number = saved->number, .raw_size = saved->raw_size };

	if (saved->special != BPK_SPECIAL_NONE) {
		bpk_put_le64(facts.digest, f->entry_of(saved->special));
		return bpk_seal_leaf(&facts, leaf, err);
	}
	facts.packed_size = saved->packed_size;
	if (bpk_salvage_fetch(f->place, f->found, saved, &f->packed, err) != 0 ||
	    bpk_seal_digest(f->found->checksum, bpk_buf_view(&f->packed), facts.digest, err) != 0)
		return -1;
	return bpk_seal_leaf(&facts, leaf, err);
}

/* Compare the next 2^k chunks with their peak, unless one of them is lost or not proven. */
static int compare_peak(struct finding *f, unsigned k, const uint8_t peak[BPK_MERKLE_SIZE],
			bool *refuted, struct bpk_err *err)
{
	struct bpk_merkle tree = { 0 };
	uint8_t leaf[BPK_MERKLE_SIZE];

	f->end += UINT64_C(1) << k;
	for (; f->next < f->found->count && f->found->all[f->next].number < f->end; f->next++) {
		const struct bpk_saved *saved = &f->found->all[f->next];

		if (saved->intact && !saved->guessed && !saved->unproven &&
		    (leaf_of(f, saved, leaf, err) != 0 || bpk_merkle_add(&tree, leaf, err) != 0))
			return -1;
	}
	if (tree.count == UINT64_C(1) << k && memcmp(tree.peaks[k], peak, BPK_MERKLE_SIZE) != 0)
		*refuted = true;
	return 0;
}

int bpk_seal_refutes(const struct bpk_seal_tree *recorded, const struct bpk_place *place,
		     const struct bpk_salvage *found, uint64_t (*entry_of)(enum bpk_special),
		     bool *refuted, struct bpk_err *err)
{
	struct finding f = { .place = place, .found = found, .entry_of = entry_of };
	const struct bpk_merkle *before;
	int rc = 0;

	*refuted = false;
	if (recorded == NULL)
		return 0;
	before = &recorded->before;
	for (unsigned k = 64; rc == 0 && k-- > 0;)
		if (before->count >> k & 1)
			rc = compare_peak(&f, k, before->peaks[k], refuted, err);
	if (rc == 0 && recorded->has_last)
		rc = compare_peak(&f, 0, recorded->last, refuted, err);
	bpk_buf_clear(&f.packed);
	return rc;
}
