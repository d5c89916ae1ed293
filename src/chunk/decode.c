/*
 * The decoder's entry points. A chunk is opened, its dictionary activated, and the requested blocks
 * are decoded one by one. Called by formats, and by flow on any thread. Source: Blosc chunk format,
 * "Blocks and streams", "Random access".
 */
#include "chunk/decode.h"
#include "chunk/predict.h"

#include <inttypes.h>

/* Decode bytes lo..hi of a block, not empty, counted from the block's start. */
static int decode_block(struct bpk_decoding *d, uint32_t number, size_t lo, size_t hi, uint8_t *out,
			struct bpk_err *err)
{
	struct bpk_block b;

	if (bpk_block_open(d, number, &b, err) != 0)
		return -1;
	return bpk_block_read(&b, lo, hi, out, err);
}

static int decode_first_block(struct bpk_decoding *d, uint32_t number, size_t lo, size_t hi,
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
	/* report the failure by the rule, unless the second attempt ran out of memory */
	if (err != NULL)
		*err = second.kind == BPK_NO_MEMORY ? second : first;
	return -1;
}

/*
 * "DELTA": all blocks depend on block 0. If the caller wants all of block 0, it is decoded in
 * place; else it is decoded to scratch and the wanted part is copied. *done is the number of wanted
 * bytes decoded here.
 */
static int decode_reference(struct bpk_decoding *d, uint64_t start, struct bpk_span out,
			    size_t *done, struct bpk_err *err)
{
	uint32_t block_size = d->header.block_size;
	struct bpk_buf *reference = &d->ctx->reference;
	uint8_t *to = out.data;

	*done = 0;
	if (out.data == NULL || !bpk_pipeline_has(&d->header.pipeline, BPK_FILTER_DELTA) ||
	    start + out.size <= block_size)
		return 0;
	if (start > 0) {
		if (bpk_buf_reserve(reference, block_size, err) != 0)
			return -1;
		to = reference->data;
	}
	if (decode_block(d, 0, 0, block_size, to, err) != 0)
		return -1;
	d->reference = to;
	if (start < block_size)
		*done = block_size - (size_t)start;
	if (start > 0)
		memcpy(out.data, to + start % block_size, *done);
	return 0;
}

/* NULL stays NULL: a proof has no output. */
static uint8_t *behind(uint8_t *out, size_t size)
{
	return out == NULL ? NULL : out + size;
}

/* Decode the raw bytes start .. start + out.size, which the caller has checked against the raw
 * size. */
static int decode_blocks(struct bpk_decoding *d, uint64_t start, struct bpk_span out,
			 struct bpk_err *err)
{
	uint32_t block_size = d->header.block_size;
	uint64_t end = start + out.size;
	size_t done;

	if (decode_reference(d, start, out, &done, err) != 0)
		return -1;
	out.data = behind(out.data, done);
	start += done;
	while (start < end) {
		uint32_t number = (uint32_t)(start / block_size);
		uint64_t base = (uint64_t)number * block_size;
		size_t lo = start - base, hi = bpk_min_u64(end - base, block_size);
		bool full = d->header.raw_size - base >= block_size;
		int rc;

		if (full && bpk_decoding_may_salvage(d))
			rc = decode_first_block(d, number, lo, hi, out.data, err);
		else
			rc = decode_block(d, number, lo, hi, out.data, err);
		if (rc != 0)
			return -1;
		d->settled = d->settled || full;
		out.data = behind(out.data, hi - lo);
		start = base + hi;
	}
	return 0;
}

/* Decode by the header's block size, with the dictionary if there is one. */
static int decode_as_said(struct bpk_decoding *d, uint64_t start, struct bpk_span out,
			  struct bpk_err *err)
{
	struct bpk_codec_ctx *codec = d->ctx->codec;
	int rc;

