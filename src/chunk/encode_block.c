/*
 * Blocks to streams, for the other files of the encoder. Source: Blosc chunk format, "Blocks and
 * streams".
 */
#include "chunk/encode.h"
#include "chunk/stream_kind.h"
#include "chunk/predict.h"

/* ---- Filters ---- */

int bpk_encode_reserve(struct bpk_encoding *e, size_t block_size, struct bpk_err *err)
{
	if (e->pipeline.nsteps > 0 &&
	    bpk_buf_reserve_whole(&e->ctx->filtered, block_size, err) != 0)
		return -1;
	return e->pipeline.nsteps > 1 ? bpk_buf_reserve(&e->ctx->stages[0], block_size, err) : 0;
}

struct bpk_view bpk_encode_filter(struct bpk_encoding *e, struct bpk_view block,
				  const uint8_t *reference)
{
	struct bpk_filter_block about = { block.size, e->recipe->typesize, e->recipe->typesize,
					  !e->recipe->extended, reference };
	uint8_t *to = e->ctx->filtered.data, *next = e->ctx->stages[0].data;

	for (unsigned i = 0; i < e->pipeline.nsteps; i++) {
		const struct bpk_filter_step *step = &e->pipeline.steps[i];
		uint8_t *done = to;

		if (bpk_filter_is_identity(&about, step))
			continue;
		bpk_filter_apply(e->ctx->kernels, &about, step, block.data, to, e->ctx->room.data);
		block.data = done;
		to = next;
		next = done;
	}
	return block;
}

/* ---- Streams ---- */

/*
 * Compress a run, or copy the previous result for an equal run. The codec would write the same
 * bytes again, and always with the same room, so the output does not depend on earlier streams.
 */
static int pack_run(struct bpk_encoding *e, struct bpk_view stream, struct bpk_span to,
		    size_t *packed_size, struct bpk_err *err)
{
	const struct bpk_recipe *recipe = e->recipe;
	struct bpk_packed_run *run = &e->ctx->run;

	/* a dictionary changes the compressed form of a run */
	if (e->dictionary.size > 0)
		return recipe->codec->encode(e->ctx->codec, recipe->level, stream, to, packed_size,
					     err);
	if (run->codec != recipe->codec || run->level != recipe->level ||
	    run->raw_size != stream.size || run->byte != stream.data[0]) {
		size_t room = bpk_min_size(sizeof run->packed, bpk_encode_paying(stream.size));

		run->codec = NULL;
		if (recipe->codec->encode(e->ctx->codec, recipe->level, stream,
					  bpk_span(run->packed, room), &run->packed_size, err) != 0)
			return -1;
		run->codec = recipe->codec;
		run->level = recipe->level;
		run->raw_size = stream.size;
		run->byte = stream.data[0];
	}
	*packed_size = run->packed_size <= to.size ? run->packed_size : 0;
	if (run->packed_size == 0)
		return recipe->codec->encode(e->ctx->codec, recipe->level, stream, to, packed_size,
					     err);
	memcpy(to.data, run->packed, *packed_size);
	return 0;
}

/* Fast codecs give up on noise themselves, in less time than the tests for it take. */
static enum bpk_stream_kind kind_of(const struct bpk_encoding *e, struct bpk_view stream)
{
	if (e->slow)
		return bpk_stream_kind(stream, e->recipe->codec->span);
	return bpk_stream_is_run(stream) ? BPK_STREAM_RUN : BPK_STREAM_STRUCTURE;
}

/* In streams that are not planes, parts differ, and the sample would judge them as one. */
static enum bpk_matches matches_of(const struct bpk_encoding *e, struct bpk_view stream)
{
	enum bpk_matches matches = bpk_stream_matches(stream);

	if (!e->planes && e->recipe->level >= BPK_LEVEL_FOR_TEXT && bpk_text_is_lines(stream))
		return BPK_MATCHES_TEXT;
	return e->planes || matches == BPK_MATCHES_SHORT ? matches : BPK_MATCHES_ANY;
}

/* Compress a stream of a known kind. */
static int pack_kind(struct bpk_encoding *e, struct bpk_view stream, enum bpk_stream_kind kind,
		     uint8_t *to, size_t room, size_t *packed_size, struct bpk_err *err)
{
	const struct bpk_codec *codec = e->recipe->codec;
	unsigned level = e->recipe->level;

	*packed_size = 0;
	room = bpk_min_size(room, bpk_encode_paying(stream.size));
	if (kind == BPK_STREAM_NOISE || room == 0)
		return 0;
	if (kind == BPK_STREAM_RUN)
		return pack_run(e, stream, bpk_span(to, room), packed_size, err);
	if (kind == BPK_STREAM_SKEWED && e->planes)
		level = 1;
	if (codec->encode_matches != NULL)
		return codec->encode_matches(e->ctx->codec, level, matches_of(e, stream), stream,
					     bpk_span(to, room), packed_size, err);
	return codec->encode(e->ctx->codec, level, stream, bpk_span(to, room), packed_size, err);
}

