/*
 * Rounds of a team. Each rank packs its window of chunks and then tells rank 0 the outlines of what
 * it has. Rank 0 puts all of them in order: it asks for the bytes of those that its writer must
 * see, and answers with the places of the others. Called by team_run.c.
 *
 *     rank r    pack ── outlines ──▶ (bytes ──▶)... ◀── places
 *     rank 0    pack ───────────────── put
 *
 * A rank writes a parcel to its place after each one that it packs in the next round: a kernel lets
 * one process at a time write to a file, and the others pack meanwhile.
 */
#include "flow/team_round.h"

#include <stdlib.h>

#include "flow/collect.h"
#include "flow/part.h"

/* The facts that rank 0 gets about a parcel. */
struct outline {
	struct bpk_parcel parcel; /* its pointers mean nothing */
	uint64_t size;            /* of its bytes */
	bool unseen;              /* the writer may take it unseen */
	uint8_t head[BPK_CHUNK_EXTENDED_HEADER_SIZE];
	uint8_t seal[BPK_DIGEST_MAX];
};

/* The next wish of rank 0: the bytes of a parcel, or, after the last, that the places are taken. */
enum { PLACES_FOLLOW = UINT32_MAX };

/* The parcels of a rank in a round. */
struct window {
	struct bpk_collected kept;
	struct bpk_buf places; /* a bpk_draft_place for each of the first count */
	size_t count, written; /* the first written of them are done with */
};

/* One rank's own. */
struct rounds {
	const struct bpk_flow *flow;
	struct bpk_team *team;
	bool placed;
	struct bpk_writer_ops ops;
	struct window windows[2];
	struct window *now, *before;     /* of this round and of the one before it */
	struct bpk_buf outlines, places; /* of the rank whose parcels are put */
	struct bpk_buf hollow;           /* a parcel of another rank, with its bytes or without */
	uint64_t failed;                 /* the lowest number that failed here */
	struct bpk_err err;
};

/* Keep a failure, unless an earlier chunk has failed. */
static void note_failure(struct rounds *r, uint64_t number, const struct bpk_err *err)
{
	if (r->failed != BPK_UNKNOWN && number >= r->failed)
		return;
	r->failed = number;
	r->err = *err;
}

/* Room for count things of size bytes; the others wait for a message that needs it. */
static void *need(struct rounds *r, struct bpk_buf *buf, uint64_t count, size_t size)
{
	struct bpk_err err = { 0 };

	if (bpk_buf_resize(buf, (size_t)bpk_max_u64(count, 1) * size, &err) != 0)
		r->team->abort(r->team->arg, EXIT_FAILURE, &err);
	memset(buf->data, 0, buf->size);
	return buf->data;
}

static uint64_t number_of(const struct rounds *r, const struct bpk_parcel *parcel)
{
	return parcel->number - r->flow->first_number;
}

static struct bpk_buf *bytes_of(const struct rounds *r, struct bpk_parcel *parcel)
{
	return bpk_collected_bytes(&r->now->kept, parcel);
}

/* ---- Writing ---- */

static int write_at(const struct rounds *r, struct bpk_parcel *parcel,
		    const struct bpk_draft_place *place, struct bpk_err *err)
{
	const struct bpk_buf *bytes = bytes_of(r, parcel);

	if (place->size > bytes->size)
		return bpk_fail(err, BPK_BUG, "a place is larger than its chunk");
	return bpk_draft_write_place(r->flow->draft, place, bpk_buf_view(bytes), err);
}

static bool is_written(const struct window *window)
{
	return window->written >= window->count;
}

static void write_next(struct rounds *r, struct window *window)
{
	const struct bpk_draft_place *places = (const void *)window->places.data;
	struct bpk_parcel *parcel = &window->kept.parcels[window->written];
	const struct bpk_draft_place *place = &places[window->written++];
	struct bpk_err err = { 0 };

	if (place->size == 0 || write_at(r, parcel, place, &err) == 0)
		return;
	note_failure(r, number_of(r, parcel), &err);
	window->written = window->count;
}

static void write_rest(struct rounds *r, struct window *window)
{
	while (!is_written(window))
		write_next(r, window);
}

static void write_one_before(void *arg)
{
	struct rounds *r = arg;

	if (!is_written(r->before))
		write_next(r, r->before);
}

/* ---- Packing ---- */

static void change_windows(struct rounds *r)
{
	struct window *before = r->before;

	r->before = r->now;
	r->now = before;
	r->now->kept.count = r->now->count = r->now->written = 0;
}

