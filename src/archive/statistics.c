/*
 * Statistics of the numbers in arrays, in pieces by all threads. Called by info.
 *
 * A batch of numbers is summed up in two passes: mean, then squared differences. Results are merged
 * by the update of Chan, Golub and LeVeque ("Updating formulae and a pairwise algorithm for
 * computing sample variances", 1979), in the order of the data.
 */
#include "archive/statistics.h"

#include <float.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>

/* ---- A batch of numbers ---- */

enum { BATCH = 512 }; /* numbers; two arrays of them are on the stack */

double bpk_statistics_mean(const struct bpk_statistics *statistics)
{
	return statistics->mean + statistics->rest;
}

/* By Newton's method, to the last bit or the one before. sqrt would need the library m, which
 * nothing else does. */
static double square_root(double square)
{
	int exponent;
	double mantissa, root = 1;

	if (!(square > 0) || isinf(square))
		return square;
	mantissa = frexp(square, &exponent); /* 0.5 ... 1 */
	if (exponent % 2 != 0) {
		mantissa *= 2;
		exponent--;
	}
	for (int i = 0; i < 6; i++)
		root = (root + mantissa / root) / 2;
	return ldexp(root, exponent / 2);
}

double bpk_statistics_deviation(const struct bpk_statistics *statistics)
{
	return square_root(statistics->squares / (double)statistics->nfinite);
}

/* An order of 64 bits that is that of the integers. */
static uint64_t rank(const struct bpk_scalar *type, uint64_t bits)
{
	return type->kind == 'i' ? bits ^ UINT64_C(1) << 63 : bits;
}

/* Move the finite numbers to the front, and count the others. */
static size_t keep_finite(double *numbers, size_t count, struct bpk_statistics *out)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; i++) {
		if (isfinite(numbers[i]))
			numbers[kept++] = numbers[i];
		else if (isnan(numbers[i]))
			out->nnan++;
		else
			out->ninfinite++;
	}
	return kept;
}

/*
 * Numbers are taken LANES at a time, in pairs, which the usual machines have registers for; number
 * i goes into lane i modulo LANES. One sum would wait for each addition.
 */
enum { LANES = 4 };
typedef double pair __attribute__((vector_size(2 * sizeof(double))));
typedef int64_t masks __attribute__((vector_size(2 * sizeof(int64_t))));

static inline pair pair_at(const double *numbers)
{
	pair both;

	memcpy(&both, numbers, sizeof both);
	return both;
}

/* mask ? a : b, for each lane */
static inline pair pair_choose(masks mask, pair a, pair b)
{
	return (pair)(((masks)a & mask) | ((masks)b & ~mask));
}

static double sum_of(const double *numbers, size_t count)
{
	pair a = { 0 }, b = { 0 };
	double rest = 0;
	size_t i = 0;

	for (; i + LANES <= count; i += LANES) {
		a += pair_at(numbers + i);
		b += pair_at(numbers + i + 2);
	}
	for (; i < count; i++)
		rest += numbers[i];
	a += b;
	return a[0] + a[1] + rest;
}

/* Without overflow where the mean itself is a double. */
static double mean_of(const double *numbers, size_t count)
{
	double sum = sum_of(numbers, count), mean = 0;

	if (isfinite(sum))
		return sum / (double)count;
	for (size_t i = 0; i < count; i++)
		mean += numbers[i] / (double)count;
	return mean;
}

/* sum is that of the differences from the mean, which is rounded. It corrects the mean where it is
 * more than the differences themselves lost. */
static void correct(size_t count, double sum, struct bpk_statistics *out)
{
	double rest = sum / (double)count;
	double below = out->mean - out->min, above = out->max - out->mean;
	double lost = DBL_EPSILON * (below > above ? below : above);

	if (!isfinite(out->squares) || (rest <= lost && rest >= -lost))
		return;
	out->rest = rest;
	out->squares -= sum * rest;
	if (out->squares < 0)
		out->squares = 0; /* by rounding */
}

