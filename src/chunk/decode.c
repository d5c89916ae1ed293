/*
 * A block is unpacked in two steps, each byte touched once in each:
 *
 *   chunk      [csize|plane 0][csize|plane 1] ...      streams, packed or raw
 *                    |              |
 *                  codec      (used in place)          a raw plane is never copied
 *                    v              v
 *   planes     ctx->filtered      the chunk
 *                    \______________/
 *                            |
 *                        unshuffle
 *                            v
 *   out        elements
 *
 * Without a filter the codec writes straight to out.
 */
#include "chunk/block.h"

#include <inttypes.h>

/* One call's work on one chunk; all of the chunk that its packed size names is there. */
struct decoding {
	struct bpk_chunk_ctx *ctx;
	struct bpk_chunk_header header;
	struct bpk_view chunk;
	const struct bpk_codec *codec;
	uint64_t unused; /* stream bytes not yet taken: each belongs to one block only */
	bool split;      /* the rule in force: the header's, or the salvaged one */
	bool settled;    /* a full block has proved the rule */
};

/* One block while its streams are taken. */
struct block {
	struct decoding *d;
	struct bpk_cursor cursor;
	size_t size;
	unsigned nstreams, stream; /* the number of the stream last begun */
	size_t stream_size;        /* raw */
	enum bpk_filter filter;
};

/* "Stream encoding", version 2: packed.size equal to the raw size means raw. */
static int take_stream(struct block *b, unsigned number, struct bpk_view *packed,
		       struct bpk_err *err)
{
	int32_t csize = bpk_cursor_le32s(&b->cursor);

	b->stream = number;
	if (b->cursor.bad)
		return bpk_fail(err, BPK_CORRUPT, "the chunk ends before its size");
	if (csize <= 0)
		return bpk_fail(err, BPK_CORRUPT, "size %d in a version 2 chunk", csize);
	if ((uint32_t)csize > b->cursor.left)
		return bpk_fail(err, BPK_CORRUPT, "size %d, but %zu bytes of the chunk are left",
				csize, b->cursor.left);
	*packed = bpk_view(bpk_cursor_take(&b->cursor, (size_t)csize), (size_t)csize);
	return 0;
}

/* A stream's raw bytes, where they stand in the chunk or else unpacked to scratch. */
static int stream_bytes(struct block *b, unsigned number, uint8_t *scratch, const uint8_t **bytes,
			struct bpk_err *err)
{
	struct bpk_view packed;

	if (take_stream(b, number, &packed, err) != 0)
		return -1;
	*bytes = packed.data;
	if (packed.size == b->stream_size)
		return 0;
	*bytes = scratch;
	return b->d->codec->decode(b->d->ctx->codec, packed, bpk_span(scratch, b->stream_size),
				   err);
}

/* The part lo..hi of one stream, not empty, counted from the stream's own start. */
static int stream_part(struct block *b, struct bpk_view packed, size_t lo, size_t hi, uint8_t *out,
		       struct bpk_err *err)
{
	const struct bpk_codec *codec = b->d->codec;
	struct bpk_chunk_ctx *ctx = b->d->ctx;

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

/* Without a filter the streams are the block's bytes in order; those outside lo..hi stay packed. */
static int decode_plain(struct block *b, size_t lo, size_t hi, uint8_t *out, struct bpk_err *err)
{
	size_t m = b->stream_size;

	for (unsigned s = 0; s < b->nstreams && s * m < hi; s++) {
		size_t from = lo > s * m ? lo - s * m : 0, to = bpk_min_size(hi - s * m, m);
		struct bpk_view packed;

		if (take_stream(b, s, &packed, err) != 0)
			return -1;
		if (from < to &&
		    stream_part(b, packed, from, to, out + (s * m + from - lo), err) != 0)
			return -1;
	}
	return 0;
}

/*
 * Find the byte planes of a shuffled block. Unpacked ones stand in ctx->filtered, a cache line more
 * than their size apart: planes of a power of two would all meet in the same cache sets.
 */
static int take_planes(struct block *b, const uint8_t **planes, const uint8_t **tail,
		       struct bpk_err *err)
{
	struct bpk_buf *scratch = &b->d->ctx->filtered;
	unsigned ts = b->d->header.typesize;
	size_t nelems = b->size / ts;
	size_t stride = b->stream_size + BPK_ALIGNMENT + (-b->stream_size % BPK_ALIGNMENT);

