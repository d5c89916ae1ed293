/*
 * A state, inside the room: one parsed frame without its chunks. Header, index, trailer, digests.
 */
#ifndef BPK_FORMAT_FRAME_STATE_H
#define BPK_FORMAT_FRAME_STATE_H

#include "format/frame/pages.h"

/* Fixed once loaded, but for the pages, which lock themselves; any thread. Must be cleared; valid
 * when zeroed. */
struct bpk_frame_state {
	struct bpk_frame_header header;
	struct bpk_buf head;                 /* the header's bytes as stored */
	struct bpk_buf entries;              /* of the index, 8 bytes each in host order ... */
	bool uniform;                        /* ... or one entry that stands for all of them ... */
	struct bpk_frame_pages *entry_pages; /* ... or pages of them; NULL: they are in memory */
	uint64_t nchunks;                    /* entries in the index */
	uint64_t index_offset;               /* of the index chunk */
	uint32_t index_size;                 /* packed; 0: no index */
	uint64_t trailer_offset;             /* the trailer ends where the frame does */
	uint64_t trailer_size;
	struct bpk_frame_layers layers;       /* the trailer's, including ours */
	struct bpk_frame_digests digests;     /* checksum NULL: no digests */
	struct bpk_frame_pages *digest_pages; /* of chunks; NULL: digests has them */
	struct bpk_seal seal;                 /* as claimed, not tested */
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
 * Load a frame from offset 0 of source (seekable; held by the caller; borrowed until the state is
 * cleared): a contiguous one, or chunks.b2frame of a sparse one. Digests of header and index are
 * tested unless no_check. Fails with BPK_CORRUPT ("header: ...", "index: ...", "trailer: ..."),
 * BPK_UNSUPPORTED, BPK_LIMIT (an index or layers that unpack to far more than their bytes justify)
 * or BPK_NO_MEMORY; state is then cleared.
 */
int bpk_frame_state_load(struct bpk_source *source, bool sparse, bool no_check,
			 struct bpk_frame_state *state, struct bpk_err *err);

/*
 * Get the index entry of chunk number, below nchunks. An entry of a large index is read and checked
 * only here: fails as bpk_frame_pages_get does.
 */
int bpk_frame_entry(const struct bpk_frame_state *state, uint64_t number, uint64_t *entry,
		    struct bpk_err *err);

/* The same for the entries from number on, of an index in pages: *count at most, which becomes
 * their number, 1 or more. */
int bpk_frame_entries(const struct bpk_frame_state *state, uint64_t number, size_t *count,
		      uint64_t *entries, struct bpk_err *err);

/* Count the entries that lead to chunks; of equal entries that one stands for, one is counted. */
int bpk_frame_count_stored(const struct bpk_frame_state *state, uint64_t *count,
			   struct bpk_err *err);

/* True if there is a digest of chunk number. A stale state has none. */
bool bpk_frame_has_seal(const struct bpk_frame_state *state, uint64_t number);

/* Get that digest, which must exist. Fails as bpk_frame_pages_get does. */
int bpk_frame_get_seal(const struct bpk_frame_state *state, uint64_t number,
		       uint8_t digest[BPK_DIGEST_MAX], struct bpk_err *err);

#endif
