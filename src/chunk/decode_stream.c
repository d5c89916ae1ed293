/*
 * Reading the streams of a block: packed, raw, or a run of one byte. Called by decode_block.c.
 * Source: Blosc chunk format, "Stream encoding".
 */
#include "chunk/decode.h"

enum { LOWEST_RUN = -255 };

/* Read a run, which chunks of version 3 and later may have. */
static int take_run(struct bpk_block *b, int32_t csize, struct bpk_stream *stream,
		    struct bpk_err *err)
{
	unsigned token;

	if (b->d->header.version == 2)
		return bpk_fail(err, BPK_CORRUPT, "size %d in a version 2 chunk", csize);
	*stream = (struct bpk_stream){ .packed = bpk_view(NULL, 0) };
	if (csize == 0)
		return 0;
	token = bpk_cursor_u8(&b->cursor);
	if (b->cursor.bad)
		return bpk_fail(err, BPK_CORRUPT, "the chunk ends before its token");
	if ((token & BPK_TOKEN_RUN) == 0 || csize < LOWEST_RUN)
		return bpk_fail(err, BPK_CORRUPT, "size %d with token 0x%02x is not a run", csize,
				token);
	stream->byte = (uint8_t)-csize;
	return 0;
}

int bpk_stream_take(struct bpk_block *b, unsigned number, struct bpk_stream *stream,
		    struct bpk_err *err)
{
	int32_t csize;

	b->stream = number;
	if (b->d->header.variable_blocks) {
		size_t left = b->cursor.left;

		*stream = (struct bpk_stream){ .packed = { bpk_cursor_take(&b->cursor, left),
							   left } };
		return 0;
	}
	csize = bpk_cursor_le32s(&b->cursor);
	if (b->cursor.bad)
		return bpk_fail(err, BPK_CORRUPT, "the chunk ends before its size");
	if (csize <= 0)
		return take_run(b, csize, stream, err);
	if ((uint32_t)csize > b->cursor.left)
		return bpk_fail(err, BPK_CORRUPT, "size %d, but %zu bytes of the chunk are left",
				csize, b->cursor.left);
	*stream = (struct bpk_stream){ .packed = { bpk_cursor_take(&b->cursor, (size_t)csize),
						   (size_t)csize } };
	return 0;
}

int bpk_stream_part(struct bpk_block *b, const struct bpk_stream *stream, size_t lo, size_t hi,
		    uint8_t *out, struct bpk_err *err)
{
	const struct bpk_codec *codec = b->d->codec;
	struct bpk_chunk_ctx *ctx = b->d->ctx;
	struct bpk_view packed = stream->packed;

	if (packed.data == NULL) {
		memset(out, stream->byte, hi - lo);
		return 0;
	}
	if (packed.size == b->stream_size) {
		memcpy(out, packed.data + lo, hi - lo);
		return 0;
	}
	if (hi - lo == b->stream_size)
		return codec->decode(ctx->codec, packed, bpk_span(out, b->stream_size), err);
	if (bpk_buf_reserve(&ctx->piece, b->stream_size, err) != 0 ||
	    codec->decode(ctx->codec, packed, bpk_span(ctx->piece.data, b->stream_size), err) != 0)
		return -1;
	memcpy(out, ctx->piece.data + lo, hi - lo);
	return 0;
}

int bpk_streams_read(struct bpk_block *b, size_t lo, size_t hi, uint8_t *out, struct bpk_err *err)
{
	size_t m = b->stream_size;

	for (unsigned s = 0; s < b->nstreams && s * m < hi; s++) {
		size_t from = lo > s * m ? lo - s * m : 0, to = bpk_min_size(hi - s * m, m);
		struct bpk_stream stream;

		if (bpk_stream_take(b, s, &stream, err) != 0)
			return -1;
		if (from < to &&
		    bpk_stream_part(b, &stream, from, to, out + (s * m + from - lo), err) != 0)
			return -1;
	}
	return 0;
}