	if (bpk_buf_reserve(scratch, stride * b->nstreams, err) != 0)
		return -1;
	*tail = NULL;
	if (b->nstreams > 1) {
		for (unsigned j = 0; j < ts; j++)
			if (stream_bytes(b, j, scratch->data + stride * j, &planes[j], err) != 0)
				return -1;
		return 0;
	}
	if (stream_bytes(b, 0, scratch->data, &planes[0], err) != 0)
		return -1;
	for (unsigned j = 1; j < ts; j++)
		planes[j] = planes[0] + nelems * j;
	*tail = planes[0] + nelems * ts;
	return 0;
}

static int decode_shuffled(struct block *b, size_t lo, size_t hi, uint8_t *out, struct bpk_err *err)
{
	const uint8_t *planes[BPK_CHUNK_MAX_TYPESIZE], *tail;
	struct bpk_chunk_ctx *ctx = b->d->ctx;
	unsigned ts = b->d->header.typesize;
	size_t body = b->size - b->size % ts;
	size_t end = bpk_min_size(hi, body);

	if (take_planes(b, planes, &tail, err) != 0)
		return -1;
	if (lo < body) {
		size_t first = lo / ts, nelems = (end + ts - 1) / ts - first;
		bool aligned = lo % ts == 0 && end % ts == 0;
		uint8_t *to = out;

		if (!aligned) {
			if (bpk_buf_reserve(&ctx->piece, nelems * ts, err) != 0)
				return -1;
			to = ctx->piece.data;
		}
		for (unsigned j = 0; j < ts; j++)
			planes[j] += first;
		ctx->kernels->unshuffle(planes, ts, nelems, to);
		if (!aligned)
			memcpy(out, to + (lo - first * ts), end - lo);
	}
	if (hi > body) {
		size_t from = bpk_max_u64(lo, body);

		memcpy(out + (from - lo), tail + (from - body), hi - from);
	}
	return 0;
}

static int decode_bitshuffled(struct block *b, size_t lo, size_t hi, uint8_t *out,
			      struct bpk_err *err)
{
	struct bpk_chunk_ctx *ctx = b->d->ctx;
	unsigned ts = b->d->header.typesize;
	size_t body = b->size - b->size % ts;
	bool whole = hi - lo == b->size;
	const uint8_t *bytes = NULL;
	uint8_t *to = out;

	if (bpk_buf_reserve(&ctx->filtered, b->size, err) != 0 ||
	    (!whole && bpk_buf_reserve(&ctx->piece, b->size, err) != 0))
		return -1;
	if (b->nstreams == 1) {
		if (stream_bytes(b, 0, ctx->filtered.data, &bytes, err) != 0)
			return -1;
	} else {
		bytes = ctx->filtered.data;
		if (decode_plain(b, 0, b->size, ctx->filtered.data, err) != 0)
			return -1;
	}
	if (!whole)
		to = ctx->piece.data;
	ctx->kernels->bitunshuffle(bytes, ts, body / ts, to);
	bpk_copy(to + body, bytes + body, b->size - body);
	if (!whole)
		memcpy(out, to + lo, hi - lo);
	return 0;
}

/* Find block number and where its streams begin ("Validation", item 13). */
static int open_block(struct decoding *d, uint32_t number, struct block *b, struct bpk_err *err)
{
	const struct bpk_chunk_header *h = &d->header;
	uint32_t data = h->header_size + 4 * h->nblocks;
	uint32_t start = bpk_get_le32(d->chunk.data + h->header_size + (size_t)4 * number);
	uint64_t before = (uint64_t)number * h->block_size;

	if (start < data || d->chunk.size < 4 || start > d->chunk.size - 4)
		return bpk_fail(err, BPK_CORRUPT,
				"block %" PRIu32 " starts at %" PRIu32 ", outside %" PRIu32
				" to %zu",
				number, start, data, d->chunk.size);
	b->cursor = bpk_cursor(bpk_view(d->chunk.data + start, d->chunk.size - start));
	b->size = bpk_min_u64(h->raw_size - before, h->block_size);
	b->stream = 0;
	/* "Split rule": a short last block is one stream */
	b->nstreams = d->split && b->size == h->block_size ? h->typesize : 1;
	b->stream_size = b->size / b->nstreams;
	b->filter = bpk_block_filter(bpk_plain_filter(&h->pipeline), b->size, h->typesize);
	return 0;
}

/* Only a chunk that was tampered with takes more stream bytes than it has: work stays bounded. */
static int close_block(struct block *b, size_t left_before, struct bpk_err *err)
{
	size_t used = left_before - b->cursor.left;

	if (used > b->d->unused)
		return bpk_fail(err, BPK_CORRUPT, "blocks overlap");
	b->d->unused -= used;
	return 0;
}

/* Bytes lo..hi of a block, not empty, counted from the block's start. */
static int decode_block(struct decoding *d, uint32_t number, size_t lo, size_t hi, uint8_t *out,
			struct bpk_err *err)
{
	struct block b = { .d = d };
	size_t left;
	int rc;

