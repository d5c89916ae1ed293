/*
 * The encoder's entry points: checks of recipes, block sizes. Called by flow on any thread. Source:
 * Blosc chunk format, "Blocks and streams".
 */
#include "chunk/encode.h"

#include <inttypes.h>
#include "chunk/stream_kind.h"
#include "chunk/predict.h"

enum {
	MIN_PACKED = 128,         /* "Limits": shorter chunks are stored in version 2 */
	MIN_PACKED_EXTENDED = 32, /* and in version 5 */
};

static bool is_slow(const struct bpk_codec *codec)
{
	return codec->format == BPK_CODEC_FORMAT_ZLIB || codec->format == BPK_CODEC_FORMAT_ZSTD ||
	       strcmp(codec->name, "lz4hc") == 0;
}

/* ---- Splitting ---- */

/*
 * True if the pipeline puts bytes of equal position in all elements together, so that the streams
 * of a split block are byte planes.
 */
static bool makes_planes(const struct bpk_recipe *recipe)
{
	bool planes = false;

	for (unsigned i = 0; i < recipe->pipeline.nsteps; i++) {
		const struct bpk_filter_step *step = &recipe->pipeline.steps[i];

		if (step->filter == BPK_FILTER_SHUFFLE)
			planes = step->meta == 0 || step->meta == recipe->typesize;
		if (step->filter == BPK_FILTER_BITSHUFFLE)
			planes = false;
	}
	return planes;
}

/*
 * "Writer profiles": readers before 1.11 split by the numbers alone, ignoring the flag. They do not
 * know Zstd, so Zstd splits only where byte planes help; they do not help in a run.
 */
static bool splits(const struct bpk_recipe *recipe, struct bpk_view raw, uint32_t block_size)
{
	if (!bpk_block_may_split(block_size, recipe->typesize))
		return false;
	return recipe->codec->format != BPK_CODEC_FORMAT_ZSTD ||
	       (bpk_plain_filter(&recipe->pipeline) == BPK_FILTER_SHUFFLE &&
		!bpk_stream_is_run(raw));
}

/*
 * The same for Blosc2, whose readers obey the flag: "When upstream splits", but for every codec
 * ("Measured: the planes decide"). Codecs with a header per stream need longer planes.
 */
static bool splits_extended(const struct bpk_recipe *recipe, uint64_t block_size)
{
	unsigned ts = recipe->typesize, least = is_slow(recipe->codec) ? 128 : 32;

	return ts > 1 && ts <= 16 && block_size % ts == 0 && block_size / ts >= least &&
	       makes_planes(recipe);
}

/* ---- Block sizes ---- */

/* "Choosing the blocksize when writing": the rule of Blosc 1.21, whose sizes other readers
 * expect. */
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
	if (recipe->level > 0 && recipe->typesize <= 16 && !recipe->extended) {
		size = bpk_min_u64(size, 262144) * recipe->typesize;
		size = bpk_max_u64(65536, bpk_min_u64(size, 1048576));
	}
	return size;
}

/* The same by the rule of Blosc2. */
static uint64_t chosen_block_size_extended(const struct bpk_recipe *recipe, uint64_t raw_size)
{
	static const uint16_t plane[] = { 32, 32, 32, 32, 64, 64, 64, 128, 256, 512 };
	uint64_t size = (uint64_t)plane[recipe->level] * 1024 * recipe->typesize;

	if (recipe->level == 0 || raw_size < 32768 ||
	    !splits_extended(recipe, raw_size - raw_size % recipe->typesize))
		return chosen_block_size(recipe, raw_size);
	return bpk_max_u64(32768, bpk_min_u64(size, 4194304));
}

/*
 * Apply the mandatory rules: whole elements, and multiples of 8 elements for bitshuffle, because
 * version 2 leaves other blocks unfiltered ("BITSHUFFLE") and later versions leave the end of each
 * block unfiltered.
 */
