/*
 * The window: the few parcels under way, and the next step for each thread; inside flow alone.
 *
 *      claim          fetch, work            put
 *     free ---> [ n+3 | n+1 | n+2 ] ---> ready n, n+1 ... ---> free
 *
 * Numbers are claimed in ascending order. Threads ask for a turn, take it without holding the lock,
 * and report back; a thread that can put does so before it claims more, so the window cannot fill
 * up with finished parcels while threads wait.
 *
 * A large chunk, once fetched, may be split: its packed bytes are set aside, and each of its pieces
 * is claimed, unpacked and put as if it were a chunk. The order is that of chunks, and within one
 * that of its pieces. Pieces of the lowest chunk are claimed first, so that parcels waiting behind
 * it cannot take the last items that it needs.
 *
 * A large chunk is read, and packed, by the thread that brings it. That thread offers parts of
 * either work, and threads that find no chunk to claim help: it takes parts from the first on, they
 * from the last on.
 */
#ifndef BPK_FLOW_WINDOW_H
#define BPK_FLOW_WINDOW_H

#include <pthread.h>

#include "flow/flow.h"

enum bpk_turn {
	BPK_TURN_FETCH, /* fetch the parcel and work on it */
	BPK_TURN_PIECE, /* unpack a piece of a chunk that was split */
	BPK_TURN_HELP,  /* do a part of the work on a chunk that another thread has */
	BPK_TURN_PUT,   /* write it: it is the next in order */
	BPK_TURN_OVER,  /* this thread has no more work */
};

/* A chunk that was split. parcel is fixed while pieces of it are claimed. */
struct bpk_whole {
	struct bpk_parcel parcel;
	size_t piece_size;
	uint64_t first; /* number of the piece that holds want_start, from the chunk's start */
	uint64_t npieces, claimed, unpacked; /* npieces is lowered when an earlier one fails */
};

/* A place in the order. */
struct bpk_rank {
	uint64_t number, piece;
};

/* The parts of the work on a chunk that may still be taken. */
struct bpk_share {
	const struct bpk_shared_work *work; /* fixed while parts are done */
	uint32_t first, end;                /* first == end: none */
	unsigned helpers;                   /* threads that do a part */
};

struct bpk_item {
	struct bpk_parcel parcel; /* of the thread that has its turn */
	struct bpk_whole *of;     /* the chunk that it is a piece of; NULL: it is a whole chunk */
	struct bpk_rank rank;
	bool ready; /* it waits for its turn to be put */
	bool last;  /* the last item of its chunk */
	/* The chunks after the first, parcel.again of them, need not be equal to it. Then the
	 * packed bytes of all. */
	bool several;
	uint64_t packed_size;
	bool undecided;
	struct bpk_share share;
	struct bpk_sharing sharing; /* fixed: offers parts of the work on the item's chunk */
	struct bpk_window *window;  /* fixed: its own */
};

/* Caller storage. lock guards every member that is not marked as fixed. */
struct bpk_window {
	bool fetch_in_order; /* fixed: one fetch at a time, in the order of numbers */
	bool put_in_order;   /* fixed: finished parcels wait for their turn to be put */
	bool splits;         /* fixed: chunks may be split */
	bool shares;         /* fixed: chunks may be offered in parts */
	unsigned nparcels;   /* fixed */
	struct bpk_item *items;
	/* nparcels of them: no thread fetches while pieces are unclaimed, so they never run out */
	struct bpk_whole *wholes;

	pthread_mutex_t lock;
	pthread_cond_t changed;
	pthread_cond_t helped; /* the last helper of a chunk is done */
	unsigned waiting;      /* threads that wait for changed */
	bool fetching;         /* a fetch in order is under way */
	bool putting;          /* a put in order is under way */
	bool reporting;        /* a thread reports progress */
	unsigned undecided;    /* claimed chunks that may still be split, or offered */
	uint64_t next;         /* number to be claimed */
	uint64_t end; /* claims stop before it; lowered when the reader ends or a parcel fails */
	struct bpk_rank next_put;
	struct bpk_rank failed; /* the lowest that failed; number BPK_UNKNOWN: no failure */
	struct bpk_err err;     /* its report */
	struct bpk_item **free; /* a stack, so that the parcel last used is warm */
	unsigned nfree;
	struct bpk_flow_result done;

	/* The number of chunks from number on that need no work, and their raw bytes. Called with
	 * the lock held, by the thread that claims the chunk before them. NULL: all chunks need
	 * work. Fixed before the threads start. */
	uint64_t (*pass)(void *arg, uint64_t number, uint64_t *raw_size);
	void *pass_arg;

	/* The number of chunks after number that join its parcel; *several: they may differ from
	 * it. The thread that claims the chunk calls it, with the lock. NULL: no chunk joins
	 * another. Fixed like pass. */
	uint64_t (*join)(void *arg, uint64_t number, bool *several);
	void *join_arg;
};

/* The window for numbers first .. first + count; count may be unknown. Fails with BPK_NO_MEMORY. */
int bpk_window_init(struct bpk_window *window, unsigned nparcels, uint64_t first, uint64_t count,
		    struct bpk_err *err);
void bpk_window_clear(struct bpk_window *window);

/* Wait for a turn. item is the caller's until it is reported as done, failed, or worked on (when
 * put_in_order). When helping, it is another thread's, and part is the number of the part. */
enum bpk_turn bpk_window_turn(struct bpk_window *window, struct bpk_item **item, uint32_t *part);

/* A fetch is over: the next one may begin. last: no chunk comes behind this parcel. */
void bpk_window_fetched(struct bpk_window *window, const struct bpk_item *item, bool last);

/* There is no chunk of the item's number: the reader ended before it. Gives the item back. */
void bpk_window_ended(struct bpk_window *window, struct bpk_item *item);

/* The chunk will not be split. For windows whose chunks may be split. */
void bpk_window_decided(struct bpk_window *window, struct bpk_item *item);

/* Split the chunk that was fetched into pieces that begin at multiples of piece_size; the item
 * becomes the first of them, and the turn one for a piece. */
void bpk_window_split(struct bpk_window *window, struct bpk_item *item, size_t piece_size);

/* The item's piece is unpacked, or has failed: it no longer needs its whole. */
void bpk_window_unpacked(struct bpk_window *window, struct bpk_item *item);

/* The turn to help is over. */
void bpk_window_helped(struct bpk_window *window, struct bpk_item *item);

/* The parcel is ready to be put, in its turn. Gives it away. */
void bpk_window_worked(struct bpk_window *window, struct bpk_item *item);

/* The parcel is finished; turn is the turn that ends. counted: it is a part of the result of the
 * run. Gives it back. */
void bpk_window_done(struct bpk_window *window, struct bpk_item *item, enum bpk_turn turn,
		     bool counted);

/* The turn failed: no later item is claimed or put. Gives the item back. */
void bpk_window_fail(struct bpk_window *window, struct bpk_item *item, enum bpk_turn turn,
		     const struct bpk_err *err);

/* Chunk number failed, of an item that was shortened to the chunks before it and is still the
 * caller's: no later chunk is claimed or put. */
void bpk_window_cut(struct bpk_window *window, uint64_t number, const struct bpk_err *err);

/* Report progress, unless another thread is reporting it just now. */
void bpk_window_report(struct bpk_window *window,
		       void (*progress)(void *arg, uint64_t raw_done, uint64_t packed_done),
		       void *arg);

#endif
