/*
 * Chunks of a frame that another program changed, inside the room.
 */
#ifndef BPK_FORMAT_FRAME_VALIDATE_H
#define BPK_FORMAT_FRAME_VALIDATE_H

#include "format/frame/reader.h"

/* True if a chunk of the frame had this digest before another program changed it. One thread.
 * Returns 1 or 0, or -1 without memory. */
int bpk_frame_has_digest(struct bpk_frame_reader *reader, const uint8_t *digest,
			 struct bpk_err *err);

/*
 * Compute the digest of a chunk fetched untested from a frame that another program has changed. The
 * chunk must have had that digest before, or else it must unpack. raw is scratch. One thread.
 * Errors name the chunk.
 */
int bpk_frame_validate(struct bpk_frame_reader *reader, struct bpk_chunk_ctx *ctx,
		       const struct bpk_parcel *parcel, struct bpk_buf *raw, uint8_t *digest,
		       struct bpk_err *err);

#endif
