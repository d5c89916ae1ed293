/*
 * Proves that a reader saw one state of the file. Fetches fill the hash table;
 * bpk_bloscpack_unchanged compares it with the current file, which it holds meanwhile, so that the
 * comparison itself sees one state. Called by the reader.
 */
#include "format/bloscpack/bloscpack.h"

#include <stdlib.h>
#include <time.h>

enum {
	GROUP = 64,            /* chunks that share an entry: the bits of seen */
	FIRST_ROOM = 64,       /* entries in the first table */
	KEPT = 16 << 20,       /* packed bytes of a last chunk that is kept */
	MOST_WALKED = 1 << 16, /* chunks up to a last one that no offset leads to */
};

int bpk_bloscpack_marks_new(struct bpk_source *source, struct bpk_bloscpack_marks **marks,
			    struct bpk_err *err)
{
	*marks = NULL;
	if (!bpk_source_may_change(source))
		return 0;
	*marks = bpk_calloc(1, sizeof **marks, err);
	if (*marks == NULL)
		return -1;
	(*marks)->restless = bpk_source_in_change(source);
	clock_gettime(CLOCK_REALTIME, &(*marks)->opened);
	bpk_mutex_init(&(*marks)->lock);
	return 0;
}

void bpk_bloscpack_marks_free(struct bpk_bloscpack_marks *marks)
{
	if (marks == NULL)
		return;
	bpk_mutex_clear(&marks->lock);
	free(marks->all);
	bpk_buf_clear(&marks->last);
	free(marks);
}

/* ---- Hashes ---- */

/* Hashes are summed, so each includes the chunk's number: swapped chunks change the sum. */
static uint64_t mix(uint64_t number, uint64_t hash)
{
	hash = (hash ^ (number + 1) * UINT64_C(0x9e3779b97f4a7c15)) * UINT64_C(0xbf58476d1ce4e5b9);
	hash = (hash ^ hash >> 29) * UINT64_C(0x94d049bb133111eb);
	return hash ^ hash >> 32;
}

static uint64_t hash_facts(uint64_t packed_size, uint64_t raw_size, struct bpk_view digest)
{
	const uint64_t sizes[] = { packed_size, raw_size };

	return bpk_hash(bpk_hash(BPK_HASH_START, bpk_view(sizes, sizeof sizes)), digest);
}

static bool is_part(const struct bpk_parcel *parcel)
{
	return parcel->want_size > 0 && parcel->want_size < parcel->raw_size;
}

static bool may_grow(const struct bpk_bloscpack_reader *r, uint64_t number)
{
	const struct bpk_bloscpack_header *h = &r->header;

	return h->nchunks != BPK_UNKNOWN && number + 1 == h->nchunks &&
	       (h->nchunks == 1 || h->last_chunk_size != h->chunk_size);
}

/* The mark of a single chunk. */
static struct bpk_bloscpack_mark mark_of(const struct bpk_bloscpack_reader *r, uint64_t number,
					 uint64_t hash)
{
	return (struct bpk_bloscpack_mark){
		.first = number - number % GROUP,
		.seen = UINT64_C(1) << number % GROUP,
		.hash = mix(number, hash),
		.size = may_grow(r, number) ? UINT32_MAX : 0,
	};
}

static struct bpk_bloscpack_mark mark_of_parcel(const struct bpk_bloscpack_reader *r,
						const struct bpk_parcel *parcel)
{
	size_t digest_size = r->header.checksum->size;
	struct bpk_view packed = bpk_view(parcel->packed.data, parcel->packed_size);
	struct bpk_view digest = bpk_view(packed.data + packed.size, digest_size);
	struct bpk_bloscpack_mark mark;

	if (digest_size > 0)
		return mark_of(r, parcel->number,
			       hash_facts(packed.size, parcel->raw_size, digest));
	mark = mark_of(r, parcel->number, bpk_hash_words(BPK_HASH_START, packed));
	if (is_part(parcel)) {
		mark.start = (uint32_t)parcel->want_start;
		mark.size = (uint32_t)parcel->want_size;
	}
	return mark;
}

/* ---- The table; the caller has the lock ---- */

