/*
 * An archive's raw content as a source. A read that asks for whole chunks unpacks them where they
 * are wanted; parts of chunks come from a few unpacked ones, of which the one that nobody asked for
 * longest makes way.
 */
#include "flow/flow.h"

#include <pthread.h>
#include <stdlib.h>

#include "flow/plan.h"
#include "flow/work.h"

enum { UNPACKING = 3 }; /* times its size that a chunk takes while it is unpacked */

/* What a thread needs to bring a chunk. */
struct hand {
	struct bpk_chunk_ctx *ctx;
	struct bpk_parcel parcel;
	struct hand *next; /* of those that are idle */
};

/* An unpacked chunk. */
struct slot {
	uint64_t number; /* BPK_UNKNOWN: none */
	bool loading;    /* by the one thread that has it */
	unsigned users;  /* threads that copy from it */
	uint64_t used;   /* when it was asked for last */
	bool pattern;    /* raw is the chunk as packed: any part is unpacked at once */
	size_t piece;    /* not 0: the same, and pieces of this size are unpacked one by one */
	struct bpk_buf raw;

	pthread_mutex_t part_lock; /* guards the piece unpacked last */
	uint64_t part_number;      /* BPK_UNKNOWN: none */
	struct bpk_buf part;
};

struct view {
	/* fixed after open */
	const struct bpk_reader_ops *ops;
	void *reader;
	bool check;
	struct bpk_plan plan;           /* all of it */
	struct bpk_sizes runs;          /* where chunk sizes differ: those of all */
	struct bpk_view_limits *limits; /* NULL: none */

	/* guarded by lock; of a slot in use or loading the bytes are not */
	pthread_mutex_t lock;
	pthread_cond_t changed; /* a slot was loaded, or left */
	struct hand *idle;
	unsigned nslots;
	uint64_t clock;

	/* of the one thread that reads in sequence */
	struct bpk_buf current; /* the chunk read last */
	uint64_t current_offset;
	uint64_t number; /* of the next one */
	bool ended;

	struct slot slots[];
};

/* ---- Hands ---- */

static void free_hand(struct hand *hand)
{
	if (hand == NULL)
		return;
	bpk_chunk_ctx_free(hand->ctx);
	bpk_buf_clear(&hand->parcel.raw);
	bpk_buf_clear(&hand->parcel.packed);
	free(hand);
}

static struct hand *take_hand(struct view *view, struct bpk_err *err)
{
	struct hand *hand;

	pthread_mutex_lock(&view->lock);
	hand = view->idle;
	if (hand != NULL)
		view->idle = hand->next;
	pthread_mutex_unlock(&view->lock);
	if (hand != NULL)
		return hand;
	hand = bpk_calloc(1, sizeof *hand, err);
	if (hand == NULL)
		return NULL;
	hand->ctx = bpk_chunk_ctx_new(err);
	if (hand->ctx != NULL)
		return hand;
	free_hand(hand);
	return NULL;
}

static void give_hand(struct view *view, struct hand *hand)
{
	pthread_mutex_lock(&view->lock);
	hand->next = view->idle;
	view->idle = hand;
	pthread_mutex_unlock(&view->lock);
}

/* ---- One chunk ---- */

/* Bring chunk number, of which raw_offset is known where readers are not asked for it. Returns 1
 * behind the last one. */
static int fetch(const struct view *view, struct hand *hand, uint64_t number, uint64_t raw_offset,
		 struct bpk_err *err)
{
	struct bpk_parcel *parcel = &hand->parcel;
	size_t planned;
	int rc;

	parcel->number = number;
	bpk_plan_parcel(&view->plan, parcel);
	planned = parcel->raw_size;
	rc = view->ops->fetch(view->reader, parcel, err);
	if (rc != 0)
		return rc;
	if (bpk_plan_judge(&view->plan, parcel, planned, err) != 0)
		return -1;
	parcel->raw_offset = raw_offset;
	bpk_plan_want(&view->plan, parcel);
	if (view->check && view->ops->check != NULL)
		return view->ops->check(view->reader, parcel, err);
	return 0;
}

