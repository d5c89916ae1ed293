/*
 * Decoding one block for decode.c and decode_variable.c, in two steps that touch each byte once:
 *
 *   chunk      [csize|plane 0][csize|plane 1][-7|token] ...   streams, packed, raw or a run
 *                    |              |             |
 *                  codec      (used in place)   (kept)        a raw plane is never copied
 *                    v              v             v
 *   planes     ctx->filtered      the chunk   ctx->kept
 *                    \______________|____________/
 *                                   |
 *                               unshuffle
 *                                   v
 *   out                          elements
 *
 * Without a filter the codec writes to out. With several filters, the last one undone writes to
 * out, the others alternate between ctx->stages.
 */
#include "chunk/decode.h"

#include <inttypes.h>

void bpk_block_init(struct bpk_block *b, struct bpk_decoding *d, uint32_t number,
		    struct bpk_view bytes, size_t size, unsigned nstreams)
{
	const struct bpk_chunk_header *h = &d->header;

	*b = (struct bpk_block){
		.d = d,
		.number = number,
		.cursor = bpk_cursor(bytes),
		.size = size,
		.nstreams = nstreams,
		.stream_size = size / nstreams,
		.filtered = { .size = size,
			      .typesize = h->typesize,
			      .width = bpk_chunk_width(d->ctx, h->typesize),
			      .version2 = h->version == 2,
			      .reference = d->reference },
	};
	for (unsigned i = 0; i < h->pipeline.nsteps; i++) {
		const struct bpk_filter_step *step = &h->pipeline.steps[i];

		if (step->filter != BPK_FILTER_TRUNC_PREC && step->filter != BPK_FILTER_INT_TRUNC &&
		    !bpk_filter_is_identity(&b->filtered, step))
			b->pipeline.steps[b->pipeline.nsteps++] = *step;
	}
}

/*
 * Scratch for stream number. Streams are one cache line further apart than their size, because
 * planes at distances of a power of two would share cache sets.
 */
static uint8_t *scratch_of(struct bpk_block *b, unsigned number, struct bpk_err *err)
{
	struct bpk_buf *scratch = &b->d->ctx->filtered;
	size_t stride = b->stream_size + BPK_ALIGNMENT + (-b->stream_size % BPK_ALIGNMENT);

	if (bpk_buf_reserve_whole(scratch, stride * b->nstreams, err) != 0)
		return NULL;
	return scratch->data + stride * number;
}

/*
 * count bytes of value, for stream number, which is a run. Two such planes are kept; a block with
 * more distinct runs writes the others to scratch.
 */
static const uint8_t *run_plane(struct bpk_block *b, unsigned number, uint8_t value, size_t count,
				struct bpk_err *err)
{
	struct bpk_kept_plane *kept = &b->d->ctx->kept[value != 0];
	uint8_t *own;

	if (kept->value != value && b->kept_taken) {
		own = scratch_of(b, number, err);
		return own == NULL ? NULL : memset(own, value, count);
	}
	b->kept_taken = b->kept_taken || value != 0;
	if (kept->value == value && kept->bytes.size >= count)
		return kept->bytes.data;
	kept->bytes.size = 0;
	if (bpk_buf_resize(&kept->bytes, count, err) != 0)
		return NULL;
	kept->value = value;
	return memset(kept->bytes.data, value, count);
}

/*
 * Bytes first .. first + count of stream number: in the chunk, decoded or kept. NULL on failure.
 */
static const uint8_t *stream_bytes(struct bpk_block *b, unsigned number, size_t first, size_t count,
				   struct bpk_err *err)
{
	struct bpk_stream stream;
	uint8_t *scratch;

	if (bpk_stream_take(b, number, &stream, err) != 0)
		return NULL;
	if (stream.packed.data == NULL)
		return run_plane(b, number, stream.byte, count, err);
	if (stream.packed.size == b->stream_size)
		return stream.packed.data + first;
	scratch = scratch_of(b, number, err);
	if (scratch == NULL || bpk_stream_head(b, stream.packed, first + count, scratch, err) != 0)
		return NULL;
	return scratch + first;
}

