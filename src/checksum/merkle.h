/*
 * The root of a tree of SHA-256 digests over the leaves of some data, as RFC 6962, section 2.1,
 * defines it: a leaf's digest is SHA-256(0x00 || leaf), that of a node SHA-256(0x01 || left ||
 * right), and the left side of n leaves has the largest power of two below n. Without leaves the
 * root is SHA-256 of no bytes. A part of the room's door.
 */
#ifndef BPK_CHECKSUM_MERKLE_H
#define BPK_CHECKSUM_MERKLE_H

#include "base/base.h"

enum { BPK_MERKLE_SIZE = 32 }; /* bytes of a digest */

/*
 * A tree that grows at its end. In place of the leaves it has the roots of the largest whole trees
 * that they divide into, one for each bit that is set in their count. Caller storage, 2 KiB, valid
 * when zeroed: then it has no leaves. It holds no resources. One thread's at a time.
 */
struct bpk_merkle {
	uint64_t count;                     /* of leaves */
	uint8_t peaks[64][BPK_MERKLE_SIZE]; /* peaks[k] is of 2^k leaves, if count has bit k */
};

/* Make it the tree without leaves. */
void bpk_merkle_init(struct bpk_merkle *tree);

/*
 * The digest of a leaf's bytes, which may be none. The first call of the process loads libcrypto.
 * Fails as bpk_checksum_compute does. Any thread.
 */
int bpk_merkle_leaf(struct bpk_view bytes, uint8_t digest[BPK_MERKLE_SIZE], struct bpk_err *err);

/* The digest of a node over two digests. Fails in the same way. Any thread; node may be left or
 * right. */
int bpk_merkle_node(const uint8_t left[BPK_MERKLE_SIZE], const uint8_t right[BPK_MERKLE_SIZE],
		    uint8_t node[BPK_MERKLE_SIZE], struct bpk_err *err);

/* Add the digest of the next leaf. Fails with BPK_LIMIT for more than 2^64 - 1 leaves, or as
 * bpk_merkle_leaf does; the tree is unchanged then. */
int bpk_merkle_add(struct bpk_merkle *tree, const uint8_t leaf[BPK_MERKLE_SIZE],
		   struct bpk_err *err);

/* The root over all leaves that were added; more may follow. Fails as bpk_merkle_leaf does. */
int bpk_merkle_root(const struct bpk_merkle *tree, uint8_t root[BPK_MERKLE_SIZE],
		    struct bpk_err *err);

#endif
