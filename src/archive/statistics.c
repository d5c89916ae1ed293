/* The arrays of a content, read in pieces by all threads, for their statistics. Called by info. */
#include "archive/statistics.h"

#include <pthread.h>
#include <stdlib.h>

#include "archive/measure.h"

/* ---- Jobs ---- */

enum { MOST_SEGMENTS = 256 }; /* parts of arrays in a job */

/* A part of an array in a job. */
struct segment {
	struct bpk_scalar type;
	uint64_t row;
	uint64_t offset;    /* in the content; BPK_UNKNOWN: the bytes are there already */
	size_t start, size; /* in the job's bytes */
	struct bpk_statistics found;
};

struct job {
	struct segment *segments; /* MOST_SEGMENTS */
	size_t nsegments;
	struct bpk_buf bytes;
	int rc;
	struct bpk_err err;
};

/* The way through all arrays. */
struct walk {
	struct bpk_item item; /* the current one, if row says so */
	int64_t row;          /* or BPK_STATISTICS_NONE: go on to the next */
	uint64_t number;      /* of the next */
	uint64_t at;          /* bytes of item that are in jobs already */
};

struct run {
	const struct bpk_content *content;
	const struct bpk_item *only;
	int64_t (*row_of)(void *arg, const struct bpk_item *item);
	void *arg;
	struct walk walk;
	size_t piece; /* bytes of a job, which ends at a multiple of them in the content */
	/* Written for the way through the arrays: the layout reads tables, and the bytes that are
	 * unpacked for them would be counted for other reads, too. */
	pthread_rwlock_t tables;
	struct job *jobs; /* by place */
	struct bpk_statistics *rows;
	struct bpk_err err; /* of the first job that failed */
};

/* Find the next array that has bytes left. Returns 1 behind the last. */
static int find_item(struct run *run, struct bpk_err *err)
{
	struct walk *walk = &run->walk;
	uint64_t narrays = run->only != NULL ? 1 : bpk_layout_info(run->content->layout)->narrays;

	while (walk->row == BPK_STATISTICS_NONE || walk->at == walk->item.array->size) {
		if (walk->number == narrays)
			return 1;
		if (run->only != NULL)
			walk->item = *run->only;
		else if (bpk_layout_get(run->content->layout, walk->number, &walk->item, err) != 0)
			return -1;
		walk->number++;
		walk->row = run->row_of(run->arg, &walk->item);
		walk->at = 0;
	}
	return 0;
}

/* Bytes from an offset in the content to the end of its piece, or of the next: at least one
 * number. */
static size_t room_from(const struct run *run, uint64_t offset, size_t item_size)
{
	size_t room = run->piece - (size_t)(offset % run->piece);

	return room >= item_size ? room : room + run->piece;
}

/* Bytes of the current array that a job with this much room takes: whole numbers. */
static size_t next_size(const struct run *run, size_t room)
{
	const struct walk *walk = &run->walk;
	size_t item_size = walk->item.array->dtype.scalar.item_size, size;
	uint64_t offset = walk->item.offset;

	if (offset != BPK_UNKNOWN)
		room = bpk_min_size(room, room_from(run, offset + walk->at, item_size));
	size = (size_t)bpk_min_u64(walk->item.array->size - walk->at, room);
	return size - size % item_size;
}

/* The bytes of an array that is not stored are made at once. */
static int add_segment(struct run *run, struct job *job, size_t start, size_t size,
		       struct bpk_err *err)
{
	const struct walk *walk = &run->walk;
	bool stored = walk->item.offset != BPK_UNKNOWN;

	job->segments[job->nsegments] = (struct segment){
		.type = walk->item.array->dtype.scalar,
		.row = (uint64_t)walk->row,
		.offset = stored ? walk->item.offset + walk->at : BPK_UNKNOWN,
		.start = start,
		.size = size,
	};
	if (stored)
		return 0;
	return bpk_item_read(NULL, &walk->item, walk->at, bpk_span(job->bytes.data + start, size),
			     err);
}

/* Fill a job with the next parts of arrays; NULL: only pass over them. *used is 0 at the end. */
static int next_job(struct run *run, struct job *job, size_t *used, struct bpk_err *err)
{
	size_t nsegments = 0, size;
	int rc = 0;

	*used = 0;
	while (rc == 0 && nsegments < MOST_SEGMENTS && (rc = find_item(run, err)) == 0) {
		size = next_size(run, run->piece - *used);
		if (size == 0)
			break;
		if (job != NULL) {
			rc = add_segment(run, job, *used, size, err);
			job->nsegments++;
		}
		run->walk.at += size;
		*used += size;
		nsegments++;
		if (run->walk.at < run->walk.item.array->size)
			break;
	}
	return rc < 0 ? -1 : 0;
}