static int unpack(const struct view *view, struct hand *hand, struct bpk_span out,
		  struct bpk_err *err)
{
	if (bpk_work_unpack(view->ops, view->reader, hand->ctx, &hand->parcel, out, err) != 0)
		return bpk_work_subject(view->ops, view->reader, &hand->parcel, err);
	return 0;
}

/* Where chunk number begins, and its raw bytes. */
static struct bpk_sized chunk_at(const struct view *view, uint64_t number)
{
	uint64_t size = view->plan.chunk_size, start = number * size;
	struct bpk_sized chunk;

	if (bpk_sizes_chunk(view->plan.runs, number, &chunk))
		return chunk;
	size = bpk_min_u64(size, view->plan.raw_size - start);
	return (struct bpk_sized){ .first = number, .raw_offset = start, .size = (uint32_t)size };
}

/* The chunk that holds a raw byte, which is there. */
static struct bpk_sized chunk_of(const struct view *view, uint64_t offset)
{
	struct bpk_sized chunk;

	if (bpk_sizes_seek(view->plan.runs, offset, &chunk))
		return chunk;
	return chunk_at(view, offset / view->plan.chunk_size);
}

static int bring(const struct view *view, struct hand *hand, uint64_t number, struct bpk_err *err)
{
	int rc = fetch(view, hand, number, chunk_at(view, number).raw_offset, err);

	if (rc <= 0)
		return rc;
	return bpk_fail(err, BPK_CORRUPT, "ends before chunk %llu, %llu chunks were expected",
			(unsigned long long)number, (unsigned long long)view->plan.count);
}

/* Count what is unpacked. A chunk of one block takes twice its size beside it. */
static int spend(const struct view *view, uint64_t number, size_t size, struct bpk_err *err)
{
	struct bpk_view_limits *limits = view->limits;

	if (limits == NULL)
		return 0;
	if (limits->memory != 0 && limits->memory / UNPACKING < size)
		return bpk_fail(
			err, BPK_LIMIT,
			"chunk %llu unpacks to %zu bytes, at most %llu are unpacked to look "
			"inside; --memory-limit allows more",
			(unsigned long long)number, size,
			(unsigned long long)(limits->memory / UNPACKING));
	if (limits->left == BPK_UNKNOWN)
		return 0;
	if (limits->left < size)
		return bpk_fail(err, BPK_LIMIT,
				"more has to be unpacked to look inside than such an archive is "
				"worth; --memory-limit allows more");
	limits->left -= size;
	return 0;
}

/* Unpack all of chunk number into out, which is as long. */
static int load(struct view *view, uint64_t number, struct bpk_span out, struct bpk_err *err)
{
	struct hand *hand = take_hand(view, err);
	int rc;

	if (hand == NULL)
		return -1;
	rc = bring(view, hand, number, err);
	if (rc == 0)
		rc = unpack(view, hand, out, err);
	give_hand(view, hand);
	return rc;
}

/* ---- The cache; these need the lock ---- */

static struct slot *find(struct view *view, uint64_t number)
{
	for (unsigned i = 0; i < view->nslots; i++)
		if (view->slots[i].number == number)
			return &view->slots[i];
	return NULL;
}

/* The slot that nobody uses and nobody asked for longest; NULL when all are in use. */
static struct slot *find_spare(struct view *view)
{
	struct slot *oldest = NULL;

	for (unsigned i = 0; i < view->nslots; i++) {
		struct slot *slot = &view->slots[i];

		if (slot->users == 0 && !slot->loading &&
		    (oldest == NULL || slot->used < oldest->used))
			oldest = slot;
	}
	return oldest;
}

