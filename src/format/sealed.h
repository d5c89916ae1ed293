/*
 * The seal of a whole archive, in its parts that formats share: the tree over its chunks, and the
 * record that holds it. Each format decides where the record stands, the rest that its root covers,
 * and which mark says that there is a record. Source: bpk-formats(5), "The seal".
 *
 * The tree (checksum/merkle.h) has a leaf for each chunk: number, raw size, packed size (8 bytes
 * each, little-endian) and the digest of the packed bytes by the archive's checksum, with zeros
 * behind it or cut to BPK_MERKLE_SIZE bytes; without a checksum, SHA-256. So a seal costs no second
 * look at the chunks, and is as strong as the checksum. The record is JSON:
 *
 *     {"version":1,"generation":2,"root":"..","last":"..","peaks":[".."]}
 *
 * generation counts the commits from 1 on. last is the digest of the last leaf, and peaks are those
 * of the tree before it, the largest first, so that an append, which may replace the last chunk,
 * needs no other chunk.
 */
#ifndef BPK_FORMAT_SEALED_H
#define BPK_FORMAT_SEALED_H

#include "format/format.h"

/* The name of the record in an archive's metadata. */
#define BPK_SEAL_NAME "bpk_seal"

/* The first bytes under the digest that is the root, with the NUL. */
#define BPK_SEAL_DOMAIN "bpk seal 1"

/* ---- The tree ---- */

/* The tree of the chunks: all leaves but the last, and that one. Caller storage, valid when zeroed:
 * then it has no leaves. */
struct bpk_seal_tree {
	struct bpk_merkle before;
	bool has_last; /* false: all leaves are in before */
	uint8_t last[BPK_MERKLE_SIZE];
};

/* The number of leaves. */
uint64_t bpk_seal_tree_count(const struct bpk_seal_tree *tree);

/* Add the digest of the next leaf. Fails as bpk_merkle_add does. */
int bpk_seal_tree_add(struct bpk_seal_tree *tree, const uint8_t leaf[BPK_MERKLE_SIZE],
		      struct bpk_err *err);

/* The root over all leaves. */
int bpk_seal_tree_root(const struct bpk_seal_tree *tree, uint8_t root[BPK_MERKLE_SIZE],
		       struct bpk_err *err);

bool bpk_seal_tree_equals(const struct bpk_seal_tree *a, const struct bpk_seal_tree *b);

/* ---- The claims ---- */

/* The claims of an archive about its seal. Valid when zeroed: it has none. */
struct bpk_seal {
	bool marked;   /* another place says that there is a record */
	bool recorded; /* there is a record */
	/* The format has marks of its own for a change by another program; without them, a seal
	 * that is not that of the archive is damage. */
	bool marks_changes;
	/* also of a record that does not fit; BPK_UNKNOWN: it cannot be read, and may be any */
	uint64_t generation;
	uint8_t root[BPK_MERKLE_SIZE];
	/* of a record that fits the archive; else NULL. Freed by bpk_seal_clear */
	struct bpk_seal_tree *tree;
};

/* The next step after a change by another program, for messages. */
#define BPK_SEAL_ADVICE "if you know that program, bpk repair --reseal FILE accepts its change"

/* Fail: the chunks are not those of the record. Returns -1. */
int bpk_seal_refuse(const struct bpk_seal *seal, struct bpk_err *err);

/* ---- Leaves ---- */

/* The facts of a leaf. A chunk that is only an entry of an index has packed_size 0, and digest is
 * the format's own. */
struct bpk_seal_facts {
	uint64_t number, raw_size, packed_size;
	uint8_t digest[BPK_MERKLE_SIZE];
};

/* The digest of a leaf. Any thread. */
int bpk_seal_leaf(const struct bpk_seal_facts *facts, uint8_t leaf[BPK_MERKLE_SIZE],
		  struct bpk_err *err);

/* The digest of packed bytes for a leaf: computed, or taken from the one that is recorded for them
 * under checksum. Any thread. */
int bpk_seal_digest(const struct bpk_checksum *checksum, struct bpk_view packed,
		    uint8_t digest[BPK_MERKLE_SIZE], struct bpk_err *err);
void bpk_seal_take_digest(const struct bpk_checksum *checksum, const uint8_t *recorded,
			  uint8_t digest[BPK_MERKLE_SIZE]);

/* The digest of the leaf of a parcel as chunk number. tested: its digest follows it, as it does if
 * it was sealed under checksum just now, and is right. Any thread. */
