/*
 * Parts of a remote file: which are in memory, which are under way, which to fetch next. Called by
 * remote.c, and by every thread that reads the source.
 *
 *     0        128 KiB                                   total
 *     |== head ==|      |= part =|= part =|        |= part =|
 *
 * A part begins and ends at a multiple of BLOCK (or at the end of the file), is fetched by one
 * request, and overlaps no other. A read fetches what no part holds, at most as many parts at a
 * time as there are connections, and copies. Reads that follow each other for a while make the
 * object read ahead.
 */
#include "io/remote/object.h"

#include "io/remote/request.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

enum {
	BLOCK = 16 << 10,
	HEAD = 128 << 10, /* bytes of the first request: header and offsets of most archives */
	PART = 1 << 20,   /* bytes of a request; several of them fill a link */
	GAP = 64 << 10,   /* bytes left out by reads that still follow each other */
	KEPT = 16 << 20,  /* bytes of parts in memory beside three windows */
	STREAK = 2 << 20, /* bytes read one after the other before reading ahead begins */
	STREAMS = 4,      /* such reads at different places */
};

struct part {
	struct part *next; /* by offset */
	struct bpk_request request;
	uint64_t end;
	unsigned users; /* reads that need it: it is kept for them */
	bool is_read;   /* bytes of it were copied; else it was fetched ahead */
	uint64_t used;  /* the time of its last use, by the object's clock */
	uint8_t bytes[];
};

/* Reads that follow each other: of a table, and of the chunks that it leads to. */
struct stream {
	uint64_t frontier, streak; /* where they ended, and how much they read */
	uint64_t ahead;            /* up to where was read ahead of them */
	uint64_t used;             /* the time of the last one, by the object's clock */
};

struct bpk_object {
	/* fixed after open */
	struct bpk_url url;
	struct bpk_answer first;

	atomic_uint sharers; /* users beside the first */

	pthread_mutex_t lock; /* guards the list, users and used, and all below */
	struct part *parts;
	uint64_t kept;    /* bytes of all parts */
	unsigned readers; /* reads under way */
	uint64_t clock;
	struct stream streams[STREAMS];
	struct part *recent; /* the part found last, or NULL */
	bool changed;        /* an answer was of another version: no read succeeds any more */
};

/* ---- parts, with the lock ---- */

static void drop(struct bpk_object *object, struct part *part)
{
	struct part **at = &object->parts;

	while (*at != part)
		at = &(*at)->next;
	*at = part->next;
	if (object->recent == part)
		object->recent = NULL;
	object->kept -= part->request.out.size;
	bpk_request_stop(&part->request);
	free(part);
}

/* The part that was used least recently and that nobody uses now, one fetched ahead only if there
 * is no other; NULL if there is none. */
static struct part *oldest(const struct bpk_object *object)
{
	struct part *found = NULL;

	for (struct part *p = object->parts; p != NULL; p = p->next)
		if (p->users == 0 && (found == NULL || p->is_read > found->is_read ||
				      (p->is_read == found->is_read && p->used < found->used)))
			found = p;
	return found;
}

/* The bytes that may be under way at a time. */
static uint64_t window(void)
{
	return (uint64_t)bpk_request_options().connections * PART;
}

/* Bytes of parts in memory: ahead, in use, and used a moment ago. */
static uint64_t most_kept(const struct bpk_object *object)
{
	return KEPT + 3 * window() + (uint64_t)object->readers * PART;
}

static void make_room(struct bpk_object *object, uint64_t size)
{
	struct part *part;

	while (object->kept + size > most_kept(object) && (part = oldest(object)) != NULL)
		drop(object, part);
}

/* True if size bytes more fit without the loss of a part that was fetched ahead and not read. */
static bool has_room_ahead(const struct bpk_object *object, uint64_t size)
{
	const struct part *part = oldest(object);

	return object->kept + size <= most_kept(object) || (part != NULL && part->is_read);
}

/* The part that holds the byte at offset; NULL if there is none. Then *next is where the first part
 * behind it begins. */