static uint32_t block_size_of(const struct bpk_recipe *recipe, uint64_t raw_size)
{
	uint64_t size = recipe->block_size, ts = recipe->typesize;
	bool eights = bpk_pipeline_has(&recipe->pipeline, BPK_FILTER_BITSHUFFLE);

	if (size == 0)
		size = recipe->extended ? chosen_block_size_extended(recipe, raw_size)
					: chosen_block_size(recipe, raw_size);
	size = bpk_min_u64(size, bpk_min_u64(raw_size, BPK_CHUNK_MAX_BLOCK_SIZE));
	if (recipe->exact_blocks && size > 0)
		return (uint32_t)size;
	/* in version 5 a single block costs less than two */
	if (recipe->extended && size == raw_size)
		eights = false;
	if (eights && size >= 8 * ts)
		size -= size % (8 * ts);
	else if (size > ts)
		size -= size % ts;
	return size == 0 ? 1 : (uint32_t)size;
}

/* "Chunk kinds": a version 5 chunk with codec bits 0 was stored without trying to compress it. */
static size_t store(struct bpk_encoding *e, bool tried)
{
	unsigned flags = e->recipe->extended && !tried ? BPK_FLAG_EXTENDED : bpk_encode_flags(e);
	size_t packed_size = e->header_size + e->plain.size;

	e->prediction = (struct bpk_prediction){ 0 };
	bpk_encode_header(e, flags | BPK_FLAG_MEMCPYED, 0, packed_size);
	bpk_copy(e->out + e->header_size, e->plain.data, e->plain.size);
	return packed_size;
}

/* ---- Entry points ---- */

static int check_extended(const struct bpk_recipe *recipe, struct bpk_err *err)
{
	const struct bpk_codec *codec = recipe->codec;

	if (!bpk_codec_is_extended(codec))
		return bpk_fail(err, BPK_USAGE, "Blosc2's chunks have no codec %s", codec->name);
	if (recipe->dictionary && !bpk_codec_has_dictionaries(codec))
		return bpk_fail(err, BPK_USAGE,
				"codec %s takes no dictionary: zstd, lz4 and lz4hc do",
				codec->name);
	/* "DELTA": each block would be its own reference, but c-blosc2 uses the first for all */
	if (recipe->variable_blocks && bpk_pipeline_has(&recipe->pipeline, BPK_FILTER_DELTA))
		return bpk_fail(err, BPK_USAGE,
				"filter delta is not for blocks of variable length");
	return 0;
}

/* Check the limits that a parsed option respects but an API caller may break, then the elements. A
 * recipe may follow a chunk of another program, whose filters can only be undone. */
static int check_pipeline(const struct bpk_recipe *recipe, struct bpk_err *err)
{
	const struct bpk_pipeline *pipeline = &recipe->pipeline;

	if (pipeline->nsteps > BPK_CHUNK_MAX_FILTERS)
		return bpk_fail(err, BPK_USAGE, "%u filters, more than %d", pipeline->nsteps,
				BPK_CHUNK_MAX_FILTERS);
	for (unsigned i = 0; i < pipeline->nsteps; i++) {
		unsigned filter = pipeline->steps[i].filter;

		if (filter == BPK_FILTER_NONE || bpk_filter_name(filter) == NULL)
			return bpk_fail(err, BPK_USAGE, "no filter %u", filter);
		if (filter == BPK_FILTER_BYTEDELTA_1)
			return bpk_fail(err, BPK_UNSUPPORTED, "filter %s is only read",
					bpk_filter_name(filter));
		if (filter == BPK_FILTER_DELTA && i > 0)
			return bpk_fail(err, BPK_UNSUPPORTED,
					"filter delta is applied only as the first one");
	}
	return bpk_pipeline_check(pipeline, recipe->typesize, err);
}

static int check_version2(const struct bpk_recipe *recipe, struct bpk_err *err)
{
	if (!bpk_pipeline_is_plain(&recipe->pipeline))
		return bpk_fail(err, BPK_USAGE, "version 2 chunks have no such filters");
	if (recipe->dictionary || recipe->variable_blocks)
		return bpk_fail(err, BPK_USAGE, "version 2 chunks have no %s",
				recipe->dictionary ? "dictionaries" : "blocks of variable length");
	return 0;
}

