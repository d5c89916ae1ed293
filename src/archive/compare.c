/*
 * Two inputs compared as a flow: the chunks of one, the leader, are brought to a writer that
 * compares them with the bytes of the other. Called by cmp.
 *
 *     leader  ──fetch──▶ (the same packed chunk beside it?) ──▶ check, decode ──put──▶ compare
 *     beside  ──view───────────────────────────────────────────────────────────────────┘
 */
#include "archive/compare.h"

#include <pthread.h>
#include <stdlib.h>

/* A buffer of a thread while it puts. */
struct scratch {
	struct scratch *next;
	struct bpk_buf buf;
};

/* A difference, or a failure to read beside. Ranks of a team send it to each other. */
struct end {
	uint64_t offset;
	bool beside_ends;
	uint8_t bytes[2];      /* of leader and beside */
	struct bpk_err failed; /* kind BPK_OK: a difference */
};

struct comparing {
	/* fixed while the flow runs */
	struct bpk_input *leader, *beside;
	struct bpk_source *source; /* the raw bytes of beside */
	struct bpk_view_limits limits;
	bool places;

	pthread_mutex_t lock; /* guards the following */
	struct scratch *idle;
	uint64_t reached; /* the end of the bytes that were put */
	bool stopped;     /* at this end */
	struct end end;
};

/* ---- The bytes beside ---- */

static int read_beside(struct comparing *c, uint64_t offset, struct bpk_span out, size_t *got,
		       struct bpk_err *err)
{
	if (c->places)
		return bpk_source_read_at(c->source, offset, out, got, err);
	return bpk_source_read(c->source, out, got, err);
}

static struct scratch *take_scratch(struct comparing *c, struct bpk_err *err)
{
	struct scratch *scratch;

	pthread_mutex_lock(&c->lock);
	scratch = c->idle;
	if (scratch != NULL)
		c->idle = scratch->next;
	pthread_mutex_unlock(&c->lock);
	return scratch != NULL ? scratch : bpk_calloc(1, sizeof *scratch, err);
}

static void give_scratch(struct comparing *c, struct scratch *scratch)
{
	pthread_mutex_lock(&c->lock);
	scratch->next = c->idle;
	c->idle = scratch;
	pthread_mutex_unlock(&c->lock);
}

/* ---- Putting ---- */

/* The number of bytes that are the same, from the start on. */
static size_t count_same(const uint8_t *a, const uint8_t *b, size_t size)
{
	enum { STEP = 4096 };
	size_t at = 0;

	while (size - at >= STEP && memcmp(a + at, b + at, STEP) == 0)
		at += STEP;
	while (at < size && a[at] == b[at])
		at++;
	return at;
}

/* Note the end of the work at offset. The lowest one counts: nothing before it differs. */
static int stop(struct comparing *c, uint64_t offset, const uint8_t *leader, const uint8_t *beside,
		const struct bpk_err *failed, struct bpk_err *err)
{
	pthread_mutex_lock(&c->lock);
	if (!c->stopped || offset < c->end.offset) {
		c->stopped = true;
		c->end.offset = offset;
		c->end.beside_ends = beside == NULL;
		c->end.bytes[0] = *leader;
		c->end.bytes[1] = beside != NULL ? *beside : 0;
		c->end.failed = *failed;
	}
	pthread_mutex_unlock(&c->lock);
	return bpk_fail(err, BPK_DIFFERENT, "differs");
}

static int compare_with(struct comparing *c, struct scratch *scratch, uint64_t offset,
			struct bpk_view bytes, struct bpk_err *err)
{
	struct bpk_err failed = { 0 };
	size_t got = 0, same;

	if (bpk_buf_resize(&scratch->buf, bytes.size, &failed) != 0 ||
	    read_beside(c, offset, bpk_span(scratch->buf.data, bytes.size), &got, &failed) != 0)
		return stop(c, offset, bytes.data, NULL, &failed, err);
	same = count_same(bytes.data, scratch->buf.data, got);
	if (same == bytes.size)
		return 0;
	return stop(c, offset + same, bytes.data + same,
		    same < got ? scratch->buf.data + same : NULL, &failed, err);
}

/* The offset of the parcel's bytes; known as long as any thread may put. */
static uint64_t place_of(struct comparing *c, const struct bpk_parcel *parcel)
{
	uint64_t offset;

	pthread_mutex_lock(&c->lock);
	offset = c->places ? parcel->raw_offset + parcel->want_start : c->reached;
	c->reached = bpk_max_u64(c->reached, offset + parcel->want_size);
	pthread_mutex_unlock(&c->lock);
	return offset;
}

