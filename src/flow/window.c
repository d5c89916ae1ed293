/* The window of a run: claims, turns and the order of puts, under one lock. flow.c takes the turns;
 * this file does no work on parcels. */
#include "flow/window.h"

#include <stdlib.h>

/* The calls of bpk_sharing; arg is the item whose chunk is shared. */

static void offer(void *arg, const struct bpk_shared_work *work, uint32_t nparts)
{
	struct bpk_item *item = arg;
	struct bpk_window *window = item->window;

	pthread_mutex_lock(&window->lock);
	item->share = (struct bpk_share){ .work = work, .end = nparts };
	if (window->waiting > 0)
		pthread_cond_broadcast(&window->changed);
	pthread_mutex_unlock(&window->lock);
}

static bool take(void *arg)
{
	struct bpk_item *item = arg;
	struct bpk_window *window = item->window;
	struct bpk_share *share = &item->share;
	bool taken;

	pthread_mutex_lock(&window->lock);
	taken = share->first < share->end;
	share->first += taken;
	while (!taken && share->helpers > 0)
		pthread_cond_wait(&window->helped, &window->lock);
	pthread_mutex_unlock(&window->lock);
	return taken;
}

int bpk_window_init(struct bpk_window *window, unsigned nparcels, uint64_t first, uint64_t count,
		    struct bpk_err *err)
{
	*window = (struct bpk_window){
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.changed = PTHREAD_COND_INITIALIZER,
		.helped = PTHREAD_COND_INITIALIZER,
		.nparcels = nparcels,
		.next = first,
		.next_put = { first, 0 },
		.failed = { BPK_UNKNOWN, 0 },
	};
	if (count == BPK_UNKNOWN || !bpk_add_u64(first, count, &window->end))
		window->end = BPK_UNKNOWN;
	window->items = bpk_calloc(nparcels, sizeof *window->items, err);
	window->wholes = bpk_calloc(nparcels, sizeof *window->wholes, err);
	window->free = bpk_calloc(nparcels, sizeof(struct bpk_item *), err);
	if (window->items == NULL || window->wholes == NULL || window->free == NULL) {
		bpk_window_clear(window);
		return -1;
	}
	while (window->nfree < nparcels) {
		struct bpk_item *item = &window->items[window->nfree];

		item->window = window;
		item->sharing = (struct bpk_sharing){ item, offer, take };
		window->free[window->nfree++] = item;
	}
	return 0;
}

static void clear_parcel(struct bpk_parcel *parcel)
{
	bpk_buf_clear(&parcel->raw);
	bpk_buf_clear(&parcel->packed);
}

void bpk_window_clear(struct bpk_window *window)
{
	for (unsigned i = 0; window->items != NULL && i < window->nparcels; i++)
		clear_parcel(&window->items[i].parcel);
	for (unsigned i = 0; window->wholes != NULL && i < window->nparcels; i++)
		clear_parcel(&window->wholes[i].parcel);
	free(window->items);
	free(window->wholes);
	free(window->free);
	pthread_cond_destroy(&window->changed);
	pthread_cond_destroy(&window->helped);
	pthread_mutex_destroy(&window->lock);
	*window = (struct bpk_window){ 0 };
}

/* The helpers below need the lock. */

static bool is_before(struct bpk_rank a, struct bpk_rank b)
{
	return a.number < b.number || (a.number == b.number && a.piece < b.piece);
}

/* The lowest chunk with pieces that can still be claimed. */
static struct bpk_whole *find_split(const struct bpk_window *window)
{
	struct bpk_whole *lowest = NULL;

	for (unsigned i = 0; window->splits && i < window->nparcels; i++) {
		struct bpk_whole *whole = &window->wholes[i];

		if (whole->claimed < whole->npieces &&
		    (lowest == NULL || whole->parcel.number < lowest->parcel.number))
			lowest = whole;
	}
	return lowest;
}

