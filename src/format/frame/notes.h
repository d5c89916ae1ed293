/*
 * Notes on the files of a sparse frame's chunks, made while they were fetched, inside the room:
 * so that an audit opens no file again, and so that a frame without digests that another program
 * writes over does not pass for one state. chunks.c, fetch.c, latest.c and open.c call it.
 */
#ifndef BPK_FORMAT_FRAME_NOTES_H
#define BPK_FORMAT_FRAME_NOTES_H

#include "format/frame/reader.h"

/* NULL with BPK_NO_MEMORY. */
struct bpk_frame_notes *bpk_frame_notes_new(struct bpk_err *err);
void bpk_frame_notes_free(struct bpk_frame_notes *notes); /* accepts NULL */

/* Note the header of a chunk that was fetched as a whole, and fills its file. Does nothing where
 * there is no room for it. */
void bpk_frame_note_chunk(struct bpk_frame_reader *reader, uint64_t number,
			  const struct bpk_chunk_header *header, uint64_t room);

/* True if chunk number was noted: *found has its sizes, for a survey. */
bool bpk_frame_noted(struct bpk_frame_reader *reader, uint64_t number,
		     struct bpk_frame_found *found);

/* Note a file whose times do not tell that it belongs to the state at open. */
int bpk_frame_note_young(struct bpk_frame_reader *reader, const struct bpk_frame_sight *sight,
			 struct bpk_err *err);

/* *differ: one of these files is not as it was noted any more. No other thread notes files
 * meanwhile. Fails with BPK_FAILED. */
int bpk_frame_notes_differ(const struct bpk_frame_reader *reader, bool *differ,
			   struct bpk_err *err);

#endif
