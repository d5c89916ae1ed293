/*
 * Reading the streams of a block: packed, raw, or a run of one byte. Called by decode_block.c;
 * decode.c and decode_pieces.c ask about the split rule.
 * Source: Blosc chunk format, "Stream encoding", "Split rule".
 */
#include "chunk/decode.h"

enum {
	LOWEST_RUN = -255,
	/* A stream packed to less than 1/HEAD_RATIO is mostly runs, which decode fills in fast:
	 * zlib took up to 7 times as long for a part of one. */
	HEAD_RATIO = 16,
};

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

/*
 * "Split rule": Blosc 1.21 with the option to split always writes chunks that break the rule of its
 * own version. The first full block can prove such a chunk, by failing as one stream and decoding
 * as typesize streams; all later blocks must then do the same.
 */
bool bpk_decoding_may_salvage(const struct bpk_decoding *d)
{
	const struct bpk_chunk_header *h = &d->header;

	return !d->settled && !d->split && (h->flags & BPK_FLAG_NOT_SPLIT) == 0 &&
	       h->typesize > 1 && h->block_size % h->typesize == 0;
}

/* True if the first end bytes are to be decoded alone. Not while the split rule is undecided: what
 * is left out may be all that fails. */
static bool head_pays(const struct bpk_block *b, struct bpk_view packed, size_t end)
{
	const struct bpk_codec *codec = b->d->codec;
	size_t whole = b->stream_size;

	return codec->decode_head != NULL && end <= (uint64_t)whole * codec->head_most / 16 &&
	       whole - end > codec->head_step && packed.size >= whole / HEAD_RATIO &&
	       !bpk_decoding_may_salvage(b->d);
}

int bpk_stream_head(struct bpk_block *b, struct bpk_view packed, size_t end, uint8_t *out,
		    struct bpk_err *err)
{
	const struct bpk_codec *codec = b->d->codec;
	struct bpk_codec_ctx *ctx = b->d->ctx->codec;

	if (head_pays(b, packed, end) &&
	    codec->decode_head(ctx, packed, b->stream_size, bpk_span(out, end), NULL) == 0)
		return 0;
	return codec->decode(ctx, packed, bpk_span(out, b->stream_size), err);
}

int bpk_stream_part(struct bpk_block *b, const struct bpk_stream *stream, size_t lo, size_t hi,
		    uint8_t *out, struct bpk_err *err)
{
	struct bpk_buf *piece = &b->d->ctx->piece;
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
		return bpk_stream_head(b, packed, hi, out, err);
	if (bpk_buf_reserve(piece, b->stream_size, err) != 0 ||
	    bpk_stream_head(b, packed, hi, piece->data, err) != 0)
		return -1;
	memcpy(out, piece->data + lo, hi - lo);
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