static int check(const struct bpk_recipe *recipe, struct bpk_view raw, struct bpk_span out,
		 struct bpk_err *err)
{
	int most = recipe->extended ? BPK_CHUNK_MAX_RAW_SIZE_EXTENDED : BPK_CHUNK_MAX_RAW_SIZE;
	size_t header = recipe->extended ? BPK_CHUNK_EXTENDED_HEADER_SIZE : BPK_CHUNK_HEADER_SIZE;

	if (recipe->level > 9)
		return bpk_fail(err, BPK_USAGE, "level %u is not from 0 to 9", recipe->level);
	if (recipe->typesize < 1 || recipe->typesize > BPK_CHUNK_MAX_TYPESIZE)
		return bpk_fail(err, BPK_USAGE, "typesize %u is not from 1 to %d", recipe->typesize,
				BPK_CHUNK_MAX_TYPESIZE);
	if ((recipe->extended ? check_extended : check_version2)(recipe, err) != 0 ||
	    check_pipeline(recipe, err) != 0 || bpk_prediction_check(recipe, err) != 0)
		return -1;
	if (raw.size > (size_t)most)
		return bpk_fail(err, BPK_USAGE, "%zu bytes are more than the %d of a chunk",
				raw.size, most);
	if (out.size < header || out.size - header < raw.size)
		return bpk_fail(err, BPK_USAGE, "a chunk of %zu bytes needs room for %zu, not %zu",
				raw.size, raw.size + header, out.size);
	return 0;
}

/* Store the width of bytedelta. Readers of frames know the default, readers of bare chunks do
 * not. */
static struct bpk_pipeline with_widths(const struct bpk_recipe *recipe)
{
	struct bpk_pipeline pipeline = recipe->pipeline;

	for (unsigned i = 0; i < pipeline.nsteps; i++)
		if (pipeline.steps[i].filter == BPK_FILTER_BYTEDELTA && pipeline.steps[i].meta == 0)
			pipeline.steps[i].meta = (uint8_t)recipe->typesize;
	return pipeline;
}

static void begin(struct bpk_encoding *e)
{
	const struct bpk_recipe *recipe = e->recipe;

	e->plain = e->raw;
	e->pipeline = with_widths(recipe);
	e->header_size = recipe->extended ? BPK_CHUNK_EXTENDED_HEADER_SIZE : BPK_CHUNK_HEADER_SIZE;
	e->end = e->raw.size + e->header_size;
	e->block_size = block_size_of(recipe, e->raw.size);
	e->split = recipe->extended ? splits_extended(recipe, e->block_size)
				    : splits(recipe, e->raw, e->block_size);
	e->planes = e->split && makes_planes(recipe);
	e->slow = is_slow(recipe->codec);
}

/* "Variable-length-block chunks" are never split. */
static void begin_variable(struct bpk_encoding *e, const uint32_t *sizes, uint32_t nblocks)
{
	e->sizes = sizes;
	e->nblocks = nblocks;
	e->split = e->planes = false;
}

/* Apply the prediction; the blocks are then made of its output. */
static int predict(struct bpk_encoding *e, struct bpk_err *err)
{
	struct bpk_buf *left = &e->ctx->predicted;

	e->prediction = bpk_prediction_fit(&e->recipe->prediction, e->raw.size);
	if (e->prediction.size == 0)
		return 0;
	if (bpk_buf_reserve(left, e->raw.size, err) != 0)
		return -1;
	if (bpk_prediction_apply(e->ctx->kernels, &e->prediction, e->raw, left->data,
				 &e->ctx->history, err) != 0)
		return -1;
	e->raw = bpk_view(left->data, e->raw.size);
	return 0;
}