/* The first end bytes of a block, at least, in the layout of its streams, contiguous; NULL on
 * failure. */
static const uint8_t *block_bytes(struct bpk_block *b, size_t end, struct bpk_err *err)
{
	struct bpk_buf *scratch = &b->d->ctx->filtered;

	if (b->nstreams == 1)
		return stream_bytes(b, 0, 0, end, err);
	if ((end == b->size ? bpk_buf_reserve_whole : bpk_buf_reserve)(scratch, b->size, err) !=
		    0 ||
	    bpk_streams_read(b, 0, end, scratch->data, err) != 0)
		return NULL;
	return scratch->data;
}

/* The width planes of a shuffled block, and the bytes after the last whole element. */
struct planes {
	size_t width, nelems;
	const uint8_t *planes[BPK_CHUNK_MAX_TYPESIZE];
	const uint8_t *tail;
};

/* True if the block is a single run. The stream is not consumed. */
static bool is_one_run(const struct bpk_block *b)
{
	struct bpk_block look = *b;
	struct bpk_stream stream;

	return b->nstreams == 1 && bpk_stream_take(&look, 0, &stream, NULL) == 0 &&
	       stream.packed.data == NULL;
}

/* Find count bytes of each plane, from element first on. If there are width streams, each is a
 * plane; a single run serves as every plane of its block. */
static int take_planes(struct bpk_block *b, struct planes *p, size_t first, size_t count,
		       struct bpk_err *err)
{
	bool run = is_one_run(b);
	/* the tail is wanted only with the last elements */
	size_t end =
		first + count == p->nelems ? b->size : p->nelems * (p->width - 1) + first + count;
	const uint8_t *bytes;

	p->tail = NULL;
	if (b->nstreams > 1 && b->nstreams == p->width) {
		for (unsigned j = 0; j < p->width; j++) {
			p->planes[j] = stream_bytes(b, j, first, count, err);
			if (p->planes[j] == NULL)
				return -1;
		}
		return 0;
	}
	bytes = run ? stream_bytes(b, 0, 0, bpk_max_u64(count, p->width), err)
		    : block_bytes(b, end, err);
	if (bytes == NULL)
		return -1;
	for (size_t j = 0; j < p->width; j++)
		p->planes[j] = run ? bytes : bytes + p->nelems * j + first;
	p->tail = run ? bytes : bytes + p->nelems * p->width;
	return 0;
}

/* Decode bytes lo..hi of a block whose only filter is shuffle, to out. */
static int read_shuffled(struct bpk_block *b, size_t lo, size_t hi, uint8_t *out,
			 const struct bpk_filter_step *step, struct bpk_err *err)
{
	size_t width = bpk_filter_width(&b->filtered, step), nelems = b->size / width,
	       body = nelems * width;
	struct planes p = { .width = width, .nelems = nelems };
	size_t end = bpk_min_size(hi, body), first = bpk_min_size(lo / width, nelems);
	size_t count = bpk_div_up(end, width) - bpk_min_size(first, bpk_div_up(end, width));
	struct bpk_chunk_ctx *ctx = b->d->ctx;

	if (take_planes(b, &p, first, count, err) != 0)
		return -1;
	if (lo < body) {
		bool aligned = lo % width == 0 && end % width == 0;
		uint8_t *to = out;

		if (!aligned) {
			if (bpk_buf_reserve(&ctx->piece, count * width, err) != 0)
				return -1;
			to = ctx->piece.data;
		}
		ctx->kernels->unshuffle(p.planes, width, count, to);
		if (!aligned)
			memcpy(out, to + (lo - first * width), end - lo);
	}
	if (hi > body) {
		size_t from = bpk_max_u64(lo, body);

		memcpy(out + (from - lo), p.tail + (from - body), hi - from);
	}
	return 0;
}