/* Have the slot that holds chunk number, or one that is to be loaded with it; it is in use then. */
static struct slot *enter(struct view *view, uint64_t number)
{
	struct slot *slot;

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

/* ---- Reading anywhere ---- */

/* Is the chunk brought a special value, or runs? Then its packed bytes are all there is to keep. */
static bool is_pattern(const struct view *view, const struct hand *hand)
{
	struct bpk_view packed = bpk_view(hand->parcel.packed.data, hand->parcel.packed_size);

	if (view->ops->unpacks != NULL && view->ops->unpacks(view->reader))
		return false;
	bpk_chunk_ctx_set_typesize(hand->ctx, view->ops->info(view->reader)->typesize);
	return bpk_chunk_is_pattern(hand->ctx, packed);
}

/* Does the slot keep the chunk brought as it is packed? */
static int settle_slot(const struct view *view, struct slot *slot, const struct hand *hand,
		       struct bpk_err *err)
{
	slot->part_number = BPK_UNKNOWN;
	slot->piece = 0;
	slot->pattern = is_pattern(view, hand);
	if (slot->pattern)
		return 0;
	return bpk_work_divide(view->ops, view->reader, hand->ctx, &hand->parcel, &slot->piece,
			       err);
}

static int fill_slot(struct view *view, struct slot *slot, struct hand *hand, struct bpk_err *err)
{
	size_t size = chunk_at(view, slot->number).size;

	slot->raw.size = 0;
	if (bring(view, hand, slot->number, err) != 0 || settle_slot(view, slot, hand, err) != 0)
		return -1;
	if (slot->pattern || slot->piece > 0)
		return bpk_buf_append(&slot->raw,
				      bpk_view(hand->parcel.packed.data, hand->parcel.packed_size),
				      err);
	if (spend(view, slot->number, size, err) != 0 || bpk_buf_resize(&slot->raw, size, err) != 0)
		return -1;
	return unpack(view, hand, bpk_span(slot->raw.data, size), err);
}

static int load_slot(struct view *view, struct slot *slot, struct bpk_err *err)
{
	struct hand *hand = take_hand(view, err);
	int rc = -1;

	if (hand != NULL) {
		rc = fill_slot(view, slot, hand, err);
		give_hand(view, hand);
	}
	pthread_mutex_lock(&view->lock);
	slot->loading = false;
	if (rc != 0)
		slot->number = BPK_UNKNOWN;
	pthread_cond_broadcast(&view->changed);
	pthread_mutex_unlock(&view->lock);
	return rc;
}

/* The bytes from start on of a chunk that is kept as it is packed. */
static int unpack_range(struct view *view, const struct slot *slot, uint64_t start,
			struct bpk_span out, struct bpk_err *err)
{
	struct hand *hand = take_hand(view, err);
	int rc;

	if (hand == NULL)
		return -1;
	bpk_chunk_ctx_set_typesize(hand->ctx, view->ops->info(view->reader)->typesize);
	rc = bpk_chunk_decode_range(hand->ctx, bpk_buf_view(&slot->raw), start, out, err);
	give_hand(view, hand);
	if (rc == 0)
		return 0;
	return bpk_err_subject(err, "chunk %llu", (unsigned long long)slot->number);
}

/* Have the piece of that number in the slot; its lock is held. */
static int load_part(struct view *view, struct slot *slot, uint64_t number, struct bpk_err *err)
{
	uint64_t start = number * slot->piece;
	size_t size = (size_t)bpk_min_u64(chunk_at(view, slot->number).size - start, slot->piece);

	if (slot->part_number == number)
		return 0;
	slot->part_number = BPK_UNKNOWN;
	if (spend(view, slot->number, size, err) != 0 ||
	    bpk_buf_resize(&slot->part, size, err) != 0 ||
	    unpack_range(view, slot, start, bpk_span(slot->part.data, size), err) != 0)
		return -1;
	slot->part_number = number;
	return 0;
}

static int copy_from_parts(struct view *view, struct slot *slot, size_t start, struct bpk_span out,
			   struct bpk_err *err)
{
	int rc = 0;

	if (out.size >= slot->piece)
		return spend(view, slot->number, out.size, err) != 0
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

static int copy_part(struct view *view, uint64_t number, size_t start, struct bpk_span out,
		     struct bpk_err *err)
{
	struct slot *slot;
	int rc = 0;