static struct part *find(struct bpk_object *object, uint64_t offset, uint64_t *next)
{
	struct part *p = object->recent;

	if (p != NULL && offset >= p->request.offset && offset < p->end)
		return p;
	for (p = object->parts; p != NULL && offset >= p->end; p = p->next)
		;
	*next = p != NULL ? p->request.offset : UINT64_MAX;
	if (p == NULL || offset < p->request.offset)
		return NULL;
	return object->recent = p;
}

/* Begin to fetch size bytes at offset, which no part holds, for that many users. */
static int fetch(struct bpk_object *object, uint64_t offset, size_t size, unsigned users,
		 struct bpk_err *err)
{
	struct part *part = bpk_alloc(sizeof *part + size, err), **at = &object->parts;

	if (part == NULL)
		return -1;
	make_room(object, size);
	*part = (struct part){
		.request = { .url = &object->url,
			     .offset = offset,
			     .out = bpk_span(part->bytes, size),
			     .seen = object->first.status != 0 ? &object->first : NULL },
		.end = offset + size,
		.users = users,
		.used = ++object->clock,
	};
	if (bpk_request_start(&part->request, err) != 0) {
		free(part);
		return -1;
	}
	while (*at != NULL && (*at)->request.offset < offset)
		at = &(*at)->next;
	part->next = *at;
	*at = part;
	object->kept += size;
	return 0;
}

/* ---- reading ---- */

/*
 * Bytes at the end that come in one request: of a frame its trailer, its index and the header of
 * its last chunk, which are all needed to open it. A small part of the file, or what costs a fast
 * link less than a request.
 */
static uint64_t tail_of(uint64_t total)
{
	enum { LEAST = 64 << 10, SMALL = 256 << 10 };
	uint64_t room = bpk_max_u64(bpk_min_u64(total / 16, SMALL), bpk_min_u64(total / 64, PART));

	return bpk_min_u64(total, bpk_max_u64(room, LEAST));
}

/* Where a part that holds the byte at offset begins. */
static uint64_t start_of(const struct bpk_object *object, uint64_t offset)
{
	uint64_t total = object->first.total, tail = total - tail_of(total), next;
	const struct part *before;

	if (offset < tail)
		return offset - offset % BLOCK;
	for (before = object->parts; before != NULL && before->next != NULL; before = before->next)
		if (before->next->request.offset > offset)
			break;
	next = before != NULL && before->request.offset < offset ? before->end : 0;
	return bpk_max_u64(next, tail - tail % BLOCK);
}

/* Begin to fetch what is missing of the bytes from offset to end, for that many users. */
static int fetch_missing(struct bpk_object *object, uint64_t offset, uint64_t end, unsigned users,
			 struct bpk_err *err)
{
	uint64_t total = object->first.total, size, next;

	end = bpk_min_u64(end, total);
	while (offset < end) {
		struct part *part = find(object, offset, &next);

		if (part != NULL) {
			offset = part->end;
			continue;
		}
		offset = start_of(object, offset);
		size = end - offset <= PART + PART / 2 ? end - offset : PART;
		size += BLOCK - 1 - (size - 1) % BLOCK;
		size = bpk_min_u64(bpk_min_u64(size, next - offset), total - offset);
		if (fetch(object, offset, (size_t)size, users, err) != 0)
			return -1;
		offset += size;
	}
	return 0;
}

static bool goes_on(const struct stream *stream, uint64_t offset)
{
	return stream->used > 0 && offset <= stream->frontier + GAP &&
	       offset + window() + PART >= stream->frontier;
}

/* Note a read. Returns the stream that it belongs to, or begins. */
static struct stream *note(struct bpk_object *object, uint64_t offset, uint64_t end)
{
	struct stream *stream = object->streams;

	for (size_t i = 1; i < STREAMS && !goes_on(stream, offset); i++)
		if (goes_on(&object->streams[i], offset) || object->streams[i].used < stream->used)
			stream = &object->streams[i];
	if (!goes_on(stream, offset))
		*stream = (struct stream){ .frontier = end };
	stream->used = ++object->clock;
	if (end > stream->frontier) {
		stream->streak += end - stream->frontier;
		stream->frontier = end;
	}
	return stream;
}

