/*
 * The window: the few parcels under way, and whose turn it is to do what; inside flow alone.
 *
 *      claim          fetch, work            put
 *     free ---> [ n+3 | n+1 | n+2 ] ---> ready n, n+1 ... ---> free
 *
 * Numbers are claimed in ascending order. Threads ask for a turn, do what it says without holding
 * the lock, and report back; a thread that can put does so before it claims more, so the window
 * cannot fill up with finished parcels while threads wait.
 */
#ifndef BPK_FLOW_WINDOW_H
#define BPK_FLOW_WINDOW_H

#include <pthread.h>

#include "flow/flow.h"

enum bpk_turn {
	BPK_TURN_FETCH, /* fetch the parcel and work on it */
	BPK_TURN_PUT,   /* write it: it is the next in order */
	BPK_TURN_OVER,  /* nothing is left for this thread */
};

/* Caller storage. What is not marked as fixed is guarded by lock. */
struct bpk_window {
	bool fetch_in_order;        /* fixed: one fetch at a time, in the order of numbers */
	bool put_in_order;          /* fixed: finished parcels wait for their turn to be put */
	unsigned nparcels;          /* fixed */
	struct bpk_parcel *parcels; /* fixed; each belongs to the thread that has its turn */

	pthread_mutex_t lock;
	pthread_cond_t changed;
	unsigned waiting; /* threads at changed */
	bool fetching;    /* a fetch in order is under way */
	bool putting;     /* a put in order is under way */
	bool reporting;   /* progress is being told */
	uint64_t next;    /* number to be claimed */
	uint64_t end; /* claims stop before it; lowered when the reader ends or a parcel fails */
	uint64_t next_put;
	uint64_t failed;          /* lowest number that failed; BPK_UNKNOWN: none */
	struct bpk_err err;       /* its report */
	struct bpk_parcel **free; /* a stack, so that the parcel last used is warm */
	unsigned nfree;
	struct bpk_parcel **ready; /* number n waits at n % nparcels */
	struct bpk_flow_result done;

	/* How many chunks from number on, and of how many raw bytes, need no work; with the lock,
	 * by the thread that claims the chunk before them. NULL: all need it. Fixed before the
	 * threads start. */
	uint64_t (*pass)(void *arg, uint64_t number, uint64_t *raw_size);
	void *pass_arg;
};

/* Numbers first .. first + count; count may be unknown. Fails with BPK_NO_MEMORY. */
int bpk_window_init(struct bpk_window *window, unsigned nparcels, uint64_t first, uint64_t count,
		    struct bpk_err *err);
void bpk_window_clear(struct bpk_window *window);

/* Wait for something to do. parcel is the caller's until it is reported as done, failed, or worked
 * on (when put_in_order). */
enum bpk_turn bpk_window_turn(struct bpk_window *window, struct bpk_parcel **parcel);

/* A fetch is over: the next one may begin. last: nothing comes behind this parcel. */
void bpk_window_fetched(struct bpk_window *window, const struct bpk_parcel *parcel, bool last);

/* There is no chunk parcel->number: the reader ended before it. Gives the parcel back. */
void bpk_window_ended(struct bpk_window *window, struct bpk_parcel *parcel);

/* The parcel is ready to be put, in its turn. Gives it away. */
void bpk_window_worked(struct bpk_window *window, struct bpk_parcel *parcel);

/* Nothing is left to do to the parcel; turn says which turn ends. counted: it is part of what the
 * run moved. Gives it back. */
void bpk_window_done(struct bpk_window *window, struct bpk_parcel *parcel, enum bpk_turn turn,
		     bool counted);

/* The turn failed: no number above it is claimed or put any more. Gives the parcel back. */
void bpk_window_fail(struct bpk_window *window, struct bpk_parcel *parcel, enum bpk_turn turn,
		     const struct bpk_err *err);

/* Tell how much is done, unless another thread is telling it just now. */
void bpk_window_report(struct bpk_window *window,
		       void (*progress)(void *arg, uint64_t raw_done, uint64_t packed_done),
		       void *arg);

#endif
