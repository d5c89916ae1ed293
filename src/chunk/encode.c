#include "chunk/block.h"
#include "chunk/noise.h"

/*
 * One call's work. Streams are written one behind the other in block order, so that the bytes do
 * not depend on who packs them.
 */
struct encoding {
	struct bpk_chunk_ctx *ctx;
	const struct bpk_recipe *recipe;
	struct bpk_view raw;
	uint8_t *out;
	size_t end;  /* of the room in out: "Writer profiles" grants raw size + 16 */
	size_t used; /* of out */
	uint32_t block_size;
	bool split;
	bool planes;  /* streams are byte planes */
	bool slow;    /* the codec takes longer over noise than to recognise it */
	bool entropy; /* it codes frequent bytes in fewer bits */
};

/* What a step came to; a chunk that outgrows its room is stored. */
enum outcome { FAILED = -1, DONE = 0, OUTGROWN = 1 };

static bool is_slow(const struct bpk_codec *codec)
{
	return codec->format == BPK_CODEC_FORMAT_ZLIB || codec->format == BPK_CODEC_FORMAT_ZSTD ||
	       strcmp(codec->name, "lz4hc") == 0;
}

/* "Choosing the blocksize when writing": the rule of 1.21, whose sizes others expect. */
static uint64_t chosen_block_size(const struct bpk_recipe *recipe, uint64_t raw_size)
{
	static const uint8_t quarters[] = { 1, 2, 4, 8, 16, 16, 32, 32, 32, 32 };
	bool slow = is_slow(recipe->codec);
	uint64_t size = (slow ? 65536u : 32768u) / 4 * quarters[recipe->level];

	if (raw_size < recipe->typesize)
		return 1;
	if (raw_size < 32768)
		return raw_size;
	if (slow && recipe->level == 9)
		size *= 2;
	if (recipe->level > 0 && recipe->typesize <= 16) {
		size = bpk_min_u64(size, 262144) * recipe->typesize;
		size = bpk_max_u64(65536, bpk_min_u64(size, 1048576));
	}
	return size;
}

/*
 * The hard rules: whole elements, and for the bitshuffle eights of them, since version 2 leaves any
 * other block as it is ("BITSHUFFLE").
 */
static uint32_t block_size_of(const struct bpk_recipe *recipe, uint64_t raw_size)
{
	uint64_t size = recipe->block_size, ts = recipe->typesize;

	if (size == 0)
		size = chosen_block_size(recipe, raw_size);
	size = bpk_min_u64(size, bpk_min_u64(raw_size, BPK_CHUNK_MAX_BLOCK_SIZE));
	if (bpk_plain_filter(&recipe->pipeline) == BPK_FILTER_BITSHUFFLE && size >= 8 * ts)
		size -= size % (8 * ts);
	else if (size > ts)
		size -= size % ts;
	return size == 0 ? 1 : (uint32_t)size;
}

/*
 * "Writer profiles": readers before 1.11 split by the numbers alone, whatever the flag says; those
 * know no Zstd, which is split where the planes are worth it. They are not in a run.
 */
static bool splits(const struct bpk_recipe *recipe, struct bpk_view raw, uint32_t block_size)
{
	if (!bpk_block_may_split(block_size, recipe->typesize))
		return false;
	return recipe->codec->format != BPK_CODEC_FORMAT_ZSTD ||
	       (bpk_plain_filter(&recipe->pipeline) == BPK_FILTER_SHUFFLE && !bpk_is_run(raw));
}

static unsigned flags_of(const struct encoding *e)
{
	unsigned flags = (unsigned)e->recipe->codec->format << BPK_FLAG_CODEC_SHIFT;

	if (bpk_plain_filter(&e->recipe->pipeline) == BPK_FILTER_SHUFFLE && e->recipe->typesize > 1)
		flags |= BPK_FLAG_SHUFFLE;
	if (bpk_plain_filter(&e->recipe->pipeline) == BPK_FILTER_BITSHUFFLE)
		flags |= BPK_FLAG_BITSHUFFLE;
	return e->split ? flags : flags | BPK_FLAG_NOT_SPLIT;
}