/* Fetch what the next reads will want if they go on like the last ones, in whole parts, and no more
 * than was read so far. A failure is met again by the read itself. */
static void read_ahead(struct bpk_object *object, struct stream *stream)
{
	uint64_t total = object->first.total;
	uint64_t from = bpk_max_u64(stream->frontier, stream->ahead);
	uint64_t end = stream->frontier + bpk_min_u64(stream->streak, window());

	if (stream->streak < STREAK)
		return;
	end = end < total ? end - end % PART : total;
	if (end <= from)
		return;
	if (!has_room_ahead(object, end - from))
		return;
	stream->ahead = end;
	(void)fetch_missing(object, from, end, 0, NULL);
}

/* How much to fetch for a read: small reads that follow each other, streak bytes so far, fetch more
 * and more at a time. */
static uint64_t size_needed(struct bpk_object *object, uint64_t streak, uint64_t offset,
			    uint64_t size)
{
	uint64_t next, wish = bpk_min_u64(streak, PART);

	return wish > size && find(object, offset, &next) == NULL ? wish : size;
}

/* Add change to the users of the parts that hold the bytes from offset to end. */
static void use(struct bpk_object *object, uint64_t offset, uint64_t end, int change)
{
	for (struct part *p = object->parts; p != NULL && p->request.offset < end; p = p->next)
		if (p->end > offset)
			p->users += (unsigned)change;
}

/* Judge a part whose request is done. */
static int judge(struct bpk_object *object, const struct part *part, struct bpk_err *err)
{
	const struct bpk_request *request = &part->request;

	switch (request->outcome) {
	case BPK_OUTCOME_BYTES:
		return object->changed ? bpk_fail_changed(err) : 0;
	case BPK_OUTCOME_CHANGED:
		object->changed = true;
		return bpk_fail_changed(err);
	case BPK_OUTCOME_WHOLE:
		return bpk_fail(err, BPK_FAILED, "the server no longer sends ranges of the file");
	case BPK_OUTCOME_MISSING:
	case BPK_OUTCOME_DENIED:
	case BPK_OUTCOME_FAILED:
		break;
	}
	return bpk_fail(err, request->err.kind != BPK_OK ? request->err.kind : BPK_BUG, "%s",
			request->err.text);
}

/* Copy what the part, which is in use, has of out. Waits without the lock. */
static int copy_part(struct bpk_object *object, struct part *part, uint64_t offset,
		     struct bpk_span out, size_t *got, struct bpk_err *err)
{
	part->is_read = true;
	part->used = ++object->clock;
	pthread_mutex_unlock(&object->lock);
	bpk_request_wait(&part->request);
	*got = (size_t)bpk_min_u64(out.size, part->end - offset);
	if (part->request.outcome == BPK_OUTCOME_BYTES)
		memcpy(out.data, part->bytes + (offset - part->request.offset), *got);
	pthread_mutex_lock(&object->lock);
	return judge(object, part, err);
}

/* Drop the parts of a failed read that nobody uses: a later read asks again. */
static void drop_failed(struct bpk_object *object, uint64_t offset, uint64_t end)
{
	struct part *next;

	for (struct part *p = object->parts; p != NULL && p->request.offset < end; p = next) {
		next = p->next;
		if (p->end > offset && p->users == 0)
			drop(object, p);
	}
}

/* Read out, whose parts are all fetched at the same time, and stay until they are copied. */
static int read_batch(struct bpk_object *object, struct stream *stream, uint64_t offset,
		      struct bpk_span out, struct bpk_err *err)
{
	uint64_t end = offset + size_needed(object, stream->streak, offset, out.size), next;
	size_t done = 0, copied;
	int rc;