static struct bpk_bloscpack_mark *find(struct bpk_bloscpack_mark *all, size_t room,
				       const struct bpk_bloscpack_mark *mark)
{
	size_t at = (size_t)((mark->first / GROUP + mark->start * UINT64_C(0x10001)) *
				     UINT64_C(0x9e3779b97f4a7c15) >>
			     20);

	for (;; at++) {
		struct bpk_bloscpack_mark *found = &all[at & (room - 1)];

		if (found->seen == 0 || (found->first == mark->first &&
					 found->start == mark->start && found->size == mark->size))
			return found;
	}
}

static int make_room(struct bpk_bloscpack_marks *marks, struct bpk_err *err)
{
	size_t room = marks->room == 0 ? FIRST_ROOM : 2 * marks->room;
	struct bpk_bloscpack_mark *all;

	if (2 * marks->count < marks->room)
		return 0;
	all = bpk_calloc(room, sizeof *all, err);
	if (all == NULL)
		return -1;
	for (size_t i = 0; i < marks->room; i++)
		if (marks->all[i].seen != 0)
			*find(all, room, &marks->all[i]) = marks->all[i];
	free(marks->all);
	marks->all = all;
	marks->room = room;
	return 0;
}

/* If a chunk is fetched again, its first hash stays: a different second one means that the file has
 * changed, and bpk_bloscpack_unchanged compares. */
static int add(struct bpk_bloscpack_marks *marks, const struct bpk_bloscpack_mark *mark,
	       struct bpk_err *err)
{
	struct bpk_bloscpack_mark *found;

	if (make_room(marks, err) != 0)
		return -1;
	found = find(marks->all, marks->room, mark);
	if (found->seen == 0) {
		*found = *mark;
		marks->count++;
	} else if ((found->seen & mark->seen) == 0) {
		found->seen |= mark->seen;
		found->hash += mark->hash;
	}
	return 0;
}

/* ---- The last chunk, which may grow ---- */

/* A large chunk is not kept: if it grows meanwhile, the file has changed while it was read. */
static int keep_last(struct bpk_bloscpack_marks *marks, const struct bpk_parcel *parcel,
		     struct bpk_err *err)
{
	if (marks->last_size > 0 || parcel->packed_size > KEPT)
		return 0;
	if (bpk_buf_append(&marks->last, bpk_view(parcel->packed.data, parcel->packed_size), err) !=
	    0)
		return -1;
	marks->last_start = is_part(parcel) ? parcel->want_start : 0;
	marks->last_size = is_part(parcel) ? parcel->want_size : parcel->data_size;
	return 0;
}

/* True if packed contains the raw bytes that were read from the last chunk. */
static bool holds_last(const struct bpk_bloscpack_marks *marks, struct bpk_view packed)
{
	struct bpk_chunk_ctx *ctx = marks->last_size == 0 ? NULL : bpk_chunk_ctx_new(NULL);
	struct bpk_buf then = { 0 }, now = { 0 };
	bool same = ctx != NULL && bpk_buf_resize(&then, marks->last_size, NULL) == 0 &&
		    bpk_buf_resize(&now, marks->last_size, NULL) == 0 &&
		    bpk_chunk_decode_range(ctx, bpk_buf_view(&marks->last), marks->last_start,
					   bpk_span(then.data, then.size), NULL) == 0 &&
		    bpk_chunk_decode_range(ctx, packed, marks->last_start,
					   bpk_span(now.data, now.size), NULL) == 0 &&
		    memcmp(then.data, now.data, then.size) == 0;

	bpk_buf_clear(&then);
	bpk_buf_clear(&now);
	bpk_chunk_ctx_free(ctx);
	return same;
}

/* ---- While reading ---- */

static int take_parcel(struct bpk_bloscpack_reader *r, const struct bpk_parcel *parcel,
		       struct bpk_err *err)
{
	struct bpk_bloscpack_mark mark = mark_of_parcel(r, parcel);

	if (add(r->marks, &mark, err) != 0)
		return -1;
	return may_grow(r, parcel->number) ? keep_last(r->marks, parcel, err) : 0;
}

int bpk_bloscpack_marks_fetched(struct bpk_bloscpack_reader *r, const struct bpk_parcel *parcel,
				struct bpk_err *err)
{
	int rc;

	if (r->marks == NULL)
		return 0;
	bpk_mutex_lock(&r->marks->lock);
	rc = take_parcel(r, parcel, err);
	bpk_mutex_unlock(&r->marks->lock);
	return rc;
}

