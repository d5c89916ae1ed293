/*
 * A writer that keeps what it is given: the parcels that one rank packed in a round; inside flow
 * alone.
 */
#ifndef BPK_FLOW_COLLECT_H
#define BPK_FLOW_COLLECT_H

#include "flow/flow.h"

/* Belongs to the thread that puts. Valid when out and writer are set and all else is zeroed. */
struct bpk_collected {
	const struct bpk_writer_ops *out; /* packs and seals; borrowed, like writer */
	void *writer;
	struct bpk_parcel *parcels; /* in the order of numbers, reused from round to round */
	size_t count, room;
	void (*then)(void *arg); /* called after each parcel that is kept; may be NULL */
	void *arg;
};

/* The calls of such a writer in the place of out. */
struct bpk_writer_ops bpk_collected_ops(const struct bpk_writer_ops *out);

/* The bytes of a parcel that out's put takes: its packed ones, or raw ones without a seal. */
struct bpk_buf *bpk_collected_bytes(const struct bpk_collected *all, struct bpk_parcel *parcel);

void bpk_collected_clear(struct bpk_collected *all);

#endif
