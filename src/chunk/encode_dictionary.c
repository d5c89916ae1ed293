/*
 * A dictionary for one chunk: content that its blocks share but cannot see in each other. Called by
 * encode.c. Source: Blosc chunk format, "Dictionaries".
 */
#include "chunk/encode.h"
#include "chunk/stream_kind.h"

enum {
	LARGEST = 32768,   /* readers since 3.0 refuse larger ones */
	SMALLEST = 256,    /* a smaller one does not repay its bytes */
	SHARE = 20,        /* the dictionary has at most 1/SHARE of the raw bytes */
	SAMPLES = 1 << 20, /* bytes of all samples */
	PIECE = 16384,     /* bytes of one sample */
	MIN_PIECES = 16,   /* minimum number of samples */
	MAX_PIECES = 2048,
};

/* Samples while they are collected. */
struct gathering {
	struct bpk_buf *bytes;
	size_t *sizes; /* room for MAX_PIECES, after the bytes */
	unsigned count;
	unsigned each; /* maximum number from one stream */
	size_t piece;  /* maximum bytes of one sample */
	size_t limit;  /* maximum bytes of all samples */
};

static bool is_full(const struct gathering *g)
{
	return g->count == MAX_PIECES || g->bytes->size == g->limit;
}

/* Runs are left out: they need no dictionary and would displace useful samples. */
static void add(struct gathering *g, const uint8_t *bytes, size_t size)
{
	for (unsigned i = 0; i < g->each && size >= 8 && !is_full(g); i++) {
		size_t left = g->limit - g->bytes->size;
		size_t piece = bpk_min_size(bpk_min_size(size, g->piece), left);

		if (!bpk_stream_is_run(bpk_view(bytes, piece))) {
			memcpy(g->bytes->data + g->bytes->size, bytes, piece);
			g->bytes->size += piece;
			g->sizes[g->count++] = piece;
		}
		bytes += piece;
		size -= piece;
	}
}

/* Collect from the filtered streams of every step-th block. */
static void gather(struct bpk_encoding *e, uint64_t step, struct gathering *g)
{
	for (uint64_t at = 0; at < e->raw.size && !is_full(g); at += step * e->block_size) {
		const uint8_t *reference = at == 0 ? NULL : e->raw.data;
		size_t size = bpk_min_u64(e->raw.size - at, e->block_size);
		size_t nstreams = e->split && size == e->block_size ? e->recipe->typesize : 1;
		struct bpk_view bytes =
			bpk_encode_filter(e, bpk_view(e->raw.data + at, size), reference);

		size /= nstreams;
		for (size_t s = 0; s < nstreams; s++)
			add(g, bytes.data + s * size, size);
	}
}

/*
 * Zstd is trained on samples of the whole chunk. For LZ4 the samples are the dictionary: the first
 * bytes of every stream, from the first block on.
 */
static void choose_samples(struct bpk_encoding *e, size_t most, struct gathering *g)
{
	size_t nstreams = e->split ? e->recipe->typesize : 1;
	size_t stream = e->block_size / nstreams;

	if (e->recipe->codec->format != BPK_CODEC_FORMAT_ZSTD) {
		g->limit = most;
		g->each = 1;
		g->piece = most / nstreams;
		gather(e, 1, g);
		return;
	}
	g->limit = bpk_min_size(SAMPLES, e->raw.size);
	g->each = MAX_PIECES;
	g->piece = bpk_min_size(bpk_min_size(PIECE, stream), g->limit / MIN_PIECES);
	gather(e, bpk_div_up(e->raw.size, SAMPLES), g);
}

/* Train into ctx->dictionary; size 0 if training fails. */
static int train(struct bpk_encoding *e, struct bpk_err *err)
{
	size_t most = bpk_min_size(LARGEST, e->raw.size / SHARE);
	struct bpk_buf *dictionary = &e->ctx->dictionary;
	struct gathering g = { .bytes = &e->ctx->samples };
	/* a multiple of the alignment of sizes */
	size_t room = (bpk_min_size(SAMPLES, e->raw.size) + 63) / 64 * 64;

	dictionary->size = g.bytes->size = 0;
	if (most < SMALLEST)
		return 0;
	if (bpk_buf_reserve(g.bytes, room + MAX_PIECES * sizeof *g.sizes, err) != 0 ||
	    bpk_buf_reserve(dictionary, LARGEST, err) != 0 ||
	    bpk_encode_reserve(e, e->block_size, err) != 0)
		return -1;
	g.sizes = (size_t *)(void *)(g.bytes->data + room);
	choose_samples(e, most, &g);
	return bpk_codec_train_dictionary(e->recipe->codec, bpk_buf_view(g.bytes), g.sizes, g.count,
					  bpk_span(dictionary->data, most), &dictionary->size, err);
}

/* Encode the whole chunk again, into fewer bytes than best. */
static enum bpk_outcome try_dictionary(struct bpk_encoding *e, size_t best, struct bpk_err *err)
{
	const struct bpk_recipe *recipe = e->recipe;
	struct bpk_codec_ctx *codec = e->ctx->codec;
	enum bpk_outcome outcome;

	if (bpk_buf_reserve(&e->ctx->trial, best, err) != 0 ||
	    bpk_codec_pack_dictionary(codec, recipe->codec, recipe->level,
				      bpk_buf_view(&e->ctx->dictionary), err) != 0)
		return BPK_ENCODE_FAILED;
	e->sharing = NULL; /* other threads have not digested it */
	e->out = e->ctx->trial.data;
	e->end = best - 1;
	e->dictionary = bpk_buf_view(&e->ctx->dictionary);
	outcome = bpk_encode_all(e, err);
	bpk_codec_pack_dictionary(codec, recipe->codec, recipe->level, bpk_view(NULL, 0), NULL);
	return outcome;
}

enum bpk_outcome bpk_encode_with_dictionary(struct bpk_encoding *e, enum bpk_outcome outcome,
					    struct bpk_err *err)
{
	struct bpk_encoding other = *e;

	if (train(e, err) != 0)
		return BPK_ENCODE_FAILED;
	if (e->ctx->dictionary.size == 0)
		return outcome;
	switch (try_dictionary(&other, outcome == BPK_ENCODE_DONE ? e->used : e->end, err)) {
	case BPK_ENCODE_FAILED:
		return BPK_ENCODE_FAILED;
	case BPK_ENCODE_OUTGROWN:
		return outcome;
	default:
		break;
	}
	memcpy(e->out + e->header_size, other.out + e->header_size, other.used - e->header_size);
	e->used = other.used;
	e->dictionary = other.dictionary;
	return BPK_ENCODE_DONE;
}
