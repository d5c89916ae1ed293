/*
 * Chunks by their numbers, inside the room, also while a writer changes the frame.
 */
#ifndef BPK_FORMAT_FRAME_FETCH_H
#define BPK_FORMAT_FRAME_FETCH_H

#include "format/frame/chunks.h"
#include "format/frame/survey.h"

/*
 * Fetch chunk parcel->number as stored, including array padding, into parcel->packed, followed by
 * its seal if the frame has one to be tested; a special offset becomes a special chunk. Sets
 * packed_size, raw_size, data_size and packed_offset. If there is no seal to be tested, and
 * want_start and want_size are a part of the chunk, only the bytes needed for that are read. Any
 * thread. Returns 1 after the last chunk. Errors name the chunk.
 */
int bpk_frame_fetch(struct bpk_frame_reader *reader, struct bpk_parcel *parcel,
		    struct bpk_err *err);

/* The same for several ranges of the chunk, instead of the parcel's want. */
int bpk_frame_fetch_ranges(struct bpk_frame_reader *reader, struct bpk_parcel *parcel,
			   const struct bpk_frame_ranges *wanted, struct bpk_err *err);

/* Announce a read of the first most bytes of chunk number, and of its seal if that is all of it,
 * for bpk_source_ahead: of a contiguous frame. A hint: it never fails. Any thread. */
void bpk_frame_announce(const struct bpk_frame_reader *reader, uint64_t number, uint64_t most);

/* Look up chunk number, below nchunks: read 32 bytes of it, and check them against the frame's
 * sizes. Errors name the chunk. Any thread. */
int bpk_frame_look(struct bpk_frame_reader *reader, uint64_t number, struct bpk_frame_found *found,
		   struct bpk_err *err);

/* The same for numbers that mostly ascend by one: more and more chunks are looked up in advance. */
int bpk_frame_look_on(struct bpk_frame_reader *reader, struct bpk_frame_ahead *ahead,
		      uint64_t number, struct bpk_frame_found *found, struct bpk_err *err);

/* bpk_frame_survey_by, with bpk_frame_look_on, of chunks that were not noted (notes.h). */
int bpk_frame_fetch_survey(struct bpk_frame_reader *reader, struct bpk_frame_survey *survey,
			   struct bpk_err *err);

#endif
