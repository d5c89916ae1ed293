/* The items of two arrays compared, as bytes or as numbers, in pieces by all threads. Called by
 * cmp. */
#include <math.h>
#include <stdlib.h>

#include "archive/compare.h"

/* ---- One number ---- */

/* |a - b|; infinite where one of them is not a number, or only one is infinite. */
static double subtract(double a, double b)
{
	if (a == b || (isnan(a) && isnan(b)))
		return 0;
	if (!isfinite(a) || !isfinite(b))
		return INFINITY;
	return fabs(a - b);
}

/* The same for integers, whose difference a double may not hold. */
static double subtract_integers(const struct bpk_scalar *const types[2], const uint8_t *a,
				const uint8_t *b)
{
	bool less_a, less_b;
	uint64_t x = bpk_number_take_integer(types[0], a, &less_a),
		 y = bpk_number_take_integer(types[1], b, &less_b);

	if (less_a != less_b)
		return (double)x + (double)y;
	return (double)(x > y ? x - y : y - x);
}

/* ---- A piece ---- */

/* The two arrays of a run; fixed. */
struct pair {
	const struct bpk_compared_array *arrays; /* 2 */
	const struct bpk_tolerance *tolerance;
	const struct bpk_scalar *types[2];
	uint32_t sizes[2]; /* bytes of an item, or of a part of a complex number */
	uint64_t nitems;   /* the same */
	uint64_t piece;    /* items in a piece */
	uint64_t parts;    /* of an item */
};

/* A piece at work, and its differences. */
struct job {
	uint64_t first, count; /* items */
	struct bpk_buf bufs[2];
	struct bpk_compared_items found;
	int rc;
	struct bpk_err err;
};

static void compare_numbers(const struct pair *pair, struct job *job)
{
	const struct bpk_tolerance *tolerance = pair->tolerance;
	bool integers =
		bpk_number_is_integer(pair->types[0]) && bpk_number_is_integer(pair->types[1]);
	const uint8_t *a = job->bufs[0].data, *b = job->bufs[1].data;

	for (uint64_t i = 0; i < job->count; i++, a += pair->sizes[0], b += pair->sizes[1]) {
		double other = bpk_number_take(pair->types[1], b);
		double difference = integers ? subtract_integers(pair->types, a, b)
					     : subtract(bpk_number_take(pair->types[0], a), other);

		if (difference == 0)
			continue;
		if (isfinite(difference) && difference > job->found.largest) {
			job->found.largest = difference;
			job->found.largest_item = job->first + i;
		}
		/* beside an infinity any difference would be tolerated */
		if (isfinite(difference) &&
		    difference <= tolerance->absolute + tolerance->relative * fabs(other))
			continue;
		if (job->found.ndifferent++ == 0)
			job->found.first = job->first + i;
	}
}

static void compare_bytes(const struct pair *pair, struct job *job)
{
	const uint8_t *a = job->bufs[0].data, *b = job->bufs[1].data;
	size_t size = pair->sizes[0];

	for (uint64_t i = 0; i < job->count; i++)
		if (memcmp(a + i * size, b + i * size, size) != 0 && job->found.ndifferent++ == 0)
			job->found.first = job->first + i;
}

static int read_piece(const struct pair *pair, struct job *job, int side)
{
	const struct bpk_compared_array *array = &pair->arrays[side];
	size_t size = (size_t)(job->count * pair->sizes[side]);
	struct bpk_buf *buf = &job->bufs[side];

	if (bpk_buf_resize(buf, size, &job->err) != 0)
		return -1;
	if (bpk_item_read(array->content->view, array->item, job->first * pair->sizes[side],
			  bpk_span(buf->data, size), &job->err) == 0)
		return 0;
	bpk_input_subject(array->content->in, &job->err);
	return bpk_input_judge(array->content->in, &job->err);
}

static void work_on(const struct pair *pair, struct job *job)
{
	job->rc = read_piece(pair, job, 0) != 0 || read_piece(pair, job, 1) != 0 ? -1 : 0;
	if (job->rc != 0)
		return;
	if (pair->tolerance->given)
		compare_numbers(pair, job);
	else if (memcmp(job->bufs[0].data, job->bufs[1].data, job->bufs[0].size) != 0)
		compare_bytes(pair, job);
}