/* Sums of differences from the mean, and extremes. */
struct sums {
	pair sum, squares, min, max;
};

static inline void take_in(struct sums *sums, pair numbers, pair mean)
{
	pair differences = numbers - mean;

	sums->sum += differences;
	sums->squares += differences * differences;
	sums->min = pair_choose(numbers < sums->min, numbers, sums->min);
	sums->max = pair_choose(numbers > sums->max, numbers, sums->max);
}

/* Take the last numbers, one by one, and bring out the extremes of both lanes. */
static void finish_sums(struct sums *sums, const double *numbers, size_t count, double mean,
			struct bpk_statistics *out)
{
	for (size_t i = 0; i < count; i++) {
		const pair twice = { numbers[i], numbers[i] };
		double difference = numbers[i] - mean;

		sums->sum[0] += difference;
		sums->squares[0] += difference * difference;
		sums->min = pair_choose(twice < sums->min, twice, sums->min);
		sums->max = pair_choose(twice > sums->max, twice, sums->max);
	}
	out->squares = sums->squares[0] + sums->squares[1];
	out->min = sums->min[0] < sums->min[1] ? sums->min[0] : sums->min[1];
	out->max = sums->max[0] > sums->max[1] ? sums->max[0] : sums->max[1];
}

static void measure_finite(const double *numbers, size_t count, double mean,
			   struct bpk_statistics *out)
{
	const pair first = { numbers[0], numbers[0] }, means = { mean, mean };
	struct sums a = { { 0 }, { 0 }, first, first }, b = a;
	size_t i = 0;

	for (; i + LANES <= count; i += LANES) {
		take_in(&a, pair_at(numbers + i), means);
		take_in(&b, pair_at(numbers + i + 2), means);
	}
	a.sum += b.sum;
	a.squares += b.squares;
	a.min = pair_choose(b.min < a.min, b.min, a.min);
	a.max = pair_choose(b.max > a.max, b.max, a.max);
	out->nfinite = count;
	out->mean = mean;
	finish_sums(&a, numbers + i, count - i, mean, out);
	correct(count, a.sum[0] + a.sum[1], out);
}

static void measure_integers(const struct bpk_scalar *type, const uint64_t *bits, size_t count,
			     struct bpk_statistics *out)
{
	uint64_t least = UINT64_MAX, greatest = 0;

	for (size_t i = 0; i < count; i++) {
		least = bpk_min_u64(least, rank(type, bits[i]));
		greatest = bpk_max_u64(greatest, rank(type, bits[i]));
	}
	out->least = rank(type, least); /* its own inverse */
	out->greatest = rank(type, greatest);
}

static void measure_batch(const struct bpk_scalar *type, const uint8_t *bytes, size_t count,
			  struct bpk_statistics *out)
{
	uint64_t bits[BATCH];
	double numbers[BATCH], sum;
	size_t finite;

	out->count = count;
	if (bpk_number_is_integer(type)) {
		bpk_number_take_bits(type, bytes, count, bits);
		bpk_number_of_bits(type, bits, count, numbers);
		measure_integers(type, bits, count, out);
	} else {
		bpk_number_take_floats(type, bytes, count, bits, numbers);
	}
	sum = sum_of(numbers, count);
	if (isfinite(sum)) { /* all are */
		measure_finite(numbers, count, sum / (double)count, out);
		return;
	}
	finite = keep_finite(numbers, count, out);
	if (finite > 0)
		measure_finite(numbers, finite, mean_of(numbers, finite), out);
}

/* ---- Merging ---- */

/* Move the mean, of two numbers: what the first cannot hold is in the rest. */
static void move_mean(struct bpk_statistics *all, double step)
{
	double added = all->rest + step, sum = all->mean + added, back = sum - all->mean;

	all->rest = (all->mean - (sum - back)) + (added - back);
	all->mean = sum;
}