static void pack(struct rounds *r, uint64_t first, uint64_t count, struct bpk_flow_result *result)
{
	struct bpk_flow part = *r->flow;
	struct bpk_flow_result done = { 0 };
	struct bpk_err err = { 0 };
	uint64_t failed = first;
	int rc = 0;

	change_windows(r);
	part.out = &r->ops;
	part.writer = &r->now->kept;
	part.plan.first = first;
	part.plan.count = count;
	part.progress = NULL;
	if (r->team->stop != NULL)
		rc = r->team->stop(r->team->arg, &err);
	if (rc == 0 && count > 0)
		rc = bpk_flow_run_part(&part, &done, &failed, &err);
	if (rc != 0)
		note_failure(r, failed, &err);
	write_rest(r, r->before);
	result->nchunks += done.nchunks;
	result->raw_size += done.raw_size;
	result->packed_size += done.packed_size;
}

/* The number of own parcels before chunk end. */
static size_t count_before(const struct rounds *r, uint64_t end)
{
	const struct bpk_collected *kept = &r->now->kept;
	size_t count = 0;

	while (count < kept->count && number_of(r, &kept->parcels[count]) < end)
		count++;
	return count;
}

/* ---- Ranks whose parcels rank 0 puts ---- */

static void fill_outline(const struct rounds *r, struct bpk_parcel *parcel, struct outline *outline)
{
	enum { SMALL = 512 }; /* bytes that cost no more than a place */
	const struct bpk_writer_ops *out = r->flow->out;
	const struct bpk_buf *bytes = bytes_of(r, parcel);

	outline->parcel = *parcel;
	outline->size = bytes->size;
	if (!r->placed || out->takes_unseen == NULL || bytes->size <= SMALL ||
	    bytes->size - parcel->packed_size > sizeof outline->seal ||
	    !out->takes_unseen(r->flow->writer, parcel, true))
		return;
	outline->unseen = true;
	memcpy(outline->head, bytes->data, sizeof outline->head);
	bpk_copy(outline->seal, bytes->data + parcel->packed_size,
		 bytes->size - parcel->packed_size);
}

static void serve(struct rounds *r, size_t count)
{
	struct bpk_team *team = r->team;
	struct outline *outlines = need(r, &r->outlines, count, sizeof *outlines);
	struct bpk_draft_place *places = need(r, &r->now->places, count, sizeof *places);
	struct bpk_parcel *parcels = r->now->kept.parcels;
	uint64_t n = count;
	uint32_t wanted;

	for (size_t i = 0; i < count; i++)
		fill_outline(r, &parcels[i], &outlines[i]);
	team->send(team->arg, 0, &n, sizeof n);
	team->send(team->arg, 0, outlines, count * sizeof *outlines);
	for (;;) {
		const struct bpk_buf *bytes;

		team->receive(team->arg, 0, &wanted, sizeof wanted);
		if (wanted >= count)
			break;
		bytes = bytes_of(r, &parcels[wanted]);
		team->send(team->arg, 0, bytes->data, bytes->size);
	}
	team->receive(team->arg, 0, places, count * sizeof *places);
	r->now->count = count;
}

/* ---- Rank 0, which puts ---- */

/* Put a parcel; where its bytes are not here, or are written later, note the place. */
static int put_and_place(const struct rounds *r, const struct bpk_parcel *parcel, bool withholds,
			 struct bpk_draft_place *place, struct bpk_err *err)
{
	const struct bpk_flow *flow = r->flow;
	int rc;

	if (!withholds)
		return flow->out->put(flow->writer, parcel, err);
	bpk_draft_withhold(flow->draft, parcel->packed.data);
	rc = flow->out->put(flow->writer, parcel, err);
	if (rc == 0)
		*place = bpk_draft_withheld(flow->draft);
	bpk_draft_withhold(flow->draft, NULL);
	return rc;
}

/* Own parcels: their bytes are written in the next round. */
static void put_own(struct rounds *r, size_t count)
{
	struct bpk_draft_place *places = need(r, &r->now->places, count, sizeof *places);
	struct bpk_parcel *parcels = r->now->kept.parcels;
	bool withholds = r->placed && r->flow->out->seal != NULL;
	struct bpk_err err = { 0 };

	for (size_t i = 0; i < count; i++) {
		if (put_and_place(r, &parcels[i], withholds, &places[i], &err) != 0) {
			note_failure(r, number_of(r, &parcels[i]), &err);
			return;
		}
		r->now->count++;
	}
}