int bpk_seal_parcel(const struct bpk_checksum *checksum, const struct bpk_parcel *parcel,
		    uint64_t number, bool tested, uint8_t leaf[BPK_MERKLE_SIZE],
		    struct bpk_err *err);

/* Add the leaf of a parcel, which is the next chunk. */
int bpk_seal_tree_put(struct bpk_seal_tree *tree, const struct bpk_checksum *checksum,
		      const struct bpk_parcel *parcel, bool tested, struct bpk_err *err);

/* ---- Leaves on their way ---- */

/*
 * Collects the leaves of chunks that many threads test in any order, and adds them to a tree in the
 * order of numbers. A leaf waits while earlier ones are missing; too many that wait, or a chunk
 * that comes twice, end the collection, and the chunks must be read again. Any thread.
 */
struct bpk_seal_leaves;

/* Find the leaf of chunk number if no thread will bring it; *found tells. */
typedef int bpk_seal_fill_fn(void *arg, uint64_t number, uint8_t leaf[BPK_MERKLE_SIZE], bool *found,
			     struct bpk_err *err);

/* fill: NULL if every chunk is brought. Fails with BPK_NO_MEMORY. */
int bpk_seal_leaves_new(bpk_seal_fill_fn *fill, void *arg, struct bpk_seal_leaves **leaves,
			struct bpk_err *err);
void bpk_seal_leaves_free(struct bpk_seal_leaves *leaves); /* accepts NULL */

/* Bring the leaf of a fetched chunk whose seal was tested under checksum. */
int bpk_seal_leaves_bring(struct bpk_seal_leaves *leaves, const struct bpk_checksum *checksum,
			  const struct bpk_parcel *parcel, struct bpk_err *err);

/* The same for a leaf that is known. */
int bpk_seal_leaves_set(struct bpk_seal_leaves *leaves, uint64_t number,
			const uint8_t leaf[BPK_MERKLE_SIZE], struct bpk_err *err);

/* Copy the tree of all nchunks leaves; *whole is false if some were not brought. leaves: or
 * NULL. */
int bpk_seal_leaves_tree(struct bpk_seal_leaves *leaves, uint64_t nchunks,
			 struct bpk_seal_tree *tree, bool *whole, struct bpk_err *err);

/* The same, compared with the tree of the record. Fails with BPK_CORRUPT if they differ. */
int bpk_seal_leaves_judge(struct bpk_seal_leaves *leaves, uint64_t nchunks,
			  const struct bpk_seal *recorded, bool *whole, struct bpk_err *err);

/* ---- Proofs ---- */

/* Find the present leaf of that chunk. */
typedef int bpk_seal_find_fn(void *arg, uint64_t number, uint8_t leaf[BPK_MERKLE_SIZE],
			     struct bpk_err *err);

/* Find the leaves of nchunks chunks, append them to all (NULL: not wanted), and compare their tree
 * with that of the record (NULL: do not). Fails with BPK_CORRUPT. */
int bpk_seal_walk(bpk_seal_find_fn *find, void *arg, uint64_t nchunks,
		  const struct bpk_seal *recorded, struct bpk_buf *all, struct bpk_err *err);

/* Leaves that are proven to be under the root. Any thread. */
struct bpk_seal_proof;

/*
 * Prove the leaves of the chunks first to end - 1 (BPK_UNKNOWN: to the last) by the tree of a
 * record, whose root was tested. The record has peaks and no leaves, so those of all chunks under
 * the same peaks are found; none if a chunk is a peak by itself, or the last one. recorded: NULL
 * without a seal. *proof: an earlier one, which is freed, or NULL. Fails with BPK_CORRUPT.
 */
int bpk_seal_prove(const struct bpk_seal_tree *recorded, uint64_t first, uint64_t end,
		   bpk_seal_find_fn *find, void *arg, struct bpk_seal_proof **proof,
		   struct bpk_err *err);
void bpk_seal_proof_free(struct bpk_seal_proof *proof); /* accepts NULL */

/* bpk_reader_ops.refutes, with the tree of a record whose root was tested; NULL: there is none.
 * entry_of: the entry of the index that alone holds a special chunk; NULL: the format has none. */
int bpk_seal_refutes(const struct bpk_seal_tree *recorded, const struct bpk_place *place,
		     const struct bpk_salvage *found, uint64_t (*entry_of)(enum bpk_special),
		     bool *refuted, struct bpk_err *err);

