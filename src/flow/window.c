#include "flow/window.h"

#include <stdlib.h>

int bpk_window_init(struct bpk_window *window, unsigned nparcels, uint64_t first, uint64_t count,
		    struct bpk_err *err)
{
	*window = (struct bpk_window){
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.changed = PTHREAD_COND_INITIALIZER,
		.nparcels = nparcels,
		.next = first,
		.next_put = first,
		.failed = BPK_UNKNOWN,
	};
	if (count == BPK_UNKNOWN || !bpk_add_u64(first, count, &window->end))
		window->end = BPK_UNKNOWN;
	window->parcels = bpk_calloc(nparcels, sizeof *window->parcels, err);
	window->free = bpk_calloc(nparcels, sizeof(struct bpk_parcel *), err);
	window->ready = bpk_calloc(nparcels, sizeof(struct bpk_parcel *), err);
	if (window->parcels == NULL || window->free == NULL || window->ready == NULL) {
		bpk_window_clear(window);
		return -1;
	}
	while (window->nfree < nparcels) {
		window->free[window->nfree] = &window->parcels[window->nfree];
		window->nfree++;
	}
	return 0;
}

void bpk_window_clear(struct bpk_window *window)
{
	for (unsigned i = 0; window->parcels != NULL && i < window->nparcels; i++) {
		bpk_buf_clear(&window->parcels[i].raw);
		bpk_buf_clear(&window->parcels[i].packed);
	}
	free(window->parcels);
	free(window->free);
	free(window->ready);
	pthread_cond_destroy(&window->changed);
	pthread_mutex_destroy(&window->lock);
	*window = (struct bpk_window){ 0 };
}

/* The helpers below need the lock. */

static bool can_claim(const struct bpk_window *window)
{
	return window->nfree > 0 && window->next < window->end && !window->fetching;
}

/* At most nparcels numbers are under way and none below next_put, so no two share a place in ready;
 * and none above a failed one is put. */
static bool can_put(const struct bpk_window *window)
{
	return !window->putting && window->next_put < window->failed &&
	       window->ready[window->next_put % window->nparcels] != NULL;
}

static void wake_one_to_claim(struct bpk_window *window)
{
	if (window->waiting > 0 && can_claim(window))
		pthread_cond_signal(&window->changed);
}

static void wake_all_at_the_end(struct bpk_window *window)
{
	if (window->waiting > 0 && window->next >= window->end)
		pthread_cond_broadcast(&window->changed);
}

static void lower_end(struct bpk_window *window, uint64_t end)
{
	window->end = bpk_min_u64(window->end, end);
	wake_all_at_the_end(window);
}

/* Count what needs no work behind the chunk that was claimed. */
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

static struct bpk_parcel *claim(struct bpk_window *window)
{
	struct bpk_parcel *parcel = window->free[--window->nfree];

	parcel->number = window->next++;
	pass_over(window);
	window->fetching = window->fetch_in_order;
	wake_all_at_the_end(window);
	return parcel;
}

static struct bpk_parcel *take_ready(struct bpk_window *window)
{
	struct bpk_parcel **place = &window->ready[window->next_put % window->nparcels];
	struct bpk_parcel *parcel = *place;

	*place = NULL;
	window->putting = true;
	return parcel;
}

static void give_back(struct bpk_window *window, struct bpk_parcel *parcel)
{
	window->free[window->nfree++] = parcel;
	wake_one_to_claim(window);
}

/*
 * A thread leaves when it can neither put nor claim and no claim will be possible: what others are
 * still working on, they put themselves. It waits otherwise, and is woken when a parcel comes back,
 * when a fetch in order is over, or when the end is known. A parcel that becomes ready wakes
 * nobody: the thread that brought it, or the one that is putting, asks for its next turn at once.
 */
enum bpk_turn bpk_window_turn(struct bpk_window *window, struct bpk_parcel **parcel)
{
	enum bpk_turn turn;

	pthread_mutex_lock(&window->lock);
	while (!can_put(window) && !can_claim(window) && window->next < window->end) {
		window->waiting++;
		pthread_cond_wait(&window->changed, &window->lock);
		window->waiting--;
	}
	if (can_put(window)) {
		*parcel = take_ready(window);
		turn = BPK_TURN_PUT;
	} else if (can_claim(window)) {
		*parcel = claim(window);
		turn = BPK_TURN_FETCH;
	} else {
		*parcel = NULL;
		turn = BPK_TURN_OVER;
	}
	pthread_mutex_unlock(&window->lock);
	return turn;
}

void bpk_window_fetched(struct bpk_window *window, const struct bpk_parcel *parcel, bool last)
{
	pthread_mutex_lock(&window->lock);
	window->fetching = false;
	if (last)
		lower_end(window, parcel->number + 1);
	wake_one_to_claim(window);
	pthread_mutex_unlock(&window->lock);
}

void bpk_window_ended(struct bpk_window *window, struct bpk_parcel *parcel)
{
	pthread_mutex_lock(&window->lock);
	window->fetching = false;
	lower_end(window, parcel->number);
	give_back(window, parcel);
	pthread_mutex_unlock(&window->lock);
}

void bpk_window_worked(struct bpk_window *window, struct bpk_parcel *parcel)
{
	pthread_mutex_lock(&window->lock);
	window->ready[parcel->number % window->nparcels] = parcel;
	pthread_mutex_unlock(&window->lock);
}

void bpk_window_done(struct bpk_window *window, struct bpk_parcel *parcel, enum bpk_turn turn,
		     bool counted)
{
	pthread_mutex_lock(&window->lock);
	if (turn == BPK_TURN_PUT) {
		window->putting = false;
		window->next_put++;
	}
	if (counted) {
		window->done.nchunks++;
		window->done.raw_size += parcel->want_size;
		window->done.packed_size += parcel->packed.size;
	}
	give_back(window, parcel);
	pthread_mutex_unlock(&window->lock);
}

void bpk_window_fail(struct bpk_window *window, struct bpk_parcel *parcel, enum bpk_turn turn,
		     const struct bpk_err *err)
{
	pthread_mutex_lock(&window->lock);
	if (turn == BPK_TURN_PUT)
		window->putting = false;
	if (parcel->number < window->failed) {
		window->failed = parcel->number;
		window->err = *err;
	}
	lower_end(window, parcel->number);
	give_back(window, parcel);
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
