/*
 * The seal of a Bloscpack file: one digest, the root, over its header, its metadata and its chunks
 * in their order. A part of bloscpack.h.
 *
 *     root = SHA-256("bpk seal 1" NUL, header, generation, SHA-256(metadata), root of the chunks)
 *
 * The header has its 32 bytes; the generation, 8 bytes, counts the commits from 1 on; the metadata
 * are their text without the record. The root of the chunks is that of a tree (checksum/merkle.h)
 * of a leaf for each: number, raw size, packed size (8 bytes each) and SHA-256 of the packed bytes.
 * The record is the last member of the metadata:
 *
 *     "bpk_seal":{"version":1,"generation":2,"root":"..","last":"..","peaks":[".."]}
 *
 * last is the digest of the last leaf, and peaks are those of the tree before it, the largest
 * first, so that an append, which may replace the last chunk, needs no other chunk. The user codec
 * of the metadata's header, which other readers ignore, says that there is a record.
 */
#ifndef BPK_FORMAT_BLOSCPACK_SEAL_H
#define BPK_FORMAT_BLOSCPACK_SEAL_H

#include "format/format.h"

struct bpk_bloscpack_metadata;
struct bpk_bloscpack_reader;

enum {
	BPK_BLOSCPACK_SEAL_ROOM = 3 << 10, /* for a record of 40 peaks: 2^40 chunks */
	BPK_BLOSCPACK_SEAL_MARK = 24,      /* place of the mark in the metadata's header */
	BPK_BLOSCPACK_SEAL_MARK_SIZE = 8,
};

extern const uint8_t bpk_bloscpack_seal_mark[BPK_BLOSCPACK_SEAL_MARK_SIZE];

/* The tree of the chunks: all leaves but the last, and that one. Caller storage, valid when zeroed:
 * then it has no leaves. */
struct bpk_bloscpack_tree {
	struct bpk_merkle before;
	bool has_last; /* false: all leaves are in before */
	uint8_t last[BPK_MERKLE_SIZE];
};

/* Valid when zeroed: no seal. */
struct bpk_bloscpack_seal {
	bool marked;   /* the header says that there is a record */
	bool recorded; /* the metadata have one */
	uint64_t generation;
	uint8_t root[BPK_MERKLE_SIZE];
	/* of a record that fits the archive; else NULL. Freed by bpk_bloscpack_seal_clear */
	struct bpk_bloscpack_tree *tree;
};

void bpk_bloscpack_seal_clear(struct bpk_bloscpack_seal *seal);

/* Read the record of metadata, and cut it out of their text. nchunks: in the archive. Fails with
 * BPK_NO_MEMORY; damage is noted in seal. */
int bpk_bloscpack_seal_take(struct bpk_bloscpack_metadata *metadata, uint64_t nchunks,
			    struct bpk_bloscpack_seal *seal, struct bpk_err *err);

/* Test mark, record and root against each other, header and metadata; no chunk is read. 0 without a
 * seal. Fails with BPK_CORRUPT. */
int bpk_bloscpack_seal_check(const struct bpk_bloscpack_reader *reader, struct bpk_err *err);

/* Test all chunks against the record. The first nchunks of them also make *kept (NULL: not
 * wanted). Fails with BPK_CORRUPT, or as fetching does. */
int bpk_bloscpack_seal_walk(struct bpk_bloscpack_reader *reader, uint64_t nchunks,
			    struct bpk_bloscpack_tree *kept, struct bpk_err *err);

/* Append to a parcel, sealed under checksum, the digest that add needs: work for any thread. */
int bpk_bloscpack_seal_digest(const struct bpk_checksum *checksum, struct bpk_parcel *parcel,
			      struct bpk_err *err);

/* Add the leaf of a parcel, sealed under checksum, which is the next chunk. */
int bpk_bloscpack_tree_add(struct bpk_bloscpack_tree *tree, const struct bpk_checksum *checksum,
			   const struct bpk_parcel *parcel, struct bpk_err *err);

bool bpk_bloscpack_tree_equals(const struct bpk_bloscpack_tree *a,
			       const struct bpk_bloscpack_tree *b);

/* Fail: the chunks are not those of the record. Returns -1. */
int bpk_bloscpack_seal_refuse(struct bpk_err *err);

/* Join metadata (empty: none) and the record for them, header and a tree with its last leaf. Fails
 * with BPK_USAGE if the text is no object, or has a member of the record's name. */
int bpk_bloscpack_seal_join(struct bpk_view text, const uint8_t *header, uint64_t generation,
			    const struct bpk_bloscpack_tree *tree, struct bpk_buf *out,
			    struct bpk_err *err);

/* True if a user's text has a member of the record's name. */
bool bpk_bloscpack_seal_is_named(struct bpk_view text);

#endif