/* Compare the leaf of a chunk with the proven one. Fails with BPK_CORRUPT, without its number. */
int bpk_seal_proof_test(const struct bpk_seal_proof *proof, uint64_t number,
			const uint8_t leaf[BPK_MERKLE_SIZE], struct bpk_err *err);

/* The digest of the leaf of a chunk by the digest that is recorded for it, which a checksum has,
 * without a look at its bytes. */
int bpk_seal_leaf_at(const struct bpk_checksum *checksum, uint64_t number,
		     const struct bpk_where *where, uint8_t leaf[BPK_MERKLE_SIZE],
		     struct bpk_err *err);

/* ---- A tree that is continued ---- */

/*
 * The leaves of an archive that is written or changed. An append knows the tree of the chunks
 * before, which is enough; the leaves of these are recalled when one of them changes. Valid when
 * zeroed: no seal; must be cleared. One thread's.
 */
struct bpk_seal_growth {
	uint64_t generation;        /* 0: no seal, and nothing is noted */
	const struct bpk_seal *old; /* that of the archive before; unused without base */
	struct bpk_seal_tree base;  /* of the first chunks, whose leaves are not known ... */
	struct bpk_buf leaves; /* ... and the leaves of all others, BPK_MERKLE_SIZE bytes each */
	/* Append the leaves of all chunks before the change to all, or of more than base has; and
	 * find the present leaf of one. NULL: base is empty. */
	int (*recall)(void *arg, struct bpk_buf *all, struct bpk_err *err);
	bpk_seal_find_fn *find;
	void *arg;
};

void bpk_seal_growth_clear(struct bpk_seal_growth *growth);

/* Begin the seal after old, which may be broken, with the tree of all chunks as they are. The
 * generation stays 0 if old is right: fits, its root is that of the rest, and the tree its own.
 * Fails as bpk_seal_next does. */
int bpk_seal_growth_renew(struct bpk_seal_growth *growth, const struct bpk_seal *old, bool fits,
			  const struct bpk_seal_tree *tree, struct bpk_err *err);

/* Set the leaf of chunk number: the next one, or one that is replaced. */
int bpk_seal_growth_set(struct bpk_seal_growth *growth, uint64_t number,
			const uint8_t leaf[BPK_MERKLE_SIZE], struct bpk_err *err);

/* Keep the first nchunks chunks. The others must be those that were sealed, since an append packs
 * the bytes of a short last chunk once more. */
int bpk_seal_growth_cut(struct bpk_seal_growth *growth, uint64_t nchunks, struct bpk_err *err);

/* Make the tree of all chunks. */
int bpk_seal_growth_tree(struct bpk_seal_growth *growth, struct bpk_seal_tree *tree,
			 struct bpk_err *err);

/* ---- The record ---- */

void bpk_seal_clear(struct bpk_seal *seal);

/* Parse the record of an archive of nchunks chunks (unknown: fits none). Fails with BPK_NO_MEMORY;
 * damage is noted in seal. */
int bpk_seal_take(struct bpk_view record, uint64_t nchunks, struct bpk_seal *seal,
		  struct bpk_err *err);

/* Append the record of a tree with its last leaf. */
int bpk_seal_put(struct bpk_buf *out, uint64_t generation, const uint8_t root[BPK_MERKLE_SIZE],
		 const struct bpk_seal_tree *tree, struct bpk_err *err);

/* Test mark and record against each other; fails with BPK_CORRUPT if one of them is missing, or the
 * record does not fit. *sealed is false if both are. */
int bpk_seal_check(const struct bpk_seal *seal, uint64_t nchunks, bool *sealed,
		   struct bpk_err *err);

/* The generation after that of a seal; 0 for none. Fails with BPK_LIMIT if the record could not be
 * read any more, as only a forged one can make it, or has no generation that can be read: it never
 * goes back. */
int bpk_seal_next(const struct bpk_seal *seal, uint64_t *generation, struct bpk_err *err);

/* Compare the root with that of the content. Fails with BPK_CORRUPT. */
int bpk_seal_compare(const struct bpk_seal *seal, const uint8_t root[BPK_MERKLE_SIZE],
		     struct bpk_err *err);

/* Fail for size bytes behind the end of a sealed archive, if there are any. */
int bpk_seal_check_end(uint64_t end, uint64_t size, struct bpk_err *err);

#endif