/* A chunk without a digest is not recorded: its sizes alone do not identify it. */
int bpk_bloscpack_marks_located(struct bpk_bloscpack_reader *r, uint64_t number,
				const struct bpk_where *where, struct bpk_err *err)
{
	size_t digest_size = r->header.checksum->size;
	struct bpk_bloscpack_mark mark;
	int rc;

	if (r->marks == NULL || digest_size == 0 || may_grow(r, number))
		return 0;
	mark = mark_of(r, number,
		       hash_facts(where->header.packed_size, where->header.raw_size,
				  bpk_view(where->digest, digest_size)));
	bpk_mutex_lock(&r->marks->lock);
	rc = add(r->marks, &mark, err);
	bpk_mutex_unlock(&r->marks->lock);
	return rc;
}

/* Record the bytes of the last chunk. A large one is not kept: see keep_last. */
static int pin_bytes(struct bpk_bloscpack_reader *r, uint64_t number, const struct bpk_where *where,
		     struct bpk_err *err)
{
	size_t size = where->header.packed_size, digest_size = r->header.checksum->size;
	struct bpk_parcel parcel = {
		.number = number,
		.packed_size = size,
		.raw_size = where->header.raw_size,
		.data_size = where->header.raw_size,
		.want_size = SIZE_MAX,
	};
	int rc;

	if (size > KEPT)
		return 0;
	rc = bpk_buf_resize(&parcel.packed, size + digest_size, err);
	if (rc == 0)
		rc = bpk_source_need_at(r->source, where->packed_offset,
					bpk_span(parcel.packed.data, parcel.packed.size), err);
	if (rc == 0)
		rc = bpk_bloscpack_marks_fetched(r, &parcel, err);
	bpk_buf_clear(&parcel.packed);
	return rc;
}

int bpk_bloscpack_marks_pin(struct bpk_bloscpack_reader *r, struct bpk_err *err)
{
	uint64_t n = r->header.nchunks;
	struct bpk_err why = { 0 };
	struct bpk_where where;
	int rc;

	if (r->marks == NULL || n == 0 || n == BPK_UNKNOWN || (!r->positional && n > MOST_WALKED))
		return 0;
	rc = bpk_bloscpack_locate_held(r, n - 1, &where, &why);
	if (rc == 0 && (may_grow(r, n - 1) || r->header.checksum->size == 0))
		rc = pin_bytes(r, n - 1, &where, &why);
	else if (rc == 0)
		rc = bpk_bloscpack_marks_located(r, n - 1, &where, &why);
	return rc < 0 ? bpk_err_pass(&why, err) : 0;
}

/* ---- Settling ---- */

static int by_number(const void *a, const void *b)
{
	const struct bpk_bloscpack_mark *left = a, *right = b;

	return left->first < right->first ? -1 : left->first > right->first;
}

/* Sort the marks, so that a walk passes the file only once. */
static int sort_marks(const struct bpk_bloscpack_marks *marks, struct bpk_bloscpack_mark **sorted,
		      struct bpk_err *err)
{
	size_t count = 0;

	*sorted = bpk_calloc(marks->count, sizeof **sorted, err);
	if (*sorted == NULL)
		return -1;
	for (size_t i = 0; i < marks->room; i++)
		if (marks->all[i].seen != 0)
			(*sorted)[count++] = marks->all[i];
	qsort(*sorted, count, sizeof **sorted, by_number);
	return 0;
}

static int bring_again(struct bpk_bloscpack_reader *now, uint64_t number,
		       const struct bpk_bloscpack_mark *then, struct bpk_parcel *parcel,
		       struct bpk_err *err)
{
	bool whole = then->size == 0 || then->size == UINT32_MAX;

	parcel->number = number;
	parcel->want_start = then->start;
	parcel->want_size = whole ? SIZE_MAX : then->size;
	return bpk_bloscpack_fetch_held(now, parcel, err);
}

/* Hash the chunk in its current state; parcel is scratch. */
static int hash_again(struct bpk_bloscpack_reader *now, uint64_t number,
		      const struct bpk_bloscpack_mark *then, struct bpk_parcel *parcel,
		      uint64_t *hash, struct bpk_err *err)
{
	size_t digest_size = now->header.checksum->size;
	struct bpk_where where;
	int rc;

	if (digest_size == 0) {
		rc = bring_again(now, number, then, parcel, err);
		*hash = rc == 0 ? mark_of_parcel(now, parcel).hash : 0;
		return rc;
	}
	rc = bpk_bloscpack_locate_held(now, number, &where, err);
	*hash = rc != 0 ? 0
			: mark_of(now, number,
				  hash_facts(where.header.packed_size, where.header.raw_size,
					     bpk_view(where.digest, digest_size)))
				  .hash;
	return rc;
}