static void write_header(const struct encoding *e, unsigned flags, size_t packed_size)
{
	e->out[0] = 2;
	e->out[1] = 1;
	e->out[2] = (uint8_t)flags;
	e->out[3] = (uint8_t)e->recipe->typesize;
	bpk_put_le32(e->out + 4, (uint32_t)e->raw.size);
	bpk_put_le32(e->out + 8, e->block_size);
	bpk_put_le32(e->out + 12, (uint32_t)packed_size);
}

static size_t store(const struct encoding *e)
{
	size_t packed_size = BPK_CHUNK_HEADER_SIZE + e->raw.size;

	write_header(e, flags_of(e) | BPK_FLAG_MEMCPYED, packed_size);
	bpk_copy(e->out + BPK_CHUNK_HEADER_SIZE, e->raw.data, e->raw.size);
	return packed_size;
}

/* Less than 1/128 is no gain: a raw stream costs no reader a call of the codec. */
static size_t paying(size_t raw_size)
{
	return raw_size - 1 - raw_size / 128;
}

/*
 * Pack a run, or copy the last one if that was alike. The copy is what the codec would write again,
 * and it is always packed to the same room, so no byte depends on what came before.
 */
static int pack_run(struct encoding *e, struct bpk_view stream, struct bpk_span to,
		    size_t *packed_size, struct bpk_err *err)
{
	const struct bpk_recipe *recipe = e->recipe;
	struct bpk_packed_run *run = &e->ctx->run;

	if (run->codec != recipe->codec || run->level != recipe->level ||
	    run->raw_size != stream.size || run->byte != stream.data[0]) {
		size_t room = bpk_min_size(sizeof run->packed, paying(stream.size));

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

/* The quick codecs give noise up by themselves, in less time than the tests for it take. */
static enum bpk_stream_kind kind_of(const struct encoding *e, struct bpk_view stream)
{
	if (e->slow)
		return bpk_stream_kind(stream, e->entropy);
	return bpk_is_run(stream) ? BPK_STREAM_RUN : BPK_STREAM_STRUCTURE;
}

/* Pack a stream to at most room bytes; 0 when it is better stored. */
static int pack_stream(struct encoding *e, struct bpk_view stream, uint8_t *to, size_t room,
		       size_t *packed_size, struct bpk_err *err)
{
	const struct bpk_codec *codec = e->recipe->codec;
	enum bpk_stream_kind kind = kind_of(e, stream);
	unsigned level = e->recipe->level;

	*packed_size = 0;
	room = bpk_min_size(room, paying(stream.size));
	if (kind == BPK_STREAM_NOISE || room == 0)
		return 0;
	if (kind == BPK_STREAM_RUN)
		return pack_run(e, stream, bpk_span(to, room), packed_size, err);
	if (kind == BPK_STREAM_SKEWED && e->planes)
		level = 1;
	return codec->encode(e->ctx->codec, level, stream, bpk_span(to, room), packed_size, err);
}

static enum outcome put_stream(struct encoding *e, struct bpk_view stream, struct bpk_err *err)
{
	uint8_t *to = e->out + e->used;
	size_t room = e->end - e->used, packed_size;

	if (room <= 4)
		return OUTGROWN;
	room -= 4;
	if (pack_stream(e, stream, to + 4, room, &packed_size, err) != 0)
		return FAILED;
	if (packed_size == 0) {
		if (stream.size > room)
			return OUTGROWN;
		memcpy(to + 4, stream.data, stream.size);
		packed_size = stream.size;
	}
	bpk_put_le32(to, (uint32_t)packed_size);
	e->used += 4 + packed_size;
	return DONE;
}

/* A block as its streams will have it: itself, or filtered into scratch. */
static struct bpk_view filtered(struct encoding *e, struct bpk_view block)
{
	size_t ts = e->recipe->typesize, nelems = block.size / ts, body = nelems * ts;
	const struct bpk_filter_kernels *kernels = e->ctx->kernels;
	uint8_t *to = e->ctx->filtered.data;

	switch (bpk_block_filter(bpk_plain_filter(&e->recipe->pipeline), block.size,
				 e->recipe->typesize)) {
	case BPK_FILTER_SHUFFLE:
		kernels->shuffle(block.data, ts, nelems, to);
		break;
	case BPK_FILTER_BITSHUFFLE:
		kernels->bitshuffle(block.data, ts, nelems, to);
		break;
	default:
		return block;
	}
	bpk_copy(to + body, block.data + body, block.size - body);
	return bpk_view(to, block.size);
}

static enum outcome put_block(struct encoding *e, struct bpk_view block, struct bpk_err *err)
{
	struct bpk_view bytes = filtered(e, block);
	/* "Split rule": a short last block is one stream */
	size_t nstreams = e->split && block.size == e->block_size ? e->recipe->typesize : 1;
	size_t size = block.size / nstreams;
	enum outcome outcome = DONE;

	for (size_t s = 0; s < nstreams && outcome == DONE; s++)
		outcome = put_stream(e, bpk_view(bytes.data + s * size, size), err);
	return outcome;
}

static enum outcome put_blocks(struct encoding *e, struct bpk_err *err)
{
	uint64_t nblocks = bpk_div_up(e->raw.size, e->block_size);
	enum outcome outcome = DONE;

	if (4 * nblocks > e->raw.size)
		return OUTGROWN;
	if (bpk_plain_filter(&e->recipe->pipeline) != BPK_FILTER_NONE &&
	    bpk_buf_reserve(&e->ctx->filtered, e->block_size, err) != 0)
		return FAILED;
	e->used = BPK_CHUNK_HEADER_SIZE + (size_t)(4 * nblocks);
	for (size_t k = 0; k < nblocks && outcome == DONE; k++) {
		size_t at = k * e->block_size;
		size_t size = bpk_min_size(e->raw.size - at, e->block_size);

		bpk_put_le32(e->out + BPK_CHUNK_HEADER_SIZE + 4 * k, (uint32_t)e->used);
		outcome = put_block(e, bpk_view(e->raw.data + at, size), err);
	}
	return outcome;
}

static int check(const struct bpk_recipe *recipe, struct bpk_view raw, struct bpk_span out,
		 struct bpk_err *err)
{
	if (recipe->level > 9)
		return bpk_fail(err, BPK_USAGE, "level %u is not within 0 and 9", recipe->level);
	if (recipe->typesize < 1 || recipe->typesize > BPK_CHUNK_MAX_TYPESIZE)
		return bpk_fail(err, BPK_USAGE, "typesize %u is not within 1 and %d",
				recipe->typesize, BPK_CHUNK_MAX_TYPESIZE);
	if (recipe->extended || !bpk_pipeline_is_plain(&recipe->pipeline))
		return bpk_fail(err, BPK_USAGE, "version 2 chunks have no such filters");
	if (raw.size > BPK_CHUNK_MAX_RAW_SIZE)
		return bpk_fail(err, BPK_USAGE, "%zu bytes are more than the %d of a chunk",
				raw.size, BPK_CHUNK_MAX_RAW_SIZE);
	if (out.size < raw.size + BPK_CHUNK_HEADER_SIZE)
		return bpk_fail(err, BPK_USAGE, "a chunk of %zu bytes needs room for %zu, not %zu",
				raw.size, raw.size + BPK_CHUNK_HEADER_SIZE, out.size);
	return 0;
}

int bpk_chunk_encode(struct bpk_chunk_ctx *ctx, const struct bpk_recipe *recipe,
		     struct bpk_view raw, struct bpk_span out, size_t *packed_size,
		     struct bpk_err *err)
{
	struct encoding e = { .ctx = ctx, .recipe = recipe, .raw = raw, .out = out.data };
	enum outcome outcome = OUTGROWN;

	if (check(recipe, raw, out, err) != 0)
		return -1;
	e.end = raw.size + BPK_CHUNK_HEADER_SIZE;
	e.block_size = block_size_of(recipe, raw.size);
	e.split = splits(recipe, raw, e.block_size);
	e.planes = e.split && bpk_plain_filter(&recipe->pipeline) == BPK_FILTER_SHUFFLE;
	e.slow = is_slow(recipe->codec);
	e.entropy = recipe->codec->format == BPK_CODEC_FORMAT_ZLIB ||
		    recipe->codec->format == BPK_CODEC_FORMAT_ZSTD;
	/* "Chunk kinds": below 128 bytes nobody packs */
	if (recipe->level > 0 && raw.size >= 128)
		outcome = put_blocks(&e, err);
	if (outcome == FAILED)
		return -1;
	if (outcome == OUTGROWN) {
		*packed_size = store(&e);
		return 0;
	}
	write_header(&e, flags_of(&e), e.used);
	*packed_size = e.used;
	return 0;
}