/* The lowest chunk that has parts for other threads. */
static struct bpk_item *find_shared(const struct bpk_window *window)
{
	struct bpk_item *lowest = NULL;

	for (unsigned i = 0; window->shares && i < window->nparcels; i++) {
		struct bpk_item *item = &window->items[i];

		if (item->share.first < item->share.end &&
		    (lowest == NULL || is_before(item->rank, lowest->rank)))
			lowest = item;
	}
	return lowest;
}

static bool can_claim_chunk(const struct bpk_window *window)
{
	return window->next < window->end && !window->fetching;
}

static bool can_claim(const struct bpk_window *window)
{
	return window->nfree > 0 && (can_claim_chunk(window) || find_split(window) != NULL);
}

/* True if no further claim is possible. */
static bool is_over(const struct bpk_window *window)
{
	return window->next >= window->end && window->undecided == 0 && find_split(window) == NULL;
}

/* The item whose turn it is, unless an earlier one has failed. */
static struct bpk_item *find_ready(const struct bpk_window *window)
{
	for (unsigned i = 0; !window->putting && i < window->nparcels; i++) {
		struct bpk_item *item = &window->items[i];

		if (item->ready && item->rank.number == window->next_put.number &&
		    item->rank.piece == window->next_put.piece)
			return is_before(item->rank, window->failed) ? item : NULL;
	}
	return NULL;
}

static void wake_one_to_claim(struct bpk_window *window)
{
	if (window->waiting > 0 && can_claim(window))
		pthread_cond_signal(&window->changed);
}

static void wake_all_at_the_end(struct bpk_window *window)
{
	if (window->waiting > 0 && is_over(window))
		pthread_cond_broadcast(&window->changed);
}

static void lower_end(struct bpk_window *window, uint64_t end)
{
	window->end = bpk_min_u64(window->end, end);
	wake_all_at_the_end(window);
}

/* The item's chunk is now known to be split or not, or needs no help any more. */
static void decide(struct bpk_window *window, struct bpk_item *item)
{
	if (!item->undecided)
		return;
	window->undecided--;
	item->undecided = false;
	wake_all_at_the_end(window);
}

/* Count the chunks that need no work behind the one that was claimed. */
static void pass_over(struct bpk_window *window)
{
	uint64_t count = 1, raw_size;

	while (window->pass != NULL && count > 0 && window->next < window->end) {
		count = window->pass(window->pass_arg, window->next, &raw_size);
		window->next += count;
		window->done.nchunks += count;
		window->done.raw_size += count > 0 ? raw_size : 0;
	}
}

/* Make the item the next piece of whole. */
static void claim_piece(struct bpk_window *window, struct bpk_whole *whole, struct bpk_item *item)
{
	const struct bpk_parcel *chunk = &whole->parcel;
	struct bpk_parcel *piece = &item->parcel;
	uint64_t start = (whole->first + whole->claimed) * whole->piece_size;
	uint64_t end = bpk_min_u64(start + whole->piece_size, chunk->want_start + chunk->want_size);

	item->of = whole;
	item->rank = (struct bpk_rank){ chunk->number, whole->claimed++ };
	item->last = whole->claimed == whole->npieces;
	piece->number = chunk->number;
	piece->raw_offset = chunk->raw_offset;
	piece->raw_size = chunk->raw_size;
	piece->again = 0;
	piece->packed.size = 0;
	piece->want_start = bpk_max_u64(start, chunk->want_start);
	piece->want_size = (size_t)(end - piece->want_start);
	wake_all_at_the_end(window);
}

static void claim_chunk(struct bpk_window *window, struct bpk_item *item)
{
	item->of = NULL;
	item->rank = (struct bpk_rank){ .number = window->next };
	item->last = true;
	item->parcel.number = window->next++;
	item->parcel.sharing = window->shares ? &item->sharing : NULL;
	item->several = false;
	item->parcel.again =
		window->join == NULL
			? 0
			: window->join(window->join_arg, item->parcel.number, &item->several);
	window->next += item->parcel.again;
	item->undecided = window->splits || window->shares;
	window->undecided += item->undecided;
	pass_over(window);
	window->fetching = window->fetch_in_order;
	wake_all_at_the_end(window);
}