	pthread_mutex_lock(&view->lock);
	slot = enter(view, number);
	pthread_mutex_unlock(&view->lock);
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

static int read_anywhere(void *arg, uint64_t offset, struct bpk_span out, size_t *got,
			 struct bpk_err *err)
{
	struct view *view = arg;

	*got = 0;
	while (*got < out.size && offset + *got < view->plan.raw_size) {
		struct bpk_sized chunk = chunk_of(view, offset + *got);
		size_t start = (size_t)(offset + *got - chunk.raw_offset);
		size_t size = bpk_min_size(out.size - *got, chunk.size - start);
		struct bpk_span part = bpk_span(out.data + *got, size);

		if ((size == chunk.size ? load(view, chunk.first, part, err)
					: copy_part(view, chunk.first, start, part, err)) != 0)
			return -1;
		*got += size;
	}
	return 0;
}

/* ---- Reading in sequence ---- */

/* Nothing follows: did all come that was announced? */
static int end(struct view *view, struct bpk_err *err)
{
	uint64_t reached = view->current_offset + view->current.size;

	view->ended = true;
	if (view->plan.raw_size != BPK_UNKNOWN && reached != view->plan.raw_size)
		return bpk_fail(err, BPK_CORRUPT, "unpacks to %llu bytes, expected %llu",
				(unsigned long long)reached,
				(unsigned long long)view->plan.raw_size);
	return 0;
}

/* Unpack the next chunk, which may be empty, or find the end. */
static int next(struct view *view, struct bpk_err *err)
{
	uint64_t offset = view->current_offset + view->current.size;
	struct hand *hand;
	int rc;

	if (view->number == view->plan.count)
		return end(view, err);
	hand = take_hand(view, err);
	if (hand == NULL)
		return -1;
	rc = fetch(view, hand, view->number, offset, err);
	if (rc > 0)
		rc = end(view, err);
	else if (rc == 0)
		rc = bpk_buf_resize(&view->current, hand->parcel.want_size, err);
	if (rc == 0 && !view->ended) {
		rc = unpack(view, hand, bpk_span(view->current.data, view->current.size), err);
		view->current_offset = offset;
		view->number++;
	}
	give_hand(view, hand);
	return rc;
}

static int read_on(void *arg, uint64_t offset, struct bpk_span out, size_t *got,
		   struct bpk_err *err)
{
	struct view *view = arg;

