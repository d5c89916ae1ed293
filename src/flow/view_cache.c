/* The cache of a view: a few chunks, unpacked, or packed if parts of them are unpacked one by one.
 * A new chunk replaces the least recently used one. Called by view.c. */
#include "flow/view.h"

#include <inttypes.h>

#include "flow/work.h"

enum {
	EVEN = 2,   /* steps of a pace before chunks are announced */
	AHEAD = 16, /* chunks announced at most */
};

/* ---- Slots; under the lock ---- */

static struct bpk_view_slot *find(struct bpk_view_state *view, uint64_t number)
{
	for (unsigned i = 0; i < view->nslots; i++)
		if (view->slots[i].number == number)
			return &view->slots[i];
	return NULL;
}

/* The least recently used slot that is not in use; NULL if all are. */
static struct bpk_view_slot *find_spare(struct bpk_view_state *view)
{
	struct bpk_view_slot *oldest = NULL;

	for (unsigned i = 0; i < view->nslots; i++) {
		struct bpk_view_slot *slot = &view->slots[i];

		if (slot->users == 0 && !slot->loading &&
		    (oldest == NULL || slot->used < oldest->used))
			oldest = slot;
	}
	return oldest;
}

/* Take the slot that holds the chunk, or a slot to load it into. */
static struct bpk_view_slot *enter(struct bpk_view_state *view, uint64_t number)
{
	struct bpk_view_slot *slot;

	while ((slot = find(view, number)) == NULL || slot->loading) {
		if (slot == NULL && (slot = find_spare(view)) != NULL) {
			slot->number = number;
			slot->loading = true;
			break;
		}
		pthread_cond_wait(&view->changed, &view->lock);
	}
	slot->users++;
	slot->used = ++view->clock;
	return slot;
}

/* ---- Chunks to come ---- */

/* Add chunk number to the even steps; false if it begins new ones. With the lock. */
static bool is_even(struct bpk_view_state *view, uint64_t number)
{
	uint64_t last = view->pace.last, way = last - view->pace.first;
	uint64_t mean = view->pace.count > 0 ? way / view->pace.count : 0;
	bool forward = number > last;

	view->pace.last = number;
	if (forward && mean > 0 && number - last <= mean + 2 && number - last + 1 >= mean) {
		view->pace.count++;
		return true;
	}
	view->pace.first = forward ? last : number;
	view->pace.count = forward;
	view->pace.announced = number;
	return false;
}

/*
 * Note that chunk number will be loaded, and get chunks to announce, it among them. Arrays of one
 * name lie at about even distances, frame by frame: after EVEN steps the next ones are foreseen, at
 * most twice as many as the steps. Returns the number of chunks; with the lock.
 */
static unsigned foresee(struct bpk_view_state *view, uint64_t number, uint64_t chunks[1 + AHEAD])
{
	unsigned n = 0, count;
	uint64_t way;

	if (!is_even(view, number) || view->pace.count < EVEN)
		return 0;
	count = view->pace.count;
	way = number - view->pace.first;
	chunks[n++] = number;
	for (unsigned i = 1; i <= AHEAD && i <= 2 * count; i++) {
		uint64_t next = number + way * i / count;

		if (next > view->pace.announced && next < view->plan.count)
			chunks[n++] = view->pace.announced = next;
	}
	return n;
}

/* ---- Filling a slot ---- */

/* True if the fetched chunk is a special value, or runs: it is kept as packed. */
static bool is_pattern(const struct bpk_view_state *view, const struct bpk_view_fetcher *fetcher)
{
	struct bpk_view packed = bpk_view(fetcher->parcel.packed.data, fetcher->parcel.packed_size);

	if (view->ops->unpacks != NULL && view->ops->unpacks(view->reader))
		return false;
	bpk_chunk_ctx_set_typesize(fetcher->ctx, view->ops->info(view->reader)->chunks.typesize);
	return bpk_chunk_is_pattern(fetcher->ctx, packed);
}

/* Decide how the slot keeps the fetched chunk. */
static int choose_form(const struct bpk_view_state *view, struct bpk_view_slot *slot,
		       const struct bpk_view_fetcher *fetcher, struct bpk_err *err)
{
	slot->part_number = BPK_UNKNOWN;
	slot->piece = 0;
	slot->pattern = is_pattern(view, fetcher);
	if (slot->pattern)
		return 0;
	return bpk_work_divide(view->ops, view->reader, fetcher->ctx, &fetcher->parcel,
			       &slot->piece, err);
}

static int fill_slot(struct bpk_view_state *view, struct bpk_view_slot *slot,
		     struct bpk_view_fetcher *fetcher, struct bpk_err *err)
{
	size_t size = bpk_view_fetch_chunk(view, slot->number).size;

	slot->raw.size = 0;
	if (bpk_view_fetch_at(view, fetcher, slot->number, err) != 0 ||
	    choose_form(view, slot, fetcher, err) != 0)
		return -1;
	if (slot->pattern || slot->piece > 0)
		return bpk_buf_append(
			&slot->raw,
			bpk_view(fetcher->parcel.packed.data, fetcher->parcel.packed_size), err);
	if (bpk_view_fetch_spend(view, slot->number, size, err) != 0 ||
	    bpk_buf_resize(&slot->raw, size, err) != 0)
		return -1;
	return bpk_view_fetch_unpack(view, fetcher, bpk_span(slot->raw.data, size), err);
}

