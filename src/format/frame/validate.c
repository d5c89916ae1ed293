/*
 * Digests for chunks of a frame that another program has changed since bpk wrote its digests. A
 * chunk that matches one of these digests is unchanged, wherever it is stored now. Any other chunk
 * was written by that program, and counts as good if it unpacks. Audit, repack and the editors call
 * it.
 */
#include "format/frame/chunks.h"
#include "format/frame/validate.h"

static int prove(struct bpk_frame_reader *r, struct bpk_chunk_ctx *ctx,
		 const struct bpk_parcel *parcel, struct bpk_buf *raw, struct bpk_err *err)
{
	struct bpk_view packed = bpk_view(parcel->packed.data, parcel->packed_size);

	if (bpk_buf_resize(raw, parcel->raw_size, err) != 0)
		return -1;
	bpk_chunk_ctx_set_typesize(ctx, r->state.header.typesize);
	if (bpk_chunk_decode(ctx, packed, bpk_span(raw->data, raw->size), err) != 0)
		return bpk_frame_chunk_subject(r, parcel->number, err);
	return 0;
}

int bpk_frame_has_digest(struct bpk_frame_reader *r, const uint8_t *digest, struct bpk_err *err)
{
	const struct bpk_frame_digests *digests = &r->state.digests;

	if (digests->checksum == NULL || digests->nchunks == 0)
		return 0;
	if (r->known.size == 0 && bpk_frame_digests_list(digests, &r->known, err) != 0)
		return -1;
	return bpk_frame_digests_have(digests, &r->known, digest);
}

int bpk_frame_validate(struct bpk_frame_reader *r, struct bpk_chunk_ctx *ctx,
		       const struct bpk_parcel *parcel, struct bpk_buf *raw, uint8_t *digest,
		       struct bpk_err *err)
{
	const struct bpk_checksum *checksum = r->info.chunks.checksum;
	int known;

	if (bpk_checksum_compute(checksum, bpk_view(parcel->packed.data, parcel->packed_size),
				 digest, err) != 0)
		return -1;
	known = bpk_frame_has_digest(r, digest, err);
	if (known != 0)
		return known > 0 ? 0 : -1;
	return prove(r, ctx, parcel, raw, err);
}