/* The parcel of an outline, in hollow: with its header and seal alone, or with all bytes. */
static void make_parcel(struct rounds *r, unsigned from, uint32_t index,
			const struct outline *outline, struct bpk_parcel *parcel)
{
	const struct bpk_writer_ops *out = r->flow->out;
	struct bpk_team *team = r->team;
	struct bpk_err err = { 0 };

	*parcel = outline->parcel;
	parcel->raw = parcel->packed = (struct bpk_buf){ 0 };
	if (bpk_buf_resize(&r->hollow, (size_t)outline->size, &err) != 0)
		team->abort(team->arg, EXIT_FAILURE, &err);
	*bytes_of(r, parcel) = r->hollow;
	if (outline->unseen) {
		memcpy(r->hollow.data, outline->head, sizeof outline->head);
		bpk_copy(r->hollow.data + parcel->packed_size, outline->seal,
			 r->hollow.size - parcel->packed_size);
		parcel->unseen = out->takes_unseen(r->flow->writer, parcel, false);
	}
	if (parcel->unseen)
		return;
	team->send(team->arg, from, &index, sizeof index);
	team->receive(team->arg, from, r->hollow.data, r->hollow.size);
}

static void put_of(struct rounds *r, unsigned from)
{
	struct bpk_team *team = r->team;
	const uint32_t over = PLACES_FOLLOW;
	struct bpk_err err = { 0 };
	struct outline *outlines;
	struct bpk_draft_place *places;
	uint64_t count;

	team->receive(team->arg, from, &count, sizeof count);
	outlines = need(r, &r->outlines, count, sizeof *outlines);
	places = need(r, &r->places, count, sizeof *places);
	team->receive(team->arg, from, outlines, (size_t)count * sizeof *outlines);
	for (uint32_t i = 0; i < count; i++) {
		struct bpk_parcel parcel;

		if (number_of(r, &outlines[i].parcel) >= r->failed)
			break;
		make_parcel(r, from, i, &outlines[i], &parcel);
		if (put_and_place(r, &parcel, parcel.unseen, &places[i], &err) != 0)
			note_failure(r, number_of(r, &parcel), &err);
	}
	team->send(team->arg, from, &over, sizeof over);
	team->send(team->arg, from, places, (size_t)count * sizeof *places);
}

/* ---- A round ---- */

/* Exchange and put the parcels of all ranks before chunk end. */
static void put_round(struct rounds *r, uint64_t end)
{
	size_t count = count_before(r, end);

	if (r->team->rank > 0) {
		serve(r, count);
		return;
	}
	put_own(r, count);
	for (unsigned from = 1; from < r->team->size; from++)
		put_of(r, from);
}

static uint64_t min_number(struct rounds *r)
{
	return r->team->minimum(r->team->arg, r->failed);
}

static int agree(struct rounds *r)
{
	return bpk_team_agree_at(r->team, r->failed != BPK_UNKNOWN ? -1 : 0, r->failed, &r->err);
}

static void begin(struct rounds *r)
{
	r->ops = bpk_collected_ops(r->flow->out);
	r->failed = BPK_UNKNOWN;
	r->now = &r->windows[0];
	r->before = &r->windows[1];
	for (size_t i = 0; i < 2; i++)
		r->windows[i].kept = (struct bpk_collected){ .out = r->flow->out,
							     .writer = r->flow->writer,
							     .then = write_one_before,
							     .arg = r };
}

static void end_rounds(struct rounds *r)
{
	for (size_t i = 0; i < 2; i++) {
		bpk_collected_clear(&r->windows[i].kept);
		bpk_buf_clear(&r->windows[i].places);
	}
	bpk_buf_clear(&r->outlines);
	bpk_buf_clear(&r->places);
	bpk_buf_clear(&r->hollow);
}

int bpk_team_rounds(const struct bpk_flow *flow, uint64_t size, bool placed,
		    struct bpk_flow_result *result, struct bpk_err *err)
{
	struct rounds r = { .flow = flow, .team = flow->team, .placed = placed };
	uint64_t first = flow->plan.first, end = first + flow->plan.count;
	int rc = 0;

	begin(&r);
	while (rc == 0 && first < end) {
		uint64_t own = bpk_min_u64(first + r.team->rank * size, end);

		pack(&r, own, bpk_min_u64(size, end - own), result);
		put_round(&r, min_number(&r));
		rc = agree(&r);
		first += bpk_min_u64(r.team->size * size, end - first);
		/* one rank stands for all */
		if (flow->progress != NULL && r.team->rank == 0)
			flow->progress(flow->progress_arg, result->raw_size * r.team->size,
				       result->packed_size * r.team->size);
	}
	if (rc == 0) {
		write_rest(&r, r.now);
		rc = agree(&r);
	}
	if (rc != 0 && err != NULL)
		*err = r.err;
	end_rounds(&r);
	return rc;
}
