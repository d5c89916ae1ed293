/*
 * An archive's raw content as a source. A read of whole chunks unpacks them where they are wanted;
 * parts of chunks come from the cache. Called by archive, cat and convert.
 */
#include "flow/view.h"

#include <inttypes.h>
#include <stdlib.h>

#include "flow/plan.h"

enum { AHEAD = 32 }; /* chunks of one read that are announced at a time */

/* ---- Reading anywhere ---- */

/* Read whole chunks that follow each other and are equal to chunk, as many as out has room for. */
static int read_alike(struct bpk_view_state *view, const struct bpk_sized *chunk,
		      struct bpk_span out, size_t *got, struct bpk_err *err)
{
	uint64_t room = out.size / chunk->size, alike = 0, size;

	if (bpk_view_fetch_whole(view, chunk->first, bpk_span(out.data, chunk->size), err) != 0)
		return -1;
	if (room > 1) {
		pthread_mutex_lock(&view->lock);
		alike = bpk_plan_alike(view->ops, view->reader, chunk->first, &size);
		pthread_mutex_unlock(&view->lock);
	}
	out.size = chunk->size * (size_t)bpk_min_u64(room, 1 + alike);
	bpk_bytes_repeat(bpk_view(out.data, chunk->size), 0,
			 bpk_span(out.data + chunk->size, out.size - chunk->size));
	*got += out.size;
	return 0;
}

/* The chunk of the last byte of a read; 0 if chunks are not announced. */
static uint64_t last_chunk(const struct bpk_view_state *view, uint64_t offset, uint64_t size)
{
	uint64_t total = view->plan.raw_size;

	if (view->ops->ahead == NULL || offset >= total || size == 0)
		return 0;
	return bpk_view_fetch_chunk_of(view, offset + bpk_min_u64(size, total - offset) - 1).first;
}

/* Announce chunks of a read from next, which is read now, to last, but only a few at a time.
 * *announced: the first one that was not yet. */
static void announce(const struct bpk_view_state *view, uint64_t next, uint64_t last,
		     uint64_t *announced)
{
	uint64_t end = bpk_min_u64(next + AHEAD, last + 1);

	for (*announced = bpk_max_u64(*announced, next); *announced < end; ++*announced)
		view->ops->ahead(view->reader, *announced);
}

static int read_anywhere(void *arg, uint64_t offset, struct bpk_span out, size_t *got,
			 struct bpk_err *err)
{
	struct bpk_view_state *view = arg;
	uint64_t announced = 0, last = last_chunk(view, offset, out.size);

	*got = 0;
	while (*got < out.size && offset + *got < view->plan.raw_size) {
		struct bpk_sized chunk = bpk_view_fetch_chunk_of(view, offset + *got);
		size_t start = (size_t)(offset + *got - chunk.raw_offset);
		size_t size = bpk_min_size(out.size - *got, chunk.size - start);
		struct bpk_span rest = bpk_span(out.data + *got, out.size - *got);

		if (chunk.first < last)
			announce(view, chunk.first, last, &announced);
		if (size == chunk.size) {
			if (read_alike(view, &chunk, rest, got, err) != 0)
				return -1;
			continue;
		}
		if (bpk_view_cache_read(view, chunk.first, start, bpk_span(rest.data, size), err) !=
		    0)
			return -1;
		*got += size;
	}
	return 0;
}

/* ---- Reading in sequence ---- */

/* No chunk follows: check that all announced bytes came. */
static int end(struct bpk_view_state *view, struct bpk_err *err)
{
	uint64_t reached = view->sequence.offset + view->sequence.chunk.size;

	view->sequence.ended = true;
	if (view->plan.raw_size != BPK_UNKNOWN && reached != view->plan.raw_size)
		return bpk_fail(err, BPK_CORRUPT, "unpacks to %" PRIu64 " bytes, expected %" PRIu64,
				reached, view->plan.raw_size);
	return 0;
}

/* Unpack the next chunk, which may be empty, or find the end. */
static int next(struct bpk_view_state *view, struct bpk_err *err)
{
	uint64_t offset = view->sequence.offset + view->sequence.chunk.size;
	struct bpk_view_fetcher *fetcher;
	int rc;

	if (view->sequence.number == view->plan.count)
		return end(view, err);
	fetcher = bpk_view_fetch_begin(view, err);
	if (fetcher == NULL)
		return -1;
	rc = bpk_view_fetch_next(view, fetcher, view->sequence.number, offset, err);
	if (rc > 0)
		rc = end(view, err);
	else if (rc == 0)
		rc = bpk_buf_resize(&view->sequence.chunk, fetcher->parcel.want_size, err);
	if (rc == 0 && !view->sequence.ended) {
		rc = bpk_view_fetch_unpack(
			view, fetcher,
			bpk_span(view->sequence.chunk.data, view->sequence.chunk.size), err);
		view->sequence.offset = offset;
		view->sequence.number++;
	}
	bpk_view_fetch_end(view, fetcher);
	return rc;
}