static enum bpk_turn claim(struct bpk_window *window, struct bpk_item **item)
{
	struct bpk_whole *whole = find_split(window);

	*item = window->free[--window->nfree];
	if (whole == NULL) {
		claim_chunk(window, *item);
		return BPK_TURN_FETCH;
	}
	claim_piece(window, whole, *item);
	return BPK_TURN_PIECE;
}

static void give_back(struct bpk_window *window, struct bpk_item *item)
{
	window->free[window->nfree++] = item;
	wake_one_to_claim(window);
}

static enum bpk_turn find_turn(struct bpk_window *window, struct bpk_item **item, uint32_t *part)
{
	*item = find_ready(window);
	if (*item != NULL) {
		(*item)->ready = false;
		window->putting = true;
		return BPK_TURN_PUT;
	}
	if (can_claim(window))
		return claim(window, item);
	*item = find_shared(window);
	if (*item == NULL)
		return BPK_TURN_OVER;
	*part = --(*item)->share.end;
	(*item)->share.helpers++;
	return BPK_TURN_HELP;
}

/*
 * A thread leaves when it can neither put, claim nor help and no claim will become possible: other
 * threads put the items that they still work on. Otherwise it waits, and is woken when a parcel
 * comes back, when a fetch in order is over, when a chunk is split or offered, or when the end is
 * known. A parcel that becomes ready wakes nobody: the thread that brought it, or the one that is
 * putting, asks for its next turn at once.
 */
enum bpk_turn bpk_window_turn(struct bpk_window *window, struct bpk_item **item, uint32_t *part)
{
	enum bpk_turn turn;

	pthread_mutex_lock(&window->lock);
	while ((turn = find_turn(window, item, part)) == BPK_TURN_OVER && !is_over(window)) {
		window->waiting++;
		pthread_cond_wait(&window->changed, &window->lock);
		window->waiting--;
	}
	pthread_mutex_unlock(&window->lock);
	return turn;
}

void bpk_window_helped(struct bpk_window *window, struct bpk_item *item)
{
	pthread_mutex_lock(&window->lock);
	if (--item->share.helpers == 0)
		pthread_cond_broadcast(&window->helped);
	pthread_mutex_unlock(&window->lock);
}

void bpk_window_fetched(struct bpk_window *window, const struct bpk_item *item, bool last)
{
	pthread_mutex_lock(&window->lock);
	window->fetching = false;
	if (last)
		lower_end(window, item->rank.number + 1 + item->parcel.again);
	wake_one_to_claim(window);
	pthread_mutex_unlock(&window->lock);
}

void bpk_window_ended(struct bpk_window *window, struct bpk_item *item)
{
	pthread_mutex_lock(&window->lock);
	window->fetching = false;
	lower_end(window, item->rank.number);
	decide(window, item);
	give_back(window, item);
	pthread_mutex_unlock(&window->lock);
}

void bpk_window_decided(struct bpk_window *window, struct bpk_item *item)
{
	pthread_mutex_lock(&window->lock);
	decide(window, item);
	pthread_mutex_unlock(&window->lock);
}

/* A whole that no piece needs any more. */
static struct bpk_whole *find_spare(const struct bpk_window *window)
{
	struct bpk_whole *whole = window->wholes;

	while (whole->claimed < whole->npieces || whole->unpacked < whole->claimed)
		whole++;
	return whole;
}