/* The output buffer of step number when undoing filters; NULL on failure. */
static uint8_t *stage_of(struct bpk_block *b, unsigned number, uint8_t *out, struct bpk_err *err)
{
	struct bpk_buf *stage = &b->d->ctx->stages[number % 2];

	if (number == 0)
		return out;
	return bpk_buf_reserve(stage, b->size, err) == 0 ? stage->data : NULL;
}

/*
 * The number of filters at the end of the pipeline that unshuffling undoes together: a bytedelta of
 * the same width after the shuffle, and a delta over the same bytes before it. 0 if the pipeline
 * does not end that way.
 */
static unsigned fused(const struct bpk_block *b, struct bpk_filter_planes *p)
{
	const struct bpk_filter_step *steps = b->pipeline.steps;
	const struct bpk_filter_block *block = &b->filtered;
	unsigned nsteps = b->pipeline.nsteps, left = nsteps;
	size_t body, word;

	*p = (struct bpk_filter_planes){ .differences = false };
	if (left >= 2 && steps[left - 1].filter == BPK_FILTER_BYTEDELTA &&
	    steps[left - 2].filter == BPK_FILTER_SHUFFLE &&
	    bpk_filter_width(block, &steps[left - 1]) ==
		    bpk_filter_width(block, &steps[left - 2])) {
		p->differences = true;
		left--;
	}
	if (steps[left - 1].filter != BPK_FILTER_SHUFFLE)
		return 0;
	p->width = bpk_filter_width(block, &steps[--left]);
	p->nelems = block->size / p->width;
	if (left >= 1 && steps[left - 1].filter == BPK_FILTER_DELTA && block->reference != NULL) {
		body = p->nelems * p->width;
		word = bpk_filter_width(block, &steps[left - 1]);
		if (body == block->size / word * word) {
			p->reference = block->reference;
			left--;
		}
	}
	return nsteps - left;
}

/* Decode a whole block through those filters to out. */
static int read_fused(struct bpk_block *b, struct bpk_filter_planes *p, uint8_t *out,
		      struct bpk_err *err)
{
	struct planes taken = { .width = p->width, .nelems = p->nelems };
	size_t body = p->width * p->nelems;

	if (take_planes(b, &taken, 0, p->nelems, err) != 0)
		return -1;
	p->planes = taken.planes;
	p->room = b->d->ctx->room.data;
	p->zeros = b->d->ctx->kept[0].bytes.data;
	bpk_filter_unshuffle(b->d->ctx->kernels, p, out);
	bpk_copy(out + body, taken.tail, b->size - body);
	return 0;
}

/* Decode a whole block through all its filters. */
static int read_filtered(struct bpk_block *b, uint8_t *out, struct bpk_err *err)
{
	const struct bpk_filter_step *steps = b->pipeline.steps;
	struct bpk_filter_planes planes;
	unsigned together = fused(b, &planes), left = b->pipeline.nsteps - together;
	const uint8_t *bytes;
	uint8_t *to;

	if (together > 0) {
		to = stage_of(b, left, out, err);
		if (to == NULL || read_fused(b, &planes, to, err) != 0)
			return -1;
		bytes = to;
	} else {
		bytes = block_bytes(b, b->size, err);
		if (bytes == NULL)
			return -1;
	}
	while (left > 0) {
		to = stage_of(b, --left, out, err);
		if (to == NULL)
			return -1;
		bpk_filter_undo(b->d->ctx->kernels, &b->filtered, &steps[left], bytes, to,
				b->d->ctx->room.data);
		bytes = to;
	}
	return 0;
}

