/*
 * The seal of a frame that is read, inside the room.
 */
#ifndef BPK_FORMAT_FRAME_SEAL_H
#define BPK_FORMAT_FRAME_SEAL_H

#include "format/frame/reader.h"

/* Test mark, record and root against each other, header and layers; no chunk is read. 0 without a
 * seal. Fails with BPK_CORRUPT, or with BPK_LIMIT (too many chunks without bytes of their own). */
int bpk_frame_seal_check(const struct bpk_frame_reader *reader, struct bpk_err *err);

/* The present leaf of a chunk, by its bytes. */
int bpk_frame_seal_find(struct bpk_frame_reader *reader, uint64_t number,
			uint8_t leaf[BPK_MERKLE_SIZE], struct bpk_err *err);

/* Read all chunks, and append their leaves to all (NULL: not wanted). compares: test them against
 * the record, which fits; fails with BPK_CORRUPT. */
int bpk_frame_seal_walk(struct bpk_frame_reader *reader, bool compares, struct bpk_buf *all,
			struct bpk_err *err);

/* Both tests, by the leaves of the chunks that were checked, if these are all. */
int bpk_frame_seal_audit(struct bpk_frame_reader *reader, struct bpk_err *err);

/* bpk_reader_ops.prove, refutes */
int bpk_frame_seal_prove(void *reader, uint64_t first, uint64_t end, struct bpk_err *err);
int bpk_frame_seal_refutes(void *reader, const struct bpk_place *place,
			   const struct bpk_salvage *found, bool *refuted, struct bpk_err *err);

/* ---- Leaves (seal_leaves.c) ---- */

/* The checksum of the digests, or the one without. */
const struct bpk_checksum *bpk_frame_seal_checksum(const struct bpk_frame_reader *reader);

/* Find the leaf of a chunk that the index alone has; *found is false for others. Any thread. */
int bpk_frame_seal_find_entry(const struct bpk_frame_reader *reader, uint64_t number,
			      uint8_t leaf[BPK_MERKLE_SIZE], bool *found, struct bpk_err *err);

/* Compare a chunk that was fetched whole with its proof, if reader->proof is set. Any thread. */
int bpk_frame_seal_test(const struct bpk_frame_reader *reader, const struct bpk_parcel *parcel,
			struct bpk_err *err);

/* Make reader->leaves, if the frame has a seal and will be audited. */
int bpk_frame_seal_begin(struct bpk_frame_reader *reader, struct bpk_err *err);

/* Bring the leaf of a chunk whose digest was tested. Any thread. */
int bpk_frame_seal_bring(const struct bpk_frame_reader *reader, const struct bpk_parcel *parcel,
			 struct bpk_err *err);

#endif
