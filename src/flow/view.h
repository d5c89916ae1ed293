/*
 * The view of an archive, inside flow: a thread fetches a chunk with a fetcher (view_fetch.c), a
 * cache keeps a few chunks for reads of parts (view_cache.c), and view.c is the source over both.
 */
#ifndef BPK_FLOW_VIEW_H
#define BPK_FLOW_VIEW_H

#include <pthread.h>

#include "flow/flow.h"

/* Times its size that a chunk takes while it is unpacked: one block takes twice its size as
 * well. */
enum { BPK_VIEW_UNPACKING = 3 };

/* The scratch that a thread needs to fetch and unpack a chunk; one thread's own while it is in
 * use. */
struct bpk_view_fetcher {
	struct bpk_chunk_ctx *ctx;
	struct bpk_parcel parcel;
	struct bpk_view_fetcher *next; /* of the idle ones */
};

/* A chunk in the cache. */
struct bpk_view_slot {
	uint64_t number; /* BPK_UNKNOWN: the slot is empty */
	bool loading;    /* by the one thread that has it */
	unsigned users;  /* threads that copy from it */
	uint64_t used;   /* the time of its last use, by the view's clock */
	bool pattern;    /* raw is the chunk as packed: a read unpacks only its part */
	size_t piece;    /* not 0: the same, and pieces of this size are unpacked one by one */
	struct bpk_buf raw;

	pthread_mutex_t part_lock; /* guards the piece unpacked last */
	uint64_t part_number;      /* BPK_UNKNOWN: no piece */
	struct bpk_buf part;
};

struct bpk_view_state {
	/* fixed after open */
	const struct bpk_reader_ops *ops;
	void *reader;
	bool check;
	struct bpk_plan plan;           /* of all chunks */
	struct bpk_sizes runs;          /* the sizes of all chunks, if they differ */
	struct bpk_view_limits *limits; /* NULL: no limits */

	/* guarded by lock, except the bytes of a slot in use or loading */
	pthread_mutex_t lock;
	pthread_cond_t changed; /* a slot was loaded, or left */
	struct bpk_view_fetcher *idle;
	unsigned nslots;
	uint64_t clock;
	struct {
		uint64_t first, last; /* chunks loaded one after the other at even distances */
		unsigned count;       /* of the steps between them */
		uint64_t announced;   /* the last chunk of bpk_reader_ops.ahead */
	} pace;

	struct {
		struct bpk_buf chunk; /* the chunk read last */
		uint64_t offset;      /* its raw offset */
		uint64_t number;      /* of the next one */
		bool ended;
	} sequence; /* of the one thread that reads in sequence */

	struct bpk_view_slot slots[];
};

/* ---- view_fetch.c ---- */

/* Take an idle fetcher, or a new one; NULL fails with BPK_NO_MEMORY. Any thread. */
struct bpk_view_fetcher *bpk_view_fetch_begin(struct bpk_view_state *view, struct bpk_err *err);
void bpk_view_fetch_end(struct bpk_view_state *view, struct bpk_view_fetcher *fetcher);

/* Free all idle fetchers; the last call on a view. */
void bpk_view_fetch_clear(struct bpk_view_state *view);

/* Number, raw offset and raw size of a chunk, and of the chunk that holds the raw byte at offset.
 * Both exist, and the sizes of all chunks are known. */
struct bpk_sized bpk_view_fetch_chunk(const struct bpk_view_state *view, uint64_t number);
struct bpk_sized bpk_view_fetch_chunk_of(const struct bpk_view_state *view, uint64_t offset);

/* Fetch a chunk and check its seal. raw_offset is its offset in the raw bytes. Returns 1 behind the
 * last chunk. */
int bpk_view_fetch_next(const struct bpk_view_state *view, struct bpk_view_fetcher *fetcher,
			uint64_t number, uint64_t raw_offset, struct bpk_err *err);

/* The same for a chunk whose size is known; fails with BPK_CORRUPT behind the last chunk. */
int bpk_view_fetch_at(const struct bpk_view_state *view, struct bpk_view_fetcher *fetcher,
		      uint64_t number, struct bpk_err *err);

/* Unpack the fetched chunk into out, which has its size. */
int bpk_view_fetch_unpack(const struct bpk_view_state *view, struct bpk_view_fetcher *fetcher,
			  struct bpk_span out, struct bpk_err *err);

/* Count size bytes of a chunk that will be unpacked. Fails with BPK_LIMIT. */
int bpk_view_fetch_spend(const struct bpk_view_state *view, uint64_t number, size_t size,
			 struct bpk_err *err);

/* Fetch a chunk and unpack all of it into out, which has its size. */
int bpk_view_fetch_whole(struct bpk_view_state *view, uint64_t number, struct bpk_span out,
			 struct bpk_err *err);

/* ---- view_cache.c ---- */

/* Make a cache of at most wished slots, fewer if view lacks memory for them; the sizes of chunks
 * are known, unless they will stay unknown. */
void bpk_view_cache_init(struct bpk_view_state *view, unsigned wished);
void bpk_view_cache_clear(struct bpk_view_state *view);

/* Copy out.size raw bytes of a chunk that has them, from its byte start on. Any thread. */
int bpk_view_cache_read(struct bpk_view_state *view, uint64_t number, size_t start,
			struct bpk_span out, struct bpk_err *err);

#endif