	use(object, offset, end, 1);
	rc = fetch_missing(object, offset, end, 1, err);
	if (rc == 0)
		read_ahead(object, stream);
	for (; rc == 0 && done < out.size; done += copied)
		rc = copy_part(object, find(object, offset + done, &next), offset + done,
			       bpk_span(out.data + done, out.size - done), &copied, err);
	use(object, offset, end, -1);
	if (rc != 0)
		drop_failed(object, offset, end);
	return rc;
}

int bpk_object_read_at(void *arg, uint64_t offset, struct bpk_span out, size_t *got,
		       struct bpk_err *err)
{
	struct bpk_object *object = arg;
	int rc = 0;

	*got = 0;
	pthread_mutex_lock(&object->lock);
	object->readers++;
	while (rc == 0 && *got < out.size) {
		/* the reads under way share what may be under way */
		uint64_t share = bpk_max_u64(window() / object->readers, PART);
		struct bpk_span batch =
			bpk_span(out.data + *got, (size_t)bpk_min_u64(out.size - *got, share));
		struct stream *stream = note(object, offset + *got, offset + *got + batch.size);

		rc = read_batch(object, stream, offset + *got, batch, err);
		*got += batch.size;
	}
	object->readers--;
	pthread_mutex_unlock(&object->lock);
	return rc;
}

/* A failure is met again by the read itself. */
void bpk_object_ahead(void *arg, uint64_t offset, uint64_t size)
{
	struct bpk_object *object = arg;

	pthread_mutex_lock(&object->lock);
	size = bpk_min_u64(size, window());
	if (offset < object->first.total && has_room_ahead(object, size))
		(void)fetch_missing(object, offset, offset + size, 0, NULL);
	pthread_mutex_unlock(&object->lock);
}

/* ---- opening ---- */

void *bpk_object_share(void *arg)
{
	struct bpk_object *object = arg;

	atomic_fetch_add(&object->sharers, 1);
	return object;
}

void bpk_object_close(void *arg)
{
	struct bpk_object *object = arg;

	if (atomic_fetch_sub(&object->sharers, 1) > 0)
		return;

	while (object->parts != NULL)
		drop(object, object->parts);
	pthread_mutex_destroy(&object->lock);
	bpk_url_clear(&object->url);
	free(object);
}

uint64_t bpk_object_size(const struct bpk_object *object)
{
	return object->first.total;
}

/* The first part, which brings the size and the version. */
static int open_first(struct bpk_object *object, uint64_t size, enum bpk_outcome *outcome,
		      struct bpk_err *err)
{
	struct part *part;

	size = size == 0 || size > PART ? HEAD : size + BLOCK - 1 - (size - 1) % BLOCK;
	if (fetch(object, 0, (size_t)size, 0, err) != 0)
		return -1;
	part = object->parts;
	bpk_request_wait(&part->request);
	*outcome = part->request.outcome;
	if (*outcome == BPK_OUTCOME_WHOLE)
		return 0;
	if (judge(object, part, err) != 0)
		return bpk_err_subject(err, "cannot open");
	object->first = part->request.answer;
	if (object->first.total == BPK_UNKNOWN)
		*outcome = BPK_OUTCOME_WHOLE;
	part->end = part->request.got;
	if (part->end == 0)
		drop(object, part);
	return 0;
}

int bpk_object_open(struct bpk_url *url, uint64_t size, struct bpk_object **object,
		    enum bpk_outcome *outcome, struct bpk_err *err)
{
	struct bpk_object *new = bpk_calloc(1, sizeof *new, err);
	int rc;

	*object = NULL;
	*outcome = BPK_OUTCOME_FAILED;
	if (new == NULL)
		return -1;
	new->url = *url;
	pthread_mutex_init(&new->lock, NULL);
	rc = open_first(new, size, outcome, err);
	if (rc == 0 && *outcome == BPK_OUTCOME_BYTES) {
		*object = new;
		*url = (struct bpk_url){ 0 };
	} else {
		new->url = (struct bpk_url){ 0 }; /* still the caller's */
		bpk_object_close(new);
	}
	return rc;
}