static int count_jobs(struct run *run, size_t *count, struct bpk_err *err)
{
	size_t used = 1;

	for (*count = 0; used > 0; *count += used > 0)
		if (next_job(run, NULL, &used, err) != 0)
			return bpk_input_subject(run->content->in, err);
	return 0;
}

static bool begin(void *arg, size_t number, unsigned place)
{
	struct run *run = arg;
	struct job *job = &run->jobs[place];
	size_t used;

	(void)number;
	job->nsegments = 0;
	job->err = (struct bpk_err){ 0 };
	job->rc = 0;
	if (run->err.kind != BPK_OK)
		return true; /* the rest would be read in vain */
	job->rc = bpk_buf_resize(&job->bytes, run->piece, &job->err);
	pthread_rwlock_wrlock(&run->tables);
	if (job->rc == 0)
		job->rc = next_job(run, job, &used, &job->err);
	pthread_rwlock_unlock(&run->tables);
	return true;
}

static int read_segment(struct run *run, const struct segment *segment, struct bpk_span bytes,
			struct bpk_err *err)
{
	int rc;

	if (segment->offset == BPK_UNKNOWN)
		return 0;
	pthread_rwlock_rdlock(&run->tables);
	rc = bpk_source_need_at(run->content->view, segment->offset, bytes, err);
	pthread_rwlock_unlock(&run->tables);
	return rc;
}

static void work(void *arg, unsigned place)
{
	struct run *run = arg;
	struct job *job = &run->jobs[place];

	for (size_t i = 0; job->rc == 0 && i < job->nsegments; i++) {
		struct segment *segment = &job->segments[i];
		struct bpk_span bytes = bpk_span(job->bytes.data + segment->start, segment->size);

		if (read_segment(run, segment, bytes, &job->err) != 0)
			job->rc = -1;
		else
			bpk_measure(&segment->type, bpk_view_of_span(bytes), &segment->found);
	}
}

static void end(void *arg, size_t number, unsigned place)
{
	struct run *run = arg;
	struct job *job = &run->jobs[place];

	(void)number;
	if (job->rc != 0 && run->err.kind == BPK_OK)
		run->err = job->err;
	for (size_t i = 0; i < job->nsegments; i++)
		bpk_measure_merge(&job->segments[i].type, &job->segments[i].found,
				  &run->rows[job->segments[i].row]);
}

/* ---- A run ---- */

static void clear_jobs(struct run *run, unsigned nplaces)
{
	for (unsigned i = 0; run->jobs != NULL && i < nplaces; i++) {
		bpk_buf_clear(&run->jobs[i].bytes);
		free(run->jobs[i].segments);
	}
	free(run->jobs);
}

static int make_jobs(struct run *run, unsigned nplaces, struct bpk_err *err)
{
	run->jobs = bpk_calloc(nplaces, sizeof *run->jobs, err);
	for (unsigned i = 0; run->jobs != NULL && i < nplaces; i++) {
		run->jobs[i].segments =
			bpk_calloc(MOST_SEGMENTS, sizeof *run->jobs[i].segments, err);
		if (run->jobs[i].segments == NULL)
			return -1;
	}
	return run->jobs != NULL ? 0 : -1;
}

static int run_jobs(struct run *run, struct bpk_line *line, struct bpk_err *err)
{
	run->walk = (struct walk){ .row = BPK_STATISTICS_NONE };
	if (make_jobs(run, line->nplaces, err) != 0 || bpk_line_run(line, err) != 0)
		return -1;
	if (run->err.kind == BPK_OK)
		return 0;
	*err = run->err;
	bpk_input_subject(run->content->in, err);
	return bpk_input_judge(run->content->in,
			       err); /* not in a job: no other may read meanwhile */
}

int bpk_statistics_find(const struct bpk_content *content, const struct bpk_item *item,
			int64_t (*row_of)(void *arg, const struct bpk_item *item), void *arg,
			unsigned threads, struct bpk_statistics *rows, struct bpk_err *err)
{
	struct run run = {
		.content = content,
		.only = item,
		.row_of = row_of,
		.arg = arg,
		.walk = { .row = BPK_STATISTICS_NONE },
		.piece = bpk_content_piece(content),
		.rows = rows,
	};
	struct bpk_line line = { .begin = begin, .work = work, .end = end, .arg = &run };
	int rc;

	if (count_jobs(&run, &line.count, err) != 0)
		return -1;
	bpk_line_set_threads(&line, threads);
	pthread_rwlock_init(&run.tables, NULL);
	rc = run_jobs(&run, &line, err);
	pthread_rwlock_destroy(&run.tables);
	clear_jobs(&run, line.nplaces);
	return rc;
}