static bool has_grown(struct bpk_bloscpack_reader *r, struct bpk_bloscpack_reader *now,
		      const struct bpk_bloscpack_mark *then, struct bpk_parcel *parcel)
{
	const struct bpk_bloscpack_mark whole = { .size = 0 };
	uint64_t number = then->first + (uint64_t)__builtin_ctzll(then->seen);

	return may_grow(r, number) && bring_again(now, number, &whole, parcel, NULL) == 0 &&
	       holds_last(r->marks, bpk_view(parcel->packed.data, parcel->packed_size));
}

static int compare_mark(struct bpk_bloscpack_reader *r, struct bpk_bloscpack_reader *now,
			const struct bpk_bloscpack_mark *then, struct bpk_parcel *parcel,
			struct bpk_err *err)
{
	struct bpk_err found = { 0 };
	uint64_t sum = 0, hash;
	int rc = 0;

	for (unsigned i = 0; rc == 0 && i < GROUP; i++) {
		if ((then->seen >> i & 1) == 0)
			continue;
		rc = hash_again(now, then->first + i, then, parcel, &hash, &found);
		sum += hash;
	}
	if (rc < 0 && found.kind != BPK_CORRUPT)
		return bpk_fail_as(err, &found);
	if ((rc == 0 && sum == then->hash) || has_grown(r, now, then, parcel))
		return 0;
	return bpk_fail_changed(err);
}

/* Open the current state, which the hold keeps; fails if it does not begin with the old one. */
static int open_now(struct bpk_bloscpack_reader *r, struct bpk_bloscpack_reader *now,
		    struct bpk_err *err)
{
	bool kept;

	if (bpk_bloscpack_concurrent_open(r, now, &kept, err) != 0)
		return -1;
	return kept ? 0 : bpk_fail_changed(err);
}

/*
 * Interrupt a long hold, so that other programs can take it. They may append meanwhile: walks go
 * on, since the chunks before stay where they are. If others moved them, no mark is found again.
 */
static int pause_hold(struct bpk_bloscpack_reader *r, struct bpk_bloscpack_reader *now,
		      struct timespec *since, bool *held, struct bpk_err *err)
{
	const struct bpk_bloscpack_walk sequence = now->sequence, located = now->located;

	if (!bpk_hold_is_long(since))
		return 0;
	bpk_source_release(r->source);
	clock_gettime(CLOCK_MONOTONIC, since);
	*held = bpk_source_hold(r->source, err) == 0;
	if (!*held || open_now(r, now, err) != 0)
		return -1;
	now->sequence = sequence;
	now->located = located;
	return 0;
}

static int compare_all(struct bpk_bloscpack_reader *r, const struct bpk_bloscpack_mark *sorted,
		       bool *held, struct bpk_err *err)
{
	struct bpk_bloscpack_reader now;
	struct bpk_parcel parcel = { 0 };
	struct timespec since;
	int rc = open_now(r, &now, err);

	clock_gettime(CLOCK_MONOTONIC, &since);
	for (size_t i = 0; rc == 0 && i < r->marks->count; i++) {
		rc = i > 0 ? pause_hold(r, &now, &since, held, err) : 0;
		if (rc == 0)
			rc = compare_mark(r, &now, &sorted[i], &parcel, err);
	}
	bpk_buf_clear(&parcel.packed);
	return rc;
}

int bpk_bloscpack_unchanged(void *reader, bool failed, struct bpk_err *err)
{
	struct bpk_bloscpack_reader *r = reader;
	struct bpk_bloscpack_marks *marks = r->marks;
	struct bpk_bloscpack_mark *sorted;
	bool held = true;
	int rc;

	(void)failed; /* each failed step has already tested whether the file has changed */
	if (marks == NULL || marks->count == 0)
		return 0;
	if (!marks->restless && bpk_source_is_untouched(r->source, &marks->opened))
		return 0;
	if (sort_marks(marks, &sorted, err) != 0)
		return -1;
	rc = bpk_source_hold(r->source, err);
	if (rc == 0) {
		rc = compare_all(r, sorted, &held, err);
		if (held)
			bpk_source_release(r->source);
	}
	free(sorted);
	return rc;
}