static int read_part(struct bpk_block *b, size_t lo, size_t hi, uint8_t *out, struct bpk_err *err)
{
	const struct bpk_pipeline *pipeline = &b->pipeline;
	struct bpk_buf *piece = &b->d->ctx->piece;

	if (pipeline->nsteps == 0)
		return bpk_streams_read(b, lo, hi, out, err);
	if (pipeline->nsteps == 1 && pipeline->steps[0].filter == BPK_FILTER_SHUFFLE)
		return read_shuffled(b, lo, hi, out, &pipeline->steps[0], err);
	if (hi - lo == b->size)
		return read_filtered(b, out, err);
	if (bpk_buf_reserve(piece, b->size, err) != 0 || read_filtered(b, piece->data, err) != 0)
		return -1;
	memcpy(out, piece->data + lo, hi - lo);
	return 0;
}

/* Decode a stream to scratch and discard the result. Only the memory that it really decodes to is
 * touched. */
static int prove_stream(struct bpk_block *b, const struct bpk_stream *stream, struct bpk_err *err)
{
	struct bpk_buf *piece = &b->d->ctx->piece;
	uint64_t most = BPK_CHUNK_PROOF + (uint64_t)BPK_CHUNK_PROOF_TIMES * stream->packed.size;

	if (stream->packed.data == NULL || stream->packed.size == b->stream_size)
		return 0;
	if (b->stream_size > most)
		return bpk_fail(err, BPK_LIMIT,
				"%zu bytes in %zu packed ones, at most %" PRIu64 " are proved",
				b->stream_size, stream->packed.size, most);
	if (bpk_buf_reserve(piece, b->stream_size, err) != 0)
		return -1;
	return b->d->codec->decode(b->d->ctx->codec, stream->packed,
				   bpk_span(piece->data, b->stream_size), err);
}

/* Undoing filters cannot fail, so checking the streams is enough. */
static int prove_streams(struct bpk_block *b, struct bpk_err *err)
{
	for (unsigned s = 0; s < b->nstreams; s++) {
		struct bpk_stream stream;

		if (bpk_stream_take(b, s, &stream, err) != 0 || prove_stream(b, &stream, err) != 0)
			return -1;
	}
	return 0;
}

/* Count the stream bytes used. Blocks that use more than the chunk has overlap: work stays
 * bounded. */
static int finish(struct bpk_block *b, int rc, size_t left, struct bpk_err *err)
{
	size_t used = left - b->cursor.left;

	if (rc == 0 && used > b->d->unused)
		rc = bpk_fail(err, BPK_CORRUPT, "blocks overlap");
	if (rc != 0)
		return bpk_err_subject(err, "block %" PRIu32 ", stream %u", b->number, b->stream);
	b->d->unused -= used;
	return 0;
}

int bpk_block_read(struct bpk_block *b, size_t lo, size_t hi, uint8_t *out, struct bpk_err *err)
{
	size_t left = b->cursor.left;
	int rc = out == NULL ? prove_streams(b, err) : read_part(b, lo, hi, out, err);

	return finish(b, rc, left, err);
}

/* True without filters, and for a shuffle whose streams are planes: other filters need the whole
 * block. */
static bool parts_are_cheap(const struct bpk_block *b)
{
	const struct bpk_filter_step *step = &b->pipeline.steps[0];

	return b->pipeline.nsteps == 0 ||
	       (b->pipeline.nsteps == 1 && step->filter == BPK_FILTER_SHUFFLE &&
		(b->nstreams == 1 || b->nstreams == bpk_filter_width(&b->filtered, step)));
}

int bpk_block_survey(struct bpk_block *b, bool *runs, struct bpk_err *err)
{
	size_t left = b->cursor.left;
	int rc = 0;

	*runs = *runs && parts_are_cheap(b);
	for (unsigned s = 0; rc == 0 && s < b->nstreams; s++) {
		struct bpk_stream stream;

		rc = bpk_stream_take(b, s, &stream, err);
		*runs = *runs && rc == 0 && stream.packed.data == NULL;
	}
	return finish(b, rc, left, err);
}
