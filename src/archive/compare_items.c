/* The items of two arrays compared, as bytes or as numbers, in pieces by all threads. Called by
 * cmp. */
#include <math.h>
#include <stdlib.h>

#include "archive/compare.h"

/* ---- Two numbers ---- */

/* |a - b|; infinite where one of them is not a number, or only one is infinite. */
static inline double subtract(double a, double b)
{
	if (a == b || (isnan(a) && isnan(b)))
		return 0;
	if (!isfinite(a) || !isfinite(b))
		return INFINITY;
	return fabs(a - b);
}

/* The same for the bits of integers, whose difference a double may not hold. */
static double subtract_integers(const struct bpk_scalar *const types[2], uint64_t a, uint64_t b)
{
	bool less_a = types[0]->kind == 'i' && a >> 63 != 0;
	bool less_b = types[1]->kind == 'i' && b >> 63 != 0;

	if (less_a != less_b)
		return (double)(less_a ? 0 - a : a) + (double)(less_b ? 0 - b : b);
	return (double)(a > b ? a - b : b - a);
}

/* ---- A piece ---- */

/* The two arrays of a run; fixed. */
struct pair {
	const struct bpk_compared_array *arrays; /* 2 */
	const struct bpk_tolerance *tolerance;
	const struct bpk_scalar *types[2];
	uint32_t sizes[2]; /* bytes of an item, or of a part of a complex number */
	uint64_t nitems;   /* the same */
	uint64_t lead;     /* items in the first piece, which ends with a chunk of the first */
	uint64_t piece;    /* items in the others, in whole chunks of it where they fit */
	uint64_t parts;    /* of an item */
};

/* A piece at work, and its differences. */
struct job {
	uint64_t first, count; /* items */
	struct bpk_buf bufs[2];
	struct bpk_compared_items found;
	int rc;
	const struct bpk_input *failed; /* which err is of, or NULL */
	struct bpk_err err;
};

/* Take a difference of an item in; other is the number that it is relative to. */
static void note(const struct bpk_tolerance *tolerance, struct bpk_compared_items *found,
		 uint64_t item, double difference, double other)
{
	if (isfinite(difference) && difference > found->largest) {
		found->largest = difference;
		found->largest_item = item;
	}
	/* beside an infinity any difference would be tolerated */
	if (isfinite(difference) &&
	    difference <= tolerance->absolute + tolerance->relative * fabs(other))
		return;
	if (found->ndifferent++ == 0)
		found->first = item;
}

enum { BATCH = 256 }; /* numbers; four arrays of them are on the stack */

/* Compare count numbers from item first on, at most BATCH. */
static void compare_batch(const struct pair *pair, const uint8_t *const bytes[2], uint64_t first,
			  size_t count, struct bpk_compared_items *found)
{
	bool integers =
		bpk_number_is_integer(pair->types[0]) && bpk_number_is_integer(pair->types[1]);
	uint64_t bits[2][BATCH];
	double numbers[2][BATCH], difference;

	for (int side = 0; side < 2; side++) {
		bpk_number_take_bits(pair->types[side], bytes[side], count, bits[side]);
		bpk_number_of_bits(pair->types[side], bits[side], count, numbers[side]);
	}
	for (size_t i = 0; i < count; i++) {
		difference = integers ? subtract_integers(pair->types, bits[0][i], bits[1][i])
				      : subtract(numbers[0][i], numbers[1][i]);
		if (difference != 0)
			note(pair->tolerance, found, first + i, difference, numbers[1][i]);
	}
}

/* Equal bytes of one type are equal numbers. */
static void compare_numbers(const struct pair *pair, struct job *job)
{
	const uint8_t *bytes[2] = { job->bufs[0].data, job->bufs[1].data };
	bool alike = bpk_scalar_is_like(pair->types[0], pair->types[1]) &&
		     pair->types[0]->byte_order == pair->types[1]->byte_order;
	size_t count;

	for (uint64_t i = 0; i < job->count; i += count) {
		count = (size_t)bpk_min_u64(BATCH, job->count - i);
		if (!alike || memcmp(bytes[0], bytes[1], count * pair->sizes[0]) != 0)
			compare_batch(pair, bytes, job->first + i, count, &job->found);
		bytes[0] += count * pair->sizes[0];
		bytes[1] += count * pair->sizes[1];
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
	job->failed = array->content->in;
	return -1;
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
	const struct bpk_input *failed; /* by the first piece that failed */
	struct bpk_err err;
};

static bool begin(void *arg, size_t number, unsigned place)
{
	struct run *run = arg;
	struct job *job = &run->jobs[place];

	job->first = number == 0 ? 0 : run->pair.lead + (number - 1) * run->pair.piece;
	job->count = bpk_min_u64(number == 0 ? run->pair.lead : run->pair.piece,
				 run->pair.nitems - job->first);
	job->found = (struct bpk_compared_items){ 0 };
	job->err = (struct bpk_err){ 0 };
	job->failed = NULL;
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
	if (job->rc != 0 && run->err.kind == BPK_OK) {
		run->err = job->err;
		run->failed = job->failed;
	}
	if (items->ndifferent == 0)
		items->first = job->found.first / run->pair.parts;
	items->ndifferent += job->found.ndifferent;
	if (job->found.largest > items->largest) {
		items->largest = job->found.largest;
		items->largest_item = job->found.largest_item / run->pair.parts;
	}
}

/* Pieces are whole chunks of the first array, if items do not cross their ends. */
static void divide(struct pair *pair)
{
	uint64_t size = bpk_max_u64(1, pair->sizes[0]);
	uint64_t bytes = bpk_content_piece(pair->arrays[0].content);
	uint64_t offset = pair->arrays[0].item->offset;

	pair->lead = pair->piece = bpk_max_u64(1, bytes / size);
	if (offset != BPK_UNKNOWN && bytes % size == 0 && offset % size == 0)
		pair->lead -= offset % bytes / size;
}

static void describe(struct pair *pair, const struct bpk_compared_array arrays[2])
{
	enum { LARGE = 64 << 10 };

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
	divide(pair);
}

int bpk_compare_items(const struct bpk_compared_array arrays[2],
		      const struct bpk_tolerance *tolerance, unsigned threads,
		      struct bpk_compared_items *items, struct bpk_err *err)
{
	struct run run = { .pair.tolerance = tolerance, .items = items };
	struct bpk_line line = { .begin = begin, .work = work, .end = end };
	int rc;

	describe(&run.pair, arrays);
	line.arg = &run;
	if (run.pair.nitems > 0)
		line.count = 1 + (size_t)bpk_div_up(run.pair.nitems - bpk_min_u64(run.pair.nitems,
										  run.pair.lead),
						    run.pair.piece);
	bpk_line_set_threads(&line, threads);
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
	if (run.failed == NULL)
		return -1;
	bpk_input_subject(run.failed, err);
	return bpk_input_judge(run.failed, err); /* not in a piece: no other may read meanwhile */
}
