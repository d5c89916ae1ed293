/*
 * The window: the few parcels under way, and whose turn it is to do what; inside flow alone.
 *
 *      claim          fetch, work            put
 *     free ---> [ n+3 | n+1 | n+2 ] ---> ready n, n+1 ... ---> free
 *
 * Numbers are claimed in ascending order. Threads ask for a turn, do what it says without holding
 * the lock, and report back; a thread that can put does so before it claims more, so the window
 * cannot fill up with finished parcels while threads wait.
 *
 * A large chunk, once fetched, may be split: its packed bytes are set aside, and each of its pieces
 * is claimed, unpacked and put as if it were a chunk. The order is that of chunks, and within one
 * that of its pieces. Pieces of the lowest chunk are claimed before all else, so that parcels which
 * wait behind it cannot take the last of those that it needs.
 */
#ifndef BPK_FLOW_WINDOW_H
#define BPK_FLOW_WINDOW_H

#include <pthread.h>

#include "flow/flow.h"

enum bpk_turn {
	BPK_TURN_FETCH, /* fetch the parcel and work on it */
	BPK_TURN_PIECE, /* unpack a piece of a chunk that was split */
	BPK_TURN_PUT,   /* write it: it is the next in order */
	BPK_TURN_OVER,  /* nothing is left for this thread */
};

/* A chunk that was split. parcel is fixed while pieces of it are claimed. */
struct bpk_whole {
	struct bpk_parcel parcel;
	size_t piece_size;
	uint64_t first; /* number of the piece that want_start lies in, from the chunk's start */
	uint64_t npieces, claimed, unpacked; /* npieces is lowered when something before fails */
};

/* A place in the order. */
struct bpk_rank {
	uint64_t number, piece;
};

struct bpk_item {
	struct bpk_parcel parcel; /* of the thread that has its turn */
	struct bpk_whole *of;     /* it is a piece of this; NULL: a whole chunk */
	struct bpk_rank rank;
	bool ready; /* it waits for its turn to be put */
	bool last;  /* nothing of its chunk comes behind it */
	bool undecided;
};

/* Caller storage. What is not marked as fixed is guarded by lock. */
struct bpk_window {
	bool fetch_in_order; /* fixed: one fetch at a time, in the order of numbers */
	bool put_in_order;   /* fixed: finished parcels wait for their turn to be put */
	bool splits;         /* fixed: chunks may be split */
	unsigned nparcels;   /* fixed */
	struct bpk_item *items;
	struct bpk_whole *wholes; /* nparcels of them: no thread leaves a piece of one and fetches
				     while others are unclaimed, so threads are never out of them */

	pthread_mutex_t lock;
	pthread_cond_t changed;
	unsigned waiting;   /* threads at changed */
	bool fetching;      /* a fetch in order is under way */
	bool putting;       /* a put in order is under way */
	bool reporting;     /* progress is being told */
	unsigned undecided; /* chunks claimed that may yet be split */
	uint64_t next;      /* number to be claimed */
	uint64_t end; /* claims stop before it; lowered when the reader ends or a parcel fails */
	struct bpk_rank next_put;
	struct bpk_rank failed; /* the lowest that failed; number BPK_UNKNOWN: none */
	struct bpk_err err;     /* its report */
	struct bpk_item **free; /* a stack, so that the parcel last used is warm */
	unsigned nfree;
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

/* Wait for something to do. item is the caller's until it is reported as done, failed, or worked on
 * (when put_in_order). */
enum bpk_turn bpk_window_turn(struct bpk_window *window, struct bpk_item **item);

/* A fetch is over: the next one may begin. last: nothing comes behind this parcel. */
void bpk_window_fetched(struct bpk_window *window, const struct bpk_item *item, bool last);

/* There is no chunk of the item's number: the reader ended before it. Gives the item back. */
void bpk_window_ended(struct bpk_window *window, struct bpk_item *item);

/* Where chunks may be split: this one is not. */
void bpk_window_decided(struct bpk_window *window, struct bpk_item *item);

/* Split the chunk that was fetched into pieces that begin at multiples of piece_size; the item
 * becomes the first of them, and the turn one for a piece. */
void bpk_window_split(struct bpk_window *window, struct bpk_item *item, size_t piece_size);

/* The item's piece is unpacked, or has failed: it needs its whole no more. */
void bpk_window_unpacked(struct bpk_window *window, struct bpk_item *item);

/* The parcel is ready to be put, in its turn. Gives it away. */
void bpk_window_worked(struct bpk_window *window, struct bpk_item *item);

/* Nothing is left to do to the parcel; turn says which turn ends. counted: it is part of what the
 * run moved. Gives it back. */
void bpk_window_done(struct bpk_window *window, struct bpk_item *item, enum bpk_turn turn,
		     bool counted);

/* The turn failed: nothing behind it is claimed or put any more. Gives the item back. */
void bpk_window_fail(struct bpk_window *window, struct bpk_item *item, enum bpk_turn turn,
		     const struct bpk_err *err);

/* Tell how much is done, unless another thread is telling it just now. */
void bpk_window_report(struct bpk_window *window,
		       void (*progress)(void *arg, uint64_t raw_done, uint64_t packed_done),
		       void *arg);

#endif
