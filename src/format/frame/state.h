/*
 * A state, inside the room: one parsed frame without its chunks. Header, index, trailer, digests.
 */
#ifndef BPK_FORMAT_FRAME_STATE_H
#define BPK_FORMAT_FRAME_STATE_H

#include "format/frame/frame.h"

/* Fixed once loaded; any thread. Must be cleared; valid when zeroed. */
struct bpk_frame_state {
	struct bpk_frame_header header;
	struct bpk_buf head;     /* the header's bytes as stored */
	struct bpk_buf entries;  /* of the index, 8 bytes each in host order ... */
	bool uniform;            /* ... or one entry that stands for all of them */
	uint64_t nchunks;        /* entries in the index */
	uint64_t index_offset;   /* of the index chunk */
	uint32_t index_size;     /* packed; 0: no index */
	uint64_t trailer_offset; /* the trailer ends where the frame does */
	uint64_t trailer_size;
	struct bpk_frame_layers layers;   /* the trailer's, including ours */
	struct bpk_frame_digests digests; /* checksum NULL: no digests */
	/* Another program changed the frame since bpk wrote its digests. Chunks are then not
	 * checked by them; audit reports which still agree. */
	bool stale;
	/* Another program rewrote only the header, for example for the content of a fixed
	 * metalayer: all other digests hold. */
	bool stale_header;
	/* Damage of the trailer, or of the layer of digests. The data do not depend on them, so
	 * only audit reports it. BPK_OK: no damage. */
	struct bpk_err damage;
};

void bpk_frame_state_clear(struct bpk_frame_state *state);

/*
 * Load a frame from offset 0 of source (seekable; held by the caller): a contiguous one, or
 * chunks.b2frame of a sparse one. Digests of header and index are tested unless no_check. Fails
 * with BPK_CORRUPT ("header: ...", "index: ...", "trailer: ..."), BPK_UNSUPPORTED, BPK_LIMIT (an
 * index or layers that unpack to far more than their bytes justify) or BPK_NO_MEMORY; state is then
 * cleared.
 */
int bpk_frame_state_load(struct bpk_source *source, bool sparse, bool no_check,
			 struct bpk_frame_state *state, struct bpk_err *err);

/* The index entry of chunk number, below nchunks. */
static inline uint64_t bpk_frame_entry(const struct bpk_frame_state *state, uint64_t number)
{
	uint64_t entry;

	memcpy(&entry, state->entries.data + (state->uniform ? 0 : 8 * number), sizeof entry);
	return entry;
}

#endif
