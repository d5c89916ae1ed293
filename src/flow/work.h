/*
 * The work on one parcel, on any thread: check, decode, encode, compare, seal; inside flow alone.
 */
#ifndef BPK_FLOW_WORK_H
#define BPK_FLOW_WORK_H

#include "flow/flow.h"

/* One thread's own. Valid when zeroed; the scratch is made when it is first needed. */
struct bpk_worker {
	struct bpk_chunk_ctx *ctx;
	struct bpk_buf proof;   /* a packed parcel, unpacked again */
	struct bpk_race race;   /* to choose filters for a chunk; it borrows ctx */
	struct bpk_buf sizes;   /* of its blocks, if they have variable length */
	struct bpk_parcel one;  /* a chunk of a parcel of several */
	struct bpk_parcel twin; /* the same chunk of the other archive */
};

/* Make the scratch unless it is there. */
int bpk_worker_ready(struct bpk_worker *worker, struct bpk_err *err);
void bpk_worker_clear(struct bpk_worker *worker);

/* True if the plan wants no byte of a chunk that has some: it was only passed over. */
bool bpk_work_passes_over(const struct bpk_parcel *parcel);

/* Test the seal of a fetched parcel, if the flow wants that. */
int bpk_work_check(const struct bpk_flow *flow, const struct bpk_parcel *parcel,
		   struct bpk_err *err);

/*
 * Bring a fetched and checked parcel into the state in which it is put. Errors name the chunk.
 */
int bpk_work(struct bpk_worker *worker, const struct bpk_flow *flow, struct bpk_parcel *parcel,
	     struct bpk_err *err);

/* True if chunks of raw_size (BPK_UNKNOWN: of any size) may be unpacked, and put or proved, in
 * pieces. */
bool bpk_work_may_split(const struct bpk_flow *flow, uint64_t raw_size);

/* True if several threads may encode a chunk of raw_size. */
bool bpk_work_may_share(const struct bpk_flow *flow, uint64_t raw_size);

/* The size of the pieces in which a fetched parcel of one chunk is unpacked; 0: all at once. */
int bpk_work_divide(const struct bpk_reader_ops *ops, const void *reader, struct bpk_chunk_ctx *ctx,
		    const struct bpk_parcel *parcel, size_t *size, struct bpk_err *err);

/* The size of the pieces in which a fetched and checked parcel is unpacked; 0: all at once. Errors
 * name the chunk. */
int bpk_work_piece_size(struct bpk_worker *worker, const struct bpk_flow *flow,
			const struct bpk_parcel *parcel, size_t *size, struct bpk_err *err);

/* Unpack the bytes of chunk that piece wants into piece, as a part of the output, or only prove
 * them. Errors name the chunk. */
int bpk_work_piece(struct bpk_worker *worker, const struct bpk_flow *flow,
		   const struct bpk_parcel *chunk, struct bpk_parcel *piece, struct bpk_err *err);

/* Prefix a report with the chunk that was worked on. Returns -1. */
int bpk_work_subject(const struct bpk_reader_ops *ops, const void *reader,
		     const struct bpk_parcel *parcel, struct bpk_err *err);

/* Unpack the wanted bytes of a fetched parcel, of one chunk or of several that its format puts
 * together, into out. Any thread, with its own ctx. */
int bpk_work_unpack(const struct bpk_reader_ops *ops, const void *reader, struct bpk_chunk_ctx *ctx,
		    const struct bpk_parcel *parcel, struct bpk_span out, struct bpk_err *err);

/*
 * Pack parcel->raw, which is not empty, in blocks of variable length: of these sizes (uint32_t
 * each) as far as they go, then of the recipe's block size.
 */
int bpk_work_encode_variable(struct bpk_worker *worker, const struct bpk_recipe *recipe,
			     struct bpk_view sizes, struct bpk_parcel *parcel, struct bpk_err *err);

/* Bytes of a parcel that are in memory at a time, for chunks of raw_size, by the archive's first
 * chunk. Then the least bytes of a chunk that make work for one thread. */
uint64_t bpk_work_at_once(const struct bpk_flow *flow, uint64_t raw_size);
uint64_t bpk_work_for_one(const struct bpk_flow *flow, uint64_t raw_size);

#endif