int bpk_encode_pack(struct bpk_encoding *e, struct bpk_view stream, uint8_t *to, size_t room,
		    size_t *packed_size, struct bpk_err *err)
{
	return pack_kind(e, stream, kind_of(e, stream), to, room, packed_size, err);
}

/* "Stream encoding": size 0 marks zeros, a negative size the byte of a run; a token follows. */
static enum bpk_outcome put_token(struct bpk_encoding *e, uint8_t byte)
{
	size_t size = byte == 0 ? 4 : 5;

	if (e->end - e->used < size)
		return BPK_ENCODE_OUTGROWN;
	bpk_put_le32(e->out + e->used, 0u - byte);
	if (byte != 0)
		e->out[e->used + 4] = BPK_TOKEN_RUN;
	e->used += size;
	return BPK_ENCODE_DONE;
}

static enum bpk_outcome put_stream(struct bpk_encoding *e, struct bpk_view stream,
				   struct bpk_err *err)
{
	enum bpk_stream_kind kind = kind_of(e, stream);
	uint8_t *to = e->out + e->used;
	size_t room = e->end - e->used, packed_size;

	if (kind == BPK_STREAM_RUN && e->recipe->extended)
		return put_token(e, stream.data[0]);
	if (room <= 4)
		return BPK_ENCODE_OUTGROWN;
	room -= 4;
	if (pack_kind(e, stream, kind, to + 4, room, &packed_size, err) != 0)
		return BPK_ENCODE_FAILED;
	if (packed_size == 0) {
		if (stream.size > room)
			return BPK_ENCODE_OUTGROWN;
		memcpy(to + 4, stream.data, stream.size);
		packed_size = stream.size;
	}
	bpk_put_le32(to, (uint32_t)packed_size);
	e->used += 4 + packed_size;
	return BPK_ENCODE_DONE;
}

/* ---- Blocks ---- */

static enum bpk_outcome put_block(struct bpk_encoding *e, struct bpk_view block,
				  struct bpk_err *err)
{
	const uint8_t *reference = block.data == e->raw.data ? NULL : e->raw.data;
	struct bpk_view bytes = bpk_encode_filter(e, block, reference);
	/* "Split rule": a short last block is one stream */
	size_t nstreams = e->split && block.size == e->block_size ? e->recipe->typesize : 1;
	size_t size = block.size / nstreams;
	enum bpk_outcome outcome = BPK_ENCODE_DONE;

	for (size_t s = 0; s < nstreams && outcome == BPK_ENCODE_DONE; s++)
		outcome = put_stream(e, bpk_view(bytes.data + s * size, size), err);
	return outcome;
}

enum bpk_outcome bpk_encode_begin_blocks(struct bpk_encoding *e, uint64_t nblocks)
{
	struct bpk_view dictionary = e->dictionary;
	uint32_t prediction = bpk_prediction_stored_size(&e->prediction);
	uint64_t size = 4 * nblocks + prediction + (dictionary.size > 0 ? 4 + dictionary.size : 0);

	if (size > e->end - e->header_size)
		return BPK_ENCODE_OUTGROWN;
	e->used = e->header_size + (size_t)(4 * nblocks);
	if (prediction > 0)
		bpk_prediction_put(&e->prediction, e->out + e->used);
	e->used += prediction;
	if (dictionary.size == 0)
		return BPK_ENCODE_DONE;
	bpk_put_le32(e->out + e->used, (uint32_t)dictionary.size);
	memcpy(e->out + e->used + 4, dictionary.data, dictionary.size);
	e->used += 4 + dictionary.size;
	return BPK_ENCODE_DONE;
}

enum bpk_outcome bpk_encode_some(struct bpk_encoding *e, uint32_t first, uint32_t end,
				 struct bpk_err *err)
{
	enum bpk_outcome outcome = BPK_ENCODE_DONE;

	for (size_t k = first; k < end && outcome == BPK_ENCODE_DONE; k++) {
		size_t at = k * e->block_size;
		size_t size = bpk_min_size(e->raw.size - at, e->block_size);

		bpk_put_le32(e->out + e->header_size + 4 * k, (uint32_t)e->used);
		outcome = put_block(e, bpk_view(e->raw.data + at, size), err);
	}
	return outcome;
}