/* Write the blocks, with a dictionary if that is smaller; or store the chunk. */
static int finish(struct bpk_encoding *e, size_t *packed_size, struct bpk_err *err)
{
	enum bpk_outcome outcome = bpk_encode_all(e, err);

	if (outcome != BPK_ENCODE_FAILED && e->recipe->dictionary && e->recipe->level > 0)
		outcome = bpk_encode_with_dictionary(e, outcome, err);
	if (outcome == BPK_ENCODE_FAILED)
		return -1;
	if (outcome == BPK_ENCODE_OUTGROWN) {
		e->nblocks = 0;
		*packed_size = store(e, true);
		return 0;
	}
	bpk_encode_header(e, bpk_encode_flags(e),
			  e->dictionary.size > 0 ? BPK_B2FLAG_DICTIONARY : 0, e->used);
	*packed_size = e->used;
	return 0;
}

int bpk_chunk_encode_shared(struct bpk_chunk_ctx *ctx, const struct bpk_recipe *recipe,
			    struct bpk_view raw, struct bpk_span out,
			    const struct bpk_sharing *sharing, size_t *packed_size,
			    struct bpk_err *err)
{
	size_t least = recipe->extended ? MIN_PACKED_EXTENDED : MIN_PACKED;
	struct bpk_encoding e = { .ctx = ctx,
				  .recipe = recipe,
				  .raw = raw,
				  .out = out.data,
				  .sharing = sharing,
				  .room = out.size };

	if (check(recipe, raw, out, err) != 0)
		return -1;
	begin(&e);
	/* "Chunk kinds" */
	if (recipe->level == 0 || raw.size < least) {
		*packed_size = store(&e, false);
		return 0;
	}
	*packed_size = recipe->extended && !recipe->no_special ? bpk_encode_special(&e) : 0;
	if (*packed_size > 0)
		return 0;
	if (predict(&e, err) != 0)
		return -1;
	if (recipe->variable_blocks)
		begin_variable(&e, NULL, (uint32_t)bpk_div_up(raw.size, e.block_size));
	return finish(&e, packed_size, err);
}

int bpk_chunk_encode(struct bpk_chunk_ctx *ctx, const struct bpk_recipe *recipe,
		     struct bpk_view raw, struct bpk_span out, size_t *packed_size,
		     struct bpk_err *err)
{
	return bpk_chunk_encode_shared(ctx, recipe, raw, out, NULL, packed_size, err);
}

static int check_sizes(struct bpk_view raw, const uint32_t *sizes, uint32_t nblocks,
		       struct bpk_err *err)
{
	uint64_t sum = 0, most = BPK_CHUNK_MAX_BLOCK_SIZE;

	for (uint32_t k = 0; k < nblocks; k++) {
		if (sizes[k] < 1 || sizes[k] > most)
			return bpk_fail(err, BPK_USAGE, "block %u of %u bytes, not 1 to %" PRIu64,
					k, sizes[k], most);
		sum += sizes[k];
	}
	if (nblocks < 1 || sum != raw.size)
		return bpk_fail(err, BPK_USAGE,
				"%u blocks of %" PRIu64 " bytes in all, expected %zu", nblocks, sum,
				raw.size);
	return 0;
}

int bpk_chunk_encode_blocks(struct bpk_chunk_ctx *ctx, const struct bpk_recipe *recipe,
			    struct bpk_view raw, const uint32_t *sizes, uint32_t nblocks,
			    struct bpk_span out, size_t *packed_size, struct bpk_err *err)
{
	struct bpk_recipe own = *recipe;
	struct bpk_encoding e = { .ctx = ctx, .recipe = &own, .raw = raw, .out = out.data };
	uint64_t room;

	own.variable_blocks = true;
	if (check(&own, raw, out, err) != 0 || check_sizes(raw, sizes, nblocks, err) != 0)
		return -1;
	room = bpk_chunk_bound(raw.size) + (uint64_t)8 * nblocks;
	if (room > INT32_MAX || room > out.size)
		return bpk_fail(err, BPK_USAGE,
				"%u blocks of %zu bytes in all need room for %" PRIu64 ", not %zu",
				nblocks, raw.size, room, out.size);
	begin(&e);
	begin_variable(&e, sizes, nblocks);
	e.end = (size_t)room;
	return finish(&e, packed_size, err);
}
