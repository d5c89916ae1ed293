/*
 * The record of a seal: hostile bytes after the number of chunks (4 bytes, little-endian). A record
 * that is taken comes back as it was put, and it proves the leaves of its tree and no others.
 */
#include "fuzz/fuzz.h"

#include "format/sealed.h"

#include <stdio.h>
#include <stdlib.h>

enum { COUNT = 4, MOST_LEAVES = 200 };

static void require(bool promise, const char *text)
{
	if (promise)
		return;
	fprintf(stderr, "broken: %s\n", text);
	abort();
}

/* Put a record that was taken, and take it again. */
static void repeat(const struct bpk_seal *seal, uint64_t nchunks)
{
	struct bpk_seal again = { 0 };
	struct bpk_buf record = { 0 };
	struct bpk_err err = { 0 };
	uint8_t root[BPK_MERKLE_SIZE];

	require(bpk_seal_tree_count(seal->tree) == nchunks, "the tree has a leaf for each chunk");
	require(bpk_seal_tree_root(seal->tree, root, &err) == 0, err.text);
	require(bpk_seal_put(&record, seal->generation, seal->root, seal->tree, &err) == 0,
		err.text);
	require(bpk_seal_take(bpk_buf_view(&record), nchunks, &again, &err) == 0, err.text);
	require(again.tree != NULL && again.generation == seal->generation &&
			memcmp(again.root, seal->root, sizeof again.root) == 0 &&
			bpk_seal_tree_equals(again.tree, seal->tree),
		"a record comes back as it was put");
	bpk_seal_clear(&again);
	bpk_buf_clear(&record);
}

/* ---- Proofs ---- */

/* Leaves that follow from the input. */
struct leaves {
	const uint8_t *data;
	size_t size;
	uint64_t broken; /* the number of one that is not the sealed one */
};

static int find(void *arg, uint64_t number, uint8_t leaf[BPK_MERKLE_SIZE], struct bpk_err *err)
{
	const struct leaves *leaves = arg;
	struct bpk_seal_facts facts = { .number = number, .raw_size = leaves->size };

	facts.packed_size = leaves->size > 0 ? leaves->data[number % leaves->size] : 0;
	facts.digest[0] = number == leaves->broken;
	return bpk_seal_leaf(&facts, leaf, err);
}

static void test_proof(struct leaves *leaves, uint64_t nchunks, const struct bpk_seal_proof *proof,
		       uint64_t first, uint64_t end)
{
	struct bpk_err err = { 0 };
	uint8_t leaf[BPK_MERKLE_SIZE];

	for (uint64_t number = 0; number < nchunks + 1; number++) {
		bool proven = number >= first && number < end && number < nchunks;

		require(find(leaves, number, leaf, &err) == 0, err.text);
		require((bpk_seal_proof_test(proof, number, leaf, NULL) == 0) == proven,
			"the wanted chunks are proven");
		leaf[number % BPK_MERKLE_SIZE] ^= 1;
		require(bpk_seal_proof_test(proof, number, leaf, NULL) != 0,
			"another leaf is not proven");
	}
}

static void prove(struct leaves *leaves, uint64_t nchunks, uint64_t first, uint64_t end)
{
	struct bpk_seal_proof *proof = NULL;
	struct bpk_seal_tree tree = { 0 };
	struct bpk_err err = { 0 };
	uint8_t leaf[BPK_MERKLE_SIZE];

	leaves->broken = BPK_UNKNOWN;
	for (uint64_t number = 0; number < nchunks; number++)
		require(find(leaves, number, leaf, &err) == 0 &&
				bpk_seal_tree_add(&tree, leaf, &err) == 0,
			err.text);
	require(bpk_seal_prove(&tree, first, end, find, leaves, &proof, &err) == 0, err.text);
	test_proof(leaves, nchunks, proof, first, end);
	/* one leaf is another now: either the proof fails, or it keeps the sealed one */
	leaves->broken = first;
	if (first < nchunks && first < end &&
	    bpk_seal_prove(&tree, first, end, find, leaves, &proof, NULL) == 0) {
		require(find(leaves, first, leaf, &err) == 0, err.text);
		require(bpk_seal_proof_test(proof, first, leaf, NULL) != 0,
			"a changed chunk is found");
	}
	bpk_seal_proof_free(proof);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bpk_seal seal = { 0 };
	struct bpk_err err = { 0 };
	struct leaves leaves;
	uint64_t nchunks;

	if (size < COUNT)
		return 0;
	nchunks = bpk_get_le32(data);
	leaves = (struct leaves){ data + COUNT, size - COUNT, BPK_UNKNOWN };
	require(bpk_seal_take(bpk_view(data + COUNT, size - COUNT), nchunks, &seal, &err) == 0,
		err.text);
	if (seal.tree != NULL)
		repeat(&seal, nchunks);
	bpk_seal_clear(&seal);
	prove(&leaves, nchunks % MOST_LEAVES, data[1], data[1] + (uint64_t)data[2]);
	return 0;
}