static int put(void *writer, const struct bpk_parcel *parcel, struct bpk_err *err)
{
	struct comparing *c = writer;
	uint64_t offset = place_of(c, parcel);
	struct scratch *scratch;
	int rc;

	if (parcel->want_size == 0)
		return 0;
	scratch = take_scratch(c, err);
	if (scratch == NULL)
		return -1;
	rc = compare_with(c, scratch, offset,
			  bpk_view(parcel->raw.data + parcel->want_start, parcel->want_size), err);
	give_scratch(c, scratch);
	return rc;
}

static bool places(const void *writer)
{
	return ((const struct comparing *)writer)->places;
}

static const struct bpk_writer_ops comparer = { .places = places, .is_of_rank = true, .put = put };

/* ---- Who leads ---- */

static bool is_raw(const struct bpk_input *in)
{
	return in->format == &bpk_format_raw;
}

static bool is_positional(const struct bpk_input *in)
{
	return in->format->reader->positional(in->reader);
}

/* 0 for a raw file, and where it is not known. */
static uint64_t chunk_size(const struct bpk_input *in)
{
	uint64_t size = in->info->chunks.size;

	return is_raw(in) || size == BPK_UNKNOWN ? 0 : size;
}

/* The one that is read in order, or is an archive, or has larger chunks, of which the other's can
 * be read one by one. */
static int find_leader(struct bpk_input *const inputs[2])
{
	const struct bpk_input *a = inputs[0], *b = inputs[1];

	if (is_positional(a) != is_positional(b))
		return is_positional(a);
	if (is_raw(a) != is_raw(b))
		return is_raw(a);
	return chunk_size(b) > chunk_size(a);
}

/* ---- Equal chunks ---- */

static bool has_single_chunks(const struct bpk_input *in)
{
	const struct bpk_reader_ops *ops = in->format->reader;

	return !is_raw(in) && is_positional(in) &&
	       (ops->unpacks == NULL || !ops->unpacks(in->reader));
}

static bool same_sizes(const struct bpk_plan *a, const struct bpk_plan *b)
{
	if (a->raw_size != b->raw_size || a->count != b->count || a->count == BPK_UNKNOWN ||
	    a->chunk_size != b->chunk_size)
		return false;
	if (a->chunk_size != BPK_UNKNOWN)
		return true;
	if (a->runs == NULL || b->runs == NULL || a->runs->count != b->runs->count)
		return false;
	for (size_t i = 0; i < a->runs->count; i++)
		if (a->runs->all[i].first != b->runs->all[i].first ||
		    a->runs->all[i].size != b->runs->all[i].size)
			return false;
	return true;
}

/* Let the flow look up each chunk beside, if both are divided into the same chunks. */
static int find_twin(const struct comparing *c, struct bpk_flow *flow, struct bpk_err *err)
{
	const struct bpk_input *in = c->beside;
	struct bpk_sizes sizes = { 0 };
	struct bpk_plan plan;
	int rc;

	if (!has_single_chunks(c->leader) || !has_single_chunks(in) ||
	    c->leader->info->chunks.typesize != in->info->chunks.typesize)
		return 0;
	rc = bpk_plan_found(in->format->reader, in->reader, &sizes, &plan, err);
	if (rc == 0 && same_sizes(&flow->plan, &plan)) {
		flow->twin_in = in->format->reader;
		flow->twin = in->reader;
	}
	bpk_sizes_clear(&sizes);
	return rc;
}

/* ---- The run ---- */

static int open_beside(struct comparing *c, const struct bpk_compare_options *options,
		       struct bpk_err *err)
{
	const struct bpk_view_options viewing = { .nchunks = options->limits.threads + 1,
						  .limits = &c->limits };

	c->limits =
		(struct bpk_view_limits){ .memory = options->limits.memory, .left = BPK_UNKNOWN };
	c->source = c->beside->place.source;
	if (!is_raw(c->beside) && bpk_view_open(c->beside->format->reader, c->beside->reader,
						&viewing, &c->source, err) != 0) {
		c->source = NULL;
		return bpk_input_subject(c->beside, err);
	}
	/* a leader that is walked in order does not know the places of its chunks */
	c->places = bpk_source_seekable(c->source) && is_positional(c->leader);
	return 0;
}

static int make_plan(const struct comparing *c, struct bpk_sizes *sizes, struct bpk_plan *plan,
		     struct bpk_err *err)
{
	enum { PIECE = 1 << 20 };
	const struct bpk_input *in = c->leader;

	if (is_raw(in)) {
		*plan = bpk_plan_cut(in->info->raw_size, PIECE);
		return 0;
	}
	return bpk_plan_found(in->format->reader, in->reader, sizes, plan, err);
}