void bpk_window_split(struct bpk_window *window, struct bpk_item *item, size_t piece_size)
{
	struct bpk_parcel chunk = item->parcel;
	struct bpk_whole *whole;
	uint64_t end;

	chunk.sharing = NULL;
	pthread_mutex_lock(&window->lock);
	whole = find_spare(window);
	item->parcel = whole->parcel;
	end = bpk_div_up(chunk.want_start + chunk.want_size, piece_size);
	*whole = (struct bpk_whole){ .parcel = chunk,
				     .piece_size = piece_size,
				     .first = chunk.want_start / piece_size };
	/* behind a failure only this piece, which is claimed, is unpacked */
	whole->npieces = chunk.number < window->failed.number ? end - whole->first : 1;
	window->done.nchunks++;
	window->done.packed_size += chunk.packed.size;
	claim_piece(window, whole, item);
	decide(window, item);
	if (window->waiting > 0)
		pthread_cond_broadcast(&window->changed);
	pthread_mutex_unlock(&window->lock);
}

void bpk_window_unpacked(struct bpk_window *window, struct bpk_item *item)
{
	pthread_mutex_lock(&window->lock);
	item->of->unpacked++;
	pthread_mutex_unlock(&window->lock);
}

void bpk_window_worked(struct bpk_window *window, struct bpk_item *item)
{
	pthread_mutex_lock(&window->lock);
	item->ready = true;
	decide(window, item);
	pthread_mutex_unlock(&window->lock);
}

static void pass_turn_to_put(struct bpk_window *window, const struct bpk_item *item)
{
	window->putting = false;
	if (item->last)
		window->next_put =
			(struct bpk_rank){ item->rank.number + 1 + item->parcel.again, 0 };
	else
		window->next_put.piece++;
}

void bpk_window_done(struct bpk_window *window, struct bpk_item *item, enum bpk_turn turn,
		     bool counted)
{
	pthread_mutex_lock(&window->lock);
	if (turn == BPK_TURN_PUT)
		pass_turn_to_put(window, item);
	if (counted) {
		uint64_t nchunks = item->of == NULL ? 1 + item->parcel.again : 0;

		window->done.nchunks += nchunks;
		window->done.raw_size += item->parcel.want_size;
		window->done.packed_size += item->several && item->of == NULL
						    ? item->packed_size
						    : nchunks * item->parcel.packed.size;
	}
	decide(window, item);
	give_back(window, item);
	pthread_mutex_unlock(&window->lock);
}

/* Prevent claims of pieces behind the one that failed. */
static void stop_pieces(struct bpk_window *window)
{
	for (unsigned i = 0; i < window->nparcels; i++) {
		struct bpk_whole *whole = &window->wholes[i];

		if (whole->parcel.number >= window->failed.number)
			whole->npieces = whole->claimed;
	}
}

static void note_failure(struct bpk_window *window, struct bpk_rank rank, const struct bpk_err *err)
{
	if (is_before(rank, window->failed)) {
		window->failed = rank;
		window->err = *err;
		stop_pieces(window);
	}
	lower_end(window, rank.number);
}

void bpk_window_cut(struct bpk_window *window, uint64_t number, const struct bpk_err *err)
{
	pthread_mutex_lock(&window->lock);
	note_failure(window, (struct bpk_rank){ .number = number }, err);
	pthread_mutex_unlock(&window->lock);
}

void bpk_window_fail(struct bpk_window *window, struct bpk_item *item, enum bpk_turn turn,
		     const struct bpk_err *err)
{
	pthread_mutex_lock(&window->lock);
	if (turn == BPK_TURN_PUT)
		window->putting = false;
	note_failure(window, item->rank, err);
	decide(window, item);
	give_back(window, item);
	pthread_mutex_unlock(&window->lock);
}

void bpk_window_report(struct bpk_window *window,
		       void (*progress)(void *arg, uint64_t raw_done, uint64_t packed_done),
		       void *arg)
{
	struct bpk_flow_result done;
	bool mine;

	pthread_mutex_lock(&window->lock);
	mine = !window->reporting;
	window->reporting = true;
	done = window->done;
	pthread_mutex_unlock(&window->lock);
	if (!mine)
		return;
	progress(arg, done.raw_size, done.packed_size);
	pthread_mutex_lock(&window->lock);
	window->reporting = false;
	pthread_mutex_unlock(&window->lock);
}
