/*
 * A remote file: the parts that its reads need, and those after them. Called by remote.c, and
 * by every thread that reads the source.
 *
 * A read fetches the bytes that no part holds, at most as many parts at a time as there are
 * connections, and copies. Reads that follow each other for a while make the object read ahead.
 */
#include "io/remote/object.h"

#include "io/remote/cache.h"
#include "io/remote/parts.h"
#include "io/remote/request.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

enum {
	HEAD = 128 << 10, /* bytes of the first request: header and offsets of most archives */
	GAP = 64 << 10,   /* bytes left out by reads that still follow each other */
	STREAK = 2 << 20, /* bytes read one after the other before reading ahead begins */
	STREAMS = 4,      /* such reads at different places */
};

/* Reads that follow each other: of a table, and of the chunks that it leads to. */
struct stream {
	uint64_t frontier, streak; /* where they ended, and how much they read */
	uint64_t ahead;            /* up to where was read ahead of them */
	uint64_t used;             /* the time of the last one, by the clock of the parts */
};

struct bpk_object {
	struct bpk_url url; /* fixed after open */

	atomic_uint sharers; /* users beside the first */

	pthread_mutex_t lock; /* guards all below */
	struct bpk_parts parts;
	struct stream streams[STREAMS];
	bool changed; /* an answer was of another version: no read succeeds any more */
};

/* ---- reading ---- */

static bool goes_on(const struct stream *stream, uint64_t offset)
{
	return stream->used > 0 && offset <= stream->frontier + GAP &&
	       offset + bpk_parts_window() + BPK_PART_SIZE >= stream->frontier;
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
	stream->used = ++object->parts.clock;
	if (end > stream->frontier) {
		stream->streak += end - stream->frontier;
		stream->frontier = end;
	}
	return stream;
}

/* Fetch the bytes that the next reads will want if they go on like the last ones, in whole parts,
 * and no more than was read so far. A failure is met again by the read itself. */
static void read_ahead(struct bpk_object *object, struct stream *stream)
{
	uint64_t total = object->parts.first.total;
	uint64_t from = bpk_max_u64(stream->frontier, stream->ahead);
	uint64_t end = stream->frontier + bpk_min_u64(stream->streak, bpk_parts_window());

	if (stream->streak < STREAK)
		return;
	end = end < total ? end - end % BPK_PART_SIZE : total;
	if (end <= from)
		return;
	if (!bpk_parts_has_room(&object->parts, end - from))
		return;
	stream->ahead = end;
	(void)bpk_parts_fetch_missing(&object->parts, from, end, 0, NULL);
}

/* How much to fetch for a read: small reads that follow each other, streak bytes so far, fetch more
 * and more at a time. */
static uint64_t size_needed(struct bpk_object *object, uint64_t streak, uint64_t offset,
			    uint64_t size)
{
	uint64_t next, wish = bpk_min_u64(streak, BPK_PART_SIZE);

	return wish > size && bpk_parts_find(&object->parts, offset, &next) == NULL ? wish : size;
}

/* Judge a part whose request is done. */
static int judge(struct bpk_object *object, const struct bpk_part *part, struct bpk_err *err)
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
	case BPK_OUTCOME_SAME:
	case BPK_OUTCOME_FAILED:
		break;
	}
	return bpk_fail(err, request->err.kind != BPK_OK ? request->err.kind : BPK_BUG, "%s",
			request->err.text);
}

/* Hand a part, which is in use, to the cache, once. Writes without the lock. */
static void keep(struct bpk_object *object, struct bpk_part *part)
{
	uint64_t offset = part->request.offset;

	if (part->is_kept || object->parts.cached == NULL)
		return;
	part->is_kept = true;
	pthread_mutex_unlock(&object->lock);
	bpk_cached_write(object->parts.cached, offset,
			 bpk_view(part->bytes, (size_t)(part->end - offset)));
	pthread_mutex_lock(&object->lock);
}

/* Copy the bytes of out that the part, which is in use, has. Waits without the lock. */
static int copy_part(struct bpk_object *object, struct bpk_part *part, uint64_t offset,
		     struct bpk_span out, size_t *got, struct bpk_err *err)
{
	part->is_read = true;
	part->used = ++object->parts.clock;
	pthread_mutex_unlock(&object->lock);
	bpk_request_wait(&part->request);
	*got = (size_t)bpk_min_u64(out.size, part->end - offset);
	if (part->request.outcome == BPK_OUTCOME_BYTES)
		memcpy(out.data, part->bytes + (offset - part->request.offset), *got);
	pthread_mutex_lock(&object->lock);
	if (judge(object, part, err) != 0)
		return -1;
	keep(object, part);
	return 0;
}

/* Read out, whose parts are all fetched at the same time, and stay until they are copied. */
static int read_batch(struct bpk_object *object, struct stream *stream, uint64_t offset,
		      struct bpk_span out, struct bpk_err *err)
{
	uint64_t end = offset + size_needed(object, stream->streak, offset, out.size), next;
	size_t done = 0, copied;
	int rc;