static int read_on(void *arg, uint64_t offset, struct bpk_span out, size_t *got,
		   struct bpk_err *err)
{
	struct bpk_view_state *view = arg;

	*got = 0;
	while (*got < out.size && !view->sequence.ended) {
		uint64_t start = offset + *got - view->sequence.offset;
		size_t size;

		if (start >= view->sequence.chunk.size) {
			if (next(view, err) != 0)
				return -1;
			continue;
		}
		size = bpk_min_size(out.size - *got, view->sequence.chunk.size - (size_t)start);
		bpk_copy(out.data + *got, view->sequence.chunk.data + start, size);
		*got += size;
	}
	return 0;
}

/* ---- Opening ---- */

static void close_view(void *arg)
{
	struct bpk_view_state *view = arg;

	bpk_view_fetch_clear(view);
	bpk_view_cache_clear(view);
	bpk_buf_clear(&view->sequence.chunk);
	bpk_sizes_clear(&view->runs);
	pthread_cond_destroy(&view->changed);
	pthread_mutex_destroy(&view->lock);
	free(view);
}

static const struct bpk_source_ops anywhere_ops = {
	.read_at = read_anywhere,
	.close = close_view,
	.positional = true,
};

static const struct bpk_source_ops sequence_ops = { .read_at = read_on, .close = close_view };

/* The sizes that the archive lists are taken from there, and the others from the chunks' headers. A
 * reader that finds chunks by walking goes there in sequence anyway. */
int bpk_plan_found(const struct bpk_reader_ops *ops, void *reader, struct bpk_sizes *sizes,
		   struct bpk_plan *plan, struct bpk_err *err)
{
	const struct bpk_info *info = ops->info(reader);
	struct bpk_where where;
	uint64_t alike, size;
	int rc;

	*plan = bpk_plan_all(info);
	if (plan->chunk_size != BPK_UNKNOWN || !ops->positional(reader) || ops->locate == NULL)
		return 0;
	if (bpk_sizes_copy(info->chunks.runs, BPK_UNKNOWN, sizes, err) != 0)
		return -1;
	while ((rc = ops->locate(reader, sizes->nchunks, &where, err)) == 0) {
		alike = bpk_plan_alike(ops, reader, sizes->nchunks, &size);
		if (bpk_sizes_add(sizes, 1 + alike, where.header.raw_size, 0, err) != 0)
			return -1;
	}
	if (rc < 0)
		return -1;
	*plan = bpk_plan_sizes(sizes);
	return 0;
}

int bpk_view_open(const struct bpk_reader_ops *ops, void *reader,
		  const struct bpk_view_options *options, struct bpk_source **source,
		  struct bpk_err *err)
{
	unsigned nslots = options->nchunks > 0 ? options->nchunks : 1;
	struct bpk_view_state *view =
		bpk_calloc(1, sizeof *view + nslots * sizeof *view->slots, err);
	const struct bpk_source_ops *source_ops = &sequence_ops;

	*source = NULL;
	if (view == NULL)
		return -1;
	view->ops = ops;
	view->reader = reader;
	view->check = !options->no_check;
	view->limits = options->limits;
	pthread_mutex_init(&view->lock, NULL);
	pthread_cond_init(&view->changed, NULL);
	if (bpk_plan_found(ops, reader, &view->runs, &view->plan, err) != 0) {
		close_view(view);
		return -1;
	}
	bpk_view_cache_init(view, nslots);
	if (ops->positional(reader) && view->plan.raw_size != BPK_UNKNOWN &&
	    (view->plan.chunk_size != BPK_UNKNOWN || view->plan.runs != NULL))
		source_ops = &anywhere_ops;
	if (bpk_source_of(source_ops, view, view->plan.raw_size, source, err) == 0)
		return 0;
	close_view(view);
	return -1;
}

/*
 * A thread holds a packed chunk, its scratch, one chunk of the cache and its share of the last.
 */
uint64_t bpk_view_memory(const struct bpk_info *info)
{
	enum { STATE = 2 << 20, CHUNKS = 5 };
	uint64_t size = info->chunks.size;

	if (size == BPK_UNKNOWN)
		size = bpk_max_u64(info->chunks.has_first ? info->chunks.first.raw_size : 0,
				   bpk_sizes_largest(info->chunks.runs));
	return CHUNKS * size + STATE;
}
