/*
 * Statistics of numbers that are in memory. Called by statistics.c.
 *
 * A batch of numbers is summed up in two passes: mean, then squared differences. Results are merged
 * by the update of Chan, Golub and LeVeque ("Updating formulae and a pairwise algorithm for
 * computing sample variances", 1979), in the order of the data.
 */
#include "archive/measure.h"

#include <float.h>
#include <math.h>

#include "archive/number.h"

enum { BATCH = 512 }; /* numbers; two arrays of them are on the stack */

/* ---- Results ---- */

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

void bpk_measure_merge(const struct bpk_scalar *type, const struct bpk_statistics *more,
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

/* ---- Sums ---- */

/*
 * Numbers are taken LANES at a time, as vectors that compilers divide where the machine has none of
 * this size; number i goes into lane i modulo LANES. One sum would wait for each addition. Each set
 * of instructions adds in the same order, so results do not depend on the machine.
 */
enum { LANES = 4, STEP = 2 * LANES, WIDTH = sizeof(double) };
typedef double lanes __attribute__((vector_size(LANES * sizeof(double))));
typedef int64_t masks __attribute__((vector_size(LANES * sizeof(int64_t))));

#define INLINE static inline __attribute__((always_inline))

/* Sums of differences from a mean, their squares, and extremes. */
struct sums {
	double sum, squares, min, max;
};

/* mask ? a : b, for each lane. A vector is no argument, since callers of other instruction sets
 * would pass it in other registers. */
#define CHOOSE(mask, a, b) ((lanes)(((masks)(a) & (mask)) | ((masks)(b) & ~(mask))))

/* Numbers that vectors are made of: as this machine has them, of any alignment. */
enum form { DOUBLES, SINGLES, SIGNED, UNSIGNED, OTHERS };
typedef float singles __attribute__((vector_size(LANES * sizeof(float))));
typedef int32_t integers __attribute__((vector_size(LANES * sizeof(int32_t))));

/* Integers without a sign are moved by 2^31 before and after: machines convert those with one. */
#define HALF 2147483648.0

/* The numbers from number i on. */
INLINE void take_lanes(enum form form, const uint8_t *bytes, size_t i, lanes *out)
{
	singles narrow;
	integers whole;

	if (form == DOUBLES) {
		memcpy(out, bytes + i * WIDTH, sizeof *out);
	} else if (form == SINGLES) {
		memcpy(&narrow, bytes + i * sizeof(float), sizeof narrow);
		*out = __builtin_convertvector(narrow, lanes);
	} else {
		memcpy(&whole, bytes + i * sizeof(int32_t), sizeof whole);
		if (form == SIGNED)
			*out = __builtin_convertvector(whole, lanes);
		else
			*out = __builtin_convertvector(whole ^ INT32_MIN, lanes) + HALF;
	}
}

INLINE double take_one(enum form form, const uint8_t *bytes, size_t i)
{
	double number;
	float narrow;
	int32_t whole;

	if (form == DOUBLES) {
		memcpy(&number, bytes + i * sizeof number, sizeof number);
		return number;
	}
	if (form == SINGLES) {
		memcpy(&narrow, bytes + i * sizeof narrow, sizeof narrow);
		return narrow;
	}
	memcpy(&whole, bytes + i * sizeof whole, sizeof whole);
	return form == SIGNED ? whole : (whole ^ INT32_MIN) + HALF;
}

/* The sum of numbers, which are stored as doubles if they are of another form. */
INLINE double sum_lanes(enum form form, const uint8_t *bytes, size_t count, double *numbers)
{
	lanes a = { 0 }, b = { 0 }, next;
	double rest = 0, one;
	size_t i = 0;

	for (; i + STEP <= count; i += STEP) {
		take_lanes(form, bytes, i, &next);
		a += next;
		if (form != DOUBLES)
			memcpy(numbers + i, &next, sizeof next);
		take_lanes(form, bytes, i + LANES, &next);
		b += next;
		if (form != DOUBLES)
			memcpy(numbers + i + LANES, &next, sizeof next);
	}
	for (; i < count; i++) {
		one = take_one(form, bytes, i);
		rest += one;
		if (form != DOUBLES)
			numbers[i] = one;
	}
	a += b;
	return a[0] + a[1] + (a[2] + a[3]) + rest;
}

INLINE double sum_form(enum form form, const uint8_t *bytes, size_t count, double *numbers)
{
	switch (form) {
	case SINGLES:
		return sum_lanes(SINGLES, bytes, count, numbers);
	case SIGNED:
		return sum_lanes(SIGNED, bytes, count, numbers);
	case UNSIGNED:
		return sum_lanes(UNSIGNED, bytes, count, numbers);
	default:
		return sum_lanes(DOUBLES, bytes, count, numbers);
	}
}

INLINE double smaller(double a, double b)
{
	return a < b ? a : b;
}

INLINE double larger(double a, double b)
{
	return a > b ? a : b;
}

INLINE void add_one(double number, double mean, struct sums *out)
{
	double difference = number - mean;

	out->sum += difference;
	out->squares += difference * difference;
	out->min = smaller(number, out->min);
	out->max = larger(number, out->max);
}

/* Lanes of sums. */
struct lane_sums {
	lanes sum, squares, min, max;
};

INLINE void add_lanes(const uint8_t *numbers, size_t i, const lanes *means, struct lane_sums *out)
{
	lanes next, difference;

	take_lanes(DOUBLES, numbers, i, &next);
	difference = next - *means;
	out->sum += difference;
	out->squares += difference * difference;
	out->min = CHOOSE(next < out->min, next, out->min);
	out->max = CHOOSE(next > out->max, next, out->max);
}

/* Sums of doubles, of any alignment: at least one, and no NaN. */
INLINE void measure_lanes(const uint8_t *numbers, size_t count, double mean, struct sums *out)
{
	const double one = take_one(DOUBLES, numbers, 0);
	const lanes means = { mean, mean, mean, mean }, first = { one, one, one, one };
	struct lane_sums a = { { 0 }, { 0 }, first, first }, b = a;
	size_t i = 0;

	for (; i + STEP <= count; i += STEP) {
		add_lanes(numbers, i, &means, &a);
		add_lanes(numbers, i + LANES, &means, &b);
	}
	a.sum += b.sum;
	a.squares += b.squares;
	*out = (struct sums){ .min = one, .max = one };
	for (unsigned k = 0; k < LANES; k++) {
		out->sum += a.sum[k];
		out->squares += a.squares[k];
		out->min = smaller(out->min, smaller(a.min[k], b.min[k]));
		out->max = larger(out->max, larger(a.max[k], b.max[k]));
	}
	for (; i < count; i++)
		add_one(take_one(DOUBLES, numbers, i), mean, out);
}

/* The same code for a set of instructions. */
struct kernel {
	double (*sum)(enum form form, const uint8_t *bytes, size_t count, double *numbers);
	void (*measure)(const uint8_t *numbers, size_t count, double mean, struct sums *out);
};

static double sum_anywhere(enum form form, const uint8_t *bytes, size_t count, double *numbers)
{
	return sum_form(form, bytes, count, numbers);
}

static void measure_anywhere(const uint8_t *numbers, size_t count, double mean, struct sums *out)
{
	measure_lanes(numbers, count, mean, out);
}

#if defined(__x86_64__)
#define AVX2 __attribute__((target("avx2")))

AVX2 static double sum_avx2(enum form form, const uint8_t *bytes, size_t count, double *numbers)
{
	return sum_form(form, bytes, count, numbers);
}

AVX2 static void measure_avx2(const uint8_t *numbers, size_t count, double mean, struct sums *out)
{
	measure_lanes(numbers, count, mean, out);
}
#else
#define sum_avx2     sum_anywhere
#define measure_avx2 measure_anywhere
#endif

static const struct kernel *choose_kernel(void)
{
	static const struct kernel anywhere = { sum_anywhere, measure_anywhere };
	static const struct kernel avx2 = { sum_avx2, measure_avx2 };

	return bpk_cpu_has(BPK_SIMD_AVX2) ? &avx2 : &anywhere;
}

/* ---- A batch of numbers ---- */

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

/* The extremes of integers of up to 4 bytes are exact as doubles. */
static void measure_integers(const struct bpk_scalar *type, const uint64_t *bits, size_t count,
			     struct bpk_statistics *out)
{
	uint64_t least = UINT64_MAX, greatest = 0;

	if (type->item_size < 8) {
		out->least = (uint64_t)(int64_t)out->min;
		out->greatest = (uint64_t)(int64_t)out->max;
		return;
	}
	for (size_t i = 0; i < count; i++) {
		least = bpk_min_u64(least, rank(type, bits[i]));
		greatest = bpk_max_u64(greatest, rank(type, bits[i]));
	}
	out->least = rank(type, least); /* its own inverse */
	out->greatest = rank(type, greatest);
}

static void measure_finite(const struct kernel *kernel, const uint8_t *numbers, size_t count,
			   double mean, struct bpk_statistics *out)
{
	struct sums sums;

	kernel->measure(numbers, count, mean, &sums);
	out->nfinite = count;
	out->mean = mean;
	out->squares = sums.squares;
	out->min = sums.min;
	out->max = sums.max;
	correct(count, sums.sum, out);
}

/* Without overflow where the mean itself is a double. */
static double mean_of(const double *numbers, size_t count, double sum)
{
	double mean = 0;

	if (isfinite(sum))
		return sum / (double)count;
	for (size_t i = 0; i < count; i++)
		mean += numbers[i] / (double)count;
	return mean;
}

/* Numbers of which some are not finite, or too large to be added. */
static void measure_some(const struct kernel *kernel, double *numbers, size_t count,
			 struct bpk_statistics *out)
{
	const uint8_t *bytes = (const uint8_t *)numbers;
	size_t finite = keep_finite(numbers, count, out);

	if (finite > 0)
		measure_finite(kernel, bytes, finite,
			       mean_of(numbers, finite, kernel->sum(DOUBLES, bytes, finite, NULL)),
			       out);
}

static enum form form_of(const struct bpk_scalar *type)
{
	bool is_integer = bpk_number_is_integer(type);

	if (type->item_size == 8 && !is_integer && bpk_number_is_native(type))
		return DOUBLES;
	if (type->item_size != 4 || !bpk_number_is_native(type))
		return OTHERS;
	return !is_integer ? SINGLES : type->kind == 'i' ? SIGNED : UNSIGNED;
}

static void measure_batch(const struct kernel *kernel, const struct bpk_scalar *type,
			  const uint8_t *bytes, size_t count, struct bpk_statistics *out)
{
	enum form form = form_of(type);
	uint64_t bits[BATCH];
	double numbers[BATCH], sum;
	const uint8_t *doubles = form == DOUBLES ? bytes : (const uint8_t *)numbers;

	out->count = count;
	if (form == OTHERS) {
		bpk_number_take_bits(type, bytes, count, bits);
		bpk_number_of_bits(type, bits, count, numbers);
		sum = kernel->sum(DOUBLES, doubles, count, NULL);
	} else {
		sum = kernel->sum(form, bytes, count, numbers);
	}
	if (isfinite(sum)) { /* all are */
		measure_finite(kernel, doubles, count, sum / (double)count, out);
	} else {
		memmove(numbers, doubles, count * sizeof *numbers);
		measure_some(kernel, numbers, count, out);
	}
	if (bpk_number_is_integer(type))
		measure_integers(type, bits, count, out);
}

void bpk_measure(const struct bpk_scalar *type, struct bpk_view bytes, struct bpk_statistics *found)
{
	const struct kernel *kernel = choose_kernel();
	size_t left = bytes.size / type->item_size, count;
	const uint8_t *at = bytes.data;

	for (; left > 0; left -= count, at += count * type->item_size) {
		struct bpk_statistics batch = { 0 };

		count = bpk_min_size(left, BATCH);
		measure_batch(kernel, type, at, count, &batch);
		bpk_measure_merge(type, &batch, found);
	}
}
