/*
 * Chunks by their numbers, inside the room, in the state at open. fetch.h is for chunks that a
 * writer may change meanwhile.
 */
#ifndef BPK_FORMAT_FRAME_CHUNKS_H
#define BPK_FORMAT_FRAME_CHUNKS_H

#include "format/frame/reader.h"

/* Raw bytes of chunk number, if all but the last have one size; BPK_UNKNOWN if only the chunk's own
 * header has it. */
uint64_t bpk_frame_chunk_size(const struct bpk_frame_reader *reader, uint64_t number);

/* A range of a chunk's raw bytes. */
struct bpk_frame_range {
	uint64_t start, size;
};

struct bpk_frame_ranges {
	const struct bpk_frame_range *all; /* ascending; each not empty, and less than the chunk */
	size_t count;                      /* 0: the whole chunk */
};

/* True if chunk number has a seal to be tested. */
bool bpk_frame_chunk_is_sealed(const struct bpk_frame_reader *reader, uint64_t number);

/* bpk_frame_look (fetch.h), number below nchunks; the source of a contiguous frame must be held. */
int bpk_frame_chunk_look(struct bpk_frame_reader *reader, uint64_t number,
			 struct bpk_frame_found *found, struct bpk_frame_sight *sight,
			 struct bpk_err *err);

/* bpk_frame_fetch_ranges, in the same way. sight is all zero unless chunks have files, and may be
 * NULL, as above. */
int bpk_frame_chunk_fetch(struct bpk_frame_reader *reader, struct bpk_parcel *parcel,
			  const struct bpk_frame_ranges *wanted, struct bpk_frame_sight *sight,
			  struct bpk_err *err);

/* The same for a chunk that was read in advance (io/stretch.h), without a hold. False if it was
 * not, or if that fails. */
bool bpk_frame_chunk_take(struct bpk_frame_reader *reader, struct bpk_parcel *parcel,
			  const struct bpk_frame_ranges *wanted);

/* True if the file of a sparse frame's chunk was written to after the index was read at open. */
bool bpk_frame_chunk_is_young(const struct bpk_frame_reader *reader, uint64_t number);

/* ---- Checks ---- */

/* Test the seal of a fetched chunk, if it has one. */
int bpk_frame_chunk_check(const struct bpk_frame_reader *reader, const struct bpk_parcel *parcel,
			  struct bpk_err *err);

/* Prepend "chunk 3 at offset 4711", or "00000003.chunk: chunk 3", to a report. Returns -1. */
int bpk_frame_chunk_subject(const struct bpk_frame_reader *reader, uint64_t number,
			    struct bpk_err *err);

/* Fails with the damage of the trailer, the digests or the sizes, which leaves the data readable: a
 * change would drop what is damaged. */
int bpk_frame_check_parts(const struct bpk_frame_reader *reader, struct bpk_err *err);

/* Fails with BPK_CORRUPT if bytes follow the end of a sparse frame's chunks.b2frame, which every
 * change replaces; format/members tests a contiguous frame. */
int bpk_frame_check_end(const struct bpk_frame_reader *reader, struct bpk_err *err);

/* The same for the file of chunk number, which lies at found. bpk writes such a file once, and
 * c-blosc2 truncates it (sframe_open_chunk with "wb"). */
int bpk_frame_check_room(const struct bpk_frame_reader *reader, uint64_t number,
			 const struct bpk_frame_found *found, struct bpk_err *err);

#endif
