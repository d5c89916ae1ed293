/*
 * The seal of a Bloscpack file (format/sealed.h): one digest, the root, over its header, its
 * metadata and its chunks in their order. A part of bloscpack.h.
 *
 *     root = SHA-256("bpk seal 1" NUL, header, generation, SHA-256(metadata), root of the chunks)
 *
 * The header has its 32 bytes, the generation 8; the metadata are their text without the record,
 * which is their last member:
 *
 *     "bpk_seal":{"version":1,"generation":2,"root":"..","last":"..","peaks":[".."]}
 *
 * The user codec of the metadata's header, which other readers ignore, says that there is a record.
 */
#ifndef BPK_FORMAT_BLOSCPACK_SEAL_H
#define BPK_FORMAT_BLOSCPACK_SEAL_H

#include "format/sealed.h"

struct bpk_bloscpack_metadata;
struct bpk_bloscpack_reader;

enum {
	BPK_BLOSCPACK_SEAL_MARK = 24, /* place of the mark in the metadata's header */
	BPK_BLOSCPACK_SEAL_MARK_SIZE = 8,
};

extern const uint8_t bpk_bloscpack_seal_mark[BPK_BLOSCPACK_SEAL_MARK_SIZE];

/* The largest size of the record of an archive with so many chunks at most; BPK_UNKNOWN: of one
 * with 2^40. */
size_t bpk_bloscpack_seal_room(uint64_t nchunks);

/* Read the record of metadata, and cut it out of their text. nchunks: in the archive. Fails with
 * BPK_NO_MEMORY; damage is noted in seal. */
int bpk_bloscpack_seal_take(struct bpk_bloscpack_metadata *metadata, uint64_t nchunks,
			    struct bpk_seal *seal, struct bpk_err *err);

/* Test mark, record and root against each other, header and metadata; no chunk is read. 0 without a
 * seal. Fails with BPK_CORRUPT. */
int bpk_bloscpack_seal_check(const struct bpk_bloscpack_reader *reader, struct bpk_err *err);

/* The leaf of a chunk, by its bytes. Fails as fetching does. */
int bpk_bloscpack_seal_find(struct bpk_bloscpack_reader *reader, uint64_t number,
			    uint8_t leaf[BPK_MERKLE_SIZE], struct bpk_err *err);

/* Test all chunks against the record, which fits, by their bytes. Fails with BPK_CORRUPT, or as
 * fetching does. */
int bpk_bloscpack_seal_walk(struct bpk_bloscpack_reader *reader, struct bpk_err *err);

/* The same by the digests that are recorded for the chunks, if there are any; append all leaves to
 * all. */
int bpk_bloscpack_seal_recall(struct bpk_bloscpack_reader *reader, struct bpk_buf *all,
			      struct bpk_err *err);

/* Make the tree of all chunks as they are, each of which must match its digest, or unpack if it has
 * none. Fails with BPK_CORRUPT, or as fetching does. */
int bpk_bloscpack_seal_gather(struct bpk_bloscpack_reader *reader, struct bpk_seal_tree *tree,
			      struct bpk_err *err);

/* All of an audit but the seal, without remarks, of a file that no writer changes meanwhile. */
int bpk_bloscpack_audit_unsealed(struct bpk_bloscpack_reader *reader, struct bpk_err *err);

/* bpk_reader_ops.prove, refutes, and the test of a parcel that was fetched. */
int bpk_bloscpack_seal_prove(void *reader, uint64_t first, uint64_t end, struct bpk_err *err);
int bpk_bloscpack_seal_refutes(void *reader, const struct bpk_place *place,
			       const struct bpk_salvage *found, bool *refuted, struct bpk_err *err);
int bpk_bloscpack_seal_test(const struct bpk_bloscpack_reader *reader,
			    const struct bpk_parcel *parcel, struct bpk_err *err);

/* Join metadata (empty: none) and the record for them, header and a tree with its last leaf. Fails
 * with BPK_USAGE if the text is no object, or has a member of the record's name. */
int bpk_bloscpack_seal_join(struct bpk_view text, const uint8_t *header, uint64_t generation,
			    const struct bpk_seal_tree *tree, struct bpk_buf *out,
			    struct bpk_err *err);

/* True if a user's text has a member of the record's name. */
bool bpk_bloscpack_seal_is_named(struct bpk_view text);

#endif