/* Merge the finite numbers of more into all; both have some. */
static void merge_finite(const struct bpk_scalar *type, const struct bpk_statistics *more,
			 struct bpk_statistics *all)
{
	double a = (double)all->nfinite, b = (double)more->nfinite, n = a + b;
	double difference = (more->mean - all->mean) + (more->rest - all->rest);

	all->nfinite += more->nfinite;
	if (isfinite(difference)) {
		move_mean(all, difference * (b / n));
	} else {
		all->mean = all->mean * (a / n) + more->mean * (b / n);
		all->rest = 0;
	}
	all->squares += more->squares + difference * difference * (a * (b / n));
	all->min = more->min < all->min ? more->min : all->min;
	all->max = more->max > all->max ? more->max : all->max;
	if (rank(type, more->least) < rank(type, all->least))
		all->least = more->least;
	if (rank(type, more->greatest) > rank(type, all->greatest))
		all->greatest = more->greatest;
}

static void merge(const struct bpk_scalar *type, const struct bpk_statistics *more,
		  struct bpk_statistics *all)
{
	struct bpk_statistics counts = *all;

	if (more->nfinite > 0 && all->nfinite > 0) {
		merge_finite(type, more, all);
		counts = *all;
	} else if (more->nfinite > 0) {
		*all = *more;
	}
	all->count = counts.count + more->count;
	all->nnan = counts.nnan + more->nnan;
	all->ninfinite = counts.ninfinite + more->ninfinite;
}

/* ---- Jobs ---- */

enum { PIECE = 1 << 20, MOST_SEGMENTS = 256 }; /* of a job: bytes, and parts of arrays */

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

/* Bytes of the current array that a job with this much room takes: whole numbers. */
static size_t next_size(const struct walk *walk, size_t room)
{
	size_t size = (size_t)bpk_min_u64(walk->item.array->size - walk->at, room);

	return size - size % walk->item.array->dtype.scalar.item_size;
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
		size = next_size(&run->walk, PIECE - *used);
		if (size == 0)
			break;
		if (job != NULL) {
			rc = add_segment(run, job, *used, size, err);
			job->nsegments++;
		}
		run->walk.at += size;
		*used += size;
		nsegments++;
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

static int fail_job(const struct run *run, struct job *job)
{
	bpk_input_subject(run->content->in, &job->err);
	return bpk_input_judge(run->content->in, &job->err);
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
	job->rc = bpk_buf_resize(&job->bytes, PIECE, &job->err);
	pthread_rwlock_wrlock(&run->tables);
	if (job->rc == 0)
		job->rc = next_job(run, job, &used, &job->err);
	pthread_rwlock_unlock(&run->tables);
	if (job->rc != 0)
		fail_job(run, job);
	return true;
}

static void measure_segment(struct segment *segment, const uint8_t *bytes)
{
	size_t item_size = segment->type.item_size, left = segment->size / item_size, count;

	for (; left > 0; left -= count, bytes += count * item_size) {
		struct bpk_statistics batch = { 0 };

		count = bpk_min_size(left, BATCH);
		measure_batch(&segment->type, bytes, count, &batch);
		merge(&segment->type, &batch, &segment->found);
	}
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
			job->rc = fail_job(run, job);
		else
			measure_segment(segment, bytes.data);
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
		merge(&job->segments[i].type, &job->segments[i].found,
		      &run->rows[job->segments[i].row]);
}

/* Every job can be begun. */
static void alone(void *arg, size_t number)
{
	(void)arg;
	(void)number;
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
	return -1;
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
		.rows = rows,
	};
	struct bpk_line line = {
		.begin = begin, .work = work, .end = end, .alone = alone, .arg = &run
	};
	int rc;

	if (count_jobs(&run, &line.count, err) != 0)
		return -1;
	line.threads = (unsigned)bpk_max_u64(1, bpk_min_u64(threads, line.count));
	line.nplaces = 2 * line.threads;
	pthread_rwlock_init(&run.tables, NULL);
	rc = run_jobs(&run, &line, err);
	pthread_rwlock_destroy(&run.tables);
	clear_jobs(&run, line.nplaces);
	return rc;
}
