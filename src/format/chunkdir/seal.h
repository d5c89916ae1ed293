/*
 * The seal of a chunked directory (format/sealed.h), inside the room. The record is the member
 * "bpk_seal" of sizes, whose rename is the commit; the same member of storage, the number 1, says
 * that it is there. Other readers ignore both. Layout Blaze alone.
 *
 *     root = SHA-256("bpk seal 1" NUL, "chunked" NUL, generation, number of parcels, number of the
 *                    checksum, SHA-256(numbers of sizes), SHA-256(storage), SHA-256(attributes),
 *                    root of the parcels)
 *
 * The first three numbers have 8 bytes each, little-endian; the checksum is 0 without parcels. The
 * numbers of sizes are those that its own digest covers (chunkdir.h); the attributes count without
 * white space at their ends. A parcel has a leaf: its number, its raw size, its packed size, and
 * SHA-256 of its chunk; with columns the sum of packed sizes, and SHA-256 of the packed size (8
 * bytes) and SHA-256 of each column's chunk.
 */
#ifndef BPK_FORMAT_CHUNKDIR_SEAL_H
#define BPK_FORMAT_CHUNKDIR_SEAL_H

#include "format/chunkdir/meta.h"

/* The facts under the root, besides the tree. */
struct bpk_chunkdir_sealed_facts {
	const struct bpk_chunkdir_sizes *sizes;
	const uint8_t *storage; /* its digest */
	struct bpk_view attributes;
	const struct bpk_checksum *checksum;
	uint64_t generation;
};

/* Add a member to the text of sizes or storage, which is an object with a newline: the record of a
 * tree; or the mark. */
int bpk_chunkdir_seal_put(const struct bpk_chunkdir_sealed_facts *facts,
			  const struct bpk_seal_tree *tree, struct bpk_buf *text,
			  struct bpk_err *err);
int bpk_chunkdir_seal_mark(struct bpk_buf *text, struct bpk_err *err);

/* The digest of the leaf of a parcel in an archive of that checksum. sealed: its chunks were sealed
 * just now. Any thread. */
int bpk_chunkdir_seal_leaf(const struct bpk_chunkdir *set, const struct bpk_checksum *checksum,
			   const struct bpk_parcel *parcel, bool sealed,
			   uint8_t leaf[BPK_MERKLE_SIZE], struct bpk_err *err);

/* Bring the leaf of a fetched parcel whose seal was tested to those of the reader. Any thread. */
int bpk_chunkdir_seal_bring(const struct bpk_chunkdir_reader *reader,
			    const struct bpk_parcel *parcel, struct bpk_err *err);

/* Test mark, record and root against each other and the meta files; no data file is read. 0 without
 * a seal. Fails with BPK_CORRUPT. */
int bpk_chunkdir_seal_check(const struct bpk_chunkdir_reader *reader, struct bpk_err *err);

/* Fetch all parcels, compare their tree with the record, and append their leaves to all (NULL: not
 * wanted). */
int bpk_chunkdir_seal_walk(struct bpk_chunkdir_reader *reader, struct bpk_buf *all,
			   struct bpk_err *err);

/* Make the tree of all parcels as they are, each of which must match its digest, or unpack if it
 * has none. Fails with BPK_CORRUPT, or as fetching does. */
int bpk_chunkdir_seal_gather(struct bpk_chunkdir_reader *reader, struct bpk_seal_tree *tree,
			     struct bpk_err *err);

/* The present leaf of a parcel, by its bytes. */
int bpk_chunkdir_seal_find(struct bpk_chunkdir_reader *reader, uint64_t number,
			   uint8_t leaf[BPK_MERKLE_SIZE], struct bpk_err *err);

/* bpk_reader_ops.prove, refutes, and the test of a parcel that was fetched. */
int bpk_chunkdir_seal_prove(void *reader, uint64_t first, uint64_t end, struct bpk_err *err);
int bpk_chunkdir_seal_refutes(void *reader, const struct bpk_place *place,
			      const struct bpk_salvage *found, bool *refuted, struct bpk_err *err);
int bpk_chunkdir_seal_test(const struct bpk_chunkdir_reader *reader,
			   const struct bpk_parcel *parcel, struct bpk_err *err);

/* All of an audit but the seal and files that are no part of the dataset. found gets the sums of
 * shares (bpk_chunkdir_digests). */
int bpk_chunkdir_audit_unsealed(struct bpk_chunkdir_reader *reader,
				struct bpk_chunkdir_digests *found, struct bpk_err *err);

/* Both tests, by the leaves of the parcels that were checked, if these are all. */
int bpk_chunkdir_seal_audit(struct bpk_chunkdir_reader *reader, struct bpk_err *err);

#endif
