/*
 * The identity of a raw content: the tree of SHA-256 digests over leaves of 1 MiB that `bpk sum
 * --tree` prints the root of, and the record of it in an archive's metadata. A part of the room's
 * door. Source: bpk-formats(5), "The identity".
 *
 * The record is a member of the metadata, an object:
 *
 *     "bpk_identity":{"version":1,"size":3145828,"level":0,"root":"..","digests":".."}
 *
 * size is the number of raw bytes, root that of the tree (checksum/merkle.h), both for any reader.
 * digests are those of the nodes over 2^level whole leaves each, from the first on; then of the
 * largest whole trees of the leaves behind these, the largest first; then of a last leaf that is
 * not whole. So an append needs no byte before the last leaf. Other names in the object are
 * ignored.
 */
#ifndef BPK_ARCHIVE_IDENT_H
#define BPK_ARCHIVE_IDENT_H

#include "format/format.h"

/* The name of the record in the metadata. */
#define BPK_IDENT_NAME "bpk_identity"

enum {
	BPK_IDENT_LEAF = 1 << 20,
	/* Most nodes of a record that bpk makes: 4 GiB have a digest for each leaf, at 64 bytes of
	 * text a MiB; above, pairs of nodes become one, which bounds memory and metadata. */
	BPK_IDENT_MOST = 4096,
	/* Bytes of the text of a record without digests. */
	BPK_IDENT_TEXT = 160,
};

/* A tree that grows at its end. Caller storage, valid when zeroed: then the content is empty; must
 * be cleared. One thread's at a time. */
struct bpk_ident {
	uint64_t size;
	uint64_t most;                 /* nodes, before pairs are joined; 0: BPK_IDENT_MOST */
	unsigned level;                /* a node has 2^level leaves */
	struct bpk_buf nodes;          /* their digests */
	struct bpk_merkle rest;        /* whole leaves behind these: fewer than 2^level */
	uint8_t last[BPK_MERKLE_SIZE]; /* of a leaf that is not whole, if size ends in one */
};

void bpk_ident_clear(struct bpk_ident *identity);

/* The number of whole leaves, and of nodes. */
uint64_t bpk_ident_leaves(const struct bpk_ident *identity);
uint64_t bpk_ident_nodes(const struct bpk_ident *identity);

/* Add the digest of the next whole leaf, or of a last one of size bytes. */
int bpk_ident_add(struct bpk_ident *identity, const uint8_t digest[BPK_MERKLE_SIZE],
		  struct bpk_err *err);
void bpk_ident_end(struct bpk_ident *identity, size_t size, const uint8_t digest[BPK_MERKLE_SIZE]);

int bpk_ident_root(const struct bpk_ident *identity, uint8_t root[BPK_MERKLE_SIZE],
		   struct bpk_err *err);

/* Make a zeroed identity of size bytes, with digests of zeros: for the room of its record. */
int bpk_ident_blank(struct bpk_ident *identity, uint64_t size, struct bpk_err *err);

/* Keep the nodes that do not need the bytes from size on, which is at most that of the content:
 * *from is where the bytes begin that must be added. */
void bpk_ident_cut(struct bpk_ident *identity, uint64_t size, uint64_t *from);

/* The raw bytes that a change must digest anew, of which the first kept bytes of the content stay:
 * those of a last leaf, or of the node that kept cuts. None if *start is *end; else root is that of
 * the tree over them. */
int bpk_ident_part(const struct bpk_ident *identity, uint64_t kept, uint64_t *start, uint64_t *end,
		   uint8_t root[BPK_MERKLE_SIZE], struct bpk_err *err);

/* Join pairs of nodes until they have this level. */
int bpk_ident_coarsen(struct bpk_ident *identity, unsigned level, struct bpk_err *err);

/* The raw bytes under digest number of a record: the nodes, and all that is behind them as the
 * last. *end is size at most. */
void bpk_ident_range(const struct bpk_ident *identity, uint64_t number, uint64_t *start,
		     uint64_t *end);