static int load_slot(struct bpk_view_state *view, struct bpk_view_slot *slot, struct bpk_err *err)
{
	struct bpk_view_fetcher *fetcher = bpk_view_fetch_begin(view, err);
	int rc = -1;

	if (fetcher != NULL) {
		rc = fill_slot(view, slot, fetcher, err);
		bpk_view_fetch_end(view, fetcher);
	}
	pthread_mutex_lock(&view->lock);
	slot->loading = false;
	if (rc != 0)
		slot->number = BPK_UNKNOWN;
	pthread_cond_broadcast(&view->changed);
	pthread_mutex_unlock(&view->lock);
	return rc;
}

/* Unpack the bytes from start on of a chunk that is kept as packed. */
static int unpack_range(struct bpk_view_state *view, const struct bpk_view_slot *slot,
			uint64_t start, struct bpk_span out, struct bpk_err *err)
{
	struct bpk_view_fetcher *fetcher = bpk_view_fetch_begin(view, err);
	int rc;

	if (fetcher == NULL)
		return -1;
	bpk_chunk_ctx_set_typesize(fetcher->ctx, view->ops->info(view->reader)->chunks.typesize);
	rc = bpk_chunk_decode_range(fetcher->ctx, bpk_buf_view(&slot->raw), start, out, err);
	bpk_view_fetch_end(view, fetcher);
	if (rc == 0)
		return 0;
	return bpk_err_subject(err, "chunk %" PRIu64, slot->number);
}

/* Load the piece of that number into the slot; its lock is held. */
static int load_part(struct bpk_view_state *view, struct bpk_view_slot *slot, uint64_t number,
		     struct bpk_err *err)
{
	uint64_t start = number * slot->piece;
	size_t size = (size_t)bpk_min_u64(bpk_view_fetch_chunk(view, slot->number).size - start,
					  slot->piece);

	if (slot->part_number == number)
		return 0;
	slot->part_number = BPK_UNKNOWN;
	if (bpk_view_fetch_spend(view, slot->number, size, err) != 0 ||
	    bpk_buf_resize(&slot->part, size, err) != 0 ||
	    unpack_range(view, slot, start, bpk_span(slot->part.data, size), err) != 0)
		return -1;
	slot->part_number = number;
	return 0;
}

static int copy_from_parts(struct bpk_view_state *view, struct bpk_view_slot *slot, size_t start,
			   struct bpk_span out, struct bpk_err *err)
{
	int rc = 0;

	if (out.size >= slot->piece)
		return bpk_view_fetch_spend(view, slot->number, out.size, err) != 0
			       ? -1
			       : unpack_range(view, slot, start, out, err);
	pthread_mutex_lock(&slot->part_lock);
	while (rc == 0 && out.size > 0) {
		size_t within = start % slot->piece;
		size_t size = bpk_min_size(out.size, slot->piece - within);

		rc = load_part(view, slot, start / slot->piece, err);
		if (rc == 0)
			bpk_copy(out.data, slot->part.data + within, size);
		out = bpk_span(out.data + size, out.size - size);
		start += size;
	}
	pthread_mutex_unlock(&slot->part_lock);
	return rc;
}

int bpk_view_cache_read(struct bpk_view_state *view, uint64_t number, size_t start,
			struct bpk_span out, struct bpk_err *err)
{
	uint64_t chunks[1 + AHEAD];
	struct bpk_view_slot *slot;
	unsigned n = 0;
	int rc = 0;

	pthread_mutex_lock(&view->lock);
	slot = enter(view, number);
	if (slot->loading && view->ops->ahead != NULL)
		n = foresee(view, number, chunks);
	pthread_mutex_unlock(&view->lock);
	for (unsigned i = 0; i < n; i++)
		view->ops->ahead(view->reader, chunks[i]);
	/* while it is loading nobody else enters it */
	if (slot->loading)
		rc = load_slot(view, slot, err);
	if (rc == 0 && slot->pattern)
		rc = unpack_range(view, slot, start, out, err);
	else if (rc == 0 && slot->piece > 0)
		rc = copy_from_parts(view, slot, start, out, err);
	else if (rc == 0)
		bpk_copy(out.data, slot->raw.data + start, out.size);
	pthread_mutex_lock(&view->lock);
	slot->users--;
	pthread_cond_broadcast(&view->changed);
	pthread_mutex_unlock(&view->lock);
	return rc;
}

/* ---- Making it ---- */

/* The number of slots: as many as wished, if memory has room for them beside unpacking
 * one. */
static unsigned slots_for(const struct bpk_view_state *view, unsigned wished)
{
	uint64_t size = view->plan.runs != NULL ? bpk_sizes_largest(view->plan.runs)
						: view->plan.chunk_size;
	uint64_t room;

	if (view->limits == NULL || view->limits->memory == 0 || size == 0 || size == BPK_UNKNOWN)
		return wished;
	room = view->limits->memory / size;
	return (unsigned)bpk_max_u64(
		1, bpk_min_u64(wished, room - bpk_min_u64(room, BPK_VIEW_UNPACKING - 1)));
}

void bpk_view_cache_init(struct bpk_view_state *view, unsigned wished)
{
	view->nslots = slots_for(view, wished);
	for (unsigned i = 0; i < view->nslots; i++) {
		view->slots[i].number = BPK_UNKNOWN;
		pthread_mutex_init(&view->slots[i].part_lock, NULL);
	}
}

void bpk_view_cache_clear(struct bpk_view_state *view)
{
	for (unsigned i = 0; i < view->nslots; i++) {
		bpk_buf_clear(&view->slots[i].raw);
		bpk_buf_clear(&view->slots[i].part);
		pthread_mutex_destroy(&view->slots[i].part_lock);
	}
}