	bpk_parts_use(&object->parts, offset, end, 1);
	rc = bpk_parts_fetch_missing(&object->parts, offset, end, 1, err);
	if (rc == 0)
		read_ahead(object, stream);
	for (; rc == 0 && done < out.size; done += copied)
		rc = copy_part(object, bpk_parts_find(&object->parts, offset + done, &next),
			       offset + done, bpk_span(out.data + done, out.size - done), &copied,
			       err);
	bpk_parts_use(&object->parts, offset, end, -1);
	if (rc != 0) /* a later read asks again */
		bpk_parts_drop_unused(&object->parts, offset, end);
	return rc;
}

int bpk_object_read_at(void *arg, uint64_t offset, struct bpk_span out, size_t *got,
		       struct bpk_err *err)
{
	struct bpk_object *object = arg;
	int rc = 0;

	*got = 0;
	pthread_mutex_lock(&object->lock);
	object->parts.readers++;
	while (rc == 0 && *got < out.size) {
		/* the reads under way share the memory */
		uint64_t share =
			bpk_max_u64(bpk_parts_window() / object->parts.readers, BPK_PART_SIZE);
		struct bpk_span batch =
			bpk_span(out.data + *got, (size_t)bpk_min_u64(out.size - *got, share));
		struct stream *stream = note(object, offset + *got, offset + *got + batch.size);

		rc = read_batch(object, stream, offset + *got, batch, err);
		*got += batch.size;
	}
	object->parts.readers--;
	pthread_mutex_unlock(&object->lock);
	return rc;
}

/* A failure is met again by the read itself. */
void bpk_object_ahead(void *arg, uint64_t offset, uint64_t size)
{
	struct bpk_object *object = arg;

	pthread_mutex_lock(&object->lock);
	size = bpk_min_u64(size, bpk_parts_window());
	if (offset < object->parts.first.total && bpk_parts_has_room(&object->parts, size))
		(void)bpk_parts_fetch_missing(&object->parts, offset, offset + size, 0, NULL);
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

	while (object->parts.list != NULL)
		bpk_parts_drop(&object->parts, object->parts.list);
	bpk_cached_close(object->parts.cached);
	pthread_mutex_destroy(&object->lock);
	bpk_url_clear(&object->url);
	free(object);
}

uint64_t bpk_object_size(const struct bpk_object *object)
{
	return object->parts.first.total;
}

/* Ask for the first bytes, or, if known names a version, whether that is still the file's. Returns
 * the part, whose request is done; NULL: it was not sent. */
static struct bpk_part *ask_first(struct bpk_object *object, uint64_t size, const char *known,
				  struct bpk_err *err)
{
	size = size == 0 || size > BPK_PART_SIZE
		       ? HEAD
		       : size + BPK_PART_BLOCK - 1 - (size - 1) % BPK_PART_BLOCK;
	object->parts.known = known;
	if (bpk_parts_fetch(&object->parts, 0, (size_t)size, 0, err) != 0)
		return NULL;
	object->parts.known = NULL;
	bpk_request_wait(&object->parts.list->request);
	return object->parts.list;
}

/* The same, and once more if the server says that nothing has changed, but names no version. */
static struct bpk_part *ask(struct bpk_object *object, uint64_t size, const char *known,
			    struct bpk_err *err)
{
	struct bpk_part *part = ask_first(object, size, known, err);

	if (part == NULL || part->request.outcome != BPK_OUTCOME_FAILED ||
	    part->request.answer.status != 304)
		return part;
	bpk_parts_drop(&object->parts, part);
	return ask_first(object, size, NULL, err);
}

/* The first part, which brings the size and the version; those of the cache, if it need not. */
static int open_first(struct bpk_object *object, uint64_t size, enum bpk_outcome *outcome,
		      struct bpk_err *err)
{
	struct bpk_parts *parts = &object->parts;
	struct bpk_answer known = { 0 };
	struct bpk_part *part;

	parts->cached = bpk_cached_open(&object->url, &known);
	part = ask(object, size, known.status != 0 ? known.version : NULL, err);
	if (part == NULL)
		return -1;
	*outcome = part->request.outcome;
	if (*outcome == BPK_OUTCOME_WHOLE)
		return 0;
	if (*outcome == BPK_OUTCOME_SAME) {
		*outcome = BPK_OUTCOME_BYTES;
		parts->first = known;
		bpk_parts_drop(parts, part);
		bpk_cached_set(parts->cached, &parts->first);
		return 0;
	}
	if (judge(object, part, err) != 0)
		return bpk_err_subject(err, "cannot open");
	parts->first = part->request.answer;
	if (parts->first.total == BPK_UNKNOWN)
		*outcome = BPK_OUTCOME_WHOLE;
	part->end = part->request.got;
	if (part->end == 0)
		bpk_parts_drop(parts, part);
	bpk_cached_set(parts->cached, &parts->first);
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
	new->parts.url = &new->url;
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