	if (bpk_decoding_find_blocks(d, err) != 0)
		return -1;
	if (d->header.dictionary &&
	    bpk_codec_use_dictionary(codec, d->codec, d->dictionary, err) != 0)
		return -1;
	rc = d->header.variable_blocks ? bpk_variable_read(d, start, out, err)
				       : decode_blocks(d, start, out, err);
	if (d->header.dictionary)
		bpk_codec_use_dictionary(codec, d->codec, bpk_view(NULL, 0), NULL);
	return rc;
}

/*
 * "A B2 3.0 - 3.3 writer defect": true if the first block is where nblocks blocks of whole elements
 * would put it.
 */
static bool holds_whole_elements(const struct bpk_decoding *d, uint64_t nblocks)
{
	const struct bpk_chunk_header *h = &d->header;
	uint64_t data = h->header_size + 4 * nblocks, least = UINT64_MAX;

	if (h->dictionary && data + 4 <= h->packed_size)
		data += 4 + (uint64_t)bpk_get_le32(d->chunk.data + data);
	if (data > h->packed_size)
		return false;
	for (uint64_t k = 0; k < nblocks; k++)
		least = bpk_min_u64(least,
				    bpk_get_le32(d->chunk.data + h->header_size + 4 * (size_t)k));
	return least == data;
}

/*
 * Decode a whole chunk by the header's block size, or else in blocks of whole elements. Both have
 * the same number of blocks, so only decoding can tell which is right.
 */
static int decode_either(struct bpk_decoding *d, struct bpk_span out, struct bpk_err *err)
{
	struct bpk_err first = { 0 };

	if (decode_as_said(d, 0, out, &first) == 0)
		return 0;
	if (first.kind != BPK_CORRUPT) {
		if (err != NULL)
			*err = first;
		return -1;
	}
	d->header.block_size = bpk_block_size_adjusted(&d->header);
	return decode_as_said(d, 0, out, err);
}

static int decode_part_of_either(struct bpk_decoding *d, uint64_t start, struct bpk_span out,
				 struct bpk_err *err)
{
	/* free: the whole chunk is decoded, so delta does not use it */
	struct bpk_buf *whole = &d->ctx->reference;
	size_t size = d->header.raw_size;

	if (out.size == size)
		return decode_either(d, out, err);
	if (bpk_buf_reserve(whole, size, err) != 0 ||
	    decode_either(d, bpk_span(whole->data, size), err) != 0)
		return -1;
	memcpy(out.data, whole->data + start, out.size);
	return 0;
}

/* Decode by the header's block size, or in blocks of whole elements if the layout requires that. */
static int decode_regular(struct bpk_decoding *d, uint64_t start, struct bpk_span out,
			  struct bpk_err *err)
{
	struct bpk_chunk_header *h = &d->header;
	uint64_t nblocks;

	if (!bpk_block_size_is_doubtful(h))
		return decode_as_said(d, start, out, err);
	nblocks = bpk_div_up(h->raw_size, bpk_block_size_adjusted(h));
	if (!holds_whole_elements(d, nblocks))
		return decode_as_said(d, start, out, err);
	if (nblocks == h->nblocks)
		return decode_part_of_either(d, start, out, err);
	/* with more starts than the header implies, the header's first block would overlap them */
	h->block_size = bpk_block_size_adjusted(h);
	h->nblocks = (uint32_t)nblocks;
	return decode_as_said(d, start, out, err);
}

/*
 * Every number depends on all earlier ones, so decoding begins at the start and continues to the
 * end of the last wanted number.
 */
static int decode_predicted(struct bpk_decoding *d, uint64_t start, struct bpk_span out,
			    struct bpk_err *err)
{
	struct bpk_buf *buf = &d->ctx->predicted;
	struct bpk_span all = out;
	struct bpk_view own;

