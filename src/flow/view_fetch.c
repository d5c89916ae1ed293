/* Fetching and unpacking a chunk of a viewed archive, within the limits of the view. Called by
 * view.c and view_cache.c. */
#include "flow/view.h"

#include <inttypes.h>
#include <stdlib.h>

#include "flow/plan.h"
#include "flow/work.h"

/* ---- Fetchers ---- */

static void free_fetcher(struct bpk_view_fetcher *fetcher)
{
	if (fetcher == NULL)
		return;
	bpk_chunk_ctx_free(fetcher->ctx);
	bpk_buf_clear(&fetcher->parcel.raw);
	bpk_buf_clear(&fetcher->parcel.packed);
	free(fetcher);
}

struct bpk_view_fetcher *bpk_view_fetch_begin(struct bpk_view_state *view, struct bpk_err *err)
{
	struct bpk_view_fetcher *fetcher;

	pthread_mutex_lock(&view->lock);
	fetcher = view->idle;
	if (fetcher != NULL)
		view->idle = fetcher->next;
	pthread_mutex_unlock(&view->lock);
	if (fetcher != NULL)
		return fetcher;
	fetcher = bpk_calloc(1, sizeof *fetcher, err);
	if (fetcher == NULL)
		return NULL;
	fetcher->ctx = bpk_chunk_ctx_new(err);
	if (fetcher->ctx != NULL)
		return fetcher;
	free_fetcher(fetcher);
	return NULL;
}

void bpk_view_fetch_end(struct bpk_view_state *view, struct bpk_view_fetcher *fetcher)
{
	pthread_mutex_lock(&view->lock);
	fetcher->next = view->idle;
	view->idle = fetcher;
	pthread_mutex_unlock(&view->lock);
}

/* ---- One chunk ---- */

int bpk_view_fetch_next(const struct bpk_view_state *view, struct bpk_view_fetcher *fetcher,
			uint64_t number, uint64_t raw_offset, struct bpk_err *err)
{
	struct bpk_parcel *parcel = &fetcher->parcel;
	size_t planned;
	int rc;

	parcel->number = number;
	bpk_plan_parcel(&view->plan, parcel);
	planned = parcel->raw_size;
	rc = view->ops->fetch(view->reader, parcel, err);
	if (rc != 0)
		return rc;
	if (bpk_plan_judge(&view->plan, parcel, planned, err) != 0)
		return -1;
	parcel->raw_offset = raw_offset;
	bpk_plan_want(&view->plan, parcel);
	if (view->check && view->ops->check != NULL)
		return view->ops->check(view->reader, parcel, err);
	return 0;
}

int bpk_view_fetch_unpack(const struct bpk_view_state *view, struct bpk_view_fetcher *fetcher,
			  struct bpk_span out, struct bpk_err *err)
{
	if (bpk_work_unpack(view->ops, view->reader, fetcher->ctx, &fetcher->parcel, out, err) != 0)
		return bpk_work_subject(view->ops, view->reader, &fetcher->parcel, err);
	return 0;
}

struct bpk_sized bpk_view_fetch_chunk(const struct bpk_view_state *view, uint64_t number)
{
	uint64_t size = view->plan.chunk_size, start = number * size;
	struct bpk_sized chunk;

	if (bpk_sizes_chunk(view->plan.runs, number, &chunk))
		return chunk;
	size = bpk_min_u64(size, view->plan.raw_size - start);
	return (struct bpk_sized){ .first = number, .raw_offset = start, .size = (uint32_t)size };
}

struct bpk_sized bpk_view_fetch_chunk_of(const struct bpk_view_state *view, uint64_t offset)
{
	struct bpk_sized chunk;

	if (bpk_sizes_seek(view->plan.runs, offset, &chunk))
		return chunk;
	return bpk_view_fetch_chunk(view, offset / view->plan.chunk_size);
}

int bpk_view_fetch_at(const struct bpk_view_state *view, struct bpk_view_fetcher *fetcher,
		      uint64_t number, struct bpk_err *err)
{
	int rc = bpk_view_fetch_next(view, fetcher, number,
				     bpk_view_fetch_chunk(view, number).raw_offset, err);

	if (rc <= 0)
		return rc;
	return bpk_fail(err, BPK_CORRUPT,
			"ends before chunk %" PRIu64 ", %" PRIu64 " chunks were expected", number,
			view->plan.count);
}

int bpk_view_fetch_spend(const struct bpk_view_state *view, uint64_t number, size_t size,
			 struct bpk_err *err)
{
	struct bpk_view_limits *limits = view->limits;

	if (limits == NULL)
		return 0;
	if (limits->memory != 0 && limits->memory / BPK_VIEW_UNPACKING < size)
		return bpk_fail(err, BPK_LIMIT,
				"chunk %" PRIu64 " unpacks to %zu bytes, at most %" PRIu64
				" are unpacked to look "
				"inside; --memory-limit allows more",
				number, size, (limits->memory / BPK_VIEW_UNPACKING));
	if (limits->left == BPK_UNKNOWN)
		return 0;
	if (limits->left < size)
		return bpk_fail(err, BPK_LIMIT,
				"looking inside unpacks more bytes than an archive of this size "
				"gets; --memory-limit allows more");
	limits->left -= size;
	return 0;
}

int bpk_view_fetch_whole(struct bpk_view_state *view, uint64_t number, struct bpk_span out,
			 struct bpk_err *err)
{
	struct bpk_view_fetcher *fetcher = bpk_view_fetch_begin(view, err);
	int rc;

	if (fetcher == NULL)
		return -1;
	rc = bpk_view_fetch_at(view, fetcher, number, err);
	if (rc == 0)
		rc = bpk_view_fetch_unpack(view, fetcher, out, err);
	bpk_view_fetch_end(view, fetcher);
	return rc;
}

void bpk_view_fetch_clear(struct bpk_view_state *view)
{
	while (view->idle != NULL) {
		struct bpk_view_fetcher *fetcher = view->idle;

		view->idle = fetcher->next;
		free_fetcher(fetcher);
	}
}