/* The leader ended without a difference: does the other one, too? */
static int compare_ends(struct comparing *c, const struct bpk_plan *plan, struct bpk_err *err)
{
	uint64_t end = plan->raw_size != BPK_UNKNOWN ? plan->raw_size : c->reached;
	uint64_t size = bpk_source_size(c->source);
	uint8_t byte;
	size_t got = 0;

	c->end.offset = end;
	if (size != BPK_UNKNOWN)
		got = size > end;
	else if (bpk_source_read(c->source, bpk_span(&byte, 1), &got, err) != 0)
		return bpk_input_subject(c->beside, err);
	c->stopped = got > 0;
	return 0;
}

/* Take over the lowest end of all ranks: each has stopped at one of its own, or at none. */
static void share_end(struct comparing *c, const struct bpk_team *team)
{
	unsigned rank = bpk_team_lowest(team, c->stopped ? c->end.offset : BPK_UNKNOWN);

	team->broadcast(team->arg, rank, &c->end, sizeof c->end);
	c->stopped = true;
}

/* The flow ended with rc and *err. */
static int judge(struct comparing *c, int rc, const struct bpk_plan *plan, struct bpk_err *err)
{
	if (rc == 0)
		return compare_ends(c, plan, err);
	if (err->kind != BPK_DIFFERENT) {
		bpk_input_subject(c->leader, err);
		return bpk_input_judge(c->leader, err);
	}
	*err = c->end.failed;
	if (err->kind == BPK_OK)
		return 1;
	bpk_input_subject(c->beside, err);
	return bpk_input_judge(c->beside, err);
}

static int run(struct comparing *c, const struct bpk_compare_options *options,
	       struct bpk_flow_result *result, struct bpk_err *err)
{
	struct bpk_flow flow = {
		.in = c->leader->format->reader,
		.reader = c->leader->reader,
		.out = &comparer,
		.writer = c,
		.check = true,
		.decode = true,
		.limits = options->limits,
		.team = options->team,
		.reader_memory = is_raw(c->beside) ? 0 : bpk_view_memory(c->beside->info),
		.progress = options->progress,
		.progress_arg = options->progress_arg,
	};
	struct bpk_sizes sizes = { 0 };
	int rc;

	if (flow.team != NULL && !c->places) { /* in order: rank 0 alone */
		if (flow.team->rank > 0)
			return bpk_fail(err, BPK_FAILED, "has no part in this run");
		flow.team = NULL;
	}
	rc = make_plan(c, &sizes, &flow.plan, err);
	if (rc != 0) {
		bpk_input_subject(c->leader, err);
	} else if ((rc = find_twin(c, &flow, err)) != 0) {
		bpk_input_subject(c->beside, err);
	} else {
		rc = bpk_flow_run(&flow, result, err);
		if (rc != 0 && err->kind == BPK_DIFFERENT && bpk_flow_is_divided(&flow))
			share_end(c, flow.team);
		rc = judge(c, rc, &flow.plan, err);
	}
	bpk_sizes_clear(&sizes);
	return rc;
}

static void clear(struct comparing *c)
{
	while (c->idle != NULL) {
		struct scratch *scratch = c->idle;

		c->idle = scratch->next;
		bpk_buf_clear(&scratch->buf);
		free(scratch);
	}
	if (!is_raw(c->beside))
		bpk_source_close(c->source);
	pthread_mutex_destroy(&c->lock);
}

/* leader_ends: there is no byte of the leader where the work ended. */
static void note(const struct comparing *c, int lead, bool leader_ends,
		 struct bpk_compared *compared)
{
	compared->differ = true;
	compared->offset = c->end.offset;
	compared->ends[lead] = leader_ends;
	compared->ends[!lead] = !leader_ends && c->end.beside_ends;
	compared->bytes[lead] = c->end.bytes[0];
	compared->bytes[!lead] = c->end.bytes[1];
}

int bpk_compare(struct bpk_input *const inputs[2], const struct bpk_compare_options *options,
		struct bpk_compared *compared, struct bpk_err *err)
{
	int lead = find_leader(inputs), rc;
	struct comparing c = { .leader = inputs[lead], .beside = inputs[!lead] };
	struct bpk_flow_result result = { 0 };

	*compared = (struct bpk_compared){ 0 };
	pthread_mutex_init(&c.lock, NULL);
	rc = open_beside(&c, options, err);
	if (rc == 0)
		rc = run(&c, options, &result, err);
	if (rc >= 0 && c.stopped)
		note(&c, lead, rc == 0, compared);
	compared->nchunks = result.nchunks + result.ntwins;
	compared->ntwins = result.ntwins;
	clear(&c);
	return rc < 0 ? -1 : 0;
}