/* True if these bytes have equal digests in two trees of one size and level. */
bool bpk_ident_same(const struct bpk_ident *a, const struct bpk_ident *b, uint64_t number);

/* ---- The record ---- */

/* Append the value of the record, and a NUL. */
int bpk_ident_put(const struct bpk_ident *identity, struct bpk_buf *out, struct bpk_err *err);

/* Parse the value of a record, and test it against itself; *good is false for one that bpk does not
 * know, or that its own digests contradict. identity is zeroed, or the caller's to clear. */
int bpk_ident_take(struct bpk_view value, struct bpk_ident *identity, bool *good,
		   struct bpk_err *err);

/* The record in an archive's metadata. */
enum bpk_ident_state {
	BPK_IDENT_NONE,
	BPK_IDENT_STRANGE, /* malformed, or of a later version */
	BPK_IDENT_STALE,   /* of another number of bytes */
	BPK_IDENT_GOOD,    /* of as many bytes; only reading shows of which */
};

/* Find and parse it. raw_size: of the content; BPK_UNKNOWN: not known yet, any fits. */
int bpk_ident_find(const struct bpk_info *info, uint64_t raw_size, struct bpk_ident *identity,
		   enum bpk_ident_state *state, struct bpk_err *err);

/* True if the metadata have a record, good or not; and fail with BPK_USAGE since the user's own
 * have one. Returns -1. */
bool bpk_ident_is_named(struct bpk_view metadata);
int bpk_ident_fail_named(struct bpk_err *err);

/* True if the archive has metadata, and they have a record, good or not. */
bool bpk_ident_is_recorded(const struct bpk_info *info);

/* Set the record in a metadata text (empty: a new object), or remove it; an object without another
 * member becomes no text. Setting fails with BPK_USAGE if text is no object. */
int bpk_ident_join(struct bpk_buf *text, const struct bpk_ident *identity, struct bpk_err *err);
int bpk_ident_strip(struct bpk_buf *text, struct bpk_err *err);

/* The metadata of an archive without the record, or with one, in place of those in its info, which
 * borrows them. Caller storage, valid when zeroed; for bpk_ident_less_clear. */
struct bpk_ident_less {
	struct bpk_buf text;
	struct bpk_layer *layers;
	struct bpk_buf content; /* of the layer that is the record */
};

int bpk_ident_leave_out(struct bpk_info *info, struct bpk_ident_less *less, struct bpk_err *err);
/* Behind it: add a record. Fails with BPK_USAGE if the metadata are no object. */
int bpk_ident_put_in(struct bpk_info *info, const struct bpk_ident *identity,
		     struct bpk_ident_less *less, struct bpk_err *err);
void bpk_ident_less_clear(struct bpk_ident_less *less);

/* ---- Bytes that become leaves ---- */

/*
 * The leaves of bytes that many threads bring in any order, but each once, and none far ahead of
 * the others: memory is 1 MiB for each leaf that was begun, and 33 bytes for each that is ahead of
 * the slowest. They are added to a tree, which is the caller's. Caller storage; for
 * bpk_leaves_clear.
 */
struct bpk_leaves {
	struct bpk_ident *tree;
	uint64_t from;         /* bytes before it are known, and passed over */
	struct bpk_mutex lock; /* guards the rest, and tree */
	struct bpk_gathered *begun, *idle;
	struct bpk_early *early; /* a ring: leaf n lies at n modulo its room, a power of two */
	size_t room;
};

/* Begin behind the whole leaves of tree. */
void bpk_leaves_init(struct bpk_leaves *leaves, struct bpk_ident *tree);
void bpk_leaves_clear(struct bpk_leaves *leaves);

/* Bring the bytes at a raw offset. Any thread. */
int bpk_leaves_put(struct bpk_leaves *leaves, uint64_t offset, struct bpk_view bytes,
		   struct bpk_err *err);

/* All bytes were brought: the tree is complete. */
int bpk_leaves_finish(struct bpk_leaves *leaves, struct bpk_err *err);

#endif