	/* the prediction's phase must be known first */
	if (bpk_decoding_find_blocks(d, err) != 0)
		return -1;
	all.size =
		bpk_prediction_reach(&d->header.prediction, start + out.size, d->header.raw_size);
	if (all.size != out.size) {
		if (bpk_buf_reserve(buf, all.size, err) != 0)
			return -1;
		all.data = buf->data;
	}
	if (decode_regular(d, 0, all, err) != 0)
		return -1;
	if (bpk_prediction_undo(d->ctx->kernels, &d->header.prediction, all, &d->ctx->history,
				err) != 0)
		return -1;
	own = bpk_view(all.data + start, out.size);
	if (own.data != out.data)
		memcpy(out.data, own.data, own.size);
	return 0;
}

static int decode_bytes(struct bpk_decoding *d, uint64_t start, struct bpk_span out,
			struct bpk_err *err)
{
	if (out.size == 0)
		return 0;
	if (d->header.special != BPK_SPECIAL_NONE) {
		bpk_special_read(&d->header, d->chunk, start, out);
		return 0;
	}
	if (d->header.memcpyed) {
		memcpy(out.data, d->chunk.data + d->header.header_size + start, out.size);
		return 0;
	}
	if (d->header.prediction.size > 0)
		return decode_predicted(d, start, out, err);
	return decode_regular(d, start, out, err);
}

int bpk_chunk_decode(struct bpk_chunk_ctx *ctx, struct bpk_view in, struct bpk_span out,
		     struct bpk_err *err)
{
	struct bpk_decoding d;

	if (bpk_decoding_open(&d, ctx, in, err) != 0)
		return -1;
	if (out.size != d.header.raw_size)
		return bpk_fail(err, BPK_USAGE, "chunk holds %" PRIu32 " bytes, room is for %zu",
				d.header.raw_size, out.size);
	return decode_bytes(&d, 0, out, err);
}

static int open_range(struct bpk_decoding *d, struct bpk_chunk_ctx *ctx, struct bpk_view in,
		      uint64_t start, uint64_t size, struct bpk_err *err)
{
	if (bpk_decoding_open(d, ctx, in, err) != 0)
		return -1;
	if (start > d->header.raw_size || size > d->header.raw_size - start)
		return bpk_fail(err, BPK_USAGE,
				"bytes %" PRIu64 "+%" PRIu64 " are outside a chunk of %" PRIu32,
				start, size, d->header.raw_size);
	return 0;
}

int bpk_chunk_decode_range(struct bpk_chunk_ctx *ctx, struct bpk_view in, uint64_t start,
			   struct bpk_span out, struct bpk_err *err)
{
	struct bpk_decoding d;

	if (open_range(&d, ctx, in, start, out.size, err) != 0)
		return -1;
	return decode_bytes(&d, start, out, err);
}

/* Undoing a prediction is arithmetic and cannot fail, so only its differences are checked. */
static int prove(struct bpk_decoding *d, uint64_t start, uint64_t size, struct bpk_err *err)
{
	const struct bpk_chunk_header *h = &d->header;

	if (size == 0 || h->special != BPK_SPECIAL_NONE || h->memcpyed)
		return 0;
	if (bpk_decoding_find_blocks(d, err) != 0)
		return -1;
	/* which block size is right shows in all blocks */
	if (bpk_block_size_is_doubtful(h)) {
		start = 0;
		size = h->raw_size;
	}
	return decode_regular(d, start, bpk_span(NULL, size), err);
}

int bpk_chunk_prove(struct bpk_chunk_ctx *ctx, struct bpk_view in, struct bpk_err *err)
{
	struct bpk_decoding d;

	if (bpk_decoding_open(&d, ctx, in, err) != 0)
		return -1;
	return prove(&d, 0, d.header.raw_size, err);
}

int bpk_chunk_prove_range(struct bpk_chunk_ctx *ctx, struct bpk_view in, uint64_t start,
			  uint64_t size, struct bpk_err *err)
{
	struct bpk_decoding d;

	if (open_range(&d, ctx, in, start, size, err) != 0)
		return -1;
	return prove(&d, start, size, err);
}
