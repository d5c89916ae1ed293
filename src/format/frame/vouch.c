/*
 * Chunks of a frame that another program has changed since bpk wrote its digests. Those that still
 * agree with theirs are as they were; what differs, or has none, is that program's, or was moved by
 * it, and is good when it unpacks.
 */
#include "format/frame/reader.h"

static int prove(struct bpk_frame_reader *r, struct bpk_chunk_ctx *ctx,
		 const struct bpk_parcel *parcel, struct bpk_buf *raw, struct bpk_err *err)
{
	struct bpk_view packed = bpk_view(parcel->packed.data, parcel->packed_size);

	if (bpk_buf_resize(raw, parcel->raw_size, err) != 0)
		return -1;
	bpk_chunk_ctx_set_typesize(ctx, r->state.header.typesize);
	if (bpk_chunk_decode(ctx, packed, bpk_span(raw->data, raw->size), err) != 0)
		return bpk_frame_subject(r, parcel->number, err);
	return 0;
}

int bpk_frame_vouch(struct bpk_frame_reader *r, struct bpk_chunk_ctx *ctx,
		    const struct bpk_parcel *parcel, struct bpk_buf *raw, uint8_t *digest,
		    struct bpk_err *err)
{
	const struct bpk_checksum *checksum = r->info.checksum;
	const uint8_t *old = bpk_frame_digests_chunk(&r->state.digests, parcel->number);

	if (bpk_checksum_compute(checksum, bpk_view(parcel->packed.data, parcel->packed_size),
				 digest, err) != 0)
		return -1;
	if (old != NULL && memcmp(old, digest, checksum->size) == 0)
		return 0;
	return prove(r, ctx, parcel, raw, err);
}