	if (open_block(d, number, &b, err) != 0)
		return -1;
	left = b.cursor.left;
	switch (b.filter) {
	case BPK_FILTER_SHUFFLE:
		rc = decode_shuffled(&b, lo, hi, out, err);
		break;
	case BPK_FILTER_BITSHUFFLE:
		rc = decode_bitshuffled(&b, lo, hi, out, err);
		break;
	default:
		rc = decode_plain(&b, lo, hi, out, err);
		break;
	}
	if (rc == 0)
		rc = close_block(&b, left, err);
	return rc == 0 ? 0 : bpk_err_subject(err, "block %" PRIu32 ", stream %u", number, b.stream);
}

/*
 * "Split rule": 1.21 told to split always makes chunks that break the rule of its own version. The
 * first full block may prove that this is one, by failing as one stream and decoding as typesize
 * streams; every later block is then held to it.
 */
static bool may_salvage(const struct decoding *d)
{
	const struct bpk_chunk_header *h = &d->header;

	return !d->settled && !d->split && (h->flags & BPK_FLAG_NOT_SPLIT) == 0 &&
	       h->typesize > 1 && h->block_size % h->typesize == 0;
}

static int decode_first_block(struct decoding *d, uint32_t number, size_t lo, size_t hi,
			      uint8_t *out, struct bpk_err *err)
{
	uint64_t unused = d->unused;
	struct bpk_err first = { 0 }, second = { 0 };

	if (decode_block(d, number, lo, hi, out, &first) == 0)
		return 0;
	if (first.kind == BPK_CORRUPT) {
		d->split = true;
		d->unused = unused;
		if (decode_block(d, number, lo, hi, out, &second) == 0)
			return 0;
	}
	/* the rule's own failure is the one to tell, unless memory ran out while trying */
	if (err != NULL)
		*err = second.kind == BPK_NO_MEMORY ? second : first;
	return -1;
}

/* The raw bytes start .. start + out.size; the caller has compared them with the raw size. */
static int decode_blocks(struct decoding *d, uint64_t start, struct bpk_span out,
			 struct bpk_err *err)
{
	uint32_t block_size = d->header.block_size;
	uint64_t end = start + out.size;

	while (start < end) {
		uint32_t number = (uint32_t)(start / block_size);
		uint64_t base = (uint64_t)number * block_size;
		size_t lo = start - base, hi = bpk_min_u64(end - base, block_size);
		bool full = d->header.raw_size - base >= block_size;
		int rc;

		if (full && may_salvage(d))
			rc = decode_first_block(d, number, lo, hi, out.data, err);
		else
			rc = decode_block(d, number, lo, hi, out.data, err);
		if (rc != 0)
			return -1;
		d->settled = d->settled || full;
		out.data += hi - lo;
		start = base + hi;
	}
	return 0;
}

static int open_chunk(struct decoding *d, struct bpk_chunk_ctx *ctx, struct bpk_view in,
		      struct bpk_err *err)
{
	struct bpk_chunk_header *h = &d->header;

	if (bpk_chunk_header_read(in, h, err) != 0)
		return -1;
	if (in.size < h->packed_size)
		return bpk_fail(err, BPK_CORRUPT, "chunk of %" PRIu32 " bytes is cut after %zu",
				h->packed_size, in.size);
	d->ctx = ctx;
	d->chunk = bpk_view(in.data, h->packed_size);
	d->codec = bpk_codec_of_format(h->codec_format);
	d->unused = h->packed_size - h->header_size - (uint64_t)4 * h->nblocks;
	d->split = h->split;
	d->settled = false;
	return 0;
}

static int decode_bytes(struct decoding *d, uint64_t start, struct bpk_span out,
			struct bpk_err *err)
{
	if (out.size == 0)
		return 0;
	if (d->header.memcpyed) {
		memcpy(out.data, d->chunk.data + d->header.header_size + start, out.size);
		return 0;
	}
	return decode_blocks(d, start, out, err);
}

int bpk_chunk_decode(struct bpk_chunk_ctx *ctx, struct bpk_view in, struct bpk_span out,
		     struct bpk_err *err)
{
	struct decoding d;

	if (open_chunk(&d, ctx, in, err) != 0)
		return -1;
	if (out.size != d.header.raw_size)
		return bpk_fail(err, BPK_USAGE, "chunk holds %" PRIu32 " bytes, room is for %zu",
				d.header.raw_size, out.size);
	return decode_bytes(&d, 0, out, err);
}

int bpk_chunk_decode_range(struct bpk_chunk_ctx *ctx, struct bpk_view in, uint64_t start,
			   struct bpk_span out, struct bpk_err *err)
{
	struct decoding d;

	if (open_chunk(&d, ctx, in, err) != 0)
		return -1;
	if (start > d.header.raw_size || out.size > d.header.raw_size - start)
		return bpk_fail(err, BPK_USAGE,
				"bytes %" PRIu64 "+%zu are outside a chunk of %" PRIu32, start,
				out.size, d.header.raw_size);
	return decode_bytes(&d, start, out, err);
}