/* ---- All pieces ---- */

struct run {
	struct pair pair;
	struct job *jobs; /* by place */
	struct bpk_compared_items *items;
	struct bpk_err err; /* of the first piece that failed */
};

static bool begin(void *arg, size_t number, unsigned place)
{
	struct run *run = arg;
	struct job *job = &run->jobs[place];

	job->first = number * run->pair.piece;
	job->count = bpk_min_u64(run->pair.piece, run->pair.nitems - job->first);
	job->found = (struct bpk_compared_items){ 0 };
	job->err = (struct bpk_err){ 0 };
	job->rc = 0;
	return true;
}

static void work(void *arg, unsigned place)
{
	struct run *run = arg;

	work_on(&run->pair, &run->jobs[place]);
}

static void end(void *arg, size_t number, unsigned place)
{
	struct run *run = arg;
	const struct job *job = &run->jobs[place];
	struct bpk_compared_items *items = run->items;

	(void)number;
	if (job->rc != 0 && run->err.kind == BPK_OK)
		run->err = job->err;
	if (items->ndifferent == 0)
		items->first = job->found.first / run->pair.parts;
	items->ndifferent += job->found.ndifferent;
	if (job->found.largest > items->largest) {
		items->largest = job->found.largest;
		items->largest_item = job->found.largest_item / run->pair.parts;
	}
}

/* Every piece can be begun. */
static void alone(void *arg, size_t number)
{
	(void)arg;
	(void)number;
}

static void describe(struct pair *pair, const struct bpk_compared_array arrays[2])
{
	enum { PIECE = 1 << 20, LARGE = 64 << 10 };

	pair->arrays = arrays;
	pair->parts = 1;
	for (int side = 0; side < 2; side++) {
		const struct bpk_array *array = arrays[side].item->array;

		pair->types[side] = &array->dtype.scalar;
		pair->sizes[side] = (uint32_t)array->dtype.size;
		if (pair->tolerance->given)
			pair->sizes[side] = pair->types[side]->item_size;
		/* memory does not follow the size of an item: then bytes are counted */
		if (pair->sizes[side] > LARGE || array->dtype.size > LARGE) {
			pair->parts = array->dtype.size;
			pair->sizes[side] = 1;
		}
		if (pair->tolerance->given && pair->types[side]->kind == 'c') {
			pair->sizes[side] /= 2;
			pair->parts = 2;
		}
		pair->nitems = pair->sizes[side] == 0 ? 0 : array->size / pair->sizes[side];
	}
	pair->piece = bpk_max_u64(1, PIECE / bpk_max_u64(1, pair->sizes[0]));
}

int bpk_compare_items(const struct bpk_compared_array arrays[2],
		      const struct bpk_tolerance *tolerance, unsigned threads,
		      struct bpk_compared_items *items, struct bpk_err *err)
{
	struct run run = { .pair.tolerance = tolerance, .items = items };
	struct bpk_line line = { .begin = begin, .work = work, .end = end, .alone = alone };
	int rc;

	describe(&run.pair, arrays);
	line.arg = &run;
	line.count = (size_t)bpk_div_up(run.pair.nitems, run.pair.piece);
	line.threads = (unsigned)bpk_max_u64(1, bpk_min_u64(threads, line.count));
	line.nplaces = 2 * line.threads;
	run.jobs = bpk_calloc(line.nplaces, sizeof *run.jobs, err);
	if (run.jobs == NULL)
		return -1;
	rc = bpk_line_run(&line, err);
	for (unsigned i = 0; i < line.nplaces; i++) {
		bpk_buf_clear(&run.jobs[i].bufs[0]);
		bpk_buf_clear(&run.jobs[i].bufs[1]);
	}
	free(run.jobs);
	if (rc != 0 || run.err.kind == BPK_OK)
		return rc;
	*err = run.err;
	return -1;
}