	*got = 0;
	while (*got < out.size && !view->ended) {
		uint64_t start = offset + *got - view->current_offset;
		size_t size;

		if (start >= view->current.size) {
			if (next(view, err) != 0)
				return -1;
			continue;
		}
		size = bpk_min_size(out.size - *got, view->current.size - (size_t)start);
		bpk_copy(out.data + *got, view->current.data + start, size);
		*got += size;
	}
	return 0;
}

/* ---- Opening ---- */

static void close_view(void *arg)
{
	struct view *view = arg;

	while (view->idle != NULL) {
		struct hand *hand = view->idle;

		view->idle = hand->next;
		free_hand(hand);
	}
	for (unsigned i = 0; i < view->nslots; i++) {
		bpk_buf_clear(&view->slots[i].raw);
		bpk_buf_clear(&view->slots[i].part);
		pthread_mutex_destroy(&view->slots[i].part_lock);
	}
	bpk_buf_clear(&view->current);
	bpk_sizes_clear(&view->runs);
	pthread_cond_destroy(&view->changed);
	pthread_mutex_destroy(&view->lock);
	free(view);
}

static const struct bpk_source_ops anywhere_ops = {
	.read_at = read_anywhere,
	.close = close_view,
	.positional = true,
};

static const struct bpk_source_ops sequence_ops = { .read_at = read_on, .close = close_view };

/* Chunks behind number that are the same. */
static uint64_t count_like(const struct view *view, uint64_t number)
{
	uint64_t first, raw_size, count = 0;

	if (view->ops->repeats != NULL)
		count = view->ops->repeats(view->reader, number + 1, &first, &raw_size);
	return count > 0 && first == number ? count : 0;
}

/*
 * Where chunk sizes differ: what the archive lists of them, and the others from their headers. A
 * reader that finds chunks by walking goes there in sequence anyway.
 */
static int find_runs(struct view *view, struct bpk_err *err)
{
	const struct bpk_info *info = view->ops->info(view->reader);
	struct bpk_where where;
	int rc;

	if (view->plan.chunk_size != BPK_UNKNOWN || !view->ops->positional(view->reader) ||
	    view->ops->locate == NULL)
		return 0;
	if (bpk_sizes_copy(info->runs, BPK_UNKNOWN, &view->runs, err) != 0)
		return -1;
	while ((rc = view->ops->locate(view->reader, view->runs.nchunks, &where, err)) == 0)
		if (bpk_sizes_add(&view->runs, 1 + count_like(view, view->runs.nchunks),
				  where.header.raw_size, 0, err) != 0)
			return -1;
	if (rc < 0)
		return -1;
	view->plan = bpk_plan_sizes(&view->runs);
	return 0;
}

/* As many chunks as are wished for, and as memory has room for beside unpacking one. */
static unsigned slots_for(const struct view *view, unsigned wished)
{
	uint64_t size = view->plan.runs != NULL ? bpk_sizes_largest(view->plan.runs)
						: view->plan.chunk_size;
	uint64_t room;

	if (view->limits == NULL || view->limits->memory == 0 || size == 0 || size == BPK_UNKNOWN)
		return wished;
	room = view->limits->memory / size;
	return (unsigned)bpk_max_u64(1,
				     bpk_min_u64(wished, room - bpk_min_u64(room, UNPACKING - 1)));
}

int bpk_view_open_within(const struct bpk_reader_ops *ops, void *reader, bool no_check,
			 unsigned nchunks, struct bpk_view_limits *limits,
			 struct bpk_source **source, struct bpk_err *err)
{
	unsigned nslots = nchunks > 0 ? nchunks : 1;
	struct view *view = bpk_calloc(1, sizeof *view + nslots * sizeof *view->slots, err);
	const struct bpk_source_ops *source_ops = &sequence_ops;

	*source = NULL;
	if (view == NULL)
		return -1;
	view->ops = ops;
	view->reader = reader;
	view->check = !no_check;
	view->limits = limits;
	view->plan = bpk_plan_all(ops->info(reader));
	pthread_mutex_init(&view->lock, NULL);
	pthread_cond_init(&view->changed, NULL);
	view->nslots = nslots;
	for (unsigned i = 0; i < nslots; i++) {
		view->slots[i].number = BPK_UNKNOWN;
		pthread_mutex_init(&view->slots[i].part_lock, NULL);
	}
	if (find_runs(view, err) != 0) {
		close_view(view);
		return -1;
	}
	view->nslots = slots_for(view, nslots);
	if (ops->positional(reader) && view->plan.raw_size != BPK_UNKNOWN &&
	    (view->plan.chunk_size != BPK_UNKNOWN || view->plan.runs != NULL))
		source_ops = &anywhere_ops;
	if (bpk_source_of(source_ops, view, view->plan.raw_size, source, err) == 0)
		return 0;
	close_view(view);
	return -1;
}

int bpk_view_open(const struct bpk_reader_ops *ops, void *reader, bool no_check, unsigned nchunks,
		  struct bpk_source **source, struct bpk_err *err)
{
	return bpk_view_open_within(ops, reader, no_check, nchunks, NULL, source, err);
}

/*
 * A thread holds a packed chunk, its scratch and, of the cache, a chunk and its share of the last.
 */
uint64_t bpk_view_memory(const struct bpk_info *info)
{
	enum { STATE = 2 << 20, CHUNKS = 5 };
	uint64_t size = info->chunk_size;

	if (size == BPK_UNKNOWN)
		size = bpk_max_u64(info->has_first_chunk ? info->first_chunk.raw_size : 0,
				   bpk_sizes_largest(info->runs));
	return CHUNKS * size + STATE;
}
